/*
 * last_words: may a thread allocate after its heap is gone, when the next heap is one that forks have left behind?
 *
 * A key that was made after hakmem's own has its destructor called after hakmem's in every round, the last one, too. What is
 * allocated there comes from a heap that is borrowed for one block: in a child of a child it may have blocks at hand, which the
 * parents left. 64 blocks that are live at once must be 64 different ones, and keep what is written to them.
 */
#include "lifecycle.h"

#include <limits.h>
#include <semaphore.h>

enum { BLOCKS = 64, SIZE = 48 };

static pthread_key_t late;
static sem_t ended, go, attached, leave;
static __thread int rounds;

static void use_some(void) {
    void *blocks[20];
    for (int i = 0; i < 20; i++)
        CHECK((blocks[i] = malloc(SIZE)) != NULL);
    for (int i = 0; i < 20; i++)
        free(blocks[i]);
}

static void allocate_in_the_last_round(void *argument) {
    void *blocks[BLOCKS];
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(late, argument);
        return;
    }
    sem_post(&ended);
    sem_wait(&go);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = malloc(SIZE)) != NULL);
        fill(blocks[i], SIZE, (unsigned char)(i + 1));
    }
    for (int i = 0; i < BLOCKS; i++) {
        verify(blocks[i], SIZE, (unsigned char)(i + 1));
        free(blocks[i]);
    }
}

static void *end_late(void *argument) {
    use_some();
    CHECK(pthread_setspecific(late, &late) == 0);
    return argument;
}

static void *stay(void *argument) {
    use_some();
    sem_post(&attached);
    sem_wait(&leave);
    return argument;
}

/* The heap that the first thread leaves is taken by the second: what is borrowed is one of the parents'. */
static void ask(void) {
    use_some();
    pthread_t first = start_thread(end_late, NULL);
    sem_wait(&ended);
    pthread_t second = start_thread(stay, NULL);
    sem_wait(&attached);
    sem_post(&go);
    join_thread(first);
    sem_post(&leave);
    join_thread(second);
}

static void in_a_child(void (*function)(void)) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        use_some();
        function();
        _exit(0);
    }
    await_child(child);
}

static void ask_in_a_child(void) {
    in_a_child(ask);
}

int main(void) {
    use_some();
    CHECK(pthread_key_create(&late, allocate_in_the_last_round) == 0);
    sem_init(&ended, 0, 0);
    sem_init(&go, 0, 0);
    sem_init(&attached, 0, 0);
    sem_init(&leave, 0, 0);
    ask();
    in_a_child(ask);
    in_a_child(ask_in_a_child);
    return 0;
}
