/*
 * hard: does a program that reaches HAKMEM_HARD_LIMIT get ENOMEM, keep what it has, and go on after freeing?
 *
 * With small blocks, middle ones, large ones, by growing, and from four threads at once. Resident memory stays below
 * the limit and what the process has besides. What was freed in one size is of use in every other. The refusals are
 * in the summary; without a limit none is mentioned.
 */
#include "limits.h"

enum { LIMIT = 64, BESIDE_KIB = 16 << 10, THREADS = 4 };

static long rss_before;

static void check_rss(void) {
    CHECK(status_kib("VmRSS:") < rss_before + (LIMIT << 10) + BESIDE_KIB);
}

/* Of the limit at least seven tenths are of use: the rest may be lost to rounding, slabs that have just begun, records. */
static void fill_up(size_t size) {
    void **blocks = hold(size, SIZE_MAX);
    if (held < LIMIT * MIB / 10 * 7 || held > LIMIT * MIB)
        dprintf(2, "%zu blocks of %zu bytes\n", held / size, size);
    CHECK(held >= LIMIT * MIB / 10 * 7 && held <= LIMIT * MIB);
    check_rss();
    errno = 0;
    CHECK(calloc(1, LIMIT * MIB) == NULL && errno == ENOMEM);
    drop(blocks);
}

static void grow(void) {
    size_t size = 40 * MIB;
    unsigned char *block = malloc(size);
    CHECK(block != NULL);
    fill(block, size, 'g');
    unsigned char *longer = realloc(block, size + 8 * MIB); /* both at once would be too much */
    CHECK(longer != NULL);
    verify(longer, size, 'g');
    errno = 0;
    CHECK(realloc(longer, LIMIT * MIB + 1) == NULL && errno == ENOMEM);
    verify(longer, size, 'g');
    check_rss();
    free(longer);
}

/* A thread needs some memory to begin with: none takes all of it before the last one is there. */
static pthread_barrier_t all_are_there;

static void *hold_in_thread(void *size) {
    pthread_barrier_wait(&all_are_there);
    for (int round = 0; round < 5; round++)
        drop(hold((size_t)(uintptr_t)size, 30 * MIB));
    return NULL;
}

static void together(void) {
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&all_are_there, NULL, THREADS) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(hold_in_thread, (void *)(100 + i * i * i * 20000));
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    check_rss();
}

int main(int argc, char **argv) {
    static const char *const limit[] = {"HAKMEM_HARD_LIMIT=64m", "HAKMEM_STATS=1", NULL};
    static const char *const none[] = {"HAKMEM_STATS=1", "HAKMEM_HARD_LIMIT=0", NULL};

    if (argc > 1 && strcmp(argv[1], "worker") == 0) {
        static const size_t sizes[] = {16, 100, 1000, 30000, 100000, 700000, 3000000};
        rss_before = status_kib("VmRSS:");
        if (rss_before < 0)
            skip("no /proc/self/status");
        for (int round = 0; round < 2; round++)
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                fill_up(sizes[i]);
        grow();
        together();
        fill_up(64);
        return 0;
    }
    if (argc > 1) {
        drop(hold(1000, 2 * LIMIT * MIB));
        return held < 2 * LIMIT * MIB;
    }
    const char *said = strstr(run_role("worker", limit, 0), "hard limit");
    CHECK(said != NULL && strstr(said, "65536 KiB, refusals ") != NULL);
    CHECK(strtoul(strstr(said, "refusals ") + 9, NULL, 10) >= 16);
    const char *free_said = run_role("free", none, 0);
    CHECK(strstr(free_said, "hard limit") == NULL && strstr(free_said, "soft limit") == NULL);
    return 0;
}
