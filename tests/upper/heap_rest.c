/* Unit tests of heap: classes that are at rest while the heap grows. */
#include "heap_walk.h"
#include "no_large.h"

#include "../../src/heap_rest.c"

enum { BLOCK = 5000, COUNT = 20 };

/* A heap that has `count` blocks of a class at hand, which fewer than one magazine has. */
static struct heap *heap_with(unsigned class, unsigned count) {
    struct heap *heap = heap_take();
    heap->still.grown = 0;
    heap->still.look_at = REST_ROUND;
    heap->still.more = false;
    memset(heap->still.seen, 0, sizeof heap->still.seen);
    take_blocks(heap, class, count);
    give_all(heap);
    return heap;
}

static unsigned at_hand(const struct heap *heap, unsigned class) {
    return heap->class[class].array ? heap_held(heap, class) + heap->class[class].spare_count : 0;
}

static bool holds(const struct heap *heap, unsigned class) {
    return at_hand(heap, class) > 0 || pack_waits(&heap->packs, class);
}

/* The heap has grown by so much. */
static void grow(struct heap *heap, size_t bytes) {
    visit_enter(&heap->visit);
    heap_rest(heap, bytes);
    visit_leave(&heap->visit);
    walk();
}

static void rounds(struct heap *heap, unsigned count) {
    while (count-- > 0)
        grow(heap, heap->still.look_at);
}

static void end_heap(struct heap *heap) {
    give_all(heap);
    heap_retire(heap);
    walk();
}

/* How a class is has to be seen twice; then its slab serves others. */
static void heap_rest_empties_what_is_at_rest(void **state) {
    (void)state;
    unsigned class = sizeclass_of(BLOCK);
    struct heap *heap = heap_with(class, COUNT);
    rounds(heap, 1);
    assert_int_equal(at_hand(heap, class), heap->class[class].out);
    size_t used = superslab_used_bytes();
    grow(heap, heap->still.look_at - 1);
    assert_true(holds(heap, class));
    grow(heap, 1);
    assert_false(holds(heap, class));
    assert_null(heap->class[class].empty);
    assert_true(superslab_used_bytes() + COUNT * BLOCK <= used);
    assert_int_equal(heap->still.grown, 0);
    assert_int_equal(heap->still.look_at, REST_ROUND + superslab_used_bytes() / REST_PART);
    take_blocks(heap, class, COUNT); /* and it begins anew */
    end_heap(heap);
}

/* Whoever takes or frees a block now and then keeps what is at hand. */
static void heap_rest_leaves_what_changes(void **state) {
    (void)state;
    unsigned class = sizeclass_of(BLOCK);
    struct heap *heap = heap_with(class, COUNT);
    for (unsigned i = 0; i < 4; i++) {
        rounds(heap, 1);
        assert_true(holds(heap, class));
        take_block(heap, class); /* of the magazine: no slow path sees it */
    }
    for (unsigned i = 0; i < 4; i++) {
        rounds(heap, 1);
        assert_true(holds(heap, class));
        give_block(heap, live_count - 1);
    }
    rounds(heap, 2);
    assert_false(holds(heap, class));
    end_heap(heap);
}

/* The same of what only the spare or the slabs show. */
static void heap_rest_sees_all_that_changes(void **state) {
    (void)state;
    unsigned class = sizeclass_of(BLOCK);
    struct heap *heap = heap_with(class, COUNT);
    struct heap_class *mine = &heap->class[class];
    uint16_t looks = heap_looks(heap, class);
    mine->spare_count++;
    assert_int_not_equal(heap_looks(heap, class), looks);
    mine->spare_count--;
    mine->out++;
    assert_int_not_equal(heap_looks(heap, class), looks);
    mine->out--;
    assert_int_equal(heap_looks(heap, class), looks);
    end_heap(heap);
}

/* Where more is in use than at hand, or little is at hand, a flush would hardly empty a slab. */
static void heap_rest_leaves_what_is_not_worth_a_flush(void **state) {
    (void)state;
    unsigned little = sizeclass_of(64), used = sizeclass_of(BLOCK);
    struct heap *heap = heap_with(little, 10);
    take_blocks(heap, used, 2 * COUNT);
    unsigned of_little = at_hand(heap, little), of_used = at_hand(heap, used);
    assert_in_range(of_little * 64, 1, REST_LEAST - 1);
    assert_in_range(of_used * BLOCK, REST_LEAST, (heap->class[used].out - 1) * BLOCK / REST_SHARE);
    rounds(heap, 4);
    assert_int_equal(at_hand(heap, little), of_little);
    assert_int_equal(at_hand(heap, used), of_used);
    while (REST_SHARE * at_hand(heap, used) < heap->class[used].out)
        give_block(heap, live_count - 1);
    assert_true(live_count > 0);
    rounds(heap, 2);
    assert_false(holds(heap, used));
    end_heap(heap);
}

/* What is put by goes by sixteen packs, call after call: no call does much. */
static void heap_rest_gives_packs_up_by_and_by(void **state) {
    (void)state;
    unsigned class = sizeclass_of(16);
    heap_configure(8, 0, 32 * MIB, false);
    struct heap *heap = heap_with(class, 40 * PACK_BLOCKS);
    unsigned packs = heap->packs.count;
    assert_in_range(packs, HEAP_UNPACK + 1, 3 * HEAP_UNPACK);
    rounds(heap, 2);
    while (packs > HEAP_UNPACK) {
        packs -= HEAP_UNPACK;
        assert_int_equal(heap->packs.count, packs);
        assert_true(heap->still.more);
        grow(heap, UNIT_SIZE);
    }
    assert_false(holds(heap, class) || heap->still.more);
    end_heap(heap);
}

/* ... unless somebody wants one meanwhile. */
static void heap_rest_ends_when_the_class_is_wanted(void **state) {
    (void)state;
    unsigned class = sizeclass_of(16);
    heap_configure(8, 0, 32 * MIB, false);
    struct heap *heap = heap_with(class, 40 * PACK_BLOCKS);
    rounds(heap, 2);
    assert_true(heap->still.more);
    take_block(heap, class);
    unsigned packs = heap->packs.count;
    grow(heap, UNIT_SIZE);
    assert_int_equal(heap->packs.count, packs);
    assert_false(heap->still.more);
    end_heap(heap);
}

/* Nor is it a round until then: who has come to rest in between keeps what it has. */
static void heap_rest_looks_at_nothing_meanwhile(void **state) {
    (void)state;
    unsigned class = sizeclass_of(128), other = sizeclass_of(96);
    heap_configure(8, 0, 32 * MIB, false);
    struct heap *heap = heap_with(class, 100 * PACK_BLOCKS);
    assert_true(heap->packs.count > 5 * HEAP_UNPACK);
    take_blocks(heap, other, 30);
    rounds(heap, 2);
    give_all(heap);
    for (unsigned i = 0; i < 3; i++)
        grow(heap, UNIT_SIZE);
    assert_true(heap->still.more && holds(heap, other));
    end_heap(heap);
}

/* No call empties more than some classes. */
static void heap_rest_empties_few_classes_at_once(void **state) {
    (void)state;
    struct heap *heap = heap_with(0, 0);
    unsigned held = 0, classes = 3 * REST_AT_ONCE;
    for (unsigned i = 0; i < classes; i++)
        take_blocks(heap, sizeclass_of(1024) + i, 4);
    give_all(heap);
    rounds(heap, 2);
    for (unsigned calls = 1; calls <= 3; calls++) {
        held = 0;
        for (unsigned i = 0; i < classes; i++)
            held += holds(heap, sizeclass_of(1024) + i);
        assert_int_equal(held, classes - calls * REST_AT_ONCE);
        grow(heap, UNIT_SIZE);
    }
    assert_int_equal(held, 0);
    end_heap(heap);
}

/* What comes in waves will be needed as a whole. */
static void heap_rest_leaves_waves(void **state) {
    (void)state;
    unsigned class = sizeclass_of(64);
    struct heap *heap = heap_with(class, 2 * COUNT);
    struct heap_class *mine = &heap->class[class];
    uint32_t out = mine->out;
    visit_enter(&heap->visit);
    heap_note_waves(heap);
    for (unsigned wave = 0; wave < 3; wave++)
        for (mine->out = 100; mine->out <= 20000; mine->out += 100)
            heap_note_out(heap, class);
    bool waves = heap_has_waves(heap, class);
    mine->out = out;
    visit_leave(&heap->visit);
    assert_true(waves && heap_has_waves(heap, class));
    rounds(heap, 3);
    assert_true(holds(heap, class));
    heap->waves = NULL; /* the next test is to find none */
    rounds(heap, 1);
    assert_false(holds(heap, class));
    end_heap(heap);
}

/* It is asked where slabs come and where large blocks do, of a process that is not small. */
static void heap_rest_is_asked_where_a_heap_grows(void **state) {
    (void)state;
    if (has(verify_free))
        skip();
    unsigned class = sizeclass_of(BLOCK), growing = sizeclass_of(BLOCK + 1000);
    struct heap *heap = heap_with(class, COUNT);
    take_blocks(heap, growing, 200);
    assert_int_equal(heap->still.grown, 0);
    heap_yield_next(heap, UNIT_SIZE);
    assert_int_equal(heap->still.grown, 0);
    begin_many_in_use();
    superslab_purge(0, UINT_MAX);
    heap_yield_next(heap, UNIT_SIZE);
    assert_int_equal(heap->still.grown, UNIT_SIZE);
    heap->still.grown = 0;
    take_blocks(heap, growing, 200);
    assert_false(holds(heap, class));
    end_many_in_use(heap);
}

static uint64_t seed = 3;

/* A heap in which classes come and go, and rest meanwhile: each block is as it was written. */
static void heap_rest_random_program(void **state) {
    static const unsigned sizes[] = {16, 64, 300, 1024, 5000, 9000};
    enum { CLASSES = ARRAY_LENGTH(sizes), STEPS = 60000, OF_A_CLASS = 3000 };
    (void)state;
    heap_configure(8, 0, 32 * MIB, false);
    struct heap *heap = heap_with(0, 0);
    unsigned emptied = 0;
    for (int step = 0; step < STEPS; step++) {
        bool more = step / OF_A_CLASS % 2 == 0;
        if (live_count < LIVE && (live_count == 0 || random_below(&seed, 100) < (more ? 90u : 10u))) {
            take_block(heap, sizeclass_of(sizes[step / (2 * OF_A_CLASS) % CLASSES]));
            *(uintptr_t *)live[live_count - 1].block = ~(uintptr_t)live[live_count - 1].block;
        } else {
            unsigned which = random_below(&seed, live_count);
            assert_int_equal(*(uintptr_t *)live[which].block, ~(uintptr_t)live[which].block);
            give_block(heap, which);
        }
        if (random_below(&seed, 100) == 0) {
            uint64_t before = heap->flushes;
            grow(heap, random_below(&seed, 2) ? heap->still.look_at : UNIT_SIZE);
            emptied += heap->flushes > before;
        }
    }
    assert_in_range(emptied, 10, STEPS);
    end_heap(heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(heap_rest_empties_what_is_at_rest, setup),
        cmocka_unit_test_setup(heap_rest_leaves_what_changes, setup),
        cmocka_unit_test_setup(heap_rest_sees_all_that_changes, setup),
        cmocka_unit_test_setup(heap_rest_leaves_what_is_not_worth_a_flush, setup),
        cmocka_unit_test_setup(heap_rest_gives_packs_up_by_and_by, setup),
        cmocka_unit_test_setup(heap_rest_ends_when_the_class_is_wanted, setup),
        cmocka_unit_test_setup(heap_rest_looks_at_nothing_meanwhile, setup),
        cmocka_unit_test_setup(heap_rest_empties_few_classes_at_once, setup),
        cmocka_unit_test_setup(heap_rest_leaves_waves, setup),
        cmocka_unit_test_setup(heap_rest_is_asked_where_a_heap_grows, setup),
        cmocka_unit_test_setup(heap_rest_random_program, setup),
    };
    superslab_configure(SIZE_MAX, true, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
