/* Unit tests of slab, on units that nobody may touch: the room reads no byte of a block. */
#include "../../src/slab.c"

#include "arena.h"
#include "kernel.h"
#include "pop.h"
#include "random.h"

#include <string.h>

enum { TAG = 0x12300 };
static char owners[2];
#define OWNER ((struct inbox *)&owners[0])
#define OTHER ((struct inbox *)&owners[1])

static struct slab *new_slab(unsigned class) {
    struct slab *slab = slab_new(class, OWNER, TAG | class);
    assert_non_null(slab);
    return slab;
}

static unsigned char *block_of(const struct slab *slab, unsigned number) {
    return slab->start + (size_t)number * sizeclass_table[slab->class].size;
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
    slab_delete(slab);
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

static void slab_tags_follow_the_owner(void **state) {
    (void)state;
    struct slab *slab = new_slab(60);
    unsigned char *last = slab->start + (size_t)sizeclass_table[60].units * UNIT_SIZE - 1;
    unsigned char *start = slab->start;
    assert_int_equal(pagemap_tag(start), TAG | 60);
    assert_int_equal(pagemap_tag(last), TAG | 60);
    assert_ptr_equal(pagemap_record(last), slab);
    slab_change_owner(slab, OTHER, 0x45600 | 60);
    assert_ptr_equal(slab->owner, OTHER);
    assert_int_equal(pagemap_tag(start), 0x45600 | 60);
    assert_int_equal(pagemap_tag(last), 0x45600 | 60);
    slab_delete(slab);
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
            assert_null(slab_new(class, OWNER, TAG | class));
            finish(new_slab(class));
        }
        if (round == 0)
            before = metadata_bytes();
    }
    assert_int_equal(metadata_bytes(), before);
    assert_int_equal(arena.in_use, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slab_P1_P2_random_programs, kernel_reset),
        cmocka_unit_test_setup(slab_P3_a_second_free_changes_nothing, kernel_reset),
        cmocka_unit_test_setup(slab_P4_only_starts_of_blocks_change_a_bit, kernel_reset),
        cmocka_unit_test_setup(slab_carves_only_when_asked, kernel_reset),
        cmocka_unit_test_setup(slab_tags_follow_the_owner, kernel_reset),
        cmocka_unit_test_setup(slab_records_are_used_again, kernel_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
