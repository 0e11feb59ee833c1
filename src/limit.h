/* limit: how much memory hakmem may hold, how near to that it is, and what giving it back may cost.
 *
 * Owns the count of held bytes: units that are in use, or free and not given back (dirty), and mappings that are live
 * or cached; hakmem's own records are added where it is compared. Rooms that take memory from the system, or take units
 * back into use that were given back, ask limit_take first and tell limit_give afterwards. Without a limit nothing is
 * counted, and asking costs one load.
 *
 *     0 ........ in use ........|... kept warm ...|        the soft limit's 7/8: from here on nothing more is kept warm,
 *                                             near_from    the hard limit: from here on limit_take says no
 *
 * P1  held bytes and records together never pass the hard limit by what limit_take allowed; a refusal is counted
 * P2  near the soft limit, or under pressure, limit_keep allows to be kept warm at most what still fits below it
 * P3  the cgroup is looked at when the process starts and then at most once a second
 * P4  limit_may_purge says yes at most HAKMEM_SYSCALL_BUDGET times in each second of the clock
 * P5  once four fifths of the mappings that the kernel allows are in use, nothing is to be split; said once
 *
 * No locks: relaxed counters, each of which stands for itself. Called by superslab, large, purge, alloc, stats and
 * lifecycle, on slow paths only, and never starts anything of its own.
 */
#ifndef HAKMEM_LIMIT_H
#define HAKMEM_LIMIT_H

#include "base.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMIT_CGROUP SIZE_MAX /* as a soft limit: whatever the cgroup says */
#define LIMIT_STEP MIB

struct limit {
    bool counting; /* there is a limit; this and the next four are written once, before there are threads */
    bool following, soft; /* the cgroup; any soft limit */
    size_t hard;          /* SIZE_MAX: none */
    uint32_t budget;
    _Atomic bool watching;     /* there is a soft limit or there was pressure lately */
    _Atomic bool tight;        /* few mappings are left */
    _Atomic size_t held;       /* bytes */
    _Atomic size_t drained;    /* bytes held when heaps were drained last, or fewer since */
    _Atomic size_t near_from;  /* 7/8 of the soft limit; SIZE_MAX: none */
    _Atomic uint64_t refusals; /* of limit_take */
    _Atomic uint64_t looked;   /* ns: when the cgroup was read last */
    _Atomic uint64_t pressed;  /* ns: until when there is pressure */
    _Atomic uint64_t
        spent; /* the second, and the calls of the budget that went in it: second << 32 | calls */
    _Atomic uint64_t
        count_at; /* calls that may make a mapping, before mappings are counted again; UINT64_MAX: they are being */
    _Atomic uint64_t worst_at; /* such calls after which mappings could be few, at worst */
    _Atomic size_t allowed;    /* mappings; 0: not asked yet, or unknown */
    _Atomic bool said;         /* that they are few */
    int pressure;              /* descriptor of the pressure file; 0: not opened yet, -1: there is none */
    uint64_t pressure_id;      /* of the file that it was then */
};

extern struct limit limit;

bool limit_take_counted(size_t bytes);
bool limit_near_now(void);
size_t limit_keep_now(size_t configured, size_t warm);

/* Reserves: true, and the bytes count as held, or false, and nothing has changed. */
static inline bool limit_take(size_t bytes) {
    return LIKELY(!limit.counting) || limit_take_counted(bytes);
}

/* Counts what is held already, whatever the limit says: it stays, or is about to take the place of as much. */
static inline void limit_hold(size_t bytes) {
    if (UNLIKELY(limit.counting))
        atomic_fetch_add_explicit(&limit.held, bytes, memory_order_relaxed);
}

/* The opposite: for what went home, and for what could not be had after all. */
static inline void limit_give(size_t bytes) {
    if (UNLIKELY(limit.counting))
        atomic_fetch_sub_explicit(&limit.held, bytes, memory_order_relaxed);
}

/* Whether so many bytes may be held, whatever is now. */
static inline bool limit_allows(size_t bytes) {
    return bytes <= limit.hard;
}

/* There is a soft limit or there was pressure lately: else limit_near is false, and limit_keep allows all that is configured. */
static inline bool limit_is_watching(void) {
    return atomic_load_explicit(&limit.watching, memory_order_relaxed);
}

/* True near the soft limit or under pressure: what is free is to go home now. May read the cgroup's files. */
static inline bool limit_near(void) {
    return UNLIKELY(limit_is_watching()) && limit_near_now();
}

/* Near the soft limit, once LIMIT_STEP bytes more are held than when heaps were drained last, the dear way to find memory is
 * worth it: how many bytes it is to find, as many as have come since and LIMIT_STEP at least. 0: not now. When all heaps
 * were drained that is to be told by limit_note_drained. */
size_t limit_wants_drain(void);
void limit_note_drained(void);

/* Of `configured` bytes that may be kept warm, how many may be now that `warm` are. */
static inline size_t limit_keep(size_t configured, size_t warm) {
    return LIKELY(!limit_is_watching()) ? configured : limit_keep_now(configured, warm);
}

/* Bytes; 0: no limit. A soft limit of LIMIT_CGROUP follows the cgroup. A budget of 0 calls has no end. */
void limit_configure(size_t hard, size_t soft, size_t budget);

/* The limits in effect and the CPUs, on stderr. */
void limit_print(void);

/* From here to the opposite the calling thread's calls are not taken off the budget: somebody waits for the memory. */
void limit_lift_budget(bool lifted);

/* True: one call that gives memory back may be made now; it is taken off the budget. */
bool limit_may_purge(void);

/* True while limit_may_purge would say yes: before work that is in vain without it. */
bool limit_budget_left(void);

/* False when mappings are so many that none is to be split: not by munmap, nor by advice on a part. */
static inline bool limit_may_split(void) {
    return LIKELY(!atomic_load_explicit(&limit.tight, memory_order_relaxed));
}

/* Brings limit_may_split up to date; counts the mappings only after thousands of calls that may make one. For places
 * that map or unmap, outside of locks. */
void limit_count_mappings(void);

/* For one thread, which has time: sleeps for `ns` nanoseconds or, when there is a soft limit, until there is pressure. Ends early
 * when *word, a futex, is no longer `seen`: at once or, with a soft limit, within a second. */
void limit_rest(_Atomic uint32_t *word, uint32_t seen, uint64_t ns);

/* Between the two of them: a descriptor that polls POLLPRI, -1 where the kernel offers none or the program has closed it;
 * and what is done when it does. */
int limit_pressure_fd(void);
void limit_in_child(void); /* after fork: parent and child would take each other's news */
void limit_note_pressure(void);

#endif
