/* The first allocation of the program comes from the linker, in the middle of loading a library: the one that backtrace(3) needs.
 * Where samples are taken hakmem has it loaded, too, but not from in there: the library would come twice. */
#include "../lifecycle/lifecycle.h"

static unsigned mapped(const char *name) {
    static char line[4096];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, name) && strstr(line, "r-xp");
    fclose(maps);
    return count;
}

int main(void) {
    if (!dlopen("libgcc_s.so.1", RTLD_NOW))
        skip("there is no libgcc_s.so.1");
    CHECK(mapped("libgcc_s.so.1") == 1);
    free(malloc(100)); /* now it may be asked for */
    CHECK(mapped("libgcc_s.so.1") == 1);
    return 0;
}
