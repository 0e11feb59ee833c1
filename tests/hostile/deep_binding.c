/*
 * deep_binding: does a library that is opened with RTLD_DEEPBIND (first argument), as PHP opens its modules, have the
 * same malloc as the program? (libc P4)
 *
 * With that flag its names are looked up in libc before they are looked up among the preloads. What it frees then
 * was made by hakmem, and libc's free falls over it. With HAKMEM_FORCE_LIBC_ALLOC both mallocs are libc's in the end, and the
 * flag means what it says. Who opens must stay known: the library itself opens a second one (second argument) that
 * only its own RUNPATH leads to.
 */
#include "hostile.h"

enum { ROUNDS = 3000 };

static void *find(void *library, const char *name) {
    void *symbol = dlsym(library, name);

    if (symbol == NULL)
        dprintf(2, "%s\n", dlerror());
    CHECK(symbol != NULL);
    return symbol;
}

static void check_malloc(void *library) {
    void *(*(*deep_malloc)(void))(size_t);
    void *symbol = find(library, "deep_malloc");
    bool forced = getenv("HAKMEM_FORCE_LIBC_ALLOC") != NULL;

    memcpy(&deep_malloc, &symbol, sizeof symbol);
    CHECK((deep_malloc() == malloc) == !forced);
}

static void exchange(void *library) {
    char *(*deep_exchange)(char *);
    void *symbol = find(library, "deep_exchange");

    memcpy(&deep_exchange, &symbol, sizeof symbol);
    for (int i = 0; i < ROUNDS; i++) {
        char *mine = NULL;
        CHECK(asprintf(&mine, "%*d", i % 1000 + 1, i) > 0);
        char *theirs = deep_exchange(mine);
        CHECK(theirs != NULL && atoi(theirs) == i);
        free(theirs);
    }
}

int main(int argc, char **argv) {
    void *(*deep_open)(const char *);

    CHECK(argc > 2);
    CHECK(dlopen(argv[2], RTLD_NOW) == NULL); /* here nobody knows where it is */
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (library == NULL)
        dprintf(2, "%s\n", dlerror());
    CHECK(library != NULL);
    check_malloc(library);
    exchange(library);
    void *symbol = find(library, "deep_open");
    memcpy(&deep_open, &symbol, sizeof symbol);
    void *second = deep_open(argv[2]);
    if (second == NULL)
        dprintf(2, "%s\n", dlerror());
    CHECK(second != NULL);
    check_malloc(second);
    exchange(second);
    CHECK(dlclose(second) == 0 && dlclose(library) == 0);
    return 0;
}
