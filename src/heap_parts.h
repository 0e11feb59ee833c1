/* heap_parts: what the parts of the room share.
 *
 *     heap          magazines: filled and emptied, deep or not, what is put by of them
 *     heap_gather   where a refill comes from: the fullest slab, what others have freed, idle heaps, fresh blocks
 *     heap_slabs    slabs: filed by how full they are, collected, lent, let go
 *     heap_packs    magazines that are put by, taken up again, or given back to the slabs
 *     heap_marks    long runs of frees: which slab's blocks are marked, and for how long
 *     heap_rest     classes that nobody asks while the heap grows
 *     heap_waves    classes of which all that is freed comes back
 *     heap_tidy     a visitor's half: what can be given home of a heap
 *     heap_reach    threads that sleep, and what they hold
 *     heap_guests   blocks of others that are kept
 *     heap_lodgers  classes whose blocks another serves
 *     heap_life     heaps come and go
 *
 * What the room promises to others is in heap.h; to each other its parts promise:
 *
 * P1  what works on slabs is called inside `visit` only
 * P2  the list of all heaps only grows; that of idle ones, and the counts, change under the lock
 *
 * Called by the room heap alone.
 */
#ifndef HAKMEM_HEAP_PARTS_H
#define HAKMEM_HEAP_PARTS_H

#include "heap.h"
#include "lock.h"

struct heaps {
    struct lock lock;
    struct heap *all, *idle;
    uint32_t count, idle_count, prewarm;
    uint32_t inherited;  /* idle ones that forked processes have left */
    uint32_t lost;       /* those of threads that forks have left behind; written while there is one thread */
    uint32_t threads;    /* that can be reached; relaxed: a hint */
    uint32_t warm_units; /* of empty slabs, that an idle heap may keep */
    size_t touched;      /* relaxed: a hint */
    size_t
        hollow_from; /* bytes of slabs of which three quarters are free: from here on pages go as heaps grow */
    bool populate, watch;
};

extern struct heaps heaps;

/* ---- magazines ---- */

/* Words of an array, the sentinel's among them; and of a deep one. */
enum { HEAP_ARRAY_WORDS = PACK_WORDS, HEAP_DEEP_WORDS = PACK_DEEP_WORDS };

static inline bool heap_is_deep(const struct heap_class *mine) {
    return mine->largest == HEAP_DEEP_WORDS - 1;
}

/* Blocks in a magazine: there is one. */
unsigned heap_held(const struct heap *heap, unsigned class);

/* Blocks of one of its classes that are out: a visitor counts, too. Outside of `visit`. */
uint32_t heap_out(struct heap *heap, const struct heap_class *mine);

/* Where the sentinel of a magazine stands that may be filled; and of one that is full as soon as it is empty. */
unsigned heap_sentinel(const struct heap_class *mine);
unsigned heap_sentinel_full(const struct heap_class *mine);

/* The magazine is empty, and its sentinel stands there. */
void heap_rewind(struct heap *heap, unsigned class, unsigned sentinel);

/* The magazine is empty, and the program frees: it gets shorter towards the end, when few of the class's blocks, `out`, are left, so
 * that what it holds at last pins few pages. */
void heap_shorten(struct heap *heap, unsigned class, unsigned out);

/* As many magazines were full as this has pointers for, without a refill between. */
void heap_count_full(struct heap *heap, unsigned pointers);

/* The oldest `count` blocks have left a full magazine: the others move up. */
void heap_move_up(struct heap *heap, unsigned class, unsigned count);

/* ---- what is put by: by the heap's thread, outside of `visit` ---- */

/* A full spare is put by whole, and an empty pack takes its place. False: no more may be put by, as below. */
bool heap_put_spare_by(struct heap *heap, unsigned class);

/* The program frees on and on: all but the newest few blocks of a full magazine are put by. */
bool heap_put_by(struct heap *heap, unsigned class);

/* An empty magazine gets what was put by last, as much as it has room for. Returns how many blocks: they stand above the top. */
unsigned heap_take_up(struct heap *heap, unsigned class);

/* ---- long runs of frees ---- */

/* A burst of frees has filled and emptied a magazine of so many blocks, of a class that is not marked. Whether another one is, and has
 * gone on since this was asked last. It is not marked any more if too much of other classes came since its slab was: free tells by a
 * branch whether the block's class is marked, and where classes come by turns the processor cannot foresee it.
 * docs/experiments/marks.md */
bool heap_marks_another(struct heap *heap, unsigned blocks);

/* The run that has just filled and emptied a magazine goes on in the slab of `last`: its blocks are marked, if it is worth it. */
void heap_start_marking(struct heap *heap, unsigned class, const void *last);

/* A block of the class that is marked. False: none is any more, the magazine is empty. */
bool heap_mark(struct heap *heap, unsigned class, void *block);

/* What is marked goes to the slab. Inside `visit`. */
void heap_stop_marking(struct heap *heap);

/* ---- guests ---- */

/* Whenever the heap grows: whether it is to host from now on. Inside `visit`, as the next. */
void heap_look_for_guests(struct heap *heap);

/* Whenever one that hosts is refilled from its slabs: whether it is still to. */
void heap_look_as_host(struct heap *heap);

/* The heap has no guest any more, and begins anew. */
void heap_end_hosting(struct heap *heap);

/* Guests leave the magazine for the outbox. True: there were some, so that there is room now. */
bool heap_let_guests_go(struct heap *heap, unsigned class);

/* ---- where a refill comes from ---- */

/* Up to `count` blocks of the class, stored downwards from `end`, see slab_pop. 0: no memory. */
unsigned heap_gather(struct heap *heap, unsigned class, void **end, unsigned count);

/* ---- slabs and packs: only inside `visit` ---- */

enum { HEAP_NO_BIN = 0xff, HEAP_LENT = 0xfe };

void heap_file_anew(struct heap_class *class, struct slab *slab);
void heap_unlink(struct heap_class *class, struct slab *slab);

/* Puts the slab in the bin of its fill. */
static ALWAYS_INLINE void heap_file(struct heap_class *class, struct slab *slab) {
    if (UNLIKELY(slab->free < slab->bin_least || slab->free > slab->bin_most))
        heap_file_anew(class, slab);
}

/* Nobody is given a block of the slab from here on, and no visitor goes on with it. */
void heap_detach(struct heap_class *class, struct slab *slab);

/* Nothing of the slab is in use, nothing is on its way to it, and it is not marked (where a block that was freed twice may make it look
 * empty). */
static inline bool heap_may_go(const struct heap *heap, const struct slab *slab) {
    return slab_is_empty(slab) && !remote_is_on_its_way(slab) && slab != heap->marks.slab;
}

/* Deletes a slab that may go. */
void heap_let_go(struct heap_class *class, struct slab *slab);

/* A visitor takes a slab with free blocks, until remote_return. Nobody is given a block of it meanwhile; blocks may come back, and
 * one that is freed a second time is noticed. */
void heap_lend(struct heap_class *class, struct slab *slab);

void heap_settle_anew(struct heap_class *class, struct slab *slab);

/* In purged_free of a slab of which three quarters are free: its pages went home as the heap grew; it has been passed, and does not count in
 * hollowing.units. */
enum { HEAP_SENT = 1 << 13, HEAP_PASSED = 1 << 14 };

/* So many free blocks of the slab have been looked at, and their whole pages are home, or stay. */
static inline void heap_note_home(struct slab *slab, unsigned free) {
    slab->purged_changes = slab->changes;
    slab->purged_free = (uint16_t)(free | (slab->purged_free & (HEAP_SENT | HEAP_PASSED)));
}

static inline bool heap_is_home(const struct slab *slab) {
    return slab->purged_changes == slab->changes && slab->free <= slab->purged_free % HEAP_SENT;
}

/* So many bytes of memory that nobody has touched were taken: of slabs of which three quarters are free, and that rest while the heap grows, the
 * free pages go home, those of a few slabs. By the heap's thread. docs/experiments/hollow-slabs.md */
COLD void heap_hollow_out(struct heap *heap, size_t grown);

/* Classes that are as they were when the heap had grown less give back what they have at hand, a few of them, the others the next time. By the heap's
 * thread. docs/experiments/classes-at-rest.md */
COLD void heap_empty_rested(struct heap *heap);

/* So many bytes of memory that nobody has touched come, or have come. */
static inline void heap_rest(struct heap *heap, size_t grown) {
    heap->still.grown += grown;
    if (UNLIKELY(heap->still.grown >= heap->still.look_at))
        heap_empty_rested(heap);
}

/* Where there are so few units of them they are not worth a look. */
enum { HEAP_HOLLOW_LEAST = 16 };

static inline bool heap_may_be_hollow(const struct heap *heap) {
    return UNLIKELY(heap->hollowing.units >= HEAP_HOLLOW_LEAST);
}

/* After blocks came back to a slab: files it, and lets it go if nothing of it is in use. One empty slab a
 * class stays, so that a program that swings around an edge does not map and purge. */
static ALWAYS_INLINE void heap_settle(struct heap_class *class, struct slab *slab) {
    if (UNLIKELY(slab->free > slab->bin_most)) /* it has not got fewer */
        heap_settle_anew(class, slab);
}

/* Puts blocks back into their slabs. A visitor may, too: what only the heap's thread counts is not counted here. */
void heap_put_back(struct heap *heap, unsigned class, void *const *blocks, unsigned count);

/* The heap notes waves from now on, if there is memory for it: no more of a class with a deep magazine could be put by.
 * docs/experiments/waves-of-a-class.md */
void heap_note_waves(struct heap *heap);

/* Of a heap that notes waves: blocks of the class have left its slabs. */
void heap_note_out(struct heap *heap, unsigned class);

/* Whenever a heap grows: so many packs are given up, as what is put by is the wrong thing, then. */
enum { HEAP_UNPACK = 16 };

/* The same of one that notes waves, by a slab of so many units: what was seen of them is over, for all classes. Where much was put by it goes
 * in larger parts, and what magazines have of those classes with it, or their slabs would serve no other class. */
COLD void heap_end_waves(struct heap *heap, unsigned units);

/* Its thread has ended: what was noted is of no use to the next one. Outside of `visit`, too. */
COLD void heap_forget_waves(struct heap *heap);

/* Of a heap that notes waves: whether as many blocks as the class ever had were freed and came back, when all others had most of theirs. */
bool heap_has_waves(const struct heap *heap, unsigned class);

/* Puts the blocks of at most `most` packs back into their slabs, class after class; the second, when a class has none left, those in its
 * magazine and spare, too. */
void heap_unpack(struct heap *heap, unsigned most);
void heap_unpack_wholly(struct heap *heap, unsigned most);

/* The same of one class only, before another heap gets slabs that their blocks lie in. False: there are more. */
bool heap_unpack_class(struct heap *heap, unsigned class, unsigned most);

/* The same for those that were not needed since the last call (or, `now`, all). Bounded: false when there are more. */
bool heap_unpack_rested(struct heap *heap, bool now);

/* More (or fewer) threads can be reached. */
void heap_count_threads(int more);

/* Puts the blocks of a class's magazine and spare back into their slabs, guests into the outbox; of all classes, and sends what waits
 * to be sent. */
void heap_drain_class(struct heap *heap, unsigned class);
void heap_drain_magazines(struct heap *heap);

/* What is at hand of a class goes to its slabs, of what is put by up to `packs` packs, and the empty slab that is kept goes. */
static inline void heap_empty_class(struct heap *heap, unsigned class, unsigned packs) {
    struct heap_class *mine = &heap->class[class];
    heap_unpack_class(heap, class, packs);
    heap_drain_class(heap, class);
    if (mine->empty && heap_may_go(heap, mine->empty))
        heap_let_go(mine, mine->empty);
}

/* Words of bits that one call collects, and those of one slab more. */
enum { HEAP_COLLECT_WORDS = 256 };

/* Collects a slab of `class` from the inbox. Returns how many words of bits that were: 0 when there is none. */
unsigned heap_collect_one(struct heap *heap, unsigned class);

/* Collects a bounded number of words of the class. */
void heap_collect_class(struct heap *heap, unsigned class);

/* Collects a bounded number of words of all classes. Returns whether there may be more. */
bool heap_collect(struct heap *heap);

#endif
