/* heap: what one thread has at hand.
 *
 * Owns, for every size class, a magazine: an array of pointers to free blocks, 256 bytes long and aligned, so that the top pointer's
 * own low bits say where it stands. A pop that reads NULL found it empty; a push whose low byte wraps, full. No block is touched.
 *
 *     array   | NULL | p | p | p |   |   | ...      one word each, 32 words; of a deep one 128
 *                              ^ top                a full one ends at byte 248
 *
 * Small blocks that long runs of frees go through get a deep one: a push finds a low byte that wraps four times, and three times goes on.
 * Behind the array stands the spare: half a magazine moves between the two before anything is refilled or flushed, a quarter where it goes
 * back and forth, so that who swings around an edge pays nothing. Long runs of frees put magazines by whole, as packs, and mark the blocks
 * of one slab then: a magazine whose sentinel is its last word looks empty and full at once. Then come the heap's slabs, filed by fill. Refill
 * takes from the fullest: sparse ones go home, or their pages. A class begins when some blocks of it come at once; before, the next power of two's serves.
 *
 * P1  a magazine's sentinel is NULL, and all words from it to the top are blocks of its class
 * P2  a slab is in the bin of its fill, exactly if it has free bits and is not lent
 * P3  only the heap's thread works on its magazines, and on its slabs only inside `visit`; for an idle heap whoever
 *     holds the heaps' lock stands in for the thread, and for a thread that sleeps a visitor does (heap_reach)
 * P4  a heap that nobody uses has no block in a magazine, a spare or a pack, nor marked; but one that is `inherited` may
 * P5  heaps are never unmapped: a slab's owner can always be reached
 * P6  a call works on magazines and outbox only by a heap that it loaded from heap_current itself (heap_load, heap_mine);
 *     only a visitor inside `visit` lets a thread's word stand for none until it goes, and a fork until the first call
 * P7  a guest, a block of another heap's slab, is in an array only, never in a spare, a pack or the marks
 * What one call does at most is said in heap_gather.c.
 */
#ifndef HAKMEM_HEAP_H
#define HAKMEM_HEAP_H

#include "large.h"
#include "marks.h"
#include "pack.h"
#include "poisson.h"
#include "reach.h"
#include "remote.h"
#include "visit.h"

/* What is counted is counted for more classes than there are: the length of heap_none, with its like, says where in a page .got begins. The test of
 * first pages holds that (docs/experiments/stack-and-got.md). */
enum { HEAP_BINS = 4, HEAP_COUNTED_CLASSES = has(counters) ? SIZECLASS_COUNT + 24 : 1 };

/* Off the hit path: what stands behind a magazine. */
struct heap_class {
    void **array;                /* NULL until the class is first used */
    struct pack *spare;          /* NULL until the magazine was full */
    struct slab *carving;        /* the slab whose fresh blocks are handed out */
    struct slab *empty;          /* one slab without a block in use is kept */
    struct slab *bin[HEAP_BINS]; /* slabs with free bits, the fullest in bin 0 */
    uint8_t spare_count;         /* blocks in the spare, from the first on */
    uint8_t fulls;               /* times in a row that the magazine was full, without a refill between */
    uint8_t largest;             /* blocks in a full magazine */
    uint8_t words;               /* of the array */
    uint8_t units;               /* of the next slab; 0: it is the first */
    bool filled;                 /* what moved last between the two came from the spare */
    uint8_t refill;   /* blocks that the next refill brings: doubles, and halves when one is full */
    uint8_t sentinel; /* where the array's NULL stands: higher while the class drains, so that less is held */
    uint8_t lodged;   /* blocks that another class has served while there is no array, ... */
    uint8_t lodged_in; /* ... and when: see heap_serving */
    uint16_t put_by;   /* the same of magazines that were put by: fewer than a heap has packs */
    uint32_t out;      /* blocks of the class's slabs that are in nobody's bits: in use or in a magazine */
};

/* The slabs of which three quarters are free, and what of their pages goes home while the heap grows. Units. */
struct hollowing {
    size_t units;      /* of those that were not passed yet: they may have pages to give */
    struct slab *last; /* the one that was looked at last, and its class */
    uint8_t class;
    uint32_t sent,
        vain; /* whose pages went home, and of them those that were needed again soon; half of the older ones */
    uint32_t most, left; /* that may go in one round, and what is left of it */
    size_t wait;         /* bytes of growth until the next round */
};

/* Which classes are at rest while the heap grows. */
struct stillness {
    uint64_t begun[SIZECLASS_SET_WORDS]; /* classes that have a magazine, ... */
    /* ... and those of them that hold something, and looked alike when the last two rounds ended. */
    uint64_t rested[SIZECLASS_SET_WORDS];
    uint16_t seen[SIZECLASS_COUNT];
    size_t grown, look_at; /* bytes since the last look, and with how many the next one comes */
    bool more;             /* of those that rested are left: they go before any is looked at again */
};

struct heap {
    unsigned char *top[SIZECLASS_COUNT];
    uint32_t tag;         /* number << 8: differs from the tags of its slabs by the class only */
    bool idle, inherited; /* the second: a forked process has left it as it was in the parent */
    bool hosted;          /* there may be guests in its arrays */
    struct outbox
        *posting; /* the outbox, for what posts and asks no more; NULL: there is none, or the heap hosts */
    struct marks marks; /* what a long run of frees gives back; with the tag in one line */
    uint64_t mallocs[HEAP_COUNTED_CLASSES], frees[HEAP_COUNTED_CLASSES]; /* box counters: exact */
    struct outbox *outbox; /* NULL until the thread first frees a block of another */
    uint64_t remote_frees, refills, flushes;
    uint64_t kept; /* guests, ever */
    uint64_t
        passed_before; /* blocks of others that were freed until the heap last looked whether guests would do ... */
    uint32_t carved;  /* ... and blocks that were carved since */
    uint8_t suited;   /* looks in a row that said so */
    uint8_t fulls;    /* magazines that were full in a row, of any class, without a refill between */
    uint8_t refilled; /* the class of the last refill, unless others had freed what it brought */
    uint8_t swept;    /* the class whose magazine was emptied last on behalf of another */
    uint64_t flushed, flushed_before; /* bytes given back to slabs, and what purge has seen of it */
    size_t touched;                   /* bytes that are not in heap_touched_bytes yet */
    struct visit visit;               /* taken by whoever works on the slabs: the thread, or a visitor */
    /* The thread's: classes whose magazine was full since little was found in it. Inside `visit`: those that have a slab of which three
     * quarters are free. */
    uint64_t full[SIZECLASS_SET_WORDS], hollow[SIZECLASS_SET_WORDS];
    struct hollowing hollowing; /* inside `visit` */
    struct stillness still;     /* the thread's */
    struct slab *tidied;        /* the last one of its own that a visitor looked at, and where it stood */
    uint8_t tidied_class, tidied_bin;
    uint8_t
        emptied; /* the class that was asked last for what is at hand, on behalf of one that grows or of a large block */
    bool tidied_unsettled;      /* something on its way through the bins was not at rest */
    struct slab *tidied_partly; /* up to this block, when it was like this */
    uint16_t tidied_from, tidied_changes, tidied_free;
    size_t most_out; /* bytes, see heap_fallen_bytes */
    uint64_t crept;  /* bytes that were copied as blocks grew by small steps, but for what others take off */
    uint64_t work;   /* refills from slabs and flushes to them */
    uint64_t tidy_since; /* work when a visitor found nothing left to do */
    struct packs packs;
    struct heap_waves *waves; /* NULL: nothing is noted of them yet */
    uint8_t marking;          /* the class whose blocks are marked; SIZECLASS_COUNT: none */
    uint8_t
        mixed; /* runs that blocks of other classes were too many for, since a whole slab was marked ... */
    uint16_t resting;      /* ... and bursts that are left until another run is tried */
    int32_t credit;        /* what is left of the run for blocks of other slabs; negative: it went astray */
    uint32_t seen;         /* marks.left when a burst of another class was flushed last */
    uint32_t others;       /* blocks of other classes that were flushed since the slab was marked */
    uint32_t strayed_left; /* the same when a block came that is of another slab: ... */
    struct slab *strayed;  /* ... this one */
    bool shallow;          /* there was no memory for a deep magazine or for marks, nor for a slab since */
    uint8_t unpacking;     /* the class whose packs are given up first */
    struct heap *next_idle, *next;
    struct heap_class class[SIZECLASS_COUNT];
    struct slab_hand *slabs; /* runs for slabs, at hand; NULL: there never were any */
    struct inbox inbox;
    _Alignas(CACHE_LINE) struct large_hand
        hand;                     /* large blocks that the thread has at hand, and its seat at their lock; */
    uint64_t larges, large_frees; /* ... with these on one line of the cache */
    struct reach_thread
        thread;             /* whose heap it is, while it can be reached; this and the next inside `visit` */
    struct heap **current;  /* its heap_current; NULL: nobody's, or out of reach */
    uint64_t glance;        /* a visitor's: what stood in the magazines at the last look */
    bool out_of_reach;      /* with that the thread was found where it must not be disturbed */
    struct calls *calls;    /* what is noted down of its calls; NULL: nothing, or nothing yet */
    struct poisson sampled; /* when its next allocation is noted down, where that is done */
};

/* Stands for "no heap yet": every class looks empty and full at once. Never written. */
extern struct heap heap_none;

#define HEAP_NO_TAG 0xffffff00u /* of heap_none: no unit has it, with whatever class mixed in */

/* The calling thread's heap, never NULL, and its tag. heap is heap_none also while a visitor empties its magazines; the tag, which
 * only the thread itself writes, stays. It stands here, too, because a free compares it before the heap is at hand:
 * docs/experiments/tag-beside-the-heap.md. In one cache line, wherever the program's own words end. */
extern THREAD_LOCAL struct ALIGNED(16) heap_current {
    struct heap *heap;
    uint32_t tag;
} heap_current;

/* Instead of heap_current.heap, of a thread that is watched: see heap_watch. NULL: it is not. */
extern THREAD_LOCAL struct heap *heap_watched;

/* Relaxed: once a call, so that it works with the one or the other; pairs with reach_sleeper. */
static ALWAYS_INLINE struct heap *heap_load(void) {
    return __atomic_load_n(&heap_current.heap, __ATOMIC_RELAXED);
}

/* The same for slow paths that work on slabs and counts only: no visitor writes it; NULL: none. */
extern THREAD_LOCAL struct heap *heap_own;

struct heap *heap_await_visitor(void);

/* The calling thread's heap, waited for when a visitor is at it; heap_none. */
static inline struct heap *heap_mine(void) {
    struct heap *heap = heap_load();
    return UNLIKELY(heap == &heap_none && heap_own) ? heap_await_visitor() : heap;
}

/* The calling thread has this heap from now on; from the second call on others can reach it; it has none any more. The
 * second only where the last is sure to come before the thread's stack goes. */
void heap_move_in(struct heap *heap);
void heap_make_reachable(struct heap *heap);
struct heap *heap_move_out(void);

/* From now on all threads are watched: heap_current stays what it is without a heap, so that every call takes its miss branch, where
 * alloc sees to what is to be seen, and a hit pays nothing for those who watch nothing. Told once, before there are threads. */
void heap_watch(void);

/* The heap of a watched thread, or heap_none as heap_load; NULL: it is not watched. */
static ALWAYS_INLINE struct heap *heap_load_watched(void) {
    return __atomic_load_n(&heap_watched, __ATOMIC_RELAXED);
}

/* True when the calling thread is watched, and not between the two that follow, where its calls are as any other's. */
static inline bool heap_is_watched(void) {
    return UNLIKELY(heap_watched != NULL) && heap_load() == &heap_none;
}
void heap_watch_begin(void);
void heap_watch_end(void);

/* True between the two. */
static inline bool heap_is_in_watch(void) {
    return UNLIKELY(heap_watched != NULL) && heap_load() != &heap_none;
}

/* After fork: only the calling thread is left. Its next call leaves its heap to those that are idle and begins with
 * another, so that little of what parent and child share is written to, and copied. */
void heap_in_child(void);

/* A heap for a thread: an idle one, or new; the second: new, unless forks have left many. NULL: no memory. */
struct heap *heap_take(void);
struct heap *heap_take_fresh(void);

/* The thread leaves it as it is, magazines and all, to whoever needs more memory later. */
void heap_set_aside(struct heap *heap);

/* The thread needs it no longer: its blocks go back to their slabs, empty slabs go home, but for a few. */
void heap_retire(struct heap *heap);

/* True until the class has a magazine: heap_serving then says who serves it. Where frees are verified there are none. */
static ALWAYS_INLINE bool heap_has_not_begun(const struct heap *heap, unsigned class) {
    return !has(verify_free) && heap->class[class].array == NULL;
}

/* The thread's heap: before new memory comes for a large block of `bytes`, some of what it has put by of small ones goes back to its slabs, if that
 * is as much, and a MiB, and less than that is free and in memory. docs/experiments/phases-of-other-lengths.md */
void heap_yield(struct heap *heap, size_t bytes);

/* So many bytes of memory that nobody had touched have come for one: what classes have at hand of which little is in use, or that are at rest, goes
 * back to slabs, and empty ones serve the next. docs/experiments/outgrown-classes.md, classes-at-rest.md */
void heap_yield_next(struct heap *heap, size_t bytes);

/* The class that serves the next request of one that has not begun: its first few lodge with one of larger blocks, and those that come
 * seldom. */
unsigned heap_serving(struct heap *heap, unsigned class);

/* From here on it serves itself: its next request is for more alignment than those of larger blocks have. */
void heap_lodge_none(struct heap *heap, unsigned class);

/* The class for the copy of a block of `usable` bytes that has grown to `size`, at most SIZECLASS_LARGEST: that of `size`, or a longer one of less
 * than twice as much. The thread's own heap. */
unsigned heap_growing(struct heap *heap, size_t usable, size_t size);

/* A block of `class` when its magazine is empty. NULL: no memory. */
void *heap_refill(struct heap *heap, unsigned class);

/* Takes a block of the heap's own slabs; makes room in the magazine for it if that is full. */
void heap_push(struct heap *heap, unsigned class, void *block);

/* The same when the top's low byte wraps, which in a deep magazine it does at the end of each 256 bytes. False: it is full,
 * or there is none; heap_push comes next. */
static ALWAYS_INLINE bool heap_push_on(struct heap *heap, unsigned class, void *block) {
    void **top = (void **)heap->top[class] + 1;
    const struct heap_class *mine = &heap->class[class];
    if (UNLIKELY(top >= mine->array + mine->words)) /* or NULL: the class has no array */
        return false;
    *top = block;
    heap->top[class] = (unsigned char *)top;
    return true;
}

/* All blocks of the slab that is marked are back. */
void heap_marked_all(struct heap *heap);

/* Sends what the thread has freed of other heaps' blocks. */
void heap_send(struct heap *heap);

/* Frees a block of another heap's slab of `class`; the heap has an outbox. True: that is full, heap_send comes next. */
static ALWAYS_INLINE bool heap_post_in(struct outbox *outbox, unsigned class, void *block) {
    return UNLIKELY(remote_post(outbox, block, class));
}

static inline bool heap_post(struct heap *heap, unsigned class, void *block) {
    return heap_post_in(heap->outbox, class, block);
}

/* True when it keeps guests. Its thread only, or who stands in for it. */
static inline bool heap_hosts(const struct heap *heap) {
    return heap->outbox && !heap->posting;
}

/* A heap that hosts keeps the block as a guest instead, which the next malloc of the class gets, while less than half of the 256 bytes
 * that the top is in are full. False: it has to be posted. docs/experiments/guests.md */
static inline bool heap_keep_guest(struct heap *heap, unsigned class, void *block) {
    enum { HALF = 128 };
    unsigned char *top = heap->top[class];
    if ((uintptr_t)top % (2 * HALF) >= HALF) /* also where the class has no array */
        return false;
    top += sizeof(void *);
    *(void **)top = block;
    heap->top[class] = top;
    heap->kept++;
    return true;
}

/* The same for a thread that has no outbox yet, or no heap: at once. */
void heap_post_first(struct heap *heap, void *block);

/* Puts a block straight into its slab, without a magazine. */
enum slab_verdict heap_put_verified(struct heap *heap, struct slab *slab, const void *block);

/* Empties all magazines into their slabs and collects what others freed. */
void heap_drain(struct heap *heap);

/* Does that for idle heaps, too, so that what they hold can go home. */
void heap_drain_idle(void);

/* The bounded part of both: magazines only. Of idle heaps those have any that a fork has left behind. */
void heap_empty(struct heap *heap);
void heap_empty_idle(void);

/* Works on the slabs of any heap, as a visitor: collects what others freed, lets empty slabs go, and gives the pages
 * of free blocks home that have been at rest since the last call (or, `now`, all of them). At most a bounded piece in one call. Adds the bytes that went home to *purged. Returns whether there is more to do, or may be when asked again later.
 * One thread at a time. */
enum heap_tidied { HEAP_TIDY, HEAP_UNSETTLED, HEAP_MORE };
COLD enum heap_tidied heap_tidy(struct heap *heap, bool now, size_t *purged);

/* The first of these alone, of another thread's heap: what was freed there serves others, and nothing goes home. True: there may be more.
 * One thread at a time, as above. */
COLD bool heap_collect_for(struct heap *heap);

/* Bytes of the pages that blocks were ever carved from, to within HEAP_TOUCHED_STEP for each heap: no more of slabs is in
 * memory. A hint. */
#define HEAP_TOUCHED_STEP (64 * KIB)
size_t heap_touched_bytes(void);

/* Bytes that the heap's slabs have fewer out than at the most of the times that this was asked; what stands in magazines counts as out. Of
 * the calling thread. */
size_t heap_fallen_bytes(struct heap *heap);

/* How many heaps threads have now: a hint. */
unsigned heap_in_use(void);

/* True when threads can be reached, and there are several: a program that knows of one thread only is left alone. */
bool heap_can_reach(void);

/* Empties magazines and outbox of a heap whose thread sleeps, if nothing in them has changed since the last call (or,
 * `now`, in any case). Under the lock of visitors; only while heap_can_reach. */
enum heap_reached { HEAP_HOLDS_NOTHING, HEAP_HOLDS, HEAP_REACHED };
enum heap_reached heap_reach(struct heap *heap, bool now);

/* True when heap_reach found the thread where it must not be disturbed, and nothing at hand has changed since: to ask the
 * kernel again costs some eighty calls, mostly in vain. */
bool heap_is_out_of_reach(const struct heap *heap);

/* Every heap there ever was, newest first; NULL: the first one. */
struct heap *heap_after(const struct heap *heap);

/* Blocks that a first refill brings; bytes of empty slabs that an idle heap may keep; bytes of blocks that all heaps
 * together may put by in packs; whether the pages of a slab may come all at once. Told by lifecycle once. */
void heap_configure(unsigned prewarm, size_t warm, size_t packs, bool populate);

/* Calls visit for every heap there ever was. The heaps go on working meanwhile: sums are snapshots. */
void heap_each(void (*visit)(const struct heap *heap, void *data), void *data);

/* True when nothing has happened to the heap's slabs since heap_tidy had nothing left to do. Under the lock of visitors. */
bool heap_is_tidy(const struct heap *heap);

/* Something happens to the heap's slabs. Inside `visit`; read outside of it by heap_is_tidy: relaxed. */
static inline void heap_count_work(struct heap *heap) {
    __atomic_store_n(&heap->work, heap->work + 1, __ATOMIC_RELAXED);
}

/* Holds and releases the room's lock around fork. */
void heap_lock(bool take);

#endif
