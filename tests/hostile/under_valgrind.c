/*
 * under_valgrind: does a program on the library run under valgrind --tool=none?
 *
 * Valgrind lays out the address space in its own way and refuses huge reservations. The worker checks by
 * itself that its malloc is the library's. SKIP without valgrind, or where it cannot run a plain program.
 */
#include "hostile.h"

static void without_library(void) {
    unsetenv("LD_PRELOAD");
}

int main(int argc, char **argv) {
    static char valgrind[] = "valgrind", tool[] = "--tool=none", quiet[] = "-q", shell[] = "/bin/true",
                worker[] = "worker";
    static struct ran ran;

    if (is_worker(argc, argv)) {
        use_heap();
        return 0;
    }
    if (run(&ran, (char *[]){valgrind, tool, quiet, shell, NULL}, NULL, without_library) != 0)
        skip("valgrind is not here (Debian: valgrind), or cannot run a plain program");
    if (run(&ran, (char *[]){valgrind, tool, quiet, self_path(), worker, NULL}, NULL, NULL) != 0)
        show(&ran);
    CHECK(ran.status == 0);
    return 0;
}
