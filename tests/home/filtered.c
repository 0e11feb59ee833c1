/*
 * filtered: what does the library do where threads or system calls are forbidden?
 *
 *   clone      a filter (seccomp, mode 2) kills the process for any new thread: none is started, and memory goes home on
 *              slow paths
 *   allowed    a filter kills the process for everything but what memory takes, reading and writing, with
 *              HAKMEM_PURGE_THREAD=0 and HAKMEM_NAME_MAPPINGS=0: whatever goes home, the program lives
 *   crowd      the same for eight threads on one CPU that take turns and free each other's blocks
 *   late       a filter kills for the question whether there is one, with HAKMEM_PURGE_THREAD=0, where there was a thread before and
 *              the first large block comes then
 *   refused    the kernel refuses threads (EAGAIN): the program notices nothing, errno stays
 */
#include "../one_cpu.h"
#include "home.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS SECCOMP_RET_KILL
#endif

enum { CLONE_3 = 435 };

#define NAMED(number, otherwise) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, (otherwise))

static void install(struct sock_filter *program, size_t length) {
    struct sock_fprog filter = {(unsigned short)length, program};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        skip("the kernel takes no seccomp filter");
}

/* For two calls the kernel does that, all others are allowed. */
static void without(unsigned one, unsigned other, unsigned verdict) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        NAMED(one, verdict),
        NAMED(other, verdict),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    install(program, sizeof program / sizeof *program);
}

static void almost_nothing(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        NAMED(SYS_mmap, SECCOMP_RET_ALLOW),
        NAMED(SYS_munmap, SECCOMP_RET_ALLOW),
        NAMED(SYS_mremap, SECCOMP_RET_ALLOW),
        NAMED(SYS_madvise, SECCOMP_RET_ALLOW),
        NAMED(SYS_futex, SECCOMP_RET_ALLOW),
        NAMED(SYS_clock_gettime, SECCOMP_RET_ALLOW),
        NAMED(SYS_nanosleep, SECCOMP_RET_ALLOW),
        NAMED(SYS_clock_nanosleep, SECCOMP_RET_ALLOW),
        NAMED(SYS_read, SECCOMP_RET_ALLOW),
        NAMED(SYS_write, SECCOMP_RET_ALLOW),
        NAMED(SYS_openat, SECCOMP_RET_ALLOW), /* the tests' own, to see how much is resident */
        NAMED(SYS_close, SECCOMP_RET_ALLOW),
        NAMED(SYS_brk, SECCOMP_RET_ALLOW),
        NAMED(SYS_getrandom, SECCOMP_RET_ALLOW),
        NAMED(SYS_fstat, SECCOMP_RET_ALLOW),
        NAMED(SYS_newfstatat, SECCOMP_RET_ALLOW),
        NAMED(SYS_exit_group, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };

    install(program, sizeof program / sizeof *program);
}

static void use_memory(void) {
    struct blocks blocks = {.state = 1};

    build(&blocks, 48 * MIB);
    long peak = rss_kib();
    errno = 0;
    drop(&blocks, 0);
    CHECK(errno == 0);
    AWAIT(goes_home(peak / 5));
    CHECK(errno == 0);
}

enum { TURNS = 32, CROWD = 8, PLACES = 8000, REPLACED = 4000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned turn, random;
    void *places[PLACES];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .random = 1};

/* Under the lock; waits for a turn of its own, one of CROWD. Number CROWD is told when all turns are over. */
static void await_turn(unsigned number) {
    while (number == CROWD ? table.turn < TURNS : table.turn >= TURNS || table.turn % CROWD != number)
        CHECK(pthread_cond_wait(&table.changed, &table.lock) == 0);
}

/* Does not end: that would take other calls. */
static void *take_turns(void *number) {
    almost_nothing();
    CHECK(pthread_mutex_lock(&table.lock) == 0);
    for (;;) {
        await_turn((unsigned)(uintptr_t)number);
        for (unsigned i = 0; i < REPLACED; i++) {
            void **place = &table.places[next_random(&table.random) % PLACES];
            free(*place);
            *place = malloc(16 + next_random(&table.random) % 500);
            CHECK(*place != NULL);
        }
        table.turn++;
        CHECK(pthread_cond_broadcast(&table.changed) == 0);
    }
    return NULL;
}

static void share_a_cpu(void) {
    pthread_t id;

    CHECK(stay_on_one_cpu());
    for (unsigned i = 0; i < CROWD; i++)
        CHECK(pthread_create(&id, NULL, take_turns, (void *)(uintptr_t)i) == 0);
    CHECK(pthread_mutex_lock(&table.lock) == 0);
    await_turn(CROWD);
    CHECK(pthread_mutex_unlock(&table.lock) == 0);
}

static void *small(void *unused) {
    free(malloc(100));
    return unused;
}

static void large_comes_late(void) {
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, small, NULL) == 0 && pthread_join(thread, NULL) == 0);
    without(SYS_prctl, SYS_gettid, SECCOMP_RET_KILL_PROCESS);
    for (unsigned i = 0; i < 100; i++) {
        char *block = malloc(300000);
        CHECK(block != NULL);
        block[0] = 1;
        free(block);
    }
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 4096);
    CHECK(argc == 2);
    if (strcmp(argv[1], "crowd") == 0) {
        share_a_cpu();
        return 0;
    }
    if (strcmp(argv[1], "late") == 0) {
        large_comes_late();
        return 0;
    }
    if (strcmp(argv[1], "clone") == 0)
        without(SYS_clone, CLONE_3, SECCOMP_RET_KILL_PROCESS);
    else if (strcmp(argv[1], "refused") == 0)
        without(SYS_clone, CLONE_3, SECCOMP_RET_ERRNO | EAGAIN);
    else
        almost_nothing();
    use_memory();
    CHECK(strcmp(argv[1], "allowed") == 0 || janitor() == 0);
    return 0;
}
