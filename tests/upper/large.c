/* Unit tests of large, on the real rooms below. Each test looks into what waits. */
#include "huge_parts.h"
#include "large_parts.h"
#include "metadata.h"
#include "os.h"
#include "pages.h"
#include "superslab_parts.h"

#include "kernel.h"
#include "random.h"
#include "unit/unit.h"

#include <limits.h>
#include <sys/prctl.h>
#include <string.h>
#include <sys/resource.h>

#define CACHE (16 * MIB)

static void *new_to_grow(size_t size, size_t from) {
    bool zeroed;
    return large_new_to_grow(size, from, &zeroed);
}

/* The record of a live block, checked. large P1. */
static struct large *record_of(void *block) {
    struct large *large = pagemap_record(block);
    assert_non_null(large);
    assert_ptr_equal(large->start, block);
    assert_int_equal(pagemap_tag(block), large->home ? PAGEMAP_RUN : PAGEMAP_MAPPING);
    if (large->home)
        for (size_t offset = UNIT_SIZE; offset < large->bytes; offset += UNIT_SIZE) {
            assert_int_equal(pagemap_tag(large_unit(large) + offset), PAGEMAP_RUN_INSIDE);
            assert_ptr_equal(pagemap_record(large_unit(large) + offset), large);
        }
    return large;
}

static void *new_block(size_t size) {
    bool zeroed;
    unsigned char *block = large_new(size, UNIT_SIZE, &zeroed);
    assert_non_null(block);
    struct large *large = record_of(block);
    assert_true(large->bytes >= size && large->bytes <= size + size / 15 + UNIT_SIZE);
    if (zeroed) {
        assert_int_equal(block[0], 0);
        assert_int_equal(block[size / 2], 0);
        assert_int_equal(block[size - 1], 0);
    }
    block[0] = block[size / 2] = block[size - 1] = 0xa5;
    return block;
}

/* As alloc does it: the hit, else all of it. */
static void delete_block(void *block) {
    struct large *large = record_of(block);
    if (!large_hand_mine() || !large_rest(large, large_hand_mine()))
        large_delete(large);
    const struct large *left = pagemap_record(block);
    if (left) { /* at hand: who frees it again is told */
        assert_ptr_equal(left, large);
        assert_true(large_was_freed(large, block));
    } else {
        assert_int_equal(pagemap_tag(block), PAGEMAP_NONE);
    }
}

static unsigned length_of(const struct large *list) {
    unsigned length = 0;
    for (; list; list = list->next)
        length++;
    return length;
}

static void *new_dense_block(size_t size) {
    unsigned char *block = new_block(size);
    memset(block, 0xa5, record_of(block)->extent);
    return block;
}

/* The room dense, which is told of all runs that live, but for those in fields. */
static struct {
    size_t units[DENSE_KINDS];
    unsigned watched, probes, told;
    size_t resident; /* ... last */
    size_t others;   /* units that are dense and not large blocks */
    bool large_is_dense, runs_are_dense, are_sparse;
} dense_fake;

void dense_count(enum dense_kind kind, size_t units) {
    assert_in_range(kind, DENSE_RUNS, DENSE_LARGEST);
    dense_fake.units[kind] += units;
}

void dense_watch(enum dense_kind kind, void *start, size_t units, bool probe) {
    assert_int_equal(kind, dense_kind_of_run(units));
    assert_in_range(units, 1, SUPERSLAB_RUN_LARGEST);
    assert_int_equal((uintptr_t)start % UNIT_SIZE, 0);
    dense_fake.watched++;
    dense_fake.probes += probe;
}

void dense_tell(enum dense_kind kind, size_t resident, size_t bytes) {
    assert_int_equal(kind, dense_kind_of_run(bytes / UNIT_SIZE));
    assert_in_range(bytes, UNIT_SIZE, SUPERSLAB_RUN_LARGEST * UNIT_SIZE);
    dense_fake.told++;
    dense_fake.resident = resident;
}

enum dense_known dense_known(enum dense_kind kind) {
    return (kind >= DENSE_LARGE ? dense_fake.large_is_dense : dense_fake.runs_are_dense) ? DENSE_YES
                                                                                         : DENSE_NO;
}

bool dense_is_sparse(enum dense_kind kind) {
    assert_in_range(kind, DENSE_RUNS, DENSE_LARGEST);
    return dense_fake.are_sparse;
}

size_t dense_large_units(void) {
    return dense_fake.units[DENSE_LARGE] + dense_fake.units[DENSE_LARGER] + dense_fake.units[DENSE_LARGEST];
}

size_t dense_units(bool hoped) {
    (void)hoped;
    return dense_fake.others + (dense_fake.runs_are_dense ? dense_fake.units[DENSE_RUNS] : 0);
}

/* Units in use or dirty, and mappings: neither more nor less counts as held. */
static void check_held(void) {
    size_t counted = dense_fake.units[DENSE_RUNS] + dense_large_units() + superslabs.field_used;
    assert_int_equal(counted * UNIT_SIZE, superslab_mapped_bytes() - superslab_free_bytes());
    size_t units =
        superslab_mapped_bytes() - superslab_free_bytes() + spare_run_bytes() + superslab_dirty_bytes();
    assert_int_equal(limit.held, units + large_mapped_bytes());
}

/* What waits is within its bounds. */
static void check_cache(void) {
    assert_true(larges.recent.resident <= larges.cache_limit / 2);
    assert_true(larges.recent.bytes <= larges.cache_limit / 2 * LARGE_RECENT_EXTENT);
    large_gather_now();
    assert_true(spare_resident_bytes() <= larges.cache_limit);
    assert_true(spare_mapping_bytes() <= large_mapped_bytes());
    bool sparse = spare_resident_bytes() <= LARGE_WAITING_SPARSE;
    assert_true(larges.waiting <= (sparse ? LARGE_WAITING_MOST : LARGE_WAITING_FEW));
    size_t bytes = 0;
    for (unsigned i = 0; i < ARRAY_LENGTH(large_cache); i++) {
        assert_int_equal(large_cache[i] != NULL, i < larges.waiting);
        bytes += large_cache[i] ? large_cache[i]->extent : 0;
    }
    assert_int_equal(bytes, spare_mapping_bytes() + spare_run_bytes());
    check_held();
}

static int setup(void **state) {
    kernel_reset(state);
    large_purge(0, ALWAYS);
    limit_configure(SIZE_MAX - 1, 0, 0); /* so that what is held is counted */
    check_held();
    large_configure(CACHE);
    assert_int_equal(larges.live, 0);
    assert_int_equal(larges.held, 0);
    assert_int_equal(larges.slack, 0);
    assert_int_equal(larges.waiting, 0);
    assert_int_equal(lengths.rounding, 0);
    larges.live_peak = 0;
    assert_int_equal(large_cached_bytes(), 0);
    return 0;
}

static void large_P1_runs_and_mappings(void **state) {
    (void)state;
    static const size_t sizes[] = {1,   32 * KIB + 1, 64 * KIB,    64 * KIB + 1, MIB - 1,
                                   MIB, MIB + 1,      3 * MIB + 5, 17 * MIB - 1};
    void *blocks[ARRAY_LENGTH(sizes)];
    size_t mapped = large_mapped_bytes();
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        blocks[i] = new_block(sizes[i]);
        assert_int_equal(record_of(blocks[i])->home != NULL, sizes[i] <= MIB);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
        delete_block(blocks[i]);
    check_cache();
    large_purge(0, ALWAYS);
    assert_int_equal(large_mapped_bytes(), mapped);
}

/* Memory that something else has touched: what is not asked for goes home, where it is worth a call. */
static void large_gives_the_tail_of_used_memory_home(void **state) {
    (void)state;
    static const struct {
        size_t size, resident;
        bool full;
    } asked[] = {{100000, 100 * KIB, true},
                 {100001, 2 * UNIT_SIZE, false}, /* what a run has touched, a run may touch again */
                 {2 * UNIT_SIZE - 8 * KIB, 2 * UNIT_SIZE, true},
                 {2 * UNIT_SIZE, 2 * UNIT_SIZE, true}};
    for (size_t i = 0; i < ARRAY_LENGTH(asked); i++) {
        struct superslab_run run = superslab_take(2, SUPERSLAB_MIXED);
        assert_non_null(run.start);
        memset(run.start, 0xa5, 2 * UNIT_SIZE);
        run.full = asked[i].full;
        superslab_give_runs(&run, 1);
        bool zeroed;
        unsigned char *block = large_new(asked[i].size, 16, &zeroed);
        assert_ptr_equal(block, run.start); /* dirty units come first */
        assert_false(zeroed);
        enum pages_density density;
        assert_int_equal(pages_resident(block, 2 * UNIT_SIZE, &density), asked[i].resident);
        assert_int_equal(block[asked[i].size - 1], 0xa5);
        delete_block(block);
        large_purge(0, ALWAYS);
        superslab_purge(0, UINT_MAX);
    }
}

static void large_alignments(void **state) {
    (void)state;
    for (size_t alignment = 16; alignment <= 64 * MIB; alignment *= 2) {
        bool zeroed;
        unsigned char *block = large_new(100 * KIB, alignment, &zeroed);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % alignment, 0);
        block[0] = block[100 * KIB - 1] = 1;
        delete_block(block);
    }
    bool zeroed;
    assert_null(large_new(1, (size_t)1 << 62, &zeroed));
    assert_null(large_new(1, (size_t)1 << 63, &zeroed));
}

static void large_sizes_that_no_system_has(void **state) {
    (void)state;
    static const size_t sizes[] = {(size_t)1 << 48, PTRDIFF_MAX, PTRDIFF_MAX - UNIT_SIZE, SIZE_MAX,
                                   SIZE_MAX - UNIT_SIZE};
    void *run = new_block(100 * KIB), *mapping = new_block(2 * MIB);
    unsigned unused = length_of(larges.unused);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        bool zeroed;
        assert_null(large_new(sizes[i], UNIT_SIZE, &zeroed));
        assert_null(large_resize(record_of(run), sizes[i]));
        assert_null(large_resize(record_of(mapping), sizes[i]));
    }
    assert_true(length_of(larges.unused) >= unused);
    delete_block(run);
    delete_block(mapping);
}

static void large_P2_cache_is_bounded_in_bytes(void **state) {
    (void)state;
    void *blocks[10];
    for (int i = 0; i < 10; i++)
        blocks[i] = new_dense_block(4 * MIB);
    kernel.unmap.count = 0;
    for (int i = 0; i < 10; i++) {
        delete_block(blocks[i]);
        check_cache();
    }
    assert_int_equal(large_cached_bytes(), CACHE);
    assert_int_equal(kernel.unmap.count, 6); /* each of the last six drove out one */
    assert_int_equal(large_purge(9 * MIB, ALWAYS), 8 * MIB);
    assert_int_equal(large_cached_bytes(), 8 * MIB);
    large_configure(8 * MIB);
    delete_block(new_dense_block(20 * MIB)); /* too much by itself; it took the pages of those that waited */
    assert_int_equal(large_cached_bytes(), 0);
}

/* Of a block of which little is in memory, only that counts. */
static void large_P2_counts_what_is_in_memory(void **state) {
    (void)state;
    void *blocks[10];
    for (int i = 0; i < 10; i++)
        blocks[i] = new_block(4 * MIB);
    for (int i = 0; i < 10; i++)
        delete_block(blocks[i]);
    assert_int_equal(large_cached_bytes(), 40 * MIB);
    assert_true(spare_resident_bytes() >= 10 * 3 * 4 * KIB);
    check_cache();
}

static void large_P2_cache_is_bounded_in_places(void **state) {
    (void)state;
    void *blocks[LARGE_WAITING_FEW + 5];
    large_configure(GIB);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        blocks[i] = new_dense_block(70000);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    large_gather_now();
    assert_int_equal(larges.waiting, LARGE_WAITING_FEW);
    check_cache();
}

/* Blocks of which little is in memory have more places, as long as it is little in all. */
static void large_P2_sparse_blocks_have_more_places(void **state) {
    (void)state;
    static void *blocks[LARGE_WAITING_MOST + 5];
    bool zeroed;
    large_configure(GIB);
    superslab_purge(0, ALWAYS); /* nothing is in memory */
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        assert_non_null(blocks[i] = large_new(40000, UNIT_SIZE, &zeroed));
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    large_gather_now();
    assert_int_equal(larges.waiting, LARGE_WAITING_MOST);
    check_cache();
    large_purge(0, ALWAYS);
    unsigned some = LARGE_WAITING_SPARSE / (12 * KIB) + 100; /* of three pages each */
    for (unsigned i = 0; i < some; i++)
        blocks[i] = new_block(40000);
    for (unsigned i = 0; i < some; i++)
        delete_block(blocks[i]);
    large_gather_now();
    assert_in_range(larges.waiting, LARGE_WAITING_FEW + 1, some - 1);
    assert_in_range(spare_resident_bytes(), LARGE_WAITING_SPARSE / 2, LARGE_WAITING_SPARSE);
    check_cache();
}

/* One look gives up a bounded number of what rested. */
static void large_many_that_rest_go_by_and_by(void **state) {
    (void)state;
    static void *blocks[3 * LARGE_WAITING_FEW];
    bool zeroed;
    superslab_purge(0, ALWAYS);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        assert_non_null(blocks[i] = large_new(40000, UNIT_SIZE, &zeroed));
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    large_purge_rested();
    unsigned before = larges.waiting;
    assert_int_equal(before, ARRAY_LENGTH(blocks));
    for (unsigned looks = 1; larges.waiting > 0; looks++) {
        large_purge_rested();
        assert_true(before - larges.waiting <= LARGE_WAITING_FEW);
        before = larges.waiting;
        assert_true(looks <= 4);
    }
    check_cache();
}

/* A cache full of a size that nobody asks for any more makes way for the size that is used now. */
static void large_cache_makes_way(void **state) {
    (void)state;
    void *blocks[LARGE_WAITING_MOST];
    large_configure(GIB);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        blocks[i] = new_block(MIB + 1);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    delete_block(new_block(3 * MIB));
    unsigned maps = (unsigned)kernel.map.count;
    delete_block(new_block(3 * MIB));
    assert_int_equal(kernel.map.count, maps);
    check_cache();
    large_purge(0, ALWAYS);
    large_configure(32 * MIB);
    for (unsigned i = 0; i < 16; i++)
        blocks[i] = new_dense_block(2 * MIB);
    for (unsigned i = 0; i < 16; i++)
        delete_block(blocks[i]);
    delete_block(new_dense_block(20 * MIB)); /* by bytes, too */
    maps = (unsigned)kernel.map.count;
    delete_block(new_block(20 * MIB));
    assert_int_equal(kernel.map.count, maps);
    check_cache();
}

static void large_cached_mapping_is_used_again(void **state) {
    (void)state;
    bool zeroed;
    unsigned char *block = new_block(2 * MIB);
    delete_block(block);
    kernel.map.count = 0;
    assert_ptr_equal(large_new(2 * MIB - 100, UNIT_SIZE, &zeroed), block);
    assert_false(zeroed);
    assert_int_equal(block[0], 0xa5);
    assert_int_equal(kernel.map.count, 0);
    delete_block(block);
    void *other = new_block(3 * MIB); /* not nearly of the size */
    assert_ptr_not_equal(other, block);
    assert_ptr_equal(large_new(2 * MIB, UNIT_SIZE, &zeroed), block);
    void *best = new_block(2 * MIB + 100 * KIB);
    delete_block(block);
    delete_block(best);
    assert_ptr_equal(large_new(2 * MIB, UNIT_SIZE, &zeroed), block); /* the better of two */
    delete_block(block);
    delete_block(other);
    assert_int_equal(large_mapped_bytes(), large_cached_bytes());
}

/* When as much is mapped as was once live and may wait, a longer mapping serves, and what it lends goes to the next. */
static void large_longer_mapping_serves(void **state) {
    (void)state;
    unsigned char *block = new_block(4 * MIB), *small = new_block(100 * KIB);
    large_delete(record_of(block));
    delete_block(small);
    large_configure(4 * KIB * 16);
    kernel.map.count = 0;
    unsigned char *front = new_block(MIB + MIB / 2);
    assert_ptr_equal(front, block);
    assert_int_equal(kernel.map.count, 0);
    assert_int_equal(larges.slack, 2 * MIB + MIB / 2);
    unsigned char *back = new_block(2 * MIB + MIB / 2);
    assert_int_equal(large_mapped_bytes(), 4 * MIB);
    delete_block(front);
    delete_block(back);
}

/* Four blocks of 4 MiB were live, and wait: the first one dense, or hardly touched, the others dense. */
static void four_wait(bool dense) {
    void *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = dense || i > 0 ? new_dense_block(4 * MIB) : new_block(4 * MIB);
    for (int i = 0; i < 4; i++)
        delete_block(blocks[i]);
    assert_int_equal(large_mapped_bytes(), 16 * MIB);
}

/* Where a new block would be more than was once live, what waits serves: nothing more is mapped. */
static void large_what_waits_serves_within_the_peak(void **state) {
    (void)state;
    four_wait(true);
    void *small = new_dense_block(2 * MIB), *next = new_dense_block(3 * MIB);
    assert_int_equal(large_mapped_bytes(), 16 * MIB);
    delete_block(small);
    delete_block(next);
    check_cache();
}

/* Runs are taken until something has to go home: how many bytes of mappings. */
static size_t gone_for_runs(void) {
    enum { RUN = 192 * KIB, MOST = 8 * MIB / RUN };
    void *runs[MOST];
    unsigned count = 0;
    size_t before = large_mapped_bytes(), held = 0;
    while (count < MOST && large_mapped_bytes() == before) {
        held = large_holds(RUN);
        runs[count++] = new_dense_block(RUN);
    }
    assert_true(held > 19 * MIB && held - RUN <= 19 * MIB);
    size_t gone = before - large_mapped_bytes();
    while (count > 0)
        delete_block(runs[--count]);
    check_cache();
    return gone;
}

/* Of what waits only the end goes, as much as is more than three sixteenths above what was once live. */
static void large_only_what_is_too_much_goes(void **state) {
    (void)state;
    four_wait(true);
    assert_int_equal(gone_for_runs(), 192 * KIB);
}

/* But a huge page is not torn, and of what is hardly in memory nobody knows where it is: those go whole. */
static void large_huge_or_cold_goes_whole(void **state) {
    (void)state;
    four_wait(true);
    spare_oldest()->huge = true;
    assert_int_equal(gone_for_runs(), 4 * MIB);
    large_purge(0, ALWAYS);
    larges.live_peak = 0;
    four_wait(false);
    size_t gone = gone_for_runs(); /* that was too little: an end of the next one goes with it */
    assert_true(gone > 4 * MIB && gone <= 4 * MIB + 192 * KIB);
}

/* Nor is a mapping cut where there may be no more of them. */
static void large_goes_whole_where_mappings_are_many(void **state) {
    (void)state;
    four_wait(true);
    limit.count_at = UINT64_MAX; /* a look would find few */
    limit.tight = true;
    size_t gone = gone_for_runs();
    limit.tight = false;
    limit.count_at = 0;
    assert_int_equal(gone, 4 * MIB);
}

/* Slack is taken back for what comes next also by a program that has unmapped nothing yet: there is a record for it. */
static void large_first_cuts_have_a_record(void **state) {
    (void)state;
    void *blocks[8], *small[8];
    for (int i = 0; i < 8; i++)
        blocks[i] = new_dense_block(2 * MIB);
    for (int i = 0; i < 8; i++)
        delete_block(blocks[i]);
    for (int i = 0; i < 8; i++)
        small[i] = new_dense_block(640 * KIB);
    assert_true(larges.slack > 8 * MIB);
    struct large *unused = larges.unused;
    larges.unused = NULL;
    for (int i = 0; i < 6; i++)
        blocks[i] = new_dense_block(2 * MIB);
    assert_true(large_mapped_bytes() <= larges.live_peak / 16 * LARGE_PEAK_SIXTEENTHS);
    for (int i = 0; i < 8; i++)
        delete_block(small[i]);
    for (int i = 0; i < 6; i++)
        delete_block(blocks[i]);
    while (unused)
        large_give_record(large_pop(&unused));
    check_cache();
}

/* A block of which only a part is in memory serves what needs no more: else it went home whole for a new one, again and again. */
static void large_cold_block_serves_what_it_holds(void **state) {
    (void)state;
    unsigned char *first = new_block(2560 * KIB);
    memset(first, 0xa5, 1900 * KIB);
    delete_block(first);
    struct large *waiting = spare_oldest();
    assert_true(waiting && !large_is_warm(waiting));
    kernel.map.count = 0;
    assert_ptr_equal(new_block(1900 * KIB), first);
    assert_int_equal(kernel.map.count, 0);
    delete_block(first);
    check_cache();
}

/* While nothing has to go home for a new one, a small block does not take one that is very much longer. */
static void large_small_block_leaves_a_long_one(void **state) {
    (void)state;
    four_wait(true);
    kernel.map.count = 0;
    void *small = new_dense_block(1100 * KIB);
    assert_int_equal(kernel.map.count, 0);
    delete_block(small);
    large_gather_now();
    void *smaller = new_dense_block(640 * KIB); /* a run */
    assert_non_null(record_of(smaller)->home);
    delete_block(smaller);
    check_cache();
}

/* Of a long block all counts, whether it is in memory or not: nobody knows what the next one touches. */
static void large_long_blocks_count_whole(void **state) {
    (void)state;
    unsigned char *first = new_block(16 * MIB);
    delete_block(first);
    assert_true(spare_resident_bytes() < MIB);
    bool zeroed;
    void *next = large_new(MIB, 2 * MIB, &zeroed), *more = large_new(4 * MIB, 8 * MIB, &zeroed);
    assert_true(next && more);
    delete_block(next);
    delete_block(more);
    void *longest = large_new(9 * MIB, 512 * MIB, &zeroed); /* no other is aligned so */
    assert_non_null(longest);
    check_cache();
    assert_true(large_mapped_bytes() <= 19 * MIB);
    delete_block(longest);
}

/* Where no block is of nearly the size, a longer one serves, and lends the rest as slack; that goes home when it rests. */
static void large_longer_block_serves(void **state) {
    (void)state;
    unsigned char *first = new_dense_block(16 * MIB);
    delete_block(first);
    kernel.map.count = 0;
    unsigned char *block = new_block(2 * MIB);
    assert_ptr_equal(block, first);
    assert_int_equal(kernel.map.count, 0);
    assert_int_equal(larges.slack, 14 * MIB);
    assert_int_equal(large_waiting_bytes(), 14 * MIB); /* the janitor comes for it */
    assert_int_equal(large_purge_rested(), 0);
    assert_int_equal(large_purge_rested(), 14 * MIB);
    assert_int_equal(record_of(block)->extent, 2 * MIB);
    assert_int_equal(large_mapped_bytes(), 2 * MIB);
    delete_block(block);
    check_cache();
}

/* One block at a time, of any size: as soon as something would have to go home for a new mapping, what waits and is in memory
 * serves as it is, or is stretched. What is hardly in memory does not: then the pages of a size stay where they are. */
static void large_block_in_memory_serves_before_another_goes(void **state) {
    (void)state;
    unsigned char *first = new_dense_block(4 * MIB);
    delete_block(first);
    kernel.map.count = kernel.unmap.count = 0;
    for (size_t size = 3 * MIB; size > 768 * KIB; size -= 192 * KIB) {
        assert_ptr_equal(new_block(size), first);
        delete_block(first);
    }
    assert_int_equal(kernel.map.count + kernel.unmap.count, 0);
    check_cache();
    large_purge(0, ALWAYS);
    first = new_dense_block(2 * MIB);
    void *other = new_dense_block(4 * MIB);
    delete_block(first);
    delete_block(other);
    assert_ptr_equal(new_block(3 * MIB), other);
    first =
        new_block(4 * MIB); /* the other one, stretched; with the pages that the first one does not need */
    assert_int_equal(large_mapped_bytes(), 7 * MIB);
    delete_block(first);
    delete_block(other);
    large_purge(0, ALWAYS);
    first = new_block(4 * MIB);
    delete_block(first);
    other = new_block(2 * MIB);
    assert_ptr_not_equal(other, first);
    delete_block(other);
    check_cache();
}

/* Of a mapping that is hardly in memory other pages would be touched. */
static void large_cold_block_does_not_serve(void **state) {
    (void)state;
    unsigned char *cold = new_block(4 * MIB);
    delete_block(cold);
    larges.live_peak = 0;
    void *dense[4];
    for (int i = 0; i < 4; i++)
        dense[i] = new_dense_block(MIB + MIB / 4);
    for (int i = 0; i < 4; i++)
        delete_block(dense[i]);
    assert_true(large_is_crowded(3 * MIB));
    void *block = new_block(3 * MIB);
    assert_ptr_not_equal(block, cold);
    delete_block(block);
    check_cache();
}

static void refuse_a_megabyte(void *start, size_t bytes) {
    (void)start;
    kernel.remap.refuse = bytes == MIB;
}

/* A longer block serves beside others, too; what it lends is the pages of the next one, which does not read as zero. */
static void large_what_is_lent_goes_to_the_next(void **state) {
    (void)state;
    void *live = new_dense_block(2 * MIB);
    unsigned char *big = new_dense_block(4 * MIB);
    delete_block(big);
    assert_true(large_is_crowded(2 * MIB + MIB / 2));
    unsigned char *kept = new_block(2 * MIB + MIB / 2);
    assert_ptr_equal(kept, big);
    assert_int_equal(record_of(kept)->extent, 4 * MIB);
    assert_int_equal(larges.slack, MIB + MIB / 2);
    size_t mapped = large_mapped_bytes();
    bool zeroed = true;
    unsigned char *next = large_new(2 * MIB, UNIT_SIZE, &zeroed);
    assert_false(zeroed);
    assert_int_equal(large_mapped_bytes(), mapped + MIB / 2);
    assert_int_equal(record_of(kept)->extent, record_of(kept)->bytes);
    assert_int_equal(seams_last(&record_of(next)->seams), MIB / 2);
    enum pages_density density;
    assert_int_equal(pages_resident(next, 2 * MIB, &density), MIB + MIB / 2);
    assert_true(next[0] == 0 && next[2 * MIB - 1] == 0xa5);
    assert_true(kept[0] == 0xa5 && kept[2 * MIB + MIB / 2 - 1] == 0xa5);
    delete_block(live);
    delete_block(kept);
    delete_block(next);
    check_cache();
}

/* One that is too short is stretched and gets the last pages of another: nothing is faulted, unless the kernel refuses. */
static void large_stretched_block_gets_the_pages_of_others(void **state) {
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        unsigned char *first = new_dense_block(2 * MIB), *second = new_dense_block(MIB + MIB / 2);
        delete_block(second);
        delete_block(first);
        assert_true(large_is_crowded(3 * MIB));
        kernel.remap = (struct kernel_call){0, 0};
        kernel.before_remap = refused ? refuse_a_megabyte : NULL;
        bool zeroed = true;
        unsigned char *both = large_new(3 * MIB, UNIT_SIZE, &zeroed);
        kernel.before_remap = NULL;
        assert_false(zeroed);
        assert_true(kernel.remap.count >= 2);
        enum pages_density density;
        assert_int_equal(pages_resident(both, 3 * MIB, &density), refused ? 2 * MIB : 3 * MIB);
        assert_int_equal(both[0], 0xa5);
        assert_int_equal(both[3 * MIB - 1], refused ? 0 : 0xa5);
        memset(both, 0x33, 3 * MIB);
        delete_block(both);
        check_cache();
        large_purge(0, ALWAYS);
        kernel_reset(state);
        assert_int_equal(large_mapped_bytes(), 0);
    }
}

/* A run that grows moves into what has grown, too; from others of more than twice the length it stays away. */
static void large_run_moves_into_its_kind(void **state) {
    (void)state;
    larges.live_peak = 16 * MIB; /* so that nothing that waits has to serve */
    unsigned char *other = new_dense_block(2 * MIB);
    delete_block(other);
    unsigned char *run = new_block(256 * KIB);
    assert_ptr_equal(large_resize(record_of(run), 320 * KIB), run);
    delete_block(run);
    large_purge(0, ALWAYS);
    unsigned char *grown = large_resize(record_of(new_block(2 * MIB)), 4 * MIB);
    memset(grown, 1, 4 * MIB);
    delete_block(grown);
    run = new_block(200 * KIB);
    assert_ptr_equal(large_resize(record_of(run), 320 * KIB), grown);
    assert_int_equal(seams_last(&record_of(grown)->seams), 256 * KIB);
    delete_block(grown);
    assert_ptr_equal(new_block(4 * MIB), grown); /* now it is one of another kind */
    delete_block(grown);
    large_gather_now();
    run = new_block(256 * KIB);
    assert_ptr_equal(large_resize(record_of(run), 320 * KIB), run);
    delete_block(run);
    check_cache();
}

/* A mapping takes the pages of one block after the other, until it has as many areas as it may have. */
static void large_mapping_has_some_areas(void **state) {
    (void)state;
    large_configure(64 * MIB);
    unsigned char *run = new_block(MIB), *target = large_resize(record_of(new_block(2 * MIB)), 20 * MIB);
    for (unsigned i = 0; i <= SEAMS_MOST; i++) {
        memset(target, 1, record_of(target)->extent);
        delete_block(target);
        unsigned char *grown = large_resize(record_of(run), MIB + MIB / 4);
        assert_int_equal(grown == target, i < SEAMS_MOST);
        assert_int_equal(seams_count(&record_of(grown)->seams), i < SEAMS_MOST ? i + 1 : 1);
        assert_int_equal(grown[0], 0xa5);
        if (grown != target) {
            delete_block(grown);
            break;
        }
        grown = large_resize(record_of(grown), 20 * MIB);
        assert_ptr_equal(grown, target);
        run = new_block((15 - i) * UNIT_SIZE); /* each seam lies below the one before */
    }
    large_purge(0, ALWAYS);
    assert_int_equal(large_mapped_bytes(), 0);
}

/* Runs that grow stand apart, but only while there are few. */
static void large_few_that_grow_get_room(void **state) {
    (void)state;
    unsigned char *first = new_to_grow(40 * KIB, 0), *second = new_to_grow(40 * KIB, 0);
    assert_int_equal((second - first) % (16 * UNIT_SIZE), 0);
    void *live = new_block(2 * MIB);
    unsigned char *third = new_to_grow(40 * KIB, 0), *fourth = new_to_grow(40 * KIB, 0);
    assert_int_not_equal((third - first) % (16 * UNIT_SIZE), 0);
    assert_int_not_equal((fourth - first) % (16 * UNIT_SIZE), 0);
    void *all[] = {first, second, third, fourth, live};
    for (unsigned i = 0; i < ARRAY_LENGTH(all); i++)
        delete_block(all[i]);
    check_cache();
}

/* Of runs only those tell how they are written that begin without memory, in small pages. */
static void large_new_runs_are_watched(void **state) {
    (void)state;
    superslab_purge(0, ALWAYS);
    dense_fake.watched = 0;
    unsigned char *block = new_block(MIB);
    assert_int_equal(dense_fake.watched, 1);
    struct superslab *home = record_of(block)->home;
    delete_block(block);
    assert_ptr_equal(new_block(MIB), block); /* it waited */
    assert_int_equal(dense_fake.watched, 1);
    delete_block(block);
    large_purge(0, ALWAYS);
    assert_ptr_equal(new_block(MIB), block); /* dirty */
    assert_int_equal(dense_fake.watched, 1);
    delete_block(block);
    large_purge(0, ALWAYS);
    superslab_purge(0, ALWAYS);
    home->huge = true;
    assert_ptr_equal(new_block(MIB), block);
    assert_int_equal(dense_fake.watched, 1);
    home->huge = false;
    delete_block(block);
}

/* ... and when they are freed for the first time. */
static void large_new_runs_tell_once(void **state) {
    (void)state;
    superslab_purge(0, ALWAYS);
    dense_fake.told = 0;
    unsigned char *block = new_block(512 * KIB);
    memset(block, 1, 128 * KIB);
    delete_block(block);
    assert_int_equal(dense_fake.told, 1);
    assert_in_range(dense_fake.resident, 128 * KIB, 128 * KIB + 2 * os_page_size());
    assert_ptr_equal(new_block(512 * KIB), block);
    delete_block(block);
    large_purge(0, ALWAYS);
    assert_ptr_equal(new_block(512 * KIB), block); /* others have touched it */
    delete_block(block);
    superslab_purge(0, ALWAYS);
    block = new_block(UNIT_SIZE);
    block[0] = 1;
    delete_block(block);
    assert_int_equal(dense_fake.told, 2);
    assert_in_range(dense_fake.resident, 1, 4 * os_page_size());
}

static void learn_of_all_sizes(enum pages_density density) {
    for (size_t size = HUGE_TELLS; size <= 64 * MIB; size *= 2) {
        huge_learn(NULL, size, density);
        huge_watch(NULL, size);
    }
}

static void skip_without_huge_pages(void) {
    unsigned char *p = os_map(MIB, NULL);
    bool heard = os_advise(p, MIB, OS_HUGE);
    os_unmap(p, MIB);
    if (!heard || os_huge_pages() == OS_HUGE_UNASKED)
        skip(); /* unasked: small pages never tell anything */
}

static bool is_in_field(void *block) {
    return large_is_in_field(record_of(block));
}

static void delete_all(void **blocks, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        delete_block(blocks[i]);
    check_held();
}

static int begin_fields(void **state) {
    kernel_reset(state);
    large_purge(0, ALWAYS);
    superslab_purge(0, ALWAYS);
    superslab_configure(2 * MIB, true, false);
    superslabs.no_more_fields = false;
    dense_fake.large_is_dense = true;
    dense_fake.probes = 0;
    return 0;
}

static int end_fields(void **state) {
    (void)state;
    superslab_configure(SIZE_MAX, true, false);
    dense_fake.large_is_dense = dense_fake.runs_are_dense = false;
    dense_fake.others = 0;
    superslab_unmap_free();
    assert_int_equal(superslabs.fields, 0);
    return 0;
}

/* From huge_from bytes of them on; one of DENSE_WATCHES that bring new memory tells whether they still are dense. */
static void large_whole_blocks_are_in_fields(void **state) {
    (void)state;
    enum { OUTSIDE = 4, INSIDE = 20, BLOCKS = OUTSIDE + INSIDE };
    void *blocks[BLOCKS];
    unsigned outside = 0;
    size_t live = larges.live, held = larges.held;
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = new_block(512 * KIB);
        assert_true(i >= OUTSIDE || !is_in_field(blocks[i]));
        outside += !is_in_field(blocks[i]);
        check_held();
    }
    assert_int_equal(outside, OUTSIDE + dense_fake.probes);
    assert_in_range(dense_fake.probes, 0, 1); /* four come with each huge page */
    assert_int_equal(larges.live - live, outside * 512 * KIB);
    assert_int_equal(larges.held - held, outside * 512 * KIB);
    delete_all(blocks, BLOCKS);
}

/* A heap of 12 MiB, all of which gets huge pages: but what is hardly touched, or is to tell. */
static void large_sparse_runs_are_in_small_pages(void **state) {
    (void)state;
    enum { LONG = 64, MORE = 1 + DENSE_WATCHES };
    void *blocks[LONG + MORE];
    unsigned taken = 0, probes = dense_fake.probes;
    dense_fake.large_is_dense = false;
    dense_fake.others = 24 * MIB / UNIT_SIZE;
    while (taken < 13 || (taken < LONG && !record_of(blocks[taken - 1])->home->huge))
        blocks[taken++] = new_block(MIB);
    assert_true(record_of(blocks[taken - 1])->home->huge);
    dense_fake.runs_are_dense = true; /* then one of so many is a probe */
    for (unsigned i = 0; i < DENSE_WATCHES; i++) {
        unsigned before = dense_fake.probes;
        blocks[taken++] = new_block(UNIT_SIZE);
        assert_int_equal(record_of(blocks[taken - 1])->home->huge, dense_fake.probes == before);
    }
    assert_int_equal(dense_fake.probes, probes + 1);
    dense_fake.runs_are_dense = false;
    dense_fake.are_sparse = true;
    blocks[taken++] = new_block(UNIT_SIZE);
    assert_false(record_of(blocks[taken - 1])->home->huge);
    dense_fake.are_sparse = false;
    delete_all(blocks, taken);
}

/* Runs that are too short for fields: in huge pages from huge_from bytes of them on, but for one of DENSE_WATCHES, which tells; in small ones
 * if they are not known to be written whole. */
static void large_whole_runs_are_in_huge_pages(void **state) {
    (void)state;
    enum { SMALL = 2 * MIB / UNIT_SIZE, BLOCKS = SMALL + 4 * DENSE_WATCHES };
    void *blocks[BLOCKS];
    unsigned small = 0, before = 0;
    dense_fake.runs_are_dense = true;
    for (unsigned i = 0; i < SMALL; i++) {
        blocks[i] = new_block(UNIT_SIZE);
        assert_false(record_of(blocks[i])->home->huge);
    }
    assert_int_equal(dense_fake.probes, 0);
    for (unsigned i = SMALL; i < BLOCKS; i++) {
        before = dense_fake.probes;
        blocks[i] = new_block(UNIT_SIZE);
        assert_int_equal(record_of(blocks[i])->home->huge, dense_fake.probes == before);
        small += dense_fake.probes > before;
        check_held();
    }
    assert_int_equal(small, 4);
    dense_fake.runs_are_dense = false;
    dense_fake.others = 2 * MIB / UNIT_SIZE;
    void *sparse = new_block(UNIT_SIZE);
    assert_false(record_of(sparse)->home->huge);
    assert_int_equal(dense_fake.probes, 4);
    delete_block(sparse);
    void *longer[DENSE_WATCHES]; /* of which there is not enough for a field */
    small = 0;
    for (unsigned i = 0; i < DENSE_WATCHES; i++) {
        longer[i] = new_block(LARGE_FIELD_LEAST);
        assert_false(is_in_field(longer[i]));
        small += !record_of(longer[i])->home->huge;
    }
    assert_int_equal(small, 1);
    delete_all(longer, DENSE_WATCHES);
    delete_all(blocks, BLOCKS);
}

/* One of DENSE_WATCHES that bring new memory is in small pages, and is looked at. */
static void large_fields_are_probed(void **state) {
    (void)state;
    enum { BLOCKS = 4 + 4 * DENSE_WATCHES };
    void *blocks[BLOCKS];
    unsigned outside = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = new_block(MIB); /* each second brings a huge page */
        outside += !is_in_field(blocks[i]);
    }
    assert_in_range(dense_fake.probes, 1, 2);
    assert_int_equal(outside, 2 + dense_fake.probes);
    delete_all(blocks, BLOCKS);
}

/* A mapping takes the place of what is free in fields. */
static void large_mappings_take_the_place_of_fields(void **state) {
    (void)state;
    enum { BLOCKS = 12 };
    unsigned char *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = new_block(MIB);
    for (unsigned i = 2; i < BLOCKS; i++)
        if (is_in_field(blocks[i])) {
            delete_block(blocks[i]);
            blocks[i] = NULL;
        }
    size_t held = limit.held;
    void *mapping = new_block(5 * MIB);
    assert_null(record_of(mapping)->home);
    assert_true(limit.held <= held);
    delete_block(mapping);
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i])
            delete_block(blocks[i]);
    check_held();
}

/* What is free of a field serves first, the shortest that is long enough; nothing of it waits. */
static void large_in_fields_neighbours_are_one(void **state) {
    (void)state;
    enum { BLOCKS = 12, FIRST = 6 };
    unsigned char *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = new_block(512 * KIB);
    unsigned waiting = larges.waiting, recent = larges.recent.count;
    assert_true(is_in_field(blocks[FIRST]) && is_in_field(blocks[FIRST + 1]));
    assert_ptr_equal(blocks[FIRST + 1], blocks[FIRST] + 512 * KIB);
    delete_block(blocks[FIRST]);
    delete_block(blocks[FIRST + 1]);
    assert_int_equal(larges.waiting + larges.recent.count, waiting + recent);
    assert_int_equal(pagemap_tag(blocks[FIRST] + UNIT_SIZE), PAGEMAP_NONE);
    assert_ptr_equal(new_block(704 * KIB), blocks[FIRST]);
    blocks[FIRST + 1] = new_block(320 * KIB);
    assert_ptr_equal(blocks[FIRST + 1], blocks[FIRST] + 704 * KIB);
    for (unsigned i = 0; i < BLOCKS; i++)
        delete_block(blocks[i]);
    check_held();
}

/* It shrinks where it stands, and is copied when it grows. */
static void large_in_fields_are_resized(void **state) {
    (void)state;
    enum { BLOCKS = 8, LAST = BLOCKS - 1 };
    unsigned char *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = new_block(MIB);
    assert_true(is_in_field(blocks[LAST]));
    struct large *large = record_of(blocks[LAST]);
    assert_null(large_resize(large, MIB + 1));
    assert_int_equal(record_of(blocks[LAST])->bytes, MIB);
    assert_ptr_equal(large_resize(large, 128 * KIB), blocks[LAST]);
    assert_int_equal(record_of(blocks[LAST])->extent, 128 * KIB);
    assert_int_equal(pagemap_tag(blocks[LAST] + 128 * KIB), PAGEMAP_NONE);
    check_held();
    for (unsigned i = 0; i < BLOCKS; i++)
        delete_block(blocks[i]);
    check_held();
}

/* New memory in a field takes the place of what would have served before, and of what is dirty. */
static void large_fields_take_the_place_of_what_waits(void **state) {
    (void)state;
    enum { BLOCKS = 8 };
    unsigned char *blocks[BLOCKS];
    dense_fake.large_is_dense = false;
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = new_dense_block(512 * KIB);
    for (unsigned i = 0; i < BLOCKS / 2; i++)
        delete_block(blocks[i]);
    size_t held = limit.held;
    unsigned at_hand = larges.recent.count + larges.waiting;
    dense_fake.large_is_dense = true;
    unsigned char *block = new_block(MIB); /* what is at hand is too short */
    assert_true(is_in_field(block));
    assert_int_equal(limit.held, held);
    assert_int_equal(larges.recent.count + larges.waiting, at_hand - 2);
    delete_block(block);
    for (unsigned i = BLOCKS / 2; i < BLOCKS; i++)
        delete_block(blocks[i]);
    check_held();
}

/* The next one of its length is a probe. */
static void come_to_probe(size_t size) {
    while (!huge_probe_is_due(size))
        assert_true(huge_wants(size));
}

/* The next 31 of each length are none, whatever the tests before took. */
static void end_probes(void) {
    for (size_t size = HUGE_TELLS; size <= 64 * MIB; size *= 2) {
        come_to_probe(size);
        assert_false(huge_wants(size));
    }
}

/* Longer than a run: of every length up to LARGE_FIELD_MOST it is known that such blocks are written whole. */
static int begin_longer(void **state) {
    begin_fields(state);
    huge_configure(true);
    learn_of_all_sizes(PAGES_DENSE);
    end_probes();
    memset(&lengths, 0, sizeof lengths);
    lengths.seen = lengths.others = 8;
    lengths.mixed = lengths.unfit.few = lengths.hard.few = true;
    lengths.hard.sum = 64 * MIB;
    lengths.unfit.sum = 8 * MIB;
    larges.live_peak = larges.live;
    larges.runs_in_fields = false;
    large_keep_longer(true);
    return 0;
}

static int end_longer(void **state) {
    large_purge(0, ALWAYS);
    end_fields(state);
    huge_configure(false);
    memset(&lengths, 0, sizeof lengths);
    return 0;
}

/* Bytes: as long as those may be that are enough for a field by 16 MiB. */
#define LONGEST (8 * MIB)

/* Written whole, unless it is. */
static void *new_whole_block(size_t size) {
    unsigned char *block = new_block(size);
    if (block[size / 3] != 0xa5 || block[size - UNIT_SIZE] != 0xa5)
        memset(block, 0xa5, size);
    return block;
}

enum { LONGER = 12, SHORT_ONE = 3 * MIB / 2, LONG_ONE = 3 * MIB };

/* The odd ones are twice as long; returns how many of them are in fields. */
static unsigned new_mixed(void **blocks, unsigned count) {
    unsigned inside = 0;
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = new_whole_block(i % 2 ? LONG_ONE : SHORT_ONE);
        inside += is_in_field(blocks[i]);
    }
    check_held();
    return inside;
}

/* From 16 MiB that were live at once on; and even if fewer are live since then. */
static void large_longer_ones_are_in_fields_where_there_are_many(void **state) {
    (void)state;
    void *blocks[LONGER];
    assert_int_equal(new_mixed(blocks, 7), 0); /* 15 MiB */
    void *next = new_whole_block(LONGEST);
    assert_true(!is_in_field(next)); /* now it is enough */
    size_t live = larges.live;
    blocks[7] = new_whole_block(LARGE_FIELD_MOST);
    assert_true(is_in_field(blocks[7]));
    assert_int_equal(larges.live, live);
    for (size_t unit = 1; unit < LARGE_FIELD_MOST / UNIT_SIZE; unit++)
        assert_int_equal(pagemap_tag((char *)blocks[7] + unit * UNIT_SIZE), PAGEMAP_RUN_INSIDE);
    check_held();
    delete_block(next);
    delete_all(blocks, 8);
    assert_int_equal(new_mixed(blocks, 2), 2);
    delete_all(blocks, 2);
}

/* What waits serves where lengths are nearly the same, and where hardly one of eight is another after more were. */
static void large_longer_ones_of_one_length_are_not_in_fields(void **state) {
    (void)state;
    enum { ALIKE = 8 * 16 };
    void *blocks[LONGER];
    lengths.seen = lengths.others = 0;
    lengths.mixed = false;
    for (unsigned i = 0; i < LONGER; i++) {
        blocks[i] = new_whole_block(i % 2 ? LONG_ONE : LONG_ONE / 5 * 4);
        assert_true(!is_in_field(blocks[i]));
    }
    delete_all(blocks, LONGER);
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    delete_all(blocks, LONGER);
    for (unsigned i = 0; i < ALIKE; i++)
        delete_block(new_whole_block(LONG_ONE));
    void *block = new_whole_block(LONG_ONE);
    assert_true(!is_in_field(block));
    delete_block(block);
}

/* Nor where a ninth of the bytes or more are of blocks that are too long for fields; until that was long ago. */
static void large_longer_ones_beside_much_longer_ones_are_not_in_fields(void **state) {
    (void)state;
    void *blocks[LONGER];
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    delete_all(blocks, LONGER);
    void *much = new_block((size_t)1 << 32);
    assert_int_equal(new_mixed(blocks, LONGER), 0);
    delete_all(blocks, LONGER);
    for (unsigned i = 0; i < 8 * 64; i++)
        delete_block(new_whole_block(i % 2 ? LONG_ONE : SHORT_ONE));
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    delete_all(blocks, LONGER);
    delete_block(much);
}

/* That they are few has to be seen first, in 64 MiB; how many they were is bounded, whatever their lengths. */
static void large_longer_ones_are_watched_before_they_are_in_fields(void **state) {
    (void)state;
    void *blocks[LONGER];
    lengths.unfit.few = false;
    lengths.unfit.sum = 0;
    assert_int_equal(new_mixed(blocks, LONGER), 0);
    delete_all(blocks, LONGER);
    for (unsigned i = 0; i < LONGER; i++)
        delete_block(new_whole_block(LONGEST));
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    delete_all(blocks, LONGER);
    for (unsigned i = 0; i < 3; i++) {
        large_note_longer(LARGE_MOST, true);
        assert_true(i == 0 || lengths.unfit.sum == -(ptrdiff_t)(64 * MIB));
    }
}

/* Nor with less than is wanted for huge pages, nor where what is free may not rest. */
static void large_longer_ones_are_in_fields_where_the_options_say_so(void **state) {
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        void *blocks[LONGER];
        superslab_configure(keep ? 64 * MIB : 2 * MIB, true, false);
        large_keep_longer(keep);
        lengths.enough = false;
        assert_int_equal(new_mixed(blocks, LONGER), 0);
        delete_all(blocks, LONGER);
    }
    superslab_configure(2 * MIB, true, false);
}

/* What cannot be had counts as nothing. */
static void large_longer_ones_that_are_refused_do_not_count(void **state) {
    (void)state;
    void *blocks[LONGER];
    bool zeroed;
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    for (unsigned i = 0; i < 3; i++)
        assert_null(large_new(LARGE_MOST, UNIT_SIZE, &zeroed));
    void *block = new_whole_block(LONGEST);
    assert_true(is_in_field(block));
    delete_block(block);
    delete_all(blocks, LONGER);
}

/* Nor where as many grow, or are of a length that is not written whole. */
static void large_longer_ones_beside_others_that_grow_are_not_in_fields(void **state) {
    (void)state;
    void *blocks[LONGER];
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    unsigned inside = 0;
    huge_learn(NULL, LONG_ONE, PAGES_SPARSE);
    huge_watch(NULL, LONG_ONE);
    for (unsigned i = 0; i < LONGER; i++) {
        struct large *large = record_of(blocks[i]);
        if (i % 2 && large_is_in_field(large)) {
            assert_null(large_resize(large, large->bytes + MIB));
            assert_int_equal(huge_known(LONG_ONE), HUGE_SPARSE); /* what is in huge pages tells nothing */
        }
    }
    huge_learn(NULL, LONG_ONE, PAGES_DENSE);
    for (unsigned i = 0; i < LONGER; i++) {
        struct large *large = record_of(blocks[i]);
        bool in_field = large_is_in_field(large);
        void *grown = large_resize(large, large->bytes + MIB);
        assert_true(in_field ? grown == NULL : grown != NULL);
        blocks[i] = grown ? grown : blocks[i];
        inside += in_field;
    }
    assert_true(inside > 0);
    void *block = new_whole_block(LONG_ONE);
    assert_true(!is_in_field(block));
    delete_block(block);
    delete_all(blocks, LONGER);
}

static void large_longer_ones_beside_sparse_ones_are_not_in_fields(void **state) {
    (void)state;
    void *blocks[LONGER], *sparse[LONGER];
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    void *free = new_whole_block(LONG_ONE);
    assert_true(is_in_field(free));
    delete_block(free); /* that would be room */
    huge_learn(NULL, LONG_ONE, PAGES_SPARSE);
    huge_watch(NULL, LONG_ONE);
    for (unsigned i = 0; i < LONGER; i++) {
        sparse[i] = new_block(LONG_ONE);
        assert_true(!is_in_field(sparse[i]));
    }
    void *block = new_whole_block(SHORT_ONE); /* which still is known to be written whole */
    assert_true(!is_in_field(block));
    delete_block(block);
    delete_all(sparse, LONGER);
    delete_all(blocks, LONGER);
}

/* Nor those that grow or are aligned, as they would have to be copied; nor where none is to be kept when it is freed. */
static void large_longer_ones_that_grow_are_not_in_fields(void **state) {
    (void)state;
    void *blocks[LONGER];
    bool zeroed;
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    void *grown = new_to_grow(LONG_ONE, SHORT_ONE);
    assert_true(!is_in_field(grown));
    assert_true(record_of(grown)->given); /* a copy is there as a whole, and tells nothing */
    void *aligned = large_new(LONG_ONE, MIB, &zeroed);
    assert_true(!is_in_field(aligned));
    size_t limit = larges.cache_limit;
    larges.cache_limit = 0;
    void *uncached = new_whole_block(LONG_ONE);
    larges.cache_limit = limit;
    assert_true(!is_in_field(uncached));
    delete_block(uncached);
    delete_block(aligned);
    delete_block(grown);
    delete_all(blocks, LONGER);
}

/* Where fields and mappings drive each other out, longer ones are mappings for a while, and the next time for eight times as long. */
static void large_longer_ones_are_not_in_fields_after_an_exchange(void **state) {
    (void)state;
    void *blocks[LONGER], *block;
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    for (unsigned times = 1; times <= 8; times *= 8) {
        lengths.exchanged = 0;
        large_note_exchange(2 * (larges.live_peak + superslab_field_used()));
        assert_int_equal(lengths.closed, 0);
        large_note_exchange(UNIT_SIZE);
        assert_int_equal(lengths.closed, 1024 * times);
        large_note_exchange(1 << 30); /* what follows of that is no exchange */
        for (unsigned i = 0; i < 1024 * times; i++) {
            block = new_whole_block(i % 2 ? LONG_ONE : SHORT_ONE);
            assert_true(!is_in_field(block));
            delete_block(block);
        }
        block = new_whole_block(LONGEST);
        assert_true(is_in_field(block));
        delete_block(block);
    }
    delete_all(blocks, LONGER);
}

/* A field that came for them serves no run of which nobody knows that it is written whole. */
static void large_fields_of_longer_ones_are_not_for_runs(void **state) {
    (void)state;
    void *blocks[LONGER];
    dense_fake.large_is_dense = false;
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    delete_all(blocks, LONGER);
    assert_false(large_suits_field(512 * KIB, true));
    larges.runs_in_fields = true;
    assert_true(large_suits_field(512 * KIB, true));
    larges.runs_in_fields = false;
}

/* What came as a mapping before does not wait for another one then. */
static void large_longer_ones_take_the_place_of_mappings(void **state) {
    (void)state;
    void *blocks[LONGER], *waits = new_dense_block(LONGEST);
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    delete_all(blocks, LONGER);
    large_purge(0, ALWAYS);
    superslab_unmap_free();
    delete_block(waits);
    size_t held = limit.held, mapped = larges.mapped_bytes, exchanged = lengths.exchanged;
    void *block = new_whole_block(LONG_ONE);
    assert_true(is_in_field(block));
    assert_int_equal(larges.mapped_bytes, mapped - LONGEST);
    assert_true(limit.held <= held);
    assert_true(lengths.exchanged > exchanged); /* what was live lets some of it fade */
    delete_block(block);
    exchanged = lengths.exchanged;
    void *mapping = new_block(4 * LONGEST);
    assert_true(lengths.exchanged > exchanged);
    delete_block(mapping);
    check_held();
}

/* A probe has pages of its own, although what waits holds enough. */
static void large_longer_ones_are_probed_beside_what_waits(void **state) {
    (void)state;
    void *blocks[LONGER], *waits = new_dense_block(LONGEST);
    assert_in_range(new_mixed(blocks, LONGER), 1, LONGER);
    delete_block(waits);
    larges.live_peak = larges.live; /* more than that is too much: it would serve */
    come_to_probe(2 * MIB);
    bool zeroed;
    unsigned char *probe = large_new(2 * MIB, UNIT_SIZE, &zeroed);
    assert_non_null(probe);
    assert_true(zeroed && !is_in_field(probe) && !record_of(probe)->given);
    enum pages_density density;
    assert_int_equal(pages_resident(probe, 2 * MIB, &density), 0);
    delete_block(probe);
    delete_all(blocks, LONGER);
}

/* Each HUGE_PROBE-th that brings new memory is in small pages (huge P2). */
static void large_longer_ones_are_probed(void **state) {
    (void)state;
    enum { BLOCKS = 2 * HUGE_PROBE };
    void *blocks[LONGER], *more[BLOCKS];
    skip_without_huge_pages();
    new_mixed(blocks, LONGER);
    unsigned probes = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        more[i] = new_whole_block(2 * MIB);
        probes += !is_in_field(more[i]);
        assert_true(is_in_field(more[i]) || !record_of(more[i])->huge);
    }
    assert_in_range(probes, 1, 3);
    delete_all(more, BLOCKS);
    delete_all(blocks, LONGER);
}

/* ---- mappings of whole huge pages ---- */

/* Nothing waits, and there is room for few. */
static void begin_anew(void) {
    large_purge(0, ALWAYS);
    larges.live_peak = 12 * MIB;
}

/* Few blocks of many lengths, all of which are known to be written whole. */
static int begin_solid(void **state) {
    begin_longer(state);
    lengths.runs = lengths.unfit;
    begin_anew();
    return 0;
}

static int end_solid(void **state) {
    kernel_reset(state);
    large_gather_now();
    assert_int_equal(lengths.rounding, 0);
    assert_int_equal(larges.held, 0);
    assert_int_equal(larges.slack, 0);
    return end_longer(state);
}

/* The record of a live block in a mapping of whole huge pages. */
static struct large *solid_of(void *block) {
    struct large *large = record_of(block);
    assert_true(large->solid && large->huge && !large->home);
    assert_int_equal((uintptr_t)large->start % HUGE_LEAST, 0);
    assert_int_equal(large->extent % HUGE_LEAST, 0);
    return large;
}

/* The next one is no probe: whose turn it is depends on all tests before. */
static void skip_probe(size_t size) {
    if (huge_probe_is_due(size))
        assert_false(huge_wants(size));
}

static void *new_solid(size_t size) {
    skip_probe(size);
    void *block = new_whole_block(size);
    solid_of(block);
    return block;
}

/* What comes from here on is, or is not, as if lengths knew nothing. */
static void suit_solid(bool suit) {
    lengths.enough = !suit;
    lengths.unfit.few = lengths.runs.few = lengths.mixed = true;
    lengths.seen = lengths.others = 8;
    lengths.closed = 0;
    large_keep_longer(suit);
}

static void *new_solid_anyway(size_t size) {
    suit_solid(true);
    larges.live_peak = 12 * MIB;
    void *block = new_solid(size);
    suit_solid(false);
    return block;
}

/* A mapping of its own length waits. */
static void wait_ordinary(size_t bytes) {
    suit_solid(false);
    void *block = new_dense_block(bytes);
    assert_true(!record_of(block)->solid && record_of(block)->extent == bytes);
    delete_block(block);
    large_gather_now();
    suit_solid(true);
}

static void large_few_of_many_lengths_are_solid(void **state) {
    (void)state;
    bool zeroed;
    skip_probe(SHORT_ONE);
    void *block = large_new(SHORT_ONE, UNIT_SIZE, &zeroed), *longer = new_solid(LONG_ONE);
    assert_true(zeroed && solid_of(block));
    assert_int_equal(record_of(block)->extent, HUGE_LEAST);
    assert_int_equal(record_of(longer)->extent, 2 * HUGE_LEAST);
    assert_int_equal(larges.live, SHORT_ONE + LONG_ONE);
    assert_int_equal(larges.held, 3 * HUGE_LEAST); /* nobody gets the rest of them */
    assert_int_equal(lengths.rounding, 3 * HUGE_LEAST - larges.live);
    assert_int_equal(larges.slack, 0);
    size_t mapped = larges.mapped_bytes;
    unsigned maps = kernel.map.count;
    for (size_t size = LARGE_RUN_MOST + UNIT_SIZE; size <= 2 * HUGE_LEAST; size += 5 * UNIT_SIZE) {
        delete_block(longer);
        assert_ptr_equal(large_new(size, UNIT_SIZE, &zeroed), longer);
        assert_false(zeroed);
        solid_of(longer);
        check_held();
    }
    assert_int_equal(kernel.map.count, maps);
    assert_int_equal(larges.mapped_bytes, mapped);
    delete_block(longer);
    delete_block(block);
}

/* What it holds beyond the huge pages that the block needs is slack; that goes by huge pages. */
static void large_solid_slack_goes_by_huge_pages(void **state) {
    (void)state;
    delete_block(new_solid(6 * MIB));
    large_gather_now();
    void *block = new_solid(SHORT_ONE);
    struct large *large = record_of(block);
    assert_int_equal(large->extent, 3 * HUGE_LEAST);
    assert_int_equal(larges.slack, 2 * HUGE_LEAST);
    assert_int_equal(larges.held, HUGE_LEAST);
    large_have_record();
    struct large *rest = large_give_up_slack();
    assert_int_equal(large->extent, HUGE_LEAST);
    assert_true(rest->solid && rest->extent == 2 * HUGE_LEAST && rest->start == large->start + HUGE_LEAST);
    solid_of(block);
    assert_int_equal(larges.slack, 0);
    large_settle(rest);
    void *next = new_solid(LONG_ONE);
    assert_ptr_equal(next, (unsigned char *)block + HUGE_LEAST);
    delete_block(next);
    delete_block(block);
}

/* Neither what waits nor the slack of what lives gives pages to others, and nothing grows into it or is stretched out of it. */
static void large_solid_is_not_torn(void **state) {
    (void)state;
    void *waits = new_solid(4 * MIB), *lends = new_solid(6 * MIB);
    delete_block(lends);
    large_gather_now();
    lends = new_solid(SHORT_ONE);
    delete_block(waits);
    large_gather_now();
    suit_solid(false);           /* others come, which would take pages from either */
    larges.live_peak = 19 * MIB; /* less than all that is held, but not so much less that something goes */
    unsigned remaps = kernel.remap.count;
    void *block = new_whole_block(7 * MIB), *another = new_whole_block(5 * MIB);
    assert_int_equal(kernel.remap.count, remaps);
    assert_int_equal(solid_of(lends)->extent, 3 * HUGE_LEAST);
    delete_block(another);
    delete_block(block);
    delete_block(lends);
    large_purge(0, ALWAYS);
    waits = new_solid_anyway(4 * MIB);
    block = new_dense_block(6 * MIB);
    delete_block(waits);
    delete_block(block);
    large_gather_now();
    remaps = kernel.remap.count;
    block = new_whole_block(LONGEST); /* the longest is stretched: its last pages are new */
    assert_in_range(kernel.remap.count - remaps, 1, 2);
    assert_int_equal(larges.waiting, 1);
    assert_true(large_cache[0]->solid && large_cache[0]->extent == 4 * MIB);
    delete_block(block);
}

/* As the longest are, with room for them. */
static void large_longest_may_be_solid(void **state) {
    (void)state;
    larges.live_peak = 4 * LARGE_FIELD_MOST;
    void *block = new_solid(LARGE_FIELD_MOST), *longer = new_whole_block(LARGE_FIELD_MOST + UNIT_SIZE);
    assert_false(record_of(longer)->solid);
    delete_block(block);
    delete_block(longer);
    suit_solid(true);
    assert_ptr_equal(new_block(SHORT_ONE), block); /* it waited, and serves what is shorter */
    delete_block(block);
}

static void large_nothing_grows_into_solid(void **state) {
    (void)state;
    void *waits = new_solid(6 * MIB);
    suit_solid(false);
    unsigned char *block = new_whole_block(LONG_ONE);
    delete_block(waits);
    large_gather_now();
    struct large *large = record_of(block);
    unsigned char *grown = large_resize(large, 5 * MIB);
    assert_ptr_not_equal(grown, waits);
    assert_int_equal(large->solid, false);
    delete_block(grown ? grown : block);
}

/* What is in the way goes: a mapping that is not of whole huge pages, and long enough. Shorter and much longer ones stay. */
static void large_solid_takes_the_place_of_what_waits(void **state) {
    (void)state;
    wait_ordinary(3 * MIB);
    size_t mapped = larges.mapped_bytes;
    void *block = new_solid(2 * MIB + UNIT_SIZE);
    assert_int_equal(larges.mapped_bytes, mapped - 3 * MIB + 2 * HUGE_LEAST);
    wait_ordinary(MIB + 5 * UNIT_SIZE);
    huge_learn(NULL, LARGE_FIELD_MOST + MIB,
               PAGES_SPARSE); /* else it would be of huge pages, too, and go whole */
    wait_ordinary(LARGE_FIELD_MOST + MIB);
    unsigned waiting = larges.waiting;
    void *longer = new_solid(3 * MIB);
    assert_int_equal(larges.waiting, waiting);
    delete_block(longer);
    delete_block(block);
}

/* One call makes so many go, and no more. */
static void large_solid_makes_few_go_at_once(void **state) {
    (void)state;
    enum { MANY = 2 * LARGE_GIVE_UP + 8 };
    void *blocks[MANY];
    large_configure(128 * MIB);
    suit_solid(false);
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = new_dense_block(5 * MIB / 4);
    delete_all(blocks, MANY);
    large_gather_now();
    assert_int_equal(larges.waiting, MANY);
    suit_solid(true);
    unsigned unmaps = kernel.unmap.count;
    void *block = new_solid(5 * MIB / 4);
    assert_int_equal(kernel.unmap.count - unmaps, 2 * LARGE_GIVE_UP);
    large_configure(CACHE);
    delete_block(block);
}

/* Only as much as all that lives and waits may hold. */
static void large_solid_has_its_bounds(void **state) {
    (void)state;
    larges.live_peak = 4 * MIB; /* so that 4.75 may be held */
    void *first = new_solid(SHORT_ONE);
    uint32_t tightness = lengths.tightness;
    void *block = new_whole_block(2 * MIB + UNIT_SIZE);
    assert_false(record_of(block)->solid);
    assert_true(lengths.tightness > tightness + 2 * 62); /* there was no room, and it would hold too much */
    delete_block(block);
    delete_block(first);
    begin_anew();
    void *lends = new_solid(LONGEST);
    delete_block(lends);
    large_gather_now();
    lends = new_solid(SHORT_ONE); /* and its slack: 6 MiB more */
    block = new_solid(LONG_ONE);
    larges.live_peak = 13 * MIB; /* so that 15.4 may: the slack goes */
    void *last = new_solid(LONG_ONE);
    assert_int_equal(record_of(lends)->extent, HUGE_LEAST);
    delete_block(last);
    delete_block(block);
    delete_block(lends);
}

static void large_shrunken_solid_keeps_whole_huge_pages(void **state) {
    (void)state;
    void *block = new_solid(7 * MIB);
    struct large *large = record_of(block);
    assert_ptr_equal(large_resize(large, 5 * MIB / 2), block);
    solid_of(block);
    assert_int_equal(larges.held, 2 * HUGE_LEAST);
    assert_int_equal(lengths.rounding, 2 * HUGE_LEAST - 5 * MIB / 2);
    larges.cache_limit = 0; /* nothing may wait */
    assert_ptr_equal(large_resize(large, 5 * MIB / 4), block);
    larges.cache_limit = CACHE;
    assert_int_equal(solid_of(block)->extent, HUGE_LEAST);
    assert_int_equal(larges.held, HUGE_LEAST);
    delete_block(block);
}

/* And nothing else that grows counts against it. */
static void large_grown_solid_is_none(void **state) {
    (void)state;
    ptrdiff_t sum = lengths.unfit.sum;
    large_note_growth(LARGE_RUN_MOST);
    large_note_growth(LARGE_FIELD_MOST + UNIT_SIZE);
    assert_int_equal(lengths.unfit.sum, sum);
    void *block = new_solid(SHORT_ONE);
    struct large *large = record_of(block);
    assert_ptr_equal(large_resize(large, 2 * MIB), block); /* there is room */
    solid_of(block);
    void *grown = large_resize(large, 5 * MIB + UNIT_SIZE);
    assert_non_null(grown);
    assert_false(large->solid);
    assert_int_equal(larges.held, large->bytes);
    delete_block(grown);
    begin_anew();
    suit_solid(true);
    block = new_solid(LONGEST);
    large = record_of(block);
    grown = large_resize(large, LARGE_FIELD_MOST + HUGE_LEAST); /* too long to serve those that are */
    assert_non_null(grown);
    assert_int_equal(large->extent % HUGE_LEAST, 0);
    assert_false(large->solid);
    delete_block(grown);
    check_held();
}

/* Each so many-th new one is in small pages, of its own length, and tells (huge P2). */
static void large_solid_ones_are_probed(void **state) {
    (void)state;
    unsigned probes = 0;
    come_to_probe(SHORT_ONE);
    for (unsigned i = 0; i < 2; i++) {
        void *block = new_whole_block(SHORT_ONE);
        struct large *large = record_of(block);
        probes += !large->solid;
        assert_int_equal(large->extent, large->solid ? HUGE_LEAST : SHORT_ONE);
        assert_true(large->solid || large_tells(large, large->extent));
        delete_block(block);
        large_purge(0, ALWAYS);
    }
    assert_int_equal(probes, 1);
}

/* Who asks for another alignment, or for what grows, or whose blocks are not written whole, or may have no huge pages, gets none. */
static void large_others_are_not_solid(void **state) {
    (void)state;
    bool zeroed;
    delete_block(new_solid(4 * MIB));
    large_gather_now();
    void *aligned = large_new(LONG_ONE, 2 * UNIT_SIZE, &zeroed);
    assert_false(record_of(aligned)->solid);
    large_purge(0, ALWAYS);
    void *grown = new_to_grow(LONG_ONE, SHORT_ONE);
    assert_false(record_of(grown)->solid);
    delete_block(grown);
    delete_block(aligned);
    begin_anew();
    huge_configure(false);
    void *block = new_whole_block(LONG_ONE);
    huge_configure(true);
    assert_false(record_of(block)->solid);
    delete_block(block);
    large_purge(0, ALWAYS);
    huge_learn(NULL, LONG_ONE, PAGES_SPARSE);
    block = new_whole_block(LONG_ONE);
    assert_false(record_of(block)->solid);
    delete_block(block);
}

/* Where huge pages may not be had what waits, and is as long, serves as ever. */
static void large_without_huge_pages_what_waits_serves(void **state) {
    (void)state;
    for (unsigned why = 0; why < 4; why++) {
        wait_ordinary(LONG_ONE);
        unsigned unmaps = kernel.unmap.count;
        huge_configure(why != 0);
        limit.tight = why == 1;
        limit.count_at = why == 1 ? UINT64_MAX : 0;
        larges.cache_limit = why == 2 ? 0 : CACHE;
        if (why == 3)
            limit_configure(SIZE_MAX - 1, limit.held, 0);
        void *block = new_block(LONG_ONE);
        assert_int_equal(kernel.unmap.count, unmaps);
        huge_configure(true);
        limit.tight = false;
        limit.count_at = 0;
        larges.cache_limit = CACHE;
        limit_configure(SIZE_MAX - 1, 0, 0);
        delete_block(block);
        begin_anew();
    }
}

/* What has to move, also where there is no room for a second mapping beside it, is where it came to lie. */
static void large_solid_that_moves_is_none(void **state) {
    (void)state;
    for (unsigned away = 0; away < 2; away++) {
        suit_solid(true);
        unsigned char *block = new_solid(LONG_ONE);
        struct large *large = record_of(block);
        void *behind = os_map(UNIT_SIZE, block + large->extent); /* so that it cannot grow where it is */
        kernel.map.refuse = away ? ALWAYS : 0;
        unsigned char *grown = large_resize(large, 6 * MIB);
        kernel.map.refuse = 0;
        assert_true(grown && grown != block);
        assert_int_equal(large->extent, 6 * MIB);
        assert_false(large->solid);
        assert_int_equal(larges.held, 6 * MIB);
        delete_block(grown);
        os_unmap(behind, UNIT_SIZE);
        begin_anew();
    }
}

/* Runs that may lie in fields are lengths, too, wherever they come to lie. */
static void large_runs_are_lengths(void **state) {
    (void)state;
    uint32_t seen = lengths.seen;
    superslab_configure(SIZE_MAX / 2, true, false);
    void *block = new_block(512 * KIB);
    assert_false(is_in_field(block));
    assert_int_equal(lengths.seen, seen + 1);
    superslab_configure(2 * MIB, true, false);
    void *blocks[LONGER];
    unsigned inside = 0;
    for (unsigned i = 0; i < LONGER; i++) {
        blocks[i] = new_dense_block(512 * KIB);
        inside += is_in_field(blocks[i]);
    }
    assert_in_range(inside, 1, LONGER);
    assert_int_equal(lengths.seen, seen + 1 + LONGER);
    delete_all(blocks, LONGER);
    delete_block(block);
}

/* What is rounded up is nobody's, and does not go where memory ends: a limit has room for that. */
static void large_near_the_hard_limit_nothing_is_solid(void **state) {
    (void)state;
    limit_configure(2 * larges.live_peak - 1, 0, 0);
    void *block = new_whole_block(SHORT_ONE);
    assert_false(record_of(block)->solid);
    delete_block(block);
    limit_configure(2 * larges.live_peak, 0, 0);
    delete_block(new_solid(SHORT_ONE));
    limit_configure(SIZE_MAX - 1, 0, 0);
}

/* Half of it and less is copied, as ever. */
static void large_solid_that_shrinks_to_a_run_is_copied(void **state) {
    (void)state;
    void *block = new_solid(2 * MIB);
    struct large *large = record_of(block);
    assert_null(large_resize(large, MIB));
    assert_ptr_equal(large_resize(large, 5 * MIB / 4), block);
    assert_int_equal(large->bytes, 5 * MIB / 4);
    assert_int_equal(solid_of(block)->extent, HUGE_LEAST);
    delete_block(block);
}

/* Not where the process was told to have none. */
static void large_without_huge_pages_nothing_is_solid(void **state) {
    (void)state;
    assert_int_equal(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
    void *block = new_whole_block(LONG_ONE);
    assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
    assert_false(record_of(block)->solid);
    assert_in_range(lengths.closed, LENGTHS_CLOSED - 1, LENGTHS_CLOSED);
    delete_block(block);
}

/* Not again and again. */
static void large_solid_ends_where_the_kernel_refuses(void **state) {
    (void)state;
    kernel.advise.refuse = ALWAYS;
    void *block = new_whole_block(LONG_ONE);
    kernel.advise.refuse = 0;
    assert_false(record_of(block)->solid);
    assert_in_range(lengths.closed, LENGTHS_CLOSED - 1, LENGTHS_CLOSED);
    delete_block(block);
    begin_anew();
    block = new_whole_block(SHORT_ONE);
    assert_false(record_of(block)->solid);
    delete_block(block);
}

static void large_solid_that_is_refused_is_another(void **state) {
    (void)state;
    kernel.largest_map = SHORT_ONE;
    void *block = new_whole_block(SHORT_ONE);
    kernel.largest_map = 0;
    assert_false(record_of(block)->solid);
    delete_block(block);
}

/* Where each has what it holds counted once, however it comes and goes. */
static void large_solid_counts_come_out(void **state) {
    (void)state;
    enum { SLOTS = 5 };
    void *blocks[SLOTS] = {0};
    unsigned solid = 0;
    uint64_t seed = 1;
    for (unsigned i = 0; i < 3000; i++) {
        void **slot = &blocks[random_below(&seed, SLOTS)];
        size_t size = random_below(&seed, 8) == 0 ? 512 * KIB : MIB + random_below(&seed, 3 * MIB);
        if (*slot && random_below(&seed, 4) == 0) {
            void *moved = large_resize(record_of(*slot), size);
            *slot = moved ? moved : *slot;
        } else {
            if (*slot)
                delete_block(*slot);
            *slot = new_whole_block(size);
        }
        suit_solid(true); /* whatever grows */
        solid += *slot && record_of(*slot)->solid;
        if (i % 64 == 0)
            check_cache();
        size_t rounding = 0, held = 0;
        for (unsigned k = 0; k < SLOTS; k++) {
            const struct large *large = blocks[k] ? record_of(blocks[k]) : NULL;
            bool counts = large && lengths_is_counted(large->bytes) && !large->home;
            rounding += counts ? align_up(large->bytes, HUGE_LEAST) - large->bytes : 0;
            held += large && !large_is_in_field(large) ? large_weight(large) : 0;
            assert_true(!large || !large->solid || large->extent % HUGE_LEAST == 0);
        }
        assert_int_equal(lengths.rounding, rounding);
        assert_in_range(larges.held, held, held + larges.recent.bytes);
    }
    assert_in_range(solid, 500, 3000);
    for (unsigned k = 0; k < SLOTS; k++)
        if (blocks[k])
            delete_block(blocks[k]);
    large_gather_now();
}

/* Where there is no memory for a field, nor for a probe, what waits serves, and does not read as zero. */
static void large_where_no_field_can_be_had_is_not_zeroed(void **state) {
    (void)state;
    enum { MOST = 64, TRIES = 2 * DENSE_WATCHES };
    unsigned char *blocks[MOST];
    unsigned count = 0;
    dense_fake.large_is_dense = false;
    do
        blocks[count++] = new_dense_block(512 * KIB);
    while (count < MOST && (count < 4 || superslab_free_bytes() - spare_run_bytes() >= 448 * KIB));
    assert_in_range(count, 4, MOST - 1);
    dense_fake.large_is_dense = true;
    kernel.map.refuse = ALWAYS;
    for (unsigned i = 0; i < TRIES; i++) {
        delete_block(blocks[0]);
        large_gather_now(); /* it waits, where one that is nearly as long finds it */
        superslabs.no_more_fields = false;
        bool zeroed = true;
        unsigned char *block =
            large_new(448 * KIB, UNIT_SIZE, &zeroed); /* of a length of which none is at hand */
        assert_ptr_equal(block, blocks[0]);
        assert_false(zeroed);
        assert_int_equal(block[0], 0xa5);
        assert_true(superslabs.no_more_fields || dense_fake.probes == 0);
    }
    kernel.map.refuse = 0;
    while (count > 0)
        delete_block(blocks[--count]);
}

/* A block that grows is copied where a warm one waits that has room for it, up to twice as long; else its pages move. */
static void large_growing_is_copied_into_what_is_warm(void **state) {
    (void)state;
    static const struct {
        size_t waits, touched, from, size;
        bool copied;
    } asked[] = {
        {512 * KIB, 512 * KIB, 192 * KIB, 256 * KIB, true},
        {576 * KIB, 576 * KIB, 192 * KIB, 256 * KIB, false}, /* too long */
        {512 * KIB, 192 * KIB, 192 * KIB, 320 * KIB, false}, /* too cold */
        {512 * KIB, 512 * KIB, 128 * KIB, 192 * KIB, true},
        {2 * MIB, 2 * MIB, MIB + MIB / 2, 2 * MIB, true},
        {4 * MIB, 4 * MIB, 3 * MIB, 4 * MIB, true},
        {5 * MIB, 5 * MIB, 3 * MIB, 5 * MIB, false}, /* that would take long */
    };
    for (size_t i = 0; i < ARRAY_LENGTH(asked); i++) {
        unsigned char *wall[3], *waits = new_block(asked[i].waits), *block = new_block(asked[i].from), *grown;
        for (size_t j = 0; j < ARRAY_LENGTH(wall); j++)
            wall[j] = new_block(UNIT_SIZE); /* so that a run cannot grow where it stands */
        check_held();
        memset(waits, 1, asked[i].touched);
        delete_block(waits);
        grown = large_resize(record_of(block), asked[i].size);
        assert_int_equal(grown == NULL, asked[i].copied);
        if (asked[i].copied) {
            grown = new_to_grow(asked[i].size, asked[i].from);
            assert_int_equal(grown == waits, asked[i].from > LARGE_COPY_MOST);
            delete_block(block);
        }
        delete_block(grown);
        for (size_t j = 0; j < ARRAY_LENGTH(wall); j++)
            delete_block(wall[j]);
        large_purge(0, ALWAYS);
        superslab_purge(0, ALWAYS);
    }
}

/* A mapping that shrinks keeps the rest as slack while there is room for that among what waits, and nothing above. */
static void large_shrinks_into_slack(void **state) {
    (void)state;
    unsigned char *block = new_block(10 * MIB);
    kernel.unmap.count = 0;
    assert_ptr_equal(large_resize(record_of(block), 6 * MIB), block);
    assert_int_equal(kernel.unmap.count, 0);
    assert_int_equal(larges.slack, 4 * MIB);
    assert_int_equal(record_of(block)->extent, 10 * MIB);
    assert_ptr_equal(large_resize(record_of(block), 8 * MIB), block);
    assert_int_equal(larges.slack, 2 * MIB);
    large_configure(4 * MIB);
    assert_ptr_equal(large_resize(record_of(block), 5 * MIB), block);
    assert_int_equal(record_of(block)->extent, 5 * MIB);
    assert_int_equal(larges.slack, 0);
    assert_int_equal(large_mapped_bytes(), 5 * MIB);
    delete_block(block);
    large_purge(0, ALWAYS);
    large_configure(CACHE);
    block = new_block(3 * MIB);
    assert_ptr_equal(large_resize(record_of(block), 3 * MIB - 512 * KIB), block);
    assert_int_equal(record_of(block)->extent, 3 * MIB - 512 * KIB); /* so little would not count */
    delete_block(block);
}

/* A block that cannot be resized keeps its slack, and that can still be taken. With no record at hand, too. */
static void large_slack_outlives_a_refusal(void **state) {
    (void)state;
    delete_block(new_dense_block(16 * MIB));
    void *block = new_block(2 * MIB);
    assert_int_equal(larges.slack, 14 * MIB);
    assert_null(large_resize(record_of(block), (size_t)1 << 47));
    assert_int_equal(larges.slack, 14 * MIB);
    struct large *unused = larges.unused;
    larges.unused = NULL;
    assert_int_equal(large_purge(0, ALWAYS), 14 * MIB);
    assert_int_equal(larges.slack, 0);
    for (struct large *record; (record = large_pop(&unused)) != NULL;)
        large_push(&larges.unused, record);
    delete_block(block);
    check_cache();
}

static void purge_meanwhile(void *start, size_t bytes) {
    (void)start;
    (void)bytes;
    kernel.before_remap = NULL;
    large_purge(0, ALWAYS);
}

/* A block that grows is more that lives: what waits beside it makes way at once. */
static void large_what_waits_makes_way_for_one_that_grows(void **state) {
    (void)state;
    void *block = new_block(MIB);
    four_wait(true);
    block = large_resize(record_of(block), 14 * MIB);
    assert_non_null(block);
    assert_int_equal(large_overhang(0), 0);
    delete_block(block);
    check_cache();
}

/* Nobody takes the slack of a block that is just about to grow. */
static void large_slack_is_not_taken_from_one_that_grows(void **state) {
    (void)state;
    delete_block(new_dense_block(16 * MIB));
    unsigned char *block = new_block(2 * MIB);
    assert_int_equal(larges.slack, 14 * MIB);
    kernel.before_remap = purge_meanwhile;
    kernel.unmap.count = 0;
    block = large_resize(record_of(block), 20 * MIB);
    assert_non_null(block);
    assert_null(kernel.before_remap);
    assert_int_equal(kernel.unmap.count, 0);
    assert_int_equal(large_mapped_bytes(), 20 * MIB);
    assert_int_equal(block[0], 0xa5);
    block[20 * MIB - 1] = 1;
    delete_block(block);
    check_cache();
}

/* Only the first unit of a mapping is entered, and a part that is cut off begins anywhere: also where no mapping ever has. */
static void large_part_that_is_cut_off_has_a_place_in_the_pagemap(void **state) {
    (void)state;
    enum { MOST = 400, CHUNK_SHIFT = 26 };
    const size_t size = 3 * MIB + 3 * MIB / 4;
    unsigned char *blocks[MOST], *last = NULL;
    unsigned count = 0;
    delete_block(new_block(100 * KIB));
    large_purge(0, ALWAYS); /* its record is at hand */
    while (count < MOST &&
           (!last || (uintptr_t)last >> CHUNK_SHIFT == (uintptr_t)(last + 2 * MIB) >> CHUNK_SHIFT))
        last = blocks[count++] = new_block(size);
    assert_true(count < MOST);
    for (unsigned i = 0; i < count; i++)
        delete_block(blocks[i]);
    large_configure(MIB);
    larges.live_peak = 0; /* more is mapped than may be */
    unsigned char *first = new_block(2 * MIB);
    assert_ptr_equal(first, last);
    favour_take(&larges.lock);
    struct large *rest = large_give_up_slack();
    assert_true(rest && rest->start == last + 2 * MIB);
    large_wait(rest);
    favour_release(&larges.lock);
    unsigned char *second = new_block(size - 2 * MIB);
    assert_ptr_equal(second, last + 2 * MIB);
    delete_block(first);
    delete_block(second);
    check_cache();
}

/* What a longer block lends counts as held: when more becomes live than fits beside it, that gets its pages before anybody
 * looks, and the rest waits. */
static void large_slack_makes_way(void **state) {
    (void)state;
    delete_block(new_dense_block(16 * MIB));
    void *block = new_block(2 * MIB);
    assert_int_equal(larges.slack, 14 * MIB);
    void *more = new_block(4 * MIB);
    assert_int_equal(larges.slack, 0);
    assert_int_equal(large_mapped_bytes(), 16 * MIB);
    assert_int_equal(spare_mapping_bytes(), 10 * MIB);
    delete_block(block);
    delete_block(more);
    check_cache();
}

/* Where all are shorter, the longest is stretched, and gets the pages of others: only what is still missing is faulted. */
static void large_shorter_block_is_stretched(void **state) {
    (void)state;
    unsigned char *first = new_dense_block(6 * MIB), *other = new_dense_block(5 * MIB);
    void *live = new_block(20 * MIB);
    void *wall = os_map(UNIT_SIZE, first + 6 * MIB); /* or something else that is there */
    delete_block(other);
    delete_block(first);
    bool zeroed;
    unsigned char *block = large_new(16 * MIB, UNIT_SIZE, &zeroed);
    assert_non_null(block);
    assert_false(zeroed);
    assert_int_equal(record_of(block)->extent, 16 * MIB);
    assert_int_equal(block[6 * MIB - 1], 0xa5);
    assert_int_equal(block[6 * MIB], 0);
    assert_int_equal(block[11 * MIB - 1], 0);
    assert_int_equal(block[11 * MIB], 0xa5);
    assert_int_equal(large_mapped_bytes(), (20 + 16) * MIB);
    delete_block(block);
    delete_block(live);
    check_cache();
    assert_true(os_unmap(wall, UNIT_SIZE));
}

/* A stretch that the kernel or the limit refuses leaves what waits as it was. */
static void large_stretch_that_is_refused_changes_nothing(void **state) {
    (void)state;
    void *live = new_block(20 * MIB);
    delete_block(new_dense_block(6 * MIB));
    kernel.remap.refuse = ALWAYS;
    void *block = new_block(16 * MIB);
    assert_int_equal(large_mapped_bytes(), (20 + 16 + 6) * MIB);
    check_cache();
    kernel.remap.refuse = 0;
    limit.hard = limit.held + MIB;
    bool zeroed;
    assert_null(large_new(17 * MIB, UNIT_SIZE, &zeroed));
    limit.hard = SIZE_MAX - 1;
    check_cache();
    delete_block(block);
    delete_block(live);
}

/* A block that grows moves into what waits, keeps its content and has the rest as slack; that can be taken back. */
static void large_grows_into_what_waits(void **state) {
    (void)state;
    void *first = new_dense_block(16 * MIB);
    unsigned char *block = new_block(2 * MIB);
    delete_block(first);
    kernel.map.count = 0;
    assert_ptr_equal(large_resize(record_of(block), 3 * MIB), first);
    block = first;
    assert_int_equal(record_of(block)->extent, 16 * MIB);
    assert_int_equal(record_of(block)->bytes, 3 * MIB);
    assert_int_equal(larges.slack, 13 * MIB);
    assert_int_equal(block[MIB], 0xa5);
    assert_int_equal(large_mapped_bytes(), 16 * MIB);
    kernel.remap.count = 0;
    assert_ptr_equal(large_resize(record_of(block), 10 * MIB), block);
    assert_int_equal(kernel.remap.count + kernel.map.count, 0);
    assert_int_equal(large_purge(0, ALWAYS), 6 * MIB);
    assert_int_equal(record_of(block)->extent, 10 * MIB);
    assert_int_equal(large_mapped_bytes(), 10 * MIB);
    delete_block(block);
}

static void refuse_third(void *start, size_t bytes) {
    (void)start;
    (void)bytes;
    if (kernel.remap.count == 2)
        kernel.remap.refuse = 1;
}

/* A block of two areas: the kernel moves only one at a time. */
static void large_of_two_areas_grows(void **state) {
    (void)state;
    for (int refuse = 0; refuse < 2; refuse++) {
        void *first = new_dense_block(8 * MIB);
        unsigned char *block = new_block(2 * MIB);
        delete_block(first);
        block = large_resize(record_of(block), 8 * MIB);
        assert_ptr_equal(block, first);
        assert_int_equal(seams_last(&record_of(block)->seams), 2 * MIB);
        block[5 * MIB] = 0x33;
        unsigned char *old = block;
        kernel.remap = (struct kernel_call){0, 1}; /* not in place */
        kernel.before_remap = refuse ? refuse_third : NULL;
        kernel.unmap.count = 0;
        block = large_resize(record_of(block), 20 * MIB);
        kernel.before_remap = NULL;
        assert_int_equal(kernel.unmap.count, refuse); /* what had to be copied goes home */
        assert_non_null(block);
        assert_ptr_not_equal(block, old);
        assert_int_equal(kernel.remap.count, 3);
        assert_int_equal(block[0], 0xa5);
        assert_int_equal(block[5 * MIB], 0x33);
        block[20 * MIB - 1] = 1;
        delete_block(block);
        large_purge(0, ALWAYS);
        assert_int_equal(large_mapped_bytes(), 0);
    }
}

/* However often a block moves on to a longer mapping: it stays one area, which all kernels move and grow at once. */
static void large_moves_again_and_again(void **state) {
    (void)state;
    unsigned char *block = new_block(2 * MIB);
    for (size_t size = 2 * MIB, moves = 0; moves < 4; size += MIB + UNIT_SIZE, moves++) {
        unsigned char *old = block;
        uint64_t failed = atomic_load(&os_counts.remap_failed);
        block[size - 1] = (unsigned char)moves;
        kernel.remap = (struct kernel_call){0, 1}; /* not in place */
        block = large_resize(record_of(block), size + MIB + UNIT_SIZE);
        assert_non_null(block);
        assert_ptr_not_equal(block, old);
        assert_int_equal(kernel.remap.count, 2);
        assert_int_equal(seams_count(&record_of(block)->seams), 0);
        assert_int_equal(atomic_load(&os_counts.remap_failed) - failed, 1);
        assert_int_equal(block[0], 0xa5);
        assert_int_equal(block[size - 1], moves);
    }
    delete_block(block);
    large_purge(0, ALWAYS);
    assert_int_equal(large_mapped_bytes(), 0);
}

/* A run that cannot grow where it stands goes out to a mapping, and leaves its units empty. */
static void large_run_moves_out(void **state) {
    (void)state;
    unsigned char *run = new_block(500 * KIB), *neighbour = new_block(64 * KIB);
    run[300 * KIB] = 0x77;
    size_t free_bytes = superslab_free_bytes(), dirty = superslab_dirty_bytes();
    unsigned char *block = large_resize(record_of(run), MIB + MIB / 2);
    assert_non_null(block);
    assert_null(record_of(block)->home);
    for (size_t i = 0; i < 512 * KIB; i += UNIT_SIZE)
        assert_int_equal(pagemap_tag(run + i), PAGEMAP_NONE);
    assert_int_equal(block[0], 0xa5);
    assert_int_equal(block[300 * KIB], 0x77);
    assert_int_equal(superslab_free_bytes() - free_bytes, 512 * KIB);
    assert_int_equal(superslab_dirty_bytes(), dirty);
    for (size_t i = 0; i < 512 * KIB; i += KIB)
        assert_int_equal(run[i], 0);
    delete_block(neighbour);
    delete_block(block);
    run = new_block(60 * KIB);
    assert_null(large_resize(record_of(run), 2 * MIB)); /* cheaper to copy */
    delete_block(run);
}

static void large_run_that_cannot_move_out_stays(void **state) {
    (void)state;
    unsigned char *run = new_block(500 * KIB);
    kernel.remap.refuse = ALWAYS;
    assert_null(large_resize(record_of(run), 2 * MIB));
    kernel.map.refuse = ALWAYS;
    assert_null(large_resize(record_of(run), 2 * MIB));
    assert_int_equal(run[0], 0xa5);
    assert_int_equal(record_of(run)->bytes, 512 * KIB);
    kernel_reset(state);
    delete_block(run);
    assert_int_equal(large_mapped_bytes(), 0);
}

static void large_P3_what_cannot_be_unmapped_is_used_again(void **state) {
    (void)state;
    bool zeroed;
    large_configure(0);
    void *block = new_block(5 * MIB);
    size_t mapped = large_mapped_bytes();
    kernel.unmap.refuse = 1;
    delete_block(block);
    assert_int_equal(large_mapped_bytes(), mapped);
    assert_int_equal(length_of(larges.stuck), 1);
    assert_int_equal(((unsigned char *)block)[0], 0); /* its pages went home */
    assert_null(large_new(5 * MIB, PTRDIFF_MAX / 2 + 1, &zeroed));
    void *larger = new_block(6 * MIB);
    assert_ptr_not_equal(larger, block);
    size_t alignment = ((uintptr_t)block & -(uintptr_t)block) * 2; /* which it does not have */
    void *aligned = large_new(2 * MIB, alignment, &zeroed);
    assert_int_equal((uintptr_t)aligned % alignment, 0);
    delete_block(aligned);
    assert_ptr_equal(large_new(2 * MIB, UNIT_SIZE, &zeroed), block);
    assert_null(larges.stuck);
    delete_block(block);
    delete_block(larger);
    assert_true(large_mapped_bytes() < mapped);
}

/* ... or goes home later, when the kernel takes it. */
static void large_P3_what_could_not_be_unmapped_goes_later(void **state) {
    (void)state;
    large_configure(0);
    void *first = new_block(5 * MIB), *second = new_block(3 * MIB);
    kernel.unmap.refuse = 4;
    delete_block(first);
    delete_block(second);
    assert_int_equal(large_purge(0, ALWAYS), 0);
    assert_int_equal(length_of(larges.stuck), 2);
    assert_int_equal(large_purge(0, ALWAYS), 8 * MIB);
    assert_null(larges.stuck);
    assert_int_equal(large_mapped_bytes(), 0);
}

static void large_resize_of_a_run_in_place(void **state) {
    (void)state;
    unsigned char *block = new_block(MIB);
    size_t free_bytes = superslab_free_bytes();
    assert_ptr_equal(large_resize(record_of(block), 100 * KIB), block);
    assert_int_equal(record_of(block)->bytes, 128 * KIB);
    assert_int_equal(pagemap_tag(block + 128 * KIB), PAGEMAP_NONE);
    assert_int_equal(superslab_free_bytes() - free_bytes, MIB - 128 * KIB);
    assert_ptr_equal(large_resize(record_of(block), 500 * KIB), block);
    assert_int_equal(record_of(block)->bytes, 512 * KIB);
    assert_int_equal(block[0], 0xa5);
    delete_block(block);
}

static void large_resize_of_a_mapping_keeps_what_is_in_it(void **state) {
    (void)state;
    unsigned char *block = new_block(2 * MIB);
    block[2 * MIB - 1] = 0x77;
    block = large_resize(record_of(block), 40 * MIB);
    assert_non_null(block);
    assert_true(record_of(block)->bytes >= 40 * MIB);
    assert_int_equal(block[0], 0xa5);
    assert_int_equal(block[2 * MIB - 1], 0x77);
    block[40 * MIB - 1] = 1;
    assert_ptr_equal(large_resize(record_of(block), 39 * MIB), block); /* too little to be worth a call */
    assert_true(record_of(block)->bytes >= 40 * MIB);
    size_t mapped = large_mapped_bytes();
    assert_ptr_equal(large_resize(record_of(block), 2 * MIB), block);
    assert_int_equal(mapped - large_mapped_bytes(), 38 * MIB);
    assert_int_equal(block[2 * MIB - 1], 0x77);
    assert_null(large_resize(record_of(block), MIB));
    delete_block(block);
}

static unsigned char *moved;

static void check_tag_is_gone_before_the_addresses(void *start, size_t bytes) {
    (void)bytes;
    if (start == moved && kernel.remap.count > 0)
        assert_int_equal(pagemap_tag(start), PAGEMAP_NONE);
}

static void large_resize_moves_where_it_cannot_grow(void **state) {
    (void)state;
    moved = new_block(2 * MIB);
    kernel.remap = (struct kernel_call){0, 1}; /* not in place */
    kernel.before_remap = check_tag_is_gone_before_the_addresses;
    unsigned char *block = large_resize(record_of(moved), 10 * MIB);
    assert_non_null(block);
    assert_ptr_not_equal(block, moved);
    assert_int_equal(kernel.remap.count, 2);
    assert_int_equal(pagemap_tag(moved), PAGEMAP_NONE);
    assert_int_equal(block[0], 0xa5);
    block[10 * MIB - 1] = 1;
    delete_block(block);
}

static void large_resize_that_is_refused_changes_nothing(void **state) {
    (void)state;
    large_configure(0);
    unsigned char *block = new_block(4 * MIB);
    size_t mapped = large_mapped_bytes(), bytes = record_of(block)->bytes;
    kernel.remap.refuse = ALWAYS;
    assert_null(large_resize(record_of(block), 10 * MIB));
    kernel.map.refuse = ALWAYS;
    assert_null(large_resize(record_of(block), 10 * MIB));
    kernel.unmap.refuse = 1;
    assert_ptr_equal(large_resize(record_of(block), 2 * MIB), block);
    assert_int_equal(record_of(block)->bytes, bytes);
    assert_int_equal(large_mapped_bytes(), mapped);
    assert_int_equal(block[bytes - 1], 0xa5);
    assert_int_equal(block[0], 0xa5);
    kernel_reset(state);
    delete_block(block);
}

static void large_records_are_used_again(void **state) {
    (void)state;
    bool zeroed;
    large_configure(0);
    delete_block(new_block(2 * MIB));
    delete_block(new_block(MIB));
    unsigned unused = length_of(larges.unused);
    for (int i = 0; i < 100; i++) {
        delete_block(new_block(2 * MIB));
        kernel.map.refuse = ALWAYS;
        assert_null(large_new(64 * MIB, UNIT_SIZE, &zeroed));
        superslab_unmap_free();
        assert_null(large_new(MIB, UNIT_SIZE, &zeroed));
        kernel.map.refuse = 0;
        delete_block(new_block(MIB));
    }
    assert_int_equal(length_of(larges.unused), unused);
}

/* Also those of one that has given all its pages to another, and of the place that one was in before it was stretched. */
static void large_records_of_what_moves_are_used_again(void **state) {
    (void)state;
    unsigned unused = 0;
    for (int i = 0; i < 4; i++) {
        void *first = new_dense_block(5 * MIB), *second = new_dense_block(5 * MIB);
        delete_block(first);
        delete_block(second);
        kernel.remap.refuse = i % 2; /* in place */
        void *both = new_block(10 * MIB);
        assert_int_equal(large_mapped_bytes(), 10 * MIB);
        kernel.remap.refuse = i % 2;
        both = large_resize(record_of(both), 20 * MIB);
        assert_non_null(both);
        delete_block(both);
        large_purge(0, ALWAYS);
        assert_true(i == 0 || length_of(larges.unused) == unused);
        unused = length_of(larges.unused);
    }
}

static void large_stops_at_the_hard_limit(void **state) {
    (void)state;
    bool zeroed;
    limit.hard = limit.held + (size_t)metadata_bytes() + 20 * MIB + MIB / 2; /* records may grow */
    unsigned char *block = new_dense_block(12 * MIB);
    assert_null(large_new(12 * MIB, UNIT_SIZE, &zeroed));
    block = large_resize(record_of(block), 19 * MIB); /* wherever it goes, only what it grows by is new */
    assert_non_null(block);
    check_held();
    assert_int_equal(block[12 * MIB - 1], 0xa5);
    kernel.remap.refuse = 1; /* not in place */
    unsigned char *elsewhere = large_resize(record_of(block), 20 * MIB);
    assert_true(elsewhere && elsewhere != block);
    block = elsewhere;
    check_held();
    assert_null(large_resize(record_of(block), 24 * MIB));
    assert_int_equal(block[12 * MIB - 1], 0xa5);
    check_held();
    delete_block(block);
    large_purge(0, ALWAYS); /* what waits is held */
    delete_block(new_block(12 * MIB));
    large_purge(0, ALWAYS);
    check_held();
    kernel.map.refuse = 1;
    assert_null(large_new(12 * MIB, UNIT_SIZE, &zeroed));
    check_held();
    limit.hard = SIZE_MAX - 1;
}

/* Where no record can be had nothing is taken: no bytes of the limit, and no addresses. */
static void large_without_records_takes_nothing(void **state) {
    (void)state;
    const size_t far = 256 * MIB; /* soon one begins where nothing has a place in the pagemap */
    bool zeroed;
    void *blocks[] = {new_block(2 * MIB), new_block(3 * MIB)};
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    large_purge(0, ALWAYS);
    struct large *unused = larges.unused;
    larges.unused = NULL;
    kernel.smallest_map = 8 * MIB;
    while (metadata_new(CACHE_LINE))
        continue;
    assert_null(large_new(far, UNIT_SIZE, &zeroed));
    assert_null(large_new(MIB, UNIT_SIZE, &zeroed));
    check_held();
    larges.unused = unused;
    void *more[64];
    unsigned count = 0;
    do {
        assert_true(count < ARRAY_LENGTH(more));
        kernel.unmap.count = 0;
    } while ((more[count++] = large_new(far, UNIT_SIZE, &zeroed)) !=
             NULL); /* until the pagemap needs a record, too */
    assert_int_equal(kernel.unmap.count, 1);
    check_held();
    while (--count > 0)
        delete_block(more[count - 1]);
}

/* However often it was measured the same, a block is measured again before it has been freed LARGE_MEASURE_MOST times more. */
static void large_is_measured_now_and_then(void **state) {
    (void)state;
    struct large *large = record_of(new_block(2 * MIB));
    unsigned longest = 0;
    for (unsigned i = 0; i < 4 * LARGE_MEASURE_MOST; i++) {
        large_delete(large);
        longest = large->due > longest ? large->due : longest;
        assert_ptr_equal(record_of(new_block(2 * MIB)), large);
    }
    assert_int_equal(longest, LARGE_MEASURE_MOST - 1);
    delete_block(large->start);
}

/* Frees a block, and takes it again as it was. */
static void come_back(struct large *large) {
    bool zeroed;
    size_t bytes = large->bytes;
    large_delete(large);
    assert_ptr_equal(record_of(large_new(bytes, UNIT_SIZE, &zeroed)), large);
}

/* ... until it has been measured once more. */
static void come_back_until_measured(struct large *large) {
    while (large->due > 0)
        come_back(large);
    come_back(large);
}

/* The second time one page tells that more was written from the beginning on; what was written elsewhere is seen when all is counted. */
static void large_P2_what_is_written_is_seen(void **state) {
    (void)state;
    static const size_t size = 2 * MIB, half = MIB / 2;
    bool zeroed;
    struct large *large = record_of(large_new(size, UNIT_SIZE, &zeroed));
    memset(large->start, 1, half);
    come_back(large);
    assert_int_equal(large->resident, half);
    uint64_t looks = os_counts.look;
    large->start[size - 1] = 1;
    for (unsigned i = 1; i < LARGE_MEASURE_FIRST; i++)
        come_back(large);
    assert_int_equal(os_counts.look, looks);
    come_back(large);
    assert_int_equal(os_counts.look, looks + 1);
    assert_int_equal(large->resident, half);
    come_back_until_measured(large);
    assert_int_equal(large->resident, half + os_page_size());
    memset(
        large->start, 1,
        size); /* so much more that it is looked at as in the beginning; and what is there whole cannot become more */
    come_back_until_measured(large);
    assert_int_equal(large->resident, size);
    assert_int_equal(large->every, LARGE_MEASURE_FIRST);
    looks = os_counts.look;
    come_back_until_measured(large);
    assert_int_equal(os_counts.look, looks);
    large_delete(large);
}

static void large_P2_what_is_written_further_is_seen_at_the_second_look(void **state) {
    (void)state;
    static const size_t size = 2 * MIB, half = MIB / 2;
    bool zeroed;
    struct large *large = record_of(large_new(size, UNIT_SIZE, &zeroed));
    memset(large->start, 1, half);
    come_back(large);
    memset(large->start, 1, 2 * half);
    come_back_until_measured(large);
    assert_int_equal(large->resident, 2 * half);
    assert_int_equal(large->every,
                     LARGE_MEASURE_FIRST * LARGE_MEASURE_TIMES); /* a quarter more is the same still */
    large_delete(large);
}

/* All pages of a run take no longer than one. */
static void large_P2_all_pages_of_a_run_are_counted(void **state) {
    (void)state;
    struct large *large = record_of(new_block(MIB));
    come_back(large);
    assert_true(large->resident < MIB / 4);
    memset(large_unit(large) + MIB / 2, 1, MIB / 2);
    come_back_until_measured(large);
    assert_true(large->resident >= MIB / 2);
    large_delete(large);
}

static void large_keeps_nothing_near_the_soft_limit(void **state) {
    (void)state;
    delete_block(new_dense_block(4 * MIB));
    assert_int_equal(spare_resident_bytes(), 4 * MIB);
    limit_configure(SIZE_MAX - 1, limit.held, 0);
    assert_true(limit_near());
    delete_block(new_dense_block(3 * MIB));
    assert_true(spare_resident_bytes() <= 4 * MIB);
    limit_configure(SIZE_MAX - 1, MIB, 0);
    delete_block(new_dense_block(3 * MIB));
    assert_int_equal(spare_resident_bytes(), 0);
    check_cache();
}

/* When it need not be measured a freed block is at hand, in no order and no sum but its own. */
static void large_freed_last_is_at_hand(void **state) {
    (void)state;
    void *block = new_block(300 * KIB);
    delete_block(block);
    assert_int_equal(larges.recent.count, 0); /* it was measured */
    assert_ptr_equal(new_block(300 * KIB), block);
    size_t held = larges.held, mapped = superslab_mapped_bytes();
    for (unsigned i = 1; i < LARGE_MEASURE_FIRST; i++) {
        delete_block(block);
        assert_int_equal(larges.recent.count, 1);
        assert_int_equal(spare_resident_bytes(), 0);
        assert_int_equal(larges.live, 0);
        assert_int_equal(larges.held, held);
        assert_true(large_waiting_bytes() > 0);
        assert_ptr_equal(new_block(290 * KIB), block);
    }
    delete_block(block);
    assert_int_equal(larges.recent.count, 0); /* measured again */
    assert_int_equal(superslab_mapped_bytes(), mapped);
    delete_block(new_block(300 * KIB));
    assert_int_equal(larges.recent.count, 1);
    void *other = new_block(200 * KIB); /* not nearly of the size */
    assert_ptr_not_equal(other, block);
    large_purge(0, ALWAYS);
    assert_int_equal(larges.recent.count, 0);
    assert_int_equal(large_waiting_bytes(), 0);
    delete_block(other);
    check_cache();
}

/* Frees each block twice: the second time it need not be measured. */
static void delete_to_hand(void **blocks, unsigned count, size_t size) {
    for (unsigned i = 0; i < count; i++) {
        delete_block(blocks[i]);
        blocks[i] = new_dense_block(size);
    }
    for (unsigned i = 0; i < count; i++)
        delete_block(blocks[i]);
}

/* What was measured when nothing had been written to it, and is written whole by the next one, is within the bounds and goes home. */
static void large_P2_what_was_measured_long_ago_goes_home(void **state) {
    (void)state;
    enum { LIVES = 8, EACH = 40 };
    static const size_t size = 3 * MIB;
    void *blocks[EACH];
    bool zeroed;
    for (int life = 0; life < LIVES; life++) {
        for (int i = 0; i < EACH; i++) {
            blocks[i] = large_new(size, UNIT_SIZE, &zeroed);
            if (life == LIVES - 1)
                memset(blocks[i], 1, size);
        }
        for (int i = 0; i < EACH; i++)
            large_delete(record_of(blocks[i]));
    }
    assert_true(spare_resident_bytes() + larges.recent.resident <= CACHE);
    assert_int_equal(large_waiting_bytes(), EACH * size); /* the janitor comes for it */
    large_purge_rested();
    assert_int_equal(large_purge_rested(), EACH * size);
    assert_int_equal(large_waiting_bytes(), 0);
    check_cache();
}

static void large_P2_what_is_at_hand_counts(void **state) {
    (void)state;
    void *blocks[10];
    for (int i = 0; i < 10; i++)
        blocks[i] = new_dense_block(2 * MIB);
    delete_to_hand(blocks, 10, 2 * MIB);
    assert_true(larges.recent.count > 0);
    assert_true(larges.recent.resident < CACHE / 2);
    assert_true(large_waiting_bytes() <= CACHE);
    check_cache();
    large_configure(0);
    large_purge(0, ALWAYS);
    delete_block(new_block(2 * MIB));
    delete_block(new_block(2 * MIB));
    assert_int_equal(larges.recent.count, 0);
    assert_int_equal(large_waiting_bytes(), 0);
}

/* Beside others that wait, too: together they are no more than what is configured. */
static void large_P2_what_is_at_hand_counts_with_the_others(void **state) {
    (void)state;
    enum { HALVES = 2 * (CACHE / 4 / (int)MIB), WHOLES = CACHE / (int)MIB };
    void *halves[HALVES], *wholes[WHOLES],
        *large = new_dense_block(4 * CACHE); /* so that the peak is no bound */
    for (unsigned i = 0; i < HALVES; i++)
        halves[i] = new_dense_block(MIB / 2);
    for (unsigned i = 0; i < HALVES; i++) /* measured once, so that the next free need not */
        delete_block(halves[i]);
    for (unsigned i = 0; i < HALVES; i++)
        halves[i] = new_dense_block(MIB / 2);
    for (unsigned i = 0; i < WHOLES; i++)
        wholes[i] = new_dense_block(MIB);
    delete_block(large);
    for (unsigned i = 0; i < WHOLES; i++)
        delete_block(wholes[i]);
    assert_true(spare_resident_bytes() > CACHE / 2);
    for (unsigned i = 0; i < HALVES; i++) {
        delete_block(halves[i]);
        assert_true(large_waiting_bytes() <= CACHE);
    }
    check_cache();
}

/* What was at hand waits with the others from the first look on: within the same places. */
static void large_P2_at_hand_has_no_places_of_its_own(void **state) {
    (void)state;
    void *blocks[LARGE_WAITING_FEW], *last[3];
    large_configure(GIB);
    for (unsigned i = 0; i < ARRAY_LENGTH(last); i++)
        last[i] = new_dense_block(70000);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        blocks[i] = new_dense_block(70000);
    for (unsigned i = 0; i < 2 * ARRAY_LENGTH(last); i++) { /* from now on they need not be measured */
        delete_block(last[i % ARRAY_LENGTH(last)]);
        last[i % ARRAY_LENGTH(last)] = new_dense_block(70000);
    }
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    for (unsigned i = 0; i < ARRAY_LENGTH(last); i++)
        delete_block(last[i]);
    assert_int_equal(larges.waiting, LARGE_WAITING_FEW);
    assert_int_equal(larges.recent.count, ARRAY_LENGTH(last));
    check_cache();
    assert_int_equal(larges.waiting, LARGE_WAITING_FEW);
}

/* Slack goes with what has rested only when it is as old. */
static void large_slack_that_is_young_stays(void **state) {
    (void)state;
    delete_block(new_dense_block(MIB / 2));
    large_purge_rested();
    delete_block(new_dense_block(12 * MIB));
    void *block = new_block(5 * MIB);
    assert_int_equal(larges.slack, 7 * MIB);
    large_purge_rested(); /* the half MiB goes */
    assert_int_equal(larges.slack, 7 * MIB);
    assert_int_equal(large_purge_rested(), 7 * MIB);
    assert_int_equal(larges.slack, 0);
    delete_block(block);
}

/* Of what waits only as much goes as has rested. */
static void large_what_is_young_stays(void **state) {
    (void)state;
    void *young = new_dense_block(3 * MIB), *old = new_dense_block(2 * MIB);
    delete_block(old);
    large_purge_rested();
    delete_block(young);
    assert_int_equal(large_purge_rested(), 2 * MIB);
    assert_int_equal(spare_resident_bytes(), 3 * MIB);
    assert_int_equal(large_purge_rested(), 3 * MIB);
}

static void large_slack_outlives_a_shrink_that_is_refused(void **state) {
    (void)state;
    delete_block(new_dense_block(16 * MIB));
    void *block = new_block(8 * MIB);
    assert_int_equal(larges.slack, 8 * MIB);
    large_configure(8 * MIB); /* for what has been slack, not for more */
    kernel.unmap.refuse = ALWAYS;
    assert_ptr_equal(large_resize(record_of(block), 6 * MIB), block);
    kernel.unmap.refuse = 0;
    assert_int_equal(larges.slack, 8 * MIB);
    large_purge(0, ALWAYS);
    assert_int_equal(record_of(block)->extent, 8 * MIB);
    assert_int_equal(larges.slack, 0);
    delete_block(block);
}

/* When new blocks need the room, what is at hand goes, too. */
static void large_at_hand_makes_way(void **state) {
    (void)state;
    void *blocks[3];
    for (int i = 0; i < 3; i++)
        blocks[i] = new_dense_block(2 * MIB);
    delete_to_hand(blocks, 3, 2 * MIB);
    assert_int_equal(larges.recent.count, 3);
    void *block = new_block(6 * MIB);
    assert_true(larges.recent.count == 0);
    assert_true(large_mapped_bytes() <= 6 * MIB / 16 * LARGE_PEAK_SIXTEENTHS);
    delete_block(block);
    check_cache();
}

/* What nobody has asked for between two looks goes home, wherever it was. */
static void large_at_hand_rests(void **state) {
    (void)state;
    void *block = new_dense_block(2 * MIB);
    delete_to_hand(&block, 1, 2 * MIB);
    large_purge_rested();
    assert_int_equal(large_waiting_bytes(), 2 * MIB);
    assert_int_equal(large_purge_rested(), 2 * MIB);
    assert_int_equal(large_waiting_bytes(), 0);
}

/* Nor are those of what waits, where the next block may touch others. */
static void large_cold_block_gives_no_pages(void **state) {
    (void)state;
    void *runs[6];
    unsigned char *cold = new_block(4 * MIB);
    for (unsigned i = 0; i < ARRAY_LENGTH(runs); i++)
        runs[i] = new_dense_block(MIB);
    delete_block(cold);
    for (unsigned i = 0; i < ARRAY_LENGTH(runs); i++)
        delete_block(runs[i]);
    larges.live_peak = 0;
    assert_true(large_is_crowded(3 * MIB));
    unsigned char *block = new_block(3 * MIB);
    assert_ptr_not_equal(block, cold);
    enum pages_density density;
    assert_true(pages_resident(block, 3 * MIB, &density) <= 3 * os_page_size());
    assert_int_equal(seams_count(&record_of(block)->seams), 0);
    delete_block(block);
    check_cache();
}

/* Where the kernel allows no more mappings, none is put together out of others; and moves count as what makes them. */
static void large_puts_nothing_together_where_mappings_are_many(void **state) {
    (void)state;
    for (int tight = 0; tight < 2; tight++) {
        void *donor = new_dense_block(MIB + MIB / 2), *block = new_block(3 * MIB);
        delete_block(donor);
        limit.count_at = tight ? UINT64_MAX : 0; /* a look would find few */
        limit.tight = tight;
        assert_int_equal(large_fill(record_of(block), 2 * MIB), !tight);
        assert_int_equal(seams_last(&record_of(block)->seams), tight ? 0 : 2 * MIB);
        assert_true(limit.count_at > 0);
        limit.tight = false;
        delete_block(block);
        large_purge(0, ALWAYS);
        assert_int_equal(large_mapped_bytes(), 0);
    }
}

/* Of a mapping that is cut both parts are as much in memory as it was. */
static void large_parts_hold_their_share(void **state) {
    (void)state;
    unsigned char *first = new_dense_block(8 * MIB);
    delete_block(first);
    void *block = new_block(2 * MIB);
    assert_ptr_equal(block, first);
    struct large *large = record_of(block), *rest;
    large->resident = 6 * MIB;
    favour_take(&larges.lock);
    rest = large_give_up_slack();
    favour_release(&larges.lock);
    assert_non_null(rest);
    assert_int_equal(rest->resident, 6 * MIB / 128 * 96);
    assert_int_equal(large->resident + rest->resident, 6 * MIB);
    large_release(rest);
    delete_block(block);
    check_cache();
}

/* Slack that is hardly in memory is nobody's pages, and no place of its own among those that wait. */
static void large_P2_cold_slack_stays_where_it_is(void **state) {
    (void)state;
    static void *runs[LARGE_WAITING_FEW];
    large_configure(GIB);
    for (unsigned i = 0; i < ARRAY_LENGTH(runs); i++)
        runs[i] = new_dense_block(150000);
    delete_block(new_block(20 * MIB));
    unsigned char *live = new_block(10 * MIB);
    assert_int_equal(larges.slack, 10 * MIB);
    for (unsigned i = 0; i < ARRAY_LENGTH(runs); i++)
        delete_block(runs[i]);
    large_gather_now();
    assert_int_equal(larges.waiting, LARGE_WAITING_FEW);
    void *next = new_block(90 * MIB);
    assert_int_equal(record_of(live)->extent, 20 * MIB);
    assert_int_equal(seams_count(&record_of(next)->seams), 0);
    delete_block(next);
    delete_block(live);
    check_cache();
}

/* What a block has lost by shrinking is not measured again at each free. */
static void large_P2_a_shrunken_block_counts_for_what_is_left(void **state) {
    (void)state;
    unsigned char *block = new_dense_block(12 * MIB);
    for (int i = 0; i < 3; i++) {
        delete_block(block);
        assert_ptr_equal(new_block(12 * MIB), block);
    }
    large_configure(6 * MIB);
    assert_ptr_equal(large_resize(record_of(block), 5 * MIB), block);
    assert_true(record_of(block)->due > 0);
    delete_block(block);
    assert_int_equal(large_waiting_bytes(), 5 * MIB);
    check_cache();
    assert_int_equal(spare_resident_bytes(), 5 * MIB);
}

/* ---- huge pages ---- */

static int setup_huge(void **state) {
    setup(state);
    large_purge(0, ALWAYS);
    huge_configure(true);
    learn_of_all_sizes(PAGES_SPARSE);
    return 0;
}

static int teardown_huge(void **state) {
    (void)state;
    large_purge(0, ALWAYS);
    huge_configure(false);
    return 0;
}

static bool is_huge(void *block) {
    return record_of(block)->huge;
}

static void large_huge_pages_after_one_that_was_written_whole(void **state) {
    (void)state;
    skip_without_huge_pages();
    void *first = new_block(6 * MIB), *second = new_block(6 * MIB);
    assert_false(is_huge(first) || is_huge(second)); /* three pages of the first do not tell enough */
    memset(second, 0xa5, 6 * MIB);
    void *third = new_block(6 * MIB);
    assert_true(is_huge(third));
    assert_int_equal((uintptr_t)third % (2 * MIB), 0);
    void *short_one = new_block(MIB + 1);
    assert_false(is_huge(short_one));
    delete_block(short_one);
    kernel.advise.refuse = ALWAYS;
    void *fourth = new_block(6 * MIB);
    assert_false(is_huge(fourth));
    delete_block(first); /* which was hardly written: it says so when it is measured */
    kernel.advise.refuse = 0;
    void *fifth = new_block(7 * MIB);
    assert_false(is_huge(fifth));
    delete_block(fifth);
    delete_block(fourth);
    delete_block(third);
    delete_block(second);
    check_cache();
}

/* A block that was freed tells, too; its pages are the next one's, whatever they are. */
static void large_huge_pages_after_a_free(void **state) {
    (void)state;
    skip_without_huge_pages();
    unsigned char *block = new_dense_block(5 * MIB);
    huge_watch(NULL, 5 * MIB);
    delete_block(block);
    void *same = new_block(5 * MIB), *other = new_block(5 * MIB);
    assert_false(is_huge(same));
    assert_true(is_huge(other));
    delete_block(same);
    delete_block(other);
    check_cache();
}

/* A mapping that got the pages of others is whole from the start, whatever the program does with it. */
static void large_huge_pages_of_others_tell_nothing(void **state) {
    (void)state;
    skip_without_huge_pages();
    unsigned char *first = new_dense_block(4 * MIB), *second = new_dense_block(3 * MIB);
    delete_block(first);
    delete_block(second);
    learn_of_all_sizes(PAGES_SPARSE);
    unsigned char *given = new_block(7 * MIB);
    assert_true(record_of(given)->given);
    delete_block(given);
    void *same = new_block(7 * MIB), *next = new_block(7 * MIB);
    assert_ptr_equal(same, given);
    assert_false(is_huge(next));
    delete_block(next);
    delete_block(same);
    check_cache();
}

/* A huge mapping that waits is stretched for a size that is written whole only, and then tells nothing. */
static void large_huge_pages_of_one_size_are_not_for_another(void **state) {
    (void)state;
    skip_without_huge_pages();
    huge_learn(NULL, 3 * MIB, PAGES_DENSE);
    unsigned char *buffer = new_dense_block(3 * MIB);
    assert_true(is_huge(buffer));
    delete_block(buffer);
    unsigned char *table = new_block(18 * MIB); /* not the buffer's mapping, only its pages, at the end */
    assert_int_equal(seams_last(&record_of(table)->seams), 15 * MIB);
    delete_block(table);
    large_purge(0, ALWAYS);
    huge_learn(NULL, 18 * MIB, PAGES_DENSE);
    buffer = new_dense_block(3 * MIB);
    assert_true(is_huge(buffer));
    delete_block(buffer);
    table = new_block(18 * MIB);
    assert_int_equal(seams_count(&record_of(table)->seams), 0);
    assert_true(is_huge(table) && record_of(table)->given);
    delete_block(table);
    check_cache();
}

static void know_nothing(void) {
    memset(huges.sizes, 0, sizeof huges.sizes);
}

static bool has_head(void *block) {
    return is_huge(block) && (uintptr_t)block % HUGE_LEAST == HUGE_LEAST - HUGE_HEAD;
}

/* Of a size of which nothing is known. Wherever it goes, it is told apart from what has no head. */
static void large_first_of_its_size_has_a_head(void **state) {
    enum { FIRST = 128 * MIB, NEXT = 256 * MIB };
    (void)state;
    skip_without_huge_pages();
    know_nothing();
    huge_learn(NULL, FIRST / 2, PAGES_DENSE);
    size_t mapped = larges.mapped_bytes;
    unsigned unmaps = kernel.unmap.count;
    unsigned char *first = new_block(FIRST), *second = new_block(FIRST);
    assert_true(kernel.unmap.count > unmaps);         /* what was mapped to align it */
    assert_true(has_head(first) && !is_huge(second)); /* the first one has told nothing yet */
    assert_int_equal(larges.mapped_bytes - mapped, 2 * (size_t)FIRST);
    first[FIRST - 1] = 1;
    void *between = new_block(MIB + UNIT_SIZE); /* so that where the next one begins is no accident */
    delete_block(second);
    kernel.remap.refuse = 1; /* in place */
    first = large_resize(record_of(first), FIRST + FIRST / 8);
    assert_true(first && has_head(first) && first[FIRST - 1] == 1);
    delete_block(between);
    delete_block(first);
    large_purge(0, ALWAYS);
    know_nothing();
    huge_learn(NULL, FIRST / 2, PAGES_DENSE);
    first = new_block(FIRST);
    memset(first, 1, HUGE_HEAD);
    delete_block(first);
    assert_int_equal(huge_known(FIRST), HUGE_WHOLE);
    unsigned char *next = new_block(NEXT); /* what waits is stretched, and goes on with a head */
    assert_true(has_head(next) && record_of(next)->given);
    assert_int_equal(spare_waiting_bytes(), 0);
    assert_int_equal(seams_count(&record_of(next)->seams), 0);
    memset(next + FIRST, 1, HUGE_HEAD);
    assert_true(huge_suits(NEXT));
    delete_block(next);
    large_purge(0, ALWAYS);
    check_cache();
}

/* Where there is no room for what is mapped to align it, it is as the first one of any size. */
static void large_first_of_its_size_needs_no_head(void **state) {
    enum { FIRST = 128 * MIB };
    (void)state;
    know_nothing();
    huge_learn(NULL, FIRST / 2, PAGES_DENSE);
    kernel.largest_map = FIRST;
    unsigned char *first = new_block(FIRST);
    kernel.largest_map = 0;
    assert_false(is_huge(first));
    delete_block(first);
    large_purge(0, ALWAYS);
    check_cache();
}

/* What waits in small pages is neither stretched for the first one of a size, nor are its pages moved there, nor behind one that is stretched. For
 * one of a size that is known to be written whole it is stretched, by huge pages. */
static void large_small_pages_that_wait_stay_where_a_size_follows(void **state) {
    enum { SHORT = 6 * MIB, LENGTH = 12 * MIB };
    (void)state;
    skip_without_huge_pages();
    know_nothing();
    void *waits = new_dense_block(SHORT);
    delete_block(waits);
    assert_int_equal(huge_known(SHORT), HUGE_WHOLE);
    unsigned char *block = new_block(LENGTH);
    assert_true(has_head(block) && !record_of(block)->given);
    assert_int_equal(seams_count(&record_of(block)->seams), 0);
    memset(block, 1, LENGTH);
    delete_block(block);
    unsigned char *longer = new_block(2 * LENGTH);
    assert_true(has_head(longer) && record_of(longer)->given);
    assert_int_equal(seams_count(&record_of(longer)->seams), 0);
    delete_block(longer);
    large_purge(0, ALWAYS);
    know_nothing();
    waits = new_dense_block(SHORT);
    assert_false(is_huge(waits));
    delete_block(waits);
    huge_learn(NULL, LENGTH, PAGES_DENSE);
    block = new_block(LENGTH);
    assert_true(is_huge(block) && record_of(block)->given);
    delete_block(block);
    large_purge(0, ALWAYS);
    check_cache();
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* The first long blocks of a process, or of their size: huge pages are asked for while they are written. */
static void large_first_long_ones_are_looked_at(void **state) {
    (void)state;
    enum { SIZE = 16 * MIB };
    skip_without_huge_pages();
    if (os_huge_pages() != OS_HUGE_ASKED)
        skip();
    know_nothing();
    huge_is_awaited = false;
    unsigned char *short_one = new_block(6 * MIB);
    assert_false(huge_is_awaited || huge_look_ahead());
    memset(short_one, 1, 6 * MIB);
    assert_false(huge_look_ahead());
    unsigned char *first = new_block(SIZE), *second = new_block(SIZE), *gone = new_block(SIZE),
                  *longer = new_block(2 * SIZE);
    assert_true(huge_is_awaited);
    delete_block(gone);
    large_purge(0, ALWAYS);
    know_nothing(); /* what that one told is forgotten */
    uint64_t asked = os_counts.huge;
    assert_true(huge_look_ahead()); /* hardly written */
    for (size_t at = 0; at < MIB; at += 2 * os_page_size())
        second[at] = 1;
    assert_true(huge_look_ahead()); /* here and there */
    assert_int_equal(os_counts.huge, asked);
    memset(second, 1, MIB);
    assert_true(huge_look_ahead());
    assert_int_equal(huge_known(SIZE), HUGE_WHOLE);
    assert_in_range(os_counts.huge, asked + 1, asked + 2); /* it may have come to the first one before */
    assert_true(huge_look_ahead());                        /* the longer one is looked at still */
    assert_int_equal(os_counts.huge, asked + 2);
    huge_learn(NULL, 2 * SIZE, PAGES_SPARSE);
    assert_false(huge_look_ahead());
    assert_int_equal(os_counts.huge, asked + 2);
    huge_is_awaited = false;
    know_nothing();
    unsigned char *waits = new_dense_block(SIZE);
    delete_block(waits);
    know_nothing(); /* that tells when it goes, and is not looked at again */
    assert_false(huge_look_ahead());
    assert_int_equal(huge_known(SIZE), HUGE_UNKNOWN);
    large_purge(0, ALWAYS);
    unsigned char *grows = new_block(SIZE);
    record_of(grows)->given = true; /* so that it says nothing itself */
    kernel.remap.refuse = ALWAYS;
    assert_null(large_resize(record_of(grows), 5 * SIZE / 4));
    kernel.remap.refuse = 0;
    assert_false(huge_look_ahead()); /* nor what grows, or what was made for that and is gone */
    assert_int_equal(huge_known(SIZE), HUGE_UNKNOWN);
    delete_block(grows);
    large_purge(0, ALWAYS);
    huge_learn(NULL, SIZE, PAGES_DENSE);
    huge_is_awaited = false;
    unsigned char *known = new_block(SIZE);
    assert_true(is_huge(known) && !huge_is_awaited);
    long before = faults();
    memset(first, 1, SIZE);
    assert_in_range(faults() - before, 1, SIZE / HUGE_LEAST + 4 * HUGE_LEAST / os_page_size());
    delete_block(known);
    delete_block(longer);
    delete_block(second);
    delete_block(first);
    delete_block(short_one);
    check_cache();
}

/* As many as there is a place for, the last ones; not where huge pages may not be had. */
static void large_looks_at_few_long_ones(void **state) {
    (void)state;
    enum { SIZE = 16 * MIB, MANY = HUGE_AHEAD + 1 };
    unsigned char *blocks[MANY];
    if (os_huge_pages() != OS_HUGE_ASKED)
        skip();
    know_nothing();
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = new_block(SIZE);
    huge_learn(NULL, SIZE, PAGES_DENSE);
    limit_configure(SIZE_MAX, 16 * MIB, 0);
    uint64_t asked = os_counts.huge + os_counts.huge_failed;
    assert_true(limit_near());
    assert_false(huge_look_ahead());
    assert_int_equal(os_counts.huge + os_counts.huge_failed, asked);
    limit_configure(SIZE_MAX, 0, 0);
    delete_all((void **)blocks, MANY);
    large_purge(0, ALWAYS);
    know_nothing();
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = new_block(SIZE);
    huge_learn(NULL, SIZE, PAGES_DENSE);
    assert_false(huge_look_ahead());
    assert_int_equal(os_counts.huge + os_counts.huge_failed, asked + HUGE_AHEAD);
    delete_all((void **)blocks, MANY);
    large_purge(0, ALWAYS);
    know_nothing();
    huge_configure(false);
    huge_is_awaited = false;
    delete_block(new_block(SIZE));
    assert_false(huge_is_awaited || huge_look_ahead());
    check_cache();
}

static void *grown(void *block, size_t size) {
    unsigned char *start = large_resize(record_of(block), size);
    assert_non_null(start);
    return start;
}

static void large_that_grows_gets_huge_pages_where_it_was_written_whole(void **state) {
    (void)state;
    skip_without_huge_pages();
    unsigned char *block = new_dense_block(3 * MIB);
    block = grown(block, 6 * MIB);
    assert_true(is_huge(block));
    assert_int_equal(block[3 * MIB - 1], 0xa5);
    learn_of_all_sizes(PAGES_SPARSE);
    unsigned char *sparse = new_block(6 * MIB);
    unsigned looks = (unsigned)os_counts.look;
    sparse = grown(sparse, 9 * MIB);
    assert_false(is_huge(sparse));
    assert_true(os_counts.look > looks);
    memset(sparse, 0xa5, 9 * MIB);
    looks = (unsigned)os_counts.look;
    sparse = grown(sparse, 11 * MIB); /* not twice as long since it was looked at */
    assert_int_equal(os_counts.look, looks);
    assert_false(is_huge(sparse));
    memset(sparse, 0xa5, 11 * MIB);
    sparse = grown(grown(sparse, 14 * MIB), 17 * MIB);
    assert_true(is_huge(sparse));
    delete_block(sparse);
    delete_block(block);
    check_cache();
}

/* Also where it has to move; a run that became a mapping has pages of its own only. */
static void large_that_moves_gets_huge_pages_too(void **state) {
    (void)state;
    skip_without_huge_pages();
    unsigned char *block = new_dense_block(MIB);
    block = grown(block, 3 * MIB);
    assert_false(record_of(block)->given);
    memset(block, 0xa5, 3 * MIB);
    kernel.remap = (struct kernel_call){0, 1}; /* not in place */
    block = grown(block, 8 * MIB);
    assert_true(kernel.remap.count >= 2);
    assert_true(is_huge(block));
    delete_block(block);
    check_cache();
}

/* What a block has shown in one life is not known of it in the next. */
static void large_begins_each_life_untold(void **state) {
    (void)state;
    skip_without_huge_pages();
    unsigned char *block = new_dense_block(6 * MIB);
    kernel.advise.refuse = ALWAYS;
    block = grown(block, 9 * MIB);
    kernel.advise.refuse = 0;
    assert_true(record_of(block)->whole && !is_huge(block) &&
                record_of(block)->looked == 6 * MIB / UNIT_SIZE);
    delete_block(block);
    assert_ptr_equal(new_block(9 * MIB), block);
    assert_false(record_of(block)->whole);
    assert_int_equal(record_of(block)->looked, 0);
    delete_block(block);
    check_cache();
}

/* Of a block that moves into what waited: its last area decides, which is where it grows on. */
static void large_huge_is_what_the_last_area_is(void **state) {
    (void)state;
    skip_without_huge_pages();
    learn_of_all_sizes(PAGES_DENSE);
    unsigned char *target = new_dense_block(8 * MIB);
    assert_true(is_huge(target));
    learn_of_all_sizes(PAGES_SPARSE);
    unsigned char *block = new_block(3 * MIB);
    delete_block(target);
    block = grown(block, 7 * MIB);
    assert_ptr_equal(block, target);
    assert_true(is_huge(block));
    struct large *large = record_of(block);
    assert_true(large->given);
    assert_true(large->resident > 3 * MIB); /* the target's: its slack is in memory */
    assert_int_equal(seams_last(&large->seams), 3 * MIB);
    large_have_record();
    large_set(large, 3 * MIB, large->extent);
    favour_take(&larges.lock);
    struct large *rest = large_give_up_slack();
    favour_release(&larges.lock);
    assert_non_null(rest);
    assert_true(rest->huge && !large->huge);
    assert_int_equal(seams_count(&large->seams) + seams_count(&rest->seams), 0);
    large_release(rest);
    delete_block(block);
    check_cache();
}

/* A block of 3 MiB of which `written` bytes hold something, taken again and cleared. Returns the advice that was given for that. */
static unsigned cleared(size_t written, unsigned refuse, size_t *resident) {
    enum { BYTES = 3 * MIB - 5000 };
    enum pages_density density;
    bool zeroed;
    unsigned char *block = large_new(BYTES, UNIT_SIZE, &zeroed);
    assert_non_null(block);
    memset(block, 0xff, written);
    large_delete(pagemap_record(block));
    block = large_new(BYTES, UNIT_SIZE, &zeroed);
    assert_false(zeroed);
    kernel.advise.count = 0;
    kernel.advise.refuse = refuse;
    assert_ptr_equal(large_clear(block, BYTES), block);
    unsigned advised = kernel.advise.count;
    kernel.advise.refuse = 0;
    *resident = pages_resident(block, 3 * MIB, &density);
    for (size_t at = 0; at < BYTES; at += at < written ? 1 : os_page_size())
        assert_int_equal(block[at], 0);
    large_delete(pagemap_record(block));
    large_purge(0, UINT_MAX);
    return advised;
}

static void large_clear_touches_what_is_there(void **state) {
    (void)state;
    size_t resident;
    superslab_configure(SIZE_MAX, true, false);
    assert_int_equal(cleared(3 * MIB - 5000, 0, &resident), 0);
    assert_int_equal(cleared(MIB, 0, &resident), 1);
    assert_int_equal(resident, MIB);
    assert_int_equal(cleared(MIB, 1, &resident), 1); /* refused: written */
    assert_true(resident >= 3 * MIB - 8192);
    for (int lazily = 0; lazily < 2; lazily++) {
        superslab_configure(SIZE_MAX, lazily, lazily);
        assert_int_equal(cleared(MIB, 0, &resident), 0);
        assert_true(resident >= 3 * MIB - 8192);
    }
    superslab_configure(SIZE_MAX, true, false);
}

/* Of many pages that lie apart, only so many calls; behind them all goes home. */
static void large_clear_makes_some_calls(void **state) {
    (void)state;
    enum { PAGES = 1024 };
    enum pages_density density;
    size_t page = os_page_size();
    bool zeroed;
    unsigned char *block = large_new(PAGES * page, UNIT_SIZE, &zeroed);
    for (size_t i = 0; i < PAGES; i += 2)
        block[i * page] = 1;
    kernel.advise.count = 0;
    large_clear(block, PAGES * page);
    assert_int_equal(kernel.advise.count, 65);
    assert_int_equal(pages_resident(block, PAGES * page, &density), 65 * page);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(block[i * page], 0);
    delete_block(block);
}

enum { GIVE_UP_MORE = 2 * LARGE_GIVE_UP };

/* However much is too much, one call gives up so many blocks; the next one goes on. */
static void large_P2_one_call_gives_up_some(void **state) {
    (void)state;
    void *blocks[GIVE_UP_MORE + 2];
    large_configure(GIB);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        blocks[i] = new_dense_block(MIB + 1);
    for (unsigned i = 0; i < GIVE_UP_MORE; i++)
        delete_block(blocks[i]);
    large_gather_now();
    large_configure(2 * MIB);
    kernel.unmap.count = 0;
    delete_block(blocks[GIVE_UP_MORE]);
    assert_int_equal(kernel.unmap.count, LARGE_GIVE_UP);
    delete_block(blocks[GIVE_UP_MORE + 1]);
    assert_int_equal(kernel.unmap.count, 2 * LARGE_GIVE_UP);
    check_held();
}

/* The same of slack that has rested. */
static void large_one_look_gives_up_some_slack(void **state) {
    (void)state;
    void *blocks[GIVE_UP_MORE];
    bool zeroed;
    for (unsigned i = 0; i < GIVE_UP_MORE; i++)
        blocks[i] = large_new(12 * MIB, UNIT_SIZE, &zeroed);
    for (unsigned i = 0; i < GIVE_UP_MORE; i++)
        large_delete(record_of(blocks[i]));
    for (unsigned i = 0; i < GIVE_UP_MORE; i++)
        blocks[i] = large_new(5 * MIB, UNIT_SIZE, &zeroed);
    assert_int_equal(larges.slack, GIVE_UP_MORE * 7 * MIB);
    assert_int_equal(large_purge_rested(), 0);
    assert_int_equal(large_purge_rested(), LARGE_GIVE_UP * 7 * MIB);
    assert_int_equal(large_purge_rested(), LARGE_GIVE_UP * 7 * MIB);
    assert_int_equal(larges.slack, 0);
    for (unsigned i = 0; i < GIVE_UP_MORE; i++)
        large_delete(record_of(blocks[i]));
    check_cache();
}

/* The same of what is to go home at once; the slack of live blocks comes last. */
static void large_P2_one_purge_gives_up_as_many_as_it_may(void **state) {
    (void)state;
    void *blocks[GIVE_UP_MORE];
    bool zeroed;
    large_configure(GIB);
    for (unsigned i = 0; i < GIVE_UP_MORE; i++)
        blocks[i] = new_dense_block(MIB + 1);
    void *roomy = large_new(12 * MIB, UNIT_SIZE, &zeroed);
    large_delete(record_of(roomy));
    roomy = large_new(5 * MIB, UNIT_SIZE, &zeroed);
    assert_int_equal(larges.slack, 7 * MIB);
    for (unsigned i = 0; i < GIVE_UP_MORE; i++)
        delete_block(blocks[i]);
    size_t waiting = large_waiting_bytes();
    kernel.unmap.count = 0;
    assert_true(large_purge(0, 3) > 3 * MIB);
    assert_int_equal(kernel.unmap.count, 3);
    assert_int_equal(larges.slack, 7 * MIB);
    large_purge(0, ALWAYS);
    assert_int_equal(large_waiting_bytes(), 0);
    assert_true(waiting > GIVE_UP_MORE * MIB + 7 * MIB);
    large_delete(record_of(roomy));
    check_cache();
}

/* ---- blocks of one length begin apart ---- */

/* On which of its pages and lines a live block begins, checked: it has no page more than if it began with its unit, or one if it is whole pages. */
static size_t colour_of(void *block, size_t size) {
    size_t page = os_page_size(), colour = large_colour(record_of(block));
    assert_int_equal(colour % SIZECLASS_COLOUR, 0);
    assert_true(large_usable(record_of(block)) >= size);
    assert_ptr_equal((unsigned char *)block + large_usable(record_of(block)),
                     large_unit(record_of(block)) + record_of(block)->bytes);
    assert_true(colour % page + size <= align_up(size + (size % page == 0), page));
    return colour;
}

static void large_of_one_length_begin_apart(void **state) {
    (void)state;
    enum { BLOCKS = 40 };
    static const size_t sizes[] = {40000,         40 * KIB, 100000,  100 * KIB,
                                   MIB - 4 * KIB, 1000000,  1500000, 1500 * KIB};
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        unsigned char *blocks[BLOCKS];
        bool seen[UNIT_SIZE / SIZECLASS_COLOUR] = {false}, seen_line[UNIT_SIZE / SIZECLASS_COLOUR] = {false};
        unsigned different = 0, lines = 0;
        for (unsigned b = 0; b < BLOCKS; b++) {
            bool zeroed;
            assert_non_null(blocks[b] = large_new(sizes[i], 16, &zeroed));
            memset(blocks[b], (int)b + 1, sizes[i]);
            size_t colour = colour_of(blocks[b], sizes[i]) / SIZECLASS_COLOUR;
            bool *one = &seen[colour], *line = &seen_line[colour % (os_page_size() / SIZECLASS_COLOUR)];
            different += !*one;
            lines += !*line;
            *one = *line = true;
        }
        assert_in_range(different, BLOCKS / 2, BLOCKS);
        if (sizes[i] % os_page_size() == 0)
            assert_in_range(lines, BLOCKS / 4, BLOCKS);
        for (unsigned b = 0; b < BLOCKS; b++) {
            assert_int_equal(blocks[b][0], b + 1);
            assert_int_equal(blocks[b][sizes[i] - 1], b + 1);
            delete_block(blocks[b]);
        }
        large_purge(0, ALWAYS);
    }
    check_cache();
}

/* Runs that wait, the oldest first, until they are as much as small blocks had anew; what is a mapping waits on. */
static void large_yields_runs_that_wait(void **state) {
    (void)state;
    enum { RUNS = 15 }; /* of two units, and a mapping */
    void *blocks[RUNS + 1];
    for (size_t i = 0; i <= RUNS; i++)
        blocks[i] = new_block(i == 0 ? 3 * MIB : 100 * KIB);
    for (size_t i = 0; i <= RUNS; i++)
        delete_block(blocks[i]);
    size_t dirty = superslab_dirty_bytes(), mapped = large_mapped_bytes();
    large_yield(3 * (size_t)UNIT_SIZE);
    assert_int_equal(superslab_dirty_bytes(), dirty + 4 * (size_t)UNIT_SIZE);
    assert_null(pagemap_record(blocks[1]));
    assert_null(pagemap_record(blocks[2]));
    check_cache();
    for (size_t i = 3; i < 3 + (RUNS - 2 - 7); i++)
        large_yield(1);
    large_yield(SIZE_MAX); /* less than a MiB stays */
    assert_int_equal(spare_run_bytes(), MIB - 2 * (size_t)UNIT_SIZE);
    assert_int_equal(superslab_dirty_bytes(), dirty + 2 * (RUNS - 7) * (size_t)UNIT_SIZE);
    assert_int_equal(large_mapped_bytes(), mapped);
    check_cache();
}

/* A coloured one: of some length, the second. */
static unsigned char *coloured(size_t size) {
    bool zeroed;
    void *block, *others[100];
    unsigned count = 0;
    do {
        assert_true(count < ARRAY_LENGTH(others));
        assert_non_null(block = others[count++] = large_new(size, 16, &zeroed));
    } while (large_colour(record_of(block)) < 2 * SIZECLASS_COLOUR);
    while (--count > 0)
        delete_block(others[count - 1]);
    return block;
}

/* One that comes to hand and goes again begins where it did, unless it is to be longer, or aligned. */
static void large_begins_where_it_began(void **state) {
    (void)state;
    bool zeroed;
    unsigned char *block = coloured(100000);
    size_t colour = colour_of(block, 100000);
    struct large *large = record_of(block);
    assert_false(large_was_freed(large, block + UNIT_SIZE)); /* it lives */
    large->due = 2;
    delete_block(block);
    assert_false(large_was_freed(large, block - colour));
    assert_false(large_was_freed(large, block + 16));
    assert_ptr_equal(large_new(100000, 16, &zeroed), block);
    large->due = 2;
    delete_block(block);
    assert_ptr_equal(large_new(2 * UNIT_SIZE - 16, 16, &zeroed), block - colour);
    delete_block(block - colour);
    block = coloured(90000);
    large = record_of(block);
    large->due = 2;
    delete_block(block);
    unsigned char *aligned = large_new(90000, 2 * SIZECLASS_COLOUR, &zeroed);
    assert_ptr_equal(record_of(aligned), large);
    assert_int_equal((uintptr_t)aligned % UNIT_SIZE, 0);
    delete_block(aligned);
    check_cache();
}

/* In place, with more units, as a mapping, and back: what it holds stays, and where in its first unit it begins. */
static void large_of_a_colour_grows_and_shrinks(void **state) {
    (void)state;
    static const size_t sizes[] = {101000, 200000, 3000000, 40000000, 20000001, 2000000};
    unsigned char *block = coloured(100000);
    size_t colour = large_colour(record_of(block)), kept = 100000;
    memset(block, 0x5a, kept);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        unsigned char *resized = large_resize(record_of(block), sizes[i]);
        if (!resized) /* alloc would copy */
            continue;
        block = resized;
        assert_int_equal(large_colour(record_of(block)), colour);
        assert_true(large_usable(record_of(block)) >= sizes[i]);
        block[sizes[i] - 1] = 1;
        for (size_t at = 0; at < kept; at += 500)
            assert_int_equal(block[at], 0x5a);
    }
    delete_block(block);
    block = coloured(100000);
    size_t size = large_usable(record_of(block)) + 1; /* less than its units, but for the colour */
    unsigned char *resized = large_resize(record_of(block), size);
    assert_true(!resized || large_usable(record_of(resized)) >= size);
    delete_block(resized ? resized : block);
    check_cache();
}

/* What grows would want the room. */
static void large_that_grows_begins_with_its_unit(void **state) {
    (void)state;
    void *blocks[4];
    for (size_t i = 0; i < ARRAY_LENGTH(blocks); i++) {
        assert_non_null(blocks[i] = new_to_grow(100000, 40000));
        assert_int_equal((uintptr_t)blocks[i] % UNIT_SIZE, 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    check_cache();
}

/* All of it, also what shares its first page with what lies before it. */
static void large_clear_of_a_colour(void **state) {
    (void)state;
    enum { BYTES = 2 * MIB + 5000 };
    unsigned char *block = coloured(BYTES);
    for (size_t at = 0; at < BYTES; at += 3 * os_page_size())
        block[at] = 1;
    block[BYTES - 1] = 1;
    assert_ptr_equal(large_clear(block, BYTES), block);
    for (size_t at = 0; at < BYTES; at++)
        if (block[at] != 0)
            fail_msg("byte %zu", at);
    delete_block(block);
}

int main(void) {
    limit_configure(SIZE_MAX - 1, 0, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(large_P1_runs_and_mappings, setup),
        cmocka_unit_test_setup(large_gives_the_tail_of_used_memory_home, setup),
        cmocka_unit_test_setup(large_alignments, setup),
        cmocka_unit_test_setup(large_of_one_length_begin_apart, setup),
        cmocka_unit_test_setup(large_begins_where_it_began, setup),
        cmocka_unit_test_setup(large_yields_runs_that_wait, setup),
        cmocka_unit_test_setup(large_of_a_colour_grows_and_shrinks, setup),
        cmocka_unit_test_setup(large_that_grows_begins_with_its_unit, setup),
        cmocka_unit_test_setup(large_clear_of_a_colour, setup),
        cmocka_unit_test_setup(large_sizes_that_no_system_has, setup),
        cmocka_unit_test_setup(large_P2_cache_is_bounded_in_bytes, setup),
        cmocka_unit_test_setup(large_P2_cache_is_bounded_in_places, setup),
        cmocka_unit_test_setup(large_P2_sparse_blocks_have_more_places, setup),
        cmocka_unit_test_setup(large_many_that_rest_go_by_and_by, setup),
        cmocka_unit_test_setup(large_cache_makes_way, setup),
        cmocka_unit_test_setup(large_cached_mapping_is_used_again, setup),
        cmocka_unit_test_setup(large_P2_counts_what_is_in_memory, setup),
        cmocka_unit_test_setup(large_longer_mapping_serves, setup),
        cmocka_unit_test_setup(large_grows_into_what_waits, setup),
        cmocka_unit_test_setup(large_of_two_areas_grows, setup),
        cmocka_unit_test_setup(large_moves_again_and_again, setup),
        cmocka_unit_test_setup(large_run_moves_out, setup),
        cmocka_unit_test_setup(large_run_that_cannot_move_out_stays, setup),
        cmocka_unit_test_setup(large_what_waits_serves_within_the_peak, setup),
        cmocka_unit_test_setup(large_only_what_is_too_much_goes, setup),
        cmocka_unit_test_setup(large_huge_or_cold_goes_whole, setup),
        cmocka_unit_test_setup(large_goes_whole_where_mappings_are_many, setup),
        cmocka_unit_test_setup(large_first_cuts_have_a_record, setup),
        cmocka_unit_test_setup(large_cold_block_serves_what_it_holds, setup),
        cmocka_unit_test_setup(large_small_block_leaves_a_long_one, setup),
        cmocka_unit_test_setup(large_long_blocks_count_whole, setup),
        cmocka_unit_test_setup(large_longer_block_serves, setup),
        cmocka_unit_test_setup(large_block_in_memory_serves_before_another_goes, setup),
        cmocka_unit_test_setup(large_cold_block_does_not_serve, setup),
        cmocka_unit_test_setup(large_run_moves_into_its_kind, setup),
        cmocka_unit_test_setup(large_mapping_has_some_areas, setup),
        cmocka_unit_test_setup(large_few_that_grow_get_room, setup),
        cmocka_unit_test_setup(large_what_is_lent_goes_to_the_next, setup),
        cmocka_unit_test_setup(large_stretched_block_gets_the_pages_of_others, setup),
        cmocka_unit_test_setup(large_new_runs_tell_once, kernel_reset),
        cmocka_unit_test_setup_teardown(large_few_of_many_lengths_are_solid, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_slack_goes_by_huge_pages, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_is_not_torn, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_longest_may_be_solid, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_nothing_grows_into_solid, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_takes_the_place_of_what_waits, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_makes_few_go_at_once, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_has_its_bounds, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_shrunken_solid_keeps_whole_huge_pages, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_grown_solid_is_none, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_ones_are_probed, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_others_are_not_solid, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_ends_where_the_kernel_refuses, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_that_is_refused_is_another, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_counts_come_out, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_without_huge_pages_what_waits_serves, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_that_moves_is_none, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_runs_are_lengths, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_near_the_hard_limit_nothing_is_solid, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_solid_that_shrinks_to_a_run_is_copied, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_without_huge_pages_nothing_is_solid, begin_solid, end_solid),
        cmocka_unit_test_setup_teardown(large_whole_blocks_are_in_fields, begin_fields, end_fields),
        cmocka_unit_test_setup_teardown(large_sparse_runs_are_in_small_pages, begin_fields, end_fields),
        cmocka_unit_test_setup_teardown(large_whole_runs_are_in_huge_pages, begin_fields, end_fields),
        cmocka_unit_test_setup_teardown(large_fields_are_probed, begin_fields, end_fields),
        cmocka_unit_test_setup_teardown(large_mappings_take_the_place_of_fields, begin_fields, end_fields),
        cmocka_unit_test_setup_teardown(large_in_fields_neighbours_are_one, begin_fields, end_fields),
        cmocka_unit_test_setup_teardown(large_in_fields_are_resized, begin_fields, end_fields),
        cmocka_unit_test_setup_teardown(large_fields_take_the_place_of_what_waits, begin_fields, end_fields),
        cmocka_unit_test_setup_teardown(large_where_no_field_can_be_had_is_not_zeroed, begin_fields,
                                        end_fields),
        cmocka_unit_test_setup_teardown(large_longer_ones_are_in_fields_where_there_are_many, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_of_one_length_are_not_in_fields, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_beside_much_longer_ones_are_not_in_fields,
                                        begin_longer, end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_that_grow_are_not_in_fields, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_that_are_refused_do_not_count, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_are_watched_before_they_are_in_fields, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_are_in_fields_where_the_options_say_so,
                                        begin_longer, end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_beside_others_that_grow_are_not_in_fields,
                                        begin_longer, end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_beside_sparse_ones_are_not_in_fields, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_are_not_in_fields_after_an_exchange, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup_teardown(large_fields_of_longer_ones_are_not_for_runs, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_take_the_place_of_mappings, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_are_probed, begin_longer, end_longer),
        cmocka_unit_test_setup_teardown(large_longer_ones_are_probed_beside_what_waits, begin_longer,
                                        end_longer),
        cmocka_unit_test_setup(large_new_runs_are_watched, setup),
        cmocka_unit_test_setup(large_growing_is_copied_into_what_is_warm, setup),
        cmocka_unit_test_setup(large_shrinks_into_slack, setup),
        cmocka_unit_test_setup(large_slack_outlives_a_refusal, setup),
        cmocka_unit_test_setup(large_part_that_is_cut_off_has_a_place_in_the_pagemap, setup),
        cmocka_unit_test_setup(large_slack_makes_way, setup),
        cmocka_unit_test_setup(large_shorter_block_is_stretched, setup),
        cmocka_unit_test_setup(large_stretch_that_is_refused_changes_nothing, setup),
        cmocka_unit_test_setup(large_P3_what_cannot_be_unmapped_is_used_again, setup),
        cmocka_unit_test_setup(large_P3_what_could_not_be_unmapped_goes_later, setup),
        cmocka_unit_test_setup(large_resize_of_a_run_in_place, setup),
        cmocka_unit_test_setup(large_resize_of_a_mapping_keeps_what_is_in_it, setup),
        cmocka_unit_test_setup(large_resize_moves_where_it_cannot_grow, setup),
        cmocka_unit_test_setup(large_resize_that_is_refused_changes_nothing, setup),
        cmocka_unit_test_setup(large_records_are_used_again, setup),
        cmocka_unit_test_setup(large_records_of_what_moves_are_used_again, setup),
        cmocka_unit_test_setup(large_what_waits_makes_way_for_one_that_grows, setup),
        cmocka_unit_test_setup(large_slack_is_not_taken_from_one_that_grows, setup),
        cmocka_unit_test_setup(large_stops_at_the_hard_limit, setup),
        cmocka_unit_test_setup(large_without_records_takes_nothing, setup),
        cmocka_unit_test_setup(large_is_measured_now_and_then, setup),
        cmocka_unit_test_setup(large_clear_touches_what_is_there, setup),
        cmocka_unit_test_setup(large_clear_makes_some_calls, setup),
        cmocka_unit_test_setup(large_P2_what_is_written_is_seen, setup),
        cmocka_unit_test_setup(large_P2_what_is_written_further_is_seen_at_the_second_look, setup),
        cmocka_unit_test_setup(large_P2_all_pages_of_a_run_are_counted, setup),
        cmocka_unit_test_setup(large_keeps_nothing_near_the_soft_limit, setup),
        cmocka_unit_test_setup(large_freed_last_is_at_hand, setup),
        cmocka_unit_test_setup(large_P2_what_was_measured_long_ago_goes_home, setup),
        cmocka_unit_test_setup(large_P2_what_is_at_hand_counts, setup),
        cmocka_unit_test_setup(large_P2_what_is_at_hand_counts_with_the_others, setup),
        cmocka_unit_test_setup(large_P2_at_hand_has_no_places_of_its_own, setup),
        cmocka_unit_test_setup(large_slack_that_is_young_stays, setup),
        cmocka_unit_test_setup(large_what_is_young_stays, setup),
        cmocka_unit_test_setup(large_slack_outlives_a_shrink_that_is_refused, setup),
        cmocka_unit_test_setup(large_at_hand_makes_way, setup),
        cmocka_unit_test_setup(large_at_hand_rests, setup),
        cmocka_unit_test_setup(large_cold_block_gives_no_pages, setup),
        cmocka_unit_test_setup(large_puts_nothing_together_where_mappings_are_many, setup),
        cmocka_unit_test_setup(large_parts_hold_their_share, setup),
        cmocka_unit_test_setup(large_P2_cold_slack_stays_where_it_is, setup),
        cmocka_unit_test_setup(large_P2_a_shrunken_block_counts_for_what_is_left, setup),
        cmocka_unit_test_setup_teardown(large_huge_pages_of_others_tell_nothing, setup_huge, teardown_huge),
        cmocka_unit_test_setup_teardown(large_huge_pages_after_one_that_was_written_whole, setup_huge,
                                        teardown_huge),
        cmocka_unit_test_setup_teardown(large_huge_pages_after_a_free, setup_huge, teardown_huge),
        cmocka_unit_test_setup_teardown(large_huge_pages_of_one_size_are_not_for_another, setup_huge,
                                        teardown_huge),
        cmocka_unit_test_setup_teardown(large_first_of_its_size_has_a_head, setup_huge, teardown_huge),
        cmocka_unit_test_setup_teardown(large_first_of_its_size_needs_no_head, setup_huge, teardown_huge),
        cmocka_unit_test_setup_teardown(large_small_pages_that_wait_stay_where_a_size_follows, setup_huge,
                                        teardown_huge),
        cmocka_unit_test_setup_teardown(large_first_long_ones_are_looked_at, setup_huge, teardown_huge),
        cmocka_unit_test_setup_teardown(large_looks_at_few_long_ones, setup_huge, teardown_huge),
        cmocka_unit_test_setup_teardown(large_that_grows_gets_huge_pages_where_it_was_written_whole,
                                        setup_huge, teardown_huge),
        cmocka_unit_test_setup_teardown(large_that_moves_gets_huge_pages_too, setup_huge, teardown_huge),
        cmocka_unit_test_setup_teardown(large_begins_each_life_untold, setup_huge, teardown_huge),
        cmocka_unit_test_setup_teardown(large_huge_is_what_the_last_area_is, setup_huge, teardown_huge),
        cmocka_unit_test_setup(large_P2_one_call_gives_up_some, setup),
        cmocka_unit_test_setup(large_one_look_gives_up_some_slack, setup),
        cmocka_unit_test_setup(large_P2_one_purge_gives_up_as_many_as_it_may, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
