/*
 * growing: how many instructions does a block of new memory cost, one that is freed at random, and one of a burst?
 *
 * Of each of several sizes 16 MB are allocated, none freed, so that the heap takes slab after slab, or one large block after
 * the other, of memory that nobody has touched; whoever looks through all size classes each time shows it here, where no clock
 * would: new memory costs page faults, which are dearer. Then blocks of 64 bytes are freed in an order that has nothing to do with
 * where they lie. Then as many are allocated and freed, last first and first first, in memory that was in use before. Instructions by
 * callgrind, those of the loops included.
 *
 * SKIP without valgrind or its header.
 */
#include "counted.h"

#if COUNTED_CAN

enum { BYTES = 16000000, SIZES = 5, AT_RANDOM = SIZES, LAST_FIRST, FIRST_FIRST, PARTS, FREED = 64 };

static const struct part {
    const char *name;
    size_t size;
    double bar;
} parts[PARTS] = {{"blocks of 64 bytes", FREED, 30},
                  {"blocks of 256 bytes", 256, 36},
                  {"blocks of 1,024 bytes", 1024, 70},
                  {"blocks of 16,384 bytes", 16384, 155},
                  {"blocks of 40,000 bytes", 40000, 1700},
                  [AT_RANDOM] = {"random frees", FREED, 70},
                  [LAST_FIRST] = {"malloc, free last first", FREED, 69.2},
                  [FIRST_FIRST] = {"malloc, free first first", FREED, 68.2}};

static void *blocks[BYTES / FREED];

static void grow(size_t size) {
    for (size_t i = 0; i < BYTES / size; i++)
        blocks[i] = malloc(size);
}

static void free_all(size_t count) {
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
}

static void burst(bool last_first) {
    size_t count = BYTES / FREED;

    grow(FREED);
    if (last_first)
        for (size_t i = count; i-- > 0;)
            free(blocks[i]);
    else
        free_all(count);
}

static int worker(void) {
    free(taken(1)); /* so that this thread has its heap */
    CALLGRIND_START_INSTRUMENTATION;
    for (int i = SIZES; i-- > 0;)
        COUNTED(parts[i].name, grow(parts[i].size));
    shuffle(blocks, BYTES / FREED, 1);
    COUNTED(parts[AT_RANDOM].name, free_all(BYTES / FREED));
    COUNTED(parts[LAST_FIRST].name, burst(true));
    COUNTED(parts[FIRST_FIRST].name, burst(false));
    return 0;
}

static unsigned noted;

static void hold(const struct part *part, long instructions) {
    double each = (double)instructions / (double)(BYTES / part->size);

    printf("%-26s %7.2f instructions each\n", part->name, each);
    BAR(each <= part->bar, "%s: %.2f instructions each, %.2f may be", part->name, each, part->bar);
    noted++;
}

static void note(const char *name, long instructions) {
    for (int i = 0; i < PARTS; i++)
        if (strcmp(name, parts[i].name) == 0)
            hold(&parts[i], instructions);
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv))
        return worker();
    counted_run(note);
    CHECK(noted == PARTS);
    return bars_result();
}
#else
int main(void) {
    skip("no valgrind/callgrind.h (Debian: valgrind)");
}
#endif
