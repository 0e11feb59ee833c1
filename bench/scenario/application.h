// Programs that allocate as applications do: what each kind of them is (application.c lists them), and what all of them use.
//
// A kind draws its lengths and counts from the state that it is given, holds some `bytes` at its peak, and frees all of it. Each thread runs one by itself.
#ifndef HAKMEM_BENCH_APPLICATION_H
#define HAKMEM_BENCH_APPLICATION_H

#include "phases.h"

#include <stddef.h>

struct work {
    uint64_t state; // of next_random
    uint64_t bytes; // about what is live at most
};

void application_store(struct work *work);
void application_texts(struct work *work);
void application_cache_by_age(struct work *work);
void application_cache_at_random(struct work *work);
void application_compiler(struct work *work);
void application_documents(struct work *work);
void application_sessions(struct work *work);
void application_canvas(struct work *work);

// From `least` to `most`, each length as likely as the others; and each doubling as likely as the others.
uint64_t between(struct work *work, uint64_t least, uint64_t most);
uint64_t between_doublings(struct work *work, uint64_t least, uint64_t most);

// A block that is written whole.
void *work_new(size_t size);

// Room for so many of that size, all 0.
void *work_array(size_t count, size_t size);

// The same for pointers, all NULL; and the end of what they point to, and of it.
void **work_table(size_t count);
void work_table_end(void **table, size_t count);

// A text or vector that grows: its room doubles, by realloc, and all that is appended is written.
struct grown {
    unsigned char *bytes;
    size_t length, room;
};
void grown_append(struct grown *grown, size_t length);
void grown_end(struct grown *grown);

#endif
