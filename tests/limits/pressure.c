/*
 * pressure: does a process give its free memory home when another one waits for memory, and only then?
 *
 *   pressure own       both in one cgroup, whose memory.pressure tells
 *   pressure above     each in its own; the limit, and the pressure, is that of the cgroup above
 *   pressure machine   the process sees no cgroups: /proc/pressure/memory tells
 *
 * Two processes share a memory.high. One has freed FREED MiB, which rest for an hour before they go home; the other
 * touches TAKEN, which only fit without them, and waits in the kernel for what is above. With a soft limit far above what
 * is held, the first one keeps everything until then, and nothing afterwards, so that the second comes to its end.
 * Without a soft limit nobody listens: it keeps everything, and the other waits on.
 *
 * SKIP where no cgroup v2 with a memory.high can be made or the kernel measures no pressure.
 */
#include "cgroup.h"
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>

enum { FREED = 64, TAKEN = 64, LOOKS = 300, LOOK_US = 100000 };

#define HIGH "100663296" /* 96 MiB */
#define MACHINE "/proc/pressure/memory"

static const char *const listening[] = {"HAKMEM_SOFT_LIMIT=4g", "HAKMEM_PURGE_DELAY=3600000",
                                        "HAKMEM_KEEP_FREE=1g", NULL};
static const char *const deaf[] = {"HAKMEM_PURGE_DELAY=3600000", "HAKMEM_KEEP_FREE=1g", NULL};

static bool apart; /* two cgroups below the one with the limit */
static void (*prepare)(void);

static void own_mounts(void) {
    CHECK(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

static void see_cgroup(void) {
    own_mounts();
    CHECK(mount("/dev/null", MACHINE, NULL, MS_BIND, NULL) == 0);
    if (apart)
        enter_below("resting");
    else
        enter();
}

static void see_machine(void) {
    own_mounts();
    enter();
    CHECK(umount2("/sys/fs/cgroup", MNT_DETACH) == 0);
}

/* Frees what it had, says so, and is idle. */
static void rest(void) {
    drop(hold(500, FREED * MIB));
    CHECK(write(1, "", 1) == 1);
    for (;;)
        pause();
}

static pid_t start_resting(const char *const *env) {
    char *argv[] = {self_path(), (char *)(uintptr_t) "worker", NULL}, said;
    int ends[2];

    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(dup2(2, 0) == 0);
        run_child(argv, env, prepare, ends[1]);
    }
    close(ends[1]);
    CHECK(read(ends[0], &said, 1) == 1 && said == '\0');
    close(ends[0]);
    return pid;
}

/* Takes memory without the library. */
static pid_t start_taking(void) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid != 0)
        return pid;
    alarm(CHILD_SECONDS);
    if (apart)
        enter_below("taking");
    else
        enter();
    char *pages = mmap(NULL, TAKEN * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    for (size_t i = 0; i < TAKEN * MIB; i += 4096)
        pages[i] = 1;
    _exit(0);
}

static size_t resident_mib(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    const char *second = strchr(text_of(path), ' ');
    CHECK(second != NULL);
    return strtoul(second, NULL, 10) * 4096 / MIB;
}

/* Milliseconds that processes of the cgroup have waited for memory. */
static unsigned long waited_ms(void) {
    char path[3100];
    snprintf(path, sizeof path, "%s/memory.pressure", group);
    const char *total = strstr(text_of(path), "total=");
    return total != NULL ? strtoul(total + 6, NULL, 10) / 1000 : 0;
}

static int end(pid_t pid) {
    int status;
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

/* True: the one that rests gives home what it can before all looks are over. */
static bool gives_home(pid_t resting) {
    int looks = 0;
    while (resident_mib(resting) > FREED / 4 && ++looks < LOOKS)
        usleep(LOOK_US);
    printf("%zu MiB of it are left after %d looks; waited for memory %lu ms\n", resident_mib(resting), looks,
           waited_ms());
    return looks < LOOKS;
}

/* Until others have waited for long enough that somebody who listens would have heard. */
static void await_pressure(void) {
    unsigned long before = waited_ms();
    for (int looks = 0; waited_ms() - before < 3000 && looks < LOOKS; looks++)
        usleep(LOOK_US);
    CHECK(waited_ms() - before >= 3000);
}

static void with_ears(void) {
    int status;
    pid_t resting = start_resting(listening);
    usleep(30 * LOOK_US);
    CHECK(resident_mib(resting) >= FREED);
    CHECK(waited_ms() == 0);
    pid_t taking = start_taking();
    CHECK(gives_home(resting));
    CHECK(waitpid(taking, &status, 0) == taking && status == 0);
    end(resting);
}

static void without_ears(void) {
    pid_t resting = start_resting(deaf);
    pid_t taking = start_taking();
    await_pressure();
    CHECK(resident_mib(resting) >= FREED);
    CHECK(waitpid(taking, NULL, WNOHANG) == 0);
    end(taking);
    end(resting);
}

static void ask(void) {
    with_ears();
    without_ears();
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (is_worker(argc, argv))
        rest();
    CHECK(argc == 2);
    prepare = strcmp(argv[1], "machine") == 0 ? see_machine : see_cgroup;
    apart = strcmp(argv[1], "above") == 0;
    if (!make_group("memory"))
        skip("no cgroup with a limit of memory can be made here");
    put("memory.swap.max", "0"); /* refused where there is no swap */
    if (access(MACHINE, R_OK) != 0 || !put("memory.high", HIGH)) {
        remove_group();
        skip("this kernel measures no pressure of memory");
    }
    if (apart) {
        make_below("resting");
        make_below("taking");
    }
    return with_group(ask);
}
