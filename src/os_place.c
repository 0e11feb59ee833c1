/* os, what the place allows: the cgroup that the process is in, CPUs, mappings. Text files of /proc and /sys, read when
 * somebody asks. */
#include "base.h"
#include "os.h"

#include <string.h>

#define OS_CGROUPS "/sys/fs/cgroup"

enum { OS_PATH_BYTES = 1024, OS_ROOT_BYTES = sizeof OS_CGROUPS - 1 };

/* OS_CGROUPS and, behind it, the line "0::/a/b" of /proc/self/cgroup; its length, 0 when there is only cgroup v1. */
static size_t os_own_cgroup(char *path) {
    char text[OS_PATH_BYTES];
    size_t length = os_read_file("/proc/self/cgroup", text, sizeof text);
    const char *own = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
    if (own == NULL)
        return 0;
    own = strchr(own, '/');
    size_t bytes = strcspn(own, "\n");
    if (own + bytes == text + length || OS_ROOT_BYTES + bytes >= OS_PATH_BYTES)
        return 0; /* cut off */
    memcpy(path, OS_CGROUPS, OS_ROOT_BYTES);
    memcpy(path + OS_ROOT_BYTES, own, bytes);
    length = OS_ROOT_BYTES + bytes;
    return path[length - 1] == '/' ? length - 1 : length;
}

/* Puts "/file" behind the first `length` bytes of path. */
static bool os_append(char *path, size_t bytes, size_t length, const char *file) {
    size_t more = strlen(file);
    if (length == 0 || length + 1 + more >= bytes)
        return false;
    path[length] = '/';
    memcpy(path + length + 1, file, more + 1);
    return true;
}

/* The length of the path of the cgroup above; 0: none is. */
static size_t os_cgroup_above(const char *path, size_t length) {
    if (length <= OS_ROOT_BYTES)
        return 0;
    while (path[--length] != '/') {
    }
    return length;
}

bool os_cgroup_path(const char *file, unsigned above, char *path, size_t bytes) {
    char own[OS_PATH_BYTES];
    size_t length = os_own_cgroup(own);
    for (; above > 0; above--)
        length = os_cgroup_above(own, length);
    if (length >= bytes || !os_append(own, sizeof own, length, file) || strlen(own) >= bytes)
        return false;
    memcpy(path, own, strlen(own) + 1);
    return true;
}

/* A number; behind a blank, what it is to be divided by. OS_NO_LIMIT for "max" and everything else. */
static uint64_t os_parse_limit(const char *text) {
    uint64_t numbers[2] = {0, 0};
    if (*text < '0' || *text > '9')
        return OS_NO_LIMIT;
    for (int i = 0; i < 2; i++, text += *text == ' ')
        for (; *text >= '0' && *text <= '9'; text++)
            if (__builtin_mul_overflow(numbers[i], 10, &numbers[i]) ||
                __builtin_add_overflow(numbers[i], (uint64_t)(*text - '0'), &numbers[i]))
                return OS_NO_LIMIT;
    return numbers[1] == 0 ? numbers[0] : (numbers[0] + numbers[1] - 1) / numbers[1];
}

uint64_t os_cgroup_least(const char *file, unsigned *above) {
    char path[OS_PATH_BYTES], text[64];
    uint64_t least = OS_NO_LIMIT;
    unsigned level = 0, found = 0;
    for (size_t length = os_own_cgroup(path); os_append(path, sizeof path, length, file); level++) {
        uint64_t value = os_read_file(path, text, sizeof text) ? os_parse_limit(text) : OS_NO_LIMIT;
        if (value < least) {
            least = value;
            found = level;
        }
        length = os_cgroup_above(path, length);
    }
    if (above)
        *above = found;
    return least;
}

unsigned os_cpu_count(void) {
    unsigned cpus = atomic_load_explicit(&os_cpus, memory_order_relaxed);
    if (cpus != 0)
        return cpus;
    uint64_t paid = os_cgroup_least("cpu.max", NULL);
    cpus = os_affinity();
    if (paid < cpus)
        cpus = paid != 0 ? (unsigned)paid : 1;
    atomic_store_explicit(&os_cpus, cpus, memory_order_relaxed);
    return cpus;
}

size_t os_mappings_allowed(void) {
    char text[64];
    uint64_t allowed =
        os_read_file("/proc/sys/vm/max_map_count", text, sizeof text) ? os_parse_limit(text) : OS_NO_LIMIT;
    return allowed == OS_NO_LIMIT ? 0 : (size_t)allowed;
}

enum os_huge os_huge_pages(void) {
    char text[64];
    if (!os_read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text))
        return OS_HUGE_ASKED;
    return strstr(text, "[always]")  ? OS_HUGE_UNASKED
           : strstr(text, "[never]") ? OS_HUGE_NEVER
                                     : OS_HUGE_ASKED;
}
