/*
 * thread_reuse: does a new thread get the memory that ended threads left behind?
 *
 * 60 threads one after another each fill 8 MiB of small and medium blocks. Every second one frees all of it;
 * the others end with every block live, and the main thread frees them afterwards. 480 MiB pass through;
 * the resident memory must stay near the size of a few threads' worth.
 */
#include "lifecycle.h"

enum { THREADS = 60, BYTES = 8 << 20, MOST = BYTES / 64, BOUND_KIB = 96 << 10 };

static void *blocks[MOST];
static int count;

static void free_all(void) {
    for (int i = 0; i < count; i++)
        free(blocks[i]);
    count = 0;
}

static void *fill_eight_mib(void *argument) {
    unsigned state = (unsigned)(uintptr_t)argument * 77777u | 1;

    for (size_t total = 0; total < BYTES;) {
        size_t size = next_random(&state) % 64 == 0 ? 20000 : next_random(&state) % 1000 + 64;
        blocks[count] = malloc(size);
        CHECK(blocks[count] != NULL);
        fill(blocks[count++], size, (unsigned char)state);
        total += size;
    }
    if ((uintptr_t)argument % 2 == 0)
        free_all();
    return NULL;
}

int main(void) {
    for (uintptr_t number = 0; number < THREADS; number++) {
        join_thread(start_thread(fill_eight_mib, (void *)number));
        free_all();
    }
    CHECK(status_kib("VmRSS:") < BOUND_KIB);
    return 0;
}
