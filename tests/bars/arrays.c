/*
 * arrays: does memory stay near what is live when a thousand arrays grow by small steps, and begin anew at random?
 *
 * So work buffers of connections, columns, lists of children. All begin together, so that all of them live in blocks of one size for a while, and
 * then of the next: whoever keeps for each size what once was needed of it holds many times what is live.
 *
 * 300,000 steps of 16 to 215 bytes, each a realloc of one of the arrays; the longer one is, the sooner it is freed. Resident memory beyond
 * the start may be at most 4 times what is live when that is most; and of each byte that is appended at most 6 are copied.
 */
#include "bars.h"

enum { ARRAYS = 1000, STEPS = 300000, LONGEST_STEP = 200, BAR_PERCENT = 400, BAR_COPIED = 6 };

static struct {
    unsigned char *start;
    size_t bytes;
} arrays[ARRAYS];

int main(void) {
    unsigned state = 1;
    size_t live = 0, most_live = 0, copied = 0, appended = 0;
    long most_kib = 0;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    long start_kib = rss_kib();
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned which = next_random(&state) % ARRAYS;
        size_t bytes = arrays[which].bytes, longer = bytes + 16 + next_random(&state) % LONGEST_STEP;
        if (bytes > 0 && next_random(&state) % 4000 < 1 + bytes / 64) {
            free(arrays[which].start);
            arrays[which].start = NULL;
            live -= bytes;
            longer = 0;
        } else {
            unsigned char *start = realloc(arrays[which].start, longer);
            CHECK(start != NULL);
            copied += start == arrays[which].start ? 0 : bytes;
            appended += longer - bytes;
            memset(start + bytes, 1, longer - bytes);
            arrays[which].start = start;
            live += longer - bytes;
        }
        arrays[which].bytes = longer;
        most_live = live > most_live ? live : most_live;
        if (step % 1024 == 0) {
            long kib = rss_kib() - start_kib;
            most_kib = kib > most_kib ? kib : most_kib;
        }
    }
    long percent = most_kib * 1024 * 100 / (long)most_live;
    printf("%ld KiB resident, %zu live, %ld %%; %zu KiB appended, %zu copied\n", most_kib, most_live / 1024,
           percent, appended / 1024, copied / 1024);
    BAR(percent <= BAR_PERCENT, "%ld %% of the live bytes are resident, %d may be", percent, BAR_PERCENT);
    BAR(copied <= BAR_COPIED * appended, "%zu bytes are copied where %zu are appended, %zu may be", copied,
        appended, BAR_COPIED * appended);
    return bars_result();
}
