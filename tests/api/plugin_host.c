/* A C program that loads a C++ plugin: the C++ runtime comes late, into a scope where the library's weak references
 * cannot see it, and std::bad_alloc must be thrown all the same. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: %s PLUGIN\n", arguments[0]);
        return 2;
    }
    if (dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv") != NULL) {
        fprintf(stderr, "the C++ runtime is here already: this program tests nothing\n");
        return 2;
    }
    void *plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    void *symbol = plugin == NULL ? NULL : dlsym(plugin, "plugin_run");
    if (symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    int (*run)(void);
    memcpy(&run, &symbol, sizeof symbol);
    int caught = run();
    if (caught != 3) {
        fprintf(stderr, "the plugin caught %d, not 3\n", caught);
    }
    return caught == 3 ? 0 : 1;
}
