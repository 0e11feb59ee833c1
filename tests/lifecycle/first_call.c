/*
 * first_call: does malloc work before any constructor has run?
 *
 * Three early callers: the .preinit_array of this program (before every constructor of every library), a
 * library whose constructor runs before libc's own (early_library), and a constructor of this program. Their
 * blocks must be intact in main, and may be freed and reallocated there.
 */
#include "lifecycle.h"

extern char *early_library_block;

static char *preinit_block, *preinit_large, *constructor_block;

static void before_everything(void) {
    preinit_block = malloc(100);
    preinit_large = calloc(1, 3u << 20);
    if (preinit_block == NULL || preinit_large == NULL)
        _exit(1);
    memset(preinit_block, 'p', 100);
    free(malloc(40));
    preinit_block = realloc(preinit_block, 70000);
    if (preinit_block == NULL)
        _exit(1);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = before_everything;

__attribute__((constructor(101))) static void in_constructor(void) {
    constructor_block = malloc(200);
    CHECK(constructor_block != NULL);
    fill(constructor_block, 200, 'c');
}

int main(void) {
    CHECK(preinit_block != NULL && preinit_large != NULL);
    verify(preinit_block, 100, 'p');
    verify(preinit_large, 3u << 20, 0);
    verify(constructor_block, 200, 'c');
    verify(early_library_block, 1000, 'e');
    early_library_block = realloc(early_library_block, 500000);
    CHECK(early_library_block != NULL);
    verify(early_library_block, 1000, 'e');
    free(preinit_block);
    free(preinit_large);
    free(constructor_block);
    churn(1, 2000);
    return 0;
}
