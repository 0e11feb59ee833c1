/*
 * soft: does a program that changes what it holds stay below HAKMEM_SOFT_LIMIT at 1.3 x what is live?
 *
 * In each phase up to 48 MiB are live, of one size; then all of it is freed, and the next phase holds as much of another
 * size. Everything that is free may be kept (HAKMEM_KEEP_FREE and HAKMEM_LARGE_CACHE are 1 GiB), and the memory that
 * one phase leaves fits the next one badly: without the limit resident memory passes 1.3 x the live size, with it
 * never. Nothing is ever refused.
 */
#include "limits.h"

enum { LIVE = 48, PART = 12, PHASES = 12 }; /* MiB; looked at after each part */

static long peak_kib(void) {
    static const size_t sizes[] = {5 * MIB / 2, 100, 190000, 1500, 5 * MIB, 20000};
    long before = rss_kib(), peak = 0;
    for (int phase = 0; phase < PHASES; phase++) {
        size_t size = sizes[(size_t)phase % (sizeof sizes / sizeof sizes[0])];
        void **parts[LIVE / PART];
        size_t live = 0;
        for (int i = 0; i < LIVE / PART; i++, live += held) {
            parts[i] = hold(size, PART * MIB - size + 1);
            long now = rss_kib() - before;
            peak = now > peak ? now : peak;
        }
        CHECK(live > (LIVE - 10) * MIB && live <= LIVE * MIB);
        for (int i = 0; i < LIVE / PART; i++)
            drop(parts[i]);
    }
    return peak;
}

int main(int argc, char **argv) {
    static const char *const limited[] = {"HAKMEM_SOFT_LIMIT=63897k", "HAKMEM_KEEP_FREE=1g",
                                          "HAKMEM_LARGE_CACHE=1g", NULL};
    static const char *const free_to_keep[] = {"HAKMEM_KEEP_FREE=1g", "HAKMEM_LARGE_CACHE=1g", NULL};
    static const long most = LIVE * 1024 / 10 * 13;

    if (is_worker(argc, argv)) {
        dprintf(1, "%ld\n", peak_kib());
        return 0;
    }
    long without = atol(run_role("worker", free_to_keep, 0)), with = atol(run_role("worker", limited, 0));
    dprintf(2, "%d MiB live: peak %ld KiB without a limit, %ld KiB with one of %ld KiB\n", LIVE, without,
            with, most);
    CHECK(without > most);
    CHECK(with > LIVE * 900L && with <= most);
    return 0;
}
