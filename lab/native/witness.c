/*
 * The witness: preloaded behind an allocator, it reports who owns malloc in this process, before main.
 *
 * It appends one block of lines to the file that LAB_WITNESS_REPORT names, fields separated by tabs:
 *
 *   program  <executable>
 *   libc     <object>                      the C library
 *   global   <symbol> <object>             what a lookup in the global scope finds
 *   bound    <symbol> <object> <from>      what a relocation of object <from> is bound to (run with LD_BIND_NOW=1)
 *   served   libc | other                  who really hands out blocks: did glibc's own heap grow with 64 of them
 *   end
 *
 * Judging is left to lab/witness.py. Then the process ends with status 0, so that nothing of the program is done.
 * Only programs that start others (LAB_WITNESS_PASS, ":sh:env:") go on, and what they start reports in its turn. The
 * library is loaded in runs of their own, never in a measured one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* operator new(size_t) and operator delete(void *) are the two names that every C++ program needs. */
static const char *const watched[] = {"malloc", "free", "calloc", "realloc", "_Znwm", "_ZdlPv"};
#define REQUIRED 4

/* The report is built without allocating: the allocator is what is being looked at. */
static char report[1 << 18];
static size_t report_used;
static char program[PATH_MAX];

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    va_list values;
    va_start(values, format);
    int length = vsnprintf(report + report_used, sizeof report - report_used, format, values);
    va_end(values);
    if (length > 0 && (size_t)length < sizeof report - report_used)
        report_used += (size_t)length;
}

/* The file an address belongs to. The loader knows the executable by an empty name or by argv[0]. */
static const char *owner_of(const void *address) {
    Dl_info info;
    struct link_map *map = NULL;
    if (!address || !dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP))
        return "?";
    return map && map->l_name && map->l_name[0] ? map->l_name : program;
}

/* The place of a name among the watched ones, or -1. */
static int watched_index(const char *name) {
    for (size_t i = 0; i < LENGTH(watched); i++)
        if (strcmp(name, watched[i]) == 0)
            return (int)i;
    return -1;
}

/*
 * An executable at a fixed address that takes the address of malloc makes a stub of its own the address of malloc for
 * everybody. Who owns malloc is then said by the slot that the stub jumps through.
 */
static const void *stub[LENGTH(watched)], *behind_stub[LENGTH(watched)];

static const char *owner_of_watched(size_t i, const void *address) {
    return owner_of(address == stub[i] && behind_stub[i] ? behind_stub[i] : address);
}

/* Some loaders leave the pointers of the dynamic section unrelocated. */
static ElfW(Addr) absolute(const struct dl_phdr_info *object, ElfW(Addr) value) {
    return value < object->dlpi_addr ? value + object->dlpi_addr : value;
}

struct tables {
    const char *strings;
    const ElfW(Sym) * symbols;
    const ElfW(Rela) * plt, *data;
    size_t plt_bytes, data_bytes;
};

static struct tables tables_of(const struct dl_phdr_info *object, const ElfW(Dyn) * entry) {
    struct tables t = {0};
    for (; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_STRTAB:
            t.strings = (const char *)absolute(object, entry->d_un.d_ptr);
            break;
        case DT_SYMTAB:
            t.symbols = (const ElfW(Sym) *)absolute(object, entry->d_un.d_ptr);
            break;
        case DT_JMPREL:
            t.plt = (const ElfW(Rela) *)absolute(object, entry->d_un.d_ptr);
            break;
        case DT_RELA:
            t.data = (const ElfW(Rela) *)absolute(object, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            t.plt_bytes = entry->d_un.d_val;
            break;
        case DT_RELASZ:
            t.data_bytes = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
    return t;
}

static void note_stub(const struct dl_phdr_info *object, const ElfW(Sym) * symbol, size_t watched_at,
                      const void *bound) {
    if (symbol->st_shndx != SHN_UNDEF || symbol->st_value == 0)
        return;
    const void *own = (const void *)(object->dlpi_addr + symbol->st_value);
    stub[watched_at] = own;
    if (bound != own)
        behind_stub[watched_at] = bound;
}

/* Of each relocation that names a watched symbol, the object that the stored address lies in. */
static void say_bound(const struct dl_phdr_info *object, const struct tables *t, const ElfW(Rela) * row,
                      size_t bytes) {
    int is_program = !object->dlpi_name || !object->dlpi_name[0];
    for (size_t i = 0; row && i < bytes / sizeof *row; i++) {
        const ElfW(Sym) *symbol = t->symbols + ELF64_R_SYM(row[i].r_info);
        const char *name = t->strings + symbol->st_name;
        int at = watched_index(name);
        if (at < 0 || row[i].r_addend != 0)
            continue;
        const void *bound;
        memcpy(&bound, (const void *)(object->dlpi_addr + row[i].r_offset), sizeof bound);
        if (is_program)
            note_stub(object, symbol, (size_t)at, bound);
        if (bound)
            say("bound\t%s\t%s\t%s\n", name, owner_of_watched((size_t)at, bound),
                is_program ? program : object->dlpi_name);
    }
}

static int visit(struct dl_phdr_info *object, size_t size, void *unused) {
    (void)size;
    (void)unused;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        struct tables t =
            tables_of(object, (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr));
        if (!t.strings || !t.symbols)
            continue;
        say_bound(object, &t, t.plt, t.plt_bytes);
        say_bound(object, &t, t.data, t.data_bytes);
    }
    return 0;
}

/* Blocks of 1000 bytes grow glibc's count of bytes in use by as much when they come from its heap, whoever is asked. */
static void say_served(const char *libc) {
    void *blocks[64];
    void *handle = dlopen(libc, RTLD_LAZY | RTLD_NOLOAD);
    struct mallinfo2 (*count)(void);
    void *found = handle ? dlsym(handle, "mallinfo2") : NULL;
    if (!found || strcmp(owner_of(found), libc) != 0)
        return;
    memcpy(&count, &found, sizeof found);
    struct mallinfo2 before = count();
    for (size_t i = 0; i < LENGTH(blocks); i++)
        blocks[i] = malloc(1000);
    struct mallinfo2 after = count();
    for (size_t i = 0; i < LENGTH(blocks); i++)
        free(blocks[i]);
    say("served\t%s\n", after.uordblks >= before.uordblks + LENGTH(blocks) * 500 ? "libc" : "other");
}

/* Is the program one of the names in LAB_WITNESS_PASS, which stand between colons? */
static int passes_on(void) {
    char name[PATH_MAX + 2];
    const char *list = getenv("LAB_WITNESS_PASS");
    const char *slash = strrchr(program, '/');
    snprintf(name, sizeof name, ":%s:", slash ? slash + 1 : program);
    return list && strstr(list, name) != NULL;
}

/* What a lookup finds of the watched names from `first` on; returns whether all have the same owner. */
static int say_global(size_t first, size_t after) {
    const char *owner = NULL;
    int agree = 1;
    for (size_t i = first; i < after; i++) {
        const void *found = dlsym(RTLD_DEFAULT, watched[i]);
        if (!found)
            continue;
        const char *its = owner_of_watched(i, found);
        say("global\t%s\t%s\n", watched[i], its);
        agree = agree && (!owner || strcmp(owner, its) == 0);
        owner = its;
    }
    return agree;
}

/*
 * Where malloc and free have different owners nothing more is tried: already a name that is not found would make
 * dlsym allocate its message with the one and free it with the other.
 */
__attribute__((constructor)) static void testify(void) {
    const char *path = getenv("LAB_WITNESS_REPORT");
    if (!path)
        return;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        strcpy(program, "?");
    const void *version = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    const char *libc = owner_of(version);
    say("program\t%s\nlibc\t%s\n", program, libc);
    dl_iterate_phdr(visit, NULL);
    int agree = say_global(0, REQUIRED);
    if (agree) {
        say_global(REQUIRED, LENGTH(watched));
        say_served(libc);
    }
    say("end\n");
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0 || write(file, report, report_used) != (ssize_t)report_used)
        _exit(1);
    close(file);
    if (!passes_on())
        _exit(0);
}
