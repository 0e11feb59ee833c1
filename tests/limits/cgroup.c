/*
 * cgroup: does a program with HAKMEM_SOFT_LIMIT survive in a cgroup of 1.3 x what it has live?
 *
 * A cgroup v2 is made below the test's own one, with memory.max, and the program follows it (HAKMEM_SOFT_LIMIT=cgroup).
 * Where the memory controller belongs to version 1, one of those is made, and the program is told the bytes. Swap is off in
 * both. The same program without the option keeps more than fits, and the kernel kills it: that shows that the cgroup
 * works. SKIP where neither can be made.
 */
#include "limits.h"
#include <signal.h>

enum { LIVE = 96, PHASES = 8 };

#define ALLOWED "130862K" /* 1.3 x 96 MiB, and 3 MiB for what is not the heap */

static char group[3000];

static bool put(const char *file, const char *text) {
    char path[3100];
    snprintf(path, sizeof path, "%s/%s", group, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return done;
}

static void remove_group(void) {
    for (int i = 0; i < 100 && rmdir(group) != 0 && errno == EBUSY; i++)
        usleep(20000);
}

/* The path of the process's own cgroup in /proc/self/cgroup, after `mark` at the beginning of a line; NULL: none. */
static const char *own_path(const char *mark) {
    static char text[2048];
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    for (char *line = text; *line != '\0'; line = strchrnul(line, '\n'), line += *line == '\n') {
        char *at = strstr(line, mark), *end = strchrnul(line, '\n');
        if (at == NULL || at >= end)
            continue;
        *end = '\0';
        at += strlen(mark);
        return strcmp(at, "/") == 0 ? "" : at;
    }
    return NULL;
}

/* A cgroup below the own one that may hold ALLOWED, by the file of its version. */
static bool make_group(const char *root, const char *mark, const char *limit, const char *swap) {
    const char *own = own_path(mark);
    if (own == NULL)
        return false;
    snprintf(group, sizeof group, "%s%s/hakmem-test-%d", root, own, (int)getpid());
    if (mkdir(group, 0755) != 0)
        return false;
    if (put(limit, ALLOWED)) {
        put(swap, "0");
        return true;
    }
    remove_group();
    return false;
}

static void enter(void) {
    CHECK(put("cgroup.procs", "0"));
}

/* Small blocks and large ones in turn: what one phase leaves is of no use to the next. */
static void phases(void) {
    for (int phase = 0; phase < PHASES; phase++) {
        drop(hold(phase % 2 == 0 ? 3 * MIB : 500, LIVE * MIB));
        CHECK(held >= LIVE * MIB);
    }
}

int main(int argc, char **argv) {
    static const char *const follow[] = {"HAKMEM_SOFT_LIMIT=cgroup", "HAKMEM_KEEP_FREE=1g",
                                         "HAKMEM_LARGE_CACHE=1g", NULL};
    static const char *const told[] = {"HAKMEM_SOFT_LIMIT=" ALLOWED, "HAKMEM_KEEP_FREE=1g",
                                       "HAKMEM_LARGE_CACHE=1g", NULL};
    static const char *const keep[] = {"HAKMEM_KEEP_FREE=1g", "HAKMEM_LARGE_CACHE=1g", NULL};
    static struct ran with, without;
    char *command[] = {self_path(), (char *)(uintptr_t) "worker", NULL};

    if (is_worker(argc, argv)) {
        phases();
        return 0;
    }
    bool second = make_group("/sys/fs/cgroup", "0::", "memory.max", "memory.swap.max");
    if (!second &&
        !make_group("/sys/fs/cgroup/memory", ":memory:", "memory.limit_in_bytes", "memory.swappiness"))
        skip("no cgroup with a limit of memory can be made below this process's own");
    run(&with, command, second ? follow : told, enter);
    run(&without, command, keep, enter);
    remove_group();
    if (with.status != 0)
        show(&with);
    CHECK(with.status == 0);
    CHECK(without.status == 128 + SIGKILL);
    return 0;
}
