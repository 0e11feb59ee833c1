/*
 * nth: does one refused call for memory, whichever it is, do no harm?
 *
 * First argument: the kinds of calls (a sum of the FAULT_ numbers). A first child counts how many such calls the
 * workload makes from the start of the process, as far as it runs one thread at a time; then one child for each
 * of the first 60 (or as many as there are) has exactly that one refused. A refused mmap may deny one request of
 * the program; a refused munmap, madvise or mremap must stay invisible. Afterwards everything must work and
 * nothing be lost. Addresses are random, so a rare child makes fewer calls and meets no failure: nearly all must.
 */
#include "fault.h"

enum { MOST = 60, FEWEST = 2, NOT_REACHED = 5 };

static int worker(bool counting, unsigned calls) {
    workload(1);
    one_thread(2);
    workload(3);
    if (counting) {
        unsigned long seen = fault_seen();
        return seen > MOST ? MOST : (int)seen;
    }
    threads(4);
    if (denied > ((calls & FAULT_MMAP) != 0 ? 1 : 0))
        dprintf(2, "%lu requests were denied\n", denied);
    CHECK(denied <= ((calls & FAULT_MMAP) != 0 ? 1 : 0));
    unsigned long injected = fault_injected();
    check_recovered();
    return injected == 1 ? 0 : NOT_REACHED;
}

static int run_worker(const char *calls, unsigned long nth, const char *mode) {
    char text[32];
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        snprintf(text, sizeof text, "%lu", nth);
        setenv("FAULT_NTH", text, 1);
        setenv("FAULT_CALLS", calls, 1);
        execl("/proc/self/exe", "nth", calls, mode, (char *)NULL);
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0)
        CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) || (dprintf(2, "nth %lu: signal %d\n", nth, WTERMSIG(status)), false));
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    int missed = 0;

    CHECK(argc > 1);
    if (argc > 2)
        return worker(strcmp(argv[2], "count") == 0, (unsigned)atoi(argv[1]));
    int count = run_worker(argv[1], 0, "count");
    dprintf(1, "%d calls\n", count);
    CHECK(count >= FEWEST && count <= MOST);
    for (int nth = 1; nth <= count; nth++) {
        int status = run_worker(argv[1], (unsigned long)nth, "refuse");
        if (status != 0 && status != NOT_REACHED)
            dprintf(2, "kinds %s, call number %d: status %d\n", argv[1], nth, status);
        CHECK(status == 0 || status == NOT_REACHED);
        missed += status == NOT_REACHED;
    }
    CHECK(missed <= count / 4);
    return 0;
}
