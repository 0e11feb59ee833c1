/*
 * first_under_limit: threads that wait make their first malloc when no address space is left, but all that was allocated is free again.
 *
 * Who has no heap yet gets the same second try as who has one: what is free goes home first. HAKMEM_PURGE_THREAD=0, so that nobody else
 * does it meanwhile.
 */
#include "hostile.h"
#include <sys/mman.h>
#include <sys/resource.h>

enum { THREADS = 100, MOST = 200000, ROOM = 200 << 20, LARGEST = 1 << 20, SMALLEST = 1 << 12 };

static pthread_barrier_t barrier;
static void *blocks[MOST];

static void *first_block(void *block) {
    pthread_barrier_wait(&barrier);
    *(void **)block = malloc(16);
    pthread_barrier_wait(&barrier);
    free(*(void **)block);
    return NULL;
}

static void leave_no_addresses(void) {
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    rlim_t bytes = strtoul(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM;
    struct rlimit limit = {bytes, bytes};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

int main(void) {
    static void *first[THREADS];
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    size_t count = 0;

    CHECK(pthread_barrier_init(&barrier, NULL, THREADS + 1) == 0 && pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], &attributes, first_block, &first[i]) == 0);
    leave_no_addresses();
    for (size_t size = LARGEST; size >= SMALLEST; size /= 2)
        while (count < MOST && (blocks[count] = malloc(size)) != NULL)
            count++;
    CHECK(count < MOST);
    while (count > 0)
        free(blocks[--count]);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < THREADS; i++) {
        join_thread(threads[i]);
        CHECK(first[i] != NULL);
    }
    return 0;
}
