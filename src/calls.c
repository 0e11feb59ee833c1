#include "calls.h"

#include "base.h"
#include "boxes.h"
#include "metadata.h"
#include "os.h"

enum {
    TRIES = 64,         /* at reading the counter, of which the shortest counts */
    CLOCK_EVERY = 1024, /* calls of a thread; before that at powers of two */
    KIND_SHIFT = 56
};

static struct {
    bool timed; /* this and the next two are written once, before there are threads */
    size_t events;
    uint64_t overhead; /* ticks from one reading to the next */
    uint64_t first_ticks, first_ns;
    uint64_t last_ticks, last_ns; /* relaxed: the one or the other thread's */
} calls_state;

static void calls_read_clock(void) {
    __atomic_store_n(&calls_state.last_ticks, os_ticks(), __ATOMIC_RELAXED);
    __atomic_store_n(&calls_state.last_ns, os_now_ns(), __ATOMIC_RELAXED);
}

void calls_configure(bool timed, size_t events) {
    calls_state.timed = timed;
    calls_state.events = events;
    if (!calls_wanted())
        return;
    calls_state.overhead = UINT64_MAX;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t first = os_ticks(), took = os_ticks() - first;
        calls_state.overhead = took < calls_state.overhead ? took : calls_state.overhead;
    }
    calls_read_clock();
    calls_state.first_ticks = calls_state.last_ticks;
    calls_state.first_ns = calls_state.last_ns;
}

bool calls_wanted(void) {
    return calls_state.timed || calls_state.events > 0;
}

struct calls *calls_new(void) {
    struct calls *calls = metadata_new(sizeof *calls);
    if (!calls || calls_state.events == 0)
        return calls;
    calls->ring = metadata_new(calls_state.events * sizeof *calls->ring);
    calls->size = calls->ring ? calls_state.events : 0;
    return calls;
}

static unsigned calls_bucket(uint64_t ticks) {
    if (ticks < CALLS_EXACT)
        return (unsigned)ticks;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ticks) - 6; /* 0: from 64 to 127 */
    if (octave >= CALLS_OCTAVES)
        return CALLS_BUCKETS - 1;
    return CALLS_EXACT + octave * CALLS_STEPS + (unsigned)(ticks >> (octave + 1) & (CALLS_STEPS - 1));
}

/* So that a reader knows a tick's length of a process that has made a few calls and sleeps, too. */
static bool calls_is_clock_due(uint64_t written) {
    return written % CLOCK_EVERY == 0 || (written & (written - 1)) == 0;
}

void calls_note(struct calls *calls, enum calls_kind kind, uint64_t began, const void *block, size_t bytes,
                const void *caller) {
    uint64_t took = os_ticks() - began;
    unsigned bucket = calls_bucket(took > calls_state.overhead ? took - calls_state.overhead : 0);
    ASSERT(P1, bucket < CALLS_BUCKETS);
    if (calls_state.timed)
        calls->counts[kind][bucket]++;
    if (calls->size > 0) {
        calls->ring[calls->written % calls->size] = (struct calls_event){
            began, (uintptr_t)block, (uintptr_t)caller, bytes | (uint64_t)kind << KIND_SHIFT};
        /* Release: the event comes first; pairs with a reader outside. */
        __atomic_store_n(&calls->written, calls->written + 1, __ATOMIC_RELEASE);
    } else {
        calls->written++;
    }
    if (UNLIKELY(calls_is_clock_due(calls->written)))
        calls_read_clock();
}

void calls_finish(void) {
    if (calls_wanted())
        calls_read_clock();
}
