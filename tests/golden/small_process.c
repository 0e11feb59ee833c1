/*
 * small_process: what most programs ask of an allocator: 400 blocks of 16 to 1,024 bytes at a time, taken, zeroed, aligned, grown and
 * freed; threads that take blocks which others free, and end; then as many blocks of one size that their slabs are expected to be filled.
 *
 * first_pages.py runs it under callgrind. It prints how much of the file that malloc comes from is resident, and of its code, whichever
 * allocator that is: on Linux before 6.18 that depends on nothing else, since then also on how the page cache holds the file.
 */
#include "../lifecycle/lifecycle.h"

enum { LIVE = 400, STEPS = 20000, THREADS = 4, GIVEN = 2000, LARGEST = 1024, MANY = 1500 };

static void *blocks[LIVE], *given[THREADS][GIVEN];

static size_t small_size(unsigned *state) {
    return next_random(state) % (LARGEST - 15) + 16;
}

static void *small_block(unsigned *state) {
    size_t size = small_size(state);
    unsigned way = next_random(state) % 16;
    void *aligned = NULL;
    unsigned char *block = way < 2                                               ? calloc(1, size)
                           : way == 2 && posix_memalign(&aligned, 64, size) == 0 ? aligned
                                                                                 : malloc(size);

    CHECK(block != NULL);
    block[0] = block[size - 1] = 1;
    return block;
}

static void churn_small(unsigned state) {
    for (int step = 0; step < STEPS; step++) {
        void **block = &blocks[next_random(&state) % LIVE];
        if (*block != NULL && next_random(&state) % 8 == 0) {
            size_t size = small_size(&state);
            *block = size % 2 == 0 ? realloc(*block, size) : reallocarray(*block, size / 8, 8);
            CHECK(*block != NULL);
        } else if (*block != NULL) {
            free(*block);
            *block = NULL;
        } else {
            *block = small_block(&state);
        }
    }
    for (int i = 0; i < LIVE; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

static void *give(void *place) {
    unsigned state = 7;

    for (int i = 0; i < GIVEN; i++)
        ((void **)place)[i] = small_block(&state);
    return NULL;
}

static void *take(void *place) {
    for (int i = 0; i < GIVEN; i++)
        free(((void **)place)[i]);
    return NULL;
}

static void hand_over(void) {
    pthread_t thread;

    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&thread, NULL, give, given[i]) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        take(given[i]);
        give(given[i]);
        CHECK(pthread_create(&thread, NULL, take, given[i]) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

/* Until the end: who frees many at once runs more. */
static void hold_many(void) {
    for (int i = 0; i < MANY; i++)
        CHECK(malloc(LARGEST / 2) != NULL);
}

/* Resident KiB of the file that malloc comes from: of its code, and of all of it. */
static void library_kib(long *code, long *all) {
    char line[512], permissions[8];
    bool ours = false;
    Dl_info where;

    CHECK(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &where) != 0);
    const char *slash = strrchr(where.dli_fname, '/'), *name = slash != NULL ? slash + 1 : where.dli_fname;
    FILE *smaps = fopen("/proc/self/smaps", "r");
    if (smaps == NULL)
        skip("no /proc/self/smaps");
    while (fgets(line, sizeof line, smaps) != NULL) {
        if (sscanf(line, "%*x-%*x %7s", permissions) == 1)
            ours = strstr(line, name) != NULL;
        else if (ours && strncmp(line, "Rss:", 4) == 0) {
            long kib = strtol(line + 4, NULL, 10);
            *all += kib;
            *code += permissions[2] == 'x' ? kib : 0;
        }
    }
    fclose(smaps);
}

int main(void) {
    long code = 0, all = 0;

    churn_small(1);
    hand_over();
    hold_many();
    library_kib(&code, &all);
    printf("resident of the library's file: %ld KiB, %ld of them code\n", all, code);
    return 0;
}
