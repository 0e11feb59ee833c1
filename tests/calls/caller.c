/* Calls malloc, free and their relatives a known number of times, says so, and sleeps.
 *
 *   caller sleep ROUNDS THREADS    each of the threads, and the first one, goes through its rounds; then come the last calls
 *   caller exit ROUNDS THREADS     the same, and returns 3
 *   caller abort ROUNDS THREADS    the same, and is killed by a signal
 *   caller fork ROUNDS THREADS     the same; then a child goes through ten rounds more
 *   caller change ROUNDS THREADS   the threads begin again for as long as it lives
 *
 * What a round is made of is in check.py. Says lines `name number`, at last `ready 0`, with write: stdio would allocate. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Neither inlined, nor left by a jump: each call comes from the function that is named. */
#define SITE __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")

enum { SMALL = 100, LARGE = 200000, LAST = 3, MOST_THREADS = 16 };

/* operator new(unsigned long), and with an alignment, which hakmem brings along. */
extern void *_Znwm(size_t) __attribute__((weak)), *_ZnwmSt11align_val_t(size_t, size_t) __attribute__((weak));

static unsigned rounds;
static int forever;
static void *passed_on[MOST_THREADS];

static void say(const char *name, unsigned long number) {
    char line[64];
    int count = snprintf(line, sizeof line, "%s %lu\n", name, number);
    if (write(1, line, (size_t)count) != count)
        _exit(1);
}

static void *sure(void *block) {
    if (!block)
        _exit(1);
    STAY;
    return block;
}

SITE static void *take_small(void) {
    void *block = sure(malloc(SMALL));
    STAY;
    return block;
}

SITE static void *take_large(void) {
    void *block = sure(malloc(LARGE));
    STAY;
    return block;
}

SITE static void *take_zeroed(void) {
    void *block = sure(calloc(SMALL, 2));
    STAY;
    return block;
}

SITE static void *take_aligned(void) {
    void *block = sure(aligned_alloc(64, 640));
    STAY;
    return block;
}

SITE static void *take_posix(size_t size) {
    void *block = NULL;
    if (posix_memalign(&block, 128, size) != 0)
        _exit(1);
    STAY;
    return block;
}

SITE static void *take_new(void) {
    void *block = sure(_Znwm(SMALL));
    STAY;
    return block;
}

SITE static void *take_new_aligned(void) {
    void *block = sure(_ZnwmSt11align_val_t(SMALL, 64));
    STAY;
    return block;
}

SITE static void give(void *block) {
    free(block);
    STAY;
}

SITE static void *resize(void *block, size_t size) {
    void *resized = sure(realloc(block, size));
    STAY;
    return resized;
}

static void go_round(void) {
    void *small = take_small(), *large = take_large();
    small = resize(small, 5 * SMALL);
    large = resize(large, LARGE - 1000);
    small = resize(small, LARGE);
    give(large);
    give(small);
    void *zeroed = take_zeroed(), *aligned = take_aligned(), *new = take_new();
    give(zeroed);
    give(aligned);
    give(new);
    void *posix = take_posix(SMALL), *posix_large = take_posix(LARGE), *new_aligned = take_new_aligned();
    give(posix);
    give(posix_large);
    give(new_aligned);
}

static void *thread(void *place) {
    do {
        for (unsigned i = 0; i < rounds; i++)
            go_round();
    } while (forever);
    *(void **)place = take_small(); /* another thread frees it */
    return NULL;
}

SITE static void take_last(void **block) {
    for (unsigned i = 0; i < LAST; i++)
        block[i] = sure(malloc(1000 + i));
    STAY;
}

SITE static void give_last(void **block) {
    for (unsigned i = LAST; i-- > 0;)
        free(block[i]);
    STAY;
}

int main(int words, char **word) {
    if (words != 4)
        return 1;
    const char *mode = word[1];
    pthread_t others[MOST_THREADS];
    unsigned count = (unsigned)atoi(word[3]);
    rounds = (unsigned)atoi(word[2]);
    forever = !strcmp(mode, "change");
    for (unsigned i = 0; i < count && i < MOST_THREADS; i++)
        if (pthread_create(&others[i], NULL, thread, &passed_on[i]))
            return 1;
    if (forever)
        say("ready", 0);
    for (unsigned i = 0; i < count && i < MOST_THREADS; i++) {
        if (pthread_join(others[i], NULL))
            return 1;
        give(passed_on[i]);
    }
    for (unsigned i = 0; i < rounds; i++)
        go_round();
    if (!strcmp(mode, "fork")) {
        pid_t child = fork();
        if (child == 0)
            for (unsigned i = 0; i < 10; i++)
                go_round();
        else
            say("child", (unsigned long)child);
        say("ready", 0);
        for (;;)
            pause();
    }
    void *last[LAST];
    take_last(last);
    for (unsigned i = 0; i < LAST; i++)
        say("block", (unsigned long)last[i]);
    give_last(last);
    if (!strcmp(mode, "exit"))
        return 3;
    if (!strcmp(mode, "abort"))
        raise(SIGUSR1);
    say("ready", 0);
    for (;;)
        pause();
}
