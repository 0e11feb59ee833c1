/*
 * no_give_back: what becomes of memory that the kernel will not take back for a while?
 *
 * munmap and madvise are refused (as munmap is when a process owns too many mappings) while 900 MiB of large and
 * medium blocks pass through, never more than 16 MiB alive. Nothing of it is visible to the caller, and the process may
 * not grow by what it freed: the ranges must be used again. Afterwards, with the kernel willing again, size and
 * residence must be near where they began.
 */
#include "fault.h"

enum { PASSES = 150, SIZE_BOUND_KIB = 400 << 10, RESIDENT_BOUND_KIB = 200 << 10 };

static void pass(size_t number) {
    void *large[4], *medium[16];

    for (size_t i = 0; i < 4; i++) {
        size_t size = (1u << 20) + 4096 * ((number * 7 + i * 13) % 100) + 1;
        large[i] = i % 2 == 0 ? try_malloc(size) : try_calloc(size);
        CHECK(large[i] != NULL);
        fill(large[i], size, (unsigned char)(number + i));
    }
    for (size_t i = 0; i < 16; i++) {
        medium[i] = try_malloc(50000 + i * 1000);
        CHECK(medium[i] != NULL);
        fill(medium[i], 50000 + i * 1000, 'm');
    }
    for (size_t i = 0; i < 4; i++) {
        verify(large[i], 1u << 20, (unsigned char)(number + i));
        give_back(large[i]);
    }
    for (size_t i = 0; i < 16; i++)
        give_back(medium[i]);
}

int main(void) {
    workload(1);
    long size = status_kib("VmSize:");
    fault_arm(FAULT_MUNMAP | FAULT_MADVISE, 0, 1000, 1);
    for (size_t number = 0; number < PASSES; number++)
        pass(number);
    malloc_trim(0);
    CHECK(denied == 0 && fault_injected() > 0);
    CHECK(status_kib("VmSize:") - size < SIZE_BOUND_KIB);
    CHECK(status_kib("VmRSS:") < RESIDENT_BOUND_KIB);
    check_recovered();
    CHECK(status_kib("VmSize:") - size < SIZE_BOUND_KIB);
    return 0;
}
