/*
 * no_proc: does the library work where there is neither /proc nor /sys?
 *
 * In a mount namespace of its own (as root, or in a user namespace) both are taken away, and this program is
 * started again there. It makes sure that they are gone, uses the heap, and asks for the reports at exit,
 * which like to read /proc. SKIP where namespaces are not permitted.
 */
#include "hostile.h"
#include <sched.h>
#include <sys/mount.h>

static void take_away(void) {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        skip("a mount namespace is not permitted here");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        skip("mounts cannot be made private here");
    umount2("/sys", MNT_DETACH);
    if (umount2("/proc", MNT_DETACH) != 0 && mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        skip("/proc cannot be taken away here");
    if (access("/sys/kernel", F_OK) == 0)
        mount("none", "/sys", "tmpfs", 0, NULL);
    if (access("/proc/self", F_OK) == 0)
        skip("/proc is still there");
}

int main(int argc, char **argv) {
    static const char *const reports[] = {"HAKMEM_STATS=1", "HAKMEM_SS_OS_STATS=1", "HAKMEM_VERBOSE=1", NULL};

    if (is_worker(argc, argv)) {
        CHECK(access("/proc/self", F_OK) != 0);
        use_heap();
        return 0;
    }
    run_worker(NULL, take_away);
    run_worker(reports, take_away);
    return 0;
}
