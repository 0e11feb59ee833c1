/*
 * option_verbose: does HAKMEM_VERBOSE=1 print the version, the variant and every option with its value?
 *
 * The names are taken from src/options.def of the source tree, so that a row that is added there is expected
 * here. A value that was given must be the one that is printed. Without HAKMEM_VERBOSE nothing is printed.
 */
#include "hostile.h"

static struct ran ran;
static char table[100000];

static void read_table(void) {
    char path[4200];

    snprintf(path, sizeof path, "%s/src/options.def", getenv("TESTED_SOURCE_DIR"));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, table, sizeof table - 1) > 0);
    close(fd);
}

static int check_every_option(void) {
    int count = 0;

    for (const char *row = strstr(table, "\nOPTION("); row != NULL; row = strstr(row + 1, "\nOPTION(")) {
        const char *name = strchr(row, '"') + 1;
        char quoted[100];
        snprintf(quoted, sizeof quoted, "%.*s", (int)(strchr(name, '"') - name), name);
        if (strstr(ran.text, quoted) == NULL)
            dprintf(2, "%s is missing\n", quoted);
        CHECK(strstr(ran.text, quoted) != NULL);
        count++;
    }
    return count;
}

int main(int argc, char **argv) {
    static const char *const verbose[] = {"HAKMEM_VERBOSE=1", "HAKMEM_PREWARM=13", NULL};
    static char *command[] = {NULL, (char *)(uintptr_t) "worker", NULL};

    if (is_worker(argc, argv)) {
        churn(1, 500);
        return 0;
    }
    if (getenv("TESTED_SOURCE_DIR") == NULL || getenv("TESTED_VARIANT") == NULL)
        skip("TESTED_SOURCE_DIR and TESTED_VARIANT are not set");
    command[0] = self_path();
    CHECK(run(&ran, command, NULL, NULL) == 0 && strcmp(ran.text, "") == 0);
    CHECK(run(&ran, command, verbose, NULL) == 0);
    read_table();
    CHECK(check_every_option() > 5);
    CHECK(strstr(ran.text, getenv("TESTED_VARIANT")) != NULL);
    char *value = strstr(ran.text, "HAKMEM_PREWARM");
    *strchrnul(value, '\n') = '\0';
    CHECK(strstr(value, "13") != NULL);
    return 0;
}
