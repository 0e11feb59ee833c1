/* Addresses at which there is nothing, from one end of the address space to the other, are freed. */
#include "misuse.h"

#include <stdint.h>
#include <stdlib.h>

int main(void) {
    static const uint64_t wild[] = {
        1,
        8,
        4096,
        65535,
        65536,
        UINT64_C(1) << 32,
        UINT64_C(0xeffff0000), /* past where the first superslab may lie: 32 to 40 GiB */
        UINT64_C(0xfffffff0),
        (UINT64_C(1) << 36) - 16,
        UINT64_C(1) << 36,
        (UINT64_C(1) << 47) - 1,
        UINT64_C(1) << 47,
        UINT64_C(1) << 52,
        UINT64_C(1) << 63,
        UINT64_MAX,
    };
    misuse_address((void *)(uintptr_t)wild[0]);
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        void *volatile pointer = (void *)(uintptr_t)wild[i];
        free(pointer);
    }
    return misuse_survived();
}
