/*
 * under_valgrind: does a program on the library run under valgrind --tool=none?
 *
 * Valgrind lays out the address space in its own way and refuses huge reservations. The worker checks by
 * itself that its malloc is the library's. Where valgrind replaces malloc and free (memcheck, massif), it must not be
 * given a block that is not its own, by names that it does not know. SKIP without valgrind, or where it cannot run a
 * plain program.
 */
#include "hostile.h"

static void without_library(void) {
    unsetenv("LD_PRELOAD");
}

static int use_names(void) {
    void *block = reallocarray(NULL, 3, 40);

    block = reallocarray(block, 300, 40);
    CHECK(block != NULL);
    memset(block, 'v', 300 * (size_t)40);
    free(block);
    return 0;
}

static void run_tool(const char *tool) {
    static char valgrind[] = "valgrind", quiet[] = "-q", error[] = "--error-exitcode=9", names[] = "names",
                nowhere[] = "--massif-out-file=/dev/null";
    static struct ran ran;
    bool massif = strstr(tool, "massif") != NULL;

    if (run(&ran,
            (char *[]){valgrind, (char *)(uintptr_t)tool, quiet, massif ? nowhere : error, self_path(), names,
                       NULL},
            NULL, NULL) != 0)
        show(&ran);
    CHECK(ran.status == 0);
}

int main(int argc, char **argv) {
    static char valgrind[] = "valgrind", tool[] = "--tool=none", quiet[] = "-q", shell[] = "/bin/true",
                worker[] = "worker";
    static struct ran ran;

    if (is_worker(argc, argv)) {
        use_heap();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "names") == 0)
        return use_names();
    if (run(&ran, (char *[]){valgrind, tool, quiet, shell, NULL}, NULL, without_library) != 0)
        skip("valgrind is not here (Debian: valgrind), or cannot run a plain program");
    if (run(&ran, (char *[]){valgrind, tool, quiet, self_path(), worker, NULL}, NULL, NULL) != 0)
        show(&ran);
    CHECK(ran.status == 0);
    run_tool("--tool=memcheck");
    run_tool("--tool=massif");
    return 0;
}
