/*
 * small: does a program with 400 blocks stay small where the kernel makes huge pages unasked?
 *
 * Of the library's tables and superslabs a program like this touches a few pages each: were they huge, 2 MiB each.
 */
#include "../lifecycle/lifecycle.h"

enum { BLOCKS = 400, STEPS = 100000, RESIDENT_KIB = 3500, HUGE = 2 << 20 };

static bool kernel_asks_nobody(void) {
    static char text[100];
    int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    CHECK(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strstr(text, "[always]") != NULL;
}

/* Whether one fits depends on where the library lies: so no mapping may be of that length and be said nothing of. */
static void check_that_none_fits(void) {
    FILE *maps = fopen("/proc/self/smaps", "re");
    char line[1000], last[1000] = "";
    unsigned long start, end, length = 0;

    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        char rights[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3) {
            length = strcmp(rights, "rw-p") == 0 ? end - start : 0;
            strcpy(last, line);
        } else if (strncmp(line, "VmFlags:", 8) == 0 && length >= HUGE && strstr(line, " nh") == NULL) {
            dprintf(2, "huge pages may come in %s%s", last, line);
            CHECK(false);
        }
    }
    fclose(maps);
}

int main(void) {
    static void *blocks[BLOCKS];
    unsigned state = 1;

    for (int step = 0; step < STEPS; step++) {
        void **slot = &blocks[next_random(&state) % BLOCKS];
        size_t size = 16 + next_random(&state) % 1009;
        free(*slot);
        *slot = malloc(size);
        CHECK(*slot != NULL);
        fill(*slot, size, 1);
    }
    long resident = status_kib("VmHWM:");
    dprintf(2, "at most %ld KiB resident\n", resident);
    CHECK(resident > 0 && resident < RESIDENT_KIB);
    if (kernel_asks_nobody())
        check_that_none_fits();
    return 0;
}
