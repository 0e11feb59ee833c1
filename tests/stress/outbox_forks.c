/*
 * Forks while blocks are held back.
 *
 * A thread that has freed blocks of others, and not yet sent them, forks; another thread, which holds back blocks of the
 * first, stands still meanwhile. The child is the forking thread alone: what it held back is its own as before, so it
 * frees the rest, starts a thread, and in the end the slabs of the heap whose thread had ended must be home. Lost are
 * only what the other thread had at hand and its slabs: little by construction, while the blocks that the forking thread
 * held back lie in every slab. The parent goes on and loses nothing at all.
 *
 * In every other round the forking thread never allocates.
 */
#include "home.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define GIVEN 16000
#define SPACING 100 /* of the blocks that are held back: fewer than a slab's */
#define OWN 2000
#define HIS 300
#define SIZE ((size_t)320)
#define CHILD_SECONDS 120
#define CHILD_ALLOWED ((uint64_t)1 << 20)

static void *given[GIVEN]; /* of a thread that has ended */
static void *own[OWN];     /* of the thread that forks */
static void *his[HIS];     /* of the thread that stands still */
static pthread_barrier_t meeting;

static void allocate(struct test_random *random, void **blocks, size_t count) {
    for (size_t i = 0; i < count; i++)
        blocks[i] = stress_new(random, SIZE);
}

static void free_every(void **blocks, size_t count, size_t step) {
    for (size_t i = 0; i < count; i += step) {
        stress_free(blocks[i]);
        blocks[i] = NULL;
    }
}

static void *give(void *argument) {
    allocate(&((struct stress_thread *)argument)->random, given, GIVEN);
    return NULL;
}

static void *stand_still(void *argument) {
    allocate(&((struct stress_thread *)argument)->random, his, HIS);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting); /* what the other thread allocates is there */
    free_every(own, 100, 1);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting); /* the child is made, and has ended */
    free_every(own + 100, 100, 1);
    return NULL;
}

static void *exchange_blocks(void *argument) {
    struct test_random *random = &((struct stress_thread *)argument)->random;
    static void *blocks[500];
    for (size_t i = 0; i < 4000; i++) {
        void **place = &blocks[test_below(random, 500)];
        stress_free(*place);
        *place = stress_new(random, SIZE);
    }
    free_every(blocks, 500, 1);
    return NULL;
}

static void free_the_rest(void) {
    free_every(given, GIVEN, 1);
    free_every(own + 200, OWN - 200, 1);
    free_every(his, HIS, 1);
}

static _Noreturn void in_child(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(3);
    alarm(CHILD_SECONDS);
    free_the_rest();
    free_every(own + 100, 100, 1);
    stress_threads(7, 1, 1, exchange_blocks);
    uint64_t after = home_live_bytes();
    if (after > home_before + CHILD_ALLOWED)
        test_fail("the child holds %llu KiB after all was freed; it were %llu before",
                  (unsigned long long)after / 1024, (unsigned long long)home_before / 1024);
    _exit(0);
}

static void fork_once(void) {
    pid_t self = getpid(), child = fork();
    if (child < 0)
        test_fail("fork failed");
    if (child == 0)
        in_child(self);
    int status = -1;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        test_fail("a child was ended by signal %d", WTERMSIG(status));
    if (status != 0)
        test_fail("a child ended with status %d", WEXITSTATUS(status));
}

static void *free_and_fork(void *argument) {
    struct stress_thread *thread = argument;
    pthread_barrier_wait(&meeting);
    free_every(his, 1, 1); /* from here on both have a heap, which is not that of the thread that gives */
    if (thread->operations != 0)
        allocate(&thread->random, own, OWN);
    stress_threads(9, 1, 1, give);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    free_every(his, HIS, 3);
    free_every(given, GIVEN, SPACING); /* the last ones are held back */
    fork_once();
    pthread_barrier_wait(&meeting);
    free_the_rest();
    return NULL;
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    return thread->number == 0 ? free_and_fork(argument) : stand_still(argument);
}

int main(int argc, char **argv) {
    size_t rounds = stress_start(argc, argv, 40);
    home_start(3);
    pthread_barrier_init(&meeting, NULL, 2);
    for (size_t round = 0; round < rounds; round++)
        stress_threads(0, 2, round % 2, run);
    home_check(64);
    return 0;
}
