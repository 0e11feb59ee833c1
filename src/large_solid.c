/* Mappings of whole huge pages, where few blocks are of many lengths: each serves what is shorter. docs/experiments/solid-mappings.md */
#include "large_parts.h"

#include "os.h"

/* Not near the hard limit, as nothing takes back what is left of the last huge page of a block that lives. */
bool large_suits_solid(void) {
    return lengths_suit_solid() && larges.cache_limit > 0 && limit_allows(2 * larges.live_peak);
}

static struct large *large_take_waiting_solid(size_t bytes, struct large **out) {
    for (unsigned i = 0; i < LARGE_GIVE_UP; i++) {
        struct large *large = large_take_waiting(bytes, LARGE_FIELD_MOST, UNIT_SIZE, SPARE_MAPPING);
        if (!large || large->solid)
            return large;
        large_push(out, large);
    }
    return NULL;
}

struct large *large_take_solid(size_t bytes, struct large **out) {
    struct large *large = large_take_waiting_solid(bytes, out);
    if (large)
        return large;
    large_gather(out);
    return large_take_waiting_solid(bytes, out);
}

/* What it brings goes of what waits and of slack, not of what lives. */
static bool large_has_room(size_t bytes, size_t extent) {
    favour_take(&larges.lock);
    bool suits = large_suits_solid(), room = larges.held + extent <= large_most(bytes);
    if (suits && !room)
        lengths_note_refusal();
    favour_release(&larges.lock);
    return suits && room;
}

/* The kernel gives none. */
static void large_refuse_solid(void) {
    favour_take(&larges.lock);
    lengths_close();
    favour_release(&larges.lock);
}

struct large *large_new_solid(size_t bytes, size_t fit, bool *zeroed) {
    size_t extent = align_up(bytes, HUGE_LEAST);
    if (!large_has_room(bytes, extent))
        return NULL;
    if (os_has_no_huge_pages()) {
        large_refuse_solid();
        return NULL;
    }
    bool huge = huge_wants(bytes);
    struct large *large =
        large_map_as(huge ? extent : fit, UNIT_SIZE, 0, huge ? LARGE_PAGES_HUGE : LARGE_PAGES_SMALL);
    if (!large)
        return NULL;
    large->solid = large->huge;
    if (huge && !large->solid)
        large_refuse_solid();
    *zeroed = true;
    return large;
}
