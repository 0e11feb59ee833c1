#include "sizes.h"

#include <stdint.h>

const size_t sizes_few[] = {0,    1,     16,    17,    100,    128,     129,     1000,   4096,
                            9000, 32768, 32769, 65536, 200000, 1048576, 1048577, 5000000};
const size_t sizes_few_count = sizeof sizes_few / sizeof sizes_few[0];

const size_t sizes_impossible[] = {
    SIZE_MAX,         SIZE_MAX - 1,        SIZE_MAX - 15,    SIZE_MAX - 16,         SIZE_MAX - 4095,
    SIZE_MAX - 4096,  SIZE_MAX - 65535,    SIZE_MAX - 65536, SIZE_MAX - (4u << 20), SIZE_MAX / 4 * 3,
    SIZE_MAX / 2 + 1, (size_t)PTRDIFF_MAX, PTRDIFF_MAX - 1,  PTRDIFF_MAX - 4096,    PTRDIFF_MAX - 65536,
    PTRDIFF_MAX / 2,  (size_t)1 << 60,
};
const size_t sizes_impossible_count = sizeof sizes_impossible / sizeof sizes_impossible[0];

static size_t add_around(size_t *list, size_t count, size_t size) {
    list[count] = size - 1;
    list[count + 1] = size;
    list[count + 2] = size + 1;
    return count + 3;
}

size_t sizes_boundaries(size_t *list) {
    size_t count = 0;
    list[count++] = 0;
    list[count++] = 1;
    list[count++] = 8;
    for (size_t size = 16; size <= 128; size += 16) {
        count = add_around(list, count, size);
    }
    for (size_t doubling = 128; doubling < SIZES_SMALL_LARGEST; doubling *= 2) {
        for (size_t step = 1; step <= 8; step++) {
            count = add_around(list, count, doubling + doubling / 8 * step);
        }
    }
    static const size_t large[] = {40000,   65536,   2 * 65536, 300000, 15 * 65536,
                                   1 << 20, 3 << 20, 4 << 20,   9 << 20};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        count = add_around(list, count, large[i]);
    }
    return count;
}
