/*
 * bars.h: what the programs of tests/bars share beyond hostile.h.
 *
 * Each of them holds one bar of docs/bars.md, by counting: resident pages, system calls, bytes copied, instructions,
 * addresses. No clock decides anything. What was counted is printed, whether the bar holds or not; every bar that does
 * not hold is told, and main ends with bars_result(). setvbuf() comes first: what is printed in the middle must not
 * allocate.
 *
 * Without TESTED_LIB they run on any allocator: that is how they are tried against others.
 */
#ifndef HAKMEM_TESTS_BARS_H
#define HAKMEM_TESTS_BARS_H

#include "../hostile/hostile.h"
#include "hakmem.h"

static int bars_missed;

/* Tells that a bar does not hold; the program goes on and counts the rest. */
#define BAR(holds, ...) \
    ((holds) ? (void)0 : (bars_missed++, (void)printf("FAILED: " __VA_ARGS__), (void)puts("")))

/* The same for a bar that the library does not reach yet: what it has reached is held, and that it is not the bar is
 * told each time. `reached` is the bar itself where it holds; docs/bars.md has the list. */
static inline void bar_at_most(const char *what, long value, long bar, long reached) {
    if (value > bar && value <= reached)
        printf("not met: %s: %ld, the bar is %ld, reached is %ld\n", what, value, bar, reached);
    BAR(value <= bar || value <= reached, "%s: %ld, the bar is %ld, reached was %ld", what, value, bar,
        reached);
}

static inline int bars_result(void) {
    return bars_missed == 0 ? 0 : 1;
}

/* Measures each of `count` things in a process of its own, which has no memory of the others. What main returns: 1 when one of them
 * has failed, else SKIPPED when one was skipped. */
static inline int bars_each_apart(int (*measure)(int which), int count) {
    int failed = 0, status;

    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            int result = measure(i);
            fflush(stdout);
            _exit(result);
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
        if (status != 0 && failed != 1)
            failed = skipped ? SKIPPED : 1;
    }
    return failed;
}

/* How often the kernel had no free huge page, in all processes since it started; 0 where it does not say. */
static inline long huge_refusals(void) {
    static const char *const fields[] = {"\nthp_fault_fallback ", "\nthp_collapse_alloc_failed "};
    const char *text = text_of("/proc/vmstat");
    long refusals = 0;

    for (int i = 0; i < 2; i++) {
        const char *line = strstr(text, fields[i]);
        refusals += line != NULL ? strtol(line + strlen(fields[i]), NULL, 10) : 0;
    }
    return refusals;
}

/* For bars that count huge pages: what was missed when the kernel had none free tells nothing. */
static inline void skip_if_refused(bool missed, long refusals_before) {
    if (missed && huge_refusals() > refusals_before)
        skip("the kernel had no free huge page");
}

/* What the tested library says about itself; false with any other allocator. */
static inline bool ask_library(struct hakmem_statistics *statistics) {
    size_t (*read)(struct hakmem_statistics *, size_t) =
        (__typeof__(&hakmem_stats))dlsym(RTLD_DEFAULT, "hakmem_stats");

    if (read == NULL)
        return false;
    read(statistics, sizeof *statistics);
    return true;
}

/* A number from the environment: how much of the work is done. */
static inline size_t amount(const char *name, size_t otherwise) {
    const char *text = getenv(name);

    return text != NULL && strtoul(text, NULL, 10) > 0 ? strtoul(text, NULL, 10) : otherwise;
}

static inline void *taken(size_t size) {
    unsigned char *block = malloc(size);

    CHECK(block != NULL);
    block[0] = 1;
    block[size - 1] = 1;
    return block;
}

/* A block the first `bytes` of which are written. */
static inline void *written(size_t size, size_t bytes) {
    void *block = malloc(size);

    CHECK(block != NULL);
    return memset(block, 1, bytes);
}

static inline void shuffle(void **blocks, size_t count, unsigned seed) {
    unsigned state = seed | 1;

    for (size_t i = count; i > 1; i--) {
        size_t other = next_random(&state) % i;
        void *block = blocks[i - 1];
        blocks[i - 1] = blocks[other];
        blocks[other] = block;
    }
}

/* Makes the heap a large one all of which is touched: small blocks of 20 to 179 bytes, which stay. Their bytes. */
static inline size_t take_small(unsigned count) {
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        size_t size = 20 + i % 160;
        written(size, size);
        bytes += size;
    }
    return bytes;
}

#endif
