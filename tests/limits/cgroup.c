/*
 * cgroup: does a program with HAKMEM_SOFT_LIMIT survive in a cgroup of 1.3 x what it has live?
 *
 * A cgroup v2 is made, with memory.max, and the program follows it (HAKMEM_SOFT_LIMIT=cgroup).
 * Where the memory controller belongs to version 1, one of those is made, and the program is told the bytes. Swap is off in
 * both. The same program without the option keeps more than fits, and the kernel kills it: that shows that the cgroup
 * works. SKIP where neither can be made.
 */
#include "cgroup.h"
#include <signal.h>

enum { LIVE = 96, PHASES = 8 };

#define ALLOWED "130862K" /* 1.3 x 96 MiB, and 3 MiB for what is not the heap */

static bool second; /* version 2 of cgroups */

/* Where the memory controller is of version 1. */
static bool make_old_group(void) {
    char parent[2100];
    const char *own = own_path(":memory:");
    if (own == NULL)
        return false;
    snprintf(parent, sizeof parent, "/sys/fs/cgroup/memory%s", own);
    return make_group_in(parent);
}

/* What it may hold, by the files of its version. */
static void set_limit(const char *limit, const char *swap) {
    put(swap, "0"); /* refused where there is no swap */
    if (!put(limit, ALLOWED)) {
        remove_group();
        skip("the cgroup takes no limit of memory");
    }
}

/* Small blocks and large ones in turn: what one phase leaves is of no use to the next. */
static void phases(void) {
    for (int phase = 0; phase < PHASES; phase++) {
        drop(hold(phase % 2 == 0 ? 3 * MIB : 500, LIVE * MIB));
        CHECK(held >= LIVE * MIB);
    }
}

static void ask(void) {
    static const char *const follow[] = {"HAKMEM_SOFT_LIMIT=cgroup", "HAKMEM_KEEP_FREE=1g",
                                         "HAKMEM_LARGE_CACHE=1g", NULL};
    static const char *const told[] = {"HAKMEM_SOFT_LIMIT=" ALLOWED, "HAKMEM_KEEP_FREE=1g",
                                       "HAKMEM_LARGE_CACHE=1g", NULL};
    static const char *const keep[] = {"HAKMEM_KEEP_FREE=1g", "HAKMEM_LARGE_CACHE=1g", NULL};
    static struct ran with, without;
    char *command[] = {self_path(), (char *)(uintptr_t) "worker", NULL};

    run(&with, command, second ? follow : told, enter);
    run(&without, command, keep, enter);
    if (with.status != 0)
        show(&with);
    CHECK(with.status == 0);
    CHECK(without.status == 128 + SIGKILL);
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv)) {
        phases();
        return 0;
    }
    second = make_group("memory");
    if (second)
        set_limit("memory.max", "memory.swap.max");
    else if (make_old_group())
        set_limit("memory.limit_in_bytes", "memory.swappiness");
    else
        skip("no cgroup with a limit of memory can be made here");
    return with_group(ask);
}
