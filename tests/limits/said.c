/*
 * said: are bad limits named clearly, and does HAKMEM_VERBOSE=1 say which limits hold and how many CPUs there are?
 */
#include "limits.h"

static void expect_refused(const char *setting, const char *reason) {
    const char *env[] = {setting, NULL}, *strict[] = {setting, "HAKMEM_STRICT=1", NULL};
    const char *said = run_role("worker", env, 0);
    if (strstr(said, reason) == NULL)
        dprintf(2, "%s: %s\n", setting, said);
    CHECK(strstr(said, setting) != NULL && strstr(said, reason) != NULL && strstr(said, "ignored") != NULL);
    said = run_role("worker", strict, 2);
    CHECK(strstr(said, setting) != NULL && strstr(said, "refused") != NULL);
}

static void expect_said(const char *setting, const char *words, const char *or_words) {
    const char *env[] = {setting, "HAKMEM_VERBOSE=1", NULL};
    const char *said = run_role("worker", env, 0);
    bool found = strstr(said, words) != NULL || strstr(said, or_words) != NULL;
    if (!found)
        dprintf(2, "%s: no \"%s\" in:\n%s\n", setting, words, said);
    CHECK(found && strstr(said, "CPUs may be used") != NULL);
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv)) {
        drop(hold(1000, 4 * MIB));
        return 0;
    }
    expect_refused("HAKMEM_HARD_LIMIT=12q", "not bytes, as 65536, 512k");
    expect_refused("HAKMEM_HARD_LIMIT=cgroup", "not bytes, as 65536, 512k");
    expect_refused("HAKMEM_SOFT_LIMIT=much", "not bytes, as 64m or 1g, or cgroup");
    expect_refused("HAKMEM_SOFT_LIMIT=2000g", "not in 0..");
    expect_refused("HAKMEM_SOFT_LIMIT=99999999999999999999999", "not in 0..");
    expect_refused("HAKMEM_SYSCALL_BUDGET=5k", "not a number of calls");
    expect_refused("HAKMEM_SYSCALL_BUDGET=1000001", "not in 0..1000000 calls");
    expect_said("HAKMEM_SOFT_LIMIT=80m", "more than 71680 KiB are held", "more than 71680 KiB are held");
    expect_said("HAKMEM_SOFT_LIMIT=80m", "HAKMEM_SOFT_LIMIT=80m (environment)", "-");
    expect_said("HAKMEM_SOFT_LIMIT=cgroup", "HAKMEM_SOFT_LIMIT=cgroup (environment)", "-");
    expect_said("HAKMEM_SOFT_LIMIT=CGROUP", "no cgroup v2", "KiB are held");
    expect_said("HAKMEM_HARD_LIMIT=80m", "HAKMEM_HARD_LIMIT=80m (environment)", "-");
    return 0;
}
