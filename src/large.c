#include "large.h"

#include "lock.h"
#include "metadata.h"
#include "os.h"

#define RUN_LARGEST ((size_t)SUPERSLAB_RUN_LARGEST * UNIT_SIZE)

static struct {
    struct lock lock;
    struct large *unused;
    struct large *stuck; /* mappings that the kernel would not unmap */
    struct large *cache[LARGE_CACHE_SLOTS];
    unsigned turn; /* the place whose mapping went last for another */
    size_t cache_limit, cached_bytes, mapped_bytes;
} larges = {.lock = LOCK_INITIAL(7), .cache_limit = 64 * MIB};

static struct large *large_take_record(void) {
    lock_take(&larges.lock);
    struct large *large = larges.unused;
    if (large)
        larges.unused = large->next;
    lock_release(&larges.lock);
    return large ? large : metadata_new(sizeof(struct large));
}

static void large_give_record(struct large *large) {
    lock_take(&larges.lock);
    large->next = larges.unused;
    larges.unused = large;
    lock_release(&larges.lock);
}

static void large_add(size_t *total, size_t bytes) {
    __atomic_store_n(total, *total + bytes, __ATOMIC_RELAXED); /* written under the lock, read without */
}

/* Mappings are rounded so that nearly equal sizes can use each other's: to 1/16 of the size at most. */
static size_t large_round(size_t size) {
    size_t grain = UNIT_SIZE;
    if (size > 16 * (size_t)UNIT_SIZE) {
        size_t sixteenth = (size_t)1 << (bits_highest(size) - 4);
        if (sixteenth > grain)
            grain = sixteenth;
    }
    size_t rounded = align_up(size, grain);
    return rounded < size ? align_up(size, UNIT_SIZE) : rounded;
}

/* The first stuck mapping, if it is good for the request: what cannot go home is at least used again. */
static struct large *large_take_stuck(size_t bytes, size_t alignment) {
    struct large *large = larges.stuck;
    if (!large || large->bytes < bytes || ((uintptr_t)large->start & (alignment - 1)) != 0)
        return NULL;
    larges.stuck = large->next;
    return large;
}

/* Takes the best of the cached mappings that hold `bytes` at `alignment` and waste at most an eighth. */
static struct large *large_take_cached(size_t bytes, size_t alignment) {
    struct large *best = NULL;
    unsigned best_slot = 0;
    lock_take(&larges.lock);
    for (unsigned slot = 0; slot < LARGE_CACHE_SLOTS; slot++) {
        struct large *large = larges.cache[slot];
        if (!large || large->bytes < bytes || large->bytes > bytes + bytes / 8)
            continue;
        if (((uintptr_t)large->start & (alignment - 1)) != 0 || (best && best->bytes <= large->bytes))
            continue;
        best = large;
        best_slot = slot;
    }
    if (best) {
        larges.cache[best_slot] = NULL;
        large_add(&larges.cached_bytes, -best->bytes);
    } else {
        best = large_take_stuck(bytes, alignment);
    }
    lock_release(&larges.lock);
    return best;
}

/* Takes the mapping whose turn it is out of the cache; NULL when the cache is empty. */
static struct large *large_evict(void) {
    for (unsigned looked = 0; looked < LARGE_CACHE_SLOTS; looked++) {
        larges.turn = (larges.turn + 1) % LARGE_CACHE_SLOTS;
        struct large *large = larges.cache[larges.turn];
        if (!large)
            continue;
        larges.cache[larges.turn] = NULL;
        large_add(&larges.cached_bytes, -large->bytes);
        return large;
    }
    return NULL;
}

static bool large_place(struct large *large) {
    if (larges.cached_bytes + large->bytes > larges.cache_limit)
        return false;
    for (unsigned slot = 0; slot < LARGE_CACHE_SLOTS; slot++) {
        if (larges.cache[slot])
            continue;
        larges.cache[slot] = large;
        large_add(&larges.cached_bytes, large->bytes);
        return true;
    }
    return false;
}

/* Puts a mapping in the cache. When there is no room for it, one other goes: so a cache of a size that nobody
 * asks for any more makes way in time. Returns what is to be unmapped, linked by next. */
static struct large *large_put_cached(struct large *large) {
    struct large *out = NULL;
    lock_take(&larges.lock);
    bool placed = large_place(large);
    if (!placed && large->bytes <= larges.cache_limit) {
        out = large_evict();
        placed = large_place(large);
    }
    ASSERT(P2, larges.cached_bytes <= larges.cache_limit);
    lock_release(&larges.lock);
    if (out)
        out->next = NULL;
    if (placed)
        return out;
    large->next = out;
    return large;
}

static void large_count_mapped(size_t bytes) {
    lock_take(&larges.lock);
    large_add(&larges.mapped_bytes, bytes);
    lock_release(&larges.lock);
}

/* Unmaps; what the kernel refuses to unmap gives its pages back and waits for reuse, P3. */
static bool large_unmap(struct large *large) {
    if (os_unmap(large->start, large->bytes)) {
        large_count_mapped(-large->bytes);
        large_give_record(large);
        return true;
    }
    os_advise(large->start, large->bytes, OS_DONTNEED);
    lock_take(&larges.lock);
    large->next = larges.stuck;
    larges.stuck = large;
    lock_release(&larges.lock);
    return false;
}

static struct large *large_map(size_t bytes, size_t alignment) {
    struct large *large = large_take_record();
    if (!large)
        return NULL;
    large->home = NULL;
    large->bytes = bytes;
    large->start = os_map_aligned(bytes, alignment, pagemap_hint_mapping(bytes, alignment));
    if (large->start && pagemap_reserve(large->start, 1)) {
        large_count_mapped(bytes);
        return large;
    }
    if (large->start)
        os_unmap(large->start, bytes);
    large_give_record(large);
    return NULL;
}

static struct large *large_new_mapping(size_t size, size_t alignment, bool *zeroed) {
    if (size > PTRDIFF_MAX - 2 * (size_t)UNIT_SIZE || alignment > PTRDIFF_MAX / 2)
        return NULL;
    if (alignment < UNIT_SIZE)
        alignment = UNIT_SIZE;
    size_t bytes = large_round(size);
    struct large *large = large_take_cached(bytes, alignment);
    *zeroed = large == NULL;
    if (!large)
        large = large_map(bytes, alignment);
    if (large)
        pagemap_set(large->start, 1, PAGEMAP_MAPPING, large);
    return large;
}

static struct large *large_new_run(size_t size, bool *zeroed) {
    unsigned units = (unsigned)(align_up(size, UNIT_SIZE) >> UNIT_SHIFT);
    struct large *large = large_take_record();
    if (!large)
        return NULL;
    struct superslab_run run = superslab_take(units);
    if (!run.start) {
        large_give_record(large);
        return NULL;
    }
    large->start = run.start;
    large->home = run.home;
    large->bytes = (size_t)units * UNIT_SIZE;
    *zeroed = run.zeroed;
    pagemap_set(run.start + UNIT_SIZE, units - 1, PAGEMAP_RUN_INSIDE, large);
    pagemap_set(run.start, 1, PAGEMAP_RUN, large);
    return large;
}

void *large_new(size_t size, size_t alignment, bool *zeroed) {
    bool run = size <= RUN_LARGEST && alignment <= UNIT_SIZE;
    if (size == 0)
        size = 1;
    struct large *large = run ? large_new_run(size, zeroed) : large_new_mapping(size, alignment, zeroed);
    ASSERT(P1, !large || ((uintptr_t)large->start & (alignment - 1)) == 0);
    return large ? large->start : NULL;
}

void large_delete(struct large *large) {
    size_t units = large->home ? large->bytes >> UNIT_SHIFT : 1;
    pagemap_set(large->start, units, PAGEMAP_NONE, NULL);
    if (large->home) {
        superslab_give(large->home, large->start, (unsigned)units);
        large_give_record(large);
        return;
    }
    struct large *next;
    for (struct large *out = large_put_cached(large); out; out = next) {
        next = out->next;
        large_unmap(out);
    }
}

static void *large_resize_run(struct large *large, size_t bytes) {
    unsigned units = (unsigned)(large->bytes >> UNIT_SHIFT), wanted = (unsigned)(bytes >> UNIT_SHIFT);
    if (wanted > units) {
        if (!superslab_extend(large->home, large->start, units, wanted - units))
            return NULL;
        pagemap_set(large->start + large->bytes, wanted - units, PAGEMAP_RUN_INSIDE, large);
    } else if (wanted < units) {
        pagemap_set(large->start + bytes, units - wanted, PAGEMAP_NONE, NULL);
        superslab_give(large->home, large->start + bytes, units - wanted);
    }
    large->bytes = bytes;
    return large->start;
}

/* Moves the mapping's pages to a longer range of addresses. */
static void *large_move(struct large *large, size_t bytes) {
    unsigned char *target = os_map_aligned(bytes, UNIT_SIZE, pagemap_hint_mapping(bytes, UNIT_SIZE));
    if (!target)
        return NULL;
    /* Before the old addresses are free: another thread may get them at once. */
    pagemap_set(large->start, 1, PAGEMAP_NONE, NULL);
    if (!pagemap_reserve(target, 1) || !os_remap_to(large->start, large->bytes, bytes, target)) {
        pagemap_set(large->start, 1, PAGEMAP_MAPPING, large);
        os_unmap(target, bytes);
        return NULL;
    }
    large->start = target;
    pagemap_set(target, 1, PAGEMAP_MAPPING, large);
    return target;
}

static void *large_resize_mapping(struct large *large, size_t bytes) {
    void *start = NULL;
    if (bytes == large->bytes)
        return large->start;
    if (bytes < large->bytes)
        start = os_unmap(large->start + bytes, large->bytes - bytes) ? large->start : NULL;
    else
        start = os_remap(large->start, large->bytes, bytes, false) ? large->start : large_move(large, bytes);
    if (!start)
        return bytes < large->bytes ? large->start : NULL;
    large_count_mapped(bytes - large->bytes);
    large->bytes = bytes;
    return start;
}

void *large_resize(struct large *large, size_t size) {
    if (size > PTRDIFF_MAX - 2 * (size_t)UNIT_SIZE)
        return NULL;
    if (large->home)
        return size <= RUN_LARGEST ? large_resize_run(large, align_up(size, UNIT_SIZE)) : NULL;
    if (size <= RUN_LARGEST)
        return NULL; /* too small for a mapping: alloc copies */
    if (size <= large->bytes && large->bytes - size <= large->bytes / 8)
        return large->start;
    return large_resize_mapping(large, large_round(size));
}

size_t large_purge(size_t keep) {
    size_t purged = 0;
    for (unsigned slot = 0; slot < LARGE_CACHE_SLOTS; slot++) {
        lock_take(&larges.lock);
        struct large *large = larges.cached_bytes > keep ? larges.cache[slot] : NULL;
        if (large) {
            larges.cache[slot] = NULL;
            large_add(&larges.cached_bytes, -large->bytes);
        }
        lock_release(&larges.lock);
        size_t bytes = large ? large->bytes : 0;
        if (large && large_unmap(large))
            purged += bytes;
    }
    return purged;
}

void large_configure(size_t cache_bytes) {
    larges.cache_limit = cache_bytes;
}

size_t large_mapped_bytes(void) {
    return __atomic_load_n(&larges.mapped_bytes, __ATOMIC_RELAXED);
}

size_t large_cached_bytes(void) {
    return __atomic_load_n(&larges.cached_bytes, __ATOMIC_RELAXED);
}

void large_lock(bool take) {
    if (take)
        lock_take(&larges.lock);
    else
        lock_release(&larges.lock);
}
