// Caches: entries come until there is no more room for them; then the oldest go, or some at random. Their lengths drift: what is typical doubles or
// halves, on the whole or by and by, as what clients ask for changes.
#include "application.h"

#include <stdlib.h>

enum { DRIFTS = 6, FILLS_OF_A_DRIFT = 2, LEAST_LENGTH = 48, MOST_LENGTH = 30000 };

struct cache {
    void **entry;
    size_t *length;
    size_t count, most, first; // entries; how many there can be; where the oldest is
    uint64_t used, bytes;
};

static void drop(struct cache *cache, size_t at) {
    free(cache->entry[at]);
    cache->entry[at] = NULL;
    cache->used -= cache->length[at];
    cache->count--;
}

static void drop_oldest(struct cache *cache, struct work *work) {
    (void)work;
    drop(cache, cache->first);
    cache->first = (cache->first + 1) % cache->most;
}

// The last one comes to the place of the one that goes.
static void drop_at_random(struct cache *cache, struct work *work) {
    size_t at = below(&work->state, cache->count);
    drop(cache, at);
    cache->entry[at] = cache->entry[cache->count];
    cache->length[at] = cache->length[cache->count];
    cache->entry[cache->count] = NULL;
}

static void run(struct work *work, void (*drop_one)(struct cache *, struct work *)) {
    struct cache cache = {.most = work->bytes / (LEAST_LENGTH / 2) + 1, .bytes = work->bytes};
    cache.entry = work_table(cache.most);
    cache.length = work_array(cache.most, sizeof *cache.length);
    for (unsigned drift = 0; drift < DRIFTS; drift++) {
        uint64_t typical = between_doublings(work, LEAST_LENGTH, MOST_LENGTH);
        for (uint64_t come = 0; come < FILLS_OF_A_DRIFT * cache.bytes;) {
            size_t length = between(work, typical / 2, typical * 2);
            while (cache.count > 0 && cache.used + length > cache.bytes)
                drop_one(&cache, work);
            size_t at = (cache.first + cache.count++) % cache.most;
            cache.entry[at] = work_new(length);
            cache.length[at] = length;
            cache.used += length;
            come += length;
        }
    }
    work_table_end(cache.entry, cache.most);
    free(cache.length);
}

void application_cache_by_age(struct work *work) {
    run(work, drop_oldest);
}

void application_cache_at_random(struct work *work) {
    run(work, drop_at_random);
}
