// records: what does a cache of records cost that is kept in the order of use?
//
// After what stores and proxies keep: WS records of 256, 512, 1,024 or 2,048 bytes, each with the links of a list and a count at its
// beginning. A random one is used: its count is written, and it moves to the front of the list, which writes to the beginnings of
// its neighbours and of the first one. Each sixteenth time the one that was used longest ago is replaced by a new one of a random one of
// these sizes, of which the first 64 bytes are written. What a use costs is where the records lie, not what a call takes. An operation is
// one use.
#include "suite.h"

#include "../blocks.h"

#include <string.h>

enum { SMALLEST = 256, DOUBLINGS = 4, BEGINNING = 64, REPLACED_EACH = 16 };

struct record {
    struct record *next, *previous;
    uint64_t uses;
    size_t place;
};

static void unlink_record(struct record *record) {
    record->previous->next = record->next;
    record->next->previous = record->previous;
}

static void link_first(struct record *list, struct record *record) {
    record->next = list->next;
    record->previous = list;
    list->next->previous = record;
    list->next = record;
}

static struct record *new_record(uint64_t *random, size_t place) {
    size_t size = (size_t)SMALLEST << random_below((uint32_t)random_next(random), DOUBLINGS);
    struct record *record = block_new(false, size);
    memset(record, 0, BEGINNING);
    record->place = place;
    return record;
}

static uint64_t run(struct suite_thread *thread) {
    size_t count = thread->settings->working_set;
    struct record **table = driver_memory(count * sizeof *table);
    struct record list = {.next = &list, .previous = &list};
    for (size_t i = 0; i < count; i++)
        link_first(&list, table[i] = new_record(&thread->random, i));
    for (uint64_t i = 0; i < thread->share; i++) {
        struct record *used = table[random_below((uint32_t)random_next(&thread->random), count)];
        used->uses++;
        unlink_record(used);
        link_first(&list, used);
        if (i % REPLACED_EACH != 0)
            continue;
        struct record *oldest = list.previous;
        size_t place = oldest->place;
        unlink_record(oldest);
        free(oldest);
        link_first(&list, table[place] = new_record(&thread->random, place));
    }
    for (size_t i = 0; i < count; i++)
        free(table[i]);
    return thread->share;
}

const struct suite suite = {
    .defaults = {.iterations = 40000000, .working_set = 4000, .seed = 1, .threads = 1},
    .most = 1u << 24,
    .run = run,
};
