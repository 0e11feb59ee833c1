/*
 * wakes: threads that sleep for a moment, while visitors empty their magazines as often as they can.
 *
 * Each thread takes, fills, verifies and frees blocks, some of them those of its neighbours, and sleeps for up to two
 * milliseconds, in different calls; so visitors come before, while and after it wakes up. Threads end and others start. Beside
 * that, a thread gives home all it can without a pause, and forks children that use the heap. At the end every block must
 * be what it was.
 *
 * At last all sleep, with some blocks each, until a visitor has been at every one of them; and use their heaps again.
 */
#include "home.h"

#include <poll.h>
#include <stdatomic.h>

enum { THREADS = 16, LIVES = 5, ROUNDS = 80, HELD = 48, CALLS = 60, EXCHANGED = 64, FORK_EVERY = 40 };

static struct {
    void *_Atomic exchanged[EXCHANGED]; /* blocks that one thread has filled and another frees */
    _Atomic unsigned sleeps;
    _Atomic bool done;
    pthread_barrier_t all;
} shared;

static size_t size_of(unsigned *state) {
    unsigned r = next_random(state);

    return r % 64 == 0 ? r % 30000 + 64 : r % 1000 + 16;
}

/* The first word is the size; the rest repeats a byte of it. */
static void *filled(size_t size) {
    unsigned char *block = malloc(size);

    CHECK(block != NULL);
    fill(block, size, (unsigned char)(size * 7));
    memcpy(block, &size, sizeof size);
    return block;
}

static void verify_and_free(unsigned char *block) {
    size_t size;

    if (block == NULL)
        return;
    memcpy(&size, block, sizeof size);
    verify(block + sizeof size, size - sizeof size, (unsigned char)(size * 7));
    free(block);
}

static void doze(unsigned *state) {
    unsigned r = next_random(state);
    struct timespec pause = {0, (long)(r / 4 % 2000) * 1000};

    if (r % 4 == 0)
        poll(NULL, 0, 1);
    else if (r % 4 != 1)
        nanosleep(&pause, NULL);
    shared.sleeps++;
}

static void use(unsigned char **held, unsigned *state) {
    for (int i = 0; i < CALLS; i++) {
        unsigned place = next_random(state) % HELD, other = next_random(state) % EXCHANGED;
        verify_and_free(held[place]);
        held[place] = NULL;
        if (next_random(state) % 4 != 0)
            held[place] = filled(size_of(state));
        if (next_random(state) % 4 == 0)
            verify_and_free(atomic_exchange(&shared.exchanged[other], filled(size_of(state))));
    }
}

static void *live(void *argument) {
    unsigned state = (unsigned)(uintptr_t)argument * 2654435761u | 1;
    unsigned char *held[HELD] = {NULL};

    for (int round = 0; round < ROUNDS; round++) {
        use(held, &state);
        doze(&state);
    }
    for (int i = 0; i < HELD; i++)
        verify_and_free(held[i]);
    return NULL;
}

static void child(void) {
    unsigned state = 77;
    unsigned char *held[HELD] = {NULL};

    use(held, &state);
    malloc_trim(0);
    use(held, &state);
    for (int i = 0; i < HELD; i++)
        verify_and_free(held[i]);
    _exit(0);
}

/* Has a heap, too, and other threads see it asleep while it waits for its children. */
static void *visit(void *nothing) {
    unsigned state = 5;
    unsigned char *held[HELD] = {NULL};

    for (unsigned visits = 1; !shared.done; visits++) {
        malloc_trim(0);
        use(held, &state);
        if (visits % FORK_EVERY != 0)
            continue;
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            child();
        await_child(pid);
    }
    for (int i = 0; i < HELD; i++)
        verify_and_free(held[i]);
    return nothing;
}

static void live_and_be_replaced(void) {
    pthread_t threads[THREADS], visitors[2];

    for (int i = 0; i < 2; i++)
        visitors[i] = start_thread(visit, NULL);
    for (unsigned i = 0; i < LIVES; i++) {
        for (unsigned k = 0; k < THREADS; k++)
            threads[k] = start_thread(live, (void *)(uintptr_t)(i * THREADS + k + 1));
        for (unsigned k = 0; k < THREADS; k++)
            join_thread(threads[k]);
    }
    shared.done = true;
    for (int i = 0; i < 2; i++)
        join_thread(visitors[i]);
    for (int i = 0; i < EXCHANGED; i++)
        verify_and_free(atomic_exchange(&shared.exchanged[i], NULL));
}

static void *sleep_long(void *argument) {
    unsigned state = (unsigned)(uintptr_t)argument * 40503u | 1;
    unsigned char *held[HELD] = {NULL};

    use(held, &state);
    pthread_barrier_wait(&shared.all);
    pthread_barrier_wait(&shared.all);
    use(held, &state);
    for (int i = 0; i < HELD; i++)
        verify_and_free(held[i]);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];

    setvbuf(stdout, NULL, _IOLBF, 4096);
    live_and_be_replaced();
    CHECK(pthread_barrier_init(&shared.all, NULL, THREADS + 1) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        threads[i] = start_thread(sleep_long, (void *)(uintptr_t)(i + 1));
    pthread_barrier_wait(&shared.all);
    for (int i = 0; i < 5; i++) {
        rest(2);
        malloc_trim(0);
    }
    pthread_barrier_wait(&shared.all);
    for (unsigned i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    for (int i = 0; i < EXCHANGED; i++)
        verify_and_free(atomic_exchange(&shared.exchanged[i], NULL));
    printf("%u sleeps\n", shared.sleeps);
    return 0;
}
