/* Unit tests of guests: when a heap hosts, what it keeps, and that none gets to where only its own blocks may be (P7). Heaps and the
 * rooms below are real; the program runs on one CPU, so that four heaps are a crowd. */
#include "one_cpu.h"
#include "no_large.h"

#include "../../src/heap_guests.c"

#include "hands.h"
#include "kernel.h"
#include "unit/unit.h"

#include <string.h>

enum { HEAPS = 5, HALF_MAGAZINE = 16 };

static struct heap *heaps_taken[HEAPS], *host, *owner;

bool reach_possible(void) {
    return false;
}

bool reach_describe(struct reach_thread *thread, const void *word) {
    (void)thread, (void)word;
    return false;
}

void reach_describe_forked(struct reach_thread *thread, const struct reach_thread *parent) {
    thread->stack_end = parent->stack_end;
}

enum reach_found reach_begin(struct reach *reach, const struct reach_thread *thread) {
    (void)reach, (void)thread;
    return REACH_RUNS;
}

enum reach_found reach_confirm(struct reach *reach) {
    (void)reach;
    return REACH_RUNS;
}

void reach_end(struct reach *reach) {
    (void)reach;
}

static int setup(void **state) {
    if (!stay_on_one_cpu())
        return 1;
    memset(&heap_cpus, 0, sizeof heap_cpus);
    heap_configure(8, 0, 0, false);
    int result = kernel_reset(state);
    for (unsigned i = 0; i < HEAPS; i++)
        heaps_taken[i] = heap_take();
    host = heaps_taken[0];
    owner = heaps_taken[1];
    heap_post_first(host, take(owner));
    assert_ptr_equal(host->posting, host->outbox);
    give(host, take(host));
    return result;
}

static int teardown(void **state) {
    (void)state;
    for (unsigned i = 0; i < HEAPS; i++)
        if (heaps_taken[i])
            heap_retire(heaps_taken[i]);
    return 0;
}

/* As many as there is room for below the half. Returns how many. */
static unsigned fill_with_guests(void **guests) {
    unsigned kept = 0;
    heap_set_hosting(host, true);
    for (void *block = take(owner); kept <= HALF_MAGAZINE; block = take(owner)) {
        if (!heap_keep_guest(host, CLASS, block)) {
            give(owner, block);
            break;
        }
        guests[kept++] = block;
    }
    return kept;
}

static void heap_guests_are_what_is_handed_out_next(void **state) {
    (void)state;
    void *guests[HALF_MAGAZINE + 1];
    unsigned kept = fill_with_guests(guests);
    assert_in_range(kept, 1, HALF_MAGAZINE);
    assert_int_equal(host->kept, kept);
    assert_null(host->posting);
    assert_int_equal(host->outbox->count, 0);
    while (kept > 0)
        assert_ptr_equal(take(host), guests[--kept]);
}

static void heap_guests_need_an_array(void **state) {
    (void)state;
    heap_set_hosting(host, true);
    assert_null(host->class[CLASS + 1].array);
    assert_false(heap_keep_guest(host, CLASS + 1, host));
    assert_ptr_equal(host->top[CLASS + 1], heap_none.top[CLASS + 1]);
}

static void heap_P7_guests_leave_before_a_full_magazine_is_emptied(void **state) {
    (void)state;
    void *own[64], *guests[HALF_MAGAZINE + 1];
    for (unsigned i = 0; i < 64; i++)
        own[i] = take(host);
    give(host, own[63]);
    unsigned kept = fill_with_guests(guests);
    assert_true(kept > 0);
    for (unsigned i = 0; i < 63; i++)
        give(host, own[i]);
    assert_int_equal(host->outbox->count, kept);
    struct heap_class *mine = &host->class[CLASS];
    for (unsigned i = 0; i < mine->spare_count; i++)
        assert_int_equal(pagemap_tag(mine->spare->blocks[i]), host->tag | CLASS);
    heap_send(host);
    for (unsigned i = 0; i < kept; i++)
        assert_true(is_freed(guests[i]));
}

static void heap_P7_guests_go_home_when_magazines_are_drained(void **state) {
    (void)state;
    void *guests[HALF_MAGAZINE + 1];
    unsigned kept = fill_with_guests(guests);
    heap_empty(host);
    assert_int_equal(host->outbox->count, 0);
    for (unsigned i = 0; i < kept; i++)
        assert_true(is_freed(guests[i]));
    assert_true(host->hosted); /* it still hosts */
    heap_set_hosting(host, false);
    assert_true(host->hosted); /* guests may be left */
    heap_empty(host);
    assert_false(host->hosted);
}

static void heap_guests_are_none_of_the_next_thread(void **state) {
    (void)state;
    void *guests[HALF_MAGAZINE + 1];
    unsigned kept = fill_with_guests(guests);
    heap_retire(host);
    heaps_taken[0] = NULL;
    assert_true(is_freed(guests[kept - 1]));
    assert_false(heap_hosts(host) || host->hosted);
    assert_ptr_equal(host->posting, host->outbox);
}

/* A look after so many blocks were carved and so many of others freed. */
static bool hosts_after(unsigned carved, unsigned passed) {
    host->carved = carved;
    host->remote_frees += passed;
    heap_look_for_guests(host);
    return heap_hosts(host);
}

static void heap_hosts_when_what_it_passes_on_would_do(void **state) {
    (void)state;
    heap_passed_on(host);
    assert_false(hosts_after(CARVED_LOOK, CARVED_LOOK));
    assert_false(hosts_after(CARVED_LOOK, CARVED_LOOK / 4)); /* few: it begins anew */
    assert_false(hosts_after(CARVED_LOOK, CARVED_LOOK));
    assert_false(hosts_after(CARVED_LOOK, 2 * CARVED_LOOK)); /* it lives on what comes back */
    assert_false(hosts_after(CARVED_LOOK, CARVED_LOOK));
    assert_false(hosts_after(CARVED_LOOK - 1, 0)); /* no look yet */
    assert_true(hosts_after(CARVED_LOOK, CARVED_LOOK));
}

static void heap_hosts_no_longer_in_vain_or_alone(void **state) {
    (void)state;
    heap_set_hosting(host, true);
    heap_see_cpu();
    heap_passed_on(host);
    host->carved = CARVED_LOOK;
    host->kept += CARVED_LOOK / 2;
    heap_look_as_host(host);
    assert_true(heap_hosts(host));
    host->carved = CARVED_LOOK;
    host->kept += CARVED_LOOK / 4;
    heap_look_as_host(host);
    assert_false(heap_hosts(host));
    heap_set_hosting(host, true);
    heap_look_as_host(host);
    assert_true(heap_hosts(host));
    for (unsigned i = 3; i < HEAPS; i++) {
        heap_retire(heaps_taken[i]);
        heaps_taken[i] = NULL;
    }
    heap_look_as_host(host);
    assert_false(heap_hosts(host));
    assert_ptr_equal(host->posting, host->outbox);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(heap_guests_are_what_is_handed_out_next, setup, teardown),
        cmocka_unit_test_setup_teardown(heap_guests_need_an_array, setup, teardown),
        cmocka_unit_test_setup_teardown(heap_P7_guests_leave_before_a_full_magazine_is_emptied, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(heap_P7_guests_go_home_when_magazines_are_drained, setup, teardown),
        cmocka_unit_test_setup_teardown(heap_guests_are_none_of_the_next_thread, setup, teardown),
        cmocka_unit_test_setup_teardown(heap_hosts_when_what_it_passes_on_would_do, setup, teardown),
        cmocka_unit_test_setup_teardown(heap_hosts_no_longer_in_vain_or_alone, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
