/*
 * The most memory that the process has had resident so far, and a check against a bound.
 *
 * Blocks that get lost on their way home do not break a content check: the process only grows. The programs that
 * include this repeat the same work often enough for a leak of that kind to pass a bound that a sound allocator does
 * not come near. The sanitizers' own memory counts as well, so that the check is left out where they are at work.
 */
#ifndef HAKMEM_STRESS_MEMORY_USE_H
#define HAKMEM_STRESS_MEMORY_USE_H

#include "../model/pattern.h"

#include <sys/resource.h>

static inline void check_memory_use(size_t most_megabytes) {
#ifndef TESTED_PREFIXED
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if ((size_t)usage.ru_maxrss > most_megabytes * 1024)
        test_fail("%ld MiB were resident, more than %zu", usage.ru_maxrss / 1024, most_megabytes);
#else
    (void)most_megabytes;
#endif
}

#endif
