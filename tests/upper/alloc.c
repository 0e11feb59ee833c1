/* Unit tests of alloc, with all rooms below it and the real kernel, which may refuse. */
#include "alloc.h"

#include "large.h"
#include "lifecycle.h"
#include "os.h"
#include "purge.h"

#include "kernel.h"
#include "unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { KEPT_ERRNO = 123 };

static const size_t sizes[] = {
    1,     16,     100,     1000,          4096,        30000,      32 * 1024, 32 * 1024 + 1,
    70000, 500000, 1 << 20, (1 << 20) + 1, 3 * 1000000, 9 * 1000000};

static void fill(unsigned char *block, size_t bytes, unsigned seed) {
    for (size_t i = 0; i < bytes; i++)
        block[i] = (unsigned char)(seed + i * 7 + (i >> 8) * 13);
}

static void check_filled(const unsigned char *block, size_t bytes, unsigned seed) {
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != (unsigned char)(seed + i * 7 + (i >> 8) * 13))
            fail_msg("byte %zu of %zu changed", i, bytes);
}

static void alloc_P2_success_and_free_keep_errno(void **state) {
    (void)state;
    errno = KEPT_ERRNO; /* the first call of the process is one of these */
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        void *block = alloc_malloc(sizes[i]), *zeros = alloc_calloc(1, sizes[i]);
        void *aligned = alloc_aligned(4096, sizes[i]);
        assert_true(block && zeros && aligned);
        block = alloc_realloc(block, 2 * sizes[i]);
        zeros = alloc_realloc(zeros, sizes[i] / 3 + 1);
        assert_true(block && zeros);
        assert_true(alloc_usable_size(block) >= 2 * sizes[i]);
        alloc_free(block);
        alloc_free(zeros);
        alloc_free(aligned);
        assert_null(alloc_realloc(alloc_malloc(sizes[i]), 0));
    }
    alloc_free(NULL);
    kernel.unmap.refuse = kernel.advise.refuse = ALWAYS;
    alloc_free(alloc_malloc(80 * MIB));
    purge_all();
    assert_int_equal(errno, KEPT_ERRNO);
}

/* Each call, also where the block was freed just before. */
static void alloc_counts_calls_for_large_blocks(void **state) {
    enum { TURNS = 100, KEPT = 3 };
    (void)state;
    void *kept[KEPT];
    alloc_free(alloc_malloc(1));
    uint64_t larges = heap_own->larges, frees = heap_own->large_frees;
    for (unsigned turn = 0; turn < TURNS; turn++)
        alloc_free(alloc_malloc(100000));
    for (unsigned i = 0; i < KEPT; i++)
        kept[i] = alloc_calloc(1, 100000);
    assert_int_equal(heap_own->larges - larges, TURNS + KEPT);
    assert_int_equal(heap_own->large_frees - frees, TURNS);
    for (unsigned i = 0; i < KEPT; i++)
        alloc_free(kept[i]);
    assert_int_equal(heap_own->large_frees - frees, TURNS + KEPT);
}

static void check_refused(void *block) {
    assert_null(block);
    assert_int_equal(errno, ENOMEM);
    errno = 0;
}

static void alloc_P3_sizes_that_no_system_has(void **state) {
    (void)state;
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 1, PTRDIFF_MAX, (size_t)1 << 60};
    for (size_t i = 0; i < ARRAY_LENGTH(huge); i++) {
        check_refused(alloc_malloc(huge[i]));
        check_refused(alloc_calloc(1, huge[i]));
        check_refused(alloc_calloc(huge[i], 3));
        check_refused(alloc_calloc(huge[i] / 2, 4));
        check_refused(alloc_aligned(16, huge[i]));
        check_refused(alloc_aligned((size_t)1 << 62, 1));
        check_refused(alloc_realloc(NULL, huge[i]));
        for (size_t j = 0; j < ARRAY_LENGTH(sizes); j++) {
            unsigned char *block = alloc_malloc(sizes[j]);
            fill(block, sizes[j], 5);
            check_refused(alloc_realloc(block, huge[i]));
            check_filled(block, sizes[j], 5);
            alloc_free(block);
        }
    }
    void *warm = alloc_malloc(MIB);
    alloc_free(warm);
    unsigned before = kernel.advise.count;
    check_refused(alloc_malloc((size_t)1 << 60));
    assert_int_equal(kernel.advise.count, before); /* nothing is given back for it */
    purge_all();
    assert_true(kernel.advise.count > before); /* though there was something */
}

/* From each kind of block to a much smaller one, while not even that can be had. */
static void alloc_shrinks_without_memory(void) {
    static const size_t sizes[] = {5000, 30000, 300 * KIB, 5 * MIB};
    static void *others[1 << 20];
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        unsigned taken = 0;
        unsigned char *block = alloc_malloc(sizes[i]);
        if (!block)
            continue; /* one of the next will do */
        fill(block, sizes[i], 3);
        size_t less = sizes[i] / 3;
        while ((others[taken] = alloc_malloc(less)) != NULL)
            taken++;
        errno = KEPT_ERRNO;
        void *smaller = alloc_realloc(block, less);
        assert_non_null(smaller);
        assert_int_equal(errno, KEPT_ERRNO);
        check_filled(smaller, less, 3);
        alloc_free(smaller);
        while (taken > 0)
            alloc_free(others[--taken]);
    }
}

static void alloc_P3_a_kernel_without_memory(void **state) {
    (void)state;
    unsigned char *small = alloc_malloc(100), *large = alloc_malloc(3 * MIB);
    fill(small, 100, 1);
    fill(large, 3 * MIB, 2);
    kernel.map.refuse = kernel.remap.refuse = ALWAYS;
    check_refused(alloc_malloc(64 * MIB));
    check_refused(alloc_calloc(8, 8 * MIB));
    check_refused(alloc_aligned(MIB, 64 * MIB));
    check_refused(alloc_realloc(small, 64 * MIB));
    check_refused(alloc_realloc(large, 64 * MIB));
    check_filled(small, 100, 1);
    check_filled(large, 3 * MIB, 2);
    alloc_shrinks_without_memory();
    kernel_reset(state);
    alloc_free(small);
    alloc_free(large);
    alloc_free(alloc_malloc(64 * MIB));
}

static void alloc_P4_alignment(void **state) {
    (void)state;
    for (size_t size = 0; size <= 40000; size += size < 300 ? 1 : 333) {
        void *block = alloc_malloc(size);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 16, 0);
        alloc_free(block);
    }
    for (size_t size = 16; size <= SIZECLASS_COLOUR; size *= 2) {
        void *blocks[40];
        for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++) {
            blocks[i] = alloc_malloc(size);
            assert_int_equal((uintptr_t)blocks[i] % size, 0);
        }
        for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
            alloc_free(blocks[i]);
    }
    for (size_t alignment = 1; alignment <= 8 * MIB; alignment *= 2)
        for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
            unsigned char *block = alloc_aligned(alignment, sizes[i]);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % alignment, 0);
            assert_true(alloc_usable_size(block) >= sizes[i]);
            block[0] = block[sizes[i] - 1] = 1;
            alloc_free(block);
        }
}

/* What malloc takes of the same size, and gives back before, is aligned to a line only. */
static void alloc_P4_aligned_ones_are_no_others(void **state) {
    (void)state;
    enum { EACH = 300 };
    static void *blocks[2][EACH];
    for (size_t alignment = 2 * SIZECLASS_COLOUR; alignment <= 8192; alignment *= 2)
        for (size_t size = 100; size <= 9000; size += size / 4) {
            for (unsigned round = 0; round < 2; round++)
                for (unsigned i = 0; i < 2 * EACH; i++) {
                    void **block = &blocks[i % 2][i / 2];
                    alloc_free(*block);
                    *block = (i + round) % 2 ? alloc_aligned(alignment, size) : alloc_malloc(size);
                    assert_non_null(*block);
                    assert_true(alloc_usable_size(*block) >= size);
                    memset(*block, 0xaa, size);
                    if ((i + round) % 2 && (uintptr_t)*block % alignment != 0)
                        fail_msg("%zu bytes at %zu: %p", size, alignment, *block);
                }
        }
    for (unsigned i = 0; i < 2 * EACH; i++) {
        alloc_free(blocks[i % 2][i / 2]);
        blocks[i % 2][i / 2] = NULL;
    }
}

/* One of the first tests: the classes have not begun, and their first blocks are not those of larger ones, which have colours. */
static void alloc_P4_aligned_ones_do_not_lodge(void **state) {
    (void)state;
    static const size_t sizes_of[] = {128, 384, 640, 768, 896, 1280};
    void *blocks[ARRAY_LENGTH(sizes_of)][8];
    unsigned begun = 0;
    for (unsigned i = 0; i < ARRAY_LENGTH(sizes_of); i++) {
        size_t size = sizes_of[i], alignment = size & -size;
        begun += !heap_has_not_begun(heap_own, sizeclass_of(size));
        for (unsigned j = 0; j < 8; j++) {
            blocks[i][j] = alloc_aligned(alignment, size);
            assert_int_equal((uintptr_t)blocks[i][j] % alignment, 0);
            assert_int_equal(alloc_usable_size(blocks[i][j]), size);
        }
    }
    assert_true(has(verify_free) || begun < ARRAY_LENGTH(sizes_of) / 2);
    for (unsigned i = 0; i < ARRAY_LENGTH(sizes_of); i++)
        for (unsigned j = 0; j < 8; j++)
            alloc_free(blocks[i][j]);
}

static void alloc_P1_a_hit_does_not_touch_the_block(void **state) {
    (void)state;
    if (has(verify_free))
        skip();
    enum { BYTES = 32 * 1024 };
    void *block = alloc_aligned(BYTES, BYTES); /* whole pages */
    alloc_free(block);
    assert_ptr_equal(alloc_aligned(BYTES, BYTES), block);
    assert_int_equal(mprotect(block, BYTES, PROT_NONE), 0);
    alloc_free(block);
    void *again = alloc_aligned(BYTES, BYTES);
    assert_int_equal(mprotect(block, BYTES, PROT_READ | PROT_WRITE), 0);
    assert_ptr_equal(again, block);
    alloc_free(again);
}

static void realloc_from_to(size_t from, size_t to, unsigned seed) {
    size_t kept = from < to ? from : to;
    unsigned char *block = alloc_malloc(from);
    assert_non_null(block);
    fill(block, from, seed);
    block = alloc_realloc(block, to);
    assert_non_null(block);
    check_filled(block, kept, seed);
    size_t usable = alloc_usable_size(block);
    assert_true(usable >= to);
    assert_true(usable / 2 <= to || usable <= 128 * KIB); /* shrinks where that saves memory */
    block[to - 1] = 1;
    alloc_free(block);
}

static void alloc_realloc_between_all_kinds(void **state) {
    (void)state;
    for (unsigned refused = 0; refused < 2; refused++) {
        kernel.remap.refuse = refused ? ALWAYS : 0;
        for (size_t from = 0; from < ARRAY_LENGTH(sizes); from++)
            for (size_t to = 0; to < ARRAY_LENGTH(sizes); to++)
                realloc_from_to(sizes[from], sizes[to], (unsigned)(from * 16 + to));
    }
}

static void alloc_realloc_step_by_step(void **state) {
    (void)state;
    size_t size = 1;
    unsigned char *block = alloc_realloc(NULL, size);
    fill(block, size, 9);
    for (size_t next = 2; next < 6 * MIB; next += next / 3 + 1) {
        block = alloc_realloc(block, next);
        assert_non_null(block);
        check_filled(block, size, 9);
        fill(block, next, 9);
        size = next;
    }
    alloc_free(block);
}

static unsigned copies_on_the_way(size_t from, size_t to, size_t step) {
    unsigned copies = 0;
    void *block = alloc_malloc(from);
    for (size_t size = from; size <= to; size += step ? step : size / 8) {
        size_t usable = alloc_usable_size(block);
        block = alloc_realloc(block, size);
        assert_non_null(block);
        assert_true(alloc_usable_size(block) >= size);
        copies += alloc_usable_size(block) != usable;
    }
    alloc_free(block);
    return copies;
}

static void begin_every_class(void) {
    enum { EACH = 32 };
    void *blocks[EACH];
    for (unsigned class = 0; class < SIZECLASS_USUAL; class ++) {
        size_t size = class + 1 < SIZECLASS_USUAL ? sizeclass_table[class].size : SIZECLASS_LARGEST;
        for (unsigned i = 0; i < EACH; i++)
            assert_non_null(blocks[i] = alloc_malloc(size));
        for (unsigned i = 0; i < EACH; i++)
            alloc_free(blocks[i]);
    }
}

/* Four copies for each time that a block doubles by small steps; two once there is no end of them, until blocks grow otherwise; none of that
 * where the program takes more at a time. */
static void alloc_what_grows_by_small_steps_is_copied_seldom(void **state) {
    enum { FROM = 1024, TO = 32 * 1024, DOUBLINGS = 5, TURNS_MOST = 20000 };
    (void)state;
    begin_every_class();
    heap_own->crept = 0;
    assert_int_equal(copies_on_the_way(FROM, TO, 16), 4 * DOUBLINGS);
    size_t in_use = superslab_used_bytes();
    unsigned turns = 1;
    while (copies_on_the_way(FROM, TO, 16) != 2 * DOUBLINGS)
        assert_true(turns++ < TURNS_MOST);
    assert_true((size_t)turns * 5 * TO > 4 * in_use); /* not before what grows only once is well behind */
    for (unsigned turn = 0; turn < 4 * turns; turn++)
        copies_on_the_way(FROM, TO, 0);
    assert_int_equal(copies_on_the_way(FROM, 2 * FROM, 16), 4);
    void *block = alloc_realloc(alloc_malloc(FROM), FROM + FROM / 16);
    assert_int_equal(alloc_usable_size(block), FROM + FROM / 4);
    alloc_free(block);
    block = alloc_realloc(alloc_malloc(FROM), FROM + FROM / 8);
    assert_int_equal(alloc_usable_size(block), FROM + FROM / 8);
    block = alloc_realloc(block, 2 * FROM - FROM / 8);
    assert_int_equal(alloc_usable_size(block), 2 * FROM - FROM / 8);
    alloc_free(block);
    block = alloc_realloc(alloc_malloc(80), 81); /* a granule more costs little */
    assert_int_equal(alloc_usable_size(block), 96);
    block = alloc_realloc(block, 97);
    assert_int_equal(alloc_usable_size(block), 112);
    alloc_free(block);
}

/* A block that fits where there is none that is roomy. */
static void alloc_grows_by_no_more_than_there_is(void **state) {
    enum { SIZE = 1024, EXACT = SIZE + SIZE / 8, ROOMY = SIZE + SIZE / 4, KEPT = 32 };
    (void)state;
    void *list = NULL, *kept[KEPT];
    begin_every_class();
    void *block = alloc_malloc(SIZE);
    for (unsigned i = 0; i < KEPT; i++)
        assert_non_null(kept[i] = alloc_malloc(EXACT));
    kernel.map.refuse = ALWAYS;
    for (void **other; (other = alloc_malloc(ROOMY)) != NULL; list = other)
        *other = list;
    for (unsigned i = 0; i < KEPT; i += 2)
        alloc_free(kept[i]);
    errno = KEPT_ERRNO;
    block = alloc_realloc(block, SIZE + SIZE / 16);
    assert_non_null(block);
    assert_int_equal(errno, KEPT_ERRNO);
    assert_int_equal(alloc_usable_size(block), EXACT);
    for (unsigned i = 1; i < KEPT; i += 2)
        alloc_free(kept[i]);
    for (void *next; list; list = next) {
        next = *(void **)list;
        alloc_free(list);
    }
    alloc_free(block);
}

/* Blocks in a class's magazine and spare. */
static unsigned at_hand(unsigned class) {
    const struct heap_class *mine = &heap_own->class[class];
    long held = mine->array ? (void **)heap_own->top[class] - &mine->array[mine->sentinel] : 0;
    return (unsigned)held + mine->spare_count;
}

/* As much as is given back where most of a class is at hand. */
static bool much_is_at_hand(unsigned class) {
    return heap_own->packs.of[class].count > 0 || at_hand(class) * sizeclass_table[class].size >= 256 * KIB;
}

/* Since a large block came of new memory, be it a copy or not, what is at hand of small ones goes back to slabs. */
static void alloc_large_blocks_empty_idle_classes(void **state) {
    enum { SMALL = 64, LARGE = 300, BYTES = 100000 };
    (void)state;
    void *blocks[LARGE];
    unsigned class = sizeclass_of(20000), other = sizeclass_of(10000);
    if (has(verify_free))
        skip();
    for (unsigned copies = 0; copies < 2; copies++) {
        unsigned count = 0;
        for (unsigned i = 0; i < SMALL; i++)
            assert_non_null(blocks[i] = alloc_malloc(20000));
        for (unsigned i = 0; i < SMALL; i++)
            alloc_free(blocks[i]);
        assert_true(much_is_at_hand(class));
        while (count < LARGE && much_is_at_hand(class)) {
            void *block = copies ? alloc_realloc(alloc_malloc(sizeclass_table[other].size), BYTES)
                                 : alloc_malloc(BYTES);
            assert_non_null(block);
            blocks[count++] = block;
        }
        assert_true(count < LARGE);
        while (count > 0)
            alloc_free(blocks[--count]);
        purge_all();
    }
}

static void alloc_calloc_clears_used_memory(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
            unsigned char *blocks[3];
            for (int j = 0; j < 3; j++) {
                blocks[j] = alloc_calloc(1, sizes[i]);
                assert_non_null(blocks[j]);
                for (size_t at = 0; at < sizes[i]; at++)
                    if (blocks[j][at] != 0)
                        fail_msg("byte %zu of %zu is %d", at, sizes[i], blocks[j][at]);
            }
            for (int j = 0; j < 3; j++) {
                memset(blocks[j], 0xff, alloc_usable_size(blocks[j]));
                alloc_free(blocks[j]);
            }
            if (round == 1)
                purge_all();
        }
}

/* Small ones of every size: all that was asked for, and nothing of the neighbours. */
static void alloc_calloc_clears_its_own_block_only(void **state) {
    (void)state;
    for (size_t size = 1; size <= 300; size++) {
        unsigned char *blocks[31], *chosen;
        for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++) {
            blocks[i] = alloc_malloc(size);
            memset(blocks[i], 0xff, alloc_usable_size(blocks[i]));
        }
        alloc_free(blocks[15]);
        chosen = blocks[15] = alloc_calloc(1, size);
        for (size_t at = 0; at < size; at++)
            assert_int_equal(chosen[at], 0);
        for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
            for (size_t at = 0; blocks[i] != chosen && at < alloc_usable_size(blocks[i]); at++)
                assert_int_equal(blocks[i][at], 0xff);
        for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
            alloc_free(blocks[i]);
    }
    void *nothing = alloc_calloc(0, 5);
    assert_non_null(nothing);
    alloc_free(nothing);
}

/* By every path of a free: into a magazine, one that goes on, one that is full. */
static void alloc_counts_every_call(void **state) {
    (void)state;
    enum { BLOCKS = 5000, SIZE = 32 };
    static void *blocks[BLOCKS];
    if (!has(counters))
        skip();
    alloc_free(alloc_malloc(SIZE));
    unsigned class = sizeclass_of(SIZE);
    uint64_t mallocs = heap_own->mallocs[class], frees = heap_own->frees[class];
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < BLOCKS; i++)
            blocks[i] = round == 1 ? alloc_calloc(1, SIZE) : alloc_malloc(SIZE);
        for (unsigned i = 0; i < BLOCKS; i++)
            alloc_free(blocks[i]);
    }
    assert_int_equal(heap_own->mallocs[class] - mallocs, 3 * BLOCKS);
    assert_int_equal(heap_own->frees[class] - frees, 3 * BLOCKS);
    assert_true(heap_own->class[class].largest > 31); /* it went on */
}

/* From here on large blocks come from what is at hand, and go there: a hit. */
static void make_large_hits(size_t size) {
    enum { ROUNDS = 100 };
    assert_true(os_barrier_prepare()); /* the thread becomes the favourite */
    for (unsigned i = 0; i < ROUNDS; i++)
        alloc_free(alloc_malloc(size));
    void *block = alloc_malloc(size);
    struct large *large = pagemap_record(block);
    large->every = large->due = UINT16_MAX; /* it is not measured now */
    assert_true(large_rest(large, &heap_own->hand));
    assert_ptr_equal(large_again(&heap_own->hand, size), block);
    alloc_free(block);
}

static void alloc_counts_every_large_call(void **state) {
    (void)state;
    enum { ROUNDS = 100, SIZE = 40000 };
    make_large_hits(SIZE);
    uint64_t larges = heap_own->larges, frees = heap_own->large_frees;
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *block = alloc_malloc(SIZE), *zeroed = alloc_calloc(1, 2 * SIZE),
             *aligned = alloc_aligned(256 * KIB, SIZE);
        alloc_free(block);
        alloc_free(aligned);
        alloc_free(alloc_realloc(zeroed, 2 * SIZE + 1));
    }
    assert_int_equal(heap_own->larges - larges, 3 * ROUNDS);
    assert_int_equal(heap_own->large_frees - frees, 3 * ROUNDS);
}

enum {
    LODGERS_FIRST = 4,
    LODGERS_LONG = 2048,
    LODGERS_REFILLS = 64,
    LODGERS_HOST = 512 << 10,
    LODGERS_BESIDE = 2,
    LODGERS_MOST = 8
};

static unsigned host_of(unsigned class) {
    size_t bytes = 16;
    while (sizeclass_table[sizeclass_of(bytes)].size < sizeclass_table[class].size &&
           bytes < SIZECLASS_LARGEST)
        bytes *= 2;
    return sizeclass_of(bytes);
}

/* A size that a class serves, and no other, which has not begun; of one that may lodge. */
static bool may_lodge(unsigned class) {
    size_t size = sizeclass_table[class].size;
    return heap_has_not_begun(heap_own, class) && class < SIZECLASS_USUAL && host_of(class) != class &&
           sizeclass_of(size) == class;
}

/* What was refilled before does not matter, nor does the next refill. */
static void begin_lodging(void) {
    heap_own->refills += LODGERS_REFILLS - heap_own->refills % LODGERS_REFILLS;
}

static void check_usable(void **block, size_t size, unsigned class) {
    *block = alloc_malloc(size);
    assert_non_null(*block);
    assert_int_equal(alloc_usable_size(*block), sizeclass_table[class].size);
}

/* The first blocks of a class that has not begun are those of the next power of two; then it has its own, and there it stays. */
static void check_lodgers(unsigned class) {
    size_t size = sizeclass_table[class].size, host = sizeclass_table[host_of(class)].size;
    void *blocks[2 * LODGERS_FIRST];
    begin_lodging();
    heap_own->class[class].lodged = 0;
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++) {
        blocks[i] = i % 2 ? alloc_calloc(1, size) : alloc_malloc(size);
        assert_non_null(blocks[i]);
        assert_int_equal(alloc_usable_size(blocks[i]), i < LODGERS_FIRST ? host : size);
        memset(blocks[i], 0xff, size);
    }
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        alloc_free(blocks[i]);
    begin_lodging();
    check_usable(blocks, size, class);
    alloc_free(*blocks);
}

/* One of the first tests: most classes of the thread's heap have not begun. */
static void alloc_first_blocks_of_a_class_lodge(void **state) {
    (void)state;
    if (has(verify_free))
        skip();
    unsigned checked = 0;
    for (unsigned class = 0; sizeclass_table[class].size < LODGERS_LONG; class ++)
        if (may_lodge(class) && class % 2 == 0) {
            check_lodgers(class);
            checked++;
        }
    assert_true(checked > 8);
}

/* So are those that come seldom and do not stay: many where the others do not, else one in so many refills, none where too many
 * bytes of the others are in use. */
static void check_seldom(unsigned class) {
    static void *kept[LODGERS_HOST / 32 + 1];
    unsigned host = host_of(class), count = 0, most = LODGERS_HOST / sizeclass_table[host].size;
    size_t size = sizeclass_table[class].size, bytes = sizeclass_table[host].size;
    bytes = bytes < SIZECLASS_LARGEST ? bytes : SIZECLASS_LARGEST;
    void *block;
    for (unsigned window = 0; window < 10; window++) {
        begin_lodging();
        for (unsigned i = 0; i < LODGERS_MOST; i++) {
            check_usable(&block, size, host);
            alloc_free(block);
        }
    }
    while (count <= LODGERS_BESIDE)
        check_usable(&kept[count++], bytes, host);
    begin_lodging();
    check_usable(&block, size, host);
    alloc_free(block);
    assert_true(heap_has_not_begun(heap_own, class));
    if (class + 1 == host) {
        while (count <= most)
            check_usable(&kept[count++], bytes, host);
        begin_lodging();
    }
    if (class + 1 < host && class % 2) { /* too many in one go */
        while (count > 0)
            alloc_free(kept[--count]);
        heap_own->class[class].lodged = LODGERS_MOST;
    } else {
        heap_own->class[class].lodged = LODGERS_FIRST;
    }
    check_usable(&block, size, class);
    alloc_free(block);
    while (count > 0)
        alloc_free(kept[--count]);
}

static unsigned blocks_in_use(unsigned class) {
    return heap_own->class[class].out - at_hand(class);
}

static void alloc_seldom_blocks_of_a_class_lodge(void **state) {
    (void)state;
    if (has(verify_free))
        skip();
    unsigned checked = 0;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        if (may_lodge(class) && blocks_in_use(host_of(class)) == 0) {
            check_seldom(class);
            checked++;
        }
    assert_true(checked > 24);
}

static void alloc_refuses_what_is_not_ours(void **state) {
    (void)state;
    if (has(verify_free))
        skip();
    static char foreign[200000];
    unsigned char *run = alloc_malloc(300 * KIB);
    errno = KEPT_ERRNO;
    alloc_free(foreign);
    alloc_free(foreign + 70000);
    alloc_free(run + 100 * KIB);
    alloc_free(run + 8);
    assert_int_equal(errno, KEPT_ERRNO);
    assert_int_equal(alloc_usable_size(foreign), 0);
    assert_int_equal(alloc_usable_size(NULL), 0);
    assert_int_equal(alloc_usable_size(run + 100 * KIB), 0);
    check_refused(alloc_realloc(foreign, 10));
    check_refused(alloc_realloc(run + 100 * KIB, 10));
    assert_true(alloc_usable_size(run) >= 300 * KIB);
    alloc_free(run);
    alloc_free(run);
}

/* Where the free of a live one would be a hit. */
static void alloc_refuses_what_is_at_hand(void **state) {
    (void)state;
    enum { SIZE = 40000 };
    if (has(verify_free))
        skip();
    make_large_hits(SIZE);
    unsigned char *run = alloc_malloc(SIZE);
    uint64_t frees = heap_own->large_frees;
    alloc_free(run + 8);
    assert_int_equal(heap_own->large_frees, frees);
    assert_true(alloc_usable_size(run) >= SIZE);
    alloc_free(run);
    alloc_free(run);
    alloc_free(run + 8);
    assert_int_equal(heap_own->large_frees, frees + 1);
    assert_int_equal(alloc_usable_size(run), 0);
    assert_ptr_equal(alloc_malloc(SIZE), run);
    void *other = alloc_malloc(SIZE);
    assert_ptr_not_equal(other, run);
    alloc_free(other);
    alloc_free(run);
}

/* Free blocks in magazines and kept slabs are found before memory is refused, whether the kernel takes advice
 * or not. */
static void alloc_uses_all_there_is_before_it_refuses(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        void *freed[24], *list = NULL;
        for (unsigned i = 0; i < ARRAY_LENGTH(freed); i++)
            freed[i] = alloc_malloc(32 * 1024);
        for (unsigned i = 0; i < ARRAY_LENGTH(freed); i++)
            alloc_free(freed[i]);
        superslab_configure(SIZE_MAX, way == 0, false);
        kernel.map.refuse = kernel.unmap.refuse = ALWAYS;
        for (void **block; (block = alloc_malloc(28000)) != NULL; list = block)
            *block = list;
        assert_null(superslab_take(4, SUPERSLAB_MIXED)
                        .start); /* single units may be left over, but no room for a slab */
        for (unsigned i = 0; i < ARRAY_LENGTH(freed); i++)
            assert_int_not_equal(pagemap_kind(pagemap_tag(freed[i])), SIZECLASS_COUNT - 1);
        for (void *next; list; list = next) {
            next = *(void **)list;
            alloc_free(list);
        }
        kernel_reset(state);
    }
    superslab_configure(SIZE_MAX, true, false);
}

static pthread_key_t late_key;
static unsigned ended_rounds;

static void allocate_late(void *value) {
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        unsigned char *block = alloc_malloc(sizes[i]);
        assert_non_null(block);
        fill(block, sizes[i], 3);
        block = alloc_realloc(block, sizes[i] + 100);
        check_filled(block, sizes[i], 3);
        alloc_free(block);
        alloc_free(alloc_aligned(1024, sizes[i]));
    }
    if (lifecycle_ended()) {
        ended_rounds++;
        assert_ptr_equal(heap_current.heap, &heap_none);
    }
    pthread_setspecific(late_key, value);
}

static void *exit_late(void *block) {
    pthread_setspecific(late_key, &late_key);
    alloc_free(block);
    return alloc_malloc(50);
}

static void alloc_borrows_a_heap_after_the_thread_has_ended(void **state) {
    (void)state;
    pthread_t thread;
    void *left;
    alloc_free(alloc_malloc(1)); /* the room's key comes before ours */
    assert_int_equal(pthread_key_create(&late_key, allocate_late), 0);
    assert_int_equal(pthread_create(&thread, NULL, exit_late, alloc_malloc(50)), 0);
    assert_int_equal(pthread_join(thread, &left), 0);
    pthread_key_delete(late_key);
    assert_true(ended_rounds >= 1);
    alloc_free(left);
}

static void *free_all(void *blocks) {
    for (unsigned i = 0; i < 5000; i++)
        alloc_free(((void **)blocks)[i]);
    return NULL;
}

static void alloc_blocks_freed_elsewhere_come_back(void **state) {
    (void)state;
    static void *blocks[5000];
    size_t mapped = 0;
    for (int round = 0; round < 12; round++) {
        pthread_t thread;
        for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
            blocks[i] = alloc_malloc(200);
        assert_int_equal(pthread_create(&thread, NULL, free_all, blocks), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        if (round == 1)
            mapped = superslab_mapped_bytes() - superslab_free_bytes();
    }
    assert_true(superslab_mapped_bytes() - superslab_free_bytes() <= mapped + 4 * MIB);
}

static void *allocate_some(void *blocks) {
    for (unsigned i = 0; i < 8; i++)
        ((void **)blocks)[i] = alloc_malloc(200);
    return NULL;
}

/* What another's heap has: the first one goes home at once, the next into the outbox; while the heap hosts the next malloc gets it.
 * Only of blocks in the window, which are nearly all. */
static void alloc_what_others_have_waits_or_stays(void **state) {
    (void)state;
    void *blocks[8], *own = alloc_malloc(200);
    pthread_t thread;
    if (has(verify_free) || pagemap_unit(own) >= PAGEMAP_WINDOW_UNITS) { /* the window is ASan's own */
        alloc_free(own);
        skip();
    }
    assert_int_equal(pthread_create(&thread, NULL, allocate_some, blocks), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    heap_empty(heap_own); /* whatever came before, there is room for guests */
    alloc_free(own);
    alloc_free(blocks[0]);
    heap_send(heap_own);
    alloc_free(blocks[1]);
    struct outbox *outbox = heap_own->outbox;
    assert_int_equal(outbox->count, 1);
    assert_ptr_equal(outbox->blocks[0], blocks[1]);
    assert_int_equal(outbox->bytes, SIZECLASS_POSTED_LEAST);
    heap_own->posting = NULL;
    heap_own->hosted = true;
    uint64_t kept = heap_own->kept;
    alloc_free(blocks[2]);
    alloc_free(NULL);
    alloc_free(alloc_malloc(100000));
    assert_int_equal(heap_own->kept - kept, 1);
    assert_int_equal(outbox->count, 1);
    assert_ptr_equal(alloc_malloc(200), blocks[2]);
    heap_own->posting = outbox;
    for (unsigned i = 2; i < ARRAY_LENGTH(blocks); i++)
        alloc_free(blocks[i]);
    assert_int_equal(outbox->count, ARRAY_LENGTH(blocks) - 1);
    heap_send(heap_own);
    assert_int_equal(outbox->posted, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(alloc_P2_success_and_free_keep_errno, kernel_reset),
        cmocka_unit_test_setup(alloc_P4_aligned_ones_do_not_lodge, kernel_reset),
        cmocka_unit_test_setup(alloc_first_blocks_of_a_class_lodge, kernel_reset),
        cmocka_unit_test_setup(alloc_seldom_blocks_of_a_class_lodge, kernel_reset),
        cmocka_unit_test_setup(alloc_counts_calls_for_large_blocks, kernel_reset),
        cmocka_unit_test_setup(alloc_P3_sizes_that_no_system_has, kernel_reset),
        cmocka_unit_test_setup(alloc_P3_a_kernel_without_memory, kernel_reset),
        cmocka_unit_test_setup(alloc_P4_alignment, kernel_reset),
        cmocka_unit_test_setup(alloc_P4_aligned_ones_are_no_others, kernel_reset),
        cmocka_unit_test_setup(alloc_P1_a_hit_does_not_touch_the_block, kernel_reset),
        cmocka_unit_test_setup(alloc_realloc_between_all_kinds, kernel_reset),
        cmocka_unit_test_setup(alloc_realloc_step_by_step, kernel_reset),
        cmocka_unit_test_setup(alloc_what_grows_by_small_steps_is_copied_seldom, kernel_reset),
        cmocka_unit_test_setup(alloc_grows_by_no_more_than_there_is, kernel_reset),
        cmocka_unit_test_setup(alloc_large_blocks_empty_idle_classes, kernel_reset),
        cmocka_unit_test_setup(alloc_calloc_clears_used_memory, kernel_reset),
        cmocka_unit_test_setup(alloc_calloc_clears_its_own_block_only, kernel_reset),
        cmocka_unit_test_setup(alloc_counts_every_call, kernel_reset),
        cmocka_unit_test_setup(alloc_counts_every_large_call, kernel_reset),
        cmocka_unit_test_setup(alloc_refuses_what_is_at_hand, kernel_reset),
        cmocka_unit_test_setup(alloc_refuses_what_is_not_ours, kernel_reset),
        cmocka_unit_test_setup(alloc_uses_all_there_is_before_it_refuses, kernel_reset),
        cmocka_unit_test_setup(alloc_borrows_a_heap_after_the_thread_has_ended, kernel_reset),
        cmocka_unit_test_setup(alloc_blocks_freed_elsewhere_come_back, kernel_reset),
        cmocka_unit_test_setup(alloc_what_others_have_waits_or_stays, kernel_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
