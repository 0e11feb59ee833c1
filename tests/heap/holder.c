/* Allocates known blocks from known functions, says so, and sleeps.
 *
 *   holder known    every kind of call, a thread, blocks that went again: what each function holds is in check.py
 *   holder many     two sites with many blocks, of one of which half went again
 *   holder fork     blocks before a fork, and others in each process after it; says the child's process id
 *   holder exit     as known, and returns 3
 *   holder change   takes and gives back, with a new call path now and then, for as long as it lives
 *
 * Says lines `name number`, at last `ready 0`. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Neither inlined, nor left by a jump: each function stays in the stacks of what it calls. */
#define SITE __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")

enum { MOST = 1 << 20 };

static void *held[MOST];
static unsigned count;

static void hold(void *block) {
    if (!block)
        exit(1);
    held[count++] = block;
}

static void say(const char *name, long number) {
    printf("%s %ld\n", name, number);
    fflush(stdout);
}

SITE static void take_small(unsigned blocks, size_t size) {
    for (unsigned i = 0; i < blocks; i++)
        hold(malloc(size));
    STAY;
}

SITE static void take_large(void) {
    for (unsigned i = 0; i < 3; i++)
        hold(malloc(200000));
    STAY;
}

SITE static void inner(void) {
    take_large();
    STAY;
}

SITE static void outer(void) {
    inner();
    STAY;
}

SITE static void take_zeroed(void) {
    for (unsigned i = 0; i < 10; i++)
        hold(calloc(5, 10));
    STAY;
}

SITE static void take_aligned(void) {
    for (unsigned i = 0; i < 10; i++) {
        void *block = NULL;
        hold(posix_memalign(&block, 4096, 5000) ? NULL : block);
    }
    STAY;
}

SITE static void churn(void) {
    for (unsigned i = 0; i < 500; i++) {
        void *block = malloc(300);
        if (!block)
            exit(1);
        memset(block, 1, 300);
        STAY;
        free(block);
    }
    STAY;
}

SITE static void grow(void) {
    void *block = NULL;
    for (size_t size = 16; size <= 1 << 20; size *= 2) {
        void *larger = realloc(block, size);
        if (!larger)
            exit(1);
        block = larger;
    }
    hold(block);
    STAY;
}

SITE static void take_in_thread(void) {
    for (unsigned i = 0; i < 200; i++)
        hold(malloc(64));
    STAY;
}

static void *thread(void *unused) {
    take_in_thread();
    STAY;
    return unused;
}

/* The main thread frees half of what the other has taken. */
static void hold_of_thread(void) {
    pthread_t other;
    unsigned first = count;
    if (pthread_create(&other, NULL, thread, NULL))
        exit(1);
    pthread_join(other, NULL);
    for (unsigned i = 0; i < 200; i += 2)
        free(held[first + i]);
}

static void hold_known(void) {
    take_small(1000, 100);
    outer();
    take_zeroed();
    take_aligned();
    churn();
    grow();
    hold_of_thread();
}

SITE static void take_and_give_half(unsigned blocks, size_t size) {
    unsigned first = count;
    for (unsigned i = 0; i < blocks; i++)
        hold(malloc(size));
    for (unsigned i = 0; i < blocks; i += 2)
        free(held[first + i]);
    STAY;
}

SITE static void take_in_child(void) {
    for (unsigned i = 0; i < 50; i++)
        hold(malloc(2000));
    STAY;
}

SITE static void take_in_parent(void) {
    for (unsigned i = 0; i < 70; i++)
        hold(malloc(3000));
    STAY;
}

static void hold_around_fork(void) {
    int ready[2];
    char word;
    take_small(100, 1000);
    if (pipe(ready))
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < 40; i++)
            free(held[i]);
        take_in_child();
        if (write(ready[1], "!", 1) != 1)
            exit(1);
        for (;;)
            pause();
    }
    take_in_parent();
    if (read(ready[0], &word, 1) != 1)
        exit(1);
    say("child", child);
}

SITE static void deep(unsigned levels) {
    if (levels)
        deep(levels - 1);
    else
        hold(malloc(100));
    STAY;
}

/* Ready when it gives back for the first time: then there is something to be seen. */
static void change(void) {
    uint32_t random = 1;
    for (unsigned long times = 0;;) {
        random = random * 1664525 + 1013904223;
        if (count > 1000) {
            while (count > 500)
                free(held[--count]);
            if (times++ == 0)
                say("ready", 0);
        }
        deep(random >> 26);
    }
}

int main(int words, char **word) {
    const char *mode = words > 1 ? word[1] : "";
    if (!strcmp(mode, "change"))
        change();
    if (!strcmp(mode, "known") || !strcmp(mode, "exit"))
        hold_known();
    if (!strcmp(mode, "exit"))
        return 3;
    if (!strcmp(mode, "many")) {
        take_small(300000, 120);
        take_and_give_half(30000, 1500);
    }
    if (!strcmp(mode, "fork"))
        hold_around_fork();
    say("ready", 0);
    for (;;)
        pause();
}
