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
    size_t live_peak; /* most bytes of mappings that were ever live at once */
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

static size_t large_distance(const struct large *large, size_t bytes) {
    return large->bytes > bytes ? large->bytes - bytes : bytes - large->bytes;
}

/* Takes the cached mapping of low..high bytes that is nearest to `bytes`. */
static struct large *large_take_between(size_t low, size_t bytes, size_t high, size_t alignment) {
    struct large **best = NULL, *taken = NULL;
    lock_take(&larges.lock);
    for (unsigned slot = 0; slot < LARGE_CACHE_SLOTS; slot++) {
        struct large **place = &larges.cache[slot], *large = *place;
        if (!large || large->bytes < low || large->bytes > high ||
            ((uintptr_t)large->start & (alignment - 1)) != 0)
            continue;
        if (!best || large_distance(large, bytes) < large_distance(*best, bytes))
            best = place;
    }
    if (best) {
        taken = *best;
        *best = NULL;
        large_add(&larges.cached_bytes, -taken->bytes);
    }
    lock_release(&larges.lock);
    return taken;
}

/* A mapping that we have: one that holds `bytes` and wastes at most an eighth, or one that is stuck. */
static struct large *large_take_cached(size_t bytes, size_t alignment) {
    struct large *large = large_take_between(bytes, bytes, bytes + bytes / 8, alignment);
    if (large)
        return large;
    lock_take(&larges.lock);
    large = large_take_stuck(bytes, alignment);
    lock_release(&larges.lock);
    return large;
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

/* Unmaps what is linked by next; returns the bytes that went home. */
static size_t large_unmap_all(struct large *large) {
    size_t gone = 0;
    for (struct large *next; large; large = next) {
        size_t bytes = large->bytes;
        next = large->next;
        gone += large_unmap(large) ? bytes : 0;
    }
    return gone;
}

/* After more has become live: what is cached goes as far as it would lift the sum above what was live before. So the
 * cache saves system calls, but never makes a process larger than it made itself. */
static void large_trim_to_peak(void) {
    struct large *out = NULL;
    lock_take(&larges.lock);
    size_t live = larges.mapped_bytes - larges.cached_bytes;
    if (live > larges.live_peak)
        larges.live_peak = live;
    while (live + larges.cached_bytes > larges.live_peak) {
        struct large *large = large_evict();
        if (!large)
            break;
        large->next = out;
        out = large;
    }
    lock_release(&larges.lock);
    large_unmap_all(out);
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

void large_delete(struct large *large) {
    size_t units = large->home ? large->bytes >> UNIT_SHIFT : 1;
    pagemap_set(large->start, units, PAGEMAP_NONE, NULL);
    if (large->home) {
        superslab_give(large->home, large->start, (unsigned)units);
        large_give_record(large);
        return;
    }
    large_unmap_all(large_put_cached(large));
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

/* A cached mapping of nearly the size, made as long as wanted: most of its pages stay. NULL: none, or it could not be. */
static struct large *large_take_near(size_t bytes) {
    struct large *large = large_take_between(bytes / 2, bytes, bytes * 2, UNIT_SIZE);
    if (!large || large_resize_mapping(large, bytes))
        return large;
    pagemap_set(large->start, 1, PAGEMAP_NONE, NULL); /* a move that failed has put it back */
    large_unmap_all(large_put_cached(large));
    return NULL;
}

static struct large *large_new_mapping(size_t size, size_t alignment, bool *zeroed) {
    if (size > PTRDIFF_MAX - 2 * (size_t)UNIT_SIZE || alignment > PTRDIFF_MAX / 2)
        return NULL;
    if (alignment < UNIT_SIZE)
        alignment = UNIT_SIZE;
    size_t bytes = large_round(size);
    struct large *large = large_take_cached(bytes, alignment);
    if (!large && alignment == UNIT_SIZE)
        large = large_take_near(bytes);
    *zeroed = large == NULL;
    if (!large)
        large = large_map(bytes, alignment);
    if (!large)
        return NULL;
    large_trim_to_peak();
    pagemap_set(large->start, 1, PAGEMAP_MAPPING, large);
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

void *large_resize(struct large *large, size_t size) {
    if (size > PTRDIFF_MAX - 2 * (size_t)UNIT_SIZE)
        return NULL;
    if (large->home)
        return size <= RUN_LARGEST ? large_resize_run(large, align_up(size, UNIT_SIZE)) : NULL;
    if (size <= RUN_LARGEST)
        return NULL; /* too small for a mapping: alloc copies */
    if (size <= large->bytes && large->bytes - size <= large->bytes / 8)
        return large->start;
    void *start = large_resize_mapping(large, large_round(size));
    large_trim_to_peak();
    return start;
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
