/* With HAKMEM_HEAP_SAMPLE=1 what is noted down as live is what is live, whichever way a block grew. Reads the library's records in its
 * own process, as `hakmem heap` does from outside. */
#include "../lifecycle/lifecycle.h"

#include "../../src/layout.h"

#include <limits.h>

enum { TURNS = 200, SHORT = 100000, LARGE = 1 << 20, LARGER = 3 << 20, MOVES = 64 << 20 };

static const struct layout *layout;

static const void *root(const char *name) {
    for (uint32_t i = 0; i < layout->root_count; i++)
        if (strcmp(layout->roots[i].name, name) == 0)
            return layout->addresses[i];
    CHECK(!"there is such a root");
    return NULL;
}

static uint64_t field(const char *record, const char *name) {
    for (uint32_t i = 0; i < layout->field_count; i++)
        if (strcmp(layout->fields[i].name, name) == 0) {
            uint64_t value = 0;
            memcpy(&value, record + layout->fields[i].offset, layout->fields[i].bytes);
            return value;
        }
    CHECK(!"there is such a field");
    return 0;
}

static struct live { uint64_t blocks, bytes; } before;

static struct live live(void) {
    struct live sum = {0, 0};
    const char *site = *(const char *const *)root("sample_state.newest");
    for (; site; site = (const char *)field(site, "sample_site.older")) {
        sum.blocks += field(site, "sample_site.live");
        sum.bytes += field(site, "sample_site.live_bytes");
    }
    return sum;
}

static void check_live(uint64_t blocks, uint64_t bytes) {
    struct live now = live();
    CHECK(now.blocks - before.blocks == blocks);
    CHECK(now.bytes - before.bytes == bytes);
}

/* ---- large blocks ---- */

static char *block;
static size_t wanted;

static void *grow(void *unused) {
    block = realloc(block, wanted);
    CHECK(block);
    return unused;
}

static void run(void *(*function)(void *), void *argument) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, function, argument) == 0);
    pthread_join(thread, NULL);
}

/* The call is the thread's first: it has no heap yet. */
static void large_blocks_grown_by_new_threads(void) {
    static const size_t sizes[] = {LARGER, MOVES};
    for (unsigned i = 0; i < 2; i++) {
        CHECK((block = malloc(LARGE)) != NULL);
        check_live(1, LARGE);
        wanted = sizes[i];
        run(grow, NULL);
        free(block);
        check_live(0, 0);
    }
}

static pthread_key_t key;

static void grow_late(void *round) {
    uintptr_t left = (uintptr_t)round;
    grow(NULL);
    wanted += MOVES;
    if (left > 1)
        CHECK(pthread_setspecific(key, (void *)(left - 1)) == 0);
}

static void *come_late(void *rounds) {
    free(malloc(100));
    CHECK(pthread_setspecific(key, rounds) == 0);
    return NULL;
}

/* In the last round of destructors the thread has no heap any more, or soon. */
static void large_blocks_grown_by_threads_that_go(void) {
    CHECK(pthread_key_create(&key, grow_late) == 0);
    CHECK((block = malloc(LARGE)) != NULL);
    wanted = MOVES;
    run(come_late, (void *)PTHREAD_DESTRUCTOR_ITERATIONS);
    free(block);
    check_live(0, 0);
}

static void blocks_that_could_not_grow(void) {
    static const size_t sizes[] = {100, 100000, LARGE, MOVES};
    for (unsigned i = 0; i < 4; i++) {
        CHECK((block = malloc(sizes[i])) != NULL);
        CHECK(realloc(block, PTRDIFF_MAX) == NULL);
        check_live(1, sizes[i]);
        free(block);
        check_live(0, 0);
    }
}

/* Also those that were freed just before, for which no other room is asked. */
static void large_blocks_again_and_again(void) {
    for (unsigned turn = 0; turn < TURNS; turn++) {
        CHECK((block = malloc(SHORT)) != NULL);
        check_live(1, SHORT);
        free(block);
        check_live(0, 0);
    }
}

static void *nothing(void *unused) {
    return unused;
}

int main(void) {
    free(malloc(100)); /* from here on samples are taken */
    CHECK((layout = dlsym(RTLD_DEFAULT, "hakmem_layout")) != NULL);
    run(nothing, NULL); /* libc keeps a stack, and what it allocated for it */
    before = live();
    large_blocks_grown_by_new_threads();
    large_blocks_grown_by_threads_that_go();
    blocks_that_could_not_grow();
    large_blocks_again_and_again();
    return 0;
}
