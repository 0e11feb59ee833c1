// hot_path: counts the instructions of each hot entry of the preloaded library on a hit, exactly.
//
// The processor's trap flag stops the program after every instruction; the SIGTRAP handler counts those that lie in
// the library. So the figures are the library's own: what libc's memset does inside a calloc of more than 64 bytes belongs to
// the processor's best memset and is not counted. Before each call the entry's size class has a few free blocks at hand and room for
// more, which makes it a hit; each is measured several times and must always cost the same.
//
// Prints one line per entry: its name and its instructions. Status 77 where there is no trap flag.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { REPEATS = 8, WARM_BLOCKS = 10, WARM_TURNS = 400, LARGE = 40000 };

enum kind { ALLOCATES, ALLOCATES_COUNT, RELEASES_NULL, RESIZES, RELEASES, RELEASES_SIZED, RELEASES_ANOTHERS };

struct entry {
    const char *label, *symbol;
    enum kind kind;
    size_t size;
};

static const struct entry entries[] = {
    {"malloc_16", "malloc", ALLOCATES, 16},
    {"malloc_64", "malloc", ALLOCATES, 64},
    {"malloc_1000", "malloc", ALLOCATES, 1000},
    {"malloc_1024", "malloc", ALLOCATES, 1024},
    {"malloc_4000", "malloc", ALLOCATES, 4000},
    {"free_16", "free", RELEASES, 16},
    {"free_64", "free", RELEASES, 64},
    {"free_1000", "free", RELEASES, 1000},
    {"free_4000", "free", RELEASES, 4000},
    {"calloc_64", "calloc", ALLOCATES_COUNT, 64},
    {"calloc_1000", "calloc", ALLOCATES_COUNT, 1000},
    {"realloc_same_class_64", "realloc", RESIZES, 64},
    {"realloc_same_class_1000", "realloc", RESIZES, 1000},
    {"large_malloc_40000", "malloc", ALLOCATES, LARGE},
    {"large_free_40000", "free", RELEASES, LARGE},
    {"operator_new_64", "_Znwm", ALLOCATES, 64},
    {"operator_delete_64", "_ZdlPv", RELEASES, 64},
    {"operator_delete_sized_64", "_ZdlPvm", RELEASES_SIZED, 64},
    {"null_free", "free", RELEASES_NULL, 0},
    {"remote_free_64", "free", RELEASES_ANOTHERS, 64},
};

#if defined(__x86_64__)

static uintptr_t library_begin, library_end;
static volatile unsigned long stepped;

static void step(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    stepped += at >= library_begin && at < library_end;
}

static int library_find(struct dl_phdr_info *object, size_t size, void *symbol) {
    (void)size;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        bool code = segment->p_type == PT_LOAD && (segment->p_flags & PF_X);
        if (code && (uintptr_t)symbol - begin < segment->p_memsz) {
            library_begin = begin;
            library_end = begin + segment->p_memsz;
            return 1;
        }
    }
    return 0;
}

// Both step over the 128 bytes below the stack pointer that the compiler may use.
static void trap_flag_on(void) {
    __asm__ volatile(
        "leaq -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n leaq 128(%%rsp), %%rsp" ::
            : "memory", "cc");
}

static void trap_flag_off(void) {
    __asm__ volatile(
        "leaq -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n leaq 128(%%rsp), %%rsp" ::
            : "memory", "cc");
}

static void *call(const struct entry *entry, uintptr_t function, void *block) {
    switch (entry->kind) {
    case ALLOCATES:
        return ((void *(*)(size_t))function)(entry->size);
    case ALLOCATES_COUNT:
        return ((void *(*)(size_t, size_t))function)(1, entry->size);
    case RESIZES:
        return ((void *(*)(void *, size_t))function)(block, entry->size - 1);
    case RELEASES_NULL:
    case RELEASES:
    case RELEASES_ANOTHERS:
        ((void (*)(void *))function)(block);
        return NULL;
    case RELEASES_SIZED:
        ((void (*)(void *, size_t))function)(block, entry->size);
        return NULL;
    }
    return NULL;
}

// Leaves the size class with some free blocks at hand and room for some more. A large block was freed so often then that the next
// frees are not among those that measure it, and the thread is the favourite at the lock of large blocks. With WARM_BLOCKS free
// no slab that is measured is filed anew for one block more or less: else its colour would decide what a hit costs in hardened.
static void class_warm(size_t size) {
    void *blocks[WARM_BLOCKS];
    for (int i = 0; i < WARM_BLOCKS; i++)
        blocks[i] = malloc(size);
    for (int i = 0; i < WARM_BLOCKS; i++)
        free(blocks[i]);
    for (int i = 0; size >= LARGE && i < WARM_TURNS; i++) {
        void *volatile block = malloc(size);
        free(block);
    }
}

static void *allocate(void *size) {
    return malloc(*(size_t *)size);
}

static void *allocated_by_another(size_t size) {
    pthread_t thread;
    void *block = NULL;
    pthread_create(&thread, NULL, allocate, &size);
    pthread_join(thread, &block);
    return block;
}

static void *block_for(const struct entry *entry) {
    if (entry->kind == RELEASES_ANOTHERS)
        return allocated_by_another(entry->size);
    return entry->kind >= RESIZES ? malloc(entry->size) : NULL;
}

static unsigned long counted_call(const struct entry *entry, uintptr_t function) {
    void *block = block_for(entry);
    stepped = 0;
    trap_flag_on();
    void *result = call(entry, function, block);
    trap_flag_off();
    unsigned long count = stepped;
    free(result);
    return count;
}

static bool entry_measure(const struct entry *entry) {
    void *symbol = dlsym(RTLD_DEFAULT, entry->symbol);
    uintptr_t function = (uintptr_t)symbol;
    if (!symbol || !dl_iterate_phdr(library_find, symbol)) {
        fprintf(stderr, "hot_path: no %s\n", entry->symbol);
        return false;
    }
    class_warm(entry->size);
    counted_call(entry, function); // the first call may bind names
    unsigned long counts[REPEATS];
    for (int i = 0; i < REPEATS; i++)
        counts[i] = counted_call(entry, function);
    for (int i = 1; i < REPEATS; i++)
        if (counts[i] != counts[0]) {
            fprintf(stderr, "hot_path: %s took %lu, then %lu\n", entry->label, counts[0], counts[i]);
            return false;
        }
    printf("%s %lu\n", entry->label, counts[0]);
    return true;
}

int main(void) {
    static char lines[BUFSIZ]; // else stdio's would be a live block of one of the size classes
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    setvbuf(stdout, lines, _IOFBF, sizeof lines);
    sigaction(SIGTRAP, &action, NULL);
    void *symbol = dlsym(RTLD_DEFAULT, entries[0].symbol);
    dl_iterate_phdr(library_find, symbol);
    if (counted_call(&entries[0], (uintptr_t)symbol) == 0) {
        puts("SKIP: the trap flag stops nothing here (an emulator?)");
        return 77;
    }
    bool all = true;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        all = entry_measure(&entries[i]) && all;
    return all ? 0 : 1;
}

#else

int main(void) {
    printf("SKIP: no trap flag on this processor (%s and %zu others)\n", entries[0].label,
           sizeof entries / sizeof *entries - 1);
    return 77;
}

#endif
