/*
 * real_program: does a real program give the same output while calls that it never sees are refused?
 *
 * First argument: fault_preload. perl builds a large hash and a string that grows to megabytes, three times with other
 * seeds, while half of all munmap, madvise and mremap calls fail; its output must be the one that it gives
 * without the library. The injector's report proves that it refused something. SKIP without perl.
 */
#include "fault.h"

static char output[2][4096];

static void read_all(int fd, char *text, size_t size) {
    size_t length = 0;
    ssize_t got;

    while ((got = read(fd, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    close(fd);
}

static void run_perl(const char *preload, const char *seed) {
    static const char script[] = "my %h; my $s = ''; for my $i (1..60000) { $h{$i} = 'x' x ($i % 200);"
                                 "$s .= $h{$i} if $i % 3; delete $h{$i - 500} if $i % 7; }"
                                 "my @a = sort keys %h; my $t = join(',', @a) x 20;"
                                 "print length($s), ' ', scalar(@a), ' ', length($t), ' ', $a[100], \"\\n\";";
    int text[2], report[2];

    CHECK(pipe2(text, O_CLOEXEC) == 0 && pipe2(report, O_CLOEXEC) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        if (preload == NULL)
            unsetenv("LD_PRELOAD");
        else
            setenv("LD_PRELOAD", preload, 1);
        setenv("FAULT_CALLS", "14", 1);
        setenv("FAULT_PER_MILLE", "500", 1);
        setenv("FAULT_SEED", seed, 1);
        setenv("FAULT_REPORT", "9", 1);
        CHECK(dup2(text[1], 1) == 1 && dup2(report[1], 9) == 9);
        execlp("perl", "perl", "-e", script, (char *)NULL);
        _exit(SKIPPED);
    }
    close(text[1]);
    close(report[1]);
    read_all(text[0], output[0], sizeof output[0]);
    read_all(report[0], output[1], sizeof output[1]);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        CHECK(errno == EINTR);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip("perl is not here");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv) {
    static char expected[4096], preload[9000];
    unsigned long seen, injected, total = 0;

    CHECK(argc > 1);
    run_perl(NULL, "0");
    memcpy(expected, output[0], sizeof expected);
    snprintf(preload, sizeof preload, "%s:%s", argv[1],
             getenv("LD_PRELOAD") != NULL ? getenv("LD_PRELOAD") : "");
    for (int seed = 1; seed <= 3; seed++) {
        char text[16];
        snprintf(text, sizeof text, "%d", seed);
        run_perl(preload, text);
        CHECK(sscanf(output[1], "seen %lu injected %lu", &seen, &injected) == 2);
        CHECK(strcmp(output[0], expected) == 0);
        total += injected;
    }
    CHECK(total > 0);
    return 0;
}
