/* Unit tests of sizeclass: the whole table, every request. */
#include "sizeclass.h"

#include "unit/unit.h"

static void sizeclass_P1_blocks_are_granules_and_up_to_a_line_as_aligned_as_the_request(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        assert_int_equal(sizeclass_table[class].size % SIZECLASS_GRANULE, 0);
    for (size_t size = 16; size <= SIZECLASS_COLOUR; size *= 2)
        assert_int_equal(sizeclass_table[sizeclass_of(size)].size % size, 0);
}

/* Of the usual ones. */
static void sizeclass_of_is_the_smallest_that_fits(void **state) {
    (void)state;
    for (size_t size = 0; size <= SIZECLASS_LARGEST; size++) {
        unsigned class = sizeclass_of(size), smallest = 0;
        while (smallest < SIZECLASS_USUAL && sizeclass_table[smallest].size < size)
            smallest++;
        if (class != smallest)
            fail_msg("%zu bytes: class %u, the smallest is %u", size, class, smallest);
    }
}

/* Blocks are as many as they would be without a line more; or one fewer, of 4, 8, 16 and 32 KiB. */
static void sizeclass_a_line_more_costs_no_block(void **state) {
    (void)state;
    const struct sizeclass *page = &sizeclass_table[sizeclass_of(4096)];
    assert_int_equal(page->blocks, 4 * UNIT_SIZE / 4096 - 1);
    assert_int_equal(page->size / SIZECLASS_COLOUR % 2, 1);
    for (unsigned class = sizeclass_of(8192); class < SIZECLASS_USUAL; class ++) {
        const struct sizeclass *row = &sizeclass_table[class];
        size_t slab = (size_t)row->units << UNIT_SHIFT, round = row->size / KIB * KIB;
        assert_int_equal(row->blocks,
                         slab / round - (round == 8 * KIB || round == 16 * KIB || round == 32 * KIB));
        assert_true(row->size / SIZECLASS_COLOUR % 2 == 1 ||
                    round == 15 * KIB); /* no two begin alike in a page */
    }
}

static void sizeclass_P2_an_eighth_at_most_is_waste(void **state) {
    (void)state;
    for (size_t size = 129; size <= SIZECLASS_LARGEST; size++) {
        size_t block = sizeclass_table[sizeclass_of(size)].size;
        if ((block - size) * 8 > block)
            fail_msg("%zu bytes get a block of %zu", size, block);
    }
}

static void sizeclass_P3_inverse_is_exact_at_every_block(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        const struct sizeclass *row = &sizeclass_table[class];
        for (uint64_t offset = 0; offset < (uint64_t)row->units << UNIT_SHIFT; offset++) {
            uint64_t number;
            bool starts = sizeclass_divide(offset, row->inverse, &number);
            if (starts != (offset % row->size == 0) || (starts && number != offset / row->size))
                fail_msg("offset %lu of blocks of %u", (unsigned long)offset, row->size);
        }
    }
}

static void sizeclass_rows_agree_with_their_slab(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        const struct sizeclass *row = &sizeclass_table[class];
        size_t slab = (size_t)row->units * UNIT_SIZE;
        assert_true(class == 0 || class == SIZECLASS_USUAL || row->size > row[-1].size);
        assert_int_equal(row->blocks, class == 0 ? SIZECLASS_BLOCKS_MOST : slab / row->size);
        assert_true(row->blocks >= 8);
        assert_int_equal(row->words, (row->blocks + 63) / 64);
        assert_in_range(row->magazine, 7, SIZECLASS_MAGAZINE);
        assert_true((size_t)row->magazine * row->size <= 256 * KIB);
        assert_true(row->magazine == SIZECLASS_MAGAZINE || (row->magazine + 1u) * row->size > 256 * KIB);
    }
}

/* All blocks end within the slab, and plain ones have no colours. */
static void sizeclass_P4_a_colour_is_some_lines_of_a_block(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        const struct sizeclass *row = &sizeclass_table[class];
        uint64_t slab = (uint64_t)row->units << UNIT_SHIFT, most = 0;
        for (uint64_t unit = 0; unit < 100000; unit++) {
            uint64_t colour = sizeclass_colour(row, unit), blocks = sizeclass_blocks(row, row->units, unit);
            if (colour % SIZECLASS_COLOUR != 0 || colour >= 17 * KIB || colour >= row->size)
                fail_msg("class %u, unit %lu: %lu", class, (unsigned long)unit, (unsigned long)colour);
            uint64_t fit = (slab - colour) / row->size;
            if (blocks != (fit < row->blocks ? fit : row->blocks))
                fail_msg("class %u, unit %lu: %lu blocks", class, (unsigned long)unit, (unsigned long)blocks);
            most = colour > most ? colour : most;
        }
        assert_int_equal(most, (row->colours - 1u) << row->grain);
        assert_true(class < SIZECLASS_USUAL || row->colours == 1);
        assert_true(row->grain == 6 || row->size % (1 << row->grain) == 0);
    }
    for (unsigned i = 0; i < SIZECLASS_PLAINS; i++)
        assert_int_equal(sizeclass_table[SIZECLASS_USUAL + i].size, SIZECLASS_PLAIN_FIRST << i);
}

/* Slabs of a class may be neighbours, or each second or third run may be one: twice as many of them as there are colours have half of those at
 * least, so that the first lines of many blocks lie in all sets of a cache (tests/bars/sets.c). */
static void sizeclass_colours_are_as_many_as_there_are_slabs(void **state) {
    (void)state;
    for (size_t size = 256; size <= 2048; size *= 2)
        assert_int_equal(sizeclass_table[sizeclass_of(size)].colours, size / SIZECLASS_COLOUR);
    assert_int_equal(sizeclass_table[sizeclass_of(4096)].colours, 4096 / SIZECLASS_COLOUR);
    for (size_t size = 16 * KIB; size <= 32 * KIB; size *= 2)
        assert_in_range(sizeclass_table[sizeclass_of(size)].colours, 128,
                        255); /* pages, too, are told apart */
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        const struct sizeclass *row = &sizeclass_table[class];
        assert_true(row->size <= 128 || class >= SIZECLASS_USUAL || row->colours > 1);
        for (unsigned step = 1; step <= 3; step++)
            for (uint64_t first = 1000; first < 3000; first++) {
                bool seen[256] = {false};
                unsigned different = 0;
                for (unsigned i = 0; i < 2u * row->colours; i++) {
                    bool *one = &seen[sizeclass_colour(row, first + i * step) >> row->grain];
                    different += !*one;
                    *one = true;
                }
                if (different * 2 < row->colours)
                    fail_msg("class %u, each %u. unit from %lu on: %u of %u colours", class, step,
                             (unsigned long)first, different, row->colours);
            }
    }
}

/* What all blocks of a class are multiples of. */
static size_t alignment_of(unsigned class) {
    const struct sizeclass *row = &sizeclass_table[class];
    size_t power = row->size & -row->size, grain = (size_t)1 << row->grain;
    return row->colours > 1 && power > grain ? grain : power;
}

static unsigned smallest_aligned(size_t size, size_t alignment) {
    unsigned best = SIZECLASS_COUNT;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        if (sizeclass_table[class].size >= size && alignment_of(class) >= alignment &&
            (class < SIZECLASS_USUAL || alignment > SIZECLASS_COLOUR || class == sizeclass_of(size)) &&
            (best == SIZECLASS_COUNT || sizeclass_table[class].size < sizeclass_table[best].size))
            best = class;
    return best;
}

static void sizeclass_aligned_is_the_smallest_that_fits(void **state) {
    (void)state;
    for (size_t alignment = 1; alignment <= SIZECLASS_LARGEST; alignment *= 2)
        for (size_t size = 0; size <= SIZECLASS_LARGEST; size += size < 600 ? 1 : 97)
            if (sizeclass_aligned(size, alignment) != smallest_aligned(size, alignment))
                fail_msg("%zu bytes at %zu: class %u", size, alignment, sizeclass_aligned(size, alignment));
    assert_int_equal(sizeclass_aligned(SIZECLASS_LARGEST, SIZECLASS_LARGEST), SIZECLASS_COUNT - 1);
    assert_int_equal(sizeclass_aligned(SIZECLASS_LARGEST + 1, 16), SIZECLASS_COUNT);
    assert_int_equal(sizeclass_aligned(1, 2 * SIZECLASS_LARGEST), SIZECLASS_COUNT);
    assert_int_equal(sizeclass_aligned(SIZE_MAX, 16), SIZECLASS_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizeclass_P1_blocks_are_granules_and_up_to_a_line_as_aligned_as_the_request),
        cmocka_unit_test(sizeclass_of_is_the_smallest_that_fits),
        cmocka_unit_test(sizeclass_a_line_more_costs_no_block),
        cmocka_unit_test(sizeclass_P2_an_eighth_at_most_is_waste),
        cmocka_unit_test(sizeclass_P3_inverse_is_exact_at_every_block),
        cmocka_unit_test(sizeclass_rows_agree_with_their_slab),
        cmocka_unit_test(sizeclass_P4_a_colour_is_some_lines_of_a_block),
        cmocka_unit_test(sizeclass_colours_are_as_many_as_there_are_slabs),
        cmocka_unit_test(sizeclass_aligned_is_the_smallest_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
