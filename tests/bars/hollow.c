/*
 * hollow: are the pages of slabs that are nearly free given home while the heap grows?
 *
 * 20 MB of one length are taken, written and freed, but for a block in 60,000 bytes, which pins its slab; then the same of the next length, and
 * so on, without a pause in which memory could go home at rest. By one thread, and by four, a quarter each. The most resident memory beyond the
 * start, in per cent of what one phase takes.
 */
#include "bars.h"

enum { PHASE = 20 << 20, APART = 60000, SHORTEST = 64, MOST_THREADS = 4, BAR_PERCENT = 500 };

static const size_t lengths[] = {SHORTEST, 112, 200, 320, 500, 900, 1500, 3000};

static struct {
    pthread_barrier_t ends;
    unsigned threads;
    void *blocks[PHASE / SHORTEST];
} shared;

static void phase(void **blocks, size_t size) {
    size_t count = PHASE / shared.threads / size, apart = 0;
    for (size_t i = 0; i < count; i++) {
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, size);
    }
    for (size_t i = 0; i < count; i++, apart += size) {
        if (apart < APART)
            free(blocks[i]);
        else
            apart = 0;
    }
}

static void *phases(void *blocks) {
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        phase(blocks, lengths[i]);
        pthread_barrier_wait(&shared.ends);
        pthread_barrier_wait(&shared.ends); /* memory is looked at */
    }
    return NULL;
}

static int measure(int which) {
    pthread_t threads[MOST_THREADS];
    long most = 0;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    shared.threads = which == 0 ? 1 : MOST_THREADS;
    memset(shared.blocks, 1, sizeof shared.blocks);
    CHECK(pthread_barrier_init(&shared.ends, NULL, shared.threads + 1) == 0);
    long base = rss_kib();
    for (unsigned i = 0; i < shared.threads; i++)
        threads[i] = start_thread(phases, shared.blocks + i * (PHASE / SHORTEST / shared.threads));
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        pthread_barrier_wait(&shared.ends);
        long kib = rss_kib() - base;
        most = kib > most ? kib : most;
        pthread_barrier_wait(&shared.ends);
    }
    for (unsigned i = 0; i < shared.threads; i++)
        join_thread(threads[i]);
    long percent = most * 100 / (PHASE / 1024);
    printf("eight lengths, a block in 60,000 bytes stays, %u threads: %ld %% of a phase resident\n",
           shared.threads, percent);
    BAR(percent <= BAR_PERCENT, "%ld %%, at most %d", percent, BAR_PERCENT);
    return bars_result();
}

int main(void) {
    return bars_each_apart(measure, 2);
}
