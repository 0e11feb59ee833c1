#include "pagemap.h"

#include "lock.h"
#include "metadata.h"
#include "os.h"

enum {
    LEAF_UNITS = 1 << PAGEMAP_LEAF_SHIFT,
    LEAVES = 1 << (PAGEMAP_ADDRESS_SHIFT - UNIT_SHIFT - PAGEMAP_LEAF_SHIFT)
};

/* Hints: up to 36 GiB stay out of the way of programs that want low addresses (compressed pointers of JVMs, which also put their archive of classes and what
 * is loaded beside it at 32 GiB: CompressedClassSpaceSize is 1 GiB, at most 3). */
#define HINT_SUPERSLABS ((uintptr_t)36 * GIB)
#define HINT_MAPPINGS ((uintptr_t)96 * GIB)
#define HINT_END ((uintptr_t)1 << PAGEMAP_WINDOW_SHIFT)
#define HINT_RANDOM ((uintptr_t)8 * GIB) /* address randomisation, in steps of 4 MiB */

struct pagemap_leaf {
    uint32_t tag[LEAF_UNITS];
    void *record[LEAF_UNITS];
};

/* Room for a leaf, all zero but for this word while it waits. */
struct pagemap_kept {
    struct pagemap_kept *next;
};

SPARSE uint32_t pagemap_window[PAGEMAP_WINDOW_UNITS];

/* Addresses to ask for: in holes, the longest of what was given back, none of which touches another; and from `next` on. */
struct pagemap_part {
    uintptr_t next;
    bool has_holes; /* or had since `next` began anew */
    struct pagemap_hole {
        uintptr_t start, end;
    } hole[16];
};

/* Chunks and leaves (below) are published with release and read with acquire: a reader sees them zeroed. */
static struct {
    struct lock lock;
    struct pagemap_part superslabs, mappings;
    struct pagemap_kept *kept; /* that were not needed */
} pagemap = {.lock = LOCK_INITIAL(4)};

/* Apart, because they start as zeros: they take no room in the file and no page until they are used. */
SPARSE void **pagemap_chunks[PAGEMAP_WINDOW_UNITS / PAGEMAP_CHUNK_UNITS];
SPARSE static struct pagemap_leaf *pagemap_leaves[LEAVES];

void pagemap_prepare(void) {
    os_keep_small(pagemap_leaves, sizeof pagemap_leaves); /* beside them lies what every program touches */
    os_keep_small(pagemap_window, sizeof pagemap_window);
}

static struct pagemap_leaf *pagemap_leaf_of(size_t unit) {
    size_t index = unit >> PAGEMAP_LEAF_SHIFT;
    return index < LEAVES ? __atomic_load_n(&pagemap_leaves[index], __ATOMIC_ACQUIRE) : NULL;
}

static void **pagemap_record_slot(size_t unit) {
    if (unit < PAGEMAP_WINDOW_UNITS) {
        void **chunk = __atomic_load_n(&pagemap_chunks[unit >> PAGEMAP_CHUNK_SHIFT], __ATOMIC_ACQUIRE);
        return chunk ? &chunk[unit % PAGEMAP_CHUNK_UNITS] : NULL;
    }
    struct pagemap_leaf *leaf = pagemap_leaf_of(unit);
    return leaf ? &leaf->record[unit % LEAF_UNITS] : NULL;
}

static uint32_t *pagemap_tag_slot(size_t unit) {
    if (unit < PAGEMAP_WINDOW_UNITS)
        return &pagemap_window[unit];
    struct pagemap_leaf *leaf = pagemap_leaf_of(unit);
    return leaf ? &leaf->tag[unit % LEAF_UNITS] : NULL;
}

uint32_t pagemap_tag(const void *address) {
    const uint32_t *slot = pagemap_tag_slot(pagemap_unit(address));
    return slot ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : PAGEMAP_NONE; /* pairs with pagemap_set */
}

void *pagemap_record(const void *address) {
    void **slot = pagemap_record_slot(pagemap_unit(address));
    return slot ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : NULL; /* pairs with pagemap_set */
}

bool pagemap_is_near(const void *address) {
    return pagemap_record_slot(pagemap_unit(address)) != NULL;
}

static bool pagemap_reserve_unit(size_t unit) {
    if (pagemap_record_slot(unit))
        return true;
    if (unit < PAGEMAP_WINDOW_UNITS) {
        void **chunk = metadata_new(PAGEMAP_CHUNK_UNITS * sizeof(void *));
        if (chunk)
            __atomic_store_n(&pagemap_chunks[unit >> PAGEMAP_CHUNK_SHIFT], chunk, __ATOMIC_RELEASE);
        return chunk != NULL;
    }
    if (unit >> PAGEMAP_LEAF_SHIFT >= LEAVES)
        return false;
    struct pagemap_leaf *leaf = metadata_new(sizeof(struct pagemap_leaf));
    if (leaf)
        __atomic_store_n(&pagemap_leaves[unit >> PAGEMAP_LEAF_SHIFT], leaf, __ATOMIC_RELEASE);
    return leaf != NULL;
}

bool pagemap_reserve(const void *start, size_t units) {
    size_t unit = pagemap_unit(start), last = unit + units - 1;
    bool reserved = true;
    lock_take(&pagemap.lock);
    while (reserved && unit <= last) {
        reserved = pagemap_reserve_unit(unit);
        size_t grain = unit < PAGEMAP_WINDOW_UNITS ? PAGEMAP_CHUNK_UNITS : LEAF_UNITS;
        unit = (unit / grain + 1) * grain;
    }
    lock_release(&pagemap.lock);
    return reserved;
}

void pagemap_set(const void *start, size_t units, uint32_t tag, void *record) {
    size_t unit = pagemap_unit(start);
    for (size_t last = unit + units; unit < last; unit++) {
        void **record_slot = pagemap_record_slot(unit);
        uint32_t *tag_slot = pagemap_tag_slot(unit);
        ASSERT(P2, record_slot && tag_slot);
        __atomic_store_n(record_slot, record, __ATOMIC_RELEASE);
        __atomic_store_n(tag_slot, tag, __ATOMIC_RELEASE); /* P3: after the record */
    }
}

void *pagemap_keep(void) {
    lock_take(&pagemap.lock);
    struct pagemap_kept *kept = pagemap.kept;
    if (kept)
        pagemap.kept = kept->next;
    lock_release(&pagemap.lock);
    if (!kept)
        return metadata_new(sizeof(struct pagemap_leaf));
    kept->next = NULL;
    return kept;
}

void pagemap_keep_no_more(void *kept) {
    struct pagemap_kept *room = kept;
    lock_take(&pagemap.lock);
    room->next = pagemap.kept;
    pagemap.kept = room;
    lock_release(&pagemap.lock);
}

void pagemap_reserve_with(const void *start, void *kept) {
    size_t unit = pagemap_unit(start);
    lock_take(&pagemap.lock);
    bool needed = !pagemap_record_slot(unit);
    if (needed && unit < PAGEMAP_WINDOW_UNITS)
        __atomic_store_n(&pagemap_chunks[unit >> PAGEMAP_CHUNK_SHIFT], kept, __ATOMIC_RELEASE);
    else if (needed)
        __atomic_store_n(&pagemap_leaves[unit >> PAGEMAP_LEAF_SHIFT], kept, __ATOMIC_RELEASE);
    lock_release(&pagemap.lock);
    if (!needed)
        pagemap_keep_no_more(kept);
}

static size_t pagemap_hole_bytes(const struct pagemap_hole *hole) {
    return hole->end - hole->start;
}

/* In the shortest that is long enough; 0: there is none. */
static NOINLINE uintptr_t pagemap_hint_in_hole(struct pagemap_part *part, size_t bytes, size_t alignment) {
    struct pagemap_hole *best = NULL;
    for (unsigned i = 0; i < ARRAY_LENGTH(part->hole); i++) {
        struct pagemap_hole *hole = &part->hole[i];
        uintptr_t hint = align_up(hole->start, alignment);
        if (hint < hole->end && bytes <= hole->end - hint &&
            (!best || pagemap_hole_bytes(hole) < pagemap_hole_bytes(best)))
            best = hole;
    }
    if (!best)
        return 0;
    uintptr_t hint = align_up(best->start, alignment);
    best->start = hint + align_up(bytes, UNIT_SIZE);
    return hint;
}

static uintptr_t pagemap_hint_next(struct pagemap_part *part, uintptr_t from, uintptr_t end, size_t bytes,
                                   size_t alignment) {
    if (part->next == 0)
        part->next = from + os_random() % (HINT_RANDOM / (4 * MIB)) * (4 * MIB);
    uintptr_t hint = align_up(part->next, alignment);
    if (hint >= end - bytes) {
        hint = align_up(from, alignment);
        *part = (struct pagemap_part){0}; /* all holes lie behind that */
    }
    part->next = hint + align_up(bytes, UNIT_SIZE);
    return hint;
}

static void *pagemap_hint(struct pagemap_part *part, uintptr_t from, uintptr_t end, size_t bytes,
                          size_t alignment) {
    uintptr_t hint = 0;
    size_t room = end - from;
    lock_take(&pagemap.lock);
    if (alignment < room && bytes < room - alignment) {
        if (UNLIKELY(part->has_holes))
            hint = pagemap_hint_in_hole(part, bytes, alignment);
        if (hint == 0)
            hint = pagemap_hint_next(part, from, end, bytes, alignment);
    }
    lock_release(&pagemap.lock);
    return (void *)hint;
}

void *pagemap_hint_superslab(size_t bytes, size_t alignment) {
    return pagemap_hint(&pagemap.superslabs, HINT_SUPERSLABS, HINT_MAPPINGS, bytes, alignment);
}

void *pagemap_hint_mapping(size_t bytes, size_t alignment) {
    return pagemap_hint(&pagemap.mappings, HINT_MAPPINGS, HINT_END, bytes, alignment);
}

/* The hole that it touches is of it from here on. */
static struct pagemap_hole pagemap_join(struct pagemap_part *part, struct pagemap_hole hole) {
    for (unsigned i = 0; i < ARRAY_LENGTH(part->hole); i++) {
        struct pagemap_hole *other = &part->hole[i];
        if (pagemap_hole_bytes(other) == 0 || (other->end != hole.start && other->start != hole.end))
            continue;
        hole.start = other->end == hole.start ? other->start : hole.start;
        hole.end = other->start == hole.end ? other->end : hole.end;
        other->start = other->end;
    }
    return hole;
}

/* What lies behind `next` was hinted at long ago, or never. */
static NOINLINE void pagemap_open_hole(struct pagemap_part *part, struct pagemap_hole hole) {
    if (hole.start >= part->next || hole.end > part->next)
        return;
    hole = pagemap_join(part, hole);
    if (hole.end == part->next) {
        part->next = hole.start;
        return;
    }
    struct pagemap_hole *shortest = part->hole;
    for (unsigned i = 1; i < ARRAY_LENGTH(part->hole); i++)
        if (pagemap_hole_bytes(&part->hole[i]) < pagemap_hole_bytes(shortest))
            shortest = &part->hole[i];
    if (pagemap_hole_bytes(&hole) > pagemap_hole_bytes(shortest))
        *shortest = hole;
    part->has_holes = true;
}

bool pagemap_unmap(void *start, size_t bytes) {
    struct pagemap_hole hole = {(uintptr_t)start, (uintptr_t)start + align_up(bytes, UNIT_SIZE)};
    if (!os_unmap(start, bytes))
        return false;
    lock_take(&pagemap.lock);
    if (hole.start >=
        HINT_SUPERSLABS) /* what reaches into another part, or lies behind all, is behind `next` */
        pagemap_open_hole(hole.start < HINT_MAPPINGS ? &pagemap.superslabs : &pagemap.mappings, hole);
    lock_release(&pagemap.lock);
    return true;
}

void pagemap_lock(bool take) {
    if (take)
        lock_take(&pagemap.lock);
    else
        lock_release(&pagemap.lock);
}
