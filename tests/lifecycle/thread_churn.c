/*
 * thread_churn: can 10,000 threads be created and ended without the process growing?
 *
 * Each thread frees the block that an earlier one left, allocates and frees a few of its own, and leaves one
 * live. After 1,000 threads the resident memory is noted; 9,000 threads later it must be nearly the same:
 * 8 MiB is less than 1 KiB a thread, where a heap that is not reused costs several.
 */
#include "lifecycle.h"

enum { THREADS = 10000, WARM_UP = 1000, AT_ONCE = 4, GROWTH_KIB = 8 << 10 };

static void *left_behind[AT_ONCE];

static void *live_and_die(void *argument) {
    size_t place = (size_t)(uintptr_t)argument % AT_ONCE;
    size_t size = (size_t)(uintptr_t)argument % 2000 + 1;
    void *own[24];

    free(left_behind[place]);
    for (size_t i = 0; i < 24; i++) {
        own[i] = malloc(size + i * 40);
        CHECK(own[i] != NULL);
        fill(own[i], size + i * 40, (unsigned char)i);
    }
    for (size_t i = 0; i < 24; i++) {
        verify(own[i], size + i * 40, (unsigned char)i);
        free(own[i]);
    }
    left_behind[place] = malloc(size);
    CHECK(left_behind[place] != NULL);
    return NULL;
}

int main(void) {
    long before = 0;

    for (uintptr_t number = 0; number < THREADS; number += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        if (number == WARM_UP)
            before = status_kib("VmRSS:");
        for (uintptr_t i = 0; i < AT_ONCE; i++)
            threads[i] = start_thread(live_and_die, (void *)(number + i));
        for (int i = 0; i < AT_ONCE; i++)
            join_thread(threads[i]);
    }
    for (int i = 0; i < AT_ONCE; i++)
        free(left_behind[i]);
    long after = status_kib("VmRSS:");
    if (before > 0)
        CHECK(after - before < GROWTH_KIB);
    return 0;
}
