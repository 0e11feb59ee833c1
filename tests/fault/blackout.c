/*
 * blackout: what does the program see while the kernel refuses every call for memory?
 *
 * With blocks alive the lights go out: no mmap, munmap, madvise or mremap succeeds. The program allocates until
 * it is denied (ENOMEM, small and large), verifies, shrinks and frees what it has, reuses what it freed; a new
 * thread tries as well. Then the lights come back: everything must work, and what was given back meanwhile must
 * not be lost.
 */
#include "fault.h"

enum { KEPT = 400, MOST = 200000 };

static void *kept[KEPT];

static size_t size_of(size_t i) {
    return i % 50 == 49 ? i * 20000 : i * 37 % 5000 + 1;
}

static void *in_thread(void *argument) {
    void *small = try_malloc(100), *large = try_malloc(3u << 20);

    give_back(small);
    give_back(large);
    return argument;
}

/* Chains small blocks until one is denied, and gives them all back. */
static size_t exhaust(size_t size) {
    void **chain = NULL, **block;
    size_t count = 0;

    while (count < MOST && (block = try_malloc(size)) != NULL) {
        *block = chain;
        chain = block;
        count++;
    }
    while (chain != NULL) {
        void **next = *chain;
        give_back(chain);
        chain = next;
    }
    return count;
}

int main(void) {
    pthread_t thread;

    for (size_t i = 0; i < KEPT; i++) {
        kept[i] = try_malloc(size_of(i));
        CHECK(kept[i] != NULL);
        fill(kept[i], size_of(i), (unsigned char)i);
    }
    fault_arm(FAULT_ALL, 0, 1000, 1);
    CHECK(try_malloc(100u << 20) == NULL && try_calloc(100u << 20) == NULL);
    CHECK(try_aligned(1u << 20, 64u << 20) == NULL);
    size_t first = exhaust(1000), again = exhaust(1000);
    CHECK(first < MOST && again >= first / 2);
    exhaust(40000);
    if (try_thread(&thread, in_thread, 0))
        join_thread(thread);
    for (size_t i = 0; i < KEPT; i += 2) {
        try_realloc(&kept[i], size_of(i), size_of(i) / 2 + 1, (unsigned char)i);
        give_back(kept[i]);
    }
    malloc_trim(0);
    workload(5);
    threads(6);
    CHECK(fault_injected() > 0 && fault_injected() == fault_seen());
    fault_disarm();
    for (size_t i = 1; i < KEPT; i += 2) {
        verify(kept[i], size_of(i), (unsigned char)i);
        give_back(kept[i]);
    }
    check_recovered();
    return 0;
}
