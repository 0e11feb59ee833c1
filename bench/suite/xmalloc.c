// xmalloc: what does a block cost that is always freed by another thread, handed over in batches?
//
// After Lever and Boreham, "malloc() performance in a multithreaded Linux environment" (USENIX 2000), and the
// xmalloc-test of Citrix: producers fill batches with blocks of 64 bytes and put them on a bounded stack,
// consumers take batches and free them. An even thread produces, an odd one consumes; WS is the number of
// batches under way. An operation is one block's life.
#include "suite.h"

#include "../blocks.h"

#include <pthread.h>

enum { BLOCK = 64, BATCH = 120, MOST_BATCHES = 4096 };

struct batch {
    void *blocks[BATCH];
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct batch *full[MOST_BATCHES], *empty[MOST_BATCHES];
    size_t fulls, empties;
    unsigned producers; // that still run
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void begin(const struct suite_settings *settings) {
    if (settings->threads % 2)
        suite_fail("xmalloc needs an even number of threads");
    struct batch *batches = driver_memory(settings->working_set * sizeof *batches);
    for (size_t i = 0; i < settings->working_set; i++)
        shared.empty[shared.empties++] = &batches[i];
    shared.producers = settings->threads / 2;
}

// Takes a batch from one stack; NULL when none will come any more.
static struct batch *take(struct batch **stack, size_t *height) {
    struct batch *batch = NULL;
    pthread_mutex_lock(&shared.mutex);
    while (*height == 0 && shared.producers > 0)
        pthread_cond_wait(&shared.changed, &shared.mutex);
    if (*height > 0)
        batch = stack[--*height];
    pthread_mutex_unlock(&shared.mutex);
    return batch;
}

static void put(struct batch **stack, size_t *height, struct batch *batch) {
    pthread_mutex_lock(&shared.mutex);
    stack[(*height)++] = batch;
    pthread_cond_broadcast(&shared.changed);
    pthread_mutex_unlock(&shared.mutex);
}

static uint64_t produce(uint64_t batches) {
    for (uint64_t i = 0; i < batches; i++) {
        struct batch *batch = take(shared.empty, &shared.empties);
        for (size_t k = 0; k < BATCH; k++)
            batch->blocks[k] = block_new(false, BLOCK);
        put(shared.full, &shared.fulls, batch);
    }
    pthread_mutex_lock(&shared.mutex);
    shared.producers--;
    pthread_cond_broadcast(&shared.changed);
    pthread_mutex_unlock(&shared.mutex);
    return batches * BATCH;
}

static uint64_t consume(void) {
    struct batch *batch;
    while ((batch = take(shared.full, &shared.fulls))) {
        for (size_t k = 0; k < BATCH; k++)
            free(batch->blocks[k]);
        put(shared.empty, &shared.empties, batch);
    }
    return 0;
}

static uint64_t run(struct suite_thread *thread) {
    return thread->index % 2 ? consume() : produce(2 * thread->share / BATCH + 1);
}

const struct suite suite = {
    .defaults = {.iterations = 4000000, .working_set = 100, .seed = 1, .threads = 2},
    .most = MOST_BATCHES,
    .begin = begin,
    .run = run,
};
