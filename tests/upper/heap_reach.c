/* Unit tests of a visitor at the heap of a thread that sleeps, and of what a fork leaves. What is known of a thread is said
 * here; heaps and the rooms below are real. */
#include "../../src/heap_reach.c"
#include "no_large.h"

#include "hands.h"
#include "kernel.h"
#include "unit/unit.h"

#include <string.h>

static struct {
    enum reach_found begin, confirm; /* what is found */
    unsigned begun, ended;
    const struct heap *meanwhile; /* what the thread would have found */
} fake;

static struct heap *sleepers_word;

bool reach_possible(void) {
    return true;
}

bool reach_describe(struct reach_thread *thread, const void *word) {
    thread->number = word != NULL;
    return true;
}

void reach_describe_forked(struct reach_thread *thread, const struct reach_thread *parent) {
    thread->stack_end = parent->stack_end;
    thread->number = REACH_FORKED;
}

enum reach_found reach_begin(struct reach *reach, const struct reach_thread *thread) {
    assert_true(reach && thread->number != 0);
    fake.begun++;
    return fake.begin;
}

enum reach_found reach_confirm(struct reach *reach) {
    (void)reach;
    fake.meanwhile = sleepers_word;
    return fake.confirm;
}

void reach_end(struct reach *reach) {
    (void)reach;
    fake.ended++;
}

static int setup(void **state) {
    static struct visit nobody;
    memset(&fake, 0, sizeof fake);
    heap_configure(8, 0, 0, false);
    if (!visit_begin(&nobody))
        skip(); /* no visits here */
    visit_end(&nobody);
    return kernel_reset(state);
}

/* The heap of a thread that can be reached. */
static struct heap *sleeper(void) {
    struct heap *heap = heap_take();
    heap_make_reachable(heap);
    heap->current = &sleepers_word;
    return sleepers_word = heap;
}

static void end(struct heap *heap) {
    heap_move_in(heap);
    heap_retire(heap_move_out());
    assert_null(favour_seat); /* the next thread's, together with the heap */
}

/* Frees two of another's blocks: the first at once, the second is held back. */
static void *hold_back(struct heap *heap, struct heap *owner) {
    void *block = take(owner);
    heap_post_first(heap, take(owner));
    assert_false(heap_post(heap, CLASS, block));
    assert_false(is_freed(block));
    return block;
}

static void heap_reach_empties_what_a_sleeper_holds(void **state) {
    (void)state;
    struct heap *heap = sleeper(), *other = heap_take();
    fake.begin = fake.confirm = REACH_ASLEEP;
    void *block = take(heap), *held = hold_back(heap, other);
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS);
    assert_int_equal(fake.begun, 0); /* it has to rest first */
    assert_int_equal(heap_reach(heap, false), HEAP_REACHED);
    assert_int_equal(fake.begun + fake.ended, 2);
    assert_ptr_equal(fake.meanwhile, &heap_none);
    assert_ptr_equal(sleepers_word, heap);
    assert_null(*(void **)heap->top[CLASS]);
    assert_true(is_freed(held));
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS_NOTHING);
    give(heap, block);
    end(heap);
    end(other);
}

static void heap_reach_asks_the_busy_again_when_they_have_run(void **state) {
    (void)state;
    struct heap *heap = sleeper();
    fake.begin = REACH_ASLEEP;
    fake.confirm = REACH_BUSY;
    void *block = take(heap);
    assert_false(heap_is_out_of_reach(heap));
    assert_int_equal(heap_reach(heap, true), HEAP_HOLDS);
    assert_true(heap_is_out_of_reach(heap));
    assert_ptr_equal(sleepers_word, heap);
    assert_non_null(*(void **)heap->top[CLASS]);
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS_NOTHING); /* in vain */
    assert_int_equal(fake.begun, 1);
    assert_int_equal(heap_reach(heap, true), HEAP_HOLDS); /* who asks for all at once asks the busy, too */
    assert_int_equal(fake.begun, 2);
    give(heap, block);
    assert_false(heap_is_out_of_reach(heap));
    fake.confirm = REACH_ASLEEP;
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS);
    assert_int_equal(heap_reach(heap, false), HEAP_REACHED);
    end(heap);
}

static void heap_reach_sees_all_that_is_held(void **state) {
    (void)state;
    struct heap *heap = sleeper(), *other = heap_take();
    void *blocks[100];
    unsigned count = 0;
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS_NOTHING);
    while (count < 60)
        blocks[count++] = take(heap);
    while (heap->class[CLASS].spare_count == 0)
        give(heap, blocks[--count]);
    while (*(void **)heap->top[CLASS])
        blocks[count++] = take(heap);
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS); /* a spare only */
    while (count > 0)
        give(heap, blocks[--count]);
    heap_drain(heap);
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS_NOTHING);
    hold_back(heap, other);
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS); /* an outbox only */
    end(heap);
    end(other);
}

/* Nothing but marks: they count as something that is held, and a visitor collects them. */
static void heap_reach_collects_marks(void **state) {
    (void)state;
    enum { BLOCKS = 5000 };
    static void *blocks[BLOCKS];
    struct heap *heap = sleeper();
    unsigned count = 0;
    while (count < BLOCKS)
        blocks[count++] = take(heap);
    while (!heap->marks.slab || heap->marks.left % 2 == 0)
        give(heap, blocks[--count]);
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        assert_true(class == CLASS || !*(void **)heap->top[class]);
    fake.begin = fake.confirm = REACH_ASLEEP;
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS);
    give(heap, blocks[--count]);
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS); /* it does not rest */
    assert_int_equal(heap_reach(heap, false), HEAP_REACHED);
    assert_null(heap->marks.slab);
    assert_int_equal(heap->marking, SIZECLASS_COUNT);
    assert_int_equal(heap->class[CLASS].out, count);
    assert_int_equal(heap_reach(heap, false), HEAP_HOLDS_NOTHING);
    while (count > 0)
        give(heap, blocks[--count]);
    end(heap);
}

/* A thread that needs another slab has sent what it held back: its owner may have use for it, and it counts as freed. */
static void heap_sends_before_it_grows(void **state) {
    (void)state;
    struct heap *heap = heap_take(), *other = heap_take();
    void *held = hold_back(heap, other);
    uint64_t flushed = heap->flushed;
    struct slab *first = pagemap_record(take(heap));
    while (pagemap_record(take(heap)) == first)
        continue;
    assert_true(is_freed(held));
    assert_true(heap->flushed > flushed);
    end(heap);
    end(other);
}

/* Of the threads there were the calling one is left. What it held back for others is sent: the heap that it leaves may never
 * be used again. */
static void heap_is_left_after_a_fork(void **state) {
    (void)state;
    struct heap *mine = heap_take(), *theirs = sleeper();
    heap_move_in(mine);
    assert_false(heap_can_reach());
    heap_make_reachable(mine);
    assert_true(heap_can_reach());
    void *held = hold_back(mine, theirs);
    heap_own->hand.may = true;
    heap_in_child();
    assert_int_equal(hands_in_child, 1);
    heap_own->hand.may = false;
    assert_null(theirs->current);
    assert_int_equal(mine->thread.number + theirs->thread.number, 0);
    assert_false(heap_can_reach());
    assert_ptr_equal(heap_load(), &heap_none);
    struct heap *own = heap_mine();
    assert_true(own != mine && own != theirs && mine->inherited && !mine->current);
    assert_true(is_freed(held));
    assert_true(heap_load() == own && heap_own == own && own->current == &heap_current.heap);
    assert_ptr_equal(favour_seat, &own->hand.seat);
    assert_int_equal(own->thread.number, REACH_FORKED);
    end(heap_move_out());
    end(theirs);
    assert_false(heap_can_reach());
    struct heap *next = sleeper();
    assert_false(heap_can_reach()); /* the only one */
    end(next);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(heap_reach_empties_what_a_sleeper_holds, setup),
        cmocka_unit_test_setup(heap_reach_asks_the_busy_again_when_they_have_run, setup),
        cmocka_unit_test_setup(heap_reach_sees_all_that_is_held, setup),
        cmocka_unit_test_setup(heap_reach_collects_marks, setup),
        cmocka_unit_test_setup(heap_sends_before_it_grows, setup),
        cmocka_unit_test_setup(heap_is_left_after_a_fork, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
