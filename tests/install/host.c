/* Opens the plugin, lets it work, closes it, and is still there when hakmem's thread has looked once more. */
#include <dlfcn.h>
#include <unistd.h>

int main(int count, char **arguments) {
    void *plugin = count == 2 ? dlopen(arguments[1], RTLD_NOW) : 0;
    void (*work)(void) = plugin ? (void (*)(void))dlsym(plugin, "plugin_work") : 0;
    if (!work)
        return 2;
    work();
    dlclose(plugin);
    return usleep(900000);
}
