// Whole numbers of the command line and the environment, checked.
#ifndef HAKMEM_BENCH_NUMBERS_H
#define HAKMEM_BENCH_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

// Says on standard error what is wrong with `text` and returns false, or sets *number.
bool number_read(const char *what, const char *text, uint64_t lowest, uint64_t highest, uint64_t *number);

// The same for an environment variable; one that is unset or empty leaves *number alone.
bool number_environment(const char *name, uint64_t lowest, uint64_t highest, uint64_t *number);

#endif
