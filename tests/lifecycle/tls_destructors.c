/*
 * tls_destructors: may destructors of thread-specific data allocate and free, in every iteration?
 *
 * POSIX calls the destructors up to PTHREAD_DESTRUCTOR_ITERATIONS (4) times while values remain. Every
 * destructor here frees its block, allocates others, and leaves a new value until the last iteration; the
 * library's own destructor runs somewhere among them. Keys are made before and after the first malloc of the
 * thread, and 300 threads must not grow the process.
 */
#include "lifecycle.h"
#include <limits.h>

enum { KEYS = 12, THREADS = 300, WARM_UP = 30, GROWTH_KIB = 8 << 10 };

struct value {
    int iteration;
    size_t size;
    unsigned char *payload;
};

static pthread_key_t keys[KEYS];
static int calls[THREADS];
static __thread int thread_number;

static struct value *new_value(int iteration) {
    struct value *value = malloc(sizeof *value);

    CHECK(value != NULL);
    value->iteration = iteration;
    value->size = 100 + (size_t)iteration * 3000;
    value->payload = calloc(value->size, 1);
    CHECK(value->payload != NULL);
    verify(value->payload, value->size, 0);
    fill(value->payload, value->size, (unsigned char)(iteration + 1));
    return value;
}

static void destroy(struct value *value) {
    int iteration = value->iteration;

    calls[thread_number]++;
    verify(value->payload, value->size, (unsigned char)(iteration + 1));
    free(value->payload);
    free(value);
    churn((unsigned)iteration + 1, 60);
    if (iteration + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) {
        struct value *next = new_value(iteration + 1);
        int which = 0;
        while (which < KEYS && pthread_getspecific(keys[which]) != NULL)
            which++;
        CHECK(which < KEYS && pthread_setspecific(keys[which], next) == 0);
    }
}

static void run_destructor(void *argument) {
    destroy(argument);
}

static void *body(void *argument) {
    thread_number = (int)(intptr_t)argument;
    for (int k = 0; k < KEYS / 2; k++)
        CHECK(pthread_setspecific(keys[k], new_value(0)) == 0);
    return NULL;
}

int main(void) {
    long before = 0;

    for (int k = 0; k < KEYS; k++)
        CHECK(pthread_key_create(&keys[k], run_destructor) == 0);
    for (int number = 0; number < THREADS; number++) {
        if (number == WARM_UP)
            before = status_kib("VmRSS:");
        join_thread(start_thread(body, (void *)(intptr_t)number));
        CHECK(calls[number] >= KEYS / 2 * 2);
    }
    long after = status_kib("VmRSS:");
    if (before > 0)
        CHECK(after - before < GROWTH_KIB);
    return 0;
}
