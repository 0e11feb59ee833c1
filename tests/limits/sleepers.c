/*
 * sleepers: how often are threads looked at near HAKMEM_SOFT_LIMIT that cannot be reached?
 *
 * Each of many threads allocates a little in a deep call, and then sleeps in another whose frame lies over what the first
 * has left: between its stack pointer and the end of its stack stand addresses of the library, as if a call of ours were
 * under way. Such a thread is left alone. Meanwhile the program grows far beyond the limit: for each MiB of growth heaps are
 * gone through, but a look at such a thread, some eighty system calls, is not made again while it sleeps. The program
 * has its own syscall(), through which the library makes its calls.
 */
#include "limits.h"
#include "../kernel_call.h"
#include <stdatomic.h>
#include <sys/syscall.h>

enum {
    THREADS = 100,
    GROWTH = 100, /* MiB */
    GROWN = 1000,
    MOST = 2 /* looks at each of them */
};

static atomic_ulong looks; /* how a look begins */
static pid_t sleepers[THREADS];
static atomic_uint asleep; /* but for the call in which they stay */

/* Not by a function of libc: it may not be bound yet. */
static bool is_of_a_thread(const char *path) {
    static const char begin[] = "/proc/self/task/";
    for (size_t i = 0; begin[i] != '\0'; i++)
        if (path[i] != begin[i])
            return false;
    return true;
}

long syscall(long number, ...) {
    long a[6];
    KERNEL_WORDS(a, number);
    if (number == SYS_openat && is_of_a_thread((const char *)(uintptr_t)a[1]))
        atomic_fetch_add(&looks, 1);
    return kernel_result(kernel_call(number, a));
}

__attribute__((noinline)) static void use_a_little(void) {
    void *blocks[40];
    for (size_t i = 0; i < 40; i++)
        CHECK((blocks[i] = malloc(100)) != NULL);
    for (size_t i = 0; i < 40; i++)
        free(blocks[i]);
}

/* The frames of the calls that malloc makes lie at a different depth each time: somewhere below one stays. */
__attribute__((noinline)) static void use_deeply(unsigned depth) {
    volatile char frame[256];
    frame[0] = (char)depth;
    if (depth > 0)
        use_deeply(depth - 1);
    use_a_little();
    frame[1] = frame[0];
}

__attribute__((noinline)) static void sleep_above(void) {
    volatile char frame[16384];
    frame[0] = 0;
    CHECK(frame[0] == 0);
    sleepers[atomic_fetch_add(&asleep, 1)] = gettid();
    for (;;)
        pause();
}

static void *sleeper(void *nothing) {
    use_deeply(8);
    sleep_above();
    return nothing;
}

static bool sleeps(pid_t thread) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    const char *name_end = strrchr(text_of(path), ')');
    CHECK(name_end != NULL);
    return name_end[2] == 'S';
}

/* One that runs is looked at again and again, as its stack changes. */
static void wait_until_all_sleep(void) {
    while (atomic_load(&asleep) < THREADS)
        sched_yield();
    for (unsigned i = 0; i < THREADS; i++)
        while (!sleeps(sleepers[i]))
            sched_yield();
}

int main(int argc, char **argv) {
    static const char *const limited[] = {"HAKMEM_SOFT_LIMIT=16m", "HAKMEM_PURGE_DELAY=3600000", NULL};
    if (!is_worker(argc, argv)) {
        dprintf(2, "%s", run_role("worker", limited, 0));
        return 0;
    }
    pthread_t thread;
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread, NULL, sleeper, NULL) == 0);
    wait_until_all_sleep();
    void **list = hold(GROWN, GROWTH * MIB);
    CHECK(held >= GROWTH * MIB);
    unsigned long made = atomic_load(&looks);
    dprintf(2, "%lu looks at %d threads\n", made, THREADS);
    if (made == 0)
        skip("threads are not looked at here, or not through this program's syscall()");
    CHECK(made <= (unsigned long)MOST * THREADS);
    drop(list);
    _exit(0);
}
