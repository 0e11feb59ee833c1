/*
 * steady: how many system calls for memory does a program make that goes on and on, with memory going home by itself?
 *
 *   steady SLOTS MILLIONS BAR REACHED
 *
 * The mixed loop of the benchmark: a slot chosen at random is freed if it is full, else gets 16 to 1,024 bytes. After as
 * much warm-up, MILLIONS of operations may make BAR calls of mmap, munmap, mremap, madvise and mincore, by any thread; REACHED is
 * what holds where the bar does not yet. The program has its own syscall(), through which the library makes all of them.
 * While the machine holds the program up its memory rests, and goes home: what is called from there on, for as long as the
 * janitor may look at that, is not counted.
 */
#include "home.h"

#include "../kernel_call.h"

enum { PIECE = 200000, HELD_UP_MS = 100, SETTLES_MS = 600 };

static _Atomic unsigned long calls_for_memory;

long syscall(long number, ...) {
    static long (*next)(long, ...);
    long a[6];

    KERNEL_WORDS(a, number);
    if (number == SYS_mmap || number == SYS_munmap || number == SYS_mremap || number == SYS_madvise ||
        number == SYS_mincore)
        calls_for_memory++;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void run_mixed(void **slots, size_t count, size_t operations, unsigned *state) {
    for (size_t i = 0; i < operations; i++) {
        size_t slot = next_random(state) % count;
        if (slots[slot] != NULL) {
            free(slots[slot]);
            slots[slot] = NULL;
        } else {
            slots[slot] = taken(16 + next_random(state) % 1009);
        }
    }
}

/* Calls of as many operations while nothing held them up; SKIP when that was never. */
static unsigned long count_calls(void **slots, size_t count, size_t operations, unsigned *state) {
    unsigned long calls = 0, pieces = 0;
    long now = now_ms(), settled = now;

    for (size_t done = 0; done < operations; done += PIECE) {
        unsigned long before = calls_for_memory;
        long began = now;
        run_mixed(slots, count, PIECE, state);
        now = now_ms();
        if (now - began >= HELD_UP_MS)
            settled = now + SETTLES_MS;
        if (now >= settled) {
            calls += calls_for_memory - before;
            pieces++;
        }
    }
    if (pieces == 0)
        skip("this machine is too busy");
    return calls;
}

int main(int argc, char **argv) {
    unsigned state = 1;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    CHECK(argc == 5);
    size_t count = strtoul(argv[1], NULL, 10), operations = strtoul(argv[2], NULL, 10) * 1000000;
    void **slots = table_of(count * sizeof(void *));
    run_mixed(slots, count, operations, &state);
    unsigned long before = calls_for_memory;
    CHECK(before > 0);
    unsigned long calls = count_calls(slots, count, operations, &state);
    printf("%zu slots: %lu calls in %zu operations, %lu in the warm-up\n", count, calls, operations, before);
    bar_at_most("system calls for memory", (long)calls, atol(argv[3]), atol(argv[4]));
    return bars_result();
}
