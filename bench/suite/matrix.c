// matrix: what do matrices cost whose rows are blocks, when they are read by columns?
//
// After what numerical programs in C do ("Numerical Recipes in C", Press and others 1992, and its like): a matrix of WS rows, each a block of
// 500 to 5,000 doubles, is filled by rows and then summed up by columns, four times; then it is freed, and one with other rows comes. The
// lengths are round numbers, decimal and binary ones, in turn. What a column costs is where the rows lie: those that begin a multiple of a
// page apart are in each other's way in a cache. An operation is one element that is read.
#include "suite.h"

#include "../blocks.h"

enum { PASSES = 4 };

static const size_t lengths[] = {500, 1000, 1024, 2000, 2048, 2500, 4000, 5000}; // doubles

static double sum_by_columns(double *const *rows, size_t count, size_t length) {
    double sum = 0;
    for (size_t column = 0; column < length; column++)
        for (size_t row = 0; row < count; row++)
            sum += rows[row][column];
    return sum;
}

static uint64_t run(struct suite_thread *thread) {
    size_t count = thread->settings->working_set;
    double **rows = driver_memory(count * sizeof *rows), sum = 0;
    uint64_t read = 0;
    for (unsigned turn = 0; read < thread->share; turn++) {
        size_t length = lengths[turn % (sizeof lengths / sizeof lengths[0])];
        for (size_t row = 0; row < count; row++) {
            rows[row] = block_new(false, length * sizeof **rows);
            for (size_t column = 0; column < length; column++)
                rows[row][column] = (double)(row ^ column);
        }
        for (int pass = 0; pass < PASSES; pass++, read += count * length)
            sum += sum_by_columns(rows, count, length);
        for (size_t row = 0; row < count; row++)
            free(rows[row]);
    }
    __asm__ volatile("" : : "g"(sum));
    return read;
}

const struct suite suite = {
    .defaults = {.iterations = 60000000, .working_set = 200, .seed = 1, .threads = 1},
    .most = 1u << 20,
    .run = run,
};
