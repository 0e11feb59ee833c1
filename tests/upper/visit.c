/* Unit tests of visit: an owner and a visitor, on real threads. */
#include "visit.h"

#include "unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static struct visit visit;
static struct {
    uint64_t one, other; /* always equal outside; plain, so that ThreadSanitizer looks on */
    _Atomic bool stop;
    _Atomic unsigned stage;
} shared;

static void work(void) {
    shared.one++;
    assert_int_equal(shared.one, shared.other + 1); /* nobody else is inside */
    shared.other++;
}

static void *own(void *nothing) {
    while (!atomic_load(&shared.stop)) {
        visit_enter(&visit);
        work();
        visit_leave(&visit);
        if (visit_try(&visit)) {
            work();
            visit_leave(&visit);
        }
    }
    return nothing;
}

static bool visits_are_possible(void) {
    static struct visit nobody;
    bool possible = visit_begin(&nobody);
    if (possible)
        visit_end(&nobody);
    return possible;
}

static void visit_P1_owner_and_visitor_are_never_both_inside(void **state) {
    (void)state;
    pthread_t owner;
    if (!visits_are_possible())
        skip(); /* no membarrier here */
    assert_int_equal(pthread_create(&owner, NULL, own, NULL), 0);
    unsigned visits = 0;
    for (unsigned tries = 0; visits < 500 && tries < 100000; tries++) {
        if (!visit_begin(&visit)) {
            sched_yield();
            continue;
        }
        work();
        visit_end(&visit);
        visits++;
    }
    atomic_store(&shared.stop, true);
    pthread_join(owner, NULL);
    assert_true(visits > 0);
    assert_int_equal(shared.one, shared.other);
}

/* Who may not wait stays outside, and the visitor is not kept by it. */
static void visit_P1_an_owner_may_turn_away(void **state) {
    (void)state;
    if (!visits_are_possible())
        skip();
    assert_true(visit_begin(&visit));
    assert_false(visit_try(&visit));
    assert_false(visit_is_busy(&visit));
    visit_end(&visit);
    assert_true(visit_try(&visit));
    assert_true(visit_is_busy(&visit));
    visit_leave(&visit);
    assert_false(visit_is_busy(&visit));
}

static void *come_in(void *nothing) {
    atomic_store(&shared.stage, 1);
    visit_enter(&visit);
    atomic_store(&shared.stage, 2);
    visit_leave(&visit);
    return nothing;
}

static void visit_P2_an_owner_waits_for_one_visit(void **state) {
    (void)state;
    pthread_t owner;
    if (!visits_are_possible())
        skip();
    assert_true(visit_begin(&visit));
    assert_int_equal(pthread_create(&owner, NULL, come_in, NULL), 0);
    while (atomic_load(&shared.stage) == 0)
        sched_yield();
    usleep(20000);
    assert_int_equal(atomic_load(&shared.stage), 1);
    visit_end(&visit);
    pthread_join(owner, NULL);
    assert_int_equal(atomic_load(&shared.stage), 2);
}

static void visit_P3_a_visitor_gives_up(void **state) {
    (void)state;
    visit_enter(&visit);
    assert_false(visit_begin(&visit));
    visit_leave(&visit);
    visit_enter(&visit); /* and is not waited for */
    visit_leave(&visit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visit_P1_owner_and_visitor_are_never_both_inside),
        cmocka_unit_test(visit_P1_an_owner_may_turn_away),
        cmocka_unit_test(visit_P2_an_owner_waits_for_one_visit),
        cmocka_unit_test(visit_P3_a_visitor_gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
