/*
 * outgrown: does memory stay near what is live when buffers grow out of all size classes into large blocks?
 *
 * So texts that are put together, replies, encoders. 400 buffers of which one that is full gets half as much again (realloc), until it would have
 * more than 60,000 bytes: then it is freed, and begins anew. All begin together. Whoever keeps of each size what once was needed of it holds
 * many times what is live; and what is at hand of small sizes is of use to large blocks, too.
 *
 * 100 MB are appended. Resident memory beyond the start may be at most so many per cent of what is written and live when that is most as the
 * argument says: which large blocks come of huge pages depends on how far the janitor has got, so that with its thread runs differ by a tenth.
 */
#include "bars.h"

enum { BUFFERS = 400, MOST = 60000, LONGEST_STEP = 400 };
static const size_t APPENDED = 100 * 1000 * 1000;

static struct {
    unsigned char *start;
    size_t bytes, room;
} buffers[BUFFERS];

static size_t append(unsigned which, size_t more) {
    size_t bytes = buffers[which].bytes, longer = bytes + more;
    if (longer > buffers[which].room) {
        size_t room = buffers[which].room + buffers[which].room / 2;
        buffers[which].room = room > longer ? room : longer;
        CHECK((buffers[which].start = realloc(buffers[which].start, buffers[which].room)) != NULL);
    }
    memset(buffers[which].start + bytes, 1, more);
    buffers[which].bytes = longer;
    return more;
}

static size_t begin_anew(unsigned which) {
    size_t bytes = buffers[which].bytes;
    free(buffers[which].start);
    buffers[which].start = NULL;
    buffers[which].bytes = buffers[which].room = 0;
    return bytes;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    long bar = atol(argv[1]);
    unsigned state = 1;
    size_t live = 0, most_live = 0, appended = 0;
    long most_kib = 0;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    long start_kib = rss_kib();
    for (unsigned step = 0; appended < APPENDED; step++) {
        unsigned which = next_random(&state) % BUFFERS;
        size_t more = 1 + next_random(&state) % LONGEST_STEP;
        if (buffers[which].bytes + more > MOST)
            live -= begin_anew(which);
        live += append(which, more);
        appended += more;
        most_live = live > most_live ? live : most_live;
        if (step % 1024 == 0) {
            long kib = rss_kib() - start_kib;
            most_kib = kib > most_kib ? kib : most_kib;
        }
    }
    long percent = most_kib * 1024 * 100 / (long)most_live;
    printf("%ld KiB resident, %zu live, %ld %%\n", most_kib, most_live / 1024, percent);
    BAR(percent <= bar, "%ld %% of the live bytes are resident, %ld may be", percent, bar);
    return bars_result();
}
