/*
 * growth: does a growing block keep its content when mremap, or mremap and mmap, are refused?
 *
 * A block grows from 100 KiB to 60 MiB and shrinks again, four turns. With mremap refused always it must still grow
 * (by copying). With mmap and mremap refused always it cannot: NULL, ENOMEM, and the block as it was. With both
 * refused at random, each step one of the two.
 */
#include "fault.h"

enum { SMALLEST = 100 << 10, LARGEST = 60 << 20 };

static size_t up_and_down(void) {
    size_t size = SMALLEST;
    void *block = try_malloc(size);

    if (block == NULL)
        return 0;
    fill(block, size, 'u');
    for (size_t next = size * 2; next <= LARGEST; next = next * 3 / 2 + 4097)
        if (try_realloc(&block, size, next, 'u'))
            size = next;
    size_t reached = size;
    for (size_t next = reached / 3; next >= SMALLEST; next = next * 2 / 3)
        if (try_realloc(&block, size, next, 'u'))
            size = next;
    give_back(block);
    return reached;
}

static void expect_denied(void) {
    size_t size = 2u << 20;
    void *block = try_malloc(size);

    CHECK(block != NULL);
    fill(block, size, 'd');
    fault_arm(FAULT_MMAP | FAULT_MREMAP, 0, 1000, 1);
    CHECK(!try_realloc(&block, size, LARGEST, 'd'));
    CHECK(!try_realloc(&block, size, LARGEST * 2u, 'd'));
    CHECK(fault_injected() > 0);
    fault_disarm();
    CHECK(try_realloc(&block, size, LARGEST, 'd'));
    give_back(block);
}

int main(void) {
    unsigned long injected = 0;

    CHECK(up_and_down() > LARGEST / 2);
    fault_arm(FAULT_MREMAP, 0, 1000, 1);
    CHECK(up_and_down() > LARGEST / 2 && denied == 0 && fault_injected() > 0);
    fault_disarm();
    expect_denied();
    for (unsigned seed = 1; seed <= 4; seed++) {
        fault_arm(FAULT_ALL, 0, 300, seed);
        up_and_down();
        injected += fault_injected();
        fault_disarm();
    }
    CHECK(injected > 0 && up_and_down() > LARGEST / 2);
    check_recovered();
    return 0;
}
