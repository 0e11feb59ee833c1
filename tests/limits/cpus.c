/*
 * cpus: does HAKMEM_VERBOSE=1 name the CPUs that the cgroup's cpu.max pays for, when they are fewer than the machine's?
 *
 * SKIP where no cgroup v2 with cpu.max can be made, or there are fewer than three CPUs: then rounding cannot be seen.
 */
#include "cgroup.h"
#include <sched.h>

static void expect(const char *quota, int cpus, void (*prepare)(void)) {
    static const char *const env[] = {"HAKMEM_VERBOSE=1", NULL};
    static struct ran ran;
    char words[40], *argv[] = {self_path(), (char *)(uintptr_t) "worker", NULL};

    CHECK(put("cpu.max", quota));
    run(&ran, argv, env, prepare);
    snprintf(words, sizeof words, "hakmem: %d CPUs may be used", cpus);
    if (ran.status != 0 || strstr(ran.text, words) == NULL) {
        dprintf(2, "cpu.max %s: no \"%s\" in\n", quota, words);
        show(&ran);
    }
    CHECK(ran.status == 0 && strstr(ran.text, words) != NULL);
}

static void enter_two_below(void) {
    enter_below("a/b");
}

static void ask(void) {
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    expect("max 100000", CPU_COUNT(&set), enter);
    expect("150000 100000", 2, enter);
    expect("100000 100000", 1, enter);
    expect("5000 100000", 1, enter);
    expect("30000 20000", 2, enter_two_below); /* the least on the path counts */
}

int main(int argc, char **argv) {
    cpu_set_t set;
    if (is_worker(argc, argv)) {
        free(malloc(1));
        return 0;
    }
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    if (CPU_COUNT(&set) < 3)
        skip("fewer than three CPUs");
    if (!make_group("cpu"))
        skip("no cgroup with a share of the CPUs can be made here");
    make_below("a");
    make_below("a/b");
    return with_group(ask);
}
