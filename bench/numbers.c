// Whole numbers of the command line and the environment, checked: digits only, within both limits.
#include "numbers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool number_read(const char *what, const char *text, uint64_t lowest, uint64_t highest, uint64_t *number) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool digits = text[0] >= '0' && text[0] <= '9' && *end == '\0';
    if (!digits || errno != 0 || value < lowest || value > highest) {
        fprintf(stderr, "bench: %s must be a whole number from %llu to %llu, not '%s'\n", what,
                (unsigned long long)lowest, (unsigned long long)highest, text);
        return false;
    }
    *number = value;
    return true;
}

bool number_environment(const char *name, uint64_t lowest, uint64_t highest, uint64_t *number) {
    const char *text = getenv(name);
    return !text || !*text || number_read(name, text, lowest, highest, number);
}
