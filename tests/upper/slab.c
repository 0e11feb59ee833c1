/* Unit tests of slab, on units that nobody may touch: the room reads no byte of a block. */
#include "../../src/slab.c"
#include "../../src/slab_hand.c"

#include "arena.h"
#include "kernel.h"
#include "pop.h"
#include "random.h"

#include <string.h>

enum { TAG = 0x12300 };
static char owners[2];
#define OWNER ((struct inbox *)&owners[0])
#define OTHER ((struct inbox *)&owners[1])

static struct slab_hand *hand; /* with nothing at hand, but for tests of that */

static struct slab *new_slab(unsigned class) {
    struct slab *slab = slab_new(&hand, class, sizeclass_table[class].units, false, OWNER, TAG | class);
    assert_non_null(slab);
    return slab;
}

static unsigned char *block_of(const struct slab *slab, unsigned number) {
    return slab->start + (size_t)number * sizeclass_table[slab->class].size;
}

static void finish(struct slab *slab);

/* Where memory that was freed lies about in pieces a slab is as short as these, and has fewer blocks. */
static void slab_may_be_shorter_than_its_class_wants(void **state) {
    (void)state;
    arena.pieces = true;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        const struct sizeclass *geometry = &sizeclass_table[class];
        struct slab *slab = new_slab(class);
        size_t colour = (size_t)(slab->start - slab_unit(slab));
        size_t fit = (((size_t)slab->units << UNIT_SHIFT) - colour) / geometry->size;
        assert_int_equal(slab->units, slab_units_least(class));
        assert_int_equal(slab->blocks, fit < geometry->blocks ? fit : geometry->blocks);
        assert_int_equal(colour, sizeclass_colour(geometry, (uintptr_t)slab->start >> UNIT_SHIFT));
        assert_true(slab->blocks >= 2);
        assert_int_equal(arena.in_use, slab->units);
        finish(slab);
    }
    arena.pieces = false;
}

static void check_counts(const struct slab *slab) {
    unsigned bits = 0;
    for (unsigned word = 0; word < slab->words; word++) {
        bits += bits_count(slab->bits[word]);
        assert_int_equal(slab->summary >> word & 1, slab->bits[word] != 0);
    }
    assert_int_equal(slab->free, bits);
    for (unsigned number = slab->carved; number < slab->words * 64u; number++)
        assert_int_equal(slab->bits[number / 64] >> number % 64 & 1, 0);
}

/* Takes everything, checks that it is everything, puts it back and deletes the slab. */
static void finish(struct slab *slab) {
    static void *blocks[4096];
    unsigned left = pop_ascending(slab, blocks, 4096, true);
    for (unsigned i = 0; i < left; i++)
        assert_int_equal(slab_push(slab, blocks[i]), SLAB_OK);
    check_counts(slab);
    assert_true(slab_is_empty(slab));
    slab_delete(&hand, slab);
}

/* Puts back whatever is out and deletes the slab. */
static void put_back(struct slab *slab) {
    for (unsigned number = 0; number < slab->carved; number++)
        if (!(slab->bits[number / 64] >> number % 64 & 1))
            assert_int_equal(slab_push(slab, block_of(slab, number)), SLAB_OK);
    check_counts(slab);
    slab_delete(&hand, slab);
}

/* used[n]: block n is in the program's hands. */
static unsigned check_pop(struct slab *slab, bool *used, unsigned count, bool fresh) {
    void *blocks[64];
    unsigned available = slab->free + (fresh ? slab_fresh(slab) : 0), last = 0;
    unsigned have = pop_ascending(slab, blocks, count, fresh);
    assert_int_equal(have, count < available ? count : available);
    for (unsigned i = 0; i < have; i++) {
        uint32_t number = slab_block_number(slab, blocks[i]);
        assert_in_range(number, 0, slab->blocks - 1);
        assert_false(used[number]);
        assert_true(i == 0 || number > last);
        used[number] = true;
        last = number;
    }
    return have;
}

static void random_program(unsigned class, uint64_t seed) {
    static bool used[4096];
    struct slab *slab = new_slab(class);
    unsigned live = 0;
    memset(used, 0, sizeof used);
    for (int step = 0; step < 3000; step++) {
        unsigned number = random_below(&seed, slab->blocks);
        if (random_below(&seed, 4) == 0) {
            live += check_pop(slab, used, random_below(&seed, 65), random_below(&seed, 2));
        } else if (random_below(&seed, 30) == 0 && used[number]) {
            assert_int_equal(slab_push_word(slab, number / 64, 1ULL << number % 64), 0);
            used[number] = false;
            live--;
        } else if (used[number]) {
            assert_int_equal(slab_push(slab, block_of(slab, number)), SLAB_OK);
            used[number] = false;
            live--;
        } else {
            assert_int_equal(slab_push(slab, block_of(slab, number)),
                             number < slab->carved ? SLAB_DOUBLE_FREE : SLAB_INSIDE);
        }
        assert_int_equal(slab->carved - slab->free, live);
        assert_int_equal(slab_is_empty(slab), live == 0);
        check_counts(slab);
    }
    for (unsigned number = 0; number < slab->blocks; number++)
        if (used[number])
            assert_int_equal(slab_push(slab, block_of(slab, number)), SLAB_OK);
    finish(slab);
}

static void slab_P1_P2_random_programs(void **state) {
    (void)state;
    static const unsigned classes[] = {0, 1, 3, 7, 8, 20, 40, 55, 63, 71};
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++)
        random_program(classes[i], i + 1);
    assert_int_equal(arena.in_use, 0);
}

static void slab_P3_a_second_free_changes_nothing(void **state) {
    (void)state;
    struct slab *slab = new_slab(5);
    void *blocks[3];
    assert_int_equal(pop_ascending(slab, blocks, 3, true), 3);
    assert_int_equal(slab_push(slab, blocks[1]), SLAB_OK);
    assert_int_equal(slab_push(slab, blocks[1]), SLAB_DOUBLE_FREE);
    assert_int_equal(slab_push_word(slab, 0, 0x7), 0x2);
    assert_int_equal(slab_push_word(slab, 0, 0x7), 0x7);
    assert_int_equal(slab_push_word(slab, 0, 0xf), 0xf); /* the fourth was never handed out */
    assert_int_equal(slab_push_word(slab, 1, 1), 1);
    assert_int_equal(slab->free, 3);
    check_counts(slab);
    finish(slab);
}

static void slab_P4_only_starts_of_blocks_change_a_bit(void **state) {
    (void)state;
    static void *blocks[4096];
    for (unsigned class = 0; class < SIZECLASS_COUNT; class += 5) {
        struct slab *slab = new_slab(class);
        size_t size = sizeclass_table[class].size, bytes = (size_t)sizeclass_table[class].units * UNIT_SIZE;
        unsigned all = pop_ascending(slab, blocks, 4096, true);
        assert_int_equal(all, slab->blocks);
        for (size_t offset = 0; offset < bytes; offset++)
            if (offset % size != 0 || offset / size >= all)
                if (slab_push(slab, slab->start + offset) != SLAB_INSIDE)
                    fail_msg("offset %zu of blocks of %zu", offset, size);
        assert_int_equal(slab_block_number(slab, slab->start + all * size), SLAB_NO_BLOCK);
        assert_int_equal(slab_push(slab, slab->start - size), SLAB_INSIDE);
        assert_int_equal(slab_push(slab, slab->start + bytes), SLAB_INSIDE);
        assert_int_equal(slab_push(slab, NULL), SLAB_INSIDE);
        assert_int_equal(slab->free, 0);
        for (unsigned i = 0; i < all; i++)
            assert_int_equal(slab_push(slab, blocks[i]), SLAB_OK);
        finish(slab);
    }
}

/* The window's place of an address beyond it is that of another address: nothing there is a block of this slab. */
static void slab_P4_no_block_is_whole_windows_away(void **state) {
    (void)state;
    void *block;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        struct slab *slab = new_slab(class);
        assert_int_equal(slab_pop(slab, &block + 1, 1, true), 1);
        for (unsigned shift = PAGEMAP_WINDOW_SHIFT; shift < 8 * sizeof(uintptr_t); shift++) {
            uintptr_t away = (uintptr_t)1 << shift;
            assert_false(slab_push_one(slab, (void *)((uintptr_t)block + away)));
            assert_false(slab_push_one(slab, (void *)((uintptr_t)block - away)));
        }
        assert_int_equal(slab->free, 0);
        assert_true(slab_push_one(slab, block));
        finish(slab);
    }
}

static void slab_carves_only_when_asked(void **state) {
    (void)state;
    struct slab *slab = new_slab(0);
    void *blocks[10];
    assert_int_equal(pop_ascending(slab, blocks, 10, false), 0);
    assert_int_equal(slab_fresh(slab), slab->blocks);
    assert_int_equal(pop_ascending(slab, blocks, 10, true), 10);
    assert_ptr_equal(blocks[0], slab->start);
    assert_int_equal(slab->carved, 10);
    slab_push(slab, blocks[4]);
    assert_int_equal(pop_ascending(slab, blocks, 2, true), 2);
    assert_ptr_equal(blocks[0], slab->start + 4 * 16);
    assert_ptr_equal(blocks[1], slab->start + 10 * 16);
    for (unsigned number = 0; number < 11; number++)
        assert_int_equal(slab_push(slab, block_of(slab, number)), SLAB_OK);
    finish(slab);
}

static void slab_is_dense_once_all_of_it_was_handed_out(void **state) {
    (void)state;
    static void *blocks[4096];
    for (unsigned class = 0; class < SIZECLASS_COUNT; class += 7) {
        struct slab *slab = new_slab(class);
        assert_int_equal(dense_units(true), 0);
        unsigned all = pop_ascending(slab, blocks, (unsigned)slab->blocks - 1, true);
        assert_int_equal(dense_units(true), 0);
        all += pop_ascending(slab, blocks + all, 2, true);
        assert_int_equal(all, slab->blocks);
        size_t size = sizeclass_table[class].size;
        assert_int_equal(dense_units(true), sizeclass_table[class].units);
        assert_int_equal(dense_units(false), size <= SLAB_SURE_LARGEST ? sizeclass_table[class].units : 0);
        for (unsigned i = 0; i < all; i++)
            assert_int_equal(slab_push(slab, blocks[i]), SLAB_OK);
        arena.full = 0;
        finish(slab);
        assert_int_equal(dense_units(true), 0);
        assert_int_equal(arena.full, size <= SLAB_SHORT_LARGEST ? sizeclass_table[class].units : 0);
    }
}

/* All blocks of `count` slabs, of each its first and last byte or all. */
static void write_slabs(unsigned class, bool whole, unsigned count) {
    enum { SLABS = 2 * DENSE_WATCHES + 1 };
    struct slab *some[SLABS];
    static void *blocks[4096];
    const size_t size = sizeclass_table[class].size;
    assert_in_range(count, 1, SLABS);
    for (unsigned i = 0; i < count; i++) {
        some[i] = new_slab(class);
        unsigned have = pop_ascending(some[i], blocks, 4096, true);
        for (unsigned b = 0; b < have; b++) {
            unsigned char *block = blocks[b];
            block[0] = block[size - 1] = 1;
            if (whole)
                memset(block, 1, size);
        }
        for (unsigned b = 0; b < have; b++)
            assert_int_equal(slab_push(some[i], blocks[b]), SLAB_OK);
    }
    for (unsigned i = 0; i < count; i++)
        finish(some[i]);
}

/* The arena's units can be written, and nothing is in memory; or nobody may touch them again. */
static void open_arena(bool open) {
    const size_t bytes = (size_t)ARENA_UNITS * UNIT_SIZE;
    assert_int_equal(mprotect(arena.start, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE), 0);
    assert_int_equal(madvise(arena.start, bytes, MADV_DONTNEED), 0);
}

static enum dense_known learned_of(size_t size, bool whole) {
    open_arena(true);
    for (unsigned round = 0; round < 5; round++) /* two are looked at, the second time for the first one */
        write_slabs(sizeclass_of(size), whole, 2 * DENSE_WATCHES + 1);
    open_arena(false);
    return dense_known(size <= SLAB_SHORT_LARGEST ? DENSE_SHORT : DENSE_LONG);
}

/* Where nothing was in memory, and a page comes for itself. */
static void slab_learns_whether_blocks_are_written_whole(void **state) {
    (void)state;
    assert_int_equal(learned_of(12 * KIB, true), DENSE_YES);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_UNKNOWN);
    assert_int_equal(learned_of(32 * KIB, true), DENSE_YES);
    assert_int_equal(learned_of(12 * KIB, false), os_is_filtered() ? DENSE_YES : DENSE_NO);
    assert_int_equal(learned_of(12 * KIB, true), DENSE_YES);
    arena.touched = true;
    assert_int_equal(learned_of(12 * KIB, false), DENSE_YES);
    arena.touched = false;
    arena.home.huge = true;
    assert_int_equal(learned_of(12 * KIB, false), DENSE_YES);
    arena.home.huge = false;
}

/* Of so many slabs as are needed for one probe. */
static unsigned count_used_as(enum superslab_use use, unsigned class, bool fills) {
    unsigned count = 0;
    for (unsigned i = 0; i < DENSE_WATCHES; i++) {
        slab_delete(&hand, slab_new(&hand, class, sizeclass_table[class].units, fills, OWNER, TAG | class));
        count += arena.use == use;
    }
    return count;
}

static unsigned count_filling(unsigned class, bool fills) {
    return count_used_as(SUPERSLAB_FILLS, class, fills);
}

/* Until that is all that is known of longer ones. */
static void tell_often(unsigned eighths) {
    for (unsigned i = 0; i < 64; i++)
        dense_tell(DENSE_LONG, eighths * UNIT_SIZE / 8, UNIT_SIZE);
}

/* What is known of longer ones says whether they suit the pages that most of the heap has. */
static void slab_longer_ones_may_be_sparse(void **state) {
    (void)state;
    unsigned class = sizeclass_of(16 * KIB), all = DENSE_WATCHES;
    arena.large = true;
    tell_often(5);
    assert_int_equal(count_used_as(SUPERSLAB_SPARSE, class, true), all);
    assert_int_equal(count_used_as(SUPERSLAB_SPARSE, class, false), all);
    tell_often(8);
    assert_int_equal(count_used_as(SUPERSLAB_SPARSE, class, true), 1); /* the probe */
    assert_int_equal(count_used_as(SUPERSLAB_FILLS, class, true), all - 1);
    arena.large = false;
    assert_int_equal(count_used_as(SUPERSLAB_MIXED, class, true), all);
}

/* Short blocks fill pages wherever they are; longer ones in large heaps, when they are known to be written whole, but for one slab in so many. */
static void slab_fills_pages_as_far_as_is_known(void **state) {
    (void)state;
    unsigned class = sizeclass_of(16 * KIB);
    assert_int_equal(count_filling(sizeclass_of(8 * KIB), true), DENSE_WATCHES);
    assert_int_equal(count_filling(sizeclass_of(8 * KIB), false), 0);
    assert_int_equal(learned_of(16 * KIB, true), DENSE_YES);
    assert_int_equal(count_filling(class, true), 0);
    arena.large = true;
    assert_int_equal(count_filling(class, true), DENSE_WATCHES - 1);
    assert_int_equal(count_filling(class, false), 0);
    for (int large = 0; large < 2; large++) {
        unsigned known = 0; /* each one in small pages is looked at if it is large, else one of so many */
        arena.large = large;
        for (unsigned i = 0; i < DENSE_WATCHES; i++) {
            learned_of(16 * KIB, true);
            open_arena(true);
            write_slabs(class, false, 1);
            open_arena(false);
            known += dense_known(DENSE_LONG) == DENSE_YES;
        }
        assert_true(large && !os_is_filtered() ? known == 0 : known >= DENSE_WATCHES / 2);
    }
    assert_int_equal(count_filling(class, true), 0);
    arena.large = false;
}

/* Against a map of bytes: all whole pages of free blocks, once each, in the order of their addresses, and no others. */
static void slab_finds_all_free_pages(void **state) {
    (void)state;
    enum { PAGE = 4096, MOST = 64 * UNIT_SIZE / PAGE };
    uint64_t seed = 7;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        size_t size = sizeclass_table[class].size;
        for (unsigned kept = 1; kept <= 64; kept *= 4) {
            static void *blocks[4096];
            static bool used[MOST];
            struct slab *slab = new_slab(class);
            unsigned char *unit = slab_unit(slab);
            size_t colour = (size_t)(slab->start - unit);
            unsigned have = pop_ascending(slab, blocks, slab->blocks - kept % 5, true);
            for (size_t i = 0; i < MOST; i++)
                used[i] = i >= (colour + slab->carved * size) / PAGE;
            for (unsigned i = 0; i < have; i++) {
                if (random_below(&seed, have) >= kept)
                    assert_int_equal(slab_push(slab, blocks[i]), SLAB_OK);
                else /* what lies before the first block stays with it */
                    for (size_t at = i == 0 ? 0 : (colour + i * size) / PAGE;
                         at <= (colour + (i + 1) * size - 1) / PAGE; at++)
                        used[at] = true;
            }
            struct slab_pages pages;
            size_t seen = 0;
            for (unsigned from = 0; slab_find_pages(slab, &from, PAGE, &pages);) {
                size_t start = (size_t)(pages.start - unit);
                assert_ptr_equal(pages.slab, slab);
                assert_int_equal(start % PAGE | pages.bytes % PAGE, 0);
                for (; seen < start / PAGE; seen++)
                    assert_true(used[seen]);
                for (; seen < (start + pages.bytes) / PAGE; seen++)
                    assert_false(used[seen]);
            }
            for (; seen < MOST; seen++)
                assert_true(used[seen]);
            put_back(slab);
        }
    }
}

static void slab_tags_follow_the_owner(void **state) {
    (void)state;
    struct slab *slab = new_slab(60);
    unsigned char *start = slab_unit(slab), *last = start + (size_t)sizeclass_table[60].units * UNIT_SIZE - 1;
    assert_int_equal(pagemap_tag(start), TAG | 60);
    assert_int_equal(pagemap_tag(last), TAG | 60);
    assert_ptr_equal(pagemap_record(last), slab);
    slab_change_owner(slab, OTHER, 0x45600 | 60);
    assert_ptr_equal(slab->owner, OTHER);
    assert_int_equal(pagemap_tag(start), 0x45600 | 60);
    assert_int_equal(pagemap_tag(last), 0x45600 | 60);
    slab_delete(&hand, slab);
    assert_int_equal(pagemap_tag(last), PAGEMAP_NONE);
    assert_null(pagemap_record(start));
    assert_int_equal(arena.in_use, 0);
}

static void slab_records_are_used_again(void **state) {
    (void)state;
    uint64_t before = 0;
    for (int round = 0; round < 20; round++) {
        for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
            arena.refuse = 1;
            assert_null(slab_new(&hand, class, sizeclass_table[class].units, false, OWNER, TAG | class));
            finish(new_slab(class));
        }
        if (round == 0)
            before = metadata_bytes();
    }
    assert_int_equal(metadata_bytes(), before);
    assert_int_equal(arena.in_use, 0);
}

/* ---- what is at hand where threads wait for each other ---- */

enum {
    SMALL = 20, /* a class with slabs of one unit ... */
    LONG = SIZECLASS_COUNT - 1
};

/* Slabs of SMALL are made and deleted until the hand may hold so many units. Nothing is at hand after that. */
static void open_hand(unsigned units) {
    arena.touched = true;
    while (!hand || hand->most < units) {
        arena.waits = 1;
        slab_delete(&hand, new_slab(SMALL));
        while (hand->count > 0)
            slab_hand_give_oldest(hand, 1);
    }
    arena.waits = 0;
    assert_int_equal(hand->most, units);
    assert_int_equal(arena.in_use, 0);
}

static void close_hand(void) {
    slab_hand_empty(hand);
    arena.touched = false;
    assert_int_equal(arena.in_use, 0);
    assert_true(!hand || hand->most == 0);
    assert_int_equal(slab_hands.granted, 0);
}

static void hand_has_nothing_where_nobody_waits(void **state) {
    (void)state;
    arena.touched = true;
    struct slab *slabs_of_one[8];
    for (unsigned i = 0; i < 8; i++)
        slabs_of_one[i] = new_slab(SMALL);
    assert_int_equal(arena.in_use, 8);
    for (unsigned i = 0; i < 8; i++)
        slab_delete(&hand, slabs_of_one[i]);
    assert_int_equal(arena.in_use, 0);
    assert_null(hand);
    close_hand();
}

static void hand_keeps_runs_and_records_where_threads_wait(void **state) {
    (void)state;
    open_hand(4);
    struct slab *slab = new_slab(SMALL);
    unsigned char *unit = slab_unit(slab);
    slab_delete(&hand, slab);
    assert_int_equal(pagemap_tag(unit), PAGEMAP_NONE);
    assert_int_equal(arena.in_use, 1);
    unsigned calls = arena.calls;
    assert_ptr_equal(new_slab(SMALL), slab);
    assert_ptr_equal(slab_unit(slab), unit);
    assert_false(slab->untouched);
    assert_int_equal(arena.calls, calls);
    slab_delete(&hand, slab);
    slab = new_slab(SMALL + 1); /* of another class: what is at hand is for any */
    assert_ptr_equal(slab_unit(slab), unit);
    assert_int_equal(slab->class, SMALL + 1);
    finish(slab);
    close_hand();
}

/* A record has as many lines as its class needs, and a run as many units. */
static void hand_gives_only_what_fits(void **state) {
    (void)state;
    open_hand(8);
    finish(new_slab(SMALL));
    assert_int_equal(hand->count, 1);
    struct slab *many = new_slab(0), *long_one = new_slab(LONG);
    assert_int_equal(hand->count, 1);
    finish(many);
    finish(long_one);
    assert_true(hand->count >= 2);
    finish(new_slab(0));
    finish(new_slab(LONG));
    close_hand();
}

static void P5_hand_holds_no_more_than_it_may(void **state) {
    (void)state;
    struct slab *many[3 * SLAB_HAND_UNITS];
    for (unsigned most = 4; most <= SLAB_HAND_UNITS; most += 4) {
        open_hand(most);
        for (unsigned i = 0; i < 3 * SLAB_HAND_UNITS; i++)
            many[i] = new_slab(SMALL);
        unsigned held = hand->units;
        for (unsigned i = 0; i < 3 * SLAB_HAND_UNITS; i++) {
            arena.waits = hand->most == most ? 0 : 1; /* it stays as it is */
            slab_delete(&hand, many[i]);
            assert_true(hand->units <= hand->most && hand->count <= SLAB_HAND_MOST);
            held = hand->units > held ? hand->units : held;
        }
        assert_int_equal(held, most < SLAB_HAND_MOST ? most : SLAB_HAND_MOST);
        close_hand();
    }
    open_hand(SLAB_HAND_UNITS); /* long ones: as many units */
    for (unsigned i = 0; i < 16; i++)
        many[i] = new_slab(LONG);
    for (unsigned i = 0; i < 16; i++) {
        arena.waits = 1;
        slab_delete(&hand, many[i]);
        assert_true(hand->units <= SLAB_HAND_UNITS);
    }
    assert_true(hand->units > SLAB_HAND_UNITS / 2);
    close_hand();
}

/* All hands: what each may have anyway, and 8 MiB. */
static void P5_hands_share_what_they_are_granted(void **state) {
    (void)state;
    static struct slab_hand *many[40];
    unsigned beyond = 0;
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned times = 0; times < SLAB_HAND_UNITS; times++)
            slab_hand_learn(&many[i], true);
        assert_true(many[i]->most >= SURE && many[i]->most <= SLAB_HAND_UNITS);
        beyond += many[i]->most - SURE;
    }
    assert_int_equal(many[0]->most, SLAB_HAND_UNITS);
    assert_int_equal(many[39]->most, SURE);
    assert_true(beyond <= GRANTED && beyond > GRANTED - STEP);
    slab_hand_empty(many[0]);
    for (unsigned times = 0; times < SLAB_HAND_UNITS; times++)
        slab_hand_learn(&many[39], true);
    assert_int_equal(many[39]->most, SLAB_HAND_UNITS);
    for (unsigned i = 0; i < 40; i++)
        slab_hand_empty(many[i]);
    close_hand();
}

/* Runs of which somebody else may be in need are given back by and by. */
static void hand_gets_smaller_where_nobody_waits(void **state) {
    (void)state;
    open_hand(SLAB_HAND_UNITS);
    struct slab *many[24];
    for (unsigned round = 0; round < 100 && hand->most > 0; round++) {
        for (unsigned i = 0; i < 24; i++)
            many[i] = new_slab(SMALL);
        for (unsigned i = 0; i < 24; i++)
            slab_delete(&hand, many[i]);
    }
    assert_int_equal(hand->most, 0);
    close_hand();
}

static void hand_is_empty_after_a_rest(void **state) {
    (void)state;
    open_hand(8);
    finish(new_slab(SMALL));
    assert_true(slab_hand_rest(hand, false)); /* it was used */
    assert_int_equal(hand->count, 1);
    finish(new_slab(SMALL));
    assert_true(slab_hand_rest(hand, false));
    assert_false(slab_hand_rest(hand, false));
    assert_int_equal(arena.in_use, 0);
    open_hand(8);
    finish(new_slab(SMALL));
    assert_false(slab_hand_rest(hand, true)); /* now */
    close_hand();
}

static void hand_takes_runs_in_advance(void **state) {
    (void)state;
    open_hand(8);
    struct slab *many[16];
    arena.took_full = true;
    unsigned calls = arena.calls;
    unsigned most = 0;
    for (unsigned i = 0; i < 16; i++) {
        many[i] = new_slab(SMALL);
        most = hand->units > most ? hand->units : most;
    }
    arena.took_full = false;
    assert_true(arena.calls < calls + 10);
    assert_int_equal(arena.in_use, 16 + hand->units);
    assert_int_equal(most, 4); /* half of it is for what is deleted */
    assert_true(hand->count > 0);
    unsigned full = arena.full, taken = hand->count;
    slab_hand_empty(hand); /* what was full still is */
    assert_int_equal(arena.full, full + taken);
    for (unsigned i = 0; i < 16; i++)
        slab_delete(&hand, many[i]);
    assert_int_equal(arena.full, full + taken);
    close_hand();
}

/* Records that were taken for runs that did not come are used again. */
static void hand_loses_no_record(void **state) {
    (void)state;
    open_hand(16);
    arena.fewer = 2;
    struct slab *many[12];
    uint64_t before = 0;
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i < 12; i++)
            many[i] = new_slab(SMALL);
        for (unsigned i = 0; i < 12; i++)
            slab_delete(&hand, many[i]);
        slab_hand_give_all(hand);
        open_hand(16);
        if (round == 0)
            before = metadata_bytes();
    }
    assert_int_equal(metadata_bytes(), before);
    arena.fewer = 0;
    close_hand();
}

static void hand_gives_half_back_at_once(void **state) {
    (void)state;
    open_hand(16);
    struct slab *many[17];
    for (unsigned i = 0; i < 17; i++)
        many[i] = new_slab(SMALL);
    slab_hand_give_oldest(hand, hand->count);
    for (unsigned i = 0; i < 16; i++)
        slab_delete(&hand, many[i]);
    assert_int_equal(hand->count, 16);
    unsigned calls = arena.calls;
    slab_delete(&hand, many[16]);
    assert_int_equal(arena.calls, calls + 1);
    assert_int_equal(hand->count, 9);
    assert_ptr_equal(hand->of[0], many[8]); /* the oldest have gone */
    close_hand();
}

static void hand_knows_that_its_runs_were_touched(void **state) {
    (void)state;
    struct slab *slab = new_slab(SMALL);
    assert_true(slab->untouched);
    slab_hand_learn(&hand, true);
    slab_delete(&hand, slab);
    assert_int_equal(hand->count, 1);
    assert_ptr_equal(new_slab(SMALL), slab);
    assert_false(slab->untouched);
    slab_delete(&hand, slab);
    close_hand();
}

static void hand_is_given_back_near_a_limit(void **state) {
    (void)state;
    open_hand(8);
    finish(new_slab(SMALL));
    struct slab *slab = new_slab(LONG);
    assert_int_equal(hand->count, 1);
    limit_configure(SIZE_MAX - 1, 1, 0);
    limit_hold(MIB);
    assert_true(limit_near());
    slab_delete(&hand, slab);
    assert_int_equal(hand->count, 0);
    assert_int_equal(arena.in_use, 0);
    limit_give(MIB);
    limit_configure(0, 0, 0);
    assert_false(limit_near());
    close_hand();
}

/* What a slab's pages hold is told when they are given back, whoever has waited with it. */
static void hand_tells_what_is_full(void **state) {
    (void)state;
    open_hand(8);
    unsigned full = arena.full;
    struct slab *whole = new_slab(SMALL), *untouched = new_slab(SMALL);
    finish(whole); /* all of its blocks were handed out */
    slab_delete(&hand, untouched);
    assert_int_equal(hand->count, 2);
    slab_hand_empty(hand);
    assert_int_equal(arena.full, full + 1);
    open_hand(8);
    finish(new_slab(LONG)); /* blocks with pages between their ends */
    slab_hand_empty(hand);
    assert_int_equal(arena.full, full + 1);
    close_hand();
}

static void hand_is_given_back_before_there_is_no_memory(void **state) {
    (void)state;
    open_hand(8);
    finish(new_slab(SMALL));
    arena.refuse = 1;
    struct slab *slab = new_slab(LONG);
    assert_int_equal(hand->count, 0);
    finish(slab);
    slab_hand_empty(hand);
    arena.refuse = 1;
    assert_null(slab_new(&hand, 0, 1, false, OWNER, TAG));
    close_hand();
}

/* Where the heap grows what is at hand would be memory beside it that serves nobody. */
static void hand_is_given_back_when_new_memory_comes(void **state) {
    (void)state;
    open_hand(8);
    finish(new_slab(SMALL));
    arena.touched = false;
    struct slab *slab = new_slab(LONG);
    assert_int_equal(hand->count, 0);
    assert_int_equal(arena.in_use, slab->units);
    finish(slab);
    close_hand();
}

/* ---- a burst: many blocks of one slab at once ---- */

/* A slab all of whose blocks are in the program's hands. */
static struct slab *new_full_slab(unsigned class) {
    static void *blocks[4096];
    struct slab *slab = new_slab(class);
    assert_int_equal(pop_ascending(slab, blocks, 4096, true), slab->blocks);
    return slab;
}

/* Pops up to `count` blocks of a word that holds `bits`, and compares with a walk over the bits. */
static void check_pop_word(struct slab *slab, unsigned word, uint64_t bits, unsigned count) {
    void *blocks[64];
    unsigned expected = 0;
    assert_int_equal(slab_push_word(slab, word, bits), 0);
    unsigned have = pop_ascending(slab, blocks, count, false);
    for (unsigned bit = 0; bit < 64 && expected < count; bit++) {
        if (!(bits >> bit & 1))
            continue;
        if (expected >= have || blocks[expected] != block_of(slab, word * 64 + bit))
            fail_msg("word %u, bits %llx, %u blocks: wrong from place %u on", word, (unsigned long long)bits,
                     count, expected);
        expected++;
        bits &= ~(1ULL << bit);
    }
    assert_int_equal(have, expected);
    assert_int_equal(slab->bits[word], bits);
    assert_int_equal(slab->summary, bits ? 1ULL << word : 0);
    assert_int_equal(slab->free, bits_count(bits));
    pop_ascending(slab, blocks, 64, false);
    assert_int_equal(slab->free, 0);
}

/* Every run of neighbours in a word, and how much of it is taken: the path that does not search. */
static void slab_pops_every_run_of_neighbours(void **state) {
    (void)state;
    struct slab *slab = new_full_slab(1);
    for (unsigned lowest = 0; lowest < 64; lowest++) {
        for (unsigned length = 1; lowest + length <= 64; length++) {
            uint64_t run = length == 64 ? ~0ULL : ((1ULL << length) - 1) << lowest;
            unsigned counts[] = {1, length / 2, length - 1, length, length + 1, 64};
            for (unsigned i = 0; i < ARRAY_LENGTH(counts); i++)
                check_pop_word(slab, (lowest + length) % slab->words, run, counts[i] < 64 ? counts[i] : 64);
        }
    }
    put_back(slab);
}

/* Runs with a hole, words of few bits, and random ones. */
static void slab_pops_scattered_words(void **state) {
    (void)state;
    struct slab *slab = new_full_slab(0);
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        uint64_t bits = 0;
        unsigned word = random_below(&seed, slab->words), count = random_below(&seed, 65);
        if (round % 3 == 0) /* a run, with a hole or not */
            bits = ~0ULL << random_below(&seed, 64) & ~(1ULL << random_below(&seed, 64));
        else
            for (unsigned left = 1 + random_below(&seed, round % 3 == 1 ? 4 : 64); left > 0; left--)
                bits |= 1ULL << random_below(&seed, 64);
        check_pop_word(slab, word, bits, count);
    }
    for (unsigned bits = 1; bits < 256; bits++)
        for (unsigned count = 0; count <= 8; count++) {
            check_pop_word(slab, 0, bits, count);
            check_pop_word(slab, slab->words - 1u, (uint64_t)bits << 56, count);
        }
    put_back(slab);
}

/* The first blocks of every class, few or many: apart, and what is between is free. One alone has nothing to be apart from. */
static void slab_pops_the_first_apart(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        size_t size = sizeclass_table[class].size;
        for (unsigned count = 1; count <= 64; count++) {
            void *blocks[64] = {NULL}, **end = blocks + 64;
            struct slab *slab = new_slab(class);
            unsigned step = count > 1 && size < 128 ? (unsigned)((127 + size) / size) : 1;
            unsigned most = step == 1 ? slab->blocks : size == 16 ? 7 : 8, changes = slab->changes;
            unsigned have = slab_pop_apart(slab, end, count);
            assert_int_equal(slab->changes, (uint16_t)(changes + 1)); /* it is not at rest */
            assert_int_equal(have, count < most ? count : most);
            for (unsigned i = 0; i < have; i++)
                assert_ptr_equal(end[-1 - (int)i], block_of(slab, i * step));
            assert_true(have == 64 || !blocks[63 - have]);
            assert_int_equal(slab->carved, have * step);
            assert_int_equal(slab->free, have * (step - 1));
            check_counts(slab);
            put_back(slab);
        }
    }
    assert_int_equal(arena.in_use, 0);
}

/* One pop over words of either kind: the order is that of the addresses. */
static void slab_pop_goes_on_in_the_next_word(void **state) {
    (void)state;
    void *blocks[200];
    struct slab *slab = new_full_slab(0);
    const uint64_t words[] = {0xf0, 0, 0xa5a5, ~0ULL, 1, 0x8000000000000001};
    unsigned all = 0, place = 0;
    for (unsigned word = 0; word < ARRAY_LENGTH(words); word++) {
        assert_int_equal(slab_push_word(slab, word, words[word]), 0);
        all += bits_count(words[word]);
    }
    assert_int_equal(pop_ascending(slab, blocks, 200, false), all);
    for (unsigned number = 0; number < ARRAY_LENGTH(words) * 64; number++)
        if (words[number / 64] >> number % 64 & 1)
            assert_ptr_equal(blocks[place++], block_of(slab, number));
    assert_int_equal(place, all);
    check_counts(slab);
    put_back(slab);
}

/* slab_push_run, and why it stopped at a block of the slab. */
static unsigned push_run(struct slab *slab, void *const *blocks, unsigned count, enum slab_verdict *verdict) {
    unsigned done = slab_push_run(slab, blocks, count);
    bool inside =
        done < count && (uintptr_t)blocks[done] - (uintptr_t)slab->start < (size_t)slab->units * UNIT_SIZE;
    *verdict = inside ? slab_why_not(slab, blocks[done]) : SLAB_OK;
    return done;
}

/* What slab_push_run should do, block by block: how many it takes, and why it stops. */
static unsigned expected_run(const struct slab *slab, void *const *blocks, unsigned count,
                             enum slab_verdict *verdict) {
    static bool free_now[4096];
    size_t bytes = (size_t)sizeclass_table[slab->class].units * UNIT_SIZE;
    size_t size = sizeclass_table[slab->class].size;
    for (unsigned number = 0; number < slab->blocks; number++)
        free_now[number] = slab->bits[number / 64] >> number % 64 & 1;
    *verdict = SLAB_OK;
    for (unsigned done = 0; done < count; done++) {
        unsigned char *block = blocks[done];
        if (block < slab->start || block >= slab->start + bytes)
            return done;
        size_t offset = (size_t)(block - slab->start);
        if (offset % size != 0 || offset / size >= slab->carved) {
            *verdict = SLAB_INSIDE;
            return done;
        }
        if (free_now[offset / size]) {
            *verdict = SLAB_DOUBLE_FREE;
            return done;
        }
        free_now[offset / size] = true;
    }
    return count;
}

/* An address for a list: mostly a block of the slab, now and then one that ends a run. */
static unsigned char *random_address(uint64_t *seed, const struct slab *slab, unsigned near) {
    size_t bytes = (size_t)sizeclass_table[slab->class].units * UNIT_SIZE;
    unsigned number = random_below(seed, 3) ? near : random_below(seed, slab->blocks);
    switch (random_below(seed, 40)) {
    case 0:
        return slab->start - sizeclass_table[slab->class].size;
    case 1:
        return slab->start + bytes + (size_t)random_below(seed, 4) * sizeclass_table[slab->class].size;
    case 2:
        return block_of(slab, number) + 1 + random_below(seed, 15);
    case 3:
        return slab->start +
               (size_t)slab->blocks * sizeclass_table[slab->class].size; /* the rest at the end */
    default:
        return block_of(slab, number);
    }
}

static void random_runs(unsigned class, uint64_t seed) {
    void *blocks[100], *popped[100];
    struct slab *slab = new_slab(class);
    unsigned count = 1 + random_below(&seed, slab->blocks);
    for (unsigned left = count; left > 0; left -= left < 100 ? left : 100)
        pop_ascending(slab, popped, left < 100 ? left : 100, true);
    for (int round = 0; round < 400; round++) {
        unsigned first = random_below(&seed, slab->blocks), more = 1 + random_below(&seed, 99);
        for (unsigned i = 0; i < more; i++)
            blocks[i] = random_address(&seed, slab, (first + i) % slab->blocks);
        enum slab_verdict expected, verdict;
        unsigned run = expected_run(slab, blocks, more, &expected);
        unsigned before = slab->free, done = push_run(slab, blocks, more, &verdict);
        assert_int_equal(done, run);
        assert_int_equal(verdict, expected);
        assert_int_equal(slab->free, before + run);
        check_counts(slab);
        pop_ascending(slab, popped, random_below(&seed, 100), false);
    }
    put_back(slab);
}

/* Blocks that are out, neighbours of one of them in any order; one list in four has a block that is free, too, one in eight an
 * address inside of a block. */
static unsigned neighbours_out(uint64_t *seed, const struct slab *slab, void **blocks, unsigned most) {
    unsigned middle = random_below(seed, slab->carved), from = middle < 40 ? 0 : middle - 40, have = 0;
    for (unsigned number = from; number < slab->carved && number < from + 80 && have < most; number++)
        if (!(slab->bits[number / 64] >> number % 64 & 1) && random_below(seed, 3) > 0)
            blocks[have++] = block_of(slab, number);
    for (unsigned i = have; i > 1; i--) {
        unsigned other = random_below(seed, i);
        void *block = blocks[i - 1];
        blocks[i - 1] = blocks[other];
        blocks[other] = block;
    }
    unsigned wrong = random_below(seed, 8), which = have > 0 ? random_below(seed, have) : 0;
    if (have > 0 && wrong < 2)
        blocks[which] = block_of(slab, from + random_below(seed, 80) % slab->carved);
    if (have > 0 && wrong == 2)
        blocks[which] = (unsigned char *)blocks[which] + 8 * (1 + random_below(seed, 2));
    return have;
}

static void neighbours_in_runs(unsigned class, uint64_t seed) {
    void *blocks[64], *popped[100];
    struct slab *slab = new_slab(class);
    unsigned left = 1 + random_below(&seed, slab->blocks);
    for (; left > 0; left -= left < 100 ? left : 100)
        pop_ascending(slab, popped, left < 100 ? left : 100, true);
    for (int round = 0; round < 400; round++) {
        unsigned count = neighbours_out(&seed, slab, blocks, ARRAY_LENGTH(blocks));
        if (count > 0) {
            enum slab_verdict expected, verdict;
            unsigned run = expected_run(slab, blocks, count, &expected), before = slab->free;
            assert_int_equal(push_run(slab, blocks, count, &verdict), run);
            assert_int_equal(verdict, expected);
            assert_int_equal(slab->free, before + run);
            check_counts(slab);
        }
        if (slab->free > slab->carved / 2u)
            pop_ascending(slab, popped, random_below(&seed, 100), false);
    }
    put_back(slab);
}

static void slab_P3_neighbours_go_back_together(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class += 5)
        neighbours_in_runs(class, class + 1);
    assert_int_equal(arena.in_use, 0);
}

/* All neighbours, or none: when one is free already, was never carved, or lies elsewhere, or where they do not start at a block. */
static void push_neighbours(struct slab *slab, uint64_t *seed, unsigned most) {
    size_t size = sizeclass_table[slab->class].size;
    unsigned count = 1 + random_below(seed, most), first = random_below(seed, slab->blocks),
             before = slab->free;
    uintptr_t lowest = (uintptr_t)block_of(slab, first);
    bool may = first + count <= slab->carved;
    for (unsigned number = first; may && number < first + count; number++)
        may = !(slab->bits[number / 64] >> number % 64 & 1);
    switch (random_below(seed, 10)) {
    case 0:
        lowest += 1 + random_below(seed, (unsigned)size - 1);
        may = false;
        break;
    case 1:
        lowest -= (first + 1) * size;
        may = false;
        break;
    default:
        break;
    }
    uint16_t changes = slab->changes;
    assert_int_equal(slab_push_neighbours(slab, lowest, count), may);
    assert_int_equal(slab->free, before + may * count);
    assert_int_equal(slab->changes, (uint16_t)(changes + may));
    for (unsigned number = first; may && number < first + count; number++)
        assert_int_equal(slab->bits[number / 64] >> number % 64 & 1, 1);
    check_counts(slab);
}

static void slab_P3_P4_neighbours_go_back_all_or_none(void **state) {
    (void)state;
    static const unsigned most[] = {3, 130, 1, 70};
    uint64_t seed = 5;
    void *popped[100];
    for (unsigned class = 0; class < SIZECLASS_COUNT; class += 3) {
        struct slab *slab = new_slab(class);
        for (unsigned left = 1 + random_below(&seed, slab->blocks); left > 0; left -= left < 100 ? left : 100)
            pop_ascending(slab, popped, left < 100 ? left : 100, true);
        for (unsigned round = 0; round < 600; round++) {
            push_neighbours(slab, &seed, most[round % 4]);
            if (slab->free > slab->carved / 3u)
                pop_ascending(slab, popped, random_below(&seed, 100), false);
        }
        put_back(slab);
    }
    assert_int_equal(arena.in_use, 0);
}

/* As far as each is `step` bytes from the one before: of any number of blocks, either way, with a stray one anywhere or none. */
static void slab_rows_end_where_they_must(void **state) {
    (void)state;
    enum { MOST = 130 };
    static const intptr_t steps[] = {16, -16, 48, -1008};
    for (unsigned i = 0; i < ARRAY_LENGTH(steps); i++) {
        for (unsigned count = 2; count <= MOST; count++) {
            for (unsigned stray = 2; stray <= count; stray++) {
                void *blocks[MOST];
                for (unsigned at = 0; at < count; at++)
                    blocks[at] = (void *)(uintptr_t)(((intptr_t)1 << 40) + steps[i] * (intptr_t)at);
                if (stray < count)
                    blocks[stray] = (char *)blocks[stray] + (stray % 2 ? steps[i] : -16 * steps[i]);
                assert_int_equal(slab_count_row(blocks, count, (uintptr_t)steps[i]), stray);
            }
        }
    }
}

static void slab_P3_P4_a_run_ends_where_it_must(void **state) {
    (void)state;
    static const unsigned classes[] = {0, 2, 7, 20, 40, 55, 63, 70, 71};
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++)
        random_runs(classes[i], i + 1);
    assert_int_equal(arena.in_use, 0);
}

static void slab_run_ends_say_why(void **state) {
    (void)state;
    enum slab_verdict verdict;
    void *out[20];
    struct slab *slab = new_slab(20);
    unsigned have = pop_ascending(slab, out, 20, true);
    assert_int_equal(have, 20);
    void *foreign[] = {out[0], out[1], slab->start - 64, out[2]};
    assert_int_equal(push_run(slab, foreign, 4, &verdict), 2);
    assert_int_equal(verdict, SLAB_OK);
    void *inside[] = {out[2], (char *)out[3] + 16, out[4]};
    assert_int_equal(push_run(slab, inside, 3, &verdict), 1);
    assert_int_equal(verdict, SLAB_INSIDE);
    void *again[] = {out[3], out[4], out[0]};
    assert_int_equal(push_run(slab, again, 3, &verdict), 2);
    assert_int_equal(verdict, SLAB_DOUBLE_FREE);
    void *twice[] = {out[5], out[5]};
    assert_int_equal(push_run(slab, twice, 2, &verdict), 1);
    assert_int_equal(verdict, SLAB_DOUBLE_FREE);
    void *untouched[] = {out[6], block_of(slab, 20)};
    assert_int_equal(push_run(slab, untouched, 2, &verdict), 1);
    assert_int_equal(verdict, SLAB_INSIDE);
    assert_int_equal(push_run(slab, out + 7, 13, &verdict), 13);
    assert_int_equal(verdict, SLAB_OK);
    finish(slab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slab_P1_P2_random_programs, kernel_reset),
        cmocka_unit_test_setup(slab_P3_a_second_free_changes_nothing, kernel_reset),
        cmocka_unit_test_setup(slab_P4_only_starts_of_blocks_change_a_bit, kernel_reset),
        cmocka_unit_test_setup(slab_carves_only_when_asked, kernel_reset),
        cmocka_unit_test_setup(slab_is_dense_once_all_of_it_was_handed_out, kernel_reset),
        cmocka_unit_test_setup(slab_learns_whether_blocks_are_written_whole, kernel_reset),
        cmocka_unit_test_setup(slab_fills_pages_as_far_as_is_known, kernel_reset),
        cmocka_unit_test_setup(slab_longer_ones_may_be_sparse, kernel_reset),
        cmocka_unit_test_setup(slab_finds_all_free_pages, kernel_reset),
        cmocka_unit_test_setup(slab_tags_follow_the_owner, kernel_reset),
        cmocka_unit_test_setup(slab_records_are_used_again, kernel_reset),
        cmocka_unit_test_setup(hand_has_nothing_where_nobody_waits, kernel_reset),
        cmocka_unit_test_setup(hand_keeps_runs_and_records_where_threads_wait, kernel_reset),
        cmocka_unit_test_setup(hand_gives_only_what_fits, kernel_reset),
        cmocka_unit_test_setup(P5_hand_holds_no_more_than_it_may, kernel_reset),
        cmocka_unit_test_setup(P5_hands_share_what_they_are_granted, kernel_reset),
        cmocka_unit_test_setup(hand_gets_smaller_where_nobody_waits, kernel_reset),
        cmocka_unit_test_setup(hand_is_empty_after_a_rest, kernel_reset),
        cmocka_unit_test_setup(hand_takes_runs_in_advance, kernel_reset),
        cmocka_unit_test_setup(hand_loses_no_record, kernel_reset),
        cmocka_unit_test_setup(hand_gives_half_back_at_once, kernel_reset),
        cmocka_unit_test_setup(hand_knows_that_its_runs_were_touched, kernel_reset),
        cmocka_unit_test_setup(hand_is_given_back_near_a_limit, kernel_reset),
        cmocka_unit_test_setup(hand_tells_what_is_full, kernel_reset),
        cmocka_unit_test_setup(hand_is_given_back_before_there_is_no_memory, kernel_reset),
        cmocka_unit_test_setup(hand_is_given_back_when_new_memory_comes, kernel_reset),
        cmocka_unit_test_setup(slab_pops_every_run_of_neighbours, kernel_reset),
        cmocka_unit_test_setup(slab_pops_scattered_words, kernel_reset),
        cmocka_unit_test_setup(slab_pops_the_first_apart, kernel_reset),
        cmocka_unit_test_setup(slab_pop_goes_on_in_the_next_word, kernel_reset),
        cmocka_unit_test_setup(slab_P3_P4_a_run_ends_where_it_must, kernel_reset),
        cmocka_unit_test_setup(slab_P3_neighbours_go_back_together, kernel_reset),
        cmocka_unit_test_setup(slab_P3_P4_neighbours_go_back_all_or_none, kernel_reset),
        cmocka_unit_test(slab_rows_end_where_they_must),
        cmocka_unit_test_setup(slab_run_ends_say_why, kernel_reset),
        cmocka_unit_test_setup(slab_may_be_shorter_than_its_class_wants, kernel_reset),
        cmocka_unit_test_setup(slab_P4_no_block_is_whole_windows_away, kernel_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
