/*
 * audit: does the library work in a process that LD_AUDIT watches?
 *
 * The audit library (first argument) lives in a name space of its own, with its own libc, and takes its part
 * of the static TLS. The worker finds the audit library among its mappings, so that a failed LD_AUDIT is not
 * taken for success.
 */
#include "hostile.h"

static bool mapped(const char *name) {
    static char text[200000];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = 1;

    CHECK(fd >= 0);
    while (got > 0 && length < sizeof text - 1) {
        got = read(fd, text + length, sizeof text - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    text[length] = '\0';
    return strstr(text, name) != NULL;
}

int main(int argc, char **argv) {
    static char variable[4200];
    const char *env[] = {variable, NULL};

    if (is_worker(argc, argv)) {
        CHECK(mapped(strrchr(getenv("LD_AUDIT"), '/')));
        use_heap();
        return 0;
    }
    CHECK(argc > 1);
    snprintf(variable, sizeof variable, "LD_AUDIT=%s", argv[1]);
    run_worker(env, NULL);
    return 0;
}
