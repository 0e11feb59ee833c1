/*
 * counting_library: another preload, of the kind that tracing tools use: it interposes malloc, calloc,
 * realloc and free, counts the calls, and hands them to the next library, all under a lock of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

extern unsigned long counting_library_calls;
unsigned long counting_library_calls;

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
} next;

static void find(const char *name, void *function) {
    void *symbol = dlsym(RTLD_NEXT, name);

    memcpy(function, &symbol, sizeof symbol);
}

static void find_next(void) {
    find("malloc", &next.malloc);
    find("calloc", &next.calloc);
    find("realloc", &next.realloc);
    find("free", &next.free);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count_call(void) {
    if (__atomic_load_n(&next.free, __ATOMIC_ACQUIRE) == NULL)
        find_next();
    pthread_mutex_lock(&lock);
    counting_library_calls++;
}

static void *counted(void *block) {
    pthread_mutex_unlock(&lock);
    return block;
}

void *malloc(size_t size) {
    count_call();
    return counted(next.malloc(size));
}

void *calloc(size_t count, size_t size) {
    count_call();
    return counted(next.calloc(count, size));
}

void *realloc(void *block, size_t size) {
    count_call();
    return counted(next.realloc(block, size));
}

void free(void *block) {
    count_call();
    next.free(block);
    counted(NULL);
}
