/* pagemap: any address -> whose it is.
 *
 * Owns one 4-byte tag and one record pointer for every 64 KiB unit of address space. A tag is
 * `owner heap << 8 | kind`; kinds below SIZECLASS_COUNT are slabs of that class; 0 means "not ours".
 * Addresses below 128 GiB (the window) have their tags in one static table, which costs pages only where it
 * is used, so that free needs one shift, one compare and one load; our mappings are asked for at hints inside
 * it. Everything above lives in leaves of 1 GiB, found in two steps. Records hang in chunks of their own:
 * free looks at them only off the hit path.
 *
 *     address >> 16 = unit -> tag (window or leaf), record (chunk or leaf)
 *
 * P1  a unit has a tag other than 0 exactly while it belongs to a slab or a run, or is the first of a mapping
 * P2  once pagemap_reserve has said yes, pagemap_set cannot fail
 * P3  a tag is published after its record: who reads the tag finds the record
 *
 * Written under the lock of the caller's room or by the owner of the units; read by every thread at any
 * time. It never unmaps anything of its own.
 */
#ifndef HAKMEM_PAGEMAP_H
#define HAKMEM_PAGEMAP_H

#include "sizeclass.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PAGEMAP_WINDOW_SHIFT = 37, /* the window ends at 128 GiB */
    PAGEMAP_ADDRESS_SHIFT = 48,
    PAGEMAP_CHUNK_SHIFT = 8, /* records a chunk: 2 KiB of pointers for 16 MiB of addresses */
    PAGEMAP_LEAF_SHIFT = 14  /* units a leaf: 1 GiB */
};
#define PAGEMAP_WINDOW_UNITS ((size_t)1 << (PAGEMAP_WINDOW_SHIFT - UNIT_SHIFT))

/* Kinds beside the size classes; their owner is 0. */
enum {
    PAGEMAP_NONE = 0,
    PAGEMAP_RUN = 0x80,        /* first unit of a run in a superslab */
    PAGEMAP_RUN_INSIDE = 0x81, /* its other units */
    PAGEMAP_MAPPING = 0x82     /* first unit of a mapping of its own */
};

extern uint32_t pagemap_window[PAGEMAP_WINDOW_UNITS];

static ALWAYS_INLINE size_t pagemap_unit(const void *address) {
    return (uintptr_t)address >> UNIT_SHIFT;
}

static ALWAYS_INLINE bool pagemap_same_unit(const void *address, const void *other) {
    return ((uintptr_t)address ^ (uintptr_t)other) < UNIT_SIZE;
}

/* The tag of an address in the window: relaxed, because a thread may only hold a block whose tag was
 * published to it together with the block. */
static ALWAYS_INLINE uint32_t pagemap_tag_in_window(size_t unit) {
    return __atomic_load_n(&pagemap_window[unit], __ATOMIC_RELAXED);
}

/* The tag of any address; PAGEMAP_NONE if it is not ours. Constant time. */
uint32_t pagemap_tag(const void *address);

/* True where hakmem has, or once had, something in the same 16 MiB (1 GiB outside of the window). For what is said of misuse. */
bool pagemap_is_near(const void *address);

/* The record of the unit of `address`, NULL if there is none. */
void *pagemap_record(const void *address);

/* Records in the window, by chunks of units; NULL: none in that chunk yet. */
enum { PAGEMAP_CHUNK_UNITS = 1 << PAGEMAP_CHUNK_SHIFT };
extern void **pagemap_chunks[PAGEMAP_WINDOW_UNITS / PAGEMAP_CHUNK_UNITS];

/* As pagemap_record, of a unit in the window that has a tag. */
static ALWAYS_INLINE void *pagemap_record_in_window(size_t unit) {
    /* Acquire, both: pair with pagemap_reserve and pagemap_set. */
    void **chunk = __atomic_load_n(&pagemap_chunks[unit >> PAGEMAP_CHUNK_SHIFT], __ATOMIC_ACQUIRE);
    return __atomic_load_n(&chunk[unit % PAGEMAP_CHUNK_UNITS], __ATOMIC_ACQUIRE);
}

/* The record of the unit of `address` if that has the tag, which is not PAGEMAP_NONE; else NULL. */
static ALWAYS_INLINE void *pagemap_record_tagged(const void *address, uint32_t tag) {
    size_t unit = pagemap_unit(address);
    if (UNLIKELY(unit >= PAGEMAP_WINDOW_UNITS))
        return pagemap_tag(address) == tag ? pagemap_record(address) : NULL;
    if (UNLIKELY(pagemap_tag_in_window(unit) != tag))
        return NULL;
    return pagemap_record_in_window(unit);
}

/* Keeps the window from being made of huge pages. */
void pagemap_prepare(void);

/* Makes room for tags and records of `units` units from `start`. False when there is no memory for it. */
bool pagemap_reserve(const void *start, size_t units);

/* Room for tags and records of one unit anywhere, for one pagemap_reserve_with, which cannot fail; or for pagemap_keep_no_more. NULL: there
 * is no memory for it. */
void *pagemap_keep(void);
void pagemap_keep_no_more(void *kept);

/* As pagemap_reserve of one unit, with what was kept. The address is one of the system's (below 1 << PAGEMAP_ADDRESS_SHIFT). */
void pagemap_reserve_with(const void *start, void *kept);

/* Gives `units` reserved units this tag and record; to take them away: tag PAGEMAP_NONE, record NULL. */
void pagemap_set(const void *start, size_t units, uint32_t tag, void *record);

/* Where in the window to ask for `bytes` of address space next, for superslabs from below, for mappings from
 * above the middle; always a multiple of `alignment`. Hints only: the kernel may have other plans. */
void *pagemap_hint_superslab(size_t bytes, size_t alignment);
void *pagemap_hint_mapping(size_t bytes, size_t alignment);

/* os_unmap, and if that does: hints come back to it, so that a program whose blocks come and go has tags and records for a few addresses, not for
 * ever more. Any thread. */
bool pagemap_unmap(void *start, size_t bytes);

/* Holds and releases the room's lock around fork. */
void pagemap_lock(bool take);

static ALWAYS_INLINE unsigned pagemap_kind(uint32_t tag) {
    return tag & 0xff;
}

/* True for a slab's tag: above its class, which is below SIZECLASS_COUNT, stands the number of the heap that owns it. */
static ALWAYS_INLINE bool pagemap_is_owned(uint32_t tag) {
    return tag > UINT8_MAX;
}

#endif
