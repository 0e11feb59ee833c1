/*
 * overcommit: does the library work when the kernel promises only memory that it has (overcommit_memory = 2)?
 *
 * Changing that setting touches the whole machine, so the program does so only when TEST_SYSCTL=1 is given, and
 * puts the old value back; where the setting is 2 already it runs at once. SKIP otherwise.
 */
#include "hostile.h"

static const char setting[] = "/proc/sys/vm/overcommit_memory";

static char read_setting(void) {
    char value = '?';
    int fd = open(setting, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && read(fd, &value, 1) != 1)
        value = '?';
    if (fd >= 0)
        close(fd);
    return value;
}

static bool write_setting(char value) {
    int fd = open(setting, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, &value, 1) == 1;

    if (fd >= 0)
        close(fd);
    return written;
}

int main(int argc, char **argv) {
    static struct ran ran;
    char old = read_setting();

    if (is_worker(argc, argv)) {
        void *volatile too_much = malloc((size_t)1 << 46);
        CHECK(too_much == NULL && errno == ENOMEM);
        use_heap();
        return 0;
    }
    if (old != '2') {
        if (getenv("TEST_SYSCTL") == NULL)
            skip("overcommit_memory is not 2, and TEST_SYSCTL=1 was not given");
        if (!write_setting('2'))
            skip("overcommit_memory cannot be written");
    }
    char *command[] = {self_path(), (char *)(uintptr_t) "worker", NULL};
    run(&ran, command, NULL, NULL);
    CHECK(old == '2' || write_setting(old));
    if (ran.status != 0)
        show(&ran);
    CHECK(ran.status == 0);
    return 0;
}
