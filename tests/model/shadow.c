#include "shadow.h"

#include <pthread.h>
#include <string.h>

#define SHADOW_MOST 8192

struct range {
    uintptr_t at;
    size_t bytes;
};

static struct {
    pthread_mutex_t lock;
    size_t count;
    struct range ranges[SHADOW_MOST];
} shadow = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The index of the first range that does not start below `at`. */
static size_t shadow_find(uintptr_t at) {
    size_t low = 0;
    size_t high = shadow.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shadow.ranges[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct range *shadow_overlapping(size_t place, uintptr_t at, size_t bytes) {
    if (place < shadow.count && shadow.ranges[place].at - at < bytes)
        return &shadow.ranges[place];
    if (place > 0 && at - shadow.ranges[place - 1].at < shadow.ranges[place - 1].bytes)
        return &shadow.ranges[place - 1];
    return NULL;
}

bool shadow_enter(uintptr_t at, size_t bytes, uintptr_t *other_at, size_t *other_bytes) {
    pthread_mutex_lock(&shadow.lock);
    size_t place = shadow_find(at);
    const struct range *other = shadow_overlapping(place, at, bytes);
    bool entered = other == NULL && shadow.count < SHADOW_MOST;
    if (entered) {
        memmove(&shadow.ranges[place + 1], &shadow.ranges[place],
                (shadow.count - place) * sizeof shadow.ranges[0]);
        shadow.ranges[place] = (struct range){.at = at, .bytes = bytes};
        shadow.count++;
    } else {
        *other_at = other != NULL ? other->at : 0;
        *other_bytes = other != NULL ? other->bytes : 0;
    }
    pthread_mutex_unlock(&shadow.lock);
    return entered;
}

bool shadow_remove(uintptr_t at) {
    pthread_mutex_lock(&shadow.lock);
    size_t place = shadow_find(at);
    bool found = place < shadow.count && shadow.ranges[place].at == at;
    if (found) {
        shadow.count--;
        memmove(&shadow.ranges[place], &shadow.ranges[place + 1],
                (shadow.count - place) * sizeof shadow.ranges[0]);
    }
    pthread_mutex_unlock(&shadow.lock);
    return found;
}

size_t shadow_live(void) {
    pthread_mutex_lock(&shadow.lock);
    size_t count = shadow.count;
    pthread_mutex_unlock(&shadow.lock);
    return count;
}
