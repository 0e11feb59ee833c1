/*
 * again: does a program pay for it that uses the same memory again and again?
 *
 *   again SIZE PAUSE ROUNDS     blocks of SIZE bytes, 48 MiB together, are taken, written and freed every PAUSE ms
 *
 * With a pause much shorter than HAKMEM_PURGE_DELAY the memory must stay: the rounds after the first few must fault hardly
 * more often than in a process that gives nothing home by itself. With a longer pause the numbers are only told.
 * A round that the machine held up for so long that memory rested is not counted, nor is the one after it.
 */
#include "home.h"

#include <sys/resource.h>

enum { TOGETHER = 48 << 20, WARM_UP = 10, DELAY_MS = 200, ALLOWED = 512, SIZE_LEAST = 64 };

static struct rusage used(void) {
    struct rusage usage;

    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage;
}

static long ms_between(const struct timeval *from, const struct timeval *to) {
    return (to->tv_sec - from->tv_sec) * 1000 + (to->tv_usec - from->tv_usec) / 1000;
}

/* Faults of the rounds after the warm-up. */
static long faults_of(size_t size, long pause, int rounds) {
    size_t count = TOGETHER / size;
    void **blocks = table_of(count * sizeof(void *));
    struct rusage before = used(), last = before;
    long faults = 0, began = now_ms(), held_up = 0;

    for (int round = 0; round < rounds + WARM_UP; round++) {
        if (round == WARM_UP)
            before = last = used();
        for (size_t i = 0; i < count; i++) {
            blocks[i] = malloc(size);
            CHECK(blocks[i] != NULL);
            fill(blocks[i], size, (unsigned char)round);
        }
        for (size_t i = 0; i < count; i++)
            free(blocks[i]);
        rest(pause);
        long ended = now_ms();
        struct rusage now = used();
        held_up = ended - began >= pause + DELAY_MS / 2 ? 2 : held_up - (held_up > 0);
        faults += held_up == 0 && round >= WARM_UP ? now.ru_minflt - last.ru_minflt : 0;
        began = ended;
        last = now;
    }
    printf("%zu bytes, every %ld ms: %ld faults in %d rounds, %ld ms user, %ld ms system\n", size, pause,
           faults, rounds, ms_between(&before.ru_utime, &last.ru_utime),
           ms_between(&before.ru_stime, &last.ru_stime));
    return faults;
}

/* The same in a process that gives nothing home; its faults are its answer. */
static long faults_when_off(char **argv) {
    static const char *const off[] = {"HAKMEM_PURGE_DELAY=0", "HOME_AGAIN=1", NULL};
    static struct ran ran;

    run(&ran, argv, off, NULL);
    printf("off: %s", ran.text);
    CHECK(ran.status == 0);
    const char *faults = strstr(ran.text, "ms: ");
    CHECK(faults != NULL);
    return strtol(faults + 4, NULL, 10);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 4096);
    CHECK(argc == 4);
    size_t size = strtoul(argv[1], NULL, 10);
    long pause = atol(argv[2]);
    CHECK(size >= SIZE_LEAST);
    if (getenv("HOME_AGAIN") != NULL)
        return faults_of(size, pause, atoi(argv[3])) < 0;
    long off = faults_when_off(argv), on = faults_of(size, pause, atoi(argv[3]));
    if (pause < DELAY_MS)
        BAR(on <= off + ALLOWED, "%ld faults, %ld when nothing goes home", on, off);
    return bars_result();
}
