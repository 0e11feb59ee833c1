/*
 * steps: how many system calls can one malloc cost near HAKMEM_SOFT_LIMIT?
 *
 * 96 of 97 blocks are freed: of what is free there each run of pages between two that stay is a call to give home. Then the
 * program grows beyond the limit by blocks of another size. Their mallocs give home as much as they need, a bounded part each,
 * and go on where the last one stopped: in the end all that is free is home, and no call has made more than MOST. The
 * program has its own syscall(), through which the library makes its calls.
 */
#include "limits.h"
#include "../kernel_call.h"
#include <sys/syscall.h>

enum {
    BLOCKS = 200000,
    BLOCK = 1000,
    KEPT = 97,   /* one of so many stays */
    GROWTH = 60, /* MiB */
    GROWN = 3000,
    MOST = 300 /* to give home a MiB in single pages, and what else a step may do */
};

static volatile struct { /* compilers believe that malloc changes nothing of ours */
    unsigned long calls, worst;
} made;

static __thread bool allocates; /* the janitor's calls are no malloc's */

long syscall(long number, ...) {
    long a[6];
    KERNEL_WORDS(a, number);
    made.calls += allocates && number == SYS_madvise;
    return kernel_result(kernel_call(number, a));
}

static void *take(size_t size) {
    unsigned long before = made.calls;
    char *block = malloc(size);
    CHECK(block != NULL);
    made.worst = made.calls - before > made.worst ? made.calls - before : made.worst;
    fill(block, size, 'x');
    return block;
}

static void give(void *block) {
    unsigned long before = made.calls;
    free(block);
    made.worst = made.calls - before > made.worst ? made.calls - before : made.worst;
}

static void scatter(void) {
    static void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = take(BLOCK);
    for (size_t i = 0; i < BLOCKS; i++)
        if (i % KEPT != 0)
            give(blocks[i]);
}

int main(int argc, char **argv) {
    static const char *const limited[] = {"HAKMEM_SOFT_LIMIT=200m", "HAKMEM_KEEP_FREE=1g",
                                          "HAKMEM_HUGE_PAGES=0", "HAKMEM_PURGE_DELAY=3600000", NULL};
    if (!is_worker(argc, argv)) {
        dprintf(2, "%s", run_role("worker", limited, 0));
        return 0;
    }
    allocates = true;
    long before = status_kib("VmRSS:");
    scatter();
    if (before < 0 || made.calls == 0)
        skip("no /proc/self/status, or the library does not make its calls through this program's syscall()");
    unsigned long scattered = made.calls;
    for (size_t grown = 0; grown < GROWTH * MIB; grown += GROWN)
        take(GROWN);
    long resident = (status_kib("VmRSS:") - before) >> 10;
    dprintf(2, "%lu calls at worst, %lu to make room, %ld MiB resident\n", made.worst, made.calls - scattered,
            resident);
    CHECK(made.calls - scattered > 10 * MOST);
    CHECK(made.worst <= MOST);
    CHECK(resident < GROWTH + 40);
    return 0;
}
