/* Unit tests of the room marks, on slabs whose units nobody may touch: what is marked, what is not, and what becomes of it. */
#include "../../src/marks.c"

#include "arena.h"
#include "kernel.h"
#include "misuse.h"
#include "pop.h"
#include "random.h"

enum { TAG = 0x12300, MOST = MARKS_BYTES };
static char owner;
static struct slab_hand *hand; /* with nothing at hand */

static struct {
    unsigned count;
    const void *last;
} heard;

void misuse_report(enum misuse kind, const void *address) {
    assert_int_equal(kind, MISUSE_DOUBLE_FREE);
    heard.count++;
    heard.last = address;
}

static int setup(void **state) {
    heard.count = 0;
    return kernel_reset(state);
}

/* A slab of the class, of which `count` blocks, or all, are in the program's hands. */
static struct slab *slab_out(unsigned class, unsigned count) {
    static void *blocks[MOST];
    struct slab *slab = slab_new(&hand, class, 1, false, (struct inbox *)&owner, TAG | class);
    assert_non_null(slab);
    count = count < slab->blocks ? count : slab->blocks;
    assert_int_equal(pop_ascending(slab, blocks, count, true), count);
    return slab;
}

static unsigned char *block_of(const struct slab *slab, unsigned number) {
    return slab->start + (size_t)number * sizeclass_table[slab->class].size;
}

static bool is_free(const struct slab *slab, unsigned number) {
    return slab->bits[number / 64] >> number % 64 & 1;
}

/* All blocks are free, and the slab goes. */
static void finish(struct slab *slab) {
    for (unsigned number = 0; number < slab->carved; number++)
        if (!is_free(slab, number))
            assert_int_equal(slab_push(slab, block_of(slab, number)), SLAB_OK);
    slab_delete(&hand, slab);
    assert_int_equal(arena.in_use, 0);
}

/* P3: whatever was marked, the table is empty. */
static void check_empty(const struct marks *marks) {
    assert_null(marks->slab);
    assert_int_equal(marks->span, 0);
    for (unsigned i = 0; i < MARKS_BYTES; i++)
        assert_int_equal(marks->bytes[i], 0);
}

static unsigned largest_class(void) {
    unsigned class = 0;
    while (sizeclass_table[class + 1].size <= MARKS_LARGEST)
        class ++;
    return class;
}

/* Every address of a unit and some on both sides, for every class: only starts of blocks that were carved. */
static void marks_P1_only_starts_of_blocks(void **state) {
    (void)state;
    struct marks marks = {0};
    for (unsigned class = 0; class <= largest_class(); class ++) {
        size_t size = sizeclass_table[class].size;
        struct slab *slab = slab_out(class, class % 3 ? sizeclass_table[class].blocks
                                                      : sizeclass_table[class].blocks / 2u + 1);
        assert_true(marks_begin(&marks, slab));
        unsigned taken = 0, carved = slab->carved;
        for (size_t offset = 0; offset < UNIT_SIZE; offset++) {
            bool starts = offset % size == 0 && offset / size < carved;
            enum marks_found found = marks_add(&marks, slab->start + offset);
            taken += starts;
            if (found != (!starts ? MARKS_ELSEWHERE : taken < carved ? MARKS_TAKEN : MARKS_LAST))
                fail_msg("class %u, offset %zu: %d", class, offset, found);
        }
        assert_int_equal(marks_add(&marks, slab->start - size), MARKS_ELSEWHERE);
        assert_int_equal(marks_add(&marks, slab->start - 1), MARKS_ELSEWHERE);
        assert_int_equal(marks_add(&marks, slab->start + UNIT_SIZE), MARKS_ELSEWHERE);
        assert_int_equal(marks_add(&marks, NULL), MARKS_ELSEWHERE);
        assert_int_equal(marks_collect(&marks), carved);
        check_empty(&marks);
        assert_int_equal(slab->free, carved);
        assert_int_equal(marks_collect(&marks), 0);
        finish(slab);
    }
    assert_int_equal(heard.count, 0);
}

/* Where no slab is marked nothing is. */
static void marks_of_no_slab(void **state) {
    (void)state;
    struct marks marks = {0};
    assert_int_equal(marks_add(&marks, NULL), MARKS_ELSEWHERE);
    assert_int_equal(marks_add(&marks, &marks), MARKS_ELSEWHERE);
    assert_int_equal(marks_collect(&marks), 0);
}

/* Random blocks, against a map: those that were marked are free afterwards, with those that were before, and no others. */
static void marks_P2_P3_become_bits(void **state) {
    (void)state;
    static bool expected[MOST];
    struct marks marks = {0};
    uint64_t seed = 5;
    for (unsigned round = 0; round < 300; round++) {
        unsigned class = random_below(&seed, largest_class() + 1), blocks = sizeclass_table[class].blocks;
        struct slab *slab = slab_out(class, 1 + random_below(&seed, blocks));
        unsigned carved = slab->carved, before = 0, changes = slab->changes,
                 want = random_below(&seed, carved);
        for (unsigned number = 0; number < carved; number++) {
            expected[number] = random_below(&seed, 4) == 0;
            before += expected[number];
            if (expected[number])
                assert_int_equal(slab_push(slab, block_of(slab, number)), SLAB_OK);
        }
        if (before == carved) {
            finish(slab);
            continue;
        }
        assert_true(marks_begin(&marks, slab));
        assert_int_equal(marks.left, carved - before);
        unsigned marked = 0;
        for (unsigned tries = 0; tries < want; tries++) {
            unsigned number = random_below(&seed, carved);
            if (expected[number])
                continue;
            expected[number] = true;
            marked++;
            assert_int_equal(marks_add(&marks, block_of(slab, number)),
                             before + marked < carved ? MARKS_TAKEN : MARKS_LAST);
            assert_false(slab_is_empty(slab)); /* P2 */
        }
        assert_int_equal(marks_collect(&marks), marked);
        check_empty(&marks);
        assert_int_equal(slab->free, before + marked);
        assert_true(slab->changes != changes || marked + before == 0);
        for (unsigned number = 0; number < carved; number++)
            assert_int_equal(is_free(slab, number), expected[number]);
        for (unsigned word = 0; word < slab->words; word++)
            assert_int_equal(slab->summary >> word & 1, slab->bits[word] != 0);
        finish(slab);
    }
    assert_int_equal(heard.count, 0);
}

/* Of class 3; block 70 is free already when the slab is marked. */
static struct slab *slab_marked(struct marks *marks) {
    struct slab *slab = slab_out(3, 500);
    assert_int_equal(slab_push(slab, block_of(slab, 70)), SLAB_OK);
    assert_true(marks_begin(marks, slab));
    return slab;
}

/* Marked twice, free already, or both: said once a word, and free once. */
static void marks_P2_second_frees_are_said(void **state) {
    (void)state;
    struct marks marks = {0};
    struct slab *slab = slab_marked(&marks);
    assert_int_equal(marks_add(&marks, block_of(slab, 70)), MARKS_TAKEN);
    assert_int_equal(marks_add(&marks, block_of(slab, 71)), MARKS_TAKEN);
    assert_int_equal(marks_collect(&marks), 1);
    assert_int_equal(heard.count, 1);
    assert_ptr_equal(heard.last, block_of(slab, 70));
    assert_int_equal(slab->free, 2);

    assert_true(marks_begin(&marks, slab));
    for (unsigned times = 0; times < 3; times++)
        assert_int_equal(marks_add(&marks, block_of(slab, 130)), MARKS_TAKEN);
    assert_int_equal(marks_add(&marks, block_of(slab, 129)), MARKS_TAKEN);
    assert_int_equal(marks_collect(&marks), 2);
    check_empty(&marks);
    assert_int_equal(heard.count, 2);
    assert_ptr_equal(heard.last, block_of(slab, 130));
    assert_int_equal(slab->free, 4);
    finish(slab);
}

/* All 64 blocks of a word are marked, and one of them was free already. */
static void marks_P2_a_whole_word_is_not_always_back_as_a_whole(void **state) {
    (void)state;
    struct marks marks = {0};
    struct slab *slab = slab_marked(&marks);
    for (unsigned number = 64; number < 128; number++)
        assert_int_equal(marks_add(&marks, block_of(slab, number)), MARKS_TAKEN);
    assert_int_equal(marks_collect(&marks), 63);
    assert_int_equal(heard.count, 1);
    assert_int_equal(slab->free, 64);
    finish(slab);
}

/* However often a block is freed again, what is counted is what is free: a byte that has come round loses its block, no more. */
static void marks_P2_counts_are_those_of_the_bits(void **state) {
    (void)state;
    struct marks marks = {0};
    struct slab *slab = slab_out(0, SIZECLASS_BLOCKS_MOST);
    assert_true(marks_begin(&marks, slab));
    for (unsigned times = 0; times < 256; times++)
        assert_int_equal(marks_add(&marks, block_of(slab, 9)), MARKS_TAKEN);
    assert_int_equal(marks_add(&marks, block_of(slab, 10)), MARKS_TAKEN);
    assert_int_equal(marks_collect(&marks), 1);
    assert_int_equal(slab->free, 1);
    assert_true(is_free(slab, 10));
    finish(slab);
}

/* The table is mapped once; without memory for it there is no marking, and nothing has changed. */
static void marks_need_memory_once(void **state) {
    (void)state;
    struct marks marks = {0};
    struct slab *slab = slab_out(2, 100);
    uint64_t before = metadata_bytes();
    assert_true(marks_begin(&marks, slab));
    assert_int_equal(marks_collect(&marks), 0);
    assert_true(metadata_bytes() >= before);
    before = metadata_bytes();
    assert_true(marks_begin(&marks, slab));
    assert_int_equal(marks_collect(&marks), 0);
    assert_int_equal(metadata_bytes(), before);
    struct marks fresh = {0};
    kernel.map.refuse = ALWAYS;
    while (metadata_new(MARKS_BYTES))
        ;
    assert_false(marks_begin(&fresh, slab));
    assert_int_equal(marks_add(&fresh, block_of(slab, 1)), MARKS_ELSEWHERE);
    finish(slab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(marks_P1_only_starts_of_blocks, setup),
        cmocka_unit_test_setup(marks_of_no_slab, setup),
        cmocka_unit_test_setup(marks_P2_P3_become_bits, setup),
        cmocka_unit_test_setup(marks_P2_second_frees_are_said, setup),
        cmocka_unit_test_setup(marks_P2_a_whole_word_is_not_always_back_as_a_whole, setup),
        cmocka_unit_test_setup(marks_P2_counts_are_those_of_the_bits, setup),
        cmocka_unit_test_setup(marks_need_memory_once, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
