/* Unit tests of heap: slabs of which three quarters are free, while the heap grows. */
#include "heap_walk.h"
#include "no_large.h"

#include "../../src/heap_hollow.c"

enum {
    PLAIN_CLASS = SIZECLASS_USUAL + 3, /* of 2,048 bytes, 32 in a unit */
    HOLLOW = 40,                       /* slabs */
    MOST = HOLLOW * 128
};

/* Slabs of which some blocks are in use, in live[]: a bit of `kept` each, and of each further 32. All of their pages are in memory. */
static struct heap *hollow_heap_of(unsigned class, unsigned slabs, uint32_t kept) {
    static void *freed[MOST];
    struct heap *heap = heap_take();
    unsigned count = 0;
    memset(&heap->hollowing, 0, sizeof heap->hollowing);
    heap->class[class].units = sizeclass_table[class].units;
    for (unsigned i = 0; i < slabs * sizeclass_table[class].blocks; i++) {
        void *block = take_raw(heap, class);
        memset(block, 0x5a, sizeclass_table[class].size);
        if (kept >> slab_block_number(pagemap_record(block), block) % 32 & 1)
            live[live_count++].block = block;
        else
            freed[count++] = block;
    }
    for (unsigned i = 0; i < live_count; i++)
        live[i].class = class;
    heap_drain(heap);
    heap_flush(heap, class, freed, count);
    return heap;
}

static struct heap *hollow_heap(unsigned slabs) {
    return hollow_heap_of(PLAIN_CLASS, slabs, 1);
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

static void rounds(struct heap *heap, unsigned count) {
    while (count-- > 0)
        one_round(heap);
}

/* What lies between blocks in use is not worth a call each. */
static void heap_hollow_leaves_short_runs(void **state) {
    (void)state;
    struct heap *heap = hollow_heap_of(
        PLAIN_CLASS, HOLLOW, 1 | 1 << 10 | 1 << 18 | 1 << 26); /* one of 16 KiB, and 12 three times */
    kernel.advise.count = 0;
    rounds(heap, 8);
    assert_int_equal(kernel.advise.count, 0);
    assert_int_equal(heap->hollowing.sent, 0);
    end_heap(heap);
}

/* ... but go with the long ones, where there are: a visitor has nothing left to do. */
static void heap_hollow_sends_all_of_a_slab(void **state) {
    (void)state;
    struct heap *heap = hollow_heap_of(PLAIN_CLASS, HOLLOW, 1 | 1 << 5);
    rounds(heap, 8);
    assert_true(count_sent() > 0);
    for (unsigned i = 0; i < live_count; i++) {
        const struct slab *slab = pagemap_record(live[i].block);
        assert_int_equal(slab->start[8 * KIB - 1], is_sent(live[i].block) ? 0 : 0x5a);
        assert_int_equal(slab->start[32 * KIB], is_sent(live[i].block) ? 0 : 0x5a);
        assert_true(!is_sent(live[i].block) || heap_is_home(slab));
    }
    end_heap(heap);
}

/* Nor does more go than there are calls left. */
static void heap_hollow_keeps_to_the_budget(void **state) {
    (void)state;
    struct heap *heap = hollow_heap_of(PLAIN_CLASS, HOLLOW, 1 | 1 << 16);
    limit.budget = 3;
    kernel.advise.count = 0;
    rounds(heap, 8);
    limit.budget = 0;
    assert_int_equal(kernel.advise.count, 3);
    assert_int_equal(count_sent(), 4); /* two slabs; no other was passed */
    end_heap(heap);
}

/* What a visitor has sent is home. */
static void heap_hollow_passes_what_is_home(void **state) {
    (void)state;
    struct heap *heap = hollow_heap(HOLLOW);
    size_t purged = 0;
    heap_tidy(heap, true, &purged);
    assert_true(purged > 0);
    heap_collect(heap);
    kernel.advise.count = 0;
    rounds(heap, 8);
    assert_int_equal(kernel.advise.count + count_sent(), 0);
    end_heap(heap);
}

/* And what is looked at by a visitor later has been passed, whether it is lent for that or not; its pages have not gone in vain. */
static void heap_hollow_is_visited(void **state) {
    (void)state;
    for (int no_page = 0; no_page < 2; no_page++) {
        struct heap *heap =
            no_page ? hollow_heap_of(sizeclass_of(512), HOLLOW, 0x01010101) : hollow_heap(HOLLOW);
        size_t purged = 0;
        rounds(heap, 8);
        unsigned sent = count_sent(); /* the last slab is not carved to its end: that has pages */
        assert_true(no_page ? sent < live_count / HOLLOW : sent > 0);
        heap_tidy(heap, true, &purged);
        heap_collect(heap);
        walk();
        assert_int_equal(heap->hollowing.vain, 0);
        end_heap(heap);
    }
}

/* Little of them stays as it is: what is kept, or a quarter of what is in use. */
static void heap_hollow_keeps_a_part(void **state) {
    (void)state;
    for (int is_part = 0; is_part < 2; is_part++) {
        struct superslab_run runs[8];
        struct heap *heap = hollow_heap(HOLLOW);
        heap_configure(8, 0, is_part ? 0 : (size_t)2 * HOLLOW * UNIT_SIZE, false);
        for (unsigned i = 0; i < ARRAY_LENGTH(runs); i++)
            runs[i] = superslab_take(SUPERSLAB_RUN_LARGEST, SUPERSLAB_MIXED);
        assert_in_range(superslab_used_bytes(), (size_t)4 * HOLLOW * UNIT_SIZE, SIZE_MAX);
        rounds(heap, 8);
        assert_int_equal(count_sent(), 0);
        for (unsigned i = 0; i < ARRAY_LENGTH(runs); i++)
            superslab_give_run(runs[i].home, runs[i].start, runs[i].units, false);
        if (!is_part) {
            rounds(heap, 8);
            assert_int_equal(count_sent(), 0);
        }
        heap_configure(8, 0, 0, false);
        rounds(heap, 8);
        assert_true(count_sent() > 0);
        end_heap(heap);
    }
}

/* What came of the last rounds counts less and less. */
static void heap_hollow_forgets(void **state) {
    (void)state;
    struct hollowing hollowing = {.sent = 64, .vain = 16, .most = 128};
    hollow_end_round(&hollowing);
    assert_int_equal(hollowing.sent, 32);
    assert_int_equal(hollowing.vain, 8);
    assert_int_equal(hollowing.most, 128 / HOLLOW_BACKOFF);
    assert_int_equal(hollowing.left, hollowing.most);
    hollowing.sent = 8 * hollowing.vain;
    hollow_end_round(&hollowing);
    assert_int_equal(hollowing.most, 2 * (128 / HOLLOW_BACKOFF));
    assert_int_equal(hollowing.wait, HOLLOW_STEP / heap_in_use());
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
    take_blocks(heap, PLAIN_CLASS, HOLLOW / 2 * sizeclass_table[PLAIN_CLASS].blocks);
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
        cmocka_unit_test_setup(heap_hollow_sends_all_of_a_slab, setup),
        cmocka_unit_test_setup(heap_hollow_keeps_to_the_budget, setup),
        cmocka_unit_test_setup(heap_hollow_passes_what_is_home, setup),
        cmocka_unit_test_setup(heap_hollow_is_visited, setup),
        cmocka_unit_test_setup(heap_hollow_keeps_a_part, setup),
        cmocka_unit_test_setup(heap_hollow_forgets, setup),
        cmocka_unit_test_setup(heap_hollow_sends_less_where_it_is_in_vain, setup),
        cmocka_unit_test_setup(heap_hollow_counts_what_is_empty_as_vain, setup),
        cmocka_unit_test_setup(heap_hollow_random_program, setup),
    };
    superslab_configure(SIZE_MAX, true, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
