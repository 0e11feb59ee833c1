/* Sizes x alignments x every entry point: the block is there, aligned, writable to its last usable byte, apart
 * from all others, not wasteful, and comes back by every way of freeing; errno stays. */
#define _GNU_SOURCE
#include "entry.h"
#include "sizes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { ERRNO_MARK = 4321, EDGE = 256, TOUCHED_WHOLE = 1 << 16 };

static const size_t mib = (size_t)1 << 20;

static void failed(const char *what, const struct entry *entry, size_t alignment, size_t size, void *block) {
    fail_msg("%s: %s alignment=%zu size=%zu block=%p", what, entry->name, alignment, size, block);
}

/* Fills small blocks whole and both edges of large ones. */
static void paint(unsigned char *block, size_t bytes, unsigned char colour) {
    if (bytes <= TOUCHED_WHOLE) {
        memset(block, colour, bytes);
    } else {
        memset(block, colour, EDGE);
        memset(block + bytes - EDGE, colour, EDGE);
    }
}

static bool is_painted(const unsigned char *block, size_t bytes, unsigned char colour) {
    size_t edge = bytes <= TOUCHED_WHOLE ? bytes : EDGE;
    for (size_t i = 0; i < edge; i++) {
        if (block[i] != colour || block[bytes - 1 - i] != colour) {
            return false;
        }
    }
    return true;
}

/* Whether the system refuses this much address space by itself (ulimit -v, overcommit). */
static bool system_refuses(size_t bytes) {
    void *probe =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED) {
        return true;
    }
    munmap(probe, bytes);
    return false;
}

static size_t promised_alignment(const struct entry *entry, size_t alignment, size_t size) {
    size_t promised = 16;
    if (size != 0 && (size & (size - 1)) == 0 && size > promised && size <= 64) {
        promised = size;
    }
    if (entry->kind == ENTRY_PAGE || entry->kind == ENTRY_PAGES) {
        promised = 4096;
    }
    return entry_takes_alignment(entry) && alignment > promised ? alignment : promised;
}

static bool is_zero(const unsigned char *block, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (block[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Allocates and checks one block; NULL only where the system itself has no room for it. */
static unsigned char *allocate_checked(const struct entry *entry, size_t alignment, size_t size) {
    errno = ERRNO_MARK;
    unsigned char *block = entry_allocate(entry, alignment, size);
    if (block == NULL) {
        if (errno != ENOMEM || !system_refuses(size + 2 * alignment + 8 * mib)) {
            failed("no block", entry, alignment, size, block);
        }
        return NULL;
    }
    if (errno != ERRNO_MARK) {
        failed("errno changed", entry, alignment, size, block);
    }
    if ((uintptr_t)block % promised_alignment(entry, alignment, size) != 0) {
        failed("not aligned", entry, alignment, size, block);
    }
    size_t usable = entry_usable_size(block);
    if (usable < size || (entry->kind == ENTRY_PAGES && usable < (size + 4095) / 4096 * 4096)) {
        failed("too small", entry, alignment, size, block);
    }
    if (entry->kind == ENTRY_COUNTED && !is_zero(block, size)) {
        failed("not zero", entry, alignment, size, block);
    }
    paint(block, usable, (unsigned char)(size * 7 + 1));
    return block;
}

static void free_checked(const struct entry *entry, const struct leave *leave, size_t alignment, size_t size,
                         unsigned char *block) {
    if (block == NULL) {
        return;
    }
    if (!is_painted(block, entry_usable_size(block), (unsigned char)(size * 7 + 1))) {
        failed("overwritten by another block", entry, alignment, size, block);
    }
    errno = ERRNO_MARK;
    leave_free(leave, block, alignment, size);
    if (errno != ERRNO_MARK) {
        fail_msg("%s changed errno, size=%zu", leave->name, size);
    }
}

/* alloc P2, alloc P4: all boundary sizes alive at once, through one entry, without a special alignment. */
static void every_size_through_every_entry(void **state) {
    (void)state;
    static size_t sizes[SIZES_CAPACITY];
    static unsigned char *blocks[SIZES_CAPACITY];
    size_t count = sizes_boundaries(sizes);
    assert_true(count <= SIZES_CAPACITY);
    for (size_t e = 0; e < entry_count; e++) {
        size_t alignment = entry_least_alignment(&entries[e]);
        for (size_t i = 0; i < count; i++) {
            blocks[i] = allocate_checked(&entries[e], alignment, sizes[i]);
        }
        for (size_t i = 0; i < count; i++) {
            free_checked(&entries[e], &leaves[0], alignment, sizes[i], blocks[i]);
        }
    }
}

static void every_alignment_through_every_entry(void **state) {
    (void)state;
    unsigned char *blocks[32];
    assert_true(sizes_few_count <= 32);
    for (size_t e = 0; e < entry_count; e++) {
        if (!entry_takes_alignment(&entries[e])) {
            continue;
        }
        for (size_t alignment = entry_least_alignment(&entries[e]); alignment <= 64 * mib; alignment *= 2) {
            for (size_t i = 0; i < sizes_few_count; i++) {
                blocks[i] = allocate_checked(&entries[e], alignment, sizes_few[i]);
            }
            for (size_t i = 0; i < sizes_few_count; i++) {
                free_checked(&entries[e], &leaves[0], alignment, sizes_few[i], blocks[i]);
            }
        }
    }
}

/* Above 64 MiB an alignment works or is ENOMEM. */
static void enormous_alignments(void **state) {
    (void)state;
    for (size_t e = 0; e < entry_count; e++) {
        if (!entry_takes_alignment(&entries[e]) || entry_throws(&entries[e])) {
            continue;
        }
        for (size_t alignment = 128 * mib; alignment != 0; alignment *= 2) {
            errno = ERRNO_MARK;
            unsigned char *block = entry_allocate(&entries[e], alignment, 100);
            if (block == NULL) {
                assert_int_equal(errno, ENOMEM);
                continue;
            }
            assert_int_equal(errno, ERRNO_MARK);
            assert_int_equal((uintptr_t)block % alignment, 0);
            memset(block, 1, 100);
            leave_free(&leaves[0], block, alignment, 100);
        }
    }
}

static void every_entry_with_every_free(void **state) {
    (void)state;
    for (size_t e = 0; e < entry_count; e++) {
        for (size_t l = 0; l < leave_count; l++) {
            for (size_t i = 0; i < sizes_few_count; i++) {
                size_t alignment = entry_takes_alignment(&entries[e]) ? 64 : 16;
                unsigned char *block = allocate_checked(&entries[e], alignment, sizes_few[i]);
                free_checked(&entries[e], &leaves[l], alignment, sizes_few[i], block);
            }
        }
    }
}

static void freeing_null_does_nothing(void **state) {
    (void)state;
    for (size_t l = 0; l < leave_count; l++) {
        if (leaves[l].kind != LEAVE_RESIZE) {
            errno = ERRNO_MARK;
            leave_free(&leaves[l], NULL, 64, 100);
            assert_int_equal(errno, ERRNO_MARK);
        }
    }
    assert_int_equal(entry_usable_size(NULL), 0);
}

static void size_zero_gives_a_block_of_its_own(void **state) {
    (void)state;
    enum { COUNT = 100 };
    void *blocks[COUNT];
    for (size_t e = 0; e < entry_count; e++) {
        for (size_t i = 0; i < COUNT; i++) {
            blocks[i] = entry_allocate(&entries[e], 16, 0);
            assert_non_null(blocks[i]);
            for (size_t k = 0; k < i; k++) {
                assert_ptr_not_equal(blocks[i], blocks[k]);
            }
        }
        for (size_t i = 0; i < COUNT; i++) {
            leave_free(&leaves[0], blocks[i], 16, 0);
        }
    }
}

/* A size class wastes at most 12.5 %. Larger blocks are whole units of address space, of which the pages in use
 * count; above 1 MiB they are rounded and used again for nearly equal sizes, which may take a fifth more. */
static void little_is_wasted(void **state) {
    (void)state;
    for (size_t size = 129; size <= SIZES_SMALL_LARGEST; size += size < 4096 ? 1 : 61) {
        void *block = malloc(size);
        assert_non_null(block);
        size_t usable = entry_usable_size(block);
        if (usable - size > usable / 8) {
            fail_msg("size %zu takes a block of %zu bytes", size, usable);
        }
        free(block);
    }
    for (size_t size = SIZES_SMALL_LARGEST + 1; size < 5 * mib; size += 9973) {
        void *block = malloc(size);
        assert_non_null(block);
        size_t units = (size + SIZES_UNIT - 1) / SIZES_UNIT * SIZES_UNIT;
        if (entry_usable_size(block) > units + units / 5) {
            fail_msg("size %zu takes a block of %zu bytes", size, entry_usable_size(block));
        }
        free(block);
    }
}

/* alloc P1, and more: neither free nor malloc looks into a block, so both work while nobody may. */
static void free_blocks_are_never_touched(void **state) {
    (void)state;
    enum { COUNT = 12 };
    for (size_t size = 4096; size <= SIZES_SMALL_LARGEST; size *= 2) {
        void *blocks[COUNT], *again[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            blocks[i] = aligned_alloc(size, size);
            assert_non_null(blocks[i]);
            assert_int_equal(mprotect(blocks[i], size, PROT_NONE), 0);
        }
        for (size_t i = 0; i < COUNT; i++) {
            free(blocks[i]);
        }
        for (size_t i = 0; i < COUNT; i++) {
            again[i] = aligned_alloc(size, size);
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_non_null(again[i]);
            assert_int_equal(mprotect(blocks[i], size, PROT_READ | PROT_WRITE), 0);
        }
        for (size_t i = 0; i < COUNT; i++) {
            memset(again[i], 1, size);
            free(again[i]);
        }
    }
}

int main(void) {
    const char *missing = entry_find_all();
    if (missing != NULL) {
        print_error("not exported: %s\n", missing);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_through_every_entry),
        cmocka_unit_test(every_alignment_through_every_entry),
        cmocka_unit_test(enormous_alignments),
        cmocka_unit_test(every_entry_with_every_free),
        cmocka_unit_test(freeing_null_does_nothing),
        cmocka_unit_test(size_zero_gives_a_block_of_its_own),
        cmocka_unit_test(little_is_wasted),
        cmocka_unit_test(free_blocks_are_never_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
