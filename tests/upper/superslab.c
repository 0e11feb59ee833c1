/* Unit tests of superslab: random programs against a list of runs, on real memory. The room's .c are included, so
 * that its sets and sums can be compared with what the bitmaps say. */
#include "os.h"

enum os_huge fake_huge_pages(void);
bool fake_addresses_are_few(void);
#define os_huge_pages fake_huge_pages
#define os_addresses_are_few fake_addresses_are_few

#include "../../src/superslab.c"
#include "../../src/superslab_areas.c"
#include "../../src/superslab_field.c"
#include "../../src/superslab_home.c"

#include "kernel.h"
#include "random.h"
#include "unit/unit.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 300 };

static struct run {
    unsigned char *start;
    struct superslab *home;
    unsigned units;
} runs[RUNS];

static unsigned run_count;

static bool overlaps(const struct run *run, const unsigned char *start, size_t bytes) {
    return start < run->start + (size_t)run->units * UNIT_SIZE && run->start < start + bytes;
}

static void check_nobody_has(void *start, size_t bytes) {
    for (unsigned i = 0; i < run_count; i++)
        assert_false(overlaps(&runs[i], start, bytes));
}

/* What the test wrote is in four words of each unit: enough to see old content. */
static uint64_t *word_of(unsigned char *start, unsigned unit, unsigned quarter) {
    return (uint64_t *)(start + (size_t)unit * UNIT_SIZE + quarter * (UNIT_SIZE / 4) + 8 * (size_t)quarter);
}

static void check_zeroed_and_write(unsigned char *start, unsigned units, bool zeroed) {
    for (unsigned unit = 0; unit < units; unit++)
        for (unsigned quarter = 0; quarter < 4; quarter++) {
            uint64_t *word = word_of(start, unit, quarter);
            if (zeroed && *word != 0)
                fail_msg("unit %u of a zeroed run holds %lx", unit, (unsigned long)*word);
            *word = 0x5a5a5a5a00000000u + unit;
        }
}

/* Every sum and set of the room, from the bitmaps. */
static void check_room(void) {
    size_t dirty = 0, available = 0, mapped = 0;
    for (uint32_t number = 0; number < superslabs.count; number++) {
        const struct superslab *home = *superslab_at(number);
        assert_int_equal(home->number, number);
        assert_int_equal((home->dirty | home->stale) & ~home->free, 0);
        assert_int_equal(home->longest, home->field ? 0 : superslab_longest(home->free));
        assert_true(home->dirty == 0 || number < superslabs.purge_from);
        for (unsigned units = 1; units <= LENGTHS; units++) {
            const uint64_t *fits = superslab_fit(number / GROUP, home->huge),
                           *others = superslab_fit(number / GROUP, !home->huge);
            assert_int_equal(fits[units - 1] >> number % 64 & 1, home->longest >= units);
            assert_int_equal(others[units - 1] >> number % 64 & 1, 0);
        }
        dirty += bits_count(home->dirty);
        available += bits_count(home->free);
        mapped += home->start ? home->units : 0;
    }
    assert_int_equal(superslab_dirty_bytes(), dirty * UNIT_SIZE);
    assert_true(superslab_staying_bytes() <= superslab_dirty_bytes());
    assert_int_equal(superslab_free_bytes(), available * UNIT_SIZE);
    assert_int_equal(superslab_mapped_bytes(), mapped * UNIT_SIZE);
    assert_int_equal(limit.held, (mapped - available + dirty) * UNIT_SIZE);
    size_t used = 0;
    for (unsigned i = 0; i < run_count; i++)
        used += runs[i].units;
    assert_int_equal(mapped - available, used);
}

static enum superslab_use run_use; /* of the next ones */
static bool run_at_random;         /* or one after the other */
static bool run_sheds, run_in_fields;
static unsigned run_across,
    run_lent; /* of those of fields that lie in two superslabs; in fields, but as others are */
static unsigned run_sorted;

static bool run_check(struct superslab_run run, unsigned least, unsigned most) {
    assert_int_equal((uintptr_t)run.start % UNIT_SIZE, 0);
    assert_in_range(run.units, least, most);
    check_nobody_has(run.start, (size_t)run.units * UNIT_SIZE);
    check_zeroed_and_write(run.start, run.units, run.zeroed);
    runs[run_count++] = (struct run){run.start, run.home, run.units};
    return true;
}

static bool run_take_some(unsigned least, unsigned most) {
    assert_true(run_count < RUNS);
    struct superslab_run run = superslab_take_some(least, most, run_use);
    run_lent += run.start && run.home->field;
    run_sorted += run.start && superslabs.sorts && run.home->huge == (run_use == SUPERSLAB_FILLS);
    return run.start && run_check(run, least, most);
}

/* In a field, which may be another one for what is not fresh. */
static bool run_take_field(unsigned units, bool fresh) {
    assert_true(run_count < RUNS);
    struct superslab_run run = superslab_take_field(units, fresh);
    assert_true(!run.start || (run.home->field && run.home->huge));
    run_across += run.start && superslab_unit_of(run.home, run.start) + units > SUPERSLAB_UNITS;
    return run.start && run_check(run, units, units);
}

static bool run_take(unsigned units) {
    return run_take_some(units, units);
}

/* Several at once, of memory that was in use. */
static void run_take_more(unsigned count, unsigned units) {
    struct superslab_run more[RUNS];
    unsigned have = superslab_take_more(more, count, units, run_use);
    assert_true(have <= count);
    for (unsigned i = 0; i < have; i++) {
        assert_false(more[i].zeroed);
        assert_true(run_check(more[i], units, units));
    }
}

static void run_give(unsigned which) {
    struct run *run = &runs[which];
    superslab_give(run->home, run->start, run->units);
    *run = runs[--run_count];
}

/* One and those behind it, at once. */
static void run_give_some(unsigned which, unsigned count) {
    struct superslab_run some[8];
    unsigned gone = 0;
    for (; gone < count && which < run_count; gone++) {
        struct run *run = &runs[which];
        some[gone] = (struct superslab_run){run->start, run->home, run->units, .full = gone == 3};
        *run = runs[--run_count];
    }
    superslab_give_runs(some, gone);
}

/* Gives back the tail only. */
static void run_shorten(struct run *run, unsigned units) {
    superslab_give(run->home, run->start + (size_t)units * UNIT_SIZE, run->units - units);
    run->units = units;
}

static void run_extend(struct run *run, unsigned more) {
    unsigned char *end = run->start + (size_t)run->units * UNIT_SIZE;
    if (!superslab_extend(run->home, run->start, run->units, more))
        return;
    check_nobody_has(end, (size_t)more * UNIT_SIZE);
    check_zeroed_and_write(end, more, false);
    run->units += more;
}

static void run_give_all(void) {
    while (run_count > 0)
        run_give(run_count - 1);
}

static int setup(void **state) {
    kernel_reset(state);
    kernel.before_advise = check_nobody_has;
    kernel.before_unmap = check_nobody_has;
    superslab_configure(SIZE_MAX, true, false);
    run_give_all();
    while (superslab_purge(0, ALWAYS) > 0)
        continue;
    return 0;
}

static struct {
    enum dense_known known;
    bool short_known; /* that short blocks are not dense, whatever others are */
    size_t units;
} dense_fake;

static void random_step(uint64_t *seed) {
    unsigned what = random_below(seed, 100);
    if (run_at_random)
        run_use = (enum superslab_use)(what % 3);
    unsigned units = 1 + random_below(seed, random_below(seed, 2) ? SUPERSLAB_RUN_LARGEST : 4);
    struct run *run = run_count ? &runs[random_below(seed, run_count)] : NULL;
    if (run_in_fields && what < 25 && run_count + 1 < RUNS)
        run_take_field(units, what < 10 || !run_take_field(units, false));
    else if (!run || (what < 45 && run_count < RUNS))
        assert_true(run_take_some(1 + random_below(seed, units), units));
    else if (what < 50 && run_count + 8 < RUNS)
        run_take_more(1 + random_below(seed, 8), units);
    else if (what < 85)
        run_give_some((unsigned)(run - runs), 1 + random_below(seed, random_below(seed, 4) ? 1 : 8));
    else if (what < 90 && run->units > 1)
        run_shorten(run, 1 + random_below(seed, run->units - 1));
    else if (what < 96)
        run_extend(run, 1 + random_below(seed, 4));
    else if (what < 98 && run_sheds) {
        bool later = false;
        superslab_shed(what % 2, &later);
    } else if (what < 99)
        superslab_purge((size_t)random_below(seed, 64) * UNIT_SIZE, 1 + random_below(seed, 20));
    else
        superslab_unmap_free();
}

static void random_program(uint64_t seed) {
    for (int step = 0; step < 4000; step++) {
        random_step(&seed);
        if (step % 16 == 0)
            check_room();
    }
    check_room();
    run_give_all();
    check_room();
}

static enum os_huge kernel_makes_them = OS_HUGE_NEVER;

enum os_huge fake_huge_pages(void) {
    return kernel_makes_them;
}

/* Before the first superslab it is known whether there are huge pages. The first test. */
static void superslab_begins_by_asking_what_the_kernel_makes(void **state) {
    (void)state;
    superslab_configure(0, true, false);
    assert_int_equal(superslabs.count, 0);
    assert_true(run_take(4));
    assert_false(runs[0].home->huge);
    assert_int_equal(superslabs.huge_from, SIZE_MAX);
    run_give(0);
}

static void superslab_P1_P3_random_program(void **state) {
    (void)state;
    random_program(1);
}

static void superslab_P2_P3_random_program_that_decommits_lazily(void **state) {
    (void)state;
    superslab_configure(12 * MIB, true, true);
    random_program(2);
}

/* Half of them fill their memory, in a heap that is half dense. */
static void superslab_P1_P3_random_program_that_sorts(void **state) {
    (void)state;
    superslab_configure(2 * MIB, true, false);
    dense_fake.known = DENSE_YES;
    dense_fake.units = 2 * MIB / UNIT_SIZE;
    run_at_random = true;
    kernel.before_advise = NULL; /* for an area of which somebody has the rest */
    random_program(5);
    assert_true(superslabs.sorts && run_sorted > 0);
    run_at_random = superslabs.sorts = false;
    run_use = SUPERSLAB_MIXED;
    dense_fake.known = DENSE_UNKNOWN;
    dense_fake.units = 0;
}

/* All of it is in huge pages, of which what nobody was given goes home between, at once or when the system needs it. */
static void superslab_P1_P3_random_program_that_sheds(void **state) {
    (void)state;
    run_sheds = true;
    for (int lazily = 0; lazily < 2; lazily++) {
        superslab_unmap_free();
        superslab_configure(0, true, lazily);
        kernel.before_advise = NULL; /* for an area of which somebody has the rest */
        random_program(6 + (uint64_t)lazily);
    }
    run_sheds = false;
    superslab_unmap_free(); /* nothing in huge pages is left to others */
}

/* Some are in fields, and go on in the next superslab. */
static void superslab_P1_P3_random_program_with_fields(void **state) {
    (void)state;
    run_in_fields = true;
    for (int lazily = 0; lazily < 2; lazily++) {
        superslab_configure(12 * MIB, true, lazily);
        kernel.before_advise = NULL; /* for an area of which somebody has the rest */
        random_program(9 + (uint64_t)lazily);
    }
    assert_true(run_across > 0 && run_lent > 0);
    run_in_fields = false;
    superslab_unmap_free();
    assert_int_equal(superslabs.fields + superslabs.field_units + superslabs.field_used, 0);
}

/* Not the first that is long enough. */
static void superslab_takes_the_shortest_gap_of_a_field(void **state) {
    (void)state;
    static const unsigned lengths[] = {16, 1, 8, 1};
    for (unsigned i = 0; i < ARRAY_LENGTH(lengths); i++)
        assert_true(run_take_field(lengths[i], true));
    unsigned char *longer = runs[0].start, *shorter = runs[2].start;
    assert_ptr_equal(shorter, longer + 17 * UNIT_SIZE);
    run_give(2);
    run_give(0);
    assert_true(run_take_field(7, false));
    assert_ptr_equal(runs[run_count - 1].start, shorter);
    assert_true(run_take_field(9, false));
    assert_ptr_equal(runs[run_count - 1].start, longer);
    run_give_all();
    superslab_unmap_free();
}

/* What could not be had once is not asked for again. */
static void superslab_asks_once_for_a_field(void **state) {
    (void)state;
    superslab_configure(MIB, true, false);
    assert_true(superslab_fields_pay(MIB) && superslab_fields_may_grow());
    assert_false(superslab_fields_pay(MIB - UNIT_SIZE));
    kernel.map.refuse = ALWAYS;
    assert_false(run_take_field(8, true));
    assert_false(superslab_fields_may_grow());
    unsigned asked = kernel.map.count;
    assert_false(run_take_field(8, true));
    assert_int_equal(kernel.map.count, asked);
    kernel.map.refuse = 0;
    superslabs.no_more_fields = false;
}

static void superslab_P4_random_program_without_advice(void **state) {
    (void)state;
    kernel.advise.refuse = ALWAYS;
    random_program(3);
}

static void superslab_P4_random_program_without_unmapping(void **state) {
    (void)state;
    kernel.unmap.refuse = ALWAYS;
    random_program(4);
    size_t mapped = superslab_mapped_bytes();
    assert_int_equal(superslab_unmap_free(), 0);
    assert_int_equal(superslab_mapped_bytes(), mapped);
}

/* What the kernel would not unmap may be in memory as a whole: it waits to be purged, and counts as held until then. */
static void superslab_P4_what_is_not_unmapped_is_dirty(void **state) {
    (void)state;
    assert_true(run_take(4));
    run_give(0);
    kernel.unmap.refuse = ALWAYS;
    assert_int_equal(superslab_unmap_free(), 0);
    assert_int_equal(superslab_dirty_bytes(), superslab_mapped_bytes());
    check_room();
}

static size_t unmapped;

static void count_unmapped(void *start, size_t bytes) {
    check_nobody_has(start, bytes);
    unmapped += bytes;
}

/* Records give out within a mapping: what has none is unmapped again, and not lost. */
static void superslab_maps_no_more_than_it_has_records_for(void **state) {
    (void)state;
    superslab_unmap_free();
    for (int i = 0; i < 6 * 4; i++)
        assert_true(run_take(16));
    struct superslab *last = runs[run_count - 1].home;
    for (unsigned i = run_count; i > 0; i--)
        if (runs[i - 1].home == last)
            run_give(i - 1);
    superslab_unmap_free();
    assert_ptr_equal(superslabs.vacant, last);
    struct superslab *others = last->next_vacant;
    last->next_vacant = NULL; /* one record is at hand, and the next mapping is of two */
    kernel.smallest_map = 2 * SUPERSLAB_SIZE;
    while (metadata_new(CACHE_LINE))
        continue;
    kernel.before_unmap = count_unmapped;
    size_t mapped = superslab_mapped_bytes();
    unmapped = 0;
    run_take(1); /* not where the new addresses need a record, too */
    assert_true(unmapped > 0);
    assert_int_equal(superslab_mapped_bytes() - mapped + unmapped, 2 * SUPERSLAB_SIZE);
    check_room();
    struct superslab **end = superslabs.vacant ? &superslabs.vacant->next_vacant : &superslabs.vacant;
    *end = others;
}

static void superslab_purge_keeps_and_counts(void **state) {
    (void)state;
    for (int i = 0; i < 64; i++)
        assert_true(run_take(4));
    run_give_all();
    assert_int_equal(superslab_dirty_bytes(), 256 * (size_t)UNIT_SIZE);
    assert_int_equal(superslab_purge(superslab_dirty_bytes(), ALWAYS), 0);
    size_t keep = 100 * (size_t)UNIT_SIZE, purged = superslab_purge(keep, ALWAYS);
    assert_true(superslab_dirty_bytes() <= keep);
    assert_int_equal(purged + superslab_dirty_bytes(), 256 * (size_t)UNIT_SIZE);
    assert_int_equal(superslab_purge(keep, ALWAYS), 0);
    check_room();
}

/* Lowest first, as one by one; and none where superslab_take would take what is not in memory. */
static void superslab_takes_more_of_what_is_warm(void **state) {
    (void)state;
    struct superslab_run first[8], more[8];
    for (int i = 0; i < 8; i++)
        first[i] = superslab_take(2, SUPERSLAB_MIXED);
    assert_int_equal(superslab_take_more(more, 8, 2, SUPERSLAB_MIXED), 0);
    superslab_give_runs(first, 8);
    assert_int_equal(superslab_dirty_bytes(), 16 * (size_t)UNIT_SIZE);
    assert_int_equal(superslab_take_more(more, 5, 2, SUPERSLAB_MIXED), 5);
    for (int i = 0; i < 5; i++) {
        assert_ptr_equal(more[i].start, first[i].start);
        assert_ptr_equal(more[i].home, first[i].home);
        assert_int_equal(more[i].units, 2);
    }
    assert_int_equal(superslab_take_more(more + 5, 3, 7, SUPERSLAB_MIXED), 0); /* six are left */
    assert_int_equal(superslab_take_more(more + 5, 3, 6, SUPERSLAB_MIXED), 1);
    assert_int_equal(superslab_dirty_bytes(), 0);
    superslab_give_runs(more, 6);
    check_room();
}

/* What comes back at once and is alike is told from what is not. */
static void superslab_notes_what_of_several_is_full(void **state) {
    (void)state;
    superslab_configure(SIZE_MAX, true, false);
    struct superslab_run some[4];
    for (int i = 0; i < 4; i++) {
        some[i] = superslab_take(1, SUPERSLAB_MIXED);
        some[i].full = i == 1 || i == 2;
    }
    superslab_give_runs(some, 4);
    for (int i = 0; i < 4; i++) {
        struct superslab_run again = superslab_take(1, SUPERSLAB_MIXED);
        assert_ptr_equal(again.start, some[i].start);
        assert_int_equal(again.full, i == 1 || i == 2);
        some[i] = again;
    }
    superslab_give_runs(some, 4);
    assert_int_equal(superslab_take_more(some, 4, 1, SUPERSLAB_MIXED), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(some[i].full, i == 1 || i == 2);
    superslab_give_runs(some, 4);
}

static atomic_bool is_held;

/* Until somebody waits for it. */
static void *hold_lock(void *unused) {
    superslab_lock(true);
    atomic_store(&is_held, true);
    while (atomic_load(&superslabs.lock.state) != 2) /* as lock.c has it */
        sched_yield();
    superslab_lock(false);
    return unused;
}

static pthread_t holder(void) {
    pthread_t thread;
    atomic_store(&is_held, false);
    assert_int_equal(pthread_create(&thread, NULL, hold_lock, NULL), 0);
    while (!atomic_load(&is_held))
        sched_yield();
    return thread;
}

static void superslab_tells_that_it_was_waited_for(void **state) {
    (void)state;
    pthread_t thread = holder();
    struct superslab_run run = superslab_take(1, SUPERSLAB_MIXED);
    assert_true(run.waited);
    pthread_join(thread, NULL);
    thread = holder();
    assert_true(superslab_give_run(run.home, run.start, 1, false));
    pthread_join(thread, NULL);
    run = superslab_take(1, SUPERSLAB_MIXED);
    assert_false(run.waited);
    thread = holder();
    assert_true(superslab_give_runs(&run, 1));
    pthread_join(thread, NULL);
    run = superslab_take(1, SUPERSLAB_MIXED);
    assert_false(superslab_give_runs(&run, 1));
}

static void superslab_what_rested_is_what_nobody_had(void **state) {
    (void)state;
    superslab_purge_rested(ALWAYS);
    superslab_end_look();
    for (int i = 0; i < 8; i++)
        assert_true(run_take(4));
    run_give_all();
    assert_int_equal(superslab_purge_rested(ALWAYS), 0); /* all of it came since the last look */
    superslab_end_look();
    struct superslab_run used = superslab_take(4, SUPERSLAB_MIXED); /* dirty ones go out first */
    superslab_give(used.home, used.start, 4);
    assert_int_equal(superslab_dirty_bytes(), 32 * (size_t)UNIT_SIZE);
    assert_int_equal(superslab_purge_rested(ALWAYS), 28 * (size_t)UNIT_SIZE);
    superslab_end_look();
    struct superslab_run again = superslab_take(4, SUPERSLAB_MIXED);
    assert_ptr_equal(again.start, used.start); /* what was used is still warm */
    assert_false(again.zeroed);
    superslab_give(again.home, again.start, 4);
    assert_int_equal(superslab_purge_rested(ALWAYS), 0);
    superslab_end_look();
    assert_int_equal(superslab_purge_rested(ALWAYS), 4 * (size_t)UNIT_SIZE);
    superslab_end_look();
    check_room();
}

/* The peak is what was in use at once, a sixteenth above that may be dirty; what is claimed to be purged or unmapped is not in use. */
static void superslab_peak_is_of_what_was_in_use(void **state) {
    (void)state;
    superslabs.used_peak = 0;
    for (int i = 0; i < 32; i++)
        assert_true(run_take(16));
    size_t peak = 32 * 16 * (size_t)UNIT_SIZE;
    assert_int_equal(superslab_below_peak_bytes(), peak / 16);
    run_extend(&runs[0], 1);
    assert_true(superslabs.used_peak * UNIT_SIZE >= peak);
    while (run_count > 8)
        run_give(run_count - 1);
    superslabs.used_peak = superslabs.mapped_units - superslabs.free_units;
    peak = superslabs.used_peak;
    superslab_unmap_free();
    superslab_purge(0, ALWAYS);
    assert_int_equal(superslabs.used_peak, peak);
    run_give_all();
    assert_int_equal(superslab_below_peak_bytes(), (peak + peak / 16) * UNIT_SIZE);
    check_room();
}

/* Takes runs until a superslab is mapped for the last one. Returns how many MiB were mapped for it. */
static size_t grow_once(void) {
    size_t mapped = superslabs.mapped_units;
    while (superslabs.mapped_units == mapped) {
        assert_true(run_take(16));
        dense_count(DENSE_SHORT, 16);
    }
    return (superslabs.mapped_units - mapped) * UNIT_SIZE / MIB;
}

void dense_count(enum dense_kind kind, size_t units) {
    assert_int_equal(kind, DENSE_SHORT);
    dense_fake.units += units;
}

enum dense_known dense_known(enum dense_kind kind) {
    assert_int_equal(kind, DENSE_SHORT);
    return dense_fake.short_known ? DENSE_NO : dense_fake.known;
}

size_t dense_units(bool hoped) {
    return dense_fake.known == DENSE_YES || (hoped && dense_fake.known == DENSE_UNKNOWN) ? dense_fake.units
                                                                                         : 0;
}

/* Whether units of longer blocks are touched in every page is to be seen in small pages first: in few, until it is known. */
static void superslab_learns_whether_units_are_dense(void **state) {
    (void)state;
    superslab_unmap_free();
    superslab_configure(12 * MIB, true, false);
    while (superslabs.mapped_units * UNIT_SIZE < 24 * MIB)
        grow_once();
    assert_int_equal(grow_once(), 4); /* half as much again would be three times that */
    assert_false(runs[run_count - 1].home->huge);
    dense_fake.known = DENSE_NO;
    assert_true(grow_once() >= 12);
    assert_false(runs[run_count - 1].home->huge);
    dense_fake.known = DENSE_YES;
    assert_true(grow_once() >= 16);
    assert_true(runs[run_count - 1].home->huge);
    dense_count(DENSE_SHORT, 16 * -(size_t)run_count);
    run_give_all();
    size_t below = superslab_below_peak_bytes();
    dense_fake.known = DENSE_NO; /* what stays dirty may be more than the next ones touch */
    assert_in_range(superslab_below_peak_bytes(), below / 16 * 12, below / 16 * 12 + 12);
    dense_fake.known = DENSE_UNKNOWN;
    assert_int_equal(superslab_below_peak_bytes(), below);
    dense_fake.known = DENSE_NO;
    superslabs.sorts = true; /* less so where those that do are some, and lie apart */
    assert_true(run_take(16));
    assert_in_range(superslab_below_peak_bytes(), (below - MIB) / 16 * 12, (below - MIB) / 16 * 12 + 12);
    dense_fake.known = DENSE_YES;
    dense_fake.units = 4;
    dense_fake.short_known = true;
    assert_in_range(superslab_below_peak_bytes(), (below - MIB) / 16 * 14, (below - MIB) / 16 * 14 + 14);
    dense_fake.units = 3;
    assert_in_range(superslab_below_peak_bytes(), (below - MIB) / 16 * 12, (below - MIB) / 16 * 12 + 12);
    dense_fake.short_known = false;
    dense_fake.units = 0;
    run_give_all();
    superslabs.sorts = false;
    dense_fake.known = DENSE_UNKNOWN;
    superslab_configure(SIZE_MAX, true, false);
    check_room();
}

/* From the first byte on, dense or not; or never, however large. */
static void superslab_asks_for_huge_pages_as_told(void **state) {
    (void)state;
    superslab_unmap_free();
    superslab_configure(0, true, false);
    for (int i = 0; i < 20; i++) { /* several superslabs, of which nothing is known to be dense */
        assert_true(run_take(16));
        assert_true(runs[i].home->huge);
    }
    assert_true(superslabs.count > 1);
    run_give_all();
    superslab_unmap_free();
    superslab_configure(SIZE_MAX, true, false);
    dense_fake.known = DENSE_YES;
    while (superslabs.mapped_units * UNIT_SIZE < 24 * MIB)
        grow_once();
    assert_false(runs[run_count - 1].home->huge);
    dense_fake.known = DENSE_UNKNOWN;
    dense_count(DENSE_SHORT, 16 * -(size_t)run_count);
    check_room();
}

static bool addresses_are_few;
static unsigned asked_for_addresses;

bool fake_addresses_are_few(void) {
    asked_for_addresses++;
    return addresses_are_few;
}

/* A heap of 26 MiB, of which 12 are dense; what it takes next, dense or not, is of new memory. */
static void grow_mixed(void) {
    superslab_unmap_free();
    superslabs.sorts = superslabs.mixes = false;
    superslab_configure(12 * MIB, true, false);
    dense_fake.known = DENSE_NO;
    while (superslabs.mapped_units * UNIT_SIZE < 26 * MIB)
        grow_once();
    while (superslab_find(16))
        assert_true(run_take(16));
    dense_fake.known = DENSE_YES;
    dense_fake.units = 12 * MIB / UNIT_SIZE;
}

static struct superslab *home_of_next(unsigned units, enum superslab_use use) {
    run_use = use;
    assert_true(run_take(units));
    return runs[run_count - 1].home;
}

static void end_mixed(void) {
    run_use = SUPERSLAB_MIXED;
    superslabs.sorts = superslabs.mixes = false;
    dense_fake.known = DENSE_UNKNOWN;
    dense_fake.units = 0;
    run_give_all();
    superslab_unmap_free();
    superslab_configure(SIZE_MAX, true, false);
    check_room();
}

/* In a heap that is not dense what fills its pages lies in huge ones, side by side, and what does not in small ones. */
static void superslab_sorts_what_fills_its_pages(void **state) {
    (void)state;
    grow_mixed();
    size_t mapped = superslabs.mapped_units;
    asked_for_addresses = 0;
    struct superslab *dense = home_of_next(4, SUPERSLAB_FILLS);
    assert_true(superslabs.sorts && dense->huge);
    assert_int_equal(dense->free, ~superslab_mask(0, 4)); /* it is new */
    assert_int_equal(superslabs.mapped_units, mapped + SUPERSLAB_UNITS);
    assert_false(home_of_next(4, SUPERSLAB_MIXED)->huge);
    for (int i = 0; i < 14; i++)
        assert_ptr_equal(home_of_next(4, SUPERSLAB_FILLS), dense);
    assert_ptr_equal(home_of_next(3, SUPERSLAB_FILLS), dense);
    struct superslab *next = home_of_next(4, SUPERSLAB_FILLS);
    assert_true(next->huge && next != dense);
    for (int i = 0; i < 70; i++) /* whatever is free in huge pages */
        assert_false(home_of_next(1, SUPERSLAB_MIXED)->huge);
    while (superslab_find_kind(16, false))
        home_of_next(16, SUPERSLAB_MIXED);
    struct superslab *vacant = superslabs.vacant;
    superslabs.vacant = NULL;                              /* what is new now is the last one */
    assert_false(home_of_next(16, SUPERSLAB_MIXED)->huge); /* and if that takes new addresses */
    superslabs.vacant = vacant;
    assert_int_equal(bits_count(dense->free) + bits_count(next->free), 1 + SUPERSLAB_UNITS - 4);
    assert_true(home_of_next(1, SUPERSLAB_FILLS)->huge);
    assert_int_equal(asked_for_addresses, 1);
    check_room();
    end_mixed();
}

/* What is in memory serves first, where it is of the same kind before others. */
static void superslab_takes_what_is_warm_before_what_is_sorted(void **state) {
    (void)state;
    grow_mixed();
    struct superslab *small = runs[0].home;
    run_give(0);
    assert_ptr_equal(home_of_next(16, SUPERSLAB_FILLS), small);
    assert_false(superslabs.sorts);
    struct superslab *huge = home_of_next(16, SUPERSLAB_FILLS);
    assert_true(huge->huge);
    run_give(run_count - 1);
    assert_ptr_equal(home_of_next(16, SUPERSLAB_MIXED), huge);
    run_give(run_count - 1);
    small = runs[0].home;
    run_give(0);
    assert_ptr_equal(home_of_next(16, SUPERSLAB_FILLS), huge);
    assert_ptr_equal(home_of_next(16, SUPERSLAB_MIXED), small);
    end_mixed();
}

/* Nor is a huge page begun as long as there is some of it anywhere, if not where the next run would be. */
static void superslab_takes_what_is_warm_before_it_sorts(void **state) {
    (void)state;
    superslab_unmap_free();
    superslabs.sorts = superslabs.mixes = false;
    superslab_configure(2 * MIB, true, false);
    struct superslab *vacant = superslabs.vacant;
    superslabs.vacant = NULL; /* the next one is higher than this one */
    dense_fake.known = DENSE_NO;
    while (bits_count(home_of_next(1, SUPERSLAB_FILLS)->free) % SUPERSLAB_UNITS != 15)
        ; /* so many are left of the first, untouched */
    struct superslab *first = runs[run_count - 1].home, *second = home_of_next(16, SUPERSLAB_FILLS);
    superslabs.vacant = vacant;
    assert_true(second->number > first->number);
    run_give(run_count - 1);
    dense_fake.known = DENSE_YES;
    dense_fake.units = 2 * MIB / UNIT_SIZE;
    superslabs.warm_from = first->number; /* other tests have left more than one search looks at */
    for (unsigned i = 0; i < 4; i++)
        assert_ptr_equal(home_of_next(4, SUPERSLAB_FILLS), second);
    assert_false(superslabs.sorts);
    assert_true(home_of_next(4, SUPERSLAB_FILLS)->huge);
    assert_true(superslabs.sorts);
    end_mixed();
}

/* Nothing is sorted where little is dense, or nearly all; nor at once because a heap was mixed before. */
static void superslab_sorts_only_where_it_pays(void **state) {
    (void)state;
    grow_mixed();
    dense_fake.units--;
    assert_false(home_of_next(4, SUPERSLAB_FILLS)->huge);
    assert_false(superslabs.sorts);
    dense_fake.units++;
    assert_false(home_of_next(4, SUPERSLAB_MIXED)->huge);
    assert_false(superslabs.sorts);
    struct superslab *dense = home_of_next(4, SUPERSLAB_FILLS);
    assert_true(dense->huge);
    dense_fake.units--; /* too few for more of it: what is there serves, and then small pages */
    size_t mapped = superslabs.mapped_units;
    while (superslab_find(16))
        home_of_next(16, SUPERSLAB_FILLS);
    assert_int_equal(superslabs.mapped_units, mapped);
    assert_false(home_of_next(16, SUPERSLAB_FILLS)->huge);
    dense_fake.units = superslabs.mapped_units; /* all: what is new is in huge pages, and for anybody */
    while (superslab_find_kind(16, false))
        assert_false(home_of_next(16, SUPERSLAB_MIXED)->huge);
    assert_true(home_of_next(16, SUPERSLAB_MIXED)->huge);
    mapped = superslabs.mapped_units;
    assert_true(home_of_next(16, SUPERSLAB_MIXED)->huge);
    assert_int_equal(superslabs.mapped_units, mapped);
    end_mixed();
}

/* Nor where the heap grows in huge pages anyway, nor where mappings are few. Where nothing is sorted the lowest serves. */
static void superslab_sorts_nothing_while_all_are_alike(void **state) {
    (void)state;
    grow_mixed();
    dense_fake.units = superslabs.mapped_units;
    struct superslab *huge = home_of_next(16, SUPERSLAB_FILLS); /* new */
    assert_true(huge->huge);
    assert_ptr_equal(home_of_next(16, SUPERSLAB_FILLS), huge); /* there */
    assert_false(superslabs.sorts);
    while (superslab_find(16))
        home_of_next(16, SUPERSLAB_MIXED);
    dense_fake.units = 12 * MIB / UNIT_SIZE;
    atomic_store(&limit.tight, true);
    assert_false(home_of_next(16, SUPERSLAB_FILLS)->huge);
    assert_false(superslabs.sorts);
    atomic_store(&limit.tight, false);
    for (unsigned huge_too = 0; huge_too < 2; huge_too++) { /* one in small pages, one in huge ones */
        unsigned run = 0;
        while (runs[run].home->huge != huge_too)
            assert_true(++run < run_count);
        run_give(run);
    }
    for (uint32_t lowest = 0; superslab_find(16); lowest = 0) {
        while ((*superslab_at(lowest))->longest < 16)
            lowest++;
        assert_int_equal(home_of_next(16, SUPERSLAB_MIXED)->number, lowest);
    }
    end_mixed();
}

/* Of a small heap only what fills its pages, from as much on as is told, however dense it is as a whole; of one of 12 MiB all. */
static void superslab_sorts_small_heaps(void **state) {
    (void)state;
    superslab_unmap_free();
    superslabs.sorts = superslabs.mixes = false;
    superslab_configure(2 * MIB, true, false);
    dense_fake.known = DENSE_YES;
    dense_fake.units = 2 * MIB / UNIT_SIZE - 1;
    assert_false(home_of_next(16, SUPERSLAB_FILLS)->huge);
    dense_fake.units = 2 * MIB / UNIT_SIZE;
    struct superslab *dense = home_of_next(16, SUPERSLAB_FILLS);
    assert_true(dense->huge);
    while (superslab_find_kind(16, false))
        assert_false(home_of_next(16, SUPERSLAB_MIXED)->huge);
    dense_fake.units = 12 * MIB / UNIT_SIZE;
    while (run_count < 12 * MIB / UNIT_SIZE / 16)
        assert_false(home_of_next(16, SUPERSLAB_MIXED)->huge);
    while (superslab_find_kind(16, false))
        home_of_next(16, SUPERSLAB_MIXED);
    assert_true(home_of_next(16, SUPERSLAB_MIXED)->huge);
    end_mixed();
}

/* A heap of 12 MiB all of which gets huge pages. */
static void grow_huge(void) {
    grow_mixed();
    dense_fake.units = 2 * superslabs.mapped_units;
    while (superslab_find(16))
        assert_true(run_take(16));
    assert_true(home_of_next(16, SUPERSLAB_MIXED)->huge && !superslabs.sorts);
}

/* Units of huge pages that are in memory, or will be. */
static unsigned begun_huge(void) {
    unsigned begun = 0;
    for (uint32_t number = 0; number < superslabs.count; number++) {
        const struct superslab *home = *superslab_at(number);
        begun += home->start && home->huge ? (unsigned)bits_count(superslab_begun(home)) : 0;
    }
    return begun;
}

static struct superslab_run roomy_run(void) {
    struct superslab_run run = superslab_take_roomy(2);
    runs[run_count++] = (struct run){run.start, run.home, 2};
    return run;
}

/* Room for what will grow is in small pages there, where it costs addresses only; where no more are to be had it is in huge ones that are begun, or there
 * is none: each would be in memory as a whole for the sake of a few units. */
static void superslab_room_begins_no_huge_page(void **state) {
    (void)state;
    grow_huge();
    unsigned begun = begun_huge();
    assert_true(begun > 0);
    size_t mapped = superslabs.mapped_units;
    for (unsigned i = 0; i < SUPERSLAB_UNITS / 16; i++) {
        struct superslab_run run = roomy_run();
        assert_false(run.home->huge);
        assert_int_equal((size_t)(run.start - run.home->start) % (16 * (size_t)UNIT_SIZE), 0);
    }
    assert_int_equal(superslabs.mapped_units, mapped + SUPERSLAB_UNITS);
    kernel.map.refuse = ALWAYS;
    for (unsigned i = 0; i < AREA_UNITS / 4; i++)
        roomy_run();
    kernel.map.refuse = 0;
    assert_int_equal(begun_huge(), begun);
    end_mixed();
}

/* What is sparse gets small pages there, too, and no more of them than it needs; the others go on as they did. */
static void superslab_keeps_what_is_sparse_in_small_pages(void **state) {
    (void)state;
    grow_huge();
    size_t mapped = superslabs.mapped_units;
    for (unsigned i = 0; i < SUPERSLAB_UNITS / 16; i++)
        assert_false(home_of_next(16, SUPERSLAB_SPARSE)->huge);
    assert_int_equal(superslabs.mapped_units, mapped + SUPERSLAB_UNITS);
    assert_true(superslabs.sorts);
    assert_true(home_of_next(4, SUPERSLAB_MIXED)->huge);
    assert_true(home_of_next(4, SUPERSLAB_FILLS)->huge);
    assert_false(home_of_next(4, SUPERSLAB_SPARSE)->huge);
    while (superslab_find_kind(16, true)) /* nor does it fill what is free of huge ones */
        assert_false(home_of_next(16, SUPERSLAB_SPARSE)->huge || !home_of_next(16, SUPERSLAB_FILLS)->huge);
    check_room();
    end_mixed();
}

/* A heap that sorts, and is small again, has huge pages only, which are free: small ones come one superslab at a time. */
static void superslab_grows_little_while_much_is_free(void **state) {
    (void)state;
    grow_huge();
    home_of_next(16, SUPERSLAB_SPARSE);
    assert_true(superslabs.sorts);
    while (superslab_find_kind(16, false))
        home_of_next(16, SUPERSLAB_SPARSE);
    superslab_purge(0, ALWAYS);
    dense_fake.units = 0;
    size_t mapped = superslabs.mapped_units;
    assert_true(mapped >= 8 * SUPERSLAB_UNITS);
    assert_false(home_of_next(16, SUPERSLAB_MIXED)->huge);
    assert_int_equal(superslabs.mapped_units, mapped + SUPERSLAB_UNITS);
    check_room();
    end_mixed();
}

/* But it takes what is in memory; where addresses are few what there is; and where all is to be huge from the first byte on nothing is told apart. */
static void superslab_takes_huge_pages_for_what_is_sparse(void **state) {
    (void)state;
    grow_huge();
    home_of_next(16, SUPERSLAB_MIXED);
    run_give(run_count - 1);
    assert_true(home_of_next(16, SUPERSLAB_SPARSE)->huge && !superslabs.sorts);
    addresses_are_few = true;
    assert_true(home_of_next(16, SUPERSLAB_SPARSE)->huge && superslabs.mixes);
    addresses_are_few = false;
    assert_true(home_of_next(16, SUPERSLAB_SPARSE)->huge && !superslabs.sorts); /* for good */
    superslabs.mixes = false;
    superslab_configure(0, true, false);
    assert_true(home_of_next(16, SUPERSLAB_SPARSE)->huge && !superslabs.sorts);
    while (superslab_find(16))
        home_of_next(16, SUPERSLAB_SPARSE);
    assert_true(home_of_next(16, SUPERSLAB_SPARSE)->huge);
    end_mixed();
}

/* Where addresses are few nothing is sorted, which is asked once. */
static void superslab_sorts_nothing_where_addresses_are_few(void **state) {
    (void)state;
    grow_mixed();
    addresses_are_few = true;
    asked_for_addresses = 0;
    for (int i = 0; i < 2; i++)
        assert_false(home_of_next(16, SUPERSLAB_FILLS)->huge);
    assert_int_equal(asked_for_addresses, 1);
    assert_true(superslabs.mixes && !superslabs.sorts);
    while (superslab_find(16))
        home_of_next(16, SUPERSLAB_FILLS);
    assert_false(home_of_next(16, SUPERSLAB_FILLS)->huge);
    superslabs.mixes = false;
    superslab_ask_nothing();
    assert_true(home_of_next(16, SUPERSLAB_FILLS)->huge); /* nobody knows */
    assert_int_equal(asked_for_addresses, 1);
    superslabs.asks_nothing = addresses_are_few = false;
    end_mixed();
}

/* Nor any more when no memory for a superslab was to be had: each takes what the other has left, and no call is made in vain. */
static void superslab_mixes_when_memory_is_refused(void **state) {
    (void)state;
    for (int fills = 0; fills < 2; fills++) {
        grow_mixed();
        struct superslab *dense = home_of_next(16, SUPERSLAB_FILLS),
                         *other = home_of_next(16, SUPERSLAB_MIXED);
        assert_true(dense->huge && !other->huge && superslabs.sorts);
        while (superslab_find_kind(16, fills))
            home_of_next(16, fills);
        assert_true(superslab_find_kind(16, !fills));
        size_t mapped = superslabs.mapped_units;
        kernel.largest_map = SUPERSLAB_SIZE / 2; /* pieces are to be had, and not wanted */
        assert_int_equal(home_of_next(16, fills)->huge, !fills);
        assert_true(superslabs.mixes && !superslabs.sorts);
        assert_int_equal(superslabs.mapped_units, mapped);
        kernel.map.refuse = ALWAYS;
        unsigned before = kernel.map.count;
        while (superslab_find(16))
            home_of_next(16, fills);
        assert_int_equal(kernel.map.count, before);
        assert_false(run_take(16));
        check_room();
        kernel_reset(state);
        assert_false(home_of_next(16, SUPERSLAB_FILLS)->huge);
        end_mixed();
    }
}

enum { PACKED = 4 };

static unsigned areas_in_use(void) {
    unsigned count = 0;
    for (uint32_t number = 0; number < superslabs.count; number++)
        for (unsigned area = 0; area < SUPERSLAB_UNITS / AREA_UNITS; area++) {
            const struct superslab *home = *superslab_at(number);
            count += home->start && home->units == SUPERSLAB_UNITS &&
                     (home->free & superslab_mask(area * AREA_UNITS, AREA_UNITS)) == 0;
        }
    return count;
}

static bool pack_few(void) {
    unsigned before = kernel.advise.count;
    bool more = superslab_pack(PACKED);
    assert_true(kernel.advise.count - before <= PACKED);
    return more;
}

/* Pieces of advice until there is nothing left to pack; few in one look. */
static unsigned pack_all(void) {
    unsigned before = kernel.advise.count;
    assert_true(pack_few()); /* whether something rests is known from the second look on */
    while (pack_few())
        continue;
    return kernel.advise.count - before;
}

/* Once the heap is large, dense or not, or sorts, areas that are in use and in memory as a whole become huge pages; again, when a part was
 * home. */
static void packs_areas(bool sorts) {
    superslab_unmap_free();
    kernel.before_advise = NULL; /* somebody has them */
    superslabs.keep_small = false;
    while (areas_in_use() < 12 || superslabs.free_units > 0)
        assert_true(run_take(16));
    for (unsigned i = 0; i < run_count; i++)
        memset(runs[i].start, 1, (size_t)runs[i].units * UNIT_SIZE);
    dense_fake.known = DENSE_NO;
    superslab_configure(superslabs.mapped_units * UNIT_SIZE + 1, true, false);
    unsigned before = kernel.advise.count;
    assert_false(superslab_pack(PACKED)); /* it is not large */
    assert_false(superslab_pack(PACKED));
    assert_false(superslab_seems_large());
    superslabs.sorts = sorts;
    superslabs.huge_from -= sorts ? 0 : 1;
    assert_int_equal(superslab_seems_large(), !sorts);
    atomic_store(&limit.tight, true); /* mappings may not be few */
    assert_false(superslab_pack(PACKED));
    atomic_store(&limit.tight, false);
    os_advise(runs[0].start, AREA_SIZE - PACKED_LEAST + os_page_size(), OS_DONTNEED); /* no longer whole */
    for (int reason = 0; reason < 2; reason++) { /* nobody may ask what is in memory; somebody packs */
        unsigned calls = kernel.advise.count;
        superslabs.asks_nothing = reason == 0;
        superslabs.packing = reason == 1 ? runs[1].home : NULL;
        superslab_pack(PACKED);
        superslab_pack(PACKED);
        assert_int_equal(kernel.advise.count, calls);
    }
    superslabs.asks_nothing = false;
    superslabs.packing = NULL;
    for (unsigned packed = 1; packed <= 2; packed++) {
        assert_true(superslab_pack(1));
        assert_int_equal(kernel.advise.count, before + 1 + packed);
    }
    assert_int_equal(pack_all(), areas_in_use() - 1 - 2);
    assert_false(superslab_pack(PACKED));
    assert_int_equal(kernel.advise.count, before + 1 + areas_in_use() - 1);
    superslabs.sorts = false;
    superslab_configure(12 * MIB, true, false);

    struct run last = runs[run_count - 1];
    superslab_give(last.home, last.start, last.units);
    assert_false(superslab_pack(PACKED)); /* in use in part only */
    assert_int_equal(superslab_purge(0, ALWAYS), (size_t)last.units * UNIT_SIZE);
    struct superslab_run again = superslab_take(last.units, SUPERSLAB_MIXED);
    assert_ptr_equal(again.start, last.start);
    memset(again.start, 1, (size_t)last.units * UNIT_SIZE);
    assert_int_equal(pack_all(), 1);

    superslabs.packing = last.home; /* while that is under way it stays mapped */
    run_give_all();
    superslab_unmap_free();
    assert_non_null(last.home->start);
    superslabs.packing = NULL;
    dense_fake.known = DENSE_UNKNOWN;
    superslab_configure(SIZE_MAX, true, false);
    check_room();
}

static void superslab_packs_areas_of_a_large_heap(void **state) {
    packs_areas(false);
    setup(state);
    packs_areas(true);
}

static size_t shed(bool now, bool expect_later) {
    bool later = false;
    size_t bytes = superslab_shed(now, &later);
    assert_int_equal(later, expect_later);
    return bytes / UNIT_SIZE;
}

/* Two runs of four units, with room between and behind them, in an area that is in memory as a whole. */
static struct superslab_run begin_area(void) {
    superslab_unmap_free();
    superslab_configure(0, true, false);
    kernel.before_advise = NULL; /* for an area of which somebody has the rest */
    assert_true(run_take(4));
    struct superslab_run roomy = superslab_take_roomy(4);
    assert_ptr_equal(roomy.start, (unsigned char *)runs[run_count - 1].start + 16 * UNIT_SIZE);
    return roomy;
}

static void end_area(struct superslab_run roomy) {
    superslab_give(roomy.home, roomy.start, roomy.units);
    run_give_all();
    while (superslab_purge(0, ALWAYS) > 0)
        continue;
    superslab_configure(SIZE_MAX, true, false);
    check_room();
}

static void look(unsigned times) {
    while (times-- > 0)
        superslab_end_look();
}

/* An area that is begun is in memory as a whole. What nobody was given of it goes home when the superslab has not grown for a few looks,
 * once. */
static void superslab_sheds_what_came_with_a_huge_page(void **state) {
    (void)state;
    struct superslab_run roomy = begin_area();
    struct superslab *home = roomy.home;
    unsigned before = kernel.advise.count;
    size_t held = limit.held;
    look(SHED_AFTER - 1);
    assert_int_equal(shed(false, true), 0);
    assert_true(run_take(1)); /* it still grows */
    look(SHED_AFTER - 1);
    assert_int_equal(shed(false, true), 0);
    assert_int_equal(kernel.advise.count, before);
    run_give(1);
    assert_true(run_take(1)); /* what is in memory is no growth */
    look(1);
    assert_int_equal(shed(false, true), AREA_UNITS - 9);
    assert_int_equal(kernel.advise.count, before + 3); /* small pages from here on, and two pieces */
    assert_int_equal(limit.held, held + UNIT_SIZE);
    assert_int_equal(shed(true, false), 0);
    assert_int_equal(home->free & home->dirty, 0);
    assert_true(run_take(11)); /* of what was shed: it is zeroed */
    assert_in_range((uintptr_t)runs[2].start, (uintptr_t)home->start, (uintptr_t)roomy.start);
    run_give_all();
    superslab_give(home, roomy.start, 4);
    while (superslab_purge(0, ALWAYS) > 0)
        continue;
    assert_int_equal(home->absent, 0); /* it is huge again, as it was free as a whole */
    assert_true(run_take(4));
    roomy = superslab_take_roomy(4);
    look(SHED_AFTER);
    assert_int_equal(shed(false, true), AREA_UNITS - 8);
    end_area(roomy);
}

/* A quarter of an area, or what there is where it is split already; nothing where memory does not go home, or comes by small pages. At
 * once, if it is to. */
static void superslab_sheds_what_is_worth_it(void **state) {
    (void)state;
    for (unsigned units = 1; units <= 12; units++) {
        struct superslab_run roomy = begin_area();
        unsigned unused = AREA_UNITS - 4 - units - 12;
        bool enough = unused >= SPLIT_LEAST;
        assert_true(run_take(units));
        roomy.units += superslab_extend(roomy.home, roomy.start, roomy.units, 8) ? 8 : 0;
        assert_int_equal(roomy.units, 12);
        superslab_configure(0, false, false);
        assert_int_equal(shed(true, false), 0);
        superslab_configure(0, true, false);
        assert_int_equal(shed(true, enough), enough ? unused : 0);
        if (!enough) {
            run_give(1);
            superslab_purge(0, ALWAYS);
            assert_int_equal(shed(true, true), unused);
        }
        end_area(roomy);
    }
    superslab_unmap_free();
    assert_true(run_take(4)); /* in small pages nothing comes that nobody was given */
    assert_false(runs[run_count - 1].home->huge);
    assert_int_equal(shed(true, false), 0);
    run_give_all();
}

/* One call in a second that is not over soon. */
static void spend_budget(void) {
    limit.budget = 1;
    while (limit_may_purge())
        continue;
    atomic_store(&limit.spent, (1ULL << 62) + 1);
}

/* The rest goes later, when there is a budget again. */
static void superslab_sheds_within_the_budget(void **state) {
    (void)state;
    struct superslab_run roomy = begin_area();
    spend_budget();
    assert_int_equal(shed(true, true), 0);
    atomic_store(&limit.spent, 1ULL << 62);
    assert_int_equal(shed(true, true), 12);
    atomic_store(&limit.spent, 1ULL << 62);
    assert_int_equal(shed(true, true), 12);
    atomic_store(&limit.spent, 1ULL << 62);
    assert_int_equal(shed(true, false), 0);
    limit.budget = 0;
    end_area(roomy);
}

static unsigned children_well;

/* While pages are given home the lock is not held, and a fork may come. Counts the children in which it holds, once what they have is home. */
static void fork_and_purge(bool (*holds)(void)) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        superslab_lock(true);
        superslab_in_child();
        superslab_lock(false);
        _exit(holds() && superslabs.dirty_units == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    children_well += status == 0;
}

static bool what_is_shed_counts_as_dirty(void) {
    kernel.before_advise = NULL;
    superslab_purge(0, ALWAYS);
    return limit.held == (superslabs.mapped_units - superslabs.free_units) * UNIT_SIZE;
}

static void fork_while_it_sheds(void *start, size_t bytes) {
    (void)start;
    (void)bytes;
    fork_and_purge(what_is_shed_counts_as_dirty);
}

static void superslab_sheds_while_a_fork_comes(void **state) {
    (void)state;
    struct superslab_run roomy = begin_area();
    unsigned before = kernel.advise.count;
    children_well = 0;
    kernel.before_advise = fork_while_it_sheds;
    assert_int_equal(shed(true, true), AREA_UNITS - 8);
    assert_int_equal(children_well, kernel.advise.count - before);
    assert_int_equal(children_well, 3);
    kernel.before_advise = NULL;
    end_area(roomy);
}

/* Takes as many units, or a piece that was freed; gives it back to nobody. Returns how many it got. */
static unsigned units_of_some(unsigned least, unsigned most, const struct superslab *home) {
    assert_true(run_take_some(least, most));
    assert_true(!home || runs[run_count - 1].home == home);
    return runs[run_count - 1].units;
}

static void run_give_unit(const struct superslab *home, unsigned unit) {
    unsigned which = 0;
    while (runs[which].start != home->start + unit * (size_t)UNIT_SIZE)
        assert_true(++which < run_count);
    run_give(which);
}

/* Where no run that is long enough holds memory, but shorter ones do, the longest of these in the next superslab that has one is taken. */
static void superslab_takes_warm_pieces(void **state) {
    (void)state;
    superslab_unmap_free();
    superslabs.warm_from = 0;
    while (run_count < 2 * SUPERSLAB_UNITS)
        assert_true(run_take(1));
    const struct superslab *first = *superslab_at(runs[0].home->number),
                           *second = *superslab_at(runs[SUPERSLAB_UNITS].home->number);
    assert_int_equal(units_of_some(1, 4, NULL), 4); /* nothing is dirty */
    run_give_unit(first, 0);
    assert_int_equal(units_of_some(1, 4, first), 1);
    run_give(run_count - 1);
    for (unsigned unit = 2; unit < 20; unit += 2)
        run_give_unit(first, unit);
    for (unsigned unit = 1; unit < 6; unit++)
        if (unit != 3)
            run_give_unit(second, unit);
    run_give_unit(second, 6);
    assert_int_equal(units_of_some(2, 4, second), 3); /* the longest */
    assert_int_equal(units_of_some(2, 4, second), 2);
    while (superslab_find(4))
        assert_true(run_take(4));
    for (unsigned unit = 30; unit < 34; unit++)
        run_give_unit(second, unit);
    superslabs.warm_from = first->number;
    assert_int_equal(units_of_some(1, 4, second), 4); /* one that is long enough goes first */
    run_give_all();
    check_room();
}

/* A search looks at a few superslabs, and the next one goes on behind them. */
static void superslab_search_for_warm_pieces_is_bounded(void **state) {
    (void)state;
    superslab_unmap_free();
    while (run_count < 4 * (WARM_LOOKS + 2)) /* four to a superslab */
        assert_true(run_take(16));
    const struct superslab *last = runs[run_count - 1].home;
    for (unsigned i = run_count - 4; i < run_count; i++) {
        assert_ptr_equal(runs[i].home, last);
        run_shorten(&runs[i], 12);
    }
    superslabs.warm_from = 0;
    assert_true(run_take(8)); /* who needs that many does not search */
    assert_int_equal(superslabs.warm_from, 0);
    assert_int_equal(units_of_some(1, 8, NULL), 8);
    assert_int_equal(superslabs.warm_from, WARM_LOOKS);
    assert_int_equal(units_of_some(1, 8, last), 4);
    run_give_all();
    check_room();
}

/* Gives back `count` of the unit-long runs[], from `first` on. */
static void give_units(const struct run *given, unsigned first, unsigned count) {
    for (unsigned i = first; i < first + count; i++)
        superslab_give(given[i].home, given[i].start, 1);
}

/* A huge page is not split for less than a quarter of it that rested; then all of that goes, and the next ones as they come. */
static void superslab_few_units_stay_in_a_huge_page(void **state) {
    (void)state;
    const unsigned few = SPLIT_LEAST - 1;
    superslab_unmap_free();
    kernel.before_advise = NULL; /* for an area of which somebody has the rest */
    superslab_configure(0, true, false);
    for (unsigned i = 0; i < SUPERSLAB_UNITS; i++)
        assert_true(run_take(1));
    struct superslab *home = runs[0].home;
    unsigned char *start = home->start, *second = start + AREA_SIZE;
    assert_true(home->huge && home->free == 0);
    give_units(runs, 0, few);
    give_units(runs, AREA_UNITS, few);
    superslab_end_look();
    give_units(runs, AREA_UNITS + few, 1);
    assert_int_equal(superslab_purge_rested(ALWAYS), 0); /* the last one did not rest */
    assert_int_equal(superslab_dirty_bytes(), (2 * few + 1) * (size_t)UNIT_SIZE);
    assert_int_equal(superslab_staying_bytes(), 2 * few * (size_t)UNIT_SIZE);
    assert_false(superslab_lets_go(home, second, UNIT_SIZE, UNIT_SIZE / 2 - 1));
    superslab_end_look();
    assert_int_equal(superslab_purge_rested(ALWAYS), (few + 1) * (size_t)UNIT_SIZE);
    assert_int_equal(superslab_staying_bytes(), few * (size_t)UNIT_SIZE);
    struct superslab_run one = superslab_take(1, SUPERSLAB_MIXED),
                         another = superslab_take(1, SUPERSLAB_MIXED);
    superslab_give(one.home, one.start, 1);
    superslab_give(another.home, another.start, 1);
    assert_int_equal(superslab_dirty_bytes() - superslab_staying_bytes(),
                     2 * (size_t)UNIT_SIZE); /* lately used */
    assert_int_equal(superslab_purge_rested(ALWAYS), 0);
    assert_true(superslab_lets_go(home, second, UNIT_SIZE, 0)); /* that area is split */
    assert_true(superslab_comes_huge(home, start) && !superslab_comes_huge(home, second));
    assert_false(superslab_lets_go(home, start, UNIT_SIZE, UNIT_SIZE / 2 - 1));
    assert_true(superslab_lets_go(home, start, UNIT_SIZE, UNIT_SIZE / 2));
    give_units(runs, SUPERSLAB_UNITS - 1, 1);
    superslab_end_look();
    assert_int_equal(superslab_purge_rested(ALWAYS), UNIT_SIZE);
    assert_int_equal(superslab_purge(0, ALWAYS), few * (size_t)UNIT_SIZE); /* at once means all */
    for (unsigned i = run_count; i > 0; i--)                               /* what is left of them */
        if (i - 1 < few || (i - 1 >= AREA_UNITS && i - 1 <= AREA_UNITS + few) || i == SUPERSLAB_UNITS)
            runs[i - 1] = runs[--run_count];
    run_give_all();
    check_room();
}

/* After a fork a huge page would be a copy of what both processes have. */
static void superslab_packs_nothing_that_is_shared(void **state) {
    (void)state;
    superslab_unmap_free();
    kernel.before_advise = NULL; /* somebody has them */
    superslabs.keep_small = false;
    superslabs.pack_from = 0;
    while (run_count < SUPERSLAB_UNITS)
        assert_true(run_take(1));
    memset(runs[0].home->start, 1, SUPERSLAB_SIZE);
    superslab_configure(0, true, false);
    int until[2];
    char nothing;
    assert_int_equal(pipe(until), 0);
    superslab_before_fork();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* as long as the other one wants, or lives */
        close(until[1]);
        _exit(read(until[0], &nothing, 1) != 0);
    }
    close(until[0]);
    unsigned before = kernel.advise.count;
    for (int look = 0; look < 3; look++)
        superslab_pack(PACKED);
    assert_int_equal(kernel.advise.count, before);
    close(until[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    superslab_pack(PACKED);
    assert_int_equal(kernel.advise.count, before + SUPERSLAB_UNITS / AREA_UNITS);
    run_give_all();
    check_room();
}

/* Where nothing is in memory there is nothing to pack, and a look asks for few areas. */
static void superslab_looks_at_few_areas(void **state) {
    (void)state;
    superslab_unmap_free();
    while (areas_in_use() < 2 * LOOKED_FOR_EACH * PACKED)
        assert_true(run_take(16));
    superslab_configure(0, true, false);
    superslabs.pack_from = 0;
    superslab_pack(PACKED);
    superslab_pack(PACKED);
    assert_int_not_equal(superslabs.pack_from, 0); /* there is more */
    for (unsigned looks = 1; superslabs.pack_from != 0; looks++) {
        assert_true(looks < areas_in_use());
        superslab_pack(PACKED);
    }
    run_give_all();
    check_room();
}

/* Four superslabs of which every other unit is in use, and the run of two for which more is mapped. */
static struct superslab_run grow_half_empty(enum dense_known known) {
    superslab_unmap_free();
    while (run_count < 4 * SUPERSLAB_UNITS)
        assert_true(run_take(1));
    assert_int_equal(superslabs.mapped_units, run_count);
    for (unsigned i = 0; i < run_count; i++)
        runs[i / 2] = i % 2 ? runs[i / 2] : runs[i];
    for (unsigned i = 0; i < 4 * SUPERSLAB_UNITS / 2; i++)
        superslab_give(runs[i].home, runs[i].start + UNIT_SIZE, 1);
    run_count /= 2;
    superslab_configure(2 * MIB, true, false);
    dense_fake.known = known;
    dense_fake.units = run_count;
    struct superslab_run run = superslab_take(2, SUPERSLAB_MIXED);
    dense_fake.known = DENSE_UNKNOWN;
    dense_fake.units = 0;
    superslab_configure(SIZE_MAX, true, false);
    superslab_give(run.home, run.start, 2);
    return run;
}

/* What is mapped next gets huge pages, or is little to learn from, only if what was mapped before is in use. */
static void superslab_half_empty_grows_in_small_pages(void **state) {
    (void)state;
    for (enum dense_known known = DENSE_UNKNOWN; known <= DENSE_YES; known++) {
        struct superslab_run run = grow_half_empty(known);
        assert_false(run.home->huge);
        assert_int_equal(superslabs.mapped_units, 6 * SUPERSLAB_UNITS);
        run_give_all();
    }
    check_room();
}

/* Where the kernel makes none, none are counted on; where it makes them unasked, a small heap asks for small ones. */
static void superslab_asks_when_the_kernel_makes_huge_pages(void **state) {
    (void)state;
    const bool kept_small = superslabs.keep_small;
    for (kernel_makes_them = OS_HUGE_NEVER; kernel_makes_them <= OS_HUGE_UNASKED; kernel_makes_them++) {
        superslab_configure(12 * MIB, true, false);
        superslab_prepare();
        assert_int_equal(superslabs.huge_from, kernel_makes_them == OS_HUGE_NEVER ? SIZE_MAX : 12 * MIB);
        assert_int_equal(superslabs.keep_small, kernel_makes_them == OS_HUGE_UNASKED);
    }
    superslabs.keep_small = kept_small;
    superslab_configure(SIZE_MAX, true, false);
}

/* What was split becomes a huge page again when it is in use and in memory as a whole, but for the few units that stay. */
static void superslab_packs_what_was_split(void **state) {
    (void)state;
    superslab_unmap_free();
    kernel.before_advise = NULL;
    superslab_configure(0, true, false);
    for (unsigned i = 0; i < SUPERSLAB_UNITS; i++)
        assert_true(run_take(1));
    struct superslab *home = runs[0].home;
    unsigned char *start = home->start;
    struct run *given = &runs[run_count - SPLIT_LEAST];
    memset(start, 1, SUPERSLAB_SIZE);
    give_units(given, 0, SPLIT_LEAST);
    assert_int_equal(superslab_purge(0, ALWAYS), SPLIT_LEAST * (size_t)UNIT_SIZE);
    assert_int_equal(home->calm, 2);
    for (int look = 0; look < 3; look++)
        superslab_pack(PACKED);
    assert_int_equal(home->calm, 2); /* a part is not in use */
    run_count -= SPLIT_LEAST;
    while (home->free)
        assert_true(run_take(1));
    superslab_pack(PACKED);
    superslab_pack(PACKED);
    assert_int_equal(home->calm, 2); /* nor in memory */
    memset(start, 1, SUPERSLAB_SIZE);
    give_units(runs, AREA_UNITS, SPLIT_LEAST - 1);
    unsigned before = kernel.advise.count;
    superslab_pack(PACKED);
    assert_int_equal(kernel.advise.count, before + 2); /* it asks for huge pages, and makes one */
    assert_int_equal(home->calm, 0);
    superslab_pack(PACKED);
    assert_int_equal(kernel.advise.count, before + 2);
    for (unsigned i = 0; i < SPLIT_LEAST - 1; i++)
        runs[AREA_UNITS + i] = runs[--run_count];
    run_give_all();
    check_room();
}

/* Runs that will grow stand sixteen units apart, where they were before; where there is no room any run will do, unless
 * address space is short. */
static void superslab_roomy_runs_are_apart(void **state) {
    (void)state;
    struct superslab_run grows[5];
    assert_true(run_take(1));
    for (int i = 0; i < 3; i++) {
        grows[i] = superslab_take_roomy(2);
        assert_ptr_equal(grows[i].start, runs[0].start + (i + 1) * (size_t)(16 * UNIT_SIZE));
        assert_true(superslab_extend(grows[i].home, grows[i].start, 2, 14));
    }
    size_t mapped = superslab_mapped_bytes();
    assert_int_equal(mapped, 64 * (size_t)UNIT_SIZE);
    superslab_give(grows[1].home, grows[1].start, 16);
    struct superslab_run again = superslab_take_roomy(2);
    assert_ptr_equal(again.start, grows[1].start);
    assert_false(again.zeroed);
    grows[1] = again;
    grows[3] =
        superslab_take_roomy(1); /* 29 units are free, 15 of them side by side at most: more are mapped */
    assert_int_equal(superslab_mapped_bytes(), 2 * mapped);
    assert_ptr_not_equal(grows[3].home, grows[0].home);
    superslab_give(grows[3].home, grows[3].start, 1);
    for (int i = 0; i < 4; i++) {
        struct superslab_run wall = superslab_take_roomy(1);
        assert_ptr_equal(wall.home, grows[3].home);
        runs[run_count++] = (struct run){wall.start, wall.home, 1};
    }
    grows[4] = superslab_take_roomy(15); /* most is free, but in pieces */
    assert_int_equal(superslab_mapped_bytes(), 2 * mapped);
    superslab_give(grows[4].home, grows[4].start, 15);
    superslab_give(grows[0].home, grows[0].start, 16);
    superslab_give(grows[1].home, grows[1].start, 2);
    superslab_give(grows[2].home, grows[2].start, 16);
    run_give_all();
    check_room();
}

static struct superslab_run roomy_at(const unsigned char *start, unsigned unit) {
    struct superslab_run run = superslab_take_roomy(2);
    assert_ptr_equal(run.start, start + unit * (size_t)UNIT_SIZE);
    return run;
}

/* With huge pages from the first byte on only one area for each ROOM_EACH units in use; those that went home may be begun again. */
static void superslab_few_areas_are_begun_for_room(void **state) {
    (void)state;
    superslab_configure(0, true, false);
    assert_true(run_take(1));
    const unsigned char *start = runs[0].start;
    struct superslab_run begun = roomy_at(start, 16), first = roomy_at(start, 32),
                         second = roomy_at(start, 48);
    struct superslab_run beside = roomy_at(start, 1);
    assert_int_equal(superslab_mapped_bytes(), 64 * (size_t)UNIT_SIZE);
    superslab_give(first.home, first.start, 2);
    superslab_purge(0, ALWAYS);
    first = roomy_at(start, 32); /* the area holds the second one */
    superslab_give(first.home, first.start, 2);
    superslab_give(second.home, second.start, 2);
    superslab_purge(0, ALWAYS);
    first = roomy_at(start, 32);
    second = roomy_at(start, 48);
    while (run_count < ROOM_EACH)
        assert_true(run_take(1));
    struct superslab_run third = superslab_take_roomy(2);
    assert_int_equal((size_t)(third.start - third.home->start) % (16 * (size_t)UNIT_SIZE), 0);
    struct superslab_run all[] = {begun, first, second, beside, third};
    for (unsigned i = 0; i < ARRAY_LENGTH(all); i++)
        superslab_give(all[i].home, all[i].start, 2);
    run_give_all();
    superslab_configure(SIZE_MAX, true, false);
    superslab_unmap_free();
    check_room();
}

static void superslab_purge_is_bounded(void **state) {
    (void)state;
    for (int i = 0; i < 32; i++)
        assert_true(run_take(1));
    for (int i = 31; i >= 0; i -= 2) /* the others keep the pieces apart */
        run_give((unsigned)i);
    kernel.advise.count = 0;
    assert_int_equal(superslab_purge(0, 3), 3 * (size_t)UNIT_SIZE);
    assert_int_equal(kernel.advise.count, 3);
    superslab_configure(SIZE_MAX, false, false);
    assert_int_equal(superslab_purge(0, ALWAYS), 0);
    assert_int_equal(kernel.advise.count, 3);
}

static void superslab_zeroed_after_purge_is_true(void **state) {
    (void)state;
    assert_true(run_take(8));
    unsigned char *start = runs[0].start;
    run_give(0);
    assert_int_equal(superslab_purge(0, ALWAYS), 8 * (size_t)UNIT_SIZE);
    struct superslab_run run = superslab_take(8, SUPERSLAB_MIXED);
    assert_ptr_equal(run.start, start);
    assert_true(run.zeroed);
    assert_int_equal(*word_of(start, 7, 3), 0);
    superslab_give(run.home, run.start, 8);
}

static void superslab_empty_run_is_not_dirty(void **state) {
    (void)state;
    assert_true(run_take(8));
    unsigned char *start = runs[0].start;
    memset(start, 0, 8 * (size_t)UNIT_SIZE);
    superslab_give_empty(runs[0].home, start, 8);
    run_count = 0;
    check_room();
    assert_int_equal(superslab_dirty_bytes(), 0);
    assert_true(run_take(8));
    assert_ptr_equal(runs[0].start, start);
}

static void superslab_stale_units_are_not_zeroed(void **state) {
    (void)state;
    for (int lazily = 0; lazily < 2; lazily++) {
        superslab_configure(SIZE_MAX, true, lazily);
        kernel.advise.refuse = lazily ? 0 : 1;
        assert_true(run_take(8));
        unsigned char *start = runs[0].start;
        run_give(0);
        assert_int_equal(superslab_purge(0, 1), lazily ? 8 * (size_t)UNIT_SIZE : 0);
        assert_int_equal(superslab_dirty_bytes(), 0); /* not asked for again and again */
        struct superslab_run run = superslab_take(8, SUPERSLAB_MIXED);
        assert_ptr_equal(run.start, start);
        assert_false(run.zeroed);
        superslab_give(run.home, run.start, 8);
    }
}

static void superslab_lowest_and_dirty_come_first(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++)
        assert_true(run_take(1));
    struct superslab *lowest = NULL;
    for (unsigned i = 0; i < run_count; i++)
        if (!lowest || runs[i].home->number < lowest->number)
            lowest = runs[i].home;
    for (unsigned i = run_count; i-- > 0;)
        if (i % 3 == 0 || runs[i].home == lowest)
            run_give(i);
    superslab_purge(0, ALWAYS);
    assert_true(run_take(16));
    assert_ptr_equal(runs[run_count - 1].home, lowest);
    assert_true(run_take(2));
    struct run warm = runs[run_count - 1];
    assert_ptr_equal(warm.home, lowest);
    run_give(run_count - 2); /* below the warm one, and dirty, too */
    superslab_purge(0, ALWAYS);
    run_give(run_count - 1);
    assert_true(run_take(2));
    assert_ptr_equal(runs[run_count - 1].start, warm.start);
}

static void superslab_growth_is_geometric(void **state) {
    (void)state;
    superslab_unmap_free();
    kernel.map.count = 0;
    for (int i = 0; i < 256; i++)
        assert_true(run_take(16)); /* 64 superslabs */
    assert_true(kernel.map.count <= 40);
    unsigned before = kernel.map.count;
    run_give_all();
    for (int i = 0; i < 256; i++)
        assert_true(run_take(16));
    assert_int_equal(kernel.map.count, before);
}

/* Room for five units wherever the kernel puts them, but not for six. */
#define FIVE_ANYWHERE (6 * (size_t)UNIT_SIZE - 1)

static void superslab_little_address_space_is_taken_in_pieces(void **state) {
    (void)state;
    superslab_unmap_free();
    assert_int_equal(superslab_mapped_bytes(), 0);
    kernel.largest_map = FIVE_ANYWHERE;
    for (unsigned units = 1; units <= SUPERSLAB_RUN_LARGEST; units++)
        assert_int_equal(run_take(units), units <= 5);
    assert_true(superslab_mapped_bytes() < 40 * (size_t)UNIT_SIZE);
    check_room();
    run_give_all();
    kernel.map.refuse = ALWAYS;
    assert_true(run_take(5));
    assert_false(run_take(16));
    assert_false(superslab_extend(runs[0].home, runs[0].start, 5, 1));
    check_room();
    kernel_reset(state);
    assert_true(run_take(16));
}

static void superslab_every_fit_is_found_before_memory_is_refused(void **state) {
    (void)state;
    superslab_unmap_free();
    kernel.largest_map = FIVE_ANYWHERE;
    assert_true(run_take(5));
    assert_true(run_take(5));
    kernel.map.refuse = ALWAYS;
    unsigned lowest = runs[0].home->number < runs[1].home->number ? 0 : 1;
    run_shorten(&runs[lowest], 1); /* the lowest has four units, another one has five */
    run_give(1 - lowest);
    assert_true(run_take(5));
    assert_false(run_take(5));
    check_room();
}

static void superslab_stops_at_the_hard_limit(void **state) {
    (void)state;
    superslab_purge(0, UINT_MAX);
    assert_int_equal(superslab_dirty_bytes(), 0);
    limit.hard =
        limit.held + (size_t)metadata_bytes() + 20 * UNIT_SIZE + UNIT_SIZE / 2; /* records may grow */
    assert_true(run_take(8));
    assert_true(run_take(8));
    assert_false(run_take(8));
    assert_true(run_take(2));
    assert_false(superslab_extend(runs[run_count - 1].home, runs[run_count - 1].start, 2, 8));
    check_room();
    while (run_count > 0)
        run_give(run_count - 1);
    assert_true(run_take(16)); /* dirty units are held already */
    check_room();
    run_give(0);
    assert_true(superslab_purge(0, UINT_MAX) > 0);
    check_room();
    limit.hard = SIZE_MAX - 1;
}

static void superslab_unmaps_nothing_when_mappings_are_few(void **state) {
    (void)state;
    assert_true(run_take(4));
    run_give(0);
    unsigned before = kernel.unmap.count;
    atomic_store(&limit.tight, true);
    assert_int_equal(superslab_unmap_free(), 0);
    assert_int_equal(kernel.unmap.count, before);
    atomic_store(&limit.tight, false);
    assert_true(superslab_unmap_free() > 0);
    check_room();
}

/* Nor does what rests begin to rest anew when there is no budget for it. */
static void superslab_purges_within_the_budget(void **state) {
    (void)state;
    assert_true(run_take(4));
    run_give(0);
    superslab_end_look();
    spend_budget();
    size_t dirty = superslab_dirty_bytes();
    assert_true(dirty > 0);
    assert_int_equal(superslab_purge(0, UINT_MAX), 0);
    assert_int_equal(superslab_purge_rested(UINT_MAX), 0);
    assert_int_equal(superslab_dirty_bytes(), dirty);
    limit_lift_budget(true);
    assert_int_equal(superslab_purge_rested(UINT_MAX), dirty);
    limit_lift_budget(false);
    limit.budget = 0;
    check_room();
}

static void superslab_knows_which_units_are_full(void **state) {
    (void)state;
    struct superslab_run run = superslab_take(4, SUPERSLAB_MIXED);
    assert_false(run.full);
    run.full = true;
    superslab_give_runs(&run, 1);
    run = superslab_take(2, SUPERSLAB_MIXED);
    assert_true(run.full);
    struct superslab_run other = superslab_take(2, SUPERSLAB_MIXED);
    assert_true(other.full);
    superslab_give(run.home, run.start, 2);
    other.full = true;
    superslab_give_runs(&other, 1);
    run = superslab_take(2, SUPERSLAB_MIXED); /* the lowest: as it was given back last */
    assert_false(run.full);
    superslab_give(run.home, run.start, 2);
    superslab_purge(0, ALWAYS);
    run = superslab_take(4, SUPERSLAB_MIXED);
    assert_false(run.full); /* nothing of it is in memory any more */
    superslab_give(run.home, run.start, 4);
}

static bool all_is_free(void) {
    bool whole = superslabs.free_units == superslabs.mapped_units && superslabs.packing == NULL;
    kernel.before_advise = check_nobody_has;
    superslab_purge(0, ALWAYS);
    check_room();
    return whole;
}

static void fork_meanwhile(void *start, size_t bytes) {
    (void)start;
    (void)bytes;
    fork_and_purge(all_is_free);
}

static void superslab_in_a_child_of_fork_nothing_is_lost(void **state) {
    (void)state;
    struct superslab_run run = superslab_take(4, SUPERSLAB_MIXED), other = superslab_take(3, SUPERSLAB_MIXED);
    superslab_give(run.home, run.start, 4);
    superslab_give(other.home, other.start, 3);
    children_well = kernel.advise.count = 0;
    kernel.before_advise = fork_meanwhile;
    superslabs.packing = run.home;
    assert_int_equal(superslab_purge(0, ALWAYS), 7 * UNIT_SIZE);
    superslabs.packing = NULL;
    assert_true(children_well > 0);
    assert_int_equal(children_well, kernel.advise.count);
    check_room();
}

static void superslab_in_a_child_nothing_of_an_area_that_asks_for_huge_pages_is_lost(void **state) {
    (void)state;
    superslab_unmap_free();
    kernel.before_advise = NULL;
    superslab_configure(0, true, false);
    struct superslab_run run = superslab_take(AREA_UNITS / 2, SUPERSLAB_MIXED),
                         other = superslab_take(AREA_UNITS / 2, SUPERSLAB_MIXED);
    assert_true(run.home == other.home && run.home->huge);
    superslab_give(run.home, run.start, AREA_UNITS / 2);
    assert_int_equal(superslab_purge(0, ALWAYS), AREA_UNITS / 2 * (size_t)UNIT_SIZE);
    assert_true(run.home->calm != 0);
    superslab_give(other.home, other.start, AREA_UNITS / 2);
    children_well = kernel.advise.count = 0;
    kernel.before_advise = fork_meanwhile;
    superslab_purge(0, ALWAYS);
    assert_int_equal(run.home->calm, 0);
    assert_true(kernel.advise.count >= 2); /* home, and huge pages again */
    assert_int_equal(children_well, kernel.advise.count);
    superslab_configure(SIZE_MAX, true, false);
}

int main(void) {
    limit_configure(SIZE_MAX - 1, 0, 0); /* so that what is held is counted */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(superslab_begins_by_asking_what_the_kernel_makes, setup),
        cmocka_unit_test_setup(superslab_knows_which_units_are_full, setup),
        cmocka_unit_test_setup(superslab_few_areas_are_begun_for_room, setup),
        cmocka_unit_test_setup(superslab_roomy_runs_are_apart, setup),
        cmocka_unit_test_setup(superslab_peak_is_of_what_was_in_use, setup),
        cmocka_unit_test_setup(superslab_learns_whether_units_are_dense, setup),
        cmocka_unit_test_setup(superslab_asks_for_huge_pages_as_told, setup),
        cmocka_unit_test_setup(superslab_packs_areas_of_a_large_heap, setup),
        cmocka_unit_test_setup(superslab_takes_warm_pieces, setup),
        cmocka_unit_test_setup(superslab_search_for_warm_pieces_is_bounded, setup),
        cmocka_unit_test_setup(superslab_few_units_stay_in_a_huge_page, setup),
        cmocka_unit_test_setup(superslab_packs_what_was_split, setup),
        cmocka_unit_test_setup(superslab_packs_nothing_that_is_shared, setup),
        cmocka_unit_test_setup(superslab_looks_at_few_areas, setup),
        cmocka_unit_test_setup(superslab_half_empty_grows_in_small_pages, setup),
        cmocka_unit_test_setup(superslab_asks_when_the_kernel_makes_huge_pages, setup),
        cmocka_unit_test_setup(superslab_growth_is_geometric, setup),
        cmocka_unit_test_setup(superslab_P1_P3_random_program, setup),
        cmocka_unit_test_setup(superslab_P2_P3_random_program_that_decommits_lazily, setup),
        cmocka_unit_test_setup(superslab_P1_P3_random_program_that_sorts, setup),
        cmocka_unit_test_setup(superslab_P1_P3_random_program_that_sheds, setup),
        cmocka_unit_test_setup(superslab_P1_P3_random_program_with_fields, setup),
        cmocka_unit_test_setup(superslab_takes_the_shortest_gap_of_a_field, setup),
        cmocka_unit_test_setup(superslab_asks_once_for_a_field, setup),
        cmocka_unit_test_setup(superslab_P4_random_program_without_advice, setup),
        cmocka_unit_test_setup(superslab_P4_random_program_without_unmapping, setup),
        cmocka_unit_test_setup(superslab_P4_what_is_not_unmapped_is_dirty, setup),
        cmocka_unit_test_setup(superslab_maps_no_more_than_it_has_records_for, setup),
        cmocka_unit_test_setup(superslab_purge_keeps_and_counts, setup),
        cmocka_unit_test_setup(superslab_takes_more_of_what_is_warm, setup),
        cmocka_unit_test_setup(superslab_notes_what_of_several_is_full, setup),
        cmocka_unit_test_setup(superslab_tells_that_it_was_waited_for, setup),
        cmocka_unit_test_setup(superslab_what_rested_is_what_nobody_had, setup),
        cmocka_unit_test_setup(superslab_purge_is_bounded, setup),
        cmocka_unit_test_setup(superslab_zeroed_after_purge_is_true, setup),
        cmocka_unit_test_setup(superslab_empty_run_is_not_dirty, setup),
        cmocka_unit_test_setup(superslab_stale_units_are_not_zeroed, setup),
        cmocka_unit_test_setup(superslab_lowest_and_dirty_come_first, setup),
        cmocka_unit_test_setup(superslab_little_address_space_is_taken_in_pieces, setup),
        cmocka_unit_test_setup(superslab_every_fit_is_found_before_memory_is_refused, setup),
        cmocka_unit_test_setup(superslab_stops_at_the_hard_limit, setup),
        cmocka_unit_test_setup(superslab_unmaps_nothing_when_mappings_are_few, setup),
        cmocka_unit_test_setup(superslab_purges_within_the_budget, setup),
        cmocka_unit_test_setup(superslab_sorts_what_fills_its_pages, setup),
        cmocka_unit_test_setup(superslab_takes_what_is_warm_before_what_is_sorted, setup),
        cmocka_unit_test_setup(superslab_sorts_small_heaps, setup),
        cmocka_unit_test_setup(superslab_sheds_what_came_with_a_huge_page, setup),
        cmocka_unit_test_setup(superslab_sheds_what_is_worth_it, setup),
        cmocka_unit_test_setup(superslab_sheds_within_the_budget, setup),
        cmocka_unit_test_setup(superslab_sheds_while_a_fork_comes, setup),
        cmocka_unit_test_setup(superslab_takes_what_is_warm_before_it_sorts, setup),
        cmocka_unit_test_setup(superslab_sorts_only_where_it_pays, setup),
        cmocka_unit_test_setup(superslab_sorts_nothing_while_all_are_alike, setup),
        cmocka_unit_test_setup(superslab_room_begins_no_huge_page, setup),
        cmocka_unit_test_setup(superslab_keeps_what_is_sparse_in_small_pages, setup),
        cmocka_unit_test_setup(superslab_grows_little_while_much_is_free, setup),
        cmocka_unit_test_setup(superslab_takes_huge_pages_for_what_is_sparse, setup),
        cmocka_unit_test_setup(superslab_sorts_nothing_where_addresses_are_few, setup),
        cmocka_unit_test_setup(superslab_mixes_when_memory_is_refused, setup),
        cmocka_unit_test_setup(superslab_in_a_child_of_fork_nothing_is_lost, setup),
        cmocka_unit_test_setup(superslab_in_a_child_nothing_of_an_area_that_asks_for_huge_pages_is_lost,
                               setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
