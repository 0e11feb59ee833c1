// A program that says whose malloc it has, and with an argument becomes the command of all its arguments.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const char *hakmem_version(void) __attribute__((weak));

int main(int argc, char **argv) {
    if (argc > 1) {
        execvp(argv[1], argv + 1);
        return 1;
    }
    printf("hakmem %s\n", hakmem_version ? hakmem_version() : "none");
    return 0;
}
