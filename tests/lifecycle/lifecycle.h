/*
 * lifecycle.h: what the small programs of tests/lifecycle, tests/hostile and tests/fault share.
 *
 * Each of those programs asks one question of the library it was started with (preloaded, found in
 * TESTED_LIB) and answers with its exit status: 0 right, 1 wrong (one line on stderr says what), 77 the
 * question cannot be asked here. Nothing in this header allocates behind the program's back.
 *
 *   CHECK(condition)        ends the process with status 1 when the condition does not hold
 *   skip(reason)            ends the process with status 77
 *   fill, verify            write and compare a block's content: one byte value over its whole length
 *   churn(seed, steps)      a mixed workload on 96 slots with every content verified; all freed at its end
 *   take_many, free_many    so many blocks, each written whole; all of them back: what rests then calls for the library's thread
 *   count_threads()         of the process; 0 where there is no /proc
 *   text_of(path)           the beginning of a file, without allocating
 *   status_kib(field)       one line of /proc/self/status in KiB, -1 when there is no /proc
 *   rollup_kib(field)       one line of /proc/self/smaps_rollup in KiB
 *   rss_kib()               resident memory in KiB, exact
 *   page_faults()           those of this process so far that needed no reading
 *   await_child(pid)        waits for a child and checks that it ended with status 0
 *
 * A constructor checks that malloc really comes from TESTED_LIB, so that no program passes on libc's malloc
 * because a preload failed. A program that is not preloaded defines TEST_ANY_MALLOC first. Without
 * TESTED_LIB the programs run on whatever malloc there is: so they are tried against libc themselves.
 */
#ifndef HAKMEM_TESTS_LIFECYCLE_H
#define HAKMEM_TESTS_LIFECYCLE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __GLIBC__ /* musl's malloc.h has not what it has not */
extern int malloc_trim(size_t pad);
#endif

enum { SKIPPED = 77, SLOTS = 96, CHILD_SECONDS = 100 };

static inline void check_failed(const char *condition, const char *file, int line) {
    dprintf(2, "%s:%d: this does not hold: %s (errno %d)\n", file, line, condition, errno);
    _exit(1);
}

#define CHECK(condition) ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))

static inline void skip(const char *reason) {
    dprintf(2, "SKIP: %s\n", reason);
    _exit(SKIPPED);
}

#ifndef TEST_ANY_MALLOC
__attribute__((constructor)) static void require_tested_library(void) {
    const char *tested = getenv("TESTED_LIB");
    Dl_info where;
    struct stat expected, actual;

    if (tested == NULL)
        return;
    void *function = dlsym(RTLD_DEFAULT, "malloc");
    CHECK(function != NULL && dladdr(function, &where) != 0);
    CHECK(stat(tested, &expected) == 0 && stat(where.dli_fname, &actual) == 0);
    CHECK(expected.st_dev == actual.st_dev && expected.st_ino == actual.st_ino);
}
#endif

static inline void fill(void *block, size_t size, unsigned char mark) {
    memset(block, mark, size);
}

static inline void verify(const void *block, size_t size, unsigned char mark) {
    const unsigned char *bytes = (const unsigned char *)block;

    CHECK(size == 0 || (bytes[0] == mark && memcmp(bytes, bytes + 1, size - 1) == 0));
}

static inline unsigned next_random(unsigned *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Mostly small sizes, one in 16 up to 64 KiB, one in 256 up to 2 MiB: every kind of block takes part. */
static inline size_t mixed_size(unsigned *state) {
    unsigned r = next_random(state);

    if (r % 256 == 0)
        return (r >> 8) % (2u << 20) + 1;
    if (r % 16 == 0)
        return (r >> 8) % (64u << 10) + 1;
    return (r >> 8) % 1024 + 1;
}

struct slot {
    void *block;
    size_t size;
    unsigned char mark;
};

/* Gives an empty slot a new block, by each of the four ways in turn. */
static inline void slot_allocate(struct slot *slot, unsigned *state) {
    unsigned way = next_random(state) % 8;

    slot->size = mixed_size(state);
    slot->mark = (unsigned char)(next_random(state) | 1);
    if (way == 0) {
        slot->block = calloc(1, slot->size);
        CHECK(slot->block != NULL);
        verify(slot->block, slot->size, 0);
    } else if (way == 1) {
        size_t alignment = (size_t)16 << (next_random(state) % 9);
        slot->block = aligned_alloc(alignment, slot->size);
        CHECK(slot->block != NULL && (uintptr_t)slot->block % alignment == 0);
    } else {
        slot->block = malloc(slot->size);
        CHECK(slot->block != NULL);
    }
    fill(slot->block, slot->size, slot->mark);
}

static inline void slot_step(struct slot *slot, unsigned *state) {
    if (slot->block == NULL) {
        slot_allocate(slot, state);
        return;
    }
    verify(slot->block, slot->size, slot->mark);
    if (next_random(state) % 4 == 0) {
        size_t size = mixed_size(state);
        slot->block = realloc(slot->block, size);
        CHECK(slot->block != NULL);
        verify(slot->block, size < slot->size ? size : slot->size, slot->mark);
        slot->size = size;
        fill(slot->block, slot->size, slot->mark);
    } else {
        free(slot->block);
        slot->block = NULL;
    }
}

static inline void churn(unsigned seed, int steps) {
    struct slot slots[SLOTS] = {{NULL, 0, 0}};
    unsigned state = seed * 2654435761u | 1;

    for (int i = 0; i < steps; i++)
        slot_step(&slots[next_random(&state) % SLOTS], &state);
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].block != NULL)
            verify(slots[i].block, slots[i].size, slots[i].mark);
        free(slots[i].block);
    }
}

/* The beginning of a file, until the thread asks for the next one; without stdio, which would allocate. An empty text when
 * there is none. */
static inline const char *text_of(const char *path) {
    static __thread char text[8192];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

/* A field such as "VmRSS:" or "VmSize:". */
static inline long status_kib(const char *field) {
    const char *line = strstr(text_of("/proc/self/status"), field);

    return line != NULL ? strtol(line + strlen(field), NULL, 10) : -1;
}

/* What /proc/self/smaps_rollup says of `what` ("Rss:"), in KiB. SKIP where it cannot be read. */
static inline long rollup_kib(const char *what) {
    const char *text = text_of("/proc/self/smaps_rollup");

    if (text[0] == '\0')
        skip("no /proc/self/smaps_rollup");
    const char *line = strstr(text, what);
    CHECK(line != NULL);
    return strtol(line + strlen(what), NULL, 10);
}

/* Resident memory, exact: the kernel counts page by page here, where /proc/self/statm may lag behind by 64 pages a thread. */
static inline long rss_kib(void) {
    return rollup_kib("Rss:");
}

static inline long page_faults(void) {
    struct rusage usage;

    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt;
}

static inline void take_many(void **blocks, int count, size_t bytes) {
    for (int i = 0; i < count; i++)
        CHECK((blocks[i] = memset(malloc(bytes), 1, bytes)) != NULL);
}

static inline void free_many(void **blocks, int count) {
    for (int i = 0; i < count; i++)
        free(blocks[i]);
}

static inline int count_threads(void) {
    struct stat tasks;

    return stat("/proc/self/task", &tasks) == 0 ? (int)tasks.st_nlink - 2 : 0;
}

static inline void await_child(pid_t child) {
    int status;

    CHECK(child > 0);
    while (waitpid(child, &status, 0) < 0)
        CHECK(errno == EINTR);
    if (WIFSIGNALED(status))
        dprintf(2, "the child was ended by signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static inline pthread_t start_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, body, argument) == 0);
    return thread;
}

static inline void *join_thread(pthread_t thread) {
    void *result;

    CHECK(pthread_join(thread, &result) == 0);
    return result;
}

#endif
