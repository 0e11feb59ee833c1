// One worker: a thread's slots, taken from mmap and drained at the end.
#define _GNU_SOURCE
#include "blocks.h"

#include <sys/mman.h>

// What every block is in an empty run; untouched pages of it cost nothing. Threads share it: their time is not that of the loop.
unsigned char empty_block[4 * 1024 * 1024 + 1];

void *driver_memory(size_t bytes) {
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        fputs("bench: no memory for the driver itself\n", stderr);
        exit(1);
    }
    return memory;
}

void worker_begin(struct worker *worker, const struct settings *settings, unsigned index) {
    *worker = (struct worker){.settings = settings};
    worker->slots = driver_memory(settings->working_set * sizeof *worker->slots);
    worker->marks = driver_memory(settings->working_set * sizeof *worker->marks);
    // Neighbouring seeds must not give neighbouring sequences: spread them, and draw a few.
    worker->random = (settings->seed + index + 1) * 0x9e3779b97f4a7c15u;
    if (worker->random == 0)
        worker->random = 1;
    for (int i = 0; i < 8; i++)
        random_next(&worker->random);
}

void worker_end(struct worker *worker) {
    for (size_t i = 0; i < worker->settings->working_set; i++)
        slot_release(&worker->slots[i], worker->settings->empty);
}
