/* Holds a known amount of memory in every state that `hakmem explain` tells apart, says how much, and sleeps.
 *
 *   holder mixed    live and free blocks, a thread with full magazines and outbox, large blocks, all of them touched
 *   holder run      is in the middle of a long run of frees: what it has freed of the last slab is marked
 *   holder turns    has two threads that took and freed large blocks by turns
 *   holder huge     one small block on a page of 2 MiB, if the kernel can be asked for that
 *   holder change   takes and gives back for as long as it lives
 *   holder heir     has a thread that goes on after main's has ended
 *   holder exit     64 MiB live, and returns
 *
 * Says lines `name bytes`, the bytes being those that malloc_usable_size gives, and at last `ready 0`. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
    LIVE = 65536,     /* blocks of 1,000 bytes that stay */
    HALVED = 262144,  /* blocks of 240 bytes, of which every other goes, at random */
    CLASSES = 16,     /* sizes whose magazines the thread fills */
    MAGAZINE = 12,    /* blocks of each */
    POSTED = 100,     /* blocks of 512 bytes that the thread frees for main */
    GONE = 512,       /* blocks of 32 KiB that go, slab after slab */
    CACHED = 8 << 20, /* bytes of a large block that is freed */
    RUN = 300000,     /* bytes of a large block that stays */
    TURNS = 300,      /* of two threads */
    AT_ONCE = 6,      /* blocks of 100,000 bytes in a turn */
    LONG = 20000,     /* blocks of 64 bytes ... */
    FREED = 10000     /* ... of which the first go, down to the middle of a slab of 1,024 */
};

static void *live[LIVE], *halved[HALVED], *posted[POSTED], *gone[GONE];

static void *take(size_t size) {
    void *block = malloc(size);
    if (!block)
        exit(1);
    memset(block, 1, malloc_usable_size(block));
    return block;
}

static size_t give(void *block) {
    size_t bytes = malloc_usable_size(block);
    free(block);
    return bytes;
}

static void say(const char *name, size_t bytes) {
    printf("%s %zu\n", name, bytes);
    fflush(stdout);
}

static void *thread(void *ready) {
    size_t bytes = 0;
    for (unsigned i = 0; i < CLASSES; i++) {
        void *blocks[MAGAZINE];
        for (unsigned j = 0; j < MAGAZINE; j++)
            blocks[j] = take(1024 + i * 192);
        for (unsigned j = 0; j < MAGAZINE; j++)
            bytes += give(blocks[j]);
    }
    for (unsigned i = 0; i < POSTED; i++)
        bytes += give(posted[i]);
    say("threads", bytes);
    pthread_barrier_wait(ready);
    for (;;)
        pause();
    return NULL;
}

static void hold_small(void) {
    size_t live_bytes = 0, free_bytes = 0;
    uint32_t random = 1;
    for (unsigned i = 0; i < LIVE; i++)
        live_bytes += malloc_usable_size(live[i] = take(1000));
    for (unsigned i = 0; i < HALVED; i++)
        halved[i] = take(240);
    for (unsigned i = 0; i < HALVED; i++) {
        random = random * 1664525 + 1013904223;
        if (random >> 31)
            free_bytes += give(halved[i]);
        else
            live_bytes += malloc_usable_size(halved[i]);
    }
    say("live_small", live_bytes);
    say("free", free_bytes);
}

static void hold_mixed(void) {
    static pthread_barrier_t ready;
    pthread_t sleeper;
    hold_small();
    for (unsigned i = 0; i < POSTED; i++)
        posted[i] = take(512);
    pthread_barrier_init(&ready, NULL, 2);
    if (pthread_create(&sleeper, NULL, thread, &ready))
        exit(1);
    pthread_barrier_wait(&ready);
    say("live_large", malloc_usable_size(take(RUN)) + malloc_usable_size(take(CACHED)));
    say("cached", give(take(CACHED)));
    size_t bytes = 0;
    for (unsigned i = 0; i < GONE; i++)
        gone[i] = take(32768);
    for (unsigned i = 0; i < GONE; i++)
        bytes += give(gone[i]);
    say("gone", bytes);
}

static void hold_run(void) {
    size_t bytes = 0;
    for (unsigned i = 0; i < LONG; i++)
        live[i] = take(64);
    for (unsigned i = 0; i < FREED; i++)
        give(live[i]);
    for (unsigned i = FREED; i < LONG; i++)
        bytes += malloc_usable_size(live[i]);
    say("live_small", bytes);
}

static void *take_turns(void *both) {
    for (unsigned turn = 0; turn < TURNS; turn++) {
        void *blocks[AT_ONCE];
        for (unsigned i = 0; i < AT_ONCE; i++)
            blocks[i] = take(100000);
        pthread_barrier_wait(both);
        for (unsigned i = 0; i < AT_ONCE; i++)
            give(blocks[i]);
    }
    pthread_barrier_wait(both);
    for (;;)
        pause();
    return NULL;
}

static void hold_turns(void) {
    static pthread_barrier_t both;
    pthread_t other;
    size_t bytes =
        malloc_usable_size(take(RUN)); /* before there are threads: then they may have something at hand */
    pthread_barrier_init(&both, NULL, 2);
    if (pthread_create(&other, NULL, take_turns, &both) || pthread_create(&other, NULL, take_turns, &both))
        exit(1);
    sleep(1);
    say("live_large", bytes);
}

static void hold_huge(void) {
    uintptr_t page = (uintptr_t)take(100) >> 21 << 21;
    say("huge", madvise((void *)page, 1 << 21, MADV_COLLAPSE) == 0 ? 1 << 21 : 0);
}

/* Ready when it has grown: from then on it changes, but is not another one from one moment to the next. */
static void change(void) {
    uint32_t random = 1;
    for (unsigned long steps = 1;; steps++) {
        if (steps == 8 * (UINT16_MAX + 1))
            say("ready", 0);
        random = random * 1664525 + 1013904223;
        void **place = &live[random >> 16];
        free(*place);
        *place = take(random % 4096);
    }
}

static void hold_live(void) {
    for (unsigned i = 0; i < LIVE; i++)
        live[i] = take(1000);
}

static void *nothing(void *unused) {
    return unused;
}

static void *inherit(void *first) {
    pthread_join(*(pthread_t *)first, NULL);
    say("ready", 0);
    while (pause() != 0) /* for good */
        continue;
    return NULL;
}

/* Ends, and is outlived by another thread, which is told whom it may wait for. */
static void leave_to(void *(*heir)(void *)) {
    pthread_t *self = take(sizeof *self), other;
    *self = pthread_self();
    if (pthread_create(&other, NULL, heir, self))
        exit(1);
    pthread_exit(NULL);
}

static const char *ends; /* how */

static void *be_last(void *before) {
    pthread_join(*(pthread_t *)before, NULL);
    if (!strcmp(ends, "exec_last"))
        execl("/proc/thread-self/exe", "explain_holder", "exit", (char *)NULL);
    hold_live();
    if (!strcmp(ends, "exit_last"))
        exit(3);
    if (!strcmp(ends, "system_call_last"))
        syscall(SYS_exit, 0);
    return NULL;
}

static void *be_second(void *first) {
    pthread_join(*(pthread_t *)first, NULL);
    leave_to(be_last);
    return NULL;
}

int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "";
    if (!strcmp(mode, "change"))
        change();
    if (!strcmp(mode, "huge"))
        hold_huge();
    if (!strcmp(mode, "run"))
        hold_run();
    if (!strcmp(mode, "turns"))
        hold_turns();
    if (!strcmp(mode, "mixed"))
        hold_mixed();
    if (!strcmp(mode, "heir")) {
        hold_live();
        leave_to(inherit);
    }
    if (!strcmp(mode, "exit")) {
        pthread_t other; /* ends long before its program does */
        if (pthread_create(&other, NULL, nothing, NULL) || pthread_join(other, NULL))
            return 1;
        hold_live();
        return 3;
    }
    if (strstr(mode, "_last")) {
        ends = mode;
        leave_to(be_second);
    }
    say("ready", 0);
    for (;;)
        pause();
}
