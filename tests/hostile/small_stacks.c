/*
 * small_stacks: does every entry point fit into a thread with a 64 KiB stack?
 *
 * The threads have 64 KiB, of which libc takes a part for thread-local storage. Each goes through first use,
 * refill, large blocks, growth, alignment, statistics, and its own exit with blocks alive. A signal that
 * arrives on top of that still fits. The guard page turns any overflow into a crash.
 */
#include "hostile.h"
#include <signal.h>

enum { THREADS = 30, STACK = 64 << 10 };

static volatile sig_atomic_t handled;

static void handler(int number) {
    handled += number != 0;
}

static void *body(void *argument) {
    void *aligned;
    void *left = malloc(123456);

    CHECK(left != NULL && raise(SIGUSR1) == 0);
    for (size_t size = 8; size < 6u << 20; size = size * 3 + 1) {
        char *block = realloc(malloc(size), size * 2);
        CHECK(block != NULL && malloc_usable_size(block) >= size * 2);
        fill(block, size * 2, 's');
        CHECK(posix_memalign(&aligned, 1u << 16, size) == 0);
        fill(aligned, size, 'a');
        free(aligned);
        free(block);
    }
    churn((unsigned)(uintptr_t)argument, 300);
    (void)mallinfo2();
    malloc_trim(0);
    void *volatile too_much = malloc(PTRDIFF_MAX);
    CHECK(too_much == NULL && errno == ENOMEM);
    return left;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = handler};

    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(pthread_attr_init(&attributes) == 0);
    if (pthread_attr_setstacksize(&attributes, STACK) != 0)
        skip("64 KiB is less than the smallest stack here");
    for (uintptr_t i = 0; i < THREADS; i++) {
        int error = pthread_create(&threads[i], &attributes, body, (void *)(i + 1));
        if (error == EINVAL && i == 0)
            skip("64 KiB does not hold the thread-local storage of this process");
        CHECK(error == 0);
    }
    for (int i = 0; i < THREADS; i++)
        free(join_thread(threads[i]));
    CHECK(handled > 0);
    return 0;
}
