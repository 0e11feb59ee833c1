// bench_random_mixed_<allocator> ITERS WS [SEED]: times one workload on the allocator it is linked to.
//
// ITERS steps are shared out to BENCH_THREADS workers (the main thread is the first), each with WS slots of its own.
// With HAKMEM_BENCH_EPOCH_ITERS=N the run is cut into epochs of N steps that keep their slots, each timed and
// reported by itself; the workers meet at a barrier between two epochs. The last line is the whole run.
// With BENCH_GATE=1 each epoch waits for a byte on standard input, so that several long processes can take turns.
#define _GNU_SOURCE
#include "driver.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct crew {
    struct settings settings;
    struct worker *workers;
    pthread_barrier_t start, finish;
    uint64_t steps; // of this epoch, of all workers; 0 ends the crew
};

struct member {
    struct crew *crew;
    unsigned index;
};

static void member_work(struct crew *crew, unsigned index) {
    unsigned threads = crew->settings.threads;
    uint64_t share = crew->steps / threads + (index < crew->steps % threads);
    crew->settings.workload->steps(&crew->workers[index], share);
}

static void *member_run(void *argument) {
    struct member *member = argument;
    struct crew *crew = member->crew;
    for (;;) {
        pthread_barrier_wait(&crew->start);
        if (crew->steps == 0)
            break;
        member_work(crew, member->index);
        pthread_barrier_wait(&crew->finish);
    }
    worker_end(&crew->workers[member->index]);
    return NULL;
}

static double epoch_run(struct crew *crew, uint64_t steps) {
    crew->steps = steps;
    double begin = report_seconds();
    pthread_barrier_wait(&crew->start);
    member_work(crew, 0);
    pthread_barrier_wait(&crew->finish);
    return report_seconds() - begin;
}

static bool gate_passed(const struct settings *settings) {
    char byte;
    ssize_t n = 1;
    if (settings->gated)
        while ((n = read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR)
            ;
    return n == 1;
}

// Runs and reports all epochs that the gate lets through: the seconds they took, the steps in *all.
static double epochs_run(struct crew *crew, uint64_t *all) {
    const struct settings *settings = &crew->settings;
    uint64_t length = settings->epoch_iterations ? settings->epoch_iterations : settings->iterations;
    uint64_t done = 0;
    double total = 0;
    if (settings->epoch_iterations)
        report_ready(settings);
    for (uint64_t epoch = 0; done < settings->iterations && gate_passed(settings); epoch++) {
        uint64_t left = settings->iterations - done;
        uint64_t steps = left < length ? left : length;
        double seconds = epoch_run(crew, steps);
        if (settings->epoch_iterations)
            report_epoch(settings, epoch, steps, seconds);
        done += steps;
        total += seconds;
    }
    *all = done;
    return total;
}

static void crew_begin(struct crew *crew, struct member *members, pthread_t *threads) {
    unsigned size = crew->settings.threads;
    crew->workers = driver_memory(size * sizeof *crew->workers);
    pthread_barrier_init(&crew->start, NULL, size);
    pthread_barrier_init(&crew->finish, NULL, size);
    for (unsigned i = 0; i < size; i++) {
        worker_begin(&crew->workers[i], &crew->settings, i);
        members[i] = (struct member){crew, i};
        if (i > 0 && pthread_create(&threads[i], NULL, member_run, &members[i]) != 0) {
            fputs("bench: no new thread\n", stderr);
            exit(1);
        }
    }
}

static void crew_end(struct crew *crew, pthread_t *threads) {
    crew->steps = 0;
    pthread_barrier_wait(&crew->start);
    worker_end(&crew->workers[0]);
    for (unsigned i = 1; i < crew->settings.threads; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    static struct crew crew;
    if (!settings_read(&crew.settings, argc, argv))
        return 2;

    unsigned size = crew.settings.threads;
    struct member *members = driver_memory(size * sizeof *members);
    pthread_t *threads = driver_memory(size * sizeof *threads);
    crew_begin(&crew, members, threads);
    uint64_t steps;
    double seconds = epochs_run(&crew, &steps);
    report_throughput(&crew.settings, steps, seconds);
    crew_end(&crew, threads);
    if (crew.settings.report_peak)
        report_peak();
    return 0;
}
