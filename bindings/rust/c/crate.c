/* The C half of the crate: the whole library as one object, and what keeps it loaded.
 *
 * In a plugin (a Rust cdylib that a program opens with dlopen) this code must outlive dlclose: the thread that gives
 * memory home runs it, and threads and fork call what was registered with them. libhakmem.so is linked with -z nodelete
 * for that, which a crate cannot ask of those who depend on it; so the file that this object is in says at its start that
 * it stays. A program is never unloaded and pays a comparison.
 */
#include "src/hakmem.c"

#include <dlfcn.h>
#include <sys/auxv.h>

/* Weak, as dlsym in next.c: a static program has none of them and needs none. */
extern __typeof__(dladdr) dladdr WEAK;
extern __typeof__(dlopen) dlopen WEAK;

__attribute__((constructor)) static void crate_stays(void) {
    uintptr_t header = (uintptr_t)&__ehdr_start;
    Dl_info file;
    if (header == 0 || getauxval(AT_PHDR) == header + __ehdr_start.e_phoff || !dladdr || !dlopen)
        return;
    if (dladdr((void *)header, &file) != 0 && file.dli_fname) /* never closed: that is the point */
        (void)dlopen(file.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
