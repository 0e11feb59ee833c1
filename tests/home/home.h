/*
 * home.h: what the programs of tests/home share beyond bars.h.
 *
 * They ask whether free memory goes home by itself, and what that does to the program. All of them decide by a state
 * that is reached, or not, and by counts; none by how long it took: they look again and again, for a minute at most.
 *
 *   AWAIT(condition)        looks until it holds; ends the process with status 1 when it does not in time
 *   not_alone()             makes a thread that ends at once, or, where libc does not remember it, sleeps: from then on memory goes home as in
 *                           programs of several threads
 *   janitor()               the number of the thread that gives memory home; 0: there is none
 *   janitor_costs(thread)   how often it ran, and for how long
 *   janitor_rests(thread)   waits until that stays as it is
 *   peak_bytes()            how much memory a program is to build up: less on a small machine
 *   packed_kib()            what is in huge pages; kernel_packs(): whether this kernel makes some of small ones
 *   swing()                 2 MB come and go
 *   build, drop             blocks of 16 to 32 Ki bytes, mostly small ones, and their frees in random order
 */
#ifndef HAKMEM_TESTS_HOME_H
#define HAKMEM_TESTS_HOME_H

#include "bars/bars.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define MIB ((size_t)1 << 20)

enum { LOOKS = 1200, LOOK_MS = 50, QUIET_LOOKS = 60, SWING_KIB = 2000 };

static inline void rest(long ms) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&pause, &pause) != 0)
        ;
}

static inline long now_ms(void) {
    struct timespec now;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#define AWAIT(condition)                         \
    do {                                         \
        int looks_left = LOOKS;                  \
        while (!(condition) && looks_left-- > 0) \
            rest(LOOK_MS);                       \
        CHECK(condition);                        \
    } while (0)

struct task_entry {
    uint64_t number;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static inline void *nothing(void *data) {
    return data;
}

/* A program of one thread gets a second for much only, and its slow paths look instead. */
static inline void *sleep_for_ever(void *unused) {
    for (;;)
        pause();
    return unused;
}

static inline void not_alone(void) {
    pthread_t thread;
    bool remembered = dlsym(RTLD_DEFAULT, "__libc_single_threaded") != NULL;

    CHECK(pthread_create(&thread, NULL, remembered ? nothing : sleep_for_ever, NULL) == 0);
    if (remembered)
        CHECK(pthread_join(thread, NULL) == 0);
}

static inline long janitor(void) {
    static _Thread_local _Alignas(8) char entries[8192];
    char path[64];
    long found = 0, length;
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        skip("no /proc/self/task");
    while ((length = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
        for (long at = 0; at < length;) {
            struct task_entry *entry = (struct task_entry *)(void *)(entries + at);
            snprintf(path, sizeof path, "/proc/self/task/%.10s/comm", entry->name);
            if (strcmp(text_of(path), "hakmem-janitor\n") == 0)
                found = strtol(entry->name, NULL, 10);
            at += entry->length;
        }
    }
    close(fd);
    return found;
}

struct costs {
    long switches, ticks;
};

static inline struct costs janitor_costs(long thread) {
    struct costs costs = {0, 0};
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%ld/status", thread);
    const char *text = text_of(path), *own = strstr(text, "\nvoluntary_ctxt_switches:");
    const char *forced = strstr(text, "\nnonvoluntary_ctxt_switches:");
    CHECK(own != NULL && forced != NULL);
    costs.switches = strtol(strchr(own, ':') + 1, NULL, 10) + strtol(strchr(forced, ':') + 1, NULL, 10);
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
    char *at = strrchr(text_of(path), ')');
    CHECK(at != NULL);
    for (int field = 3; field <= 13; field++) /* to utime, the 14th */
        at = strchr(at + 1, ' ');
    long user = strtol(at, &at, 10);
    costs.ticks = user + strtol(at, &at, 10);
    return costs;
}

static inline bool is_quiet(long thread) {
    struct costs before = janitor_costs(thread);

    rest(LOOK_MS * QUIET_LOOKS);
    struct costs after = janitor_costs(thread);
    return after.switches - before.switches <= 1 &&
           before.ticks == after.ticks; /* it may have asked who is left */
}

static inline void janitor_rests(long thread) {
    int attempts = 20;

    while (!is_quiet(thread) && --attempts > 0)
        ;
    CHECK(attempts > 0);
}

static inline size_t peak_bytes(void) {
    const char *line = strstr(text_of("/proc/meminfo"), "MemAvailable:");
    bool small = line != NULL && strtoul(line + 13, NULL, 10) < 1024 * 1024;

    return amount("HOME_MIB", small ? 96 : 192) * MIB;
}

/* Memory that is not the allocator's: what the programs remember their blocks in. */
static inline void *table_of(size_t bytes) {
    void *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(table != MAP_FAILED);
    return table;
}

struct blocks {
    unsigned char **of;
    size_t count;
    unsigned state;
};

static inline size_t mixed_bytes(unsigned *state) {
    return next_random(state) % 100 < 90 ? 16 + next_random(state) % 1009 : 1024 + next_random(state) % 31745;
}

/* The first word of a block is its size; the rest repeats a byte of it. */
static inline void build(struct blocks *blocks, size_t bytes) {
    blocks->of = table_of(bytes / 64 * sizeof(void *));
    for (size_t got = 0; got < bytes; blocks->count++) {
        size_t size = mixed_bytes(&blocks->state);
        unsigned char *block = malloc(size);
        CHECK(block != NULL);
        fill(block, size, (unsigned char)size);
        memcpy(block, &size, sizeof size);
        blocks->of[blocks->count] = block;
        got += size;
    }
}

static inline void verify_block(const unsigned char *block) {
    size_t size;

    memcpy(&size, block, sizeof size);
    verify(block + sizeof size, size - sizeof size, (unsigned char)size);
}

/* Frees in random order all but `keep` per cent, which stand at the beginning of the table then. */
static inline void drop(struct blocks *blocks, unsigned keep) {
    size_t kept = 0;

    shuffle((void **)blocks->of, blocks->count, blocks->state);
    for (size_t i = 0; i < blocks->count; i++) {
        if (next_random(&blocks->state) % 100 < keep)
            blocks->of[kept++] = blocks->of[i];
        else
            free(blocks->of[i]);
    }
    blocks->count = kept;
}

static inline void verify_all(const struct blocks *blocks) {
    for (size_t i = 0; i < blocks->count; i++)
        verify_block(blocks->of[i]);
}

/* Of all anonymous memory: what is in huge pages. */
static inline long packed_kib(void) {
    return rollup_kib("AnonHugePages:");
}

/* Can this kernel make a huge page of small ones? */
static inline bool kernel_packs(void) {
    const size_t bytes = 2 * MIB;
    unsigned char *area = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(area != MAP_FAILED);
    unsigned char *start = (unsigned char *)(((uintptr_t)area + bytes - 1) & ~(bytes - 1));
    memset(start, 1, bytes);
    bool packs = madvise(start, bytes, 25 /* MADV_COLLAPSE */) == 0;
    munmap(area, 2 * bytes);
    return packs;
}

/* Takes and frees SWING_KIB, which wakes the janitor. */
static inline void swing(void) {
    static unsigned char *swung[SWING_KIB * 4];

    for (int i = 0; i < SWING_KIB * 4; i++) {
        swung[i] = malloc(240);
        CHECK(swung[i] != NULL);
        memset(swung[i], 1, 240);
    }
    for (int i = 0; i < SWING_KIB * 4; i++)
        free(swung[i]);
}

/* Frees a little, which is when slow paths look where there is no janitor. True: `goal` KiB are resident at most. */
static inline bool goes_home(long goal) {
    void *some[64];

    for (int i = 0; i < 64; i++)
        some[i] = taken(512);
    for (int i = 0; i < 64; i++)
        free(some[i]);
    return rss_kib() < goal;
}

#endif
