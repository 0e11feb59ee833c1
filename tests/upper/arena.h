/* arena: superslabs for tests of the rooms above them: units of addresses that nobody may touch.
 *
 * A program includes this file instead of linking the room superslab. The units are mapped without access, so
 * that a room which reads or writes a block dies of it. */
#ifndef ARENA_H
#define ARENA_H

#include "superslab.h"

#include "unit/unit.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { ARENA_UNITS = 256 };

static struct {
    unsigned char *start;
    unsigned char taken[ARENA_UNITS];
    unsigned in_use, refuse, full;
    bool touched;   /* runs do not read as zero */
    bool took_full; /* runs that are taken in advance were given back as full */
    bool pieces;    /* what is free lies about in the shortest runs that will do */
    unsigned fewer; /* runs than are asked for come in advance */
    unsigned waits,
        calls;  /* how many of the next calls have to wait for another thread; how many there were */
    bool large; /* what is said of the heap */
    enum superslab_use use; /* what was said of the last run */
    struct superslab home;
} arena;

/* In pagemap's window, as superslabs are if the kernel has room there; with ARENA_BEYOND set, wherever it likes. */
static void arena_map(void) {
    size_t bytes = (size_t)(ARENA_UNITS + 1) * UNIT_SIZE;
    void *hint = getenv("ARENA_BEYOND") ? NULL : (void *)((uintptr_t)40 << 30);
    unsigned char *base = mmap(hint, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(base, MAP_FAILED);
    arena.start = (unsigned char *)align_up((uintptr_t)base, UNIT_SIZE);
    assert_true(pagemap_reserve(arena.start, ARENA_UNITS));
}

static bool arena_is_free(unsigned from, unsigned units) {
    for (unsigned unit = from; unit < from + units; unit++)
        if (arena.taken[unit])
            return false;
    return true;
}

static void arena_mark(unsigned from, unsigned units, bool taken) {
    for (unsigned unit = from; unit < from + units; unit++) {
        assert_int_equal(arena.taken[unit], !taken);
        arena.taken[unit] = taken;
        assert_int_equal(pagemap_tag(arena.start + (size_t)unit * UNIT_SIZE), PAGEMAP_NONE);
    }
    arena.in_use += taken ? units : -units;
}

static bool arena_waits(void) {
    arena.calls++;
    bool waits = arena.waits > 0;
    arena.waits -= waits;
    return waits;
}

static struct superslab_run arena_take(unsigned units) {
    unsigned from = 0;
    while (!arena_is_free(from, units))
        assert_true(++from + units <= ARENA_UNITS);
    arena_mark(from, units, true);
    return (struct superslab_run){.start = arena.start + (size_t)from * UNIT_SIZE,
                                  .home = &arena.home,
                                  .units = units,
                                  .zeroed = !arena.touched};
}

bool superslab_seems_large(void) {
    return arena.large;
}

struct superslab_run superslab_take_some(unsigned least, unsigned units, enum superslab_use use) {
    arena.use = use;
    if (!arena.start)
        arena_map();
    bool waited = arena_waits();
    if (arena.refuse > 0) {
        arena.refuse--;
        return (struct superslab_run){0};
    }
    struct superslab_run run = arena_take(arena.pieces ? least : units);
    run.waited = waited;
    return run;
}

unsigned superslab_take_more(struct superslab_run *runs, unsigned count, unsigned units,
                             enum superslab_use use) {
    (void)use;
    arena_waits();
    count = arena.touched && count > arena.fewer ? count - arena.fewer : 0;
    for (unsigned i = 0; i < count; i++) {
        runs[i] = arena_take(units);
        runs[i].full = arena.took_full;
    }
    return count;
}

bool superslab_give_run(struct superslab *home, const void *start, unsigned units, bool full) {
    assert_ptr_equal(home, &arena.home);
    arena_mark((unsigned)((size_t)((const unsigned char *)start - arena.start) >> UNIT_SHIFT), units, false);
    arena.full += full ? units : 0;
    return arena_waits();
}

bool superslab_give_runs(const struct superslab_run *runs, unsigned count) {
    unsigned calls = arena.calls;
    bool waited = false;
    for (unsigned i = 0; i < count; i++)
        waited |= superslab_give_run(runs[i].home, runs[i].start, runs[i].units, runs[i].full);
    arena.calls = calls + 1;
    return waited;
}

#endif
