/*
 * large_blocks: do large blocks that are taken and freed again and again cost system calls?
 *
 * Blocks of 64 KiB to 64 MiB, 1,000 rounds each: one size alone; all six sizes one after the other in an order that
 * changes from round to round; and all six live at once. After the first ten rounds there must be no system call for
 * memory at all. Nor when one block at a time has any size up to 4 MiB and is written whole, but for a call or two when
 * it is longer than each before; nor when a vector grows to 700,000 bytes in steps of an eighth. Twenty vectors at once that
 * grow to twice their size in turn, to 1,000,000 bytes at most, make one for a hundred steps. What is kept for that is bounded: when all is freed, no more is held than was ever live at once, and an eighth (and the addresses of a field).
 */
#include "calls.h"

enum {
    ROUNDS = 1000,
    WARM_UP = 10,
    SIZES = 6,
    BAR_CALLS = 0,
    REACHED_IN_TURN = 0,
    REACHED_TOGETHER = 0,
    LONGEST_YET = 16,
    FIELD = 64 << 20, /* addresses, where huge pages come from the first byte on; hardly any is memory */
    VECTORS = 20,
    STEPS = 30, /* a round */
    VECTORS_CALLS = (ROUNDS - WARM_UP) * STEPS / 100
};

static const size_t sizes[SIZES] = {64 << 10, 256 << 10, 1 << 20, 3 << 20, 16 << 20, 64 << 20};
static const size_t all_sizes = 64 * 1024 * (1 + 4 + 16 + 48 + 256 + 1024);

static void alone(const size_t *order[SIZES]) {
    free(taken(*order[0]));
}

static void in_turn(const size_t *order[SIZES]) {
    for (int i = 0; i < SIZES; i++)
        free(taken(*order[i]));
}

static void together(const size_t *order[SIZES]) {
    void *blocks[SIZES];

    for (int i = 0; i < SIZES; i++)
        blocks[i] = taken(*order[i]);
    for (int i = 0; i < SIZES; i++)
        free(blocks[(i * 5 + 2) % SIZES]);
}

static void any_size(const size_t *order[SIZES]) {
    static unsigned state = 1;
    size_t size = (64 << 10) + next_random(&state) % (4 << 20);
    void *block = taken(size);

    (void)order;
    memset(block, 1, size);
    free(block);
}

static void growing(const size_t *order[SIZES]) {
    char *vector = NULL;

    (void)order;
    for (size_t size = 16, written = 0; size < 700000; written = size, size += size / 8 + 1) {
        vector = realloc(vector, size);
        BAR(vector != NULL, "no memory for %zu bytes", size);
        memset(vector + written, 1, size - written);
    }
    free(vector);
}

static void growing_in_turn(const size_t *order[SIZES]) {
    static struct {
        char *bytes;
        size_t size, largest;
    } vectors[VECTORS], *vector;
    static unsigned state = 3;

    (void)order;
    for (int i = 0; i < STEPS; i++) {
        vector = &vectors[next_random(&state) % VECTORS];
        if (!vector->bytes || vector->size * 2 > vector->largest) {
            free(vector->bytes);
            vector->size = 500;
            vector->largest = 125000 + next_random(&state) % 875000;
            vector->bytes = NULL;
        }
        vector->bytes = realloc(vector->bytes, vector->size * 2);
        BAR(vector->bytes != NULL, "no memory for %zu bytes", vector->size * 2);
        memset(vector->bytes + vector->size, 1, vector->size);
        vector->size *= 2;
    }
}

static void measure(const char *what, void (*round)(const size_t *order[SIZES]), const size_t *first,
                    long bar, long reached) {
    bool mixed = first == NULL;
    const size_t *order[SIZES];
    struct calls before = calls_now();

    for (int i = 0; i < SIZES; i++)
        order[i] = mixed ? &sizes[i] : first;
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (i == WARM_UP)
            before = calls_now();
        if (mixed)
            shuffle((void **)order, SIZES, i * 2654435761u);
        round(order);
    }
    struct calls after = calls_now();
    unsigned long calls = calls_between(&before, &after);
    printf("%-24s %5d rounds: %5lu system calls", what, ROUNDS - WARM_UP, calls);
    calls_print(&before, &after);
    puts("");
    bar_at_most(what, (long)calls, bar, reached);
}

int main(void) {
    struct hakmem_statistics held = {.mapped_bytes = 0};
    char name[40];

    setvbuf(stdout, NULL, _IOLBF, 4096);
    calls_start();
    measure("a vector, by eighths", growing, NULL, BAR_CALLS, BAR_CALLS);
    measure("any size, one at a time", any_size, NULL, LONGEST_YET, LONGEST_YET);
    for (int i = 0; i < SIZES; i++) {
        snprintf(name, sizeof name, "%zu KiB", sizes[i] >> 10);
        measure(name, alone, &sizes[i], BAR_CALLS, BAR_CALLS);
    }
    measure("all sizes, in turn", in_turn, NULL, BAR_CALLS, REACHED_IN_TURN);
    measure("all sizes, together", together, NULL, BAR_CALLS, REACHED_TOGETHER);
    if (ask_library(&held)) {
        size_t addresses = getenv("HAKMEM_HUGE_FROM") != NULL ? FIELD : 0;
        printf("held when all is freed: %llu KiB\n", (unsigned long long)held.mapped_bytes >> 10);
        BAR(held.mapped_bytes <= all_sizes + all_sizes / 8 + addresses,
            "%llu KiB are held, %zu were live at most", (unsigned long long)held.mapped_bytes >> 10,
            all_sizes >> 10);
    }
    measure("vectors in turn", growing_in_turn, NULL, VECTORS_CALLS, VECTORS_CALLS);
    return bars_result();
}
