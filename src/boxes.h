/* boxes: which compile-time features this variant opens.
 *
 * Owns the table boxes.def and the choice of the variant. A room writes `if (has(counters))`, never `#if`:
 * both branches are always compiled, and the closed one is folded away.
 *
 * The build chooses the variant with -DHAKMEM_VARIANT_STANDARD, _FAST, _OBSERVE, _HARDENED or _CHECK
 * (standard when none is given), and may open or shut one box by itself with -DHAKMEM_BOX_<name>=1 or =0:
 * that is how an experiment prices a single box. It also passes -DHAKMEM_VERSION="..." and
 * -DHAKMEM_COMMIT="...".
 *
 * P1  has(name) is a constant expression: 0 or 1, usable in a static assertion.
 * P2  an override of one box wins over the variant's column and touches no other box.
 *
 * Called by everybody. Never exists at run time.
 */
#ifndef HAKMEM_BOXES_H
#define HAKMEM_BOXES_H

#if defined(HAKMEM_VARIANT_FAST)
#define HAKMEM_VARIANT_NAME "fast"
#define BOXES_COLUMN(standard, fast, observe, hardened, check) fast
#elif defined(HAKMEM_VARIANT_OBSERVE)
#define HAKMEM_VARIANT_NAME "observe"
#define BOXES_COLUMN(standard, fast, observe, hardened, check) observe
#elif defined(HAKMEM_VARIANT_HARDENED)
#define HAKMEM_VARIANT_NAME "hardened"
#define BOXES_COLUMN(standard, fast, observe, hardened, check) hardened
#elif defined(HAKMEM_VARIANT_CHECK)
#define HAKMEM_VARIANT_NAME "check"
#define BOXES_COLUMN(standard, fast, observe, hardened, check) check
#else
#define HAKMEM_VARIANT_NAME "standard"
#define BOXES_COLUMN(standard, fast, observe, hardened, check) standard
#endif

#ifndef HAKMEM_VERSION
#define HAKMEM_VERSION "0.0.0"
#endif
#ifndef HAKMEM_COMMIT
#define HAKMEM_COMMIT "unknown"
#endif

#ifdef HAKMEM_PREFIX_ONLY
#define HAKMEM_BOX_serves_libc 0
#endif

/* BOXES_CHOOSE(given, default): when HAKMEM_BOX_<name> is defined as 0 or 1, BOXES_GIVEN_<value> expands to
 * two arguments and its own value becomes the second one; otherwise the default stays second. */
#define BOXES_GIVEN_0 ~, 0
#define BOXES_GIVEN_1 ~, 1
#define BOXES_SECOND(first, second, ...) second
#define BOXES_SECOND_OF(...) BOXES_SECOND(__VA_ARGS__)
#define BOXES_JOIN(value) BOXES_GIVEN_##value
#define BOXES_CHOOSE(given, otherwise) BOXES_SECOND_OF(BOXES_JOIN(given), otherwise, ~)

enum boxes {
#define BOX(name, sentence, standard, fast, observe, hardened, check) \
    box_##name = BOXES_CHOOSE(HAKMEM_BOX_##name, BOXES_COLUMN(standard, fast, observe, hardened, check)),
#include "boxes.def"
#undef BOX
};

#define has(name) (box_##name)

#endif
