/* Mappings of large blocks: made, stretched, filled with the pages of others that wait. */
#include "large_parts.h"

#include "os.h"

#include <string.h>

/* The first stuck mapping, if it is good for the request: what cannot go home is at least used again. */
static struct large *large_take_stuck(size_t bytes, size_t alignment) {
    struct large *large = larges.stuck;
    if (!large || large->extent < bytes || ((uintptr_t)large_unit(large) & (alignment - 1)) != 0)
        return NULL;
    return large_pop(&larges.stuck);
}

/* A mapping to be used instead of a new one: what is mapped stays within what was once live and what may wait, so
 * beyond that a longer one serves, and lends the rest. NULL: there is room for a new one. */
static struct large *large_take_any(size_t bytes, size_t alignment) {
    favour_take(&larges.lock);
    struct large *large = large_take_stuck(bytes, alignment);
    if (!large && larges.mapped_bytes + bytes > larges.live_peak + larges.cache_limit)
        large = large_take_waiting(bytes, LARGE_MOST, alignment, SPARE_MAPPING);
    favour_release(&larges.lock);
    return large;
}

/* As the kernel is asked for it: HUGE_HEAD bytes before a multiple of HUGE_LEAST, if there is to be a head. */
static unsigned char *large_map_pages(size_t bytes, size_t alignment, enum large_pages pages) {
    size_t lead = pages == LARGE_PAGES_HEADED ? HUGE_LEAST - HUGE_HEAD : 0;
    if (pages != LARGE_PAGES_SMALL && alignment < HUGE_LEAST)
        alignment = HUGE_LEAST;
    unsigned char *start =
        os_map_aligned(lead + bytes, alignment, pagemap_hint_mapping(lead + bytes, alignment));
    if (start && lead > 0)
        pagemap_unmap(start, lead);
    return start ? start + lead : NULL;
}

struct large *large_map_as(size_t bytes, size_t alignment, size_t replaced, enum large_pages pages) {
    limit_count_mappings();
    if (!limit_take(bytes - replaced))
        return NULL;
    limit_hold(replaced);
    struct large *large = large_take_record();
    if (!large) {
        limit_give(bytes);
        return NULL;
    }
    large->extent = bytes;
    large->start = large_map_pages(bytes, alignment, pages);
    if (large->start && pagemap_reserve(large->start, 1)) {
        os_name(large->start, bytes, OS_LARGE);
        large->huge = pages != LARGE_PAGES_SMALL && huge_ask(large->start, bytes);
        if ((pages == LARGE_PAGES_HEADED || !large->huge) && bytes >= HUGE_TELLS)
            huge_watch(large->start, bytes);
        if (!large->huge)
            huge_await(large->start, bytes);
        large_count_mapped(bytes);
        return large;
    }
    limit_give(bytes);
    if (large->start)
        os_unmap(large->start, bytes);
    large_give_record(large);
    return NULL;
}

struct large *large_map(size_t bytes, size_t alignment, size_t replaced) {
    enum large_pages pages = LARGE_PAGES_SMALL;
    if (huge_wants(bytes) && bytes >= HUGE_LEAST)
        pages = LARGE_PAGES_HUGE;
    else if (alignment == UNIT_SIZE && replaced == 0 && huge_follows(bytes))
        pages = LARGE_PAGES_HEADED;
    struct large *large = large_map_as(bytes, alignment, replaced, pages);
    if (!large && pages == LARGE_PAGES_HEADED) /* there may be room without what lies before it */
        large = large_map_as(bytes, alignment, replaced, LARGE_PAGES_SMALL);
    return large;
}

struct large *large_map_to_move(const struct large *large, size_t bytes) {
    return large_is_headed(large) ? large_map_as(bytes, UNIT_SIZE, large->extent, LARGE_PAGES_HEADED)
                                  : large_map(bytes, UNIT_SIZE, large->extent);
}

bool large_lay_over(const struct large *large, const struct large *target, struct seams *result) {
    bool worth = target->resident > 0 || large->home;
    return worth && seams_lay_over(&target->seams, target->extent, &large->seams, large->extent, result);
}

bool large_move_pages(const struct large *large, struct large *target) {
    struct seams unused;
    bool room = large_lay_over(large, target, &unused);
    if (large->home)
        return os_move_out(large_unit(large), large->extent, large_unit(target));
    for (unsigned area = 0, last = seams_count(&large->seams); area <= last; area++) {
        size_t from = seams_begin(&large->seams, area, 0),
               bytes = seams_begin(&large->seams, area + 1, large->extent) - from;
        size_t becomes = area == last && !room ? target->extent - from : bytes;
        if (os_remap_to(large_unit(large) + from, bytes, becomes, large_unit(target) + from))
            continue;
        if (area == 0)
            return false;
        memcpy(large_unit(target) + from, large_unit(large) + from, bytes);
        os_unmap(large_unit(large) + from, bytes);
    }
    return true;
}

void large_swap_place(struct large *large, struct large *target) {
    struct large old = *large;
    bool room = large_lay_over(&old, target, &large->seams);
    if (!room)
        large->seams = old.seams;
    if (room && old.extent < target->extent) {
        large->huge = target->huge;
        large->given |= target->resident > 0;
        large->resident = target->resident;
    }
    large->start = target->start + large_colour(large);
    large->solid = false;
    large->home = NULL;
    large->extent = target->extent;
    *target = old;
}

/* A waiting mapping that is as long now; the lock is not held. */
static bool large_stretch(struct large *large, size_t bytes) {
    size_t before = large->extent, last = seams_last(&large->seams);
    if (!limit_take(bytes - before))
        return false;
    if (os_remap(large_unit(large) + last, before - last, bytes - last)) {
        large_count_mapped(bytes - before);
        large->extent = bytes;
        return true;
    }
    limit_give(bytes - before);
    struct large *target = large_map_to_move(large, bytes);
    if (!target)
        return false;
    if (!large_move_pages(large, target)) {
        large_release(target);
        return false;
    }
    large_swap_place(large, target);
    large_count_mapped(-target->extent);
    large_give_record(target);
    return true;
}

/* What waits, is in memory and has the last `tail` bytes for a mapping that was stretched, or some of them. */
static struct large *large_take_donor(size_t tail) {
    size_t fit = spare_round(tail);
    favour_take(&larges.lock);
    struct large *donor = large_take_waiting(fit, LARGE_MOST, UNIT_SIZE, SPARE_TORN);
    donor = large_if_warm(donor);
    const struct large *roomy = larges.roomy.oldest;
    if (!donor && roomy && !roomy->solid && large_is_warm(roomy))
        donor = large_give_up_slack();
    if (!donor)
        donor = large_if_warm(large_waited(spare_take_shorter(fit, tail / LARGE_STRETCH)));
    favour_release(&larges.lock);
    return donor;
}

/* Moves the last pages of a donor, from its last area, over those of a mapping before `end`, `most` bytes at most. Returns how many
 * bytes: 0 when that is refused, or would be an area too many. The donor waits on, with what is left of it. */
static size_t large_give_pages(struct large *donor, struct large *large, size_t end, size_t most) {
    size_t last = donor->extent - seams_last(&donor->seams), piece = most < last ? most : last,
           left = donor->extent - piece;
    if (!seams_add(&large->seams, end - piece) ||
        !os_remap_to(large_unit(donor) + left, piece, piece, large_unit(large) + end - piece))
        piece = 0;
    if (piece > 0) {
        large->huge = end == large->extent ? donor->huge : large->huge;
        large->given = true;
        large_count_mapped(-piece);
        large_shorten(donor, left);
    }
    if (donor->extent == 0)
        large_give_record(donor);
    else
        large_settle(donor);
    return piece;
}

bool large_fill(struct large *large, size_t from) {
    size_t end = large->extent;
    for (size_t piece = 1; piece > 0 && end - from >= LARGE_FILL_LEAST && limit_may_split(); end -= piece) {
        limit_count_mappings();
        large_have_record();
        struct large *donor = large_take_donor(end - from);
        piece = donor ? large_give_pages(donor, large, end, end - from) : 0;
    }
    return end < large->extent;
}

/* For a long block, or where something that waits would have to go home for a new one: the longest mapping that waits and is
 * too short (one that is in memory, unless it is long), stretched, so that only its new pages are faulted; by huge ones only where
 * a new mapping of that size might have them. */
static struct large *large_take_stretched(size_t bytes, size_t alignment) {
    if (alignment > UNIT_SIZE)
        return NULL;
    favour_take(&larges.lock);
    bool stretches = bytes > LARGE_LONG || large_is_crowded(bytes);
    struct large *large = stretches ? large_waited(spare_take_shorter(bytes, bytes / LARGE_STRETCH)) : NULL;
    if (bytes <= LARGE_LONG)
        large = large_if_warm(large);
    favour_release(&larges.lock);
    if (!large)
        return NULL;
    size_t before = large->extent;
    bool follows = huge_follows(bytes),
         suits = follows ? large_goes_on_with_head(large) : !large->huge || huge_suits(bytes);
    if (suits && large_stretch(large, bytes)) {
        large->huge = large->huge || (huge_fills(bytes) && huge_ask(large_unit(large), bytes));
        if (!follows)
            large_fill(large, before);
        large->given = true; /* what it has in memory is of a block of another size */
        huge_watch(follows ? large_unit(large) + before : NULL, bytes);
        return large;
    }
    large_settle(large);
    return NULL;
}

/* What waits would have to go home for a new mapping: its pages do not. */
static struct large *large_map_crowded(size_t bytes, size_t alignment, bool *zeroed) {
    favour_take(&larges.lock);
    bool crowded = large_is_crowded(bytes);
    favour_release(&larges.lock);
    struct large *large = large_map(bytes, alignment, 0);
    if (!large)
        return NULL;
    bool filled = crowded && !large_is_headed(large) && large_fill(large, 0);
    if (filled)
        huge_watch(NULL, bytes);
    *zeroed = !filled;
    return large;
}

struct large *large_new_mapping(size_t bytes, size_t alignment, bool *zeroed) {
    struct large *large = large_take_any(bytes, alignment);
    if (!large)
        large = large_take_stretched(bytes, alignment);
    *zeroed = false;
    return large ? large : large_map_crowded(bytes, alignment, zeroed);
}
