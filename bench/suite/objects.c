// objects: what do small objects cost that calloc clears, that are counted up at once, and that refer to each other?
//
// After the reference-counted objects of interpreters, parsers and GObject (no published benchmark asks it): a random
// slot of WS gets a new object of 24 to 96 bytes from calloc, which refers to the one in another slot. Who held the old
// one lets it go; an object is freed with its last reference, and lets go of what it refers to. An operation is one new
// object.
#include "suite.h"

#include "../blocks.h"

#include <stdlib.h>

enum { SMALLEST = sizeof(void *) * 3, LARGEST = 96 };

struct object {
    struct object *refers_to;
    uint32_t references, depth;
    uint64_t reads;
};

static struct object *object_new(size_t size, struct object *other) {
    struct object *object = calloc(1, size);
    if (!object)
        suite_fail("the allocator returned NULL");
    if (object->refers_to || object->reads)
        suite_fail("a block from calloc is not clear");
    object->references++;
    if (other) {
        object->refers_to = other;
        object->depth = other->depth + 1;
        other->references++;
        other->reads++;
    }
    return object;
}

static void object_let_go(struct object *object) {
    while (object && --object->references == 0) {
        struct object *next = object->refers_to;
        free(object);
        object = next;
    }
}

static uint64_t run(struct suite_thread *thread) {
    size_t working_set = thread->settings->working_set;
    struct object **slots = driver_memory(working_set * sizeof *slots);
    for (uint64_t i = 0; i < thread->share; i++) {
        uint64_t bits = random_next(&thread->random);
        struct object **slot = &slots[random_below((uint32_t)bits, working_set)];
        struct object *other = slots[random_below((uint32_t)(bits >> 32), working_set)];
        bool chains = other && other->depth < 4;
        struct object *object =
            object_new(random_between((uint32_t)(bits >> 16), SMALLEST, LARGEST), chains ? other : NULL);
        object_let_go(*slot);
        *slot = object;
    }
    for (size_t i = 0; i < working_set; i++)
        object_let_go(slots[i]);
    return thread->share;
}

const struct suite suite = {
    .defaults = {.iterations = 4000000, .working_set = 1000, .seed = 1, .threads = 1},
    .most = 1u << 24,
    .run = run,
};
