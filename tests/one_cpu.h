/* For tests of what many threads on few CPUs do: the calling thread, and all that it starts, stay on one. */
#ifndef HAKMEM_TESTS_ONE_CPU_H
#define HAKMEM_TESTS_ONE_CPU_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdbool.h>

/* The CPU that it is on. False: the system refuses. */
static inline bool stay_on_one_cpu(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

#endif
