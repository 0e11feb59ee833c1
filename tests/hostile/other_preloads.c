/*
 * other_preloads: does the library keep the peace with another preload, before it and after it?
 *
 * The other one (first argument) interposes malloc as well, counts, and calls the next. Before the library it
 * must see the calls and hand them over; after the library it must see none; and with HAKMEM_FORCE_LIBC_ALLOC
 * the library must hand every call on to it. aligned_alloc, which the other does not interpose, gives blocks
 * of the library in every order: the other's free hands them back. reallocarray, which it does not interpose
 * either, is a call of its realloc, so that one with a heap of its own gets its own blocks back (libc P5). The other one calls
 * under a lock that is not recursive: a thread of the library's, which libc would make with that library's calloc, must not be made there.
 */
#define TEST_ANY_MALLOC
#include "hostile.h"

/* Each is one call that the other library sees, or none. */
static void use_names_of_ours(const unsigned long *calls, bool seen) {
    void (*free_sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    unsigned long before = *calls;

    void *block = reallocarray(NULL, 3, 40);
    CHECK(block != NULL && *calls - before == (seen ? 1 : 0));
    block = reallocarray(block, 300, 40);
    CHECK(block != NULL && *calls - before == (seen ? 2 : 0));
    if (free_sized == NULL)
        free(block);
    else
        free_sized(block, 300 * 40);
    CHECK(*calls - before == (seen ? 3 : 0));
}

/* Several times what calls for the library's thread, in a process of two threads. */
static void shed(void) {
    enum { BLOCKS = 100000, BYTES = 300 };
    static void *blocks[BLOCKS];

    take_many(blocks, BLOCKS, BYTES);
    free_many(blocks, BLOCKS);
}

static void *wait_for_ever(void *nothing) {
    pause();
    return nothing;
}

static void worker(const char *expected) {
    unsigned long *calls = dlsym(RTLD_DEFAULT, "counting_library_calls");

    CHECK(calls != NULL);
    use_names_of_ours(calls, strcmp(expected, "seen") == 0);
    unsigned long before = *calls;
    use_heap();
    if (strcmp(expected, "seen") == 0)
        CHECK(*calls - before > 1000);
    else
        CHECK(*calls == before);
    start_thread(wait_for_ever, NULL);
    shed();
}

static void run_with(const char *first, const char *second, const char *force, const char *expected) {
    static char preload[9000], seen[32];
    const char *env[] = {preload, seen, force, NULL};

    snprintf(preload, sizeof preload, "LD_PRELOAD=%s:%s", first, second);
    snprintf(seen, sizeof seen, "EXPECTED=%s", expected);
    run_worker(env, NULL);
}

int main(int argc, char **argv) {
    const char *tested = getenv("TESTED_LIB");

    if (is_worker(argc, argv)) {
        worker(getenv("EXPECTED"));
        return 0;
    }
    if (tested == NULL)
        skip("TESTED_LIB is not set");
    CHECK(argc > 1);
    run_with(argv[1], tested, NULL, "seen");
    run_with(tested, argv[1], NULL, "unseen");
    run_with(argv[1], tested, "HAKMEM_FORCE_LIBC_ALLOC=1", "seen");
    run_with(tested, argv[1], "HAKMEM_FORCE_LIBC_ALLOC=1", "seen");
    return 0;
}
