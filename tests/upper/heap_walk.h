/* heap_walk: heaps under test, on the real rooms below, walked from end to end. The room's .c is included for its bins, and for
 * what it says of misuse. */
#ifndef HAKMEM_TESTS_HEAP_WALK_H
#define HAKMEM_TESTS_HEAP_WALK_H

#define misuse_report heard_report
#include "../../src/heap.c"
#include "../../src/heap_gather.c"
#include "../../src/heap_life.c"
#undef misuse_report

#include "kernel.h"
#include "random.h"
#include "unit/unit.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LIVE = 6000, SLABS = 2000, HEAPS_TESTED = 3 };

static struct {
    struct heap *heap; /* that it came from: only a hint, slabs move */
    void *block;
    unsigned class;
} live[LIVE];

static unsigned live_count;

/* What heap.c has said of misuse since heard_count was set to 0. */
static struct {
    enum misuse kind;
    const void *block;
} heard[8];

static unsigned heard_count;

void heard_report(enum misuse kind, const void *block) {
    assert_true(heard_count < sizeof heard / sizeof *heard);
    heard[heard_count].kind = kind;
    heard[heard_count++].block = block;
}

/* What a walk finds in the hands of one slab. */
static struct {
    struct slab *slab;
    unsigned out; /* blocks in the program's hands or in a magazine */
} seen[SLABS];

static unsigned seen_count;

static void see(struct slab *slab, unsigned out) {
    unsigned i = 0;
    while (i < seen_count && seen[i].slab != slab)
        i++;
    if (i == seen_count) {
        assert_true(seen_count < SLABS);
        seen[seen_count].slab = slab;
        seen[seen_count++].out = 0;
    }
    seen[i].out += out;
}

static void see_block(void *block, unsigned class) {
    struct slab *slab = pagemap_record(block);
    assert_non_null(slab);
    assert_int_equal(slab->class, class);
    uint32_t number = slab_block_number(slab, block);
    assert_true(number < slab->carved);
    assert_int_equal(slab->bits[number / 64] >> number % 64 & 1, 0);
    see(slab, 1);
}

static void walk_magazines(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    unsigned sentinel = mine->array ? mine->sentinel : 0;
    if (!mine->array) {
        assert_ptr_equal(heap->top[class], NOTHING);
        return;
    }
    void **top = (void **)heap->top[class];
    assert_true(top >= &mine->array[sentinel] && top < mine->array + mine->words);
    assert_null(mine->array[sentinel]);
    for (void **at = &mine->array[sentinel + 1]; at <= top; at++) {
        see_block(*at, class);
        assert_int_equal(pagemap_tag(*at), heap->tag | class);
    }
    for (unsigned i = 0; i < mine->spare_count; i++)
        see_block(mine->spare->blocks[i], class);
}

/* What is marked of the class: its magazine looks empty and full, then. */
static void walk_marks(struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    const struct marks *marks = &heap->marks;
    if (heap->marking != class)
        return;
    assert_ptr_equal(heap->top[class], &mine->array[mine->words - 1]);
    assert_int_equal((uintptr_t)(heap->top[class] + sizeof(void *)) & 255, 0);
    if (!marks->slab)
        return;
    assert_int_equal(marks->slab->class, class);
    for (unsigned number = 0; number < marks->slab->carved; number++)
        if (marks->bytes[number])
            see_block(marks->slab->start + number * (size_t)sizeclass_table[class].size, class);
}

static void walk_packs(struct heap *heap) {
    unsigned packs = 0;
    size_t bytes = 0;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        const struct pack_stack *mine = &heap->packs.of[class];
        unsigned here = 0;
        for (const struct pack *pack = mine->newest; pack; pack = pack_next(pack)) {
            assert_in_range(pack_count(pack), 1, PACK_DEEP_BLOCKS);
            assert_true(heap_is_deep(&heap->class[class]) || !pack_is_deep(pack));
            for (unsigned i = 0; i < pack_count(pack); i++)
                see_block(pack->blocks[i], class);
            bytes += pack_count(pack) * sizeclass_table[class].size;
            here += pack_counts(pack_count(pack));
        }
        assert_int_equal(mine->count, here);
        assert_true(mine->rested <= here);
        packs += here;
    }
    assert_int_equal(heap->packs.count, packs);
    assert_int_equal(heap->packs.bytes, bytes);
}

static bool is_one_of(const uint64_t *classes, unsigned class) {
    return classes[class / 64] >> class % 64 & 1;
}

/* Returns the units of those slabs that may have pages to give while the heap grows. */
static size_t walk_bins(struct heap *heap, unsigned class) {
    size_t hollow = 0;
    struct heap_class *mine = &heap->class[class];
    assert_true(mine->array || !is_one_of(heap->full, class));
    assert_int_equal(is_one_of(heap->hollow, class), mine->bin[HEAP_BINS - 1] != NULL);
    bool empty_seen = false;
    for (unsigned bin = 0; bin < HEAP_BINS; bin++) {
        struct slab *previous = NULL;
        for (struct slab *slab = mine->bin[bin]; slab; previous = slab, slab = slab->next) {
            assert_true(slab->free > 0);
            assert_int_equal(slab->bin, bin);
            assert_ptr_equal(slab->previous, previous);
            assert_int_equal(slab->class, class);
            assert_ptr_equal(slab->owner, &heap->inbox);
            assert_int_equal(pagemap_tag(slab->start), heap->tag | class);
            empty_seen |= slab == mine->empty;
            hollow += bin == HEAP_BINS - 1 && !(slab->purged_free & HEAP_PASSED) ? slab->units : 0;
            see(slab, 0);
        }
    }
    assert_true(!mine->empty || (empty_seen && slab_is_empty(mine->empty)));
    assert_true(!mine->carving || mine->carving->owner == &heap->inbox);
    return hollow;
}

static unsigned waiting(struct slab *slab) {
    unsigned bits = 0;
    for (unsigned word = 0; word < slab->words; word++)
        bits += bits_count(*slab_remote_word(slab, slab->class, word));
    return bits;
}

static unsigned bin_of(const struct slab *slab) {
    return slab->free == 0              ? HEAP_NO_BIN
           : slab->free == slab->blocks ? HEAP_BINS - 1
                                        : slab->free * 4u / slab->blocks;
}

/* Every block is in one place, and every slab in the bin of its fill. */
static void walk(void) {
    seen_count = 0;
    for (struct heap *heap = heaps.all; heap; heap = heap->next) {
        size_t hollow = 0;
        walk_packs(heap);
        for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
            walk_magazines(heap, class);
            walk_marks(heap, class);
            hollow += walk_bins(heap, class);
        }
        assert_int_equal(heap->hollowing.units, hollow);
    }
    for (unsigned i = 0; i < live_count; i++)
        see_block(live[i].block, live[i].class);
    for (unsigned i = 0; i < seen_count; i++) {
        struct slab *slab = seen[i].slab;
        assert_int_equal(slab->bin, bin_of(slab));
        assert_int_equal(slab->carved, slab->free + seen[i].out + waiting(slab));
    }
}

static void *take_raw(struct heap *heap, unsigned class) {
    void **top = (void **)heap->top[class], *block = *top;
    if (block)
        heap->top[class] -= sizeof(void *);
    else
        block = heap_refill(heap, class);
    assert_non_null(block);
    return block;
}

static void take_block(struct heap *heap, unsigned class) {
    assert_true(live_count < LIVE);
    live[live_count].heap = heap;
    live[live_count].block = take_raw(heap, class);
    live[live_count++].class = class;
}

static void take_blocks(struct heap *heap, unsigned class, unsigned count) {
    while (count-- > 0)
        take_block(heap, class);
}

/* As alloc does: by the tag. */
static void give_raw(struct heap *heap, unsigned class, void *block) {
    unsigned char *top = heap->top[class];
    if ((pagemap_tag(block) ^ heap->tag) != class) {
        assert_int_equal(remote_free(pagemap_record(block), block), SLAB_OK);
    } else if (base_step_full(&top)) {
        heap_push(heap, class, block);
    } else {
        *(void **)top = block;
        heap->top[class] = top;
    }
}

static void give_block(struct heap *heap, unsigned which) {
    give_raw(heap, live[which].class, live[which].block);
    live[which] = live[--live_count];
}

static void give_all(struct heap *heap) {
    while (live_count > 0)
        give_block(heap, live_count - 1);
}

/* So many that a process is not small. */
static struct superslab_run many_in_use[EMPTIED_FROM / UNIT_SIZE / SUPERSLAB_RUN_LARGEST];

static inline void begin_many_in_use(void) {
    for (unsigned i = 0; i < ARRAY_LENGTH(many_in_use); i++)
        many_in_use[i] = superslab_take(SUPERSLAB_RUN_LARGEST, SUPERSLAB_MIXED);
}

static inline void end_many_in_use(struct heap *heap) {
    walk();
    for (unsigned i = 0; i < ARRAY_LENGTH(many_in_use); i++)
        superslab_give_run(many_in_use[i].home, many_in_use[i].start, many_in_use[i].units, false);
    give_all(heap);
    heap_retire(heap);
}

static int setup(void **state) {
    heap_configure(8, 0, 0, false);
    live_count = 0;
    heap_drain_idle();
    return kernel_reset(state);
}

#endif
