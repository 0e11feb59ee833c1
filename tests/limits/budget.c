/*
 * budget: does HAKMEM_SYSCALL_BUDGET bound the calls that give memory back, in every second of the clock?
 *
 * The program frees much more than it may keep (HAKMEM_KEEP_FREE=0), over and over. The count of madvise calls is in
 * the line of HAKMEM_OS_STATS; the time that it took bounds what is allowed. Without a budget the same work makes many
 * more. malloc_trim is asked for by the program: it gives everything back whatever the budget.
 */
#include "limits.h"
#include <time.h>

enum { BUDGET = 3, ROUNDS = 60 };

static unsigned long number_of(const char *said, const char *name) {
    const char *at = strstr(said, name);
    if (at == NULL)
        dprintf(2, "no %s in: %s\n", name, said);
    CHECK(at != NULL);
    return strtoul(at + strlen(name), NULL, 10);
}

static void work(void) {
    for (int round = 0; round < ROUNDS; round++)
        drop(hold(round % 2 == 0 ? 3000 : 150, 6 * MIB));
}

int main(int argc, char **argv) {
    static const char *const none[] = {"HAKMEM_KEEP_FREE=0", "HAKMEM_HUGE_PAGES=0", "HAKMEM_POPULATE=0",
                                       "HAKMEM_OS_STATS=1", NULL};
    static const char *const few[] = {"HAKMEM_KEEP_FREE=0", "HAKMEM_HUGE_PAGES=0",     "HAKMEM_POPULATE=0",
                                      "HAKMEM_OS_STATS=1",  "HAKMEM_SYSCALL_BUDGET=3", NULL};

    if (argc > 1) {
        work();
        if (strcmp(argv[1], "trim") == 0) {
            malloc_trim(0);
            long before = status_kib("VmRSS:");
            drop(hold(700, 40 * MIB)); /* some of it goes home at once, the more the longer it takes */
            malloc_trim(0);
            CHECK(before < 0 || status_kib("VmRSS:") < before + (20 << 10));
        }
        return 0;
    }
    unsigned long without = number_of(run_role("work", none, 0), " lean_decommit=");
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    unsigned long with = number_of(run_role("work", few, 0), " lean_decommit=");
    clock_gettime(CLOCK_MONOTONIC, &ended);
    unsigned long seconds = (unsigned long)(ended.tv_sec - begun.tv_sec) + 1;
    dprintf(2, "%lu calls without a budget, %lu with one of %d in %lu seconds\n", without, with, BUDGET,
            seconds);
    CHECK(without > 10 * BUDGET);
    CHECK(with <= BUDGET * (seconds + 1));
    run_role("trim", few, 0);
    return 0;
}
