/* Unit tests of heap: whether a class comes in waves, and that what comes in waves goes to no slab. */
#include "heap_walk.h"
#include "no_large.h"

enum { CLASS = 2, OTHER = 3, MANY = 20000 };

/* As many blocks of the class are out as that. */
static void set_out(struct heap *heap, unsigned class, uint32_t out) {
    visit_enter(&heap->visit);
    if (!heap->waves)
        heap_note_waves(heap);
    heap->class[class].out = out;
    heap_note_out(heap, class);
    visit_leave(&heap->visit);
}

/* From none to `most`, by magazines. */
static void rise(struct heap *heap, unsigned class, uint32_t most) {
    for (uint32_t out = 100; out < most; out += 100)
        set_out(heap, class, out);
    set_out(heap, class, most);
}

/* All are freed: it is noted when the next ones are wanted. */
static void fall(struct heap *heap, unsigned class) {
    heap->class[class].out = 0;
}

/* The last of three waves is out. */
static void come_and_go(struct heap *heap, unsigned class, uint32_t most) {
    for (unsigned wave = 0; wave < 3; wave++) {
        fall(heap, class);
        rise(heap, class, most);
    }
}

static void end(struct heap *heap) {
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        fall(heap, class);
    heap_retire(heap);
    heap->waves = NULL; /* the next test is to find none */
}

/* The same of one with blocks of its own. */
static void end_of_blocks(struct heap *heap) {
    give_all(heap);
    heap_drain(heap);
    walk();
    end(heap);
}

/* A heap notes nothing before a class that is not small could not be put by. */
static void waves_of_a_small_class_are_not_noted(void **state) {
    (void)state;
    unsigned class = sizeclass_of(128), small = 384 * KIB / 128;
    heap_configure(8, 0, 32 * MIB, false);
    struct heap *heap = heap_take();
    for (unsigned wave = 0; wave < 3; wave++) {
        take_blocks(heap, class, small - HEAP_DEEP_WORDS);
        give_all(heap);
    }
    assert_true(heap_is_deep(&heap->class[class]));
    assert_null(heap->waves);
    take_blocks(heap, class, LIVE);
    give_all(heap);
    assert_non_null(heap->waves);
    assert_false(heap_has_waves(heap, class));
    heap_drain(heap);
    end(heap);
}

static void waves_are_seen_when_they_have_come_back_twice(void **state) {
    (void)state;
    struct heap *heap = heap_take();
    for (unsigned wave = 0; wave < 5; wave++) {
        assert_int_equal(heap->waves && heap_has_waves(heap, CLASS), wave > 2);
        rise(heap, CLASS, MANY);
        assert_int_equal(heap_has_waves(heap, CLASS), wave > 1);
        fall(heap, CLASS);
    }
    assert_false(heap_has_waves(heap, OTHER));
    end(heap);
}

static void waves_are_nearly_all_that_the_class_ever_had(void **state) {
    (void)state;
    struct heap *heap = heap_take();
    rise(heap, CLASS, MANY);
    for (unsigned wave = 0; wave < 5; wave++) { /* too few come back */
        fall(heap, CLASS);
        rise(heap, CLASS, MANY / 4 * 3 - 100);
    }
    assert_false(heap_has_waves(heap, CLASS));
    for (unsigned wave = 0; wave < 5; wave++) { /* too few go */
        set_out(heap, CLASS, MANY / 4);
        set_out(heap, CLASS, MANY);
    }
    assert_false(heap_has_waves(heap, CLASS));
    end(heap);
}

/* The next thread's program is another. */
static void waves_are_forgotten_when_a_thread_ends(void **state) {
    (void)state;
    struct heap *heap = heap_take();
    come_and_go(heap, CLASS, MANY);
    assert_true(heap_has_waves(heap, CLASS));
    fall(heap, CLASS);
    heap_retire(heap);
    assert_ptr_equal(heap_take(), heap);
    assert_non_null(heap->waves);
    for (unsigned wave = 0; wave < 3; wave++) { /* of fewer blocks */
        assert_false(heap_has_waves(heap, CLASS));
        fall(heap, CLASS);
        rise(heap, CLASS, MANY / 2);
    }
    assert_true(heap_has_waves(heap, CLASS));
    end(heap);
}

static bool returns(unsigned class) {
    struct heap *heap = heap_take();
    come_and_go(heap, class, 2 * MANY);
    bool waves = heap_has_waves(heap, class);
    end(heap);
    return waves;
}

static void waves_of_long_blocks_are_none(void **state) {
    (void)state;
    unsigned last = sizeclass_of(128);
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        assert_int_equal(returns(class), class <= last);
}

/* What one class puts by is memory that the other needs. */
static void waves_of_classes_by_turns_are_none(void **state) {
    (void)state;
    struct heap *heap = heap_take();
    for (unsigned wave = 0; wave < 5; wave++) {
        rise(heap, CLASS, MANY);
        assert_false(heap_has_waves(heap, CLASS));
        fall(heap, CLASS);
        rise(heap, OTHER, MANY);
        assert_false(heap_has_waves(heap, OTHER));
        fall(heap, OTHER);
    }
    end(heap);
}

static void waves_of_classes_at_once_are_seen(void **state) {
    (void)state;
    struct heap *heap = heap_take();
    for (unsigned wave = 0; wave < 4; wave++) {
        for (uint32_t out = 100; out <= MANY; out += 100) {
            set_out(heap, CLASS, out);
            set_out(heap, OTHER, out);
        }
        assert_int_equal(heap_has_waves(heap, CLASS), wave > 1);
        assert_int_equal(heap_has_waves(heap, OTHER), wave > 1);
        fall(heap, CLASS);
        fall(heap, OTHER);
    }
    end(heap);
}

/* One that comes back when others had more than it says nothing, and what was seen before is over. */
static void waves_end_when_others_had_more(void **state) {
    (void)state;
    struct heap *heap = heap_take();
    come_and_go(heap, CLASS, MANY);
    assert_true(heap_has_waves(heap, CLASS));
    rise(heap, OTHER, 2 * MANY);
    assert_true(heap_has_waves(heap, CLASS));
    fall(heap, OTHER);
    fall(heap, CLASS);
    rise(heap, CLASS, MANY);
    assert_false(heap_has_waves(heap, CLASS));
    end(heap);
}

static void waves_end_when_the_heap_grows(void **state) {
    (void)state;
    struct heap *heap = heap_take();
    come_and_go(heap, CLASS, MANY);
    assert_true(heap_has_waves(heap, CLASS));
    visit_enter(&heap->visit);
    heap_end_waves(heap, 1);
    visit_leave(&heap->visit);
    assert_false(heap_has_waves(heap, CLASS));
    fall(heap, CLASS);
    rise(heap, CLASS, MANY);
    assert_true(heap_has_waves(heap, CLASS));
    end(heap);
}

/* Beyond 5 MiB in use the order of frees is no good one. */
static void waves_of_a_large_heap_are_none(void **state) {
    (void)state;
    enum { RUNS = 6 };
    struct heap *heap = heap_take();
    struct superslab_run runs[RUNS];
    assert_in_range(superslab_used_bytes(), 0, 4 * MIB);
    for (unsigned i = 0; i < RUNS; i++)
        runs[i] = superslab_take(MIB / UNIT_SIZE, SUPERSLAB_MIXED);
    assert_in_range(superslab_used_bytes(), RUNS * MIB, SIZE_MAX);
    for (unsigned wave = 0; wave < 5; wave++) {
        rise(heap, CLASS, MANY);
        assert_int_equal(heap_has_waves(heap, CLASS), wave == 4);
        fall(heap, CLASS);
        for (unsigned i = 0; wave == 3 && i < RUNS; i++)
            superslab_give_empty(runs[i].home, runs[i].start, MIB / UNIT_SIZE);
    }
    end(heap);
}

enum { WAVE = 26000, LARGEST_WAVE = 100000 };

static void *wave[LARGEST_WAVE];

/* Freed at random. */
static void one_wave(struct heap *heap, unsigned class, unsigned count, uint64_t *seed) {
    for (unsigned i = 0; i < count; i++)
        wave[i] = take_raw(heap, class);
    for (unsigned left = count; left > 0; left--) {
        unsigned which = random_below(seed, left);
        give_raw(heap, class, wave[which]);
        wave[which] = wave[left - 1];
    }
}

/* Returns how many flushes a wave took. */
static uint64_t flushes_of(struct heap *heap, unsigned class, unsigned count, uint64_t *seed) {
    uint64_t before = heap->flushes;
    one_wave(heap, class, count, seed);
    return heap->flushes - before;
}

/* What is put by goes when the heap grows, and before that nothing does; all that was put by is found again. */
static void waves_go_to_no_slab(void **state) {
    (void)state;
    uint64_t seed = 7;
    unsigned class = sizeclass_of(128);
    assert_in_range(LIVE * 128, 384 * KIB + 1, SIZE_MAX);
    heap_configure(8, 0, 32 * MIB, false);
    struct heap *heap = heap_take();
    for (unsigned wave = 0; wave < 6; wave++) {
        uint64_t flushes = flushes_of(heap, class, LIVE, &seed);
        assert_int_equal(flushes == 0, wave > 1);
        walk();
    }
    assert_true(pack_is_deep(heap->packs.of[class].newest));
    unsigned put_by = heap->packs.count;
    assert_in_range(put_by, 33, 4096);
    while (heap->packs.count == put_by && live_count < LIVE)
        take_block(heap, sizeclass_of(1024));
    assert_int_equal(heap->packs.count, put_by - 16); /* fresh memory was taken */
    assert_false(heap_has_waves(heap, class));
    walk();
    end_of_blocks(heap);
}

/* A class may have most of the packs. */
static void waves_of_a_hundred_thousand_go_to_no_slab(void **state) {
    (void)state;
    uint64_t seed = 17;
    heap_configure(8, 0, 32 * MIB, false);
    struct heap *heap = heap_take();
    for (unsigned wave = 0; wave < 5; wave++)
        assert_int_equal(flushes_of(heap, sizeclass_of(32), LARGEST_WAVE, &seed) == 0, wave > 1);
    heap_drain(heap);
    end(heap);
}

/* 6,000 blocks a wave: as many as one heap may put by, and not two. */
static void waves_without_room_go_to_slabs(void **state) {
    (void)state;
    uint64_t seed = 11;
    unsigned class = sizeclass_of(128);
    heap_configure(8, 0, 4 * MIB, false);
    struct heap *heap = heap_take(), *other = heap_take();
    for (unsigned wave = 0; wave < 5; wave++) {
        take_blocks(heap, class, LIVE);
        while (live_count > 0) {
            give_block(heap, random_below(&seed, live_count));
            assert_in_range(heap->packs.of[class].count, 0, 32);
        }
    }
    assert_true(heap_has_waves(heap, class));
    heap_retire(other);
    assert_int_equal(flushes_of(heap, class, LIVE, &seed), 0);
    assert_in_range(heap->packs.of[class].count, 33, 4096);
    heap_drain(heap);
    end(heap);
}

/* So many that they are put by. */
static void waves_of_many(struct heap *heap, unsigned class, uint64_t *seed) {
    for (unsigned i = 0; i < 4; i++)
        one_wave(heap, class, WAVE, seed);
    assert_in_range(heap->packs.count, 257, 4096);
}

/* All that many packs hold goes, in equal parts, and what is in the magazine with the last one: all slabs but one are free. */
static void waves_of_many_end_wholly(void **state) {
    (void)state;
    uint64_t seed = 9;
    unsigned class = sizeclass_of(128), other = sizeclass_of(1024), third = sizeclass_of(64), parts = 0;
    heap_configure(8, 0, 32 * MIB, false);
    struct heap *heap = heap_take();
    take_block(heap, third);
    waves_of_many(heap, class, &seed);
    take_block(heap, third);
    give_block(heap, live_count - 1);
    assert_true(heap_has_waves(heap, class));
    unsigned put_by = heap->packs.count, before = put_by;
    assert_in_range(put_by, 257, 4096);
    assert_in_range(heap_held(heap, class), 1, HEAP_DEEP_WORDS);
    for (; heap->packs.count > 0; before = heap->packs.count) {
        while (heap->packs.count == before)
            take_block(heap, other);
        assert_int_equal(before - heap->packs.count, before < 192 ? before : 192);
        parts++;
        walk();
    }
    assert_int_equal(parts, (put_by + 191) / 192);
    assert_int_equal(heap_held(heap, class) + heap->class[class].spare_count, 0);
    assert_int_equal(heap->class[class].out, 0);
    assert_in_range(heap_held(heap, third), 1, HEAP_DEEP_WORDS); /* that of others stays */
    one_wave(heap, class, 3000, &seed); /* few packs again, and growth gives up few of them */
    unsigned few = heap->packs.count;
    assert_in_range(few, 17, 256);
    while (heap->packs.count == few)
        take_block(heap, other);
    assert_int_equal(heap->packs.count, few - 16);
    while (heap->packs.count > 0)
        take_block(heap, other);
    assert_in_range(heap_held(heap, class), 1, HEAP_DEEP_WORDS); /* few blocks stay at hand */
    end_of_blocks(heap);
}

static unsigned given_up_by(struct heap *heap, unsigned class) {
    unsigned before = heap->packs.count;
    while (heap->packs.count == before)
        take_block(heap, class);
    return before - heap->packs.count;
}

/* A heap whose slabs of a class have so many units by now. */
static struct heap *heap_with_slabs_of(unsigned class, unsigned units) {
    heap_configure(8, 0, 32 * MIB, false);
    struct heap *heap = heap_take();
    do
        take_block(heap, class);
    while (heap->class[class].carving->units < units);
    return heap;
}

/* For a slab of several units as many times more; and when waves have come back it is over. */
static void waves_end_by_what_a_slab_takes(void **state) {
    (void)state;
    uint64_t seed = 13;
    unsigned class = sizeclass_of(128), other = sizeclass_of(8 * KIB);
    struct heap *heap = heap_with_slabs_of(other, 2);
    waves_of_many(heap, class, &seed);
    assert_in_range(heap->packs.count, 257, 4096);
    unsigned given = given_up_by(heap, other);
    assert_in_range(heap->class[other].carving->units, 2, 4);
    assert_int_equal(given, 192 * sizeclass_table[other].units);
    visit_enter(&heap->visit);
    while (!heap_unpack_rested(heap, true))
        continue;
    visit_leave(&heap->visit);
    heap_drain(heap);
    one_wave(heap, class, WAVE, &seed);
    unsigned taken = 0;
    while (heap->packs.count > 200)
        wave[taken++] = take_raw(heap, class);
    assert_in_range(heap->packs.count, 100, 200);
    assert_int_equal(given_up_by(heap, sizeclass_of(1024)), 16);
    while (taken > 0)
        give_raw(heap, class, wave[--taken]);
    end_of_blocks(heap);
}

/* For a longer one no more than for four units: that is one call. */
static void waves_end_by_four_units_at_most(void **state) {
    (void)state;
    uint64_t seed = 19;
    unsigned other = sizeclass_of(32 * KIB);
    assert_int_equal(sizeclass_table[other].units, 8);
    struct heap *heap = heap_with_slabs_of(other, 8);
    waves_of_many(heap, sizeclass_of(128), &seed);
    assert_int_equal(given_up_by(heap, other), 768);
    end_of_blocks(heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(waves_of_a_small_class_are_not_noted, setup),
        cmocka_unit_test(waves_are_seen_when_they_have_come_back_twice),
        cmocka_unit_test(waves_are_nearly_all_that_the_class_ever_had),
        cmocka_unit_test(waves_are_forgotten_when_a_thread_ends),
        cmocka_unit_test(waves_of_long_blocks_are_none),
        cmocka_unit_test(waves_of_classes_by_turns_are_none),
        cmocka_unit_test(waves_of_classes_at_once_are_seen),
        cmocka_unit_test(waves_end_when_others_had_more),
        cmocka_unit_test(waves_end_when_the_heap_grows),
        cmocka_unit_test(waves_of_a_large_heap_are_none),
        cmocka_unit_test_setup(waves_go_to_no_slab, setup),
        cmocka_unit_test_setup(waves_of_a_hundred_thousand_go_to_no_slab, setup),
        cmocka_unit_test_setup(waves_without_room_go_to_slabs, setup),
        cmocka_unit_test_setup(waves_of_many_end_wholly, setup),
        cmocka_unit_test_setup(waves_end_by_what_a_slab_takes, setup),
        cmocka_unit_test_setup(waves_end_by_four_units_at_most, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
