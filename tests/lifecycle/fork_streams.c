/*
 * fork_streams: may a program fork while other threads read lines and flush all streams?
 *
 * glibc's fork takes the lock of the list of all streams after it has called the handlers of pthread_atfork, where an allocator
 * takes its own locks. fflush(NULL) holds that lock and waits for one stream after the other; getline holds a stream, and
 * wants memory. A fork that held the allocator's locks and waited for the list's would wait for ever: the test's time-out says so.
 * Each child uses the list itself, in two threads.
 */
#include "lifecycle.h"

enum { FORKS = 2000, LONG_LINE = 3 << 20 };

static volatile bool stop;

/* Lines that are read into blocks whose memory other calls want, too. */
static void *read_lines(void *file) {
    FILE *stream = fdopen((int)(intptr_t)file, "r");
    CHECK(stream != NULL);
    while (!stop) {
        char *line = NULL;
        size_t bytes = 0;
        rewind(stream);
        CHECK(getline(&line, &bytes, stream) == LONG_LINE);
        free(line);
    }
    fclose(stream);
    return NULL;
}

static void *flush_all(void *nothing) {
    while (!stop)
        fflush(NULL);
    return nothing;
}

static void *open_one(void *nothing) {
    FILE *stream = fopen("/dev/null", "w");
    CHECK(stream != NULL);
    fclose(stream);
    fflush(NULL);
    return nothing;
}

static void child(bool threads) {
    alarm(CHILD_SECONDS);
    open_one(NULL);
    if (threads)
        join_thread(start_thread(open_one, NULL));
    _exit(0);
}

int main(void) {
    char name[] = "/tmp/fork_streams_XXXXXX";
    int file = mkstemp(name);
    CHECK(file >= 0 && unlink(name) == 0);
    char *line = malloc(LONG_LINE);
    CHECK(line != NULL);
    fill(line, LONG_LINE, 'x');
    line[LONG_LINE - 1] = '\n';
    for (size_t done = 0; done < LONG_LINE;) {
        ssize_t some = write(file, line + done, LONG_LINE - done);
        CHECK(some > 0);
        done += (size_t)some;
    }
    free(line);
    pthread_t reader = start_thread(read_lines, (void *)(intptr_t)file),
              flusher = start_thread(flush_all, NULL);
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            child(i % 50 == 0);
        await_child(pid);
    }
    stop = true;
    join_thread(reader);
    join_thread(flusher);
    return 0;
}
