/*
 * names: does /proc/PID/maps show what is hakmem's, and does a small program make no call for it?
 *
 * Where the kernel has no names for anonymous memory (CONFIG_ANON_VMA_NAME) it is to be asked once; then SKIP. SKIP where
 * there is no /proc.
 */
#include "limits.h"
#include <sys/mman.h>
#include <sys/prctl.h>

static bool kernel_has_names(void) {
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool named = prctl(0x53564d41, 0, page, 4096, "test") == 0;
    munmap(page, 4096);
    return named;
}

static void show_mappings(void) {
    static char text[4096];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        skip("no /proc/self/maps");
    for (ssize_t got; (got = read(fd, text, sizeof text)) > 0;)
        CHECK(write(1, text, (size_t)got) == got);
    close(fd);
}

int main(int argc, char **argv) {
    static const char *const stats[] = {"HAKMEM_STATS=1", NULL};
    static const char *const none[] = {"HAKMEM_NAME_MAPPINGS=0", "HAKMEM_STATS=1", NULL};

    if (is_worker(argc, argv)) {
        void **small = hold(100, 40 * MIB), **large = hold(5 * MIB, 20 * MIB);
        show_mappings();
        drop(small);
        drop(large);
        return 0;
    }
    if (argc > 1) {
        free(malloc(1));
        return 0;
    }
    const char *said = run_role("worker", stats, 0);
    if (!kernel_has_names()) {
        CHECK(strstr(said, ", name 1,") != NULL);
        skip("this kernel has no names for anonymous memory");
    }
    CHECK(strstr(said, "[anon:hakmem slabs]") != NULL && strstr(said, "[anon:hakmem large]") != NULL);
    CHECK(strstr(said, "[anon:hakmem records]") != NULL);
    CHECK(strstr(said, ", name 0,") == NULL);
    said = run_role("worker", none, 0);
    CHECK(strstr(said, "[anon:hakmem") == NULL && strstr(said, ", name 0,") != NULL);
    said = run_role("small", stats, 0);
    CHECK(strstr(said, ", name 0,") != NULL);
    return 0;
}
