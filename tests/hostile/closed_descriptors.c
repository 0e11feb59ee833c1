/*
 * closed_descriptors: does the library work when descriptors 0, 1 and 2 are closed, and leave them alone?
 *
 * The worker starts with none open, with options that make the library write (reports, an unknown option).
 * Afterwards the first three descriptors that it opens must be 0, 1 and 2: the library holds none. And what
 * it writes at exit must not stop the exit.
 */
#include "hostile.h"

static void close_three(void) {
    close(0);
    close(1);
    close(2);
}

int main(int argc, char **argv) {
    static const char *const talkative[] = {"HAKMEM_STATS=1", "HAKMEM_SS_OS_STATS=1", "HAKMEM_VERBOSE=1",
                                            "HAKMEM_NO_SUCH_OPTION=1", NULL};

    if (is_worker(argc, argv)) {
        use_heap();
        for (int expected = 0; expected < 3; expected++)
            CHECK(open("/dev/null", O_RDWR) == expected);
        close_three();
        return 0;
    }
    run_worker(NULL, close_three);
    run_worker(talkative, close_three);
    return 0;
}
