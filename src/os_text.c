/* os, whose code an address is: libc's or the dynamic linker's. */
#include "base.h"
#include "os.h"

#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

extern struct r_debug _r_debug WEAK;     /* of glibc's dynamic linker */
extern char __libc_single_threaded WEAK; /* as in os_thread.c */

static const ElfW(Phdr) * os_segment(const ElfW(Phdr) * segments, size_t count, uint32_t type) {
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == type)
            return &segments[i];
    return NULL;
}

/* Where the linker has no name for it (musl): the program's dynamic section has the address (DT_DEBUG), and the kernel says where that lies. */
static COLD NOINLINE const struct r_debug *os_loaded_by_other(void) {
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = segments ? getauxval(AT_PHNUM) : 0;
    const ElfW(Phdr) *own = os_segment(segments, count, PT_PHDR),
                     *dynamic = os_segment(segments, count, PT_DYNAMIC);
    if (!own || !dynamic)
        return NULL;
    const ElfW(Dyn) *entry = (const ElfW(Dyn) *)((uintptr_t)segments - own->p_vaddr + dynamic->p_vaddr);
    while (entry->d_tag != DT_NULL && entry->d_tag != DT_DEBUG)
        entry++;
    return entry->d_tag == DT_DEBUG ? (const struct r_debug *)entry->d_un.d_ptr : NULL;
}

/* What the dynamic linker tells debuggers. NULL: there is no linker. */
static NOINLINE const struct r_debug *os_loaded(void) {
    return &_r_debug ? &_r_debug : os_loaded_by_other();
}

static const struct link_map *os_first_loaded(void) {
    const struct r_debug *loaded = os_loaded();
    return loaded ? loaded->r_map : NULL;
}

/* To the kernel a linker that was started with a program's name is the program, and needs no linker. */
NOINLINE uintptr_t os_linker(void) {
    uintptr_t base = getauxval(AT_BASE);
    const struct r_debug *loaded = base == 0 ? os_loaded() : NULL;
    return loaded ? loaded->r_ldbase : base;
}

static struct os_text os_text_at(uintptr_t base) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)base;
    struct os_text text = {base, base};
    if (base == 0 || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return text;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(base + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD && base + segment[i].p_vaddr + segment[i].p_memsz > text.to)
            text.to = base + segment[i].p_vaddr + segment[i].p_memsz;
    return text;
}

/* Of all that are loaded, the one that begins nearest below; NULL in a program without dynamic linker. */
static NOINLINE const struct link_map *os_object_of(const void *address) {
    const struct link_map *found = NULL;
    for (const struct link_map *map = os_first_loaded(); map; map = map->l_next)
        if (map->l_addr <= (uintptr_t)address && (!found || map->l_addr > found->l_addr))
            found = map;
    return found;
}

/* By one of its functions whose address no program takes. */
static const struct link_map *os_libc(void) {
    return os_object_of((const void *)(uintptr_t)&pthread_attr_setstacksize);
}

NOINLINE struct os_text os_text_of_libc(void) {
    const struct link_map *libc = os_libc();
    return os_text_at(libc ? libc->l_addr : 0);
}

struct os_text os_text_of_linker(void) {
    return os_text_at(os_linker());
}

bool os_is_elsewhere(const void *function) {
    const struct link_map *whose = os_object_of(function);
    if (!whose || whose == os_object_of((const void *)(uintptr_t)&os_is_elsewhere) ||
        whose == os_first_loaded() || whose == os_libc())
        return false;
    const struct os_text linker = os_text_of_linker();
    return !os_is_inside(&linker, function);
}

/* What it has a copy of lies in the program itself; what it only refers to comes first in its table, before all that can be looked up. Where this
 * library is linked in it refers to it, too, but weakly. */
bool os_program_asks_for_threads(const struct os_text *libc) {
    const struct link_map *program = os_first_loaded();
    const ElfW(Sym) *symbols = NULL;
    const uint32_t *hash = NULL;
    const char *names = NULL;
    if (&__libc_single_threaded && !os_is_inside(libc, &__libc_single_threaded))
        return true;
    for (const ElfW(Dyn) *entry = program ? program->l_ld : NULL; entry && entry->d_tag != DT_NULL; entry++) {
        /* glibc has added where the program lies, others have not */
        uintptr_t at =
            entry->d_un.d_ptr < program->l_addr ? entry->d_un.d_ptr + program->l_addr : entry->d_un.d_ptr;
        if (entry->d_tag == DT_GNU_HASH)
            hash = (const uint32_t *)at;
        else if (entry->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)at;
        else if (entry->d_tag == DT_STRTAB)
            names = (const char *)at;
    }
    for (uint32_t i = 0, end = hash && symbols && names ? hash[1] : 0; i < end; i++)
        if (ELF64_ST_BIND(symbols[i].st_info) == STB_GLOBAL &&
            strcmp(names + symbols[i].st_name, "__libc_single_threaded") == 0)
            return true;
    return false;
}
