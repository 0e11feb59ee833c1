/* random: numbers that are the same in every run. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

static inline unsigned random_below(uint64_t *seed, unsigned limit) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*seed >> 33) % limit);
}

#endif
