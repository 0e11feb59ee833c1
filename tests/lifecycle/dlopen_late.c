/*
 * dlopen_late: may a running program load the library by dlopen, and close it again?
 *
 * Nothing is preloaded: the program's own malloc stays libc's. The library's thread-local words must fit the
 * static TLS that libc keeps in reserve: at most 64 bytes. Threads that ran before dlopen and threads started afterwards use
 * its malloc and free; dlclose comes while they still live, with blocks of theirs alive. The threads then
 * end, which calls whatever the library registered for that: closing must not have pulled it away. Then it
 * is opened and closed again and again.
 */
#define TEST_ANY_MALLOC
#include "lifecycle.h"
#include <link.h>

enum { THREADS = 4, ROUNDS = 20, BLOCKS = 200, TLS_BYTES = 64 };

typedef void *(*malloc_function)(size_t);
typedef void (*free_function)(void *);

static const char *library;
static malloc_function late_malloc;
static free_function late_free;
static pthread_barrier_t opened, used, closed;

static int measure_tls(struct dl_phdr_info *object, size_t size, void *found) {
    (void)size;
    if (strcmp(object->dlpi_name, library) != 0)
        return 0;
    *(bool *)found = true;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_TLS)
            CHECK(object->dlpi_phdr[i].p_memsz <= TLS_BYTES);
    return 1;
}

static void *open_library(int flags) {
    void *handle = dlopen(library, flags);

    if (handle == NULL)
        dprintf(2, "dlopen: %s\n", dlerror());
    CHECK(handle != NULL);
    void *symbols[2] = {dlsym(handle, "malloc"), dlsym(handle, "free")};
    CHECK(symbols[0] != NULL && symbols[1] != NULL);
    memcpy(&late_malloc, &symbols[0], sizeof symbols[0]);
    memcpy(&late_free, &symbols[1], sizeof symbols[1]);
    return handle;
}

static void use_late(unsigned seed, bool leave_some) {
    void *blocks[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = late_malloc(i * (i + seed) + 1);
        CHECK(blocks[i] != NULL);
        fill(blocks[i], i * (i + seed) + 1, (unsigned char)i);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        verify(blocks[i], i * (i + seed) + 1, (unsigned char)i);
        if (!leave_some || i % 10 != 0)
            late_free(blocks[i]);
    }
}

static void *body(void *argument) {
    unsigned seed = (unsigned)(uintptr_t)argument;

    churn(seed, 100);
    if (seed <= THREADS)
        pthread_barrier_wait(&opened);
    use_late(seed, true);
    pthread_barrier_wait(&used);
    pthread_barrier_wait(&closed);
    churn(seed, 100);
    return NULL;
}

int main(void) {
    pthread_t threads[2 * THREADS];

    library = getenv("TESTED_LIB");
    if (library == NULL)
        skip("TESTED_LIB is not set");
    CHECK(pthread_barrier_init(&opened, NULL, THREADS + 1) == 0);
    CHECK(pthread_barrier_init(&used, NULL, 2 * THREADS + 1) == 0);
    CHECK(pthread_barrier_init(&closed, NULL, 2 * THREADS + 1) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(body, (void *)(i + 1));
    void *handle = open_library(RTLD_NOW | RTLD_LOCAL);
    bool found = false;
    dl_iterate_phdr(measure_tls, &found);
    CHECK(found);
    pthread_barrier_wait(&opened);
    for (uintptr_t i = THREADS; i < 2 * THREADS; i++)
        threads[i] = start_thread(body, (void *)(i + 1));
    use_late(99, true);
    pthread_barrier_wait(&used);
    CHECK(dlclose(handle) == 0);
    pthread_barrier_wait(&closed);
    for (int i = 0; i < 2 * THREADS; i++)
        join_thread(threads[i]);
    for (int round = 0; round < ROUNDS; round++) {
        handle = open_library(RTLD_NOW | (round % 2 == 0 ? RTLD_LOCAL : RTLD_GLOBAL));
        use_late((unsigned)round, false);
        CHECK(dlclose(handle) == 0);
        churn((unsigned)round, 100);
    }
    return 0;
}
