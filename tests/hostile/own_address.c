/*
 * own_address: a program that is loaded where it was linked to be, and has taken the address of calloc: so that all mean the same by it, that is a place
 * in the program for everybody, the library too. No other library stands before it for that: there is a thread, and what rests goes home while all sleep.
 */
#include "hostile.h"

extern const char etext[]; /* the end of the program's code (end(3)) */

int main(void) {
    void *(*volatile allocate)(size_t, size_t) = calloc;
    if ((uintptr_t)allocate >= (uintptr_t)etext)
        skip("the address of a library's function is not a place in the program");
    see_rest_go_home();
    return 0;
}
