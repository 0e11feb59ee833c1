/* Unit tests of remote, on units that nobody may touch: a free reads and writes no block. */
#include "slab.h"

/* Counts the operations on shared words; the rooms' headers have theirs behind them. */
static _Thread_local unsigned atomic_operations;
#define __atomic_fetch_or(place, bits, order) (atomic_operations++, __atomic_fetch_or(place, bits, order))
#include "../../src/remote.c"
#include "../../src/remote_send.c"
#undef __atomic_fetch_or

#include "arena.h"
#include "kernel.h"
#include "large.h"
#include "metadata.h"
#include "pop.h"
#include "random.h"

#include <pthread.h>
#include <string.h>

enum { FREERS = 4 };

static struct inbox inboxes[2];
static struct slab_hand *hand; /* with nothing at hand */
static unsigned reported[MISUSE_KINDS];
static const void *reported_at; /* the last one */

void misuse_report(enum misuse kind, const void *address) {
    assert_non_null(address);
    reported[kind]++;
    reported_at = address;
}

static struct outbox outbox;

static int setup(void **state) {
    memset(inboxes, 0, sizeof inboxes);
    memset(reported, 0, sizeof reported);
    memset(&outbox, 0, sizeof outbox);
    return kernel_reset(state);
}

/* The same, where blocks were found to be in no order. */
static int setup_scattered(void **state) {
    int done = setup(state);
    outbox.scattered = UINT32_MAX;
    return done;
}

/* The same, where blocks were found to be alone in their words. */
static int setup_alone(void **state) {
    int done = setup(state);
    outbox.alone = UINT32_MAX;
    return done;
}

/* A slab all of whose blocks are in the program's hands. */
static struct slab *new_full_slab(unsigned class, void **blocks) {
    struct slab *slab =
        slab_new(&hand, class, sizeclass_table[class].units, false, &inboxes[0], 0x100 | class);
    assert_non_null(slab);
    assert_int_equal(pop_ascending(slab, blocks, 4096, true), slab->blocks);
    return slab;
}

/* A slab of any class out of the inbox. */
static struct slab *take(struct inbox *inbox) {
    struct slab *slab = NULL;
    for (unsigned class = 0; !slab && class < SIZECLASS_COUNT; class ++)
        slab = remote_take(inbox, class);
    return slab;
}

static bool nothing_in(const struct inbox *inbox) {
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        if (inbox->head[class])
            return false;
    return true;
}

/* Collects what is in the inbox; returns how many slabs there were. */
static unsigned collect(struct inbox *inbox) {
    unsigned slabs = 0;
    for (struct slab *slab; (slab = take(inbox)); slabs++)
        remote_collect(slab);
    return slabs;
}

static void delete_slab(struct slab *slab) {
    assert_true(slab_is_empty(slab));
    slab_delete(&hand, slab);
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
        assert_ptr_equal(inboxes[0].head[slab->class], slab);
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
    *slab_remote_word(slab, 40, 0) = 1;
    for (unsigned i = 1; i < slab->blocks; i++)
        assert_int_equal(remote_free(slab, blocks[i]), SLAB_OK);
    assert_int_equal(slab->remote_summary, 0);
    assert_true(nothing_in(&inboxes[0]));
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
    assert_null(take(&inboxes[0]));
    for (int i = 0; i < 3; i++) {
        for (unsigned block = 1; block < slabs[i]->blocks; block++)
            assert_int_equal(slab_push(slabs[i], blocks[i][block]), SLAB_OK);
        assert_true(slab_is_empty(slabs[i]));
        slab_delete(&hand, slabs[i]);
    }
    assert_int_equal(arena.in_use, 0);
}

/* Who wants blocks of one class gets no slab of another; and what waits fills up without being delivered again. */
static void remote_P1_slabs_wait_by_class(void **state) {
    (void)state;
    void *blocks[4][64];
    struct slab *slabs[4];
    for (unsigned i = 0; i < 4; i++) {
        slabs[i] = new_full_slab(40 + i % 2, blocks[i]);
        assert_int_equal(remote_free(slabs[i], blocks[i][0]), SLAB_OK);
    }
    assert_null(remote_take(&inboxes[0], 39));
    assert_ptr_equal(remote_take(&inboxes[0], 40), slabs[2]); /* and slab 0 with it, which waits on */
    assert_int_equal(remote_collect(slabs[2]), 1);
    unsigned before = atomic_operations;
    assert_int_equal(remote_free(slabs[0], blocks[0][1]), SLAB_OK);
    assert_int_equal(atomic_operations - before, 1);
    assert_int_equal(remote_free(slabs[2], blocks[2][1]), SLAB_OK); /* behind what was taken */
    assert_false(nothing_in(&inboxes[0]));
    assert_ptr_equal(remote_take(&inboxes[0], 40), slabs[0]);
    assert_int_equal(remote_collect(slabs[0]), 1);
    assert_int_equal(slabs[0]->free, 2);
    assert_ptr_equal(remote_take(&inboxes[0], 40), slabs[2]);
    assert_int_equal(remote_collect(slabs[2]), 1);
    assert_null(remote_take(&inboxes[0], 40));
    assert_ptr_equal(remote_take(&inboxes[0], 41), slabs[3]);
    assert_true(nothing_in(&inboxes[0])); /* though slab 1 is to be collected */
    assert_ptr_equal(remote_take(&inboxes[0], 41), slabs[1]);
    assert_null(remote_take(&inboxes[0], 41));
    remote_collect(slabs[1]);
    remote_collect(slabs[3]);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned block = 0; block < slabs[i]->blocks; block++)
            if (!(slabs[i]->bits[block / 64] >> block % 64 & 1))
                assert_int_equal(slab_push(slabs[i], blocks[i][block]), SLAB_OK);
        slab_delete(&hand, slabs[i]);
    }
    assert_int_equal(arena.in_use, 0);
}

/* A class is marked by the first slab that comes, and until it was asked for and had none. */
static void remote_classes_are_marked(void **state) {
    (void)state;
    static const unsigned classes[] = {70, 3, 71, 63, 64};
    static void *blocks[ARRAY_LENGTH(classes)][4096];
    struct slab *slabs[ARRAY_LENGTH(classes)];
    assert_false(remote_waits(&inboxes[0]));
    assert_int_equal(remote_class(&inboxes[0]), SIZECLASS_COUNT);
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++) {
        slabs[i] = new_full_slab(classes[i], blocks[i]);
        assert_int_equal(remote_free(slabs[i], blocks[i][0]), SLAB_OK);
        assert_true(remote_waits(&inboxes[0]));
    }
    uint64_t found[2] = {0};
    for (unsigned class; (class = remote_class(&inboxes[0])) < SIZECLASS_COUNT;) {
        found[class / 64] |= 1ULL << class % 64;
        assert_int_equal(remote_class(&inboxes[0]), class); /* until it is done */
        struct slab *slab = remote_take(&inboxes[0], class);
        assert_int_equal(slab->class, class);
        remote_collect(slab);
        assert_null(remote_take(&inboxes[0], class));
        remote_class_done(&inboxes[0], class);
    }
    assert_int_equal(found[0], 1ULL << 63 | 1ULL << 3);
    assert_int_equal(found[1], 1ULL << 7 | 1ULL << 6 | 1);
    assert_false(remote_waits(&inboxes[0]));
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++) {
        for (unsigned block = 1; block < slabs[i]->blocks; block++)
            assert_int_equal(slab_push(slabs[i], blocks[i][block]), SLAB_OK);
        slab_delete(&hand, slabs[i]);
    }
    assert_int_equal(arena.in_use, 0);
}

/* A slab that a visitor has is delivered like any other; when it is back it is delivered once more, even if nothing of it was
 * freed, and may be deleted only when that was collected. */
static void remote_P1_a_lent_slab_comes_back_through_the_inbox(void **state) {
    (void)state;
    for (unsigned frees = 0; frees < 3; frees++) {
        void *blocks[64];
        struct slab *slab = new_full_slab(40, blocks);
        slab->lent = SLAB_LENT;
        assert_true(remote_is_lent(slab) && remote_is_on_its_way(slab));
        for (unsigned i = 0; i < frees; i++)
            assert_int_equal(remote_free(slab, blocks[i]), SLAB_OK);
        if (frees == 1)
            assert_int_equal(collect(&inboxes[0]), 1); /* before it is back */
        assert_true(remote_is_lent(slab) && remote_is_on_its_way(slab));
        remote_return(slab);
        assert_false(remote_is_lent(slab));
        assert_true(remote_is_on_its_way(slab));
        assert_int_equal(collect(&inboxes[0]), 1);
        assert_false(remote_is_on_its_way(slab));
        assert_int_equal(slab->free, frees);
        for (unsigned i = frees; i < slab->blocks; i++)
            assert_int_equal(slab_push(slab, blocks[i]), SLAB_OK);
        assert_int_equal(reported[MISUSE_DOUBLE_FREE], 0);
        delete_slab(slab);
    }
}

/* Who has set the first bit of a word still has to mark it, and touches the record then. A slab that comes back meanwhile is collected
 * without that word: else it could be empty, and deleted. */
static void remote_P2_what_is_not_marked_yet_is_not_collected(void **state) {
    (void)state;
    static void *blocks[4096];
    static const unsigned classes[] = {0, 40};
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++) {
        struct slab *slab = new_full_slab(classes[i], blocks);
        unsigned last = slab->blocks - 1u, words = sizeclass_table[classes[i]].words;
        for (unsigned word = 0; word < words; word++) {
            uint64_t *bits = slab_remote_word(slab, classes[i], word);
            for (unsigned block = 0; block <= last; block++)
                if (block / 64 != word)
                    assert_int_equal(slab_push(slab, blocks[block]), SLAB_OK);
            unsigned left = word < words - 1 ? 64 : last % 64 + 1;
            *bits = ~0ULL >> (64 - left);
            slab->lent = SLAB_LENT;
            remote_return(slab);
            assert_int_equal(collect(&inboxes[0]), 1);
            assert_int_equal(slab->free, slab->blocks - left);
            assert_int_equal(*bits, ~0ULL >> (64 - left));
            slab->remote_summary = 1ULL << word; /* now it is */
            remote_deliver(slab);
            assert_int_equal(collect(&inboxes[0]), 1);
            assert_true(slab_is_empty(slab));
            assert_int_equal(pop_ascending(slab, blocks, 4096, true), slab->blocks);
        }
        for (unsigned block = 0; block <= last; block++)
            assert_int_equal(slab_push(slab, blocks[block]), SLAB_OK);
        delete_slab(slab);
    }
}

static void remote_slab_is_handed_over_again_to_its_new_owner(void **state) {
    (void)state;
    void *blocks[64];
    struct slab *slab = new_full_slab(40, blocks);
    assert_int_equal(remote_free(slab, blocks[0]), SLAB_OK);
    slab_change_owner(slab, &inboxes[1], 0x200 | 40);
    assert_int_equal(remote_free(slab, blocks[1]), SLAB_OK);
    assert_true(nothing_in(&inboxes[1]));
    struct slab *lost = take(&inboxes[0]);
    assert_ptr_equal(lost, slab);
    remote_deliver(lost);
    assert_true(nothing_in(&inboxes[0]));
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
    struct slab *slab = slab_new(&hand, 7, sizeclass_table[7].units, false, &inboxes[0], 0x107);
    assert_int_equal(pop_ascending(slab, blocks, 4, true), 4);
    assert_int_equal(remote_free(slab, (char *)blocks[0] + 8), SLAB_INSIDE);
    assert_int_equal(remote_free(slab, slab->start + UNIT_SIZE), SLAB_INSIDE);
    assert_int_equal(slab_push(slab, blocks[1]), SLAB_OK);
    assert_int_equal(remote_free(slab, blocks[1]), SLAB_DOUBLE_FREE);
    assert_true(nothing_in(&inboxes[0]));
    assert_int_equal(remote_free(slab, blocks[0]), SLAB_OK);
    assert_int_equal(remote_free(slab, blocks[0]), SLAB_DOUBLE_FREE);
    assert_int_equal(remote_free(slab, slab->start + 5 * 128), SLAB_INSIDE); /* never handed out */
    /* Seen when it is collected: what its owner frees meanwhile. */
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
        struct slab *found = take(mine), *stray = take(&inboxes[0]);
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

/* ---- outboxes ---- */

static size_t size_of(const struct slab *slab) {
    return sizeclass_table[slab->class].size;
}

static unsigned char *block_of(const struct slab *slab, unsigned number) {
    return slab->start + number * size_of(slab);
}

/* Holds the block back as a heap does; sends when the outbox is full. */
static void post(const struct slab *slab, void *block) {
    if (remote_post(&outbox, block, slab->class))
        remote_send(&outbox);
}

static void check_no_report(void) {
    assert_int_equal(reported[MISUSE_DOUBLE_FREE] + reported[MISUSE_INSIDE] + reported[MISUSE_FOREIGN], 0);
}

static void check_only_report(enum misuse kind, const void *address) {
    assert_int_equal(reported[kind], 1);
    assert_ptr_equal(reported_at, address);
    reported[kind] = 0;
    check_no_report();
}

static void put_back_others(struct slab *slab) {
    for (unsigned number = 0; number < slab->blocks; number++)
        if (!(slab->bits[number / 64] >> number % 64 & 1))
            assert_int_equal(slab_push(slab, block_of(slab, number)), SLAB_OK);
    slab_delete(&hand, slab);
}

/* Slabs of few blocks lie side by side in memory: the numbers of a word go on where the next slab begins. */
static void remote_sends_blocks_of_neighbours_to_their_own_slabs(void **state) {
    (void)state;
    for (unsigned class = SIZECLASS_USUAL - 1; class >= 40; class --) {
        struct slab *slabs[3];
        void *blocks[3][64];
        for (int i = 0; i < 3; i++)
            slabs[i] = new_full_slab(class, blocks[i]);
        assert_ptr_equal(slab_unit(slabs[1]), slab_unit(slabs[0]) + sizeclass_table[class].units * UNIT_SIZE);
        static const unsigned orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
        for (unsigned order = 0; order < ARRAY_LENGTH(orders); order++) {
            for (unsigned i = 0; i < 3; i++)
                for (unsigned block = 0; block < slabs[orders[order][i]]->blocks; block++)
                    remote_post(&outbox, blocks[orders[order][i]][block], slabs[0]->class);
            remote_send(&outbox);
            check_no_report();
            assert_int_equal(collect(&inboxes[0]), 3);
            for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(slabs[i]->free, slabs[i]->blocks);
                assert_int_equal(pop_ascending(slabs[i], blocks[i], 64, false), slabs[i]->blocks);
            }
        }
        for (int i = 0; i < 3; i++)
            put_back_others(slabs[i]);
    }
    check_no_report();
    assert_int_equal(arena.in_use, 0);
}

enum { RANDOM_SLABS = 12, RANDOM_BLOCKS = 20000 };

struct mixture {
    struct slab *slabs[RANDOM_SLABS];
    unsigned count;
    void *blocks[RANDOM_BLOCKS];
};

/* Slabs of random classes, and their blocks in an order that is partly theirs, partly none. */
static void make_mixture(struct mixture *mixture, uint64_t *seed) {
    mixture->count = 0;
    for (int i = 0; i < RANDOM_SLABS; i++) {
        unsigned class = 4 + random_below(seed, SIZECLASS_COUNT - 4);
        mixture->slabs[i] = new_full_slab(class, &mixture->blocks[mixture->count]);
        mixture->count += mixture->slabs[i]->blocks;
        assert_true(mixture->count <= RANDOM_BLOCKS);
    }
    for (unsigned swaps = random_below(seed, 2 * mixture->count); swaps > 0; swaps--) {
        unsigned a = random_below(seed, mixture->count), b = random_below(seed, mixture->count);
        void *block = mixture->blocks[a];
        mixture->blocks[a] = mixture->blocks[b];
        mixture->blocks[b] = block;
    }
}

static void remote_P2_random_outboxes_come_home_once(void **state) {
    (void)state;
    static struct mixture mixture;
    for (uint64_t round = 1, seed = 1; round <= 40; round++) {
        make_mixture(&mixture, &seed);
        for (unsigned i = 0; i < mixture.count; i++) {
            struct slab *slab = pagemap_record(mixture.blocks[i]);
            post(slab, mixture.blocks[i]);
            if (random_below(&seed, 100) == 0)
                remote_send(&outbox);
            if (random_below(&seed, 200) == 0)
                collect(&inboxes[0]);
        }
        remote_send(&outbox);
        collect(&inboxes[0]);
        check_no_report();
        for (int i = 0; i < RANDOM_SLABS; i++) {
            assert_true(slab_is_empty(mixture.slabs[i]));
            assert_int_equal(mixture.slabs[i]->free, mixture.slabs[i]->blocks);
            slab_delete(&hand, mixture.slabs[i]);
        }
        assert_int_equal(arena.in_use, 0);
    }
}

static void remote_P4_an_outbox_is_bounded(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        size_t size = sizeclass_table[class].size, posted = 0, bytes = 0;
        bool full;
        memset(&outbox, 0, sizeof outbox);
        do {
            full = remote_post(&outbox, &posted, class);
            posted++;
            bytes += size;
            assert_true(outbox.count <= OUTBOX_BLOCKS);
            assert_int_equal(full, posted == OUTBOX_BLOCKS || bytes >= OUTBOX_BYTES);
        } while (!full);
        assert_true(bytes < OUTBOX_BYTES + size);
    }
    /* Any mixture, too: neither count nor bytes are exceeded before the outbox says that it is full. */
    uint64_t seed = 5;
    for (int round = 0; round < 200; round++) {
        size_t bytes = 0;
        unsigned largest = 1 + random_below(&seed, SIZECLASS_COUNT), size, class;
        memset(&outbox, 0, sizeof outbox);
        do {
            assert_true(outbox.count < OUTBOX_BLOCKS && bytes < OUTBOX_BYTES);
            class = random_below(&seed, largest);
            size = sizeclass_table[class].size;
            bytes += size;
        } while (!remote_post(&outbox, &seed, class));
        assert_true(bytes < OUTBOX_BYTES + size);
    }
}

static void remote_sends_nothing_from_an_empty_outbox(void **state) {
    (void)state;
    void *blocks[64];
    struct slab *slab = new_full_slab(40, blocks);
    remote_send(&outbox);
    assert_true(nothing_in(&inboxes[0]));
    post(slab, blocks[3]);
    assert_true(nothing_in(&inboxes[0])); /* held back */
    assert_false(remote_is_waiting(slab, 3));
    remote_send(&outbox);
    assert_true(remote_is_waiting(slab, 3));
    remote_send(&outbox);
    assert_int_equal(collect(&inboxes[0]), 1);
    assert_int_equal(slab->free, 1);
    check_no_report();
    put_back_others(slab);
    assert_int_equal(arena.in_use, 0);
}

/* A block that is twice in an outbox: next to itself, in another run, and after its parcel had to leave. */
static void remote_reports_what_is_twice_in_an_outbox(void **state) {
    (void)state;
    static void *blocks[4096];
    static const unsigned between[] = {0, 1, 63, 64, 200};
    struct slab *slab = new_full_slab(0, blocks);
    for (unsigned i = 0; i < ARRAY_LENGTH(between); i++) {
        for (unsigned apart = 1; apart <= 65; apart += 32) {
            unsigned victim = between[i] * 5 % 7;
            remote_post(&outbox, blocks[victim], 0);
            for (unsigned other = 0; other < between[i]; other++)
                remote_post(&outbox, blocks[10 + other * apart % 4000], 0);
            remote_post(&outbox, blocks[victim], 0);
            remote_send(&outbox);
            assert_int_equal(collect(&inboxes[0]), 1);
            check_only_report(MISUSE_DOUBLE_FREE, blocks[victim]);
            assert_int_equal(slab->free, between[i] + 1);
            void *again[256];
            assert_int_equal(pop_ascending(slab, again, 256, false), between[i] + 1);
        }
    }
    put_back_others(slab);
    assert_int_equal(arena.in_use, 0);
}

/* Sent once already: the sender sees it, or, when it was collected meanwhile, the owner does. */
static void remote_reports_what_was_sent_before(void **state) {
    (void)state;
    void *blocks[64];
    struct slab *slab = new_full_slab(40, blocks);
    post(slab, blocks[1]);
    remote_send(&outbox);
    for (int collected = 0; collected < 2; collected++) {
        for (unsigned i = 0; i < 3; i++) /* one good, one bad, one good */
            post(slab, blocks[i == 1 ? 1 : 2 + i + 3 * (unsigned)collected]);
        remote_send(&outbox);
        if (collected)
            check_no_report();
        else
            check_only_report(MISUSE_DOUBLE_FREE, blocks[1]);
        assert_int_equal(collect(&inboxes[0]), 1);
        if (collected)
            check_only_report(MISUSE_DOUBLE_FREE, blocks[1]);
        assert_int_equal(slab->free, collected ? 5 : 3);
    }
    check_no_report();
    put_back_others(slab);
    assert_int_equal(arena.in_use, 0);
}

/* The owner writes that line all the time: a sender that read it would wait for it, and make the owner wait. */
static void remote_P5_sends_without_the_owner_s_line(void **state) {
    (void)state;
    static void *blocks[4096];
    for (unsigned class = 0; class < SIZECLASS_COUNT && sizeclass_table[class].units == 1; class ++) {
        struct slab *slab = new_full_slab(class, blocks), before = *slab;
        memset(slab, 0xa5, CACHE_LINE);
        for (unsigned i = 0; i < before.blocks; i++)
            if (remote_post(&outbox, blocks[i], class))
                remote_send(&outbox);
        remote_send(&outbox);
        memcpy(slab, &before, CACHE_LINE);
        assert_ptr_equal(inboxes[0].head[class], slab);
        assert_int_equal(collect(&inboxes[0]), 1);
        assert_int_equal(slab->free, slab->blocks);
        delete_slab(slab);
    }
    check_no_report();
}

/* More words than a sender keeps open: those that are open go first, and each comes home once. */
/* A class that was found is asked for until it is done, whatever comes meanwhile. */
static void remote_classes_that_come_later_push_nobody_aside(void **state) {
    (void)state;
    static const unsigned classes[] = {40, 41, 42};
    void *blocks[ARRAY_LENGTH(classes)][64];
    struct slab *slabs[ARRAY_LENGTH(classes)];
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++)
        slabs[i] = new_full_slab(classes[i], blocks[i]);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(remote_free(slabs[i], blocks[i][0]), SLAB_OK);
    assert_int_equal(remote_class(&inboxes[0]), classes[0]);
    assert_int_equal(remote_free(slabs[2], blocks[2][0]), SLAB_OK);
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++) {
        assert_int_equal(remote_class(&inboxes[0]), classes[i]);
        remote_collect(remote_take(&inboxes[0], classes[i]));
        remote_class_done(&inboxes[0], classes[i]);
    }
    assert_int_equal(remote_class(&inboxes[0]), SIZECLASS_COUNT);
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++)
        put_back_others(slabs[i]);
    assert_int_equal(arena.in_use, 0);
}

/* When all parcels are open they go, and what comes then finds places of its own. */
static void remote_goes_on_after_all_parcels_were_sent(void **state) {
    (void)state;
    enum { SLABS = 3, WORDS = SIZECLASS_BLOCKS_MOST / 64 };
    static void *blocks[SLABS][4096];
    struct slab *slabs[SLABS];
    assert_true(SLABS * WORDS > PARCELS && (SLABS + 1) * WORDS <= OUTBOX_BLOCKS);
    for (int i = 0; i < SLABS; i++)
        slabs[i] = new_full_slab(0, blocks[i]);
    for (unsigned word = 0; word < WORDS; word++)
        for (int i = 0; i < SLABS; i++)
            post(slabs[i], blocks[i][word * 64]);
    for (unsigned word = 0; word < WORDS; word++)
        post(slabs[0], blocks[0][word * 64 + 1]);
    remote_send(&outbox);
    assert_int_equal(collect(&inboxes[0]), SLABS);
    check_no_report();
    for (int i = 0; i < SLABS; i++) {
        assert_int_equal(slabs[i]->free, i == 0 ? 2 * WORDS : WORDS);
        put_back_others(slabs[i]);
    }
    assert_int_equal(arena.in_use, 0);
}

static void remote_sends_more_words_than_are_open(void **state) {
    (void)state;
    enum { SLABS = 5, EACH = OUTBOX_BLOCKS / SLABS };
    static void *blocks[SLABS][4096];
    struct slab *slabs[SLABS];
    for (int i = 0; i < SLABS; i++)
        slabs[i] = new_full_slab(0, blocks[i]);
    for (unsigned word = 0; word < EACH; word++)
        for (int i = 0; i < SLABS; i++)
            post(slabs[i], blocks[i][word * 64 + word]);
    assert_int_equal(outbox.count, SLABS * EACH);
    unsigned before = atomic_operations;
    remote_send(&outbox);
    assert_int_equal(atomic_operations - before,
                     2 * SLABS * EACH + 1); /* a word and its mark each, the class */
    assert_int_equal(collect(&inboxes[0]), SLABS);
    check_no_report();
    for (int i = 0; i < SLABS; i++) {
        assert_int_equal(slabs[i]->free, EACH);
        for (unsigned word = 0; word < EACH; word++)
            assert_int_equal(slabs[i]->bits[word], 1ULL << word);
        put_back_others(slabs[i]);
    }
    assert_int_equal(arena.in_use, 0);
}

/* The blocks of slabs of every colour, in turn. Where a slab has one, no block starts with its unit, nor behind the last. */
static void remote_finds_the_blocks_of_every_colour(void **state) {
    (void)state;
    enum { SLABS = 16 };
    static const size_t sizes[] = {256, 512, 1024, 1536, 2048, 3584, 4608, 7168};
    static void *blocks[SLABS][512];
    for (unsigned i = 0; i < ARRAY_LENGTH(sizes); i++) {
        unsigned class = sizeclass_of(sizes[i]), coloured = 0;
        struct slab *slabs[SLABS];
        for (unsigned j = 0; j < SLABS; j++)
            slabs[j] = new_full_slab(class, blocks[j]);
        for (unsigned n = 0; n < sizeclass_table[class].blocks; n++)
            for (unsigned j = 0; j < SLABS; j++)
                if (n < slabs[j]->blocks)
                    post(slabs[j], blocks[j][n]);
        remote_send(&outbox);
        assert_int_equal(reported[MISUSE_DOUBLE_FREE] + reported[MISUSE_INSIDE], 0);
        assert_int_equal(collect(&inboxes[0]), SLABS);
        for (unsigned j = 0; j < SLABS; j++) {
            assert_int_equal(slabs[j]->free, slabs[j]->blocks);
            void *wrong[] = {slab_unit(slabs[j]), block_of(slabs[j], slabs[j]->blocks)};
            bool has_colour = wrong[0] != (void *)slabs[j]->start;
            coloured += has_colour;
            for (unsigned k = 0; has_colour && k < ARRAY_LENGTH(wrong); k++)
                if (pagemap_same_unit(wrong[k], slabs[j]->start)) {
                    post(slabs[j], wrong[k]);
                    remote_send(&outbox);
                    check_only_report(MISUSE_INSIDE, wrong[k]);
                }
            slab_delete(&hand, slabs[j]);
        }
        assert_in_range(coloured, SLABS / 2, SLABS);
    }
    assert_int_equal(arena.in_use, 0);
}

static void remote_reports_what_is_inside_a_block(void **state) {
    (void)state;
    static void *blocks[512];
    struct slab *slab = new_full_slab(7, blocks);
    unsigned char *wrong[] = {slab->start + 8, slab->start + 5 * 128 + 1, slab->start + 6 * 128 - 16};
    for (unsigned i = 0; i < ARRAY_LENGTH(wrong); i++) {
        for (unsigned at = 0; at < 6; at++) {
            unsigned place = at % 3;             /* first, between, last */
            unsigned others = at < 3 ? 10 : 100; /* of its word, of another */
            for (unsigned j = 0; j < 3; j++)
                post(slab, j == place ? (void *)wrong[i] : blocks[others + j]);
            remote_send(&outbox);
            check_only_report(MISUSE_INSIDE, wrong[i]);
            assert_int_equal(collect(&inboxes[0]), 1);
            assert_int_equal(slab->free, 2);
            void *again[2];
            assert_int_equal(pop_ascending(slab, again, 2, false), 2);
        }
    }
    /* Behind the last block of a slab whose units are no multiple of its block size. */
    put_back_others(slab);
    slab = new_full_slab(9, blocks);
    void *last = blocks[slab->blocks - 1], *behind = block_of(slab, slab->blocks);
    for (unsigned last_first = 0; last_first < 2; last_first++) {
        post(slab, last_first ? last : behind);
        post(slab, last_first ? behind : last);
        remote_send(&outbox);
        check_only_report(MISUSE_INSIDE, behind);
        assert_int_equal(collect(&inboxes[0]), 1);
        assert_int_equal(slab->free, 1);
        assert_int_equal(pop_ascending(slab, &last, 1, false), 1);
    }
    put_back_others(slab);
    assert_int_equal(arena.in_use, 0);
}

/* Blocks that somebody else freed as well, so that their slab went home while they were held back. */
static void remote_reports_blocks_whose_slab_is_gone(void **state) {
    (void)state;
    void *gone_blocks[64], *blocks[64];
    struct slab *gone = new_full_slab(40, gone_blocks), *slab = new_full_slab(41, blocks);
    post(slab, blocks[0]);
    post(gone, gone_blocks[5]);
    post(slab, blocks[1]);
    put_back_others(gone);
    remote_send(&outbox);
    check_only_report(MISUSE_DOUBLE_FREE, gone_blocks[5]);
    assert_int_equal(collect(&inboxes[0]), 1);
    assert_int_equal(slab->free, 2);
    put_back_others(slab);
    assert_int_equal(arena.in_use, 0);
}

/* The same, and a large block has come to lie there: its record is no slab. */
static void remote_reports_blocks_where_a_large_one_is_now(void **state) {
    (void)state;
    void *blocks[64];
    struct slab *slab = new_full_slab(71, blocks);
    unsigned char *start = slab->start;
    struct large *large = metadata_new(sizeof(struct large)), before;
    post(slab, blocks[0]);
    post(slab, blocks[1]);
    put_back_others(slab);
    *large = before = (struct large){.start = start, .bytes = UNIT_SIZE, .home = &arena.home};
    pagemap_set(start, 1, PAGEMAP_RUN, large);
    pagemap_set(start + UNIT_SIZE, 1, PAGEMAP_RUN_INSIDE, NULL);
    remote_send(&outbox);
    assert_int_equal(reported[MISUSE_INSIDE] + reported[MISUSE_DOUBLE_FREE], 2);
    assert_memory_equal(large, &before, sizeof before);
    assert_true(nothing_in(&inboxes[0]));
    pagemap_set(start, 2, PAGEMAP_NONE, NULL);
}

/* At most one operation for a word and one for the summary, and the slab is delivered once, with one for its class. */
static void remote_neighbours_cost_one_operation(void **state) {
    (void)state;
    static void *blocks[4096];
    struct slab *slab = new_full_slab(0, blocks);
    for (unsigned word = 0; word < 4; word++) {
        for (unsigned i = 0; i < 64; i++)
            post(slab, blocks[word * 64 + i]);
        unsigned before = atomic_operations;
        remote_send(&outbox);
        assert_int_equal(atomic_operations - before, word == 0 ? 3 : 2);
        assert_ptr_equal(inboxes[0].head[slab->class], slab);
        assert_null(slab->inbox_next);
    }
    assert_int_equal(collect(&inboxes[0]), 1);
    assert_int_equal(outbox.scattered, 0);
    put_back_others(slab);
    assert_int_equal(arena.in_use, 0);
}

static void shuffle(void **blocks, unsigned count, uint64_t *seed) {
    for (unsigned i = 0; i < count; i++) {
        unsigned other = random_below(seed, i + 1);
        void *block = blocks[i];
        blocks[i] = blocks[other];
        blocks[other] = block;
    }
}

/* A full outbox of the blocks. Returns the operations that it took to send. */
static unsigned send_full(const struct slab *slab, void *const *blocks) {
    unsigned before = atomic_operations;
    for (unsigned i = 0; i < OUTBOX_BLOCKS; i++)
        post(slab, blocks[i]);
    assert_int_equal(outbox.count, 0);
    return atomic_operations - before;
}

/* Blocks of four words in any order: the first send finds that out, and those that follow have a parcel for every word, until it is
 * time to see whether there is an order again. */
static void remote_order_is_learned(void **state) {
    (void)state;
    enum { AT_ONCE = 2 * OUTBOX_BLOCKS / 64 + 1, SCATTERED = 15 };
    static void *blocks[4096], *blocks_by_number[4096];
    struct slab *slab = new_full_slab(0, blocks);
    memcpy(blocks_by_number, blocks, sizeof blocks);
    uint64_t seed = 9;
    void *again[OUTBOX_BLOCKS];
    for (unsigned round = 0; round < 3 * (SCATTERED + 1); round++) {
        bool tries = round % (SCATTERED + 1) == 0;
        shuffle(blocks, OUTBOX_BLOCKS, &seed);
        unsigned operations = send_full(slab, blocks);
        assert_true(tries ? operations > 4 * AT_ONCE : operations == AT_ONCE);
        assert_int_equal(outbox.scattered, SCATTERED - round % (SCATTERED + 1));
        assert_int_equal(collect(&inboxes[0]), 1);
        assert_int_equal(slab->free, OUTBOX_BLOCKS);
        pop_ascending(slab, again, OUTBOX_BLOCKS, false);
    }
    for (unsigned round = 0; round < 3; round++) { /* there is, and then it is kept to */
        assert_int_equal(send_full(slab, again), AT_ONCE);
        assert_int_equal(outbox.scattered, 0);
        collect(&inboxes[0]);
        pop_ascending(slab, again, OUTBOX_BLOCKS, false);
    }
    /* Three blocks of a word are enough of an order, two are not. */
    for (unsigned each = 3; each >= 2; each--) {
        for (unsigned i = 0; i < 120; i++)
            post(slab, blocks_by_number[i / each % 60 * 64 + i % each]);
        remote_send(&outbox);
        assert_int_equal(outbox.scattered, each == 2 ? SCATTERED : 0);
        collect(&inboxes[0]);
        assert_int_equal(slab->free, 120);
        pop_ascending(slab, again, 120, false);
    }
    outbox.scattered = 0;
    /* A few blocks tell nothing. */
    for (unsigned i = 0; i < 63; i++)
        post(slab, blocks[i]);
    remote_send(&outbox);
    assert_int_equal(outbox.scattered, 0);
    collect(&inboxes[0]);
    check_no_report();
    put_back_others(slab);
    assert_int_equal(arena.in_use, 0);
}

/* Of every word one block, or two, at random: blocks that are in no order, and nearly all alone, go one by one until it is time to see whether they
 * are so still. */
static void remote_loneliness_is_learned(void **state) {
    (void)state;
    enum { SLABS = 16, TRIED = 15, WORDS = 64 };
    static void *blocks[SLABS][4096];
    struct slab *slabs[SLABS];
    uint64_t seed = 11;
    for (unsigned i = 0; i < SLABS; i++)
        slabs[i] = new_full_slab(0, blocks[i]);
    for (unsigned round = 0; round < 4 * (TRIED + 1); round++) {
        void *posted[OUTBOX_BLOCKS], *again[OUTBOX_BLOCKS];
        unsigned alone = outbox.alone, scattered = outbox.scattered, each = round < 2 * (TRIED + 1) ? 1 : 2;
        for (unsigned i = 0; i < OUTBOX_BLOCKS; i++)
            posted[i] = blocks[i / each % SLABS][i / each / SLABS * WORDS + i % each * 7];
        shuffle(posted, OUTBOX_BLOCKS, &seed);
        unsigned operations = send_full(slabs[0], posted);
        if (alone > 0) {
            assert_true(operations > OUTBOX_BLOCKS); /* each by itself */
            assert_int_equal(outbox.alone, alone - 1);
            assert_int_equal(outbox.scattered, scattered);
        } else {
            assert_int_equal(outbox.alone, scattered > 0 && each == 1 ? TRIED : 0);
        }
        assert_true(collect(&inboxes[0]) <= SLABS);
        for (unsigned i = 0; i < SLABS; i++)
            assert_int_equal(pop_ascending(slabs[i], again, OUTBOX_BLOCKS, false), OUTBOX_BLOCKS / SLABS);
        check_no_report();
    }
    assert_int_equal(outbox.alone, 0);
    /* A few blocks tell nothing. */
    outbox.scattered = 1;
    for (unsigned i = 0; i < WORDS - 1; i++)
        post(slabs[0], blocks[0][i * WORDS]);
    remote_send(&outbox);
    assert_int_equal(outbox.alone, 0);
    collect(&inboxes[0]);
    for (unsigned i = 0; i < SLABS; i++)
        put_back_others(slabs[i]);
    assert_int_equal(arena.in_use, 0);
}

/* Blocks of many classes by turns, those of each as they lie: an operation a word, as if they came class after class. */
static void remote_classes_by_turns_cost_one_operation_a_word(void **state) {
    (void)state;
    enum { CLASSES = 8, EACH = OUTBOX_BLOCKS / CLASSES };
    static void *blocks[CLASSES][4096];
    struct slab *slabs[CLASSES];
    for (unsigned class = 0; class < CLASSES; class ++)
        slabs[class] = new_full_slab(class, blocks[class]);
    unsigned before = atomic_operations;
    for (unsigned i = 0; i < EACH; i++)
        for (unsigned class = 0; class < CLASSES; class ++)
            post(slabs[class], blocks[class][64 + i]);
    remote_send(&outbox);
    assert_int_equal(atomic_operations - before, CLASSES * 3);
    assert_int_equal(outbox.scattered, 0);
    assert_int_equal(collect(&inboxes[0]), CLASSES);
    check_no_report();
    for (unsigned class = 0; class < CLASSES; class ++) {
        assert_int_equal(slabs[class]->free, EACH);
        assert_int_equal(slabs[class]->bits[1], UINT32_MAX);
        put_back_others(slabs[class]);
    }
    assert_int_equal(arena.in_use, 0);
}

/* A slab of the smallest blocks has many words: some share a place in the sender's table. */
static void remote_words_that_share_a_place_are_kept_apart(void **state) {
    (void)state;
    static void *blocks[4096];
    struct slab *slab = new_full_slab(0, blocks);
    for (unsigned stride = 1; stride < slab->words; stride++) {
        for (unsigned word = 0; word < slab->words; word += stride)
            for (unsigned i = 0; i < 2; i++)
                post(slab, blocks[word * 64 + word % 31 * 2 + i]);
        remote_send(&outbox);
        assert_int_equal(collect(&inboxes[0]), 1);
        check_no_report();
        for (unsigned word = 0; word < slab->words; word++)
            assert_int_equal(slab->bits[word], word % stride ? 0 : 3ULL << word % 31 * 2);
        void *again[128];
        pop_ascending(slab, again, 128, false);
    }
    put_back_others(slab);
    assert_int_equal(arena.in_use, 0);
}

/* However the blocks lie: no more than two operations a block. */
static void remote_strangers_cost_two_operations(void **state) {
    (void)state;
    static struct mixture mixture;
    uint64_t seed = 21;
    make_mixture(&mixture, &seed);
    unsigned before = atomic_operations;
    for (unsigned i = 0; i < mixture.count; i++)
        post(pagemap_record(mixture.blocks[i]), mixture.blocks[i]);
    remote_send(&outbox);
    assert_true(atomic_operations - before <= 2 * mixture.count);
    collect(&inboxes[0]);
    for (int i = 0; i < RANDOM_SLABS; i++)
        put_back_others(mixture.slabs[i]);
    assert_int_equal(arena.in_use, 0);
}

/* Held back while its slab moves on, also to the heap of the thread that freed it. */
static void remote_outbox_outlives_an_adoption(void **state) {
    (void)state;
    void *blocks[64];
    struct slab *slab = new_full_slab(40, blocks);
    post(slab, blocks[0]);
    post(slab, blocks[1]);
    slab_change_owner(slab, &inboxes[1], 0x200 | 40);
    assert_int_equal(slab_push(slab, blocks[2]), SLAB_OK);
    remote_send(&outbox);
    assert_true(nothing_in(&inboxes[0]));
    assert_int_equal(collect(&inboxes[1]), 1);
    assert_int_equal(slab->free, 3);
    check_no_report();
    put_back_others(slab);
    assert_int_equal(arena.in_use, 0);
}

static struct {
    struct slab *slabs[FREERS];
    void *blocks[FREERS][4096];
    unsigned working;
} crowd;

/* Every thread frees a share of every slab, in runs of its own length. */
static void *send_a_share(void *number) {
    struct outbox mine = {.count = 0};
    size_t own = (size_t)number, run = 1 + 21 * own;
    for (size_t slab = 0; slab < FREERS; slab++)
        for (size_t i = 0; i < crowd.slabs[slab]->blocks; i++)
            if ((i / 8 + slab) % FREERS == own &&
                (remote_post(&mine, crowd.blocks[slab][i], 0) || mine.count >= run))
                remote_send(&mine);
    remote_send(&mine);
    __atomic_fetch_sub(&crowd.working, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void remote_P2_outboxes_of_many_threads(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        pthread_t threads[FREERS];
        for (int i = 0; i < FREERS; i++)
            crowd.slabs[i] = new_full_slab(0, crowd.blocks[i]);
        crowd.working = FREERS;
        for (size_t i = 0; i < FREERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, send_a_share, (void *)i), 0);
        while (__atomic_load_n(&crowd.working, __ATOMIC_ACQUIRE) > 0)
            collect(&inboxes[0]);
        for (size_t i = 0; i < FREERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        collect(&inboxes[0]);
        check_no_report();
        for (int i = 0; i < FREERS; i++) {
            assert_int_equal(crowd.slabs[i]->free, crowd.slabs[i]->blocks);
            assert_int_equal(crowd.slabs[i]->remote_summary, 0);
            slab_delete(&hand, crowd.slabs[i]);
        }
        assert_int_equal(arena.in_use, 0);
    }
}

#define SCATTERED(test) \
    { #test "_scattered", test, setup_scattered, NULL, NULL }
#define ALONE(test) \
    { #test "_alone", test, setup_alone, NULL, NULL }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(remote_P1_blocks_of_one_slab_travel_together, setup),
        cmocka_unit_test_setup(remote_P1_who_sets_the_first_bit_marks_the_word, setup),
        cmocka_unit_test_setup(remote_inbox_holds_many_slabs, setup),
        cmocka_unit_test_setup(remote_P1_slabs_wait_by_class, setup),
        cmocka_unit_test_setup(remote_classes_are_marked, setup),
        cmocka_unit_test_setup(remote_P1_a_lent_slab_comes_back_through_the_inbox, setup),
        cmocka_unit_test_setup(remote_P2_what_is_not_marked_yet_is_not_collected, setup),
        cmocka_unit_test_setup(remote_slab_is_handed_over_again_to_its_new_owner, setup),
        cmocka_unit_test_setup(remote_misuse_changes_nothing, setup),
        cmocka_unit_test_setup(remote_P2_P3_each_bit_is_collected_once, setup),
        cmocka_unit_test_setup(remote_P2_while_the_owner_changes, setup),
        cmocka_unit_test_setup(remote_sends_blocks_of_neighbours_to_their_own_slabs, setup),
        cmocka_unit_test_setup(remote_P2_random_outboxes_come_home_once, setup),
        cmocka_unit_test_setup(remote_P4_an_outbox_is_bounded, setup),
        cmocka_unit_test_setup(remote_sends_nothing_from_an_empty_outbox, setup),
        cmocka_unit_test_setup(remote_reports_what_is_twice_in_an_outbox, setup),
        cmocka_unit_test_setup(remote_reports_what_was_sent_before, setup),
        cmocka_unit_test_setup(remote_P5_sends_without_the_owner_s_line, setup),
        cmocka_unit_test_setup(remote_sends_more_words_than_are_open, setup),
        cmocka_unit_test_setup(remote_classes_that_come_later_push_nobody_aside, setup),
        cmocka_unit_test_setup(remote_goes_on_after_all_parcels_were_sent, setup),
        cmocka_unit_test_setup(remote_finds_the_blocks_of_every_colour, setup),
        cmocka_unit_test_setup(remote_reports_what_is_inside_a_block, setup),
        cmocka_unit_test_setup(remote_reports_blocks_whose_slab_is_gone, setup),
        cmocka_unit_test_setup(remote_reports_blocks_where_a_large_one_is_now, setup),
        cmocka_unit_test_setup(remote_neighbours_cost_one_operation, setup),
        cmocka_unit_test_setup(remote_order_is_learned, setup),
        cmocka_unit_test_setup(remote_loneliness_is_learned, setup),
        cmocka_unit_test_setup(remote_classes_by_turns_cost_one_operation_a_word, setup),
        cmocka_unit_test_setup(remote_words_that_share_a_place_are_kept_apart, setup),
        cmocka_unit_test_setup(remote_strangers_cost_two_operations, setup),
        cmocka_unit_test_setup(remote_outbox_outlives_an_adoption, setup),
        cmocka_unit_test_setup(remote_P2_outboxes_of_many_threads, setup),
        SCATTERED(remote_sends_blocks_of_neighbours_to_their_own_slabs),
        SCATTERED(remote_P2_random_outboxes_come_home_once),
        SCATTERED(remote_reports_what_is_twice_in_an_outbox),
        SCATTERED(remote_reports_what_was_sent_before),
        SCATTERED(remote_P5_sends_without_the_owner_s_line),
        SCATTERED(remote_sends_more_words_than_are_open),
        SCATTERED(remote_classes_that_come_later_push_nobody_aside),
        SCATTERED(remote_goes_on_after_all_parcels_were_sent),
        SCATTERED(remote_finds_the_blocks_of_every_colour),
        SCATTERED(remote_reports_what_is_inside_a_block),
        SCATTERED(remote_reports_blocks_whose_slab_is_gone),
        SCATTERED(remote_reports_blocks_where_a_large_one_is_now),
        SCATTERED(remote_words_that_share_a_place_are_kept_apart),
        SCATTERED(remote_strangers_cost_two_operations),
        SCATTERED(remote_outbox_outlives_an_adoption),
        ALONE(remote_sends_blocks_of_neighbours_to_their_own_slabs),
        ALONE(remote_P2_random_outboxes_come_home_once),
        ALONE(remote_reports_what_is_twice_in_an_outbox),
        ALONE(remote_reports_what_was_sent_before),
        ALONE(remote_P5_sends_without_the_owner_s_line),
        ALONE(remote_sends_more_words_than_are_open),
        ALONE(remote_classes_that_come_later_push_nobody_aside),
        ALONE(remote_goes_on_after_all_parcels_were_sent),
        ALONE(remote_finds_the_blocks_of_every_colour),
        ALONE(remote_reports_what_is_inside_a_block),
        ALONE(remote_reports_blocks_whose_slab_is_gone),
        ALONE(remote_reports_blocks_where_a_large_one_is_now),
        ALONE(remote_words_that_share_a_place_are_kept_apart),
        ALONE(remote_strangers_cost_two_operations),
        ALONE(remote_outbox_outlives_an_adoption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
