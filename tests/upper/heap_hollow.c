/* Unit tests of heap: slabs of which three quarters are free, while the heap grows. */
#include "heap_walk.h"
#include "no_large.h"

#include "../../src/heap_hollow.c"

enum {
    PLAIN_CLASS = SIZECLASS_USUAL + 3, /* of 2,048 bytes, 32 in a unit */
    EACH = 32,
    HOLLOW = 40 /* slabs */
};

/* Slabs with every `kept`th block in use, in live[]; all of their pages are in memory. */
static struct heap *hollow_heap_of(unsigned slabs, unsigned kept) {
    static void *freed[HOLLOW * EACH];
    struct heap *heap = heap_take();
    unsigned count = 0;
    memset(&heap->hollowing, 0, sizeof heap->hollowing);
    heap->class[PLAIN_CLASS].units = sizeclass_table[PLAIN_CLASS].units;
    for (unsigned i = 0; i < slabs * EACH; i++) {
        void *block = take_raw(heap, PLAIN_CLASS);
        memset(block, 0x5a, sizeclass_table[PLAIN_CLASS].size);
        if (i % kept == 0)
            live[live_count++].block = block;
        else
            freed[count++] = block;
    }
    for (unsigned i = 0; i < live_count; i++)
        live[i].class = PLAIN_CLASS;
    heap_drain(heap);
    heap_flush(heap, PLAIN_CLASS, freed, count);
    return heap;
}

static struct heap *hollow_heap(unsigned slabs) {
    return hollow_heap_of(slabs, EACH);
}

static void end_heap(struct heap *heap) {
    walk();
    give_all(heap);
    heap_retire(heap);
    walk();
}

static bool is_sent(const void *block) {
    const struct slab *slab = pagemap_record(block);
    return slab->purged_free & HEAP_SENT;
}

static unsigned count_sent(void) {
    unsigned sent = 0;
    for (unsigned i = 0; i < live_count; i++)
        sent += is_sent(live[i].block);
    return sent;
}

/* As long as a round is; what it waits for first. */
static void one_round(struct heap *heap) {
    heap_hollow_out(heap, heap->hollowing.wait);
    for (unsigned i = 0; i < HOLLOW && heap->hollowing.wait == 0; i++)
        heap_hollow_out(heap, UNIT_SIZE);
    walk();
}

static void heap_hollow_sends_what_rests(void **state) {
    (void)state;
    struct heap *heap = hollow_heap(HOLLOW);
    assert_int_equal(heap->hollowing.units, HOLLOW);
    one_round(heap); /* how many may go is said */
    one_round(heap); /* how they are is noted, of as many as there are */
    kernel.advise.count = 0;
    unsigned before = count_sent();
    one_round(heap);
    one_round(heap);
    assert_true(count_sent() > before && kernel.advise.count > 0);
    for (unsigned i = 0; i < live_count; i++) {
        const unsigned char *block = live[i].block, *far = block + 16 * KIB;
        assert_int_equal(block[0], 0x5a);
        assert_int_equal(block[sizeclass_table[PLAIN_CLASS].size - 1], 0x5a);
        assert_int_equal(*far, is_sent(block) ? 0 : 0x5a);
    }
    end_heap(heap);
}

/* ... by and by: no call gives the pages of many. */
static void heap_hollow_sends_few_at_once(void **state) {
    (void)state;
    struct heap *heap = hollow_heap(HOLLOW);
    for (int round = 0; round < 12; round++) {
        heap_hollow_out(heap, heap->hollowing.wait);
        unsigned before = count_sent();
        heap_hollow_out(heap, UNIT_SIZE);
        assert_in_range(count_sent() - before, 0,
                        3); /* so that twice as much as was taken is free: 60 KiB of each */
        before = count_sent();
        heap_hollow_out(heap, 64 * MIB);
        assert_in_range(count_sent() - before, 0, HOLLOW_SLABS);
    }
    assert_in_range(count_sent(), HOLLOW_SLABS, HOLLOW);
    end_heap(heap);
}

/* What a heap takes and gives back all the time stays. */
static void heap_hollow_leaves_what_changes(void **state) {
    (void)state;
    struct heap *heap = hollow_heap(HOLLOW);
    for (int round = 0; round < 8; round++) {
        one_round(heap);
        for (unsigned i = 0; i < HOLLOW; i++)
            ((struct slab *)pagemap_record(live[i].block))->changes++;
    }
    assert_int_equal(count_sent(), 0);
    assert_int_equal(heap->hollowing.units, HOLLOW);
    end_heap(heap);
}

/* What lies between blocks in use is not worth a call each. */
static void heap_hollow_leaves_short_runs(void **state) {
    (void)state;
    struct heap *heap = hollow_heap_of(HOLLOW, 8);
    kernel.advise.count = 0;
    for (int round = 0; round < 8; round++)
        one_round(heap);
    assert_int_equal(kernel.advise.count, 0);
    assert_int_equal(heap->hollowing.vain, 0);
    end_heap(heap);
}

/* Nor does more go than there are calls left. */
static void heap_hollow_keeps_to_the_budget(void **state) {
    (void)state;
    struct heap *heap = hollow_heap(HOLLOW);
    limit.budget = 3;
    kernel.advise.count = 0;
    for (int round = 0; round < 8; round++)
        one_round(heap);
    limit.budget = 0;
    assert_int_equal(count_sent(), 3);
    end_heap(heap);
}

/* Twice as many in each round, unless what went is needed again. */
static void heap_hollow_sends_less_where_it_is_in_vain(void **state) {
    (void)state;
    struct heap *heap = hollow_heap(HOLLOW);
    uint32_t most = 0;
    for (int round = 0; round < 20 && count_sent() < HOLLOW / 2; round++) {
        one_round(heap);
        assert_true(heap->hollowing.most >= most);
        most = heap->hollowing.most;
    }
    assert_true(most > HOLLOW_LEAST);
    assert_int_equal(heap->hollowing.vain, 0);
    take_blocks(heap, PLAIN_CLASS, HOLLOW / 2 * EACH);
    assert_true(heap->hollowing.vain > 0);
    hollow_end_round(&heap->hollowing);
    assert_in_range(heap->hollowing.most, HOLLOW_LEAST, most / 2);
    assert_int_equal(heap->hollowing.wait, HOLLOW_BACKOFF * HOLLOW_STEP / heap_in_use());
    end_heap(heap);
}

/* Also if it is empty soon: units would have been free for anybody. */
static void heap_hollow_counts_what_is_empty_as_vain(void **state) {
    (void)state;
    struct heap *heap = hollow_heap(HOLLOW);
    for (int round = 0; round < 20 && count_sent() < HOLLOW / 2; round++)
        one_round(heap);
    unsigned sent = count_sent();
    for (unsigned i = 0; i < live_count; i++)
        heap_flush(heap, PLAIN_CLASS, &live[i].block, 1);
    live_count = 0;
    assert_int_equal(heap->hollowing.vain, sent);
    assert_int_equal(heap->hollowing.units, heap->class[PLAIN_CLASS].empty ? 1 : 0);
    end_heap(heap);
}

/* Blocks keep what is in them, whatever goes home around them. */
static void heap_hollow_random_program(void **state) {
    (void)state;
    enum { CLASSES = 8 };
    static const unsigned sizes[CLASSES] = {48, 100, 500, 1000, 2048, 3000, 8000, 16000};
    uint64_t seed = 11;
    struct heap *heap = heap_take();
    for (int step = 0; step < 60000; step++) {
        bool grow = step / 3000 % 2 == 0;
        if (live_count < LIVE && (live_count == 0 || random_below(&seed, 100) < (grow ? 90u : 10u))) {
            take_block(heap, sizeclass_of(sizes[(step / 6000 + random_below(&seed, 2)) % CLASSES]));
            *(uintptr_t *)live[live_count - 1].block = ~(uintptr_t)live[live_count - 1].block;
        } else {
            unsigned which = random_below(&seed, live_count);
            assert_int_equal(*(uintptr_t *)live[which].block, ~(uintptr_t)live[which].block);
            give_block(heap, which);
        }
        if (random_below(&seed, 10) == 0)
            heap_hollow_out(heap, random_below(&seed, 2) ? 16 * MIB : UNIT_SIZE);
        if (step % 1000 == 0)
            walk();
    }
    assert_true(kernel.advise.count > 100);
    for (unsigned i = 0; i < live_count; i++)
        assert_int_equal(*(uintptr_t *)live[i].block, ~(uintptr_t)live[i].block);
    end_heap(heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(heap_hollow_sends_what_rests, setup),
        cmocka_unit_test_setup(heap_hollow_sends_few_at_once, setup),
        cmocka_unit_test_setup(heap_hollow_leaves_what_changes, setup),
        cmocka_unit_test_setup(heap_hollow_leaves_short_runs, setup),
        cmocka_unit_test_setup(heap_hollow_keeps_to_the_budget, setup),
        cmocka_unit_test_setup(heap_hollow_sends_less_where_it_is_in_vain, setup),
        cmocka_unit_test_setup(heap_hollow_counts_what_is_empty_as_vain, setup),
        cmocka_unit_test_setup(heap_hollow_random_program, setup),
    };
    superslab_configure(SIZE_MAX, true, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
