/* calls: how long each call took, and which ones came last.
 *
 * Owns what is noted down of every call of a watched thread where HAKMEM_LATENCY or HAKMEM_TRACE asks for it: a histogram of
 * ticks for each kind of call, and a ring of the last events. They lie in a record of the thread's heap, so that nothing is
 * shared, and are read from outside (layout.def).
 *
 *     ticks       0 1 2 ... 63 | 64 66 68 ... 126 | 128 132 ...     where a bucket begins: exact, then 32 to an octave,
 *     bucket      0 1 2 ... 63 | 64 65 66 ...  95 |  96  97 ...     so off by 1/32 at most, as in HdrHistogram (Tene)
 *
 * P1  every call is in one bucket of its kind
 * P2  the ring holds the last `size` events, the newest behind the older ones; `written` counts all that ever were
 *
 * Ticks are those of the processor's counter (rdtsc, cntvct_el0); what reading it takes is subtracted. Now and then the time of
 * day is noted beside it, so that a reader can tell how long a tick is. Called by alloc only; a record is its thread's.
 */
#ifndef HAKMEM_CALLS_H
#define HAKMEM_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Small blocks: up to SIZECLASS_LARGEST. calloc counts as malloc; a realloc that copies as malloc and free. */
enum calls_kind { CALLS_MALLOC, CALLS_FREE, CALLS_MALLOC_LARGE, CALLS_FREE_LARGE, CALLS_RESIZE, CALLS_KINDS };

enum {
    CALLS_EXACT = 64,   /* buckets of one tick */
    CALLS_STEPS = 32,   /* buckets to an octave above */
    CALLS_OCTAVES = 34, /* the last one takes all that is longer: hours */
    CALLS_BUCKETS = CALLS_EXACT + CALLS_OCTAVES * CALLS_STEPS
};

struct calls_event {
    uint64_t ticks;    /* when it began */
    uintptr_t address; /* of the block; 0: the call failed */
    uintptr_t caller;
    uint64_t bytes; /* asked for, or given back; the kind in the uppermost byte */
};

struct calls {
    uint64_t written; /* events; the next one goes to written % size */
    uint64_t size;    /* of the ring */
    struct calls_event *ring;
    uint64_t counts[CALLS_KINDS][CALLS_BUCKETS];
};

/* Told once, before there are threads: whether calls are timed, and how many events of a thread are kept. */
void calls_configure(bool timed, size_t events);

/* True when calls are noted down. */
bool calls_wanted(void);

/* A new record; NULL: no memory. */
struct calls *calls_new(void);

/* A call that began at `began`, by os_ticks, has come to its end. */
void calls_note(struct calls *calls, enum calls_kind kind, uint64_t began, const void *block, size_t bytes,
                const void *caller);

/* At the end of the process: so that a tick's length is known of a short one, too. */
void calls_finish(void);

#endif
