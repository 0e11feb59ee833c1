/* seams: where the kernel's areas begin that one of our mappings consists of.
 *
 * Owns the list of them. Pages that mremap has moved stay an area of their own, and most kernels (before Linux 6.17) move and grow
 * one area at a time. So who puts mappings together out of parts has to know where the parts end; and to stop at some number.
 *
 *     | area 0       | area 1   | area 2           |
 *     0              at[0]      at[1]              end of the mapping, which the list does not know
 *
 * P1  the seams are in ascending order, none twice; behind the last one is 0
 *
 * Plain values, no lock: whoever has the mapping has its list. Offsets are bytes, multiples of the unit, below 256 TiB.
 */
#ifndef HAKMEM_SEAMS_H
#define HAKMEM_SEAMS_H

#include "base.h"

enum { SEAMS_MOST = 7 };

struct seams {
    uint32_t at[SEAMS_MOST]; /* units */
};

unsigned seams_count(const struct seams *seams);

/* Where area `number` begins; `end` for the one behind the last. */
size_t seams_begin(const struct seams *seams, unsigned number, size_t end);

/* Where the last area begins. */
size_t seams_last(const struct seams *seams);

/* One more, if it is not there yet; 0 is none. False: there are SEAMS_MOST, and nothing has changed. */
bool seams_add(struct seams *seams, size_t offset);

/* Those between two offsets, as a part that is cut out there has them. */
struct seams seams_between(const struct seams *seams, size_t from, size_t to);

/* What becomes of those of a mapping of `end` bytes when areas with the seams `over` are laid over its first `bytes`. False: too
 * many, *result means nothing. */
bool seams_lay_over(const struct seams *seams, size_t end, const struct seams *over, size_t bytes,
                    struct seams *result);

#endif
