/* Unit tests of purge: heaps, superslabs and cached mappings are numbers. */
#include "purge.h"

#include "boxes.h"
#include "large.h"

#include "unit/unit.h"

#include <limits.h>
#include <string.h>

struct heap heap_none;
THREAD_LOCAL struct heap *heap_current = &heap_none;

static struct {
    size_t dirty, piece, unmappable, cached; /* bytes; piece: what one advice gives back */
    unsigned advices, steps, drained, idle_drained;
} fake;

size_t superslab_dirty_bytes(void) {
    return fake.dirty;
}

size_t superslab_purge(size_t keep, unsigned calls) {
    size_t before = fake.dirty;
    for (fake.steps++; calls > 0 && fake.dirty > keep; calls--, fake.advices++)
        fake.dirty -= fake.dirty < fake.piece ? fake.dirty : fake.piece;
    return before - fake.dirty;
}

size_t superslab_unmap_free(void) {
    size_t bytes = fake.unmappable;
    fake.unmappable = 0;
    return bytes;
}

size_t large_purge(size_t keep) {
    size_t bytes = fake.cached > keep ? fake.cached - keep : 0;
    fake.cached -= bytes;
    return bytes;
}

void heap_drain(struct heap *heap) {
    assert_ptr_not_equal(heap, &heap_none);
    fake.drained++;
    fake.dirty += fake.piece;
}

void heap_drain_idle(void) {
    fake.idle_drained++;
    fake.dirty += fake.piece;
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.piece = MIB;
    heap_current = &heap_none;
    purge_keep_free = 64 * MIB;
    return 0;
}

static void purge_P1_one_call_gives_few_pieces_of_advice(void **state) {
    (void)state;
    fake.dirty = GIB;
    purge_after_free();
    assert_int_equal(fake.advices, PURGE_ADVICE_AT_ONCE);
}

static void purge_does_nothing_below_the_limit(void **state) {
    (void)state;
    fake.dirty = 64 * MIB;
    purge_after_free();
    assert_int_equal(fake.steps, 0);
    fake.dirty++;
    purge_after_free();
    assert_int_equal(fake.steps, 1);
}

static void purge_P2_advice_comes_a_quarter_of_the_limit_apart(void **state) {
    (void)state;
    fake.piece = 4 * MIB;
    fake.dirty = 64 * MIB + 1;
    purge_after_free();
    assert_true(fake.dirty <= 48 * MIB);
    unsigned advices = fake.advices;
    for (size_t freed = 0; freed < 16 * MIB; freed += 64 * KIB) {
        fake.dirty += 64 * KIB;
        purge_after_free();
    }
    assert_int_equal(fake.advices, advices);
}

static void purge_with_a_limit_of_nothing(void **state) {
    (void)state;
    purge_keep_free = 0;
    fake.dirty = 3 * MIB;
    purge_after_free();
    assert_int_equal(fake.dirty, 0);
    purge_after_free();
    assert_int_equal(fake.steps, 1);
}

static void purge_all_gives_everything_back(void **state) {
    (void)state;
    static struct heap heap;
    fake.dirty = 100 * MIB;
    fake.cached = 5 * MIB;
    fake.unmappable = MIB;
    assert_int_equal(purge_all(), 106 * MIB);
    assert_int_equal(fake.drained, 0);
    heap_current = &heap;
    assert_int_equal(purge_all(), 2 * MIB);
    assert_int_equal(fake.drained, 1);
    assert_int_equal(fake.idle_drained, 2);
    assert_int_equal(fake.unmappable, MIB);
    fake.cached = 5 * MIB;
    assert_int_equal(purge_for_space(), 8 * MIB);
    assert_int_equal(fake.dirty + fake.cached + fake.unmappable, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(purge_P1_one_call_gives_few_pieces_of_advice, setup),
        cmocka_unit_test_setup(purge_does_nothing_below_the_limit, setup),
        cmocka_unit_test_setup(purge_P2_advice_comes_a_quarter_of_the_limit_apart, setup),
        cmocka_unit_test_setup(purge_with_a_limit_of_nothing, setup),
        cmocka_unit_test_setup(purge_all_gives_everything_back, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
