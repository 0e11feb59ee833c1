/* Unit tests of remote, on units that nobody may touch: a free reads and writes no block. */
#include "../../src/remote.c"

#include "arena.h"
#include "kernel.h"
#include "pop.h"

#include <pthread.h>
#include <string.h>

enum { FREERS = 4 };

static struct inbox inboxes[2];
static unsigned reported[MISUSE_KINDS];

void misuse_report(enum misuse kind, const void *address) {
    assert_non_null(address);
    reported[kind]++;
}

static int setup(void **state) {
    memset(inboxes, 0, sizeof inboxes);
    memset(reported, 0, sizeof reported);
    return kernel_reset(state);
}

/* A slab all of whose blocks are in the program's hands. */
static struct slab *new_full_slab(unsigned class, void **blocks) {
    struct slab *slab = slab_new(class, &inboxes[0], 0x100 | class);
    assert_non_null(slab);
    assert_int_equal(pop_ascending(slab, blocks, 4096, true), slab->blocks);
    return slab;
}

/* Collects what is in the inbox; returns how many slabs there were. */
static unsigned collect(struct inbox *inbox) {
    unsigned slabs = 0;
    for (struct slab *slab = remote_take(inbox), *next; slab; slab = next) {
        next = __atomic_load_n(&slab->inbox_next, __ATOMIC_RELAXED);
        remote_collect(slab);
        slabs++;
    }
    return slabs;
}

static void delete_slab(struct slab *slab) {
    assert_true(slab_is_empty(slab));
    slab_delete(slab);
    assert_int_equal(arena.in_use, 0);
}

static void remote_P1_blocks_of_one_slab_travel_together(void **state) {
    (void)state;
    static void *blocks[4096];
    struct slab *slab = new_full_slab(0, blocks);
    for (unsigned i = 0; i < slab->blocks; i++) {
        assert_false(remote_is_waiting(slab, i));
        assert_int_equal(remote_free(slab, blocks[i]), SLAB_OK);
        assert_true(remote_is_waiting(slab, i));
        assert_ptr_equal(inboxes[0].head, slab);
        assert_null(slab->inbox_next);
    }
    assert_int_equal(slab->free, 0);
    assert_int_equal(collect(&inboxes[0]), 1);
    assert_int_equal(slab->remote_summary, 0);
    assert_int_equal(slab->free, slab->blocks);
    assert_false(remote_is_waiting(slab, 7));
    delete_slab(slab);
}

/* Between the first bit of a word and its mark in the summary, others add bits: only the first one marks. */
static void remote_P1_who_sets_the_first_bit_marks_the_word(void **state) {
    (void)state;
    void *blocks[64];
    struct slab *slab = new_full_slab(40, blocks);
    slab->bits[slab->words] = 1;
    for (unsigned i = 1; i < slab->blocks; i++)
        assert_int_equal(remote_free(slab, blocks[i]), SLAB_OK);
    assert_int_equal(slab->remote_summary, 0);
    assert_null(inboxes[0].head);
    slab->remote_summary = 1;
    remote_deliver(slab);
    assert_int_equal(collect(&inboxes[0]), 1);
    delete_slab(slab);
}

static void remote_inbox_holds_many_slabs(void **state) {
    (void)state;
    void *blocks[3][64];
    struct slab *slabs[3];
    for (int i = 0; i < 3; i++) {
        slabs[i] = new_full_slab(40, blocks[i]);
        assert_int_equal(remote_free(slabs[i], blocks[i][0]), SLAB_OK);
    }
    assert_int_equal(collect(&inboxes[0]), 3);
    assert_null(remote_take(&inboxes[0]));
    for (int i = 0; i < 3; i++) {
        for (unsigned block = 1; block < slabs[i]->blocks; block++)
            assert_int_equal(slab_push(slabs[i], blocks[i][block]), SLAB_OK);
        assert_true(slab_is_empty(slabs[i]));
        slab_delete(slabs[i]);
    }
    assert_int_equal(arena.in_use, 0);
}

static void remote_slab_is_handed_over_again_to_its_new_owner(void **state) {
    (void)state;
    void *blocks[64];
    struct slab *slab = new_full_slab(40, blocks);
    assert_int_equal(remote_free(slab, blocks[0]), SLAB_OK);
    slab_change_owner(slab, &inboxes[1], 0x200 | 40);
    assert_int_equal(remote_free(slab, blocks[1]), SLAB_OK);
    assert_null(inboxes[1].head);
    struct slab *lost = remote_take(&inboxes[0]);
    assert_ptr_equal(lost, slab);
    remote_deliver(lost);
    assert_null(inboxes[0].head);
    assert_int_equal(collect(&inboxes[1]), 1);
    assert_int_equal(slab->free, 2);
    assert_int_equal(remote_free(slab, blocks[2]), SLAB_OK);
    assert_int_equal(collect(&inboxes[1]), 1);
    for (unsigned block = 3; block < slab->blocks; block++)
        assert_int_equal(slab_push(slab, blocks[block]), SLAB_OK);
    delete_slab(slab);
}

static void remote_misuse_changes_nothing(void **state) {
    (void)state;
    void *blocks[512];
    struct slab *slab = slab_new(7, &inboxes[0], 0x107);
    assert_int_equal(pop_ascending(slab, blocks, 4, true), 4);
    assert_int_equal(remote_free(slab, (char *)blocks[0] + 8), SLAB_INSIDE);
    assert_int_equal(remote_free(slab, slab->start + UNIT_SIZE), SLAB_INSIDE);
    assert_int_equal(slab_push(slab, blocks[1]), SLAB_OK);
    assert_int_equal(remote_free(slab, blocks[1]), SLAB_DOUBLE_FREE);
    assert_null(inboxes[0].head);
    assert_int_equal(remote_free(slab, blocks[0]), SLAB_OK);
    assert_int_equal(remote_free(slab, blocks[0]), SLAB_DOUBLE_FREE);
    /* Never handed out: seen when it is collected, like a block that its owner frees meanwhile. */
    assert_int_equal(remote_free(slab, slab->start + 5 * 128), SLAB_OK);
    assert_int_equal(remote_free(slab, blocks[2]), SLAB_OK);
    assert_int_equal(slab_push(slab, blocks[2]), SLAB_OK);
    assert_int_equal(collect(&inboxes[0]), 1);
    assert_int_equal(reported[MISUSE_DOUBLE_FREE], 1);
    assert_int_equal(slab->free, 3);
    assert_int_equal(slab_push(slab, blocks[3]), SLAB_OK);
    delete_slab(slab);
}

static struct {
    struct slab *slab;
    void *blocks[4096];
    unsigned working; /* threads that still free */
} hammer;

static void *free_every_fourth(void *from) {
    unsigned failed = 0;
    for (size_t i = (size_t)from; i < hammer.slab->blocks; i += FREERS)
        failed += remote_free(hammer.slab, hammer.blocks[i]) != SLAB_OK;
    __atomic_fetch_sub(&hammer.working, 1, __ATOMIC_RELEASE);
    return (void *)(size_t)failed;
}

/* Threads free interleaved blocks while the owner collects: each block comes back once. */
static void hammer_round(bool owner_changes) {
    pthread_t threads[FREERS];
    struct slab *slab = hammer.slab = new_full_slab(0, hammer.blocks);
    hammer.working = FREERS;
    for (size_t i = 0; i < FREERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, free_every_fourth, (void *)i), 0);
    for (unsigned turn = 0; __atomic_load_n(&hammer.working, __ATOMIC_ACQUIRE) > 0; turn++) {
        struct inbox *mine = &inboxes[turn / 2 % 2];
        if (owner_changes && turn % 2 == 0)
            slab_change_owner(slab, mine, 0x100);
        struct slab *found = remote_take(mine), *stray = remote_take(&inboxes[0]);
        if (stray && slab->owner != &inboxes[0])
            remote_deliver(stray);
        else if (stray)
            remote_collect(stray);
        if (found)
            remote_collect(found);
    }
    for (size_t i = 0; i < FREERS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_true(collect(&inboxes[0]) + collect(&inboxes[1]) <= 1);
    assert_int_equal(slab->free, slab->blocks);
    assert_int_equal(slab->remote_summary, 0);
    delete_slab(slab);
}

static void remote_P2_P3_each_bit_is_collected_once(void **state) {
    (void)state;
    for (int round = 0; round < 50; round++)
        hammer_round(false);
    assert_int_equal(reported[MISUSE_DOUBLE_FREE], 0);
}

static void remote_P2_while_the_owner_changes(void **state) {
    (void)state;
    for (int round = 0; round < 50; round++)
        hammer_round(true);
    assert_int_equal(reported[MISUSE_DOUBLE_FREE], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(remote_P1_blocks_of_one_slab_travel_together, setup),
        cmocka_unit_test_setup(remote_P1_who_sets_the_first_bit_marks_the_word, setup),
        cmocka_unit_test_setup(remote_inbox_holds_many_slabs, setup),
        cmocka_unit_test_setup(remote_slab_is_handed_over_again_to_its_new_owner, setup),
        cmocka_unit_test_setup(remote_misuse_changes_nothing, setup),
        cmocka_unit_test_setup(remote_P2_P3_each_bit_is_collected_once, setup),
        cmocka_unit_test_setup(remote_P2_while_the_owner_changes, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
