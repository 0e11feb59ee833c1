/*
 * zeroed: is calloc's memory zero even when the calls that would have cleaned it were refused?
 *
 * Blocks of every kind are filled with ones and freed while munmap and madvise fail always or at random; an
 * allocator that takes a refused range for fresh would now hand out the ones. calloc and growing realloc of
 * large blocks follow, with the kernel unwilling and willing again.
 */
#include "fault.h"

enum { BLOCKS = 60, ROUNDS = 12 };

static size_t size_of(size_t i, size_t round) {
    static const size_t kinds[] = {40, 600, 9000, 33000, 150000, 1200000};

    return kinds[i % 6] + i * 16 + round * 4096 % 20000;
}

static void dirty_and_free(size_t round) {
    static void *blocks[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = try_malloc(size_of(i, round));
        CHECK(blocks[i] != NULL);
        fill(blocks[i], size_of(i, round), 0xff);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        give_back(blocks[(i * 7) % BLOCKS]);
    malloc_trim(0);
}

static void expect_zero(size_t round) {
    static void *blocks[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = try_calloc(size_of(i, round + 1));
        CHECK(blocks[i] != NULL);
        fill(blocks[i], size_of(i, round + 1), 0xff);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        give_back(blocks[i]);
}

int main(void) {
    static const unsigned rates[] = {1000, 500, 200};
    unsigned long injected = 0;

    for (size_t round = 0; round < ROUNDS; round++) {
        fault_arm(FAULT_MUNMAP | FAULT_MADVISE, 0, rates[round % 3], (unsigned)round);
        dirty_and_free(round);
        injected += fault_injected();
        if (round % 2 == 0)
            fault_disarm();
        expect_zero(round);
        fault_disarm();
        expect_zero(round + 1);
    }
    CHECK(injected > 0);
    check_recovered();
    return 0;
}
