/* Large blocks that grow and shrink. */
#include "large_parts.h"

#include "os.h"

void *large_set(struct large *large, size_t bytes, size_t extent) {
    favour_take(&larges.lock);
    large_leave(large);
    large->extent = extent;
    large->solid = large->solid && extent % HUGE_LEAST == 0 && bytes <= LENGTHS_MOST;
    large->resident = large->resident < extent ? large->resident : extent;
    large_enter(large, bytes);
    favour_release(&larges.lock);
    return large->start;
}

/* Grows within the slack; when that is not what is wanted, the slack stays as it is until the block is set anew. */
static bool large_grow_inside(struct large *large, size_t bytes) {
    favour_take(&larges.lock);
    bool inside = bytes > large->bytes && bytes <= large->extent;
    if (inside) {
        large_leave(large);
        large_enter(large, bytes);
    } else {
        large_keep_slack(large);
    }
    favour_release(&larges.lock);
    return inside;
}

/* Where a block that grows finds warm pages: the smallest mapping that waits and is long enough, if at least half of it
 * is in memory; for a run one that has grown, too, or is not much longer: others have other uses. */
static struct large *large_warm_target(const struct large *large, size_t bytes) {
    favour_take(&larges.lock);
    struct large *target = large_take_waiting(bytes, LARGE_MOST, UNIT_SIZE, SPARE_TORN);
    favour_release(&larges.lock);
    if (!target)
        return NULL;
    bool of_its_kind = !large->home || target->grew || target->extent <= 2 * bytes;
    struct seams unused;
    if (of_its_kind && target->resident >= target->extent / 2 && large_lay_over(large, target, &unused))
        return target;
    large_settle(target);
    return NULL;
}

/* A block is about to grow: whether its small pages say that it is written whole. Looked at when it has become twice as long. */
static void large_look(struct large *large) {
    if (large->bytes < HUGE_LEAST || !large_tells(large, large->bytes) ||
        large->bytes / 2 >> UNIT_SHIFT < large->looked)
        return;
    large->looked = (uint32_t)(large->bytes >> UNIT_SHIFT);
    large->whole = huge_look(large_unit(large), large->bytes);
}

static void large_begin_growth(struct large *large) {
    large_look(large);
    large_note_growth(large->bytes);
}

/* Asks for huge pages for where the block grows. */
static bool large_ask(const struct large *large, void *start, size_t extent) {
    return large->whole && !large->huge && huge_ask(start, extent);
}

/* Moves the block's pages to the mapping `target`. The old addresses lose their tag before another thread can get them. */
static void *large_move(struct large *large, size_t bytes, struct large *target) {
    if (!target)
        return NULL;
    uint32_t tag = large->home ? PAGEMAP_RUN : PAGEMAP_MAPPING;
    pagemap_set(large_unit(large), 1, PAGEMAP_NONE, NULL);
    if (!large_move_pages(large, target)) {
        pagemap_set(large_unit(large), 1, tag, large);
        if (target->resident > 0) /* it waited, and is as it was */
            large_settle(target);
        else
            large_release(target);
        return NULL;
    }
    bool asked = large_ask(large, large_unit(target), target->extent);
    favour_take(&larges.lock);
    large_leave(large);
    large_swap_place(large, target);
    large->huge |= asked;
    large_enter(large, bytes);
    favour_release(&larges.lock);
    size_t units = target->extent >> UNIT_SHIFT;
    if (target->home) {
        pagemap_set(large_unit(target), units, PAGEMAP_NONE, NULL);
        large_count_run(target, units, true);
        superslab_give_empty(target->home, large_unit(target), (unsigned)units);
    } else {
        large_count_mapped(-target->extent);
    }
    large_give_record(target);
    pagemap_set(large_unit(large), 1, PAGEMAP_MAPPING, large);
    return large->start;
}

/* Pages that move are missed where the next block begins. So one is copied while that is cheap, and up to LARGE_LONG where a warm
 * block waits that large_new_to_grow will take. docs/experiments/growing-runs.md */
static bool large_is_better_copied(const struct large *large, size_t bytes) {
    if (large->bytes <= LARGE_COPY_MOST || bytes > LARGE_LONG)
        return large->bytes <= LARGE_COPY_MOST;
    size_t fit = spare_round(bytes), most = LARGE_WIDENS * fit;
    favour_take(&larges.lock);
    const struct large *waits = spare_recent_find(&larges.recent, fit, most);
    if (!waits)
        waits = spare_find(fit, most, UNIT_SIZE, SPARE_ANY);
    bool better = waits && large_is_warm_for(waits, bytes);
    favour_release(&larges.lock);
    return better;
}

static void *large_resize_run(struct large *large, size_t bytes) {
    size_t before = large->extent, units = before >> UNIT_SHIFT;
    if (bytes < before) {
        large_set(large, bytes, bytes);
        pagemap_set(large_unit(large) + bytes, units - (bytes >> UNIT_SHIFT), PAGEMAP_NONE, NULL);
        large_count_run(large, units, true);
        large_count_run(large, bytes >> UNIT_SHIFT, false);
        superslab_give(large->home, large_unit(large) + bytes, (unsigned)(units - (bytes >> UNIT_SHIFT)));
        return large->start;
    }
    if (large_is_in_field(large)) /* pages that are moved would tear huge ones */
        return NULL;
    /* Where nothing fits it goes early into what the last one of its kind has left. */
    size_t extent = spare_round(bytes);
    bool moves = !large_is_better_copied(large, bytes);
    void *moved = moves ? large_move(large, bytes, large_warm_target(large, extent)) : NULL;
    if (moved)
        return moved;
    unsigned more = (unsigned)((bytes - before) >> UNIT_SHIFT);
    if (bytes <= LARGE_RUN_MOST && superslab_extend(large->home, large_unit(large), (unsigned)units, more)) {
        large_count_run(large, units, true);
        large_count_run(large, units + more, false);
        pagemap_set(large_unit(large) + before, more, PAGEMAP_RUN_INSIDE, large);
        return large_set(large, bytes, bytes);
    }
    return moves ? large_move(large, bytes, large_map_to_move(large, extent)) : NULL;
}

/* Whether what a mapping of `extent` bytes has beyond `bytes` may stay: it counts as slack, and there is room for it among what waits. */
static bool large_may_keep(size_t bytes, size_t extent) {
    favour_take(&larges.lock);
    size_t waits = spare_resident_bytes() + larges.recent.resident + larges.slack + extent - bytes;
    favour_release(&larges.lock);
    return large_is_roomy(bytes, extent) && waits <= limit_keep(larges.cache_limit, waits);
}

static void *large_shrink_mapping(struct large *large, size_t bytes) {
    size_t before = large->extent, extent = large->solid ? align_up(bytes, HUGE_LEAST) : spare_round(bytes);
    bool half = bytes <= LARGE_RUN_MOST && bytes <= large->bytes / 2;
    if (half && (extent < before || large->solid))
        return NULL; /* alloc copies */
    if (extent >= before)
        return large_set(large, large->solid ? bytes : large->bytes, before);
    if (large_may_keep(bytes, before))
        return large_set(large, bytes, before);
    if (!os_unmap(large_unit(large) + extent, before - extent))
        return large_set(large, large->bytes, before); /* its slack counts again */
    large_count_mapped(extent - before);
    large_end_areas(large, extent);
    return large_set(large, bytes, extent);
}

/* There is no room for a second mapping beside it, under a limit of the kernel's. What has pages of others is several of its mappings,
 * and stays. */
static void *large_move_away(struct large *large, size_t bytes, size_t extent) {
    size_t before = large->extent;
    void *kept = seams_count(&large->seams) > 0 ? NULL : pagemap_keep();
    if (!kept)
        return NULL;
    pagemap_set(large_unit(large), 1, PAGEMAP_NONE, NULL);
    bool allowed = limit_take(extent - before);
    unsigned char *start = allowed ? os_remap_away(large_unit(large), before, extent, UNIT_SIZE) : NULL;
    if (!start) {
        pagemap_set(large_unit(large), 1, PAGEMAP_MAPPING, large);
        pagemap_keep_no_more(kept);
        limit_give(allowed ? extent - before : 0);
        return NULL;
    }
    large_count_mapped(extent - before);
    favour_take(&larges.lock);
    large_leave(large);
    large->start = start + large_colour(large);
    large->solid = false;
    large->extent = extent;
    large_enter(large, bytes);
    favour_release(&larges.lock);
    pagemap_reserve_with(start, kept);
    pagemap_set(start, 1, PAGEMAP_MAPPING, large);
    return large->start;
}

static void *large_resize_mapping(struct large *large, size_t bytes) {
    size_t before = large->extent, extent = spare_round(bytes);
    if (bytes < large->bytes)
        return large_shrink_mapping(large, bytes);
    if (large_is_better_copied(large, bytes))
        return NULL;
    struct large *warm = large_warm_target(large, extent);
    if (warm)
        return large_move(large, bytes, warm);
    if (!limit_take(extent - before))
        return NULL;
    size_t last = seams_last(&large->seams);
    if (!os_remap(large_unit(large) + last, before - last, extent - last)) {
        limit_give(extent - before);
        void *moved = large_move(large, bytes, large_map_to_move(large, extent));
        return moved ? moved : large_move_away(large, bytes, extent);
    }
    large_count_mapped(extent - before);
    large->huge |= large_ask(large, large_unit(large), extent);
    return large_set(large, bytes, extent);
}

void *large_resize(struct large *large, size_t size) {
    if (size > LARGE_MOST)
        return NULL;
    size_t bytes = align_up(large_colour(large) + size, UNIT_SIZE);
    if (bytes <= large->bytes && large->bytes - bytes <= bytes / 8)
        return large->start;
    void *start = large->start;
    if (!large_grow_inside(large, bytes)) {
        huge_forget(large_unit(large), large->extent);
        if (bytes > large->bytes)
            large_begin_growth(large);
        start = large->home ? large_resize_run(large, bytes) : large_resize_mapping(large, bytes);
    }
    if (!start) /* its slack counts again */
        large_set(large, large->bytes, large->extent);
    large_settle(NULL);
    return start;
}
