/*
 * setuid: does a program with more rights than its user ignore the options in the environment?
 *
 * LD_PRELOAD itself does not reach such programs, so this one has the static archive inside. It copies itself,
 * makes the copy setuid to another user, and starts it with HAKMEM_VERBOSE, HAKMEM_STRICT and a wrong option:
 * nothing may be printed, and it must not be refused. The same environment without setuid is printed and
 * refused, which shows that the question was a real one. SKIP unless root, and where setuid has no effect.
 */
#define TEST_ANY_MALLOC
#include "hostile.h"
#include <sys/auxv.h>
#include <sys/sendfile.h>

enum { NOBODY = 65534, NOT_SECURE = 3 };

static char directory[] = "/tmp/hakmem-setuid-XXXXXX", copy[64];

static void remove_copy(void) {
    unlink(copy);
    rmdir(directory);
}

static void make_copy(void) {
    struct stat status;
    off_t at = 0;

    CHECK(mkdtemp(directory) != NULL);
    snprintf(copy, sizeof copy, "%s/program", directory);
    int from = open(self_path(), O_RDONLY | O_CLOEXEC), to = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    CHECK(from >= 0 && to >= 0 && fstat(from, &status) == 0);
    while (at < status.st_size)
        CHECK(sendfile(to, from, &at, (size_t)(status.st_size - at)) > 0);
    CHECK(fchown(to, NOBODY, (gid_t)-1) == 0 && fchmod(to, 04755) == 0 && close(to) == 0 && close(from) == 0);
    CHECK(chmod(directory, 0755) == 0);
}

int main(int argc, char **argv) {
    static const char *const wrong[] = {"HAKMEM_VERBOSE=1", "HAKMEM_STATS=1", "HAKMEM_STRICT=1",
                                        "HAKMEM_NO_SUCH_OPTION=1", NULL};
    static struct ran plain, secure;

    if (is_worker(argc, argv)) {
        churn(1, 500);
        return getauxval(AT_SECURE) != 0 ? 0 : NOT_SECURE;
    }
    if (geteuid() != 0)
        skip("only root can make a program setuid to another user");
    make_copy();
    char *command[] = {copy, (char *)(uintptr_t) "worker", NULL};
    run(&secure, command, wrong, NULL);
    CHECK(chmod(copy, 0755) == 0);
    run(&plain, command, wrong, NULL);
    remove_copy();
    if (secure.status == NOT_SECURE || secure.status == 127 || secure.status == 2)
        show(&secure);
    if (secure.status == NOT_SECURE || secure.status == 127)
        skip("setuid has no effect in /tmp");
    CHECK(secure.status == 0 && strcmp(secure.text, "") == 0);
    CHECK(plain.status == 2 && lines_with(plain.text, "HAKMEM_NO_SUCH_OPTION") == 1);
    return 0;
}
