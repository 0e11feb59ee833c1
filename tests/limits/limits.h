/*
 * limits.h: what the programs of tests/limits share beyond hostile.h.
 *
 *   hold(size, bytes)   blocks of one size, every byte written, linked through their first word, until they are
 *                       `bytes` together or there is no memory; `held` says how many bytes they are
 *   drop(list)          frees them
 */
#ifndef HAKMEM_TESTS_LIMITS_H
#define HAKMEM_TESTS_LIMITS_H

#include "hostile/hostile.h"

#define MIB ((size_t)1 << 20)

static size_t held;

static inline void **hold(size_t size, size_t bytes) {
    void **list = NULL;

    for (held = 0; held < bytes; held += size) {
        errno = 0;
        void **block = malloc(size);
        CHECK(block != NULL || errno == ENOMEM);
        if (block == NULL)
            break;
        fill(block, size, 'x');
        *block = list;
        list = block;
    }
    return list;
}

static inline void drop(void **list) {
    while (list != NULL) {
        void **next = *list;
        free(list);
        list = next;
    }
}

/* Runs this program again as `role`, and returns what it said; it must end with `status`. */
static inline const char *run_role(const char *role, const char *const *env, int status) {
    static struct ran ran;
    char *argv[] = {self_path(), (char *)(uintptr_t)role, NULL};

    run(&ran, argv, env, NULL);
    if (ran.status == SKIPPED) {
        dprintf(2, "%s", ran.text);
        _exit(SKIPPED);
    }
    if (ran.status != status)
        show(&ran);
    CHECK(ran.status == status);
    return ran.text;
}

#endif
