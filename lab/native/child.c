/* child: starts one measured command and reports what it cost, exactly.
 *
 * usage: child FD CPU MACHINE COMMAND...      CPU: a number, or -1 to leave the command where it may run; MACHINE: 0 or 1, see below
 *
 * Why a program of its own: ru_maxrss survives exec, so the peak of a command started from Python would be at least
 * Python's; this one is linked statically and starts with a few pages. For the same reason it measures the wall time:
 * from before the fork to after the wait, without an interpreter in between. It is static, so that LD_PRELOAD, which
 * is meant for the command, does not touch it.
 *
 * It writes one line to FD: "status wall_ns user_us system_us peak_kb minor major voluntary involuntary before after",
 * where status is the one of wait(), and exits with 0. When the command cannot be started it writes "error ERRNO".
 * Its death kills the command, and the death of its own parent kills it.
 *
 * `before` and `after` tell whether the core had another hardware thread to serve, around the command (lab/sharing.py): how
 * long a loop takes that keeps the core's units busy, in thousandths of one that waits for itself. Two hardware threads
 * share the units, so the first gets slower and the second does not; how fast the clock runs is in both. Of a command that is not pinned they tell how
 * far from each other two processors are (lab/distance.py): how many nanoseconds a word takes that they write by turns, there and
 * back. 0: not asked for, or it may not run on just two, or there was no time on one of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long microseconds(struct timeval time) {
    return time.tv_sec * 1000000LL + time.tv_usec;
}

static int pin(int cpu) {
    cpu_set_t set;
    if (cpu < 0)
        return 0;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

enum {
    PIECES = 3,
    BUSY_STEPS = 400000,
    WAITING_STEPS = 250000
}; /* a third of a millisecond each on a core of 2022 */

/* Six sums that do not wait for each other. */
static void keep_units_busy(void) {
    unsigned long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    for (unsigned long i = 0; i < BUSY_STEPS; i++) {
        a += i, b ^= i, c += i, d ^= i, e += i, f ^= i;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
}

/* Each product waits for the one before. */
static void wait_for_itself(void) {
    unsigned long a = 1;
    for (unsigned long i = 0; i < WAITING_STEPS; i++) {
        a *= 6364136223846793005u;
        __asm__ volatile("" : "+r"(a));
    }
}

/* The shortest of a few, so that an interrupt does not count. */
static long long shortest(void (*loop)(void)) {
    long long least = 0;
    for (int piece = 0; piece < PIECES; piece++) {
        long long begin = now_ns();
        loop();
        long long took = now_ns() - begin;
        least = piece == 0 || took < least ? took : least;
    }
    return least > 0 ? least : 1;
}

static long long sharing(void) {
    return 1000 * shortest(keep_units_busy) / shortest(wait_for_itself);
}

enum {
    ROUNDS = 8,
    TRIPS = 250,
    LOOKS = 1 << 16,   /* at a word that does not come: some tenths of a millisecond */
    LONGEST = 20000000 /* ns */
};

/* False: it has not come. */
static int await(const _Atomic unsigned *word, unsigned value) {
    for (unsigned look = 0; look < LOOKS; look++)
        if (atomic_load(word) == value)
            return 1;
    return 0;
}

static void answer(_Atomic unsigned *word) {
    for (unsigned trip = 0; trip < ROUNDS * TRIPS; trip++) {
        while (!await(word, 2 * trip + 1))
            sched_yield();
        atomic_store(word, 2 * trip + 2);
    }
}

/* The shortest of a few, as above, or of those that there was time for; 0: the other one has none. */
static long long shortest_trip(_Atomic unsigned *word) {
    long long least = 0, limit = now_ns() + LONGEST;
    unsigned trip = 0;
    for (int round = 0; round < ROUNDS; round++) {
        long long begin = now_ns();
        for (int i = 0; i < TRIPS; i++, trip++) {
            atomic_store(word, 2 * trip + 1);
            while (!await(word, 2 * trip + 2))
                if (now_ns() > limit)
                    return least / TRIPS;
                else
                    sched_yield();
        }
        long long took = now_ns() - begin;
        least = round == 0 || took < least ? took : least;
    }
    return least / TRIPS > 0 ? least / TRIPS : 1;
}

/* Between the two processors that the command may run on. */
static long long distance(void) {
    cpu_set_t allowed;
    int cpus[2], count = 0;
    /* Of many, nobody knows which the command runs on. */
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) != 2)
        return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
        if (CPU_ISSET((unsigned)cpu, &allowed))
            cpus[count++] = cpu;
    _Atomic unsigned *word =
        count < 2 ? MAP_FAILED
                  : mmap(NULL, sizeof *word, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t other = word == MAP_FAILED ? -1 : fork();
    long long trip = 0;
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pin(cpus[1]) == 0)
            answer(word);
        _exit(0);
    }
    if (other > 0) {
        if (pin(cpus[0]) == 0)
            trip = shortest_trip(word);
        kill(other, SIGKILL);
        while (waitpid(other, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (word != MAP_FAILED)
        munmap(word, sizeof *word);
    sched_setaffinity(0, sizeof allowed, &allowed);
    return trip;
}

static long long machine(int cpu) {
    return cpu >= 0 ? sharing() : distance();
}

/* Returns only when the command could not be started. */
static void become(char **command, int failure) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(command[0], command);
    int reason = errno;
    while (write(failure, &reason, sizeof reason) < 0 && errno == EINTR)
        ;
    _exit(127);
}

int main(int argc, char **argv) {
    int failure[2], status, reason = 0;
    struct rusage cost;
    if (argc < 5)
        return 2;
    int report = atoi(argv[1]), cpu = atoi(argv[2]), asked = atoi(argv[3]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fcntl(report, F_SETFD, FD_CLOEXEC);
    if (pin(cpu) != 0 || pipe2(failure, O_CLOEXEC) != 0) {
        dprintf(report, "error %d\n", errno);
        return 1;
    }

    long long before = asked ? machine(cpu) : 0, begin = now_ns();
    pid_t pid = fork();
    if (pid < 0) {
        dprintf(report, "error %d\n", errno);
        return 1;
    }
    if (pid == 0)
        become(argv + 4, failure[1]);
    while (wait4(pid, &status, 0, &cost) < 0 && errno == EINTR)
        ;
    long long wall = now_ns() - begin;

    close(failure[1]);
    if (read(failure[0], &reason, sizeof reason) == (ssize_t)sizeof reason) {
        dprintf(report, "error %d\n", reason);
        return 1;
    }
    dprintf(report, "%d %lld %lld %lld %ld %ld %ld %ld %ld %lld %lld\n", status, wall,
            microseconds(cost.ru_utime), microseconds(cost.ru_stime), cost.ru_maxrss, cost.ru_minflt,
            cost.ru_majflt, cost.ru_nvcsw, cost.ru_nivcsw, before, asked ? machine(cpu) : 0LL);
    return 0;
}
