/* sizes: the sizes and alignments at which an allocator changes its mind.
 *
 * Every boundary of the documented geometry (16 bytes apart up to 128, eight classes a doubling up to 32 KiB, runs of
 * 64 KiB units up to 1 MiB, mappings above) with its neighbours on both sides.
 */
#ifndef HAKMEM_TESTS_API_SIZES_H
#define HAKMEM_TESTS_API_SIZES_H

#include <stddef.h>

enum { SIZES_CAPACITY = 512, SIZES_SMALL_LARGEST = 32 * 1024, SIZES_UNIT = 64 * 1024 };

/* Fills list (SIZES_CAPACITY places) with sizes that succeed; returns how many. */
size_t sizes_boundaries(size_t *list);

/* A dozen of them, for tests that try every pair. */
extern const size_t sizes_few[];
extern const size_t sizes_few_count;

/* Sizes that no system can give. */
extern const size_t sizes_impossible[];
extern const size_t sizes_impossible_count;

#endif
