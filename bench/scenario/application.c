// application: one program for each number, that allocates as one kind of application does. What do allocators hold in those?
//
//     application NUMBER            prints "<peak resident KiB> <page faults> <seconds of CPU time>"
//     application NUMBER describe   also says, before, what the program is
//
// The kind is NUMBER modulo the number of kinds, so that eight numbers in a row are one of each; lengths, counts and threads follow from the number.
#include "application.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 2000000, MOST = 60000000, FIRST_ROOM = 16 };

static const struct kind {
    const char *what;
    void (*run)(struct work *work);
} kinds[] = {
    {"a log-structured store: nodes in a table, flushed to files, which are merged; a cache of blocks",
     application_store},
    {"texts that grow by small steps, and begin anew", application_texts},
    {"a cache whose oldest entries go, of lengths that drift", application_cache_by_age},
    {"a cache whose entries go at random, of lengths that drift", application_cache_at_random},
    {"a compiler: trees, then code, then texts; names stay", application_compiler},
    {"documents: trees of nodes with texts, edited; the oldest goes", application_documents},
    {"sessions: buffers and state, messages that grow", application_sessions},
    {"a canvas: layers, and tiles of what was changed, of other sizes by and by", application_canvas},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static uint64_t number, bytes;
static unsigned threads;

uint64_t between(struct work *work, uint64_t least, uint64_t most) {
    return least + below(&work->state, most - least + 1);
}

uint64_t between_doublings(struct work *work, uint64_t least, uint64_t most) {
    return by_logarithm(&work->state, least, most + 1);
}

void *work_new(size_t size) {
    unsigned char *block = malloc(size);
    write_block(block, size, WHOLE, NULL);
    return block;
}

void *work_array(size_t count, size_t size) {
    void *array = calloc(count, size);
    if (!array)
        write_block(NULL, 0, WHOLE, NULL);
    return array;
}

void **work_table(size_t count) {
    return work_array(count, sizeof(void *));
}

void work_table_end(void **table, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(table[i]);
    free(table);
}

void grown_append(struct grown *grown, size_t length) {
    size_t needed = grown->length + length, room = grown->room ? grown->room : FIRST_ROOM;
    while (room < needed)
        room *= 2;
    if (room != grown->room)
        grown->bytes = realloc(grown->bytes, room);
    if (!grown->bytes)
        write_block(NULL, 0, WHOLE, NULL);
    memset(grown->bytes + grown->length, 1, length);
    grown->length = needed;
    grown->room = room;
}

void grown_end(struct grown *grown) {
    free(grown->bytes);
    *grown = (struct grown){0};
}

static void *run(void *thread) {
    struct work work = {.state = number * THREADS + (uintptr_t)thread + 1, .bytes = bytes / threads};
    kinds[number % KINDS].run(&work);
    scenario_wait();
    return NULL;
}

int main(int count, char **words) {
    bool described = false;
    if (!scenario_words(count, words, &number, &described))
        return 2;
    uint64_t state = ~number;
    bytes = by_logarithm(&state, LEAST, MOST);
    threads = below(&state, 3) == 0 ? 2 + (unsigned)below(&state, THREADS - 1) : 1;
    if (described)
        printf("%s; some %llu bytes, %u threads\n", kinds[number % KINDS].what, (unsigned long long)bytes,
               threads);
    return scenario_run(threads, run);
}
