/*
 * mapping_count: what happens when the process owns as many mappings as the kernel allows (65,530)?
 *
 * The program splits one mapping page by page until the kernel refuses, then allocates, grows and frees on:
 * each call either succeeds or says ENOMEM, contents stay, and nothing crashes, although munmap, mmap and
 * madvise may now all fail. When the mappings are gone again everything must work, and the memory that could
 * not be given back meanwhile must be of use. SKIP where the kernel allows more than 300,000.
 */
#include "hostile.h"
#include <sys/mman.h>

enum { LARGEST = 300000, BLOCKS = 400 };

/* Every second page another protection, until the kernel refuses. */
static void eat(unsigned char *pages, size_t count, size_t page) {
    for (size_t i = 0; i < count; i += 2)
        if (mprotect(pages + i * page, page, PROT_READ) != 0) {
            CHECK(errno == ENOMEM);
            return;
        }
    CHECK(!"the kernel refused at last");
}

static size_t size_of(size_t i) {
    return i % 20 == 0 ? (i + 1) * 8192 : i * 11 + 1;
}

static void *allocate_in_thread(void *argument) {
    void *block = malloc(5000);

    if (block != NULL)
        fill(block, 5000, 't');
    free(block);
    return argument;
}

static size_t allocate_politely(void **blocks, unsigned round) {
    size_t failures = 0;
    pthread_t thread;

    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i] != NULL)
            verify(blocks[i], size_of(i), (unsigned char)i);
        if ((i + round) % 3 == 0) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
        errno = 0;
        void *block = blocks[i] == NULL ? malloc(size_of(i)) : realloc(blocks[i], size_of(i) + 100);
        CHECK(block != NULL || errno == ENOMEM);
        failures += block == NULL;
        blocks[i] = block != NULL ? block : blocks[i];
        if (block != NULL)
            fill(block, size_of(i), (unsigned char)i);
    }
    if (pthread_create(&thread, NULL, allocate_in_thread, NULL) == 0)
        join_thread(thread);
    return failures;
}

int main(void) {
    static void *blocks[BLOCKS];
    size_t count = allowed_mappings() + 1000, page = (size_t)sysconf(_SC_PAGESIZE);

    if (count > LARGEST)
        skip("max_map_count is too large to be reached quickly");
    unsigned char *pages =
        mmap(NULL, count * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK(allocate_politely(blocks, 0) == 0);
    eat(pages, count, page);
    for (unsigned round = 1; round < 10; round++)
        allocate_politely(blocks, round);
    malloc_trim(0);
    CHECK(munmap(pages, count * page) == 0);
    CHECK(allocate_politely(blocks, 10) == 0);
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    use_heap();
    malloc_trim(0);
    CHECK(status_kib("VmRSS:") < 64 << 10);
    return 0;
}
