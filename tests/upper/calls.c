/* Unit tests of the room calls: which bucket a call is in, and what the ring holds. */
#include "../../src/calls.c"

#include "kernel.h"
#include "unit/unit.h"

#include <string.h>

static int setup(void **state) {
    kernel_reset(state);
    memset(&calls_state, 0, sizeof calls_state);
    return 0;
}

/* Where a bucket begins: what a reader makes of its number. */
static uint64_t begins(unsigned bucket) {
    if (bucket < CALLS_EXACT)
        return bucket;
    unsigned octave = (bucket - CALLS_EXACT) / CALLS_STEPS, step = (bucket - CALLS_EXACT) % CALLS_STEPS;
    return (uint64_t)(CALLS_STEPS + step) << (octave + 1);
}

static void calls_P1_buckets_follow_each_other(void **state) {
    (void)state;
    for (unsigned bucket = 0; bucket + 1 < CALLS_BUCKETS; bucket++) {
        assert_int_equal(calls_bucket(begins(bucket)), bucket);
        assert_int_equal(calls_bucket(begins(bucket + 1) - 1), bucket);
        assert_true(begins(bucket + 1) - begins(bucket) <= 1 + begins(bucket) / CALLS_STEPS);
    }
    assert_int_equal(calls_bucket(UINT64_MAX), CALLS_BUCKETS - 1);
}

static void calls_P1_every_call_is_counted(void **state) {
    calls_configure(true, 0);
    struct calls *calls = calls_new();
    assert_non_null(calls);
    assert_null(calls->ring);
    for (unsigned kind = 0; kind < CALLS_KINDS; kind++)
        for (unsigned i = 0; i < 5000 * (kind + 1); i++)
            calls_note(calls, (enum calls_kind)kind, os_ticks(), state, 16, NULL);
    for (unsigned kind = 0; kind < CALLS_KINDS; kind++) {
        uint64_t sum = 0;
        for (unsigned bucket = 0; bucket < CALLS_BUCKETS; bucket++)
            sum += calls->counts[kind][bucket];
        assert_int_equal(sum, 5000 * (kind + 1));
    }
    assert_int_equal(calls->written, 5000 * 15);
    calls_note(calls, CALLS_FREE, os_ticks() - ((uint64_t)1 << 36), state, 16, NULL);
    uint64_t long_ones = 0;
    for (unsigned bucket = calls_bucket((uint64_t)1 << 35); bucket < CALLS_BUCKETS; bucket++)
        long_ones += calls->counts[CALLS_FREE][bucket];
    assert_int_equal(long_ones, 1);
}

static void calls_P2_the_ring_holds_the_last(void **state) {
    (void)state;
    calls_configure(false, 7);
    struct calls *calls = calls_new();
    assert_int_equal(calls->size, 7);
    for (uintptr_t i = 0; i < 20; i++)
        calls_note(calls, i % 2 ? CALLS_FREE : CALLS_MALLOC, 1000 + i, (void *)(i * 16), i, (void *)(i + 1));
    assert_int_equal(calls->written, 20);
    for (uintptr_t i = 13; i < 20; i++) {
        const struct calls_event *event = &calls->ring[i % 7];
        assert_int_equal(event->ticks, 1000 + i);
        assert_int_equal(event->address, i * 16);
        assert_int_equal(event->caller, i + 1);
        assert_int_equal(event->bytes & (((uint64_t)1 << KIND_SHIFT) - 1), i);
        assert_int_equal(event->bytes >> KIND_SHIFT, i % 2 ? CALLS_FREE : CALLS_MALLOC);
    }
    for (unsigned bucket = 0; bucket < CALLS_BUCKETS; bucket++)
        assert_int_equal(calls->counts[CALLS_MALLOC][bucket], 0); /* not asked for */
}

static void calls_clock_is_read_now_and_then(void **state) {
    calls_configure(true, 0);
    struct calls *calls = calls_new();
    uint64_t ticks = calls_state.last_ticks, ns = calls_state.last_ns;
    assert_int_equal(ticks, calls_state.first_ticks);
    assert_true(calls_state.overhead < 1000000);
    for (unsigned i = 1; i <= 4 * CLOCK_EVERY; i++) {
        calls_note(calls, CALLS_MALLOC, os_ticks(), state, 16, NULL);
        bool due = i % CLOCK_EVERY == 0 || (i & (i - 1)) == 0; /* of a process that makes few calls, too */
        assert_int_equal(calls_state.last_ticks > ticks, due);
        assert_true(calls_state.last_ns >= ns);
        ticks = calls_state.last_ticks, ns = calls_state.last_ns;
    }
    assert_true(ns > calls_state.first_ns);
    calls_finish();
    assert_true(calls_state.last_ticks > ticks);
}

static void calls_without_memory(void **state) {
    kernel.map.refuse = ALWAYS;
    calls_configure(true, 1 << 24);
    struct calls *calls = calls_new(); /* there may be room for it, but not for so long a ring */
    assert_true(calls == NULL || calls->size == 0);
    if (calls)
        calls_note(calls, CALLS_MALLOC, os_ticks(), state, 16, NULL);
}

static void calls_nothing_where_nobody_asks(void **state) {
    (void)state;
    calls_configure(false, 0);
    assert_false(calls_wanted());
    calls_finish();
    assert_int_equal(calls_state.last_ns, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(calls_P1_buckets_follow_each_other, setup),
        cmocka_unit_test_setup(calls_P1_every_call_is_counted, setup),
        cmocka_unit_test_setup(calls_P2_the_ring_holds_the_last, setup),
        cmocka_unit_test_setup(calls_clock_is_read_now_and_then, setup),
        cmocka_unit_test_setup(calls_without_memory, setup),
        cmocka_unit_test_setup(calls_nothing_where_nobody_asks, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
