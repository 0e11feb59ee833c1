/*
 * cgroup: does a program with HAKMEM_SOFT_LIMIT=cgroup survive in a cgroup of 1.3 x what it has live?
 *
 * A cgroup v2 is made below the test's own one, with memory.max; swap is off in it. The same program without the
 * option keeps more than fits, and the kernel kills it: that shows that the cgroup works. SKIP where no such cgroup can
 * be made (no cgroup v2, no right to, or its memory controller belongs to version 1).
 */
#include "limits.h"
#include <signal.h>

enum { LIVE = 96, PHASES = 8 };

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

static void make_group(void) {
    char text[2048] = "";
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        skip("no /proc/self/cgroup");
    close(fd);
    char *own = strncmp(text, "0::", 3) == 0 ? text + 3 : strstr(text, "\n0::");
    if (own == NULL)
        skip("no cgroup v2");
    own = strchr(own, '/');
    *strchrnul(own, '\n') = '\0';
    snprintf(group, sizeof group, "/sys/fs/cgroup%s/hakmem-test-%d", strcmp(own, "/") == 0 ? "" : own,
             (int)getpid());
    if (mkdir(group, 0755) != 0)
        skip("no cgroup v2 can be made below this process's own");
    if (put("memory.max", "130862K")) { /* 1.3 x 96 MiB, and 3 MiB for what is not the heap */
        put("memory.swap.max", "0");
        return;
    }
    remove_group();
    skip("the cgroup v2 of this process has no memory controller for its children");
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
    static const char *const keep[] = {"HAKMEM_KEEP_FREE=1g", "HAKMEM_LARGE_CACHE=1g", NULL};
    static struct ran with, without;
    char *command[] = {self_path(), (char *)(uintptr_t) "worker", NULL};

    if (is_worker(argc, argv)) {
        phases();
        return 0;
    }
    make_group();
    run(&with, command, follow, enter);
    run(&without, command, keep, enter);
    remove_group();
    if (with.status != 0)
        show(&with);
    CHECK(with.status == 0);
    CHECK(without.status == 128 + SIGKILL);
    return 0;
}
