/*
 * closed_descriptors: does the library work when descriptors 0, 1 and 2 are closed, and leave them alone?
 *
 * The worker starts with none open, or closes them, with options that make the library write (reports, an unknown option).
 * Afterwards the first three descriptors that it opens must be 0, 1 and 2: the library holds none. And what
 * it writes at exit must not stop the exit. A descriptor that it has kept for that is the program's to close, too: what it says of
 * a wrong pointer is then lost or not, but errno stays.
 */
#include "hostile.h"

enum { SOMEWHERE = 64 };

static char somebody_elses[4 * SOMEWHERE];

/* So that no compiler sees what it frees. */
static void (*volatile free_wrongly)(void *) = free;

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
        close_three();
        for (int expected = 0; expected < 3; expected++)
            CHECK(open("/dev/null", O_RDWR) == expected);
        close_three();
        closefrom(3);
        const char *variant = getenv("TESTED_VARIANT");
        errno = 77;
        if (variant != NULL && strcmp(variant, "hardened") != 0) /* that one stops */
            free_wrongly(&somebody_elses[SOMEWHERE]);
        CHECK(errno == 77);
        return 0;
    }
    run_worker(NULL, close_three);
    run_worker(talkative, close_three);
    run_worker(talkative, NULL);
    return 0;
}
