#include "heap_parts.h"

#include "metadata.h"

#include <string.h>

enum {
    DEEP_LARGEST = 512, /* bytes of a block, so that a deep magazine holds at most 64 KiB */
    DEEP_FROM = 1024,   /* blocks of the class that are out ... */
    DEEP_PUT = 4,       /* ... or magazines of it that were put by in a row, ... */
    DEEP_SMALL = 128,   /* ... of blocks of so many bytes: few more of longer ones would be held for long */
    BURST = 2,          /* times in a row that a magazine was full, after which a burst of frees is assumed */
    BULK = 16,          /* the same of any magazines, after which the program is taken to free all it has */
    HARDLY_USED = 2,    /* magazines of a slab that were ever carved, at most */
    SWEEP_EVERY = 4,    /* full magazines */
    SWEEPS_MOST = 4,    /* in one call */
    SWEEP = 2,          /* classes looked at for a magazine that is emptied on behalf of another */
    DRAINING = 2,       /* during a burst the magazine holds at most this part of the class's blocks */
    LEAST_HELD = 4,     /* blocks, and that many at least */
    LOOKED_AT = 16,     /* blocks in a row: a run, when the first two and the last are in one unit ... */
    RUN = 8             /* ... and that many at least */
};

/* The one word of a magazine that does not exist: empty for a pop, full for a push. */
static void *const heap_nothing[HEAP_ARRAY_WORDS] ALIGNED(256) = {NULL};
#define NOTHING ((unsigned char *)&heap_nothing[HEAP_ARRAY_WORDS - 1])
#define NOTHING_8 NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING

SECTION(".data.rel.ro.heap_none")
struct heap heap_none = {.top = {NOTHING_8, NOTHING_8, NOTHING_8, NOTHING_8, NOTHING_8, NOTHING_8, NOTHING_8,
                                 NOTHING_8, NOTHING_8, NOTHING_8},
                         .tag = HEAP_NO_TAG};

_Static_assert(SIZECLASS_COUNT == 80, "a word for each class");

THREAD_LOCAL struct heap_current heap_current = {&heap_none, HEAP_NO_TAG};

/* ---- what others own ---- */

void heap_send(struct heap *heap) {
    if (!heap->outbox || heap->outbox->count == 0)
        return;
    heap->remote_frees += heap->outbox->count;
    heap->flushed += heap->outbox->bytes;
    remote_send(heap->outbox);
}

COLD void heap_post_first(struct heap *heap, void *block) {
    if (!has(verify_free) && heap != &heap_none)
        heap->posting = heap->outbox = metadata_new(sizeof(struct outbox));
    struct slab *slab = pagemap_record(block);
    enum slab_verdict verdict =
        slab ? remote_free(slab, block) : SLAB_DOUBLE_FREE; /* its slab went home meanwhile */
    if (verdict != SLAB_OK)
        misuse_report(verdict == SLAB_INSIDE ? MISUSE_INSIDE : MISUSE_DOUBLE_FREE, block);
    if (heap == &heap_none)
        return;
    heap->remote_frees++;
    heap->flushed += slab ? sizeclass_table[slab->class].size : 0;
}

/* ---- magazines ---- */

unsigned heap_sentinel(const struct heap_class *mine) {
    return mine->words - 1 - mine->largest;
}

unsigned heap_sentinel_full(const struct heap_class *mine) {
    return mine->words - 1;
}

void heap_rewind(struct heap *heap, unsigned class, unsigned sentinel) {
    struct heap_class *mine = &heap->class[class];
    mine->sentinel = (uint8_t)sentinel;
    mine->array[sentinel] = NULL;
    heap->top[class] = (unsigned char *)&mine->array[sentinel];
}

/* An empty array. False: no memory, and nothing has changed. */
static bool heap_give_array(struct heap *heap, unsigned class, unsigned words, unsigned largest) {
    struct heap_class *mine = &heap->class[class];
    void **array = metadata_new(words * sizeof(void *));
    if (!array)
        return false;
    ASSERT(P1, ((uintptr_t)array & 255) == 0);
    mine->array = array;
    mine->words = (uint8_t)words;
    mine->largest = (uint8_t)largest;
    heap_rewind(heap, class, heap_sentinel(mine));
    return true;
}

static COLD bool heap_make_magazines(struct heap *heap, unsigned class) {
    bits_set(&heap->still.begun[class / 64], class);
    return heap_give_array(heap, class, HEAP_ARRAY_WORDS, sizeclass_table[class].magazine);
}

static bool heap_may_deepen(const struct heap *heap, unsigned class) {
    return !heap_is_deep(&heap->class[class]) && !heap->shallow &&
           sizeclass_table[class].size <= DEEP_LARGEST;
}

uint32_t heap_out(struct heap *heap, const struct heap_class *mine) {
    visit_enter(&heap->visit);
    uint32_t out = mine->out;
    visit_leave(&heap->visit);
    return out;
}

/* Whether long runs go through a magazine that is empty now: those that were put by come back, or one class is refilled `again` and again. */
static bool heap_is_run_through(struct heap *heap, unsigned class, bool again) {
    const struct heap_class *mine = &heap->class[class];
    return (mine->put_by >= DEEP_PUT && sizeclass_table[class].size <= DEEP_SMALL) ||
           (again && mine->refill == HEAP_ARRAY_WORDS - 1 && heap_out(heap, mine) >= DEEP_FROM);
}

/* The magazine is empty. What was its array will be a pack. docs/experiments/deep-magazines.md */
static COLD void heap_deepen(struct heap *heap, unsigned class) {
    struct pack *pack = (struct pack *)heap->class[class].array;
    heap->shallow = !heap_give_array(heap, class, HEAP_DEEP_WORDS, HEAP_DEEP_WORDS - 1);
    if (heap->shallow)
        return;
    visit_enter(&heap->visit);
    pack_drop(&heap->packs, pack, false);
    visit_leave(&heap->visit);
}

/* Half a magazine: whichever way the program goes on, that many calls pass before it is empty or full. */
static unsigned heap_half(unsigned class) {
    return sizeclass_table[class].magazine / 2u;
}

/* How many blocks move between the array and the spare: half a magazine, or a quarter when the last ones moved the other way.
 * How many blocks of a class a program has wanders about a mean: half a magazine at the one edge, far from it, would bring it
 * to the other edge as soon as it is back. docs/experiments/half-magazines.md */
static unsigned heap_moves(struct heap_class *mine, unsigned class, bool fills) {
    unsigned half = heap_half(class), some = mine->filled == fills ? half : (half + 1) / 2;
    mine->filled = fills;
    return some;
}

/* How many blocks to ask the slabs for. More than 31 only while one class is refilled again and again: deep magazines of many
 * classes at once do not fit into the first-level cache. */
static unsigned heap_wanted(const struct heap_class *mine, bool again) {
    unsigned most = again || !heap_is_deep(mine) ? mine->largest : HEAP_ARRAY_WORDS - 1;
    unsigned want = mine->refill ? mine->refill : heaps.prewarm ? heaps.prewarm : 1;
    return want < most ? want : most;
}

void *heap_refill(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    heap->refills++;
    if (UNLIKELY(heap->marking == class)) {
        visit_enter(&heap->visit);
        heap_stop_marking(heap);
        visit_leave(&heap->visit);
    }
    if (has(verify_free) || UNLIKELY(!mine->array && !heap_make_magazines(heap, class))) {
        void *block;
        return heap_gather(heap, class, &block + 1, 1) ? block : NULL;
    }
    ASSERT(P1, mine->array[mine->sentinel] == NULL &&
                   heap->top[class] == (unsigned char *)&mine->array[mine->sentinel]);
    bool again = heap->refilled == class;
    if (heap_is_run_through(heap, class, again) && heap_may_deepen(heap, class))
        heap_deepen(heap, class);
    heap_rewind(heap, class, heap_sentinel(mine));
    unsigned have = 0;
    heap->refilled = (uint8_t) class;
    mine->put_by = mine->fulls = heap->fulls = 0;
    if (mine->spare_count == 0 && pack_waits(&heap->packs, class))
        have = heap_take_up(heap, class);
    void **first = (void **)heap->top[class] + 1;
    if (mine->spare_count) {
        unsigned some = heap_moves(mine, class, true);
        have = mine->spare_count < some ? mine->spare_count : some;
        mine->spare_count = (uint8_t)(mine->spare_count - have);
        memcpy(first, &mine->spare->blocks[mine->spare_count], have * sizeof(void *));
    }
    if (have == 0) { /* nothing was put by, or a visitor was faster */
        unsigned want = heap_wanted(mine, again);
        have = heap_gather(heap, class, first + want, want);
        if (UNLIKELY(have < want)) /* the last ones lie against the end */
            memmove(first, first + want - have, have * sizeof(void *));
        mine->refill = (uint8_t)(2 * want < mine->largest ? 2 * want : mine->largest);
    }
    if (have == 0)
        return NULL;
    heap->top[class] = (unsigned char *)(first + have - 2);
    return first[have - 1];
}

/* A block that may not be freed, and what there is of its slab. */
static COLD void heap_refuse(const struct slab *slab, const void *block) {
    bool inside = slab && slab_why_not(slab, block) == SLAB_INSIDE;
    misuse_report(inside ? MISUSE_INSIDE : MISUSE_DOUBLE_FREE, block);
}

/* Puts back the first of blocks[], and those after it as far as they lie in its slab. Returns how many were dealt with: at
 * least one. */
static NOINLINE unsigned heap_put_run(struct heap_class *mine, uint32_t tag, void *const *blocks,
                                      unsigned count) {
    struct slab *slab = pagemap_record_tagged(*blocks, tag);
    unsigned pushed = slab ? slab_push_run(slab, blocks, count) : 0;
    if (LIKELY(pushed > 0)) {
        mine->out -= pushed;
        heap_settle(mine, slab);
        return pushed;
    }
    heap_refuse(slab, *blocks);
    return 1;
}

/* Whether the first blocks, enough of them, look like neighbours, in the order of their addresses or the other way round. */
static ALWAYS_INLINE bool heap_in_order(unsigned class, void *const *blocks, unsigned count) {
    unsigned last = (count < LOOKED_AT ? count : LOOKED_AT) - 1;
    if (count < RUN)
        return false;
    intptr_t size = (intptr_t)sizeclass_table[class].size, step = (intptr_t)blocks[1] - (intptr_t)blocks[0];
    return (step == size || step == -size) &&
           (intptr_t)blocks[last] - (intptr_t)blocks[0] == step * (intptr_t)last;
}

/* The same for neighbours, as far as they are: all at once. What a program frees as it has allocated it, or the other way round, while
 * no slab is marked. docs/experiments/marks.md */
static NOINLINE unsigned heap_put_neighbours(struct heap_class *mine, uint32_t tag, void *const *blocks,
                                             unsigned count) {
    uintptr_t step = (uintptr_t)blocks[1] - (uintptr_t)blocks[0];
    unsigned found = slab_count_row(blocks, count, step);
    uintptr_t lowest = (uintptr_t)blocks[(intptr_t)step < 0 ? found - 1 : 0];
    struct slab *slab = pagemap_record_tagged(*blocks, tag);
    if (UNLIKELY(!slab || !slab_push_neighbours(slab, lowest, found)))
        return heap_put_run(mine, tag, blocks, found);
    mine->out -= found;
    heap_settle(mine, slab);
    return found;
}

/* Whether the first blocks lie in one unit, as three of them tell. */
static ALWAYS_INLINE bool heap_lie_together(void *const *blocks, unsigned count) {
    unsigned few = count < LOOKED_AT ? count : LOOKED_AT;
    return few >= RUN && pagemap_same_unit(blocks[0], blocks[1]) &&
           pagemap_same_unit(blocks[0], blocks[few - 1]);
}

/* Puts back blocks that lie in a slab each, until the next ones lie together. One loop without calls: the next block's misses do not
 * wait for this one's. Returns how many were dealt with. docs/experiments/flush-by-runs.md */
static NOINLINE unsigned heap_put_each(struct heap_class *mine, uint32_t tag, void *const *blocks,
                                       unsigned count) {
    void *const *next = blocks, *const *last = blocks + count;
    unsigned odd = 0; /* not where slabs usually are, or they may not be put back */
    do {
        void *const *end = last - next > LOOKED_AT ? next + LOOKED_AT : last;
        for (; next < end; next++) {
            /* Of an address beyond the window another's, in whose slab no block starts there. */
            size_t unit = pagemap_unit(*next) % PAGEMAP_WINDOW_UNITS;
            struct slab *slab;
            if (LIKELY(pagemap_tag_in_window(unit) == tag) &&
                LIKELY(slab_push_one(slab = pagemap_record_in_window(unit), *next)))
                heap_settle(mine, slab);
            else
                odd += heap_put_run(mine, tag, next, 1);
        }
    } while (next < last && !heap_lie_together(next, (unsigned)(last - next)));
    unsigned done = (unsigned)(next - blocks);
    mine->out -= done - odd;
    return done;
}

void heap_put_back(struct heap *heap, unsigned class, void *const *blocks, unsigned count) {
    struct heap_class *mine = &heap->class[class];
    uint32_t tag = heap->tag | class;
    heap_count_work(heap);
    unsigned done = heap_in_order(class, blocks, count) ? heap_put_neighbours(mine, tag, blocks, count) : 0;
    while (done < count) {
        void *const *some = blocks + done;
        unsigned left = count - done;
        done += heap_lie_together(some, left) ? heap_put_run(mine, tag, some, left)
                                              : heap_put_each(mine, tag, some, left);
    }
}

/* The same, counted: by the heap's thread only. */
static void heap_flush_inside(struct heap *heap, unsigned class, void *const *blocks, unsigned count) {
    heap->flushes++;
    heap->flushed += (uint64_t)count * sizeclass_table[class].size;
    heap_put_back(heap, class, blocks, count);
}

/* Returns how many blocks of the class are out now. */
static unsigned heap_flush(struct heap *heap, unsigned class, void *const *blocks, unsigned count) {
    visit_enter(&heap->visit);
    heap_flush_inside(heap, class, blocks, count);
    unsigned out = heap->class[class].out;
    visit_leave(&heap->visit);
    return out;
}

static void heap_flush_spare(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    if (mine->spare_count > 0)
        heap_flush(heap, class, mine->spare->blocks, mine->spare_count);
    mine->spare_count = 0;
}

unsigned heap_held(const struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    return (unsigned)((void **)heap->top[class] - &mine->array[mine->sentinel]);
}

/* All of a magazine goes to the slabs. Returns how many blocks of the class are out now. */
static unsigned heap_flush_all(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    heap_let_guests_go(heap, class);
    return heap_flush(heap, class, &mine->array[mine->sentinel + 1], heap_held(heap, class));
}

void heap_drain_class(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    if (!mine->array)
        return;
    if (heap->marking == class)
        heap_stop_marking(heap);
    heap_let_guests_go(heap, class);
    heap_flush_inside(heap, class, &mine->array[mine->sentinel + 1], heap_held(heap, class));
    heap_rewind(heap, class, mine->sentinel);
    if (mine->spare_count > 0)
        heap_flush_inside(heap, class, mine->spare->blocks, mine->spare_count);
    mine->spare_count = 0;
    mine->refill = mine->put_by = mine->units = 0;
}

void heap_drain_magazines(struct heap *heap) {
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        heap_drain_class(heap, class);
    heap_send(heap);
    heap->hosted = heap_hosts(heap);
}

void heap_shorten(struct heap *heap, unsigned class, unsigned out) {
    struct heap_class *mine = &heap->class[class];
    unsigned largest = mine->largest, holds = out / DRAINING;
    holds = holds < LEAST_HELD ? LEAST_HELD : holds < largest ? holds : largest;
    heap_rewind(heap, class, mine->words - 1 - holds);
}

/* The block that was freed last, if those before it lie in its unit, too: as two of the last LOOKED_AT tell, and after a run that went
 * astray all of the magazine. */
static const void *heap_run(const struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    void **last = (void **)heap->top[class], **first = &mine->array[mine->sentinel + 1];
    bool near = last - first >= LOOKED_AT - 1 && pagemap_same_unit(last[0], last[1 - RUN]) &&
                pagemap_same_unit(last[0], last[1 - LOOKED_AT]);
    bool whole =
        near && pagemap_same_unit(last[0], first[0]) && pagemap_same_unit(last[0], first[(last - first) / 2]);
    return near && (whole || heap->credit >= 0) ? *last : NULL;
}

/* The program does nothing but free: all goes to the slabs, so that this is called less often. */
static void heap_flush_burst(struct heap *heap, unsigned class) {
    const void *last = heap_run(heap, class);
    unsigned blocks = heap_held(heap, class), out = heap_flush_all(heap, class);
    if (out >= DEEP_FROM && heap_may_deepen(heap, class))
        heap_deepen(heap, class);
    heap_shorten(heap, class, out);
    if (!heap_marks_another(heap, blocks) && last)
        heap_start_marking(heap, class, last);
}

/* Nothing of the class is wanted soon. The empty slab that was kept goes if it was hardly used, and the next one is a first
 * one again: of many classes a program takes a block now and then, and each would keep a unit. Inside `visit`. */
static void heap_let_hardly_used_go(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    struct slab *empty = mine->empty;
    if (!empty || empty->carved > HARDLY_USED * sizeclass_table[class].magazine || !heap_may_go(heap, empty))
        return;
    heap_let_go(mine, empty);
    if (mine->out == 0)
        mine->units = 0;
}

/* A visitor may let it go. */
static bool heap_keeps_empty(struct heap *heap, unsigned class) {
    visit_enter(&heap->visit);
    bool keeps = heap->class[class].empty != NULL;
    visit_leave(&heap->visit);
    return keeps;
}

/* The whole program does nothing but free: what magazines of other classes hold is not wanted soon, either, and may be
 * too little to ever fill them. One after the other gets its turn. */
static void heap_sweep(struct heap *heap) {
    unsigned class = heap->swept;
    for (unsigned looked = 0; looked < SWEEP; looked++) {
        class = heap->swept = (uint8_t)((heap->swept + 1) % SIZECLASS_COUNT);
        struct heap_class *mine = &heap->class[class];
        if (heap_has_not_begun(heap, class))
            continue;
        if (heap->marking == class && heap->marks.slab) {
            visit_enter(&heap->visit);
            heap_stop_marking(heap);
            visit_leave(&heap->visit);
        }
        bool holds = mine->array && heap->top[class] != (unsigned char *)&mine->array[mine->sentinel];
        if (holds) {
            heap_flush_spare(heap, class);
            heap_shorten(heap, class, heap_flush_all(heap, class));
        }
        if (holds || heap_keeps_empty(heap, class))
            break;
    }
    visit_enter(&heap->visit);
    heap_let_hardly_used_go(heap, class);
    heap_unpack(heap, 1);
    visit_leave(&heap->visit);
}

void heap_move_up(struct heap *heap, unsigned class, unsigned count) {
    struct heap_class *mine = &heap->class[class];
    unsigned staying = mine->largest - count;
    void **first = &mine->array[mine->sentinel + 1];
    memmove(first, first + count, staying * sizeof(void *));
    heap->top[class] = (unsigned char *)(first + staying - 1);
}

/* The spare comes with the first full magazine: most classes of a small program never need one. */
static bool heap_has_spare(struct heap_class *mine) {
    if (!mine->spare)
        mine->spare = metadata_new(PACK_WORDS * sizeof(void *));
    return mine->spare != NULL;
}

/* Makes room in a full magazine by what is kept at hand: its oldest blocks go to the spare, or nearly all of it is put by.
 * False: there is no room. */
static bool heap_keep(struct heap *heap, unsigned class, bool bursts) {
    struct heap_class *mine = &heap->class[class];
    unsigned half = heap_half(class), some = heap_moves(mine, class, false);
    bool again = !bursts && mine->fulls > 0, spare_full = mine->spare_count + some > 2 * half;
    mine->refill = (uint8_t)half;
    /* The spare first, which is older: what was freed last comes back first, and blocks that were never touched stay
     * at the bottom. */
    bool put = !bursts && mine->spare_count > 0 && (again || spare_full) && heap_put_spare_by(heap, class);
    if (again && mine->spare_count == 0 && heap_put_by(heap, class))
        return true;
    if (spare_full && !put)
        heap_flush_spare(heap, class);
    if (bursts || mine->fulls >= BURST || !heap_has_spare(mine))
        return false;
    mine->fulls += some == half;
    memcpy(&mine->spare->blocks[mine->spare_count], &mine->array[mine->sentinel + 1], some * sizeof(void *));
    heap_move_up(heap, class, some);
    mine->spare_count = (uint8_t)(mine->spare_count + some);
    return true;
}

/* The same for a deep one, which needs no spare. */
static bool heap_keep_deep(struct heap *heap, unsigned class, bool bursts) {
    heap->class[class].refill = HEAP_DEEP_WORDS / 2;
    heap_flush_spare(heap, class);
    return !bursts && heap_put_by(heap, class);
}

void heap_count_full(struct heap *heap, unsigned pointers) {
    unsigned fulls = heap->fulls + pointers / HEAP_ARRAY_WORDS;
    unsigned due = heap->fulls >= BULK ? (fulls - BULK) / SWEEP_EVERY : 0;
    heap->fulls = (uint8_t)(fulls < BULK ? fulls : BULK + (fulls - BULK) % SWEEP_EVERY);
    for (unsigned sweeps = due < SWEEPS_MOST ? due : SWEEPS_MOST; sweeps > 0; sweeps--)
        heap_sweep(heap);
}

/* Makes room in a full magazine: guests leave, some of it is kept, or, when the program frees on and on, all of it goes to the slabs. */
static void heap_make_room(struct heap *heap, unsigned class) {
    if (heap_let_guests_go(heap, class))
        return;
    struct heap_class *mine = &heap->class[class];
    bits_set(&heap->full[class / 64], class);
    bool bursts = heap->fulls >= BULK || mine->sentinel != heap_sentinel(mine);
    if (heap_is_deep(mine) ? heap_keep_deep(heap, class, bursts) : heap_keep(heap, class, bursts))
        return;
    unsigned words = mine->words;
    heap_flush_burst(heap, class);
    heap_count_full(heap, words);
}

void heap_push(struct heap *heap, unsigned class, void *block) {
    struct heap_class *mine = &heap->class[class];
    if (UNLIKELY(!mine->array && !heap_make_magazines(heap, class))) {
        heap_flush(heap, class, &block, 1);
        return;
    }
    if (heap->marking == class && heap_mark(heap, class, block))
        return;
    if (heap_push_on(heap, class, block))
        return;
    heap_make_room(heap, class);
    if (heap->marking == class && heap_mark(heap, class, block))
        return;
    heap->top[class] += sizeof(void *);
    *(void **)heap->top[class] = block;
}

enum slab_verdict heap_put_verified(struct heap *heap, struct slab *slab, const void *block) {
    uint32_t number = slab_block_number(slab, block);
    if (number == SLAB_NO_BLOCK)
        return SLAB_INSIDE;
    if (remote_is_waiting(slab, number))
        return SLAB_DOUBLE_FREE;
    struct heap_class *class = &heap->class[slab->class];
    visit_enter(&heap->visit);
    enum slab_verdict verdict = slab_push(slab, block);
    if (verdict == SLAB_OK) {
        class->out--;
        heap->flushed += sizeclass_table[slab->class].size;
        heap_count_work(heap);
        heap_settle(class, slab);
    }
    visit_leave(&heap->visit);
    return verdict;
}
