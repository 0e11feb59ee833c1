/*
 * force_libc: does HAKMEM_FORCE_LIBC_ALLOC=1 hand every call to libc?
 *
 * In the worker small blocks of the main thread must then lie in the [heap] mapping, which belongs to libc's
 * malloc alone; every entry point must work on them, in threads as well; and nothing may be mapped in the
 * address window (32 to 64 GiB) where the library keeps its heap. Without the option blocks are not in [heap],
 * which shows that the question was a real one.
 */
#include "hostile.h"

static unsigned long heap_begin, heap_end, in_window;

static void read_maps(void) {
    static char line[5000];
    unsigned long begin, end;
    FILE *maps = fopen("/proc/self/maps", "re");

    if (maps == NULL)
        skip("/proc/self/maps cannot be read");
    while (fgets(line, sizeof line, maps) != NULL) {
        CHECK(sscanf(line, "%lx-%lx", &begin, &end) == 2);
        in_window += begin >= 32ul << 30 && begin < 64ul << 30;
        if (strstr(line, "[heap]") != NULL) {
            heap_begin = begin;
            heap_end = end;
        }
    }
    fclose(maps);
}

static bool in_heap(const void *block) {
    return (uintptr_t)block >= heap_begin && (uintptr_t)block < heap_end;
}

static void worker(bool forced) {
    void *blocks[3] = {malloc(100), calloc(3, 33), aligned_alloc(64, 128)};

    blocks[0] = realloc(blocks[0], 1000);
    use_heap();
    read_maps();
    for (int i = 0; i < 3; i++) {
        CHECK(blocks[i] != NULL && in_heap(blocks[i]) == forced && malloc_usable_size(blocks[i]) >= 99);
        free(blocks[i]);
    }
    CHECK(!forced || in_window == 0);
}

int main(int argc, char **argv) {
    static const char *const forced[] = {"HAKMEM_FORCE_LIBC_ALLOC=1", "EXPECTED=forced", NULL};
    static const char *const plain[] = {"EXPECTED=plain", NULL};

    if (is_worker(argc, argv)) {
        worker(strcmp(getenv("EXPECTED"), "forced") == 0);
        return 0;
    }
    run_worker(forced, NULL);
    if (getenv("TESTED_LIB") != NULL)
        run_worker(plain, NULL);
    return 0;
}
