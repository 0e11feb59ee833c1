// A program that says whose malloc it has; with an argument it becomes the command of all its arguments, or, `keep`, has 20 MB live at its exit.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char *hakmem_version(void) __attribute__((weak));

enum { BLOCKS = 20000, BYTES = 1000 };

static void *blocks[BLOCKS];

__attribute__((noinline)) static void keep_much(void) {
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(BYTES), 1, BYTES);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "keep") == 0) {
        keep_much();
        return 0;
    }
    if (argc > 1) {
        execvp(argv[1], argv + 1);
        return 1;
    }
    printf("hakmem %s\n", hakmem_version ? hakmem_version() : "none");
    return 0;
}
