/* poisson: which of many events are chosen when each of their bytes is to have the same chance.
 *
 * Owns the countdown: from one choice to the next it is a random number of bytes, exponentially distributed, whose mean is `rate`. So
 * choices are a Poisson process over the bytes, whatever the pattern of the events, and one of s bytes is chosen with
 * probability 1 - exp(-s / rate): heap profiles of gperftools and jemalloc choose the same way.
 *
 * P1  with a rate of 1 every event is chosen, also one of no bytes
 * P2  no choice is further away than 64 times the mean
 *
 * Plain values, no lock: whoever has the countdown works on it. A zeroed one is seeded at its first event.
 */
#ifndef HAKMEM_POISSON_H
#define HAKMEM_POISSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct poisson {
    int64_t left;    /* bytes to the next choice */
    uint64_t random; /* xorshift64* (Vigna 2016); 0: not seeded */
};

/* An event of `bytes`: is it chosen? */
bool poisson_is_due(struct poisson *countdown, uint64_t rate, size_t bytes);

#endif
