/*
 * growing: how many instructions does a block of new memory cost, and one that is freed at random?
 *
 * Of each of several sizes 16 MB are allocated, none freed, so that the heap takes slab after slab, or one large block after
 * the other, of memory that nobody has touched; whoever looks through all size classes each time shows it here, where no clock
 * would: new memory costs page faults, which are dearer. Then blocks of 64 bytes are freed in an order that has nothing to do with
 * where they lie. Instructions by callgrind, those of the loop included.
 *
 * SKIP without valgrind or its header.
 */
#include "counted.h"

#if COUNTED_CAN

enum { BYTES = 16000000, SIZES = 5, FREED = 64 };

static const struct growth {
    const char *name;
    size_t size;
    long bar;
} growths[SIZES] = {{"blocks of 64 bytes", FREED, 30},
                    {"blocks of 256 bytes", 256, 36},
                    {"blocks of 1,024 bytes", 1024, 70},
                    {"blocks of 16,384 bytes", 16384, 155},
                    {"blocks of 40,000 bytes", 40000, 1700}};
static const char freed[] = "random frees of 64 bytes";
enum { FREED_BAR = 74 };

static void *blocks[BYTES / FREED];

static void grow(size_t size) {
    for (size_t i = 0; i < BYTES / size; i++)
        blocks[i] = malloc(size);
}

static void free_all(size_t count) {
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
}

static int worker(void) {
    free(taken(1)); /* so that this thread has its heap */
    CALLGRIND_START_INSTRUMENTATION;
    for (int i = SIZES; i-- > 0;)
        COUNTED(growths[i].name, grow(growths[i].size));
    shuffle(blocks, BYTES / FREED, 1);
    COUNTED(freed, free_all(BYTES / FREED));
    return 0;
}

static unsigned noted;

static void hold(const char *name, size_t size, long instructions, long bar) {
    long each = instructions / (long)(BYTES / size);

    printf("%-26s %4ld instructions each\n", name, each);
    BAR(each <= bar, "%s: %ld instructions each, %ld may be", name, each, bar);
    noted++;
}

static void note(const char *name, long instructions) {
    for (int i = 0; i < SIZES; i++)
        if (strcmp(name, growths[i].name) == 0)
            hold(name, growths[i].size, instructions, growths[i].bar);
    if (strcmp(name, freed) == 0)
        hold(name, FREED, instructions, FREED_BAR);
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv))
        return worker();
    counted_run(note);
    CHECK(noted == SIZES + 1);
    return bars_result();
}
#else
int main(void) {
    skip("no valgrind/callgrind.h (Debian: valgrind)");
}
#endif
