/*
 * counted.h: instructions of parts of a program, counted by callgrind.
 *
 * The program runs itself as "worker" under valgrind (counted_run), without counting until the worker says so
 * (CALLGRIND_START_INSTRUMENTATION); each COUNTED part is told apart by its name. SKIP without valgrind.
 */
#ifndef HAKMEM_TESTS_COUNTED_H
#define HAKMEM_TESTS_COUNTED_H

#include "bars.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define COUNTED_CAN 1

/* The name stands in the tool's output. */
#define COUNTED(name, call)              \
    do {                                 \
        CALLGRIND_ZERO_STATS;            \
        call;                            \
        CALLGRIND_DUMP_STATS_AT((name)); \
    } while (0)

/* Each part of the tool's output says what it counted ("desc: Trigger: Client Request: NAME"), and how many instructions
 * ("summary: ..."). The last one, at the program's end, has no name. */
static void counted_read(const char *path, void (*note)(const char *name, long instructions)) {
    static const char trigger[] = "desc: Trigger: Client Request: ";
    static char line[4096], name[sizeof line];
    FILE *file = fopen(path, "r");

    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "desc: Trigger:", 14) == 0)
            strcpy(name, strncmp(line, trigger, sizeof trigger - 1) == 0 ? line + sizeof trigger - 1 : "");
        if (strncmp(line, "summary:", 8) == 0 && name[0] != '\0')
            note(name, strtol(line + 8, NULL, 10));
    }
    fclose(file);
}

static void without_library(void) {
    unsetenv("LD_PRELOAD");
}

static void counted_run(void (*note)(const char *name, long instructions)) {
    static char valgrind[] = "valgrind", tool[] = "--tool=callgrind", quiet[] = "-q",
                no_start[] = "--instr-atstart=no", together[] = "--combine-dumps=yes",
                program[] = "/bin/true", word[] = "worker", none[] = "--callgrind-out-file=/dev/null";
    static struct ran ran;
    char path[] = "/tmp/counted.XXXXXX", out[sizeof path + 40];

    if (run(&ran, (char *[]){valgrind, tool, quiet, none, program, NULL}, NULL, without_library) != 0)
        skip("valgrind is not here (Debian: valgrind), or cannot run a plain program");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    snprintf(out, sizeof out, "--callgrind-out-file=%s", path);
    run(&ran, (char *[]){valgrind, tool, quiet, no_start, together, out, self_path(), word, NULL}, NULL,
        NULL);
    if (ran.status != 0)
        show(&ran);
    else
        counted_read(path, note);
    unlink(path);
    CHECK(ran.status == 0);
}
#else
#define COUNTED_CAN 0
#endif

#endif
