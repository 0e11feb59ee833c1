/* Unit tests of pagemap. Addresses are only numbers here: most are never mapped. The room's .c is included for
 * its tables. */
#include "../../src/pagemap.c"

#include "kernel.h"
#include "random.h"
#include "unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define IN_WINDOW ((unsigned char *)(40 * GIB))
#define ABOVE ((unsigned char *)0x7f1200000000u)

static unsigned char *unit_at(unsigned char *base, size_t unit) {
    return base + unit * UNIT_SIZE;
}

/* A random program of set and unset, against an array; neighbours must not change. */
static void check_random(unsigned char *base, uint64_t seed) {
    enum { UNITS = 3000 };
    static uint32_t tags[UNITS];
    static char records[UNITS];
    memset(tags, 0, sizeof tags);
    assert_true(pagemap_reserve(base, UNITS));
    for (int step = 0; step < 2000; step++) {
        unsigned length = 1 + random_below(&seed, 16), from = random_below(&seed, UNITS - length);
        uint32_t tag = random_below(&seed, 3) ? 1 + random_below(&seed, 0xffffff) : PAGEMAP_NONE;
        pagemap_set(unit_at(base, from), length, tag, tag ? &records[from] : NULL);
        for (unsigned i = from; i < from + length; i++) {
            tags[i] = tag;
            records[i] = (char)(from - i);
        }
    }
    for (unsigned i = 0; i < UNITS; i++) {
        assert_int_equal(pagemap_tag(unit_at(base, i)), tags[i]);
        assert_int_equal(pagemap_tag(unit_at(base, i) + UNIT_SIZE - 1), tags[i]);
        assert_ptr_equal(pagemap_record(unit_at(base, i)), tags[i] ? &records[i] + records[i] : NULL);
    }
    pagemap_set(base, UNITS, PAGEMAP_NONE, NULL);
}

static void pagemap_P1_tags_of_the_window(void **state) {
    (void)state;
    check_random(IN_WINDOW + 5 * UNIT_SIZE, 1);
    assert_int_equal(pagemap_tag(NULL), PAGEMAP_NONE);
    assert_null(pagemap_record(NULL));
}

static void pagemap_P1_tags_above_the_window(void **state) {
    (void)state;
    check_random(ABOVE, 2);
    check_random(ABOVE + GIB - 1500 * (size_t)UNIT_SIZE, 3);
}

static void pagemap_P1_tags_where_the_window_ends(void **state) {
    (void)state;
    check_random((unsigned char *)((PAGEMAP_WINDOW_UNITS - 1000) * UNIT_SIZE), 4);
}

static void pagemap_tag_in_window_is_the_same_tag(void **state) {
    (void)state;
    assert_true(pagemap_reserve(IN_WINDOW, 1));
    pagemap_set(IN_WINDOW, 1, 0x1234, &kernel);
    assert_int_equal(pagemap_tag_in_window(pagemap_unit(IN_WINDOW + 100)), 0x1234);
    pagemap_set(IN_WINDOW, 1, PAGEMAP_NONE, NULL);
    assert_int_equal(pagemap_tag_in_window(pagemap_unit(IN_WINDOW)), PAGEMAP_NONE);
}

static void pagemap_unknown_addresses_have_no_tag(void **state) {
    (void)state;
    static const uintptr_t addresses[] = {0x10000,           0x555500000000,  0x7fffffff0000,
                                          0xffffffff0000,    0x1000000000000, 0x8000000000000000,
                                          UINTPTR_MAX - 100, UINTPTR_MAX};
    for (size_t i = 0; i < ARRAY_LENGTH(addresses); i++) {
        assert_int_equal(pagemap_tag((void *)addresses[i]), PAGEMAP_NONE);
        assert_null(pagemap_record((void *)addresses[i]));
    }
    assert_false(pagemap_reserve((void *)((uintptr_t)1 << PAGEMAP_ADDRESS_SHIFT), 1));
    assert_false(pagemap_reserve((void *)(((uintptr_t)1 << PAGEMAP_ADDRESS_SHIFT) - UNIT_SIZE), 2));
}

static void pagemap_P2_no_memory_is_said_by_reserve(void **state) {
    (void)state;
    unsigned char *leaf = ABOVE + 100 * GIB, *window = IN_WINDOW + 10 * GIB;
    kernel.map.refuse = ALWAYS;
    assert_false(pagemap_reserve(leaf, 1)); /* longer than what metadata has left */
    while (pagemap_reserve(window, 1))
        window += (size_t)PAGEMAP_CHUNK_UNITS * UNIT_SIZE;
    assert_true((uintptr_t)window < HINT_END);
    assert_int_equal(pagemap_tag(leaf), PAGEMAP_NONE);
    assert_null(pagemap_record(leaf));
    assert_null(pagemap_record(window));
    kernel.map.refuse = 0;
    assert_true(pagemap_reserve(leaf, 1));
    assert_true(pagemap_reserve(window, 1));
    kernel.map.refuse = ALWAYS;
    unsigned maps = kernel.map.count;
    assert_true(pagemap_reserve(leaf, 1));
    pagemap_set(leaf, 1, 7, &kernel);
    pagemap_set(window, 1, 8, &kernel);
    assert_int_equal(kernel.map.count, maps);
    assert_int_equal(pagemap_tag(leaf), 7);
    assert_int_equal(pagemap_tag(window), 8);
}

static struct {
    unsigned char *unit;
    void *page; /* with the unit's tag; not writable until the handler was called */
    unsigned faults;
} watched;

/* The tag is about to be stored. */
static void check_record_before_tag(int signal) {
    (void)signal;
    if (pagemap_record(watched.unit) != &watched || pagemap_tag(watched.unit) != PAGEMAP_NONE)
        abort();
    watched.faults++;
    mprotect(watched.page, os_page_size(), PROT_READ | PROT_WRITE);
}

static void pagemap_P3_who_reads_the_tag_finds_the_record(void **state) {
    (void)state;
    struct sigaction before, watch = {.sa_handler = check_record_before_tag};
    watched.unit = IN_WINDOW + GIB;
    watched.page = (void *)align_down((uintptr_t)&pagemap_window[pagemap_unit(watched.unit)], os_page_size());
    assert_true(pagemap_reserve(watched.unit, 1));
    assert_int_equal(sigaction(SIGSEGV, &watch, &before), 0);
    assert_int_equal(mprotect(watched.page, os_page_size(), PROT_READ), 0);
    pagemap_set(watched.unit, 1, 77, &watched);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(watched.faults, 1);
    assert_int_equal(pagemap_tag(watched.unit), 77);
}

typedef void *hint(size_t bytes, size_t alignment);

static void check_hints(hint *next, uintptr_t from, uintptr_t end) {
    uintptr_t last_end = 0;
    for (size_t i = 1; i < 20000; i++) {
        size_t bytes = i % 100 * UNIT_SIZE + 1, alignment = (size_t)UNIT_SIZE << i % 8;
        uintptr_t start = (uintptr_t)next(bytes, alignment);
        assert_in_range(start, from, end - bytes);
        assert_int_equal(start % alignment, 0);
        assert_true(start >= last_end || start < from + GIB);
        last_end = start + bytes;
    }
}

static void pagemap_hints_are_aligned_and_in_their_part(void **state) {
    (void)state;
    check_hints(pagemap_hint_superslab, HINT_SUPERSLABS, HINT_MAPPINGS);
    check_hints(pagemap_hint_mapping, HINT_MAPPINGS, HINT_END);
    assert_true(HINT_SUPERSLABS >= 35 * GIB); /* a JVM's classes begin at 32, and may take 3 */
}

static void pagemap_hints_for_what_does_not_fit_are_null(void **state) {
    (void)state;
    size_t all = HINT_END - HINT_MAPPINGS;
    assert_null(pagemap_hint_mapping(all, UNIT_SIZE));
    assert_null(pagemap_hint_mapping(PTRDIFF_MAX, UNIT_SIZE));
    for (size_t alignment = all; alignment != 0; alignment *= 2)
        assert_null(pagemap_hint_mapping(UNIT_SIZE, alignment));
    check_hints(pagemap_hint_mapping, HINT_MAPPINGS, HINT_END);
}

/* Nothing is mapped there, which munmap does not mind. */
static void give_back(void *start, size_t bytes) {
    assert_true(pagemap_unmap(start, bytes));
}

/* What is unmapped is hinted at again: the last ones by turning back, others as holes. */
static void pagemap_hints_come_back(void **state) {
    (void)state;
    enum { BYTES = 5 * UNIT_SIZE, BLOCKS = 6 };
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = pagemap_hint_mapping(BYTES, UNIT_SIZE);
    for (int i = BLOCKS - 1; i > 3; i--) /* nothing lies behind them */
        give_back(blocks[i], BYTES);
    assert_ptr_equal(pagemap_hint_mapping(BYTES - 1, UNIT_SIZE), blocks[4]);
    assert_ptr_equal(pagemap_hint_mapping(BYTES, UNIT_SIZE), blocks[5]);
    give_back(blocks[1], BYTES); /* two holes, and then one */
    give_back(blocks[3], BYTES);
    give_back(blocks[2], BYTES);
    give_back(blocks[5], UNIT_SIZE); /* the shortest that is long enough comes first */
    assert_ptr_equal(pagemap_hint_mapping(2 * BYTES, UNIT_SIZE), blocks[1]);
    assert_true(pagemap_hint_mapping(BYTES + 1, UNIT_SIZE) > blocks[5]); /* fits nowhere */
    assert_ptr_equal(pagemap_hint_mapping(UNIT_SIZE, UNIT_SIZE), blocks[5]);
    assert_ptr_equal(pagemap_hint_mapping(BYTES, UNIT_SIZE), blocks[3]);
    unsigned char *last = pagemap_hint_mapping(UNIT_SIZE, UNIT_SIZE);
    assert_true((void *)last > blocks[5]);  /* the holes are full */
    give_back(last + UNIT_SIZE, UNIT_SIZE); /* nobody was told of that, */
    give_back(blocks[0], 8 * GIB);          /* nor of all of that; */
    give_back((void *)HINT_END, UNIT_SIZE); /* that is of another place */
    assert_ptr_equal(pagemap_hint_mapping(UNIT_SIZE, UNIT_SIZE), last + UNIT_SIZE);
    last = pagemap_hint_mapping(UNIT_SIZE, UNIT_SIZE);
    kernel.unmap.refuse = 1;
    assert_false(pagemap_unmap(last, UNIT_SIZE)); /* it is there still */
    assert_ptr_equal(pagemap_hint_mapping(UNIT_SIZE, UNIT_SIZE), last + UNIT_SIZE);
    void *superslab = pagemap_hint_superslab(4 * MIB, 4 * MIB);
    give_back(superslab, 4 * MIB);
    assert_ptr_equal(pagemap_hint_superslab(4 * MIB, 4 * MIB), superslab);
}

static void pagemap_hints_keep_the_longest_holes(void **state) {
    (void)state;
    enum { HOLES = ARRAY_LENGTH(pagemap.mappings.hole) };
    unsigned char *blocks[2 * HOLES + 4];
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        blocks[i] = pagemap_hint_mapping((i == 0                          ? 1
                                          : i == ARRAY_LENGTH(blocks) - 2 ? 3
                                                                          : 2) *
                                             UNIT_SIZE,
                                         UNIT_SIZE);
    for (unsigned i = 1; i <= HOLES; i++)
        give_back(blocks[2 * i], 2 * UNIT_SIZE);
    give_back(blocks[0], UNIT_SIZE); /* shorter than all */
    assert_true((unsigned char *)pagemap_hint_mapping(UNIT_SIZE, UNIT_SIZE) >= blocks[2]);
    give_back(blocks[ARRAY_LENGTH(blocks) - 2], 3 * UNIT_SIZE); /* longer than that one is now */
    assert_ptr_equal(pagemap_hint_mapping(3 * UNIT_SIZE, UNIT_SIZE), blocks[ARRAY_LENGTH(blocks) - 2]);
    for (unsigned i = 1; i < HOLES; i++)
        assert_true((unsigned char *)pagemap_hint_mapping(2 * UNIT_SIZE, UNIT_SIZE) <
                    blocks[ARRAY_LENGTH(blocks) - 2]);
    assert_true((unsigned char *)pagemap_hint_mapping(UNIT_SIZE, UNIT_SIZE) >
                blocks[ARRAY_LENGTH(blocks) - 1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pagemap_P2_no_memory_is_said_by_reserve, kernel_reset),
        cmocka_unit_test_setup(pagemap_P1_tags_of_the_window, kernel_reset),
        cmocka_unit_test_setup(pagemap_P1_tags_above_the_window, kernel_reset),
        cmocka_unit_test_setup(pagemap_P1_tags_where_the_window_ends, kernel_reset),
        cmocka_unit_test_setup(pagemap_tag_in_window_is_the_same_tag, kernel_reset),
        cmocka_unit_test_setup(pagemap_unknown_addresses_have_no_tag, kernel_reset),
        cmocka_unit_test_setup(pagemap_P3_who_reads_the_tag_finds_the_record, kernel_reset),
        cmocka_unit_test_setup(pagemap_hints_are_aligned_and_in_their_part, kernel_reset),
        cmocka_unit_test_setup(pagemap_hints_for_what_does_not_fit_are_null, kernel_reset),
        cmocka_unit_test_setup(pagemap_hints_come_back, kernel_reset),
        cmocka_unit_test_setup(pagemap_hints_keep_the_longest_holes, kernel_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
