#include "base.h"

#include "sample.h"

#include "boxes.h"
#include "lock.h"
#include "metadata.h"
#include "os.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

enum {
    SITE_BUCKETS = 4096,
    LIVE_BUCKETS = 16384,
    FILTER = 1 << SAMPLE_FILTER_BITS,
    FILTER_FULL = 255, /* a count that got here stays */
    SITES_MOST = 1 << 16,
    LIVE_MOST = 1 << 20,
    LIVE_BATCH = 128, /* records that come at once */
    OWN_CALLERS = 16, /* frames of the library, at most */
    STEPS = 4         /* sizes from one power of two to the next that have sites of their own */
};

struct sample_live {
    struct sample_live *next;
    struct sample_site *site;
    uintptr_t address;
    size_t bytes;
};

/* What is there only when samples are taken. */
struct sample_tables {
    struct sample_site *sites[SITE_BUCKETS];
    struct sample_live *live[LIVE_BUCKETS];
    _Atomic uint8_t filter[FILTER];
};

enum sample_stage { SAMPLE_UNPREPARED, SAMPLE_PREPARES, SAMPLE_PREPARED };

static struct {
    struct lock lock;
    _Atomic uint32_t stage; /* enum sample_stage */
    bool unwinds; /* this and the next are written once, before the stage says that it is prepared */
    uintptr_t unwinder_from, unwinder_to;
    const void *(*find_frame)(void *code, void *bases); /* these three of libgcc, or NULL */
    int (*walk)(int (*step)(void *context, void *walk), void *walk);
    uintptr_t (*address)(void *context);
    uint64_t rate; /* written once, before there are threads; so are `tables` and the own code */
    struct sample_tables *tables; /* NULL: nothing is sampled */
    uintptr_t own_from, own_to;
    uint64_t lost;
    struct sample_site *newest; /* stored with release for those who read from outside */
    struct sample_live *unused;
    uint32_t site_count, live_count;
} sample_state = {.lock = LOCK_INITIAL(10)};

_Atomic uint8_t *sample_filter;

/* Weak: libcs but glibc have none. Then every caller is unknown. */
extern int backtrace(void **addresses, int most) WEAK;

/* Of libgcc; weak, as there are other unwinders. The first is for the frame of some code. */
extern const void *_Unwind_Find_FDE(void *code, void *bases) WEAK;
extern int _Unwind_Backtrace(int (*step)(void *context, void *walk), void *walk) WEAK;
extern uintptr_t _Unwind_GetIP(void *context) WEAK;

/* Of glibc from 2.35 on; its result is 13 words, the fourth of which is a link map. */
extern int sample_find_object(void *code, uintptr_t result[32]) __asm__("_dl_find_object") WEAK;
enum { OBJECT_MAP = 3 };

bool sample_configure(size_t rate) {
    sample_state.rate = rate;
    if (rate == 0)
        return true;
    sample_state.tables = metadata_new(sizeof(struct sample_tables));
    os_own_code(&sample_state.own_from, &sample_state.own_to);
    sample_filter = sample_state.tables ? sample_state.tables->filter : NULL;
    return sample_filter != NULL;
}

bool sample_is_prepared(void) {
    /* Acquire: what backtrace has loaded; pairs with sample_prepare. */
    return atomic_load_explicit(&sample_state.stage, memory_order_acquire) == SAMPLE_PREPARED;
}

/* The code of the library that unwinds. */
static int sample_find_unwinder(struct dl_phdr_info *info, size_t bytes UNUSED, void *unused UNUSED) {
    static const char name[] = "libgcc_s.so";
    const char *slash = strrchr(info->dlpi_name, '/');
    if (strncmp(slash ? slash + 1 : info->dlpi_name, name, sizeof name - 1) != 0)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        sample_state.unwinder_from = info->dlpi_addr + segment->p_vaddr;
        sample_state.unwinder_to = sample_state.unwinder_from + segment->p_memsz;
    }
    return 1;
}

/* A static program allocates before its first constructor, which says where frames are described: without that backtrace aborts. And
 * libc itself allocates for what finds them: when that is done libc learns the program's name. */
static bool sample_is_too_early(void) {
    void *bases[3], *here = (void *)((uintptr_t)&sample_find_unwinder + 1);
    if (!backtrace || !_Unwind_Find_FDE || os_has_linker())
        return false;
    return program_invocation_short_name[0] == '\0' || !_Unwind_Find_FDE(here, bases);
}

/* Copies the address of a function, a pointer to which is at `slot`. */
static bool sample_find_function(void *library, const char *name, void *slot) {
    void *found = dlsym(library, name);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

/* What backtrace itself may have been the first to load no weak reference sees. It stays loaded, as backtrace holds it. */
static void sample_find_steps(void) {
    sample_state.find_frame = _Unwind_Find_FDE;
    sample_state.walk = _Unwind_Backtrace;
    sample_state.address = _Unwind_GetIP;
    void *library = os_has_linker() ? dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (library && sample_find_function(library, "_Unwind_Find_FDE", &sample_state.find_frame) &&
        sample_find_function(library, "_Unwind_GetIP", &sample_state.address))
        sample_find_function(library, "_Unwind_Backtrace", &sample_state.walk);
}

/* Loads what it takes to unwind, and tries it. */
static void sample_load_unwinder(void) {
    int kept = errno;
    void *callers[2];
    sample_state.unwinds = backtrace && backtrace(callers, ARRAY_LENGTH(callers)) > 0;
    if (sample_state.unwinds) {
        dl_iterate_phdr(sample_find_unwinder, NULL);
        sample_find_steps();
    }
    errno = kept;
}

COLD void sample_prepare(void) {
    uint32_t unprepared = SAMPLE_UNPREPARED;
    if (!atomic_compare_exchange_strong_explicit(&sample_state.stage, &unprepared, SAMPLE_PREPARES,
                                                 memory_order_relaxed, memory_order_relaxed))
        return; /* also where what is called here allocates */
    bool early = sample_is_too_early();
    if (!early)
        sample_load_unwinder();
    atomic_store_explicit(&sample_state.stage, early ? SAMPLE_UNPREPARED : SAMPLE_PREPARED,
                          memory_order_release); /* pairs with sample_is_prepared */
}

/* Sizes that one site has: a quarter of an octave, so that all of them are scaled up by nearly the same. */
static uint32_t sample_size_class(size_t bytes) {
    if (bytes < STEPS)
        return (uint32_t)bytes;
    unsigned octave = 63 - (unsigned)__builtin_clzll(bytes);
    return octave * STEPS + (uint32_t)(bytes >> (octave - 2) & (STEPS - 1));
}

/* ---- who called ---- */

/* It allocates with its lock held, which it would wait for if it were asked from there. */
static bool sample_is_unwinder(uintptr_t caller) {
    return caller >= sample_state.unwinder_from && caller < sample_state.unwinder_to;
}

/* True for code that was made at run time and whose description has a function for exceptions: that may be all that is true of it.
 * LuaJIT's has its frames wherever they happen to be, and libgcc, which follows it, aborts the process. */
static bool sample_is_made_up(void *code) {
    uintptr_t bases[3];
    const uint32_t *frame =
        sample_state.find_frame(code, bases); /* its length, and how far back the common part is */
    return frame && strchr((const char *)(frame + 1) - frame[1] + 9, 'P') != NULL;
}

/* True in a library that cuts stacks in slices, Python's greenlet: it copies those of others away from where they were, and beneath
 * the slice that runs lies what happens to. libgcc follows it, and reads where there is nothing. */
static bool sample_cuts_stacks(const struct link_map *library) {
    static const char name[] = "_greenlet.";
    const char *slash = strrchr(library->l_name, '/');
    return strncmp(slash ? slash + 1 : library->l_name, name, sizeof name - 1) == 0;
}

/* True where the caller of this code must not be looked for. */
static bool sample_is_last(uintptr_t address) {
    uintptr_t object[32];
    void *code = (void *)(address - 1);
    if (sample_find_object(code, object) != 0)
        return sample_is_made_up(code);
    const struct link_map *library = (const struct link_map *)object[OBJECT_MAP];
    return library && sample_cuts_stacks(library);
}

struct sample_walk {
    void **found;
    int count, most;
};

/* Anything but 0 ends the walk, before the caller of this frame is looked for. */
static int sample_step(void *context, void *data) {
    struct sample_walk *walk = data;
    uintptr_t address = sample_state.address(context);
    if (address == 0 || walk->count == walk->most)
        return 1;
    walk->found[walk->count++] = (void *)address;
    return sample_is_last(address);
}

static int sample_backtrace(void **found, int most) {
    if (!sample_state.walk || !sample_state.address || !sample_state.find_frame || !sample_find_object)
        return backtrace(found, most);
    struct sample_walk walk = {found, 0, most};
    sample_state.walk(sample_step, &walk);
    return walk.count;
}

/* Returns how many: the innermost are not the library's own. */
static uint32_t sample_callers(uintptr_t caller, uintptr_t callers[SAMPLE_DEPTH]) {
    void *found[SAMPLE_DEPTH + OWN_CALLERS] = {(void *)caller};
    int kept = errno, first = 0, count = caller != 0;
    if (sample_state.unwinds && !sample_is_unwinder(caller))
        count = sample_backtrace(found, ARRAY_LENGTH(found));
    errno = kept;
    while (first < count && (uintptr_t)found[first] >= sample_state.own_from &&
           (uintptr_t)found[first] < sample_state.own_to)
        first++;
    uint32_t depth = 0;
    while (depth < SAMPLE_DEPTH && first < count)
        callers[depth++] = (uintptr_t)found[first++];
    return depth;
}

/* The finaliser of MurmurHash3 (Appleby), over all words. */
static uint64_t sample_mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 33;
}

static struct sample_live **sample_bucket(const void *block) {
    return &sample_state.tables->live[sample_mix(0, (uintptr_t)block >> 4) % LIVE_BUCKETS];
}

/* Where there is no room for more stacks, one site for each size goes on, without callers: sums stay true. */
static bool sample_has_room(uint32_t depth) {
    return depth == 0 || sample_state.site_count < SITES_MOST;
}

/* The site of these callers; made if there is none. NULL: there is no memory. Under the lock. */
static struct sample_site *sample_site(const uintptr_t *callers, uint32_t depth, uint32_t size_class) {
    uint64_t hash = sample_mix(size_class, depth);
    for (uint32_t i = 0; i < depth; i++)
        hash = sample_mix(hash, callers[i]);
    struct sample_site **bucket = &sample_state.tables->sites[hash % SITE_BUCKETS], *site;
    for (site = *bucket; site; site = site->next)
        if (site->depth == depth && site->size_class == size_class &&
            memcmp(site->callers, callers, depth * sizeof callers[0]) == 0)
            return site;
    site = sample_has_room(depth) ? metadata_new(sizeof *site + depth * sizeof callers[0]) : NULL;
    if (!site)
        return depth > 0 ? sample_site(callers, 0, size_class) : NULL;
    memcpy(site->callers, callers, depth * sizeof callers[0]);
    site->depth = depth;
    site->size_class = size_class;
    site->next = *bucket;
    *bucket = site;
    site->older = sample_state.newest;
    sample_state.site_count++;
    __atomic_store_n(&sample_state.newest, site, __ATOMIC_RELEASE); /* pairs with a reader outside */
    return site;
}

/* ---- which are live ---- */

/* Under the lock. */
static struct sample_live *sample_live_new(void) {
    if (!sample_state.unused && sample_state.live_count < LIVE_MOST) {
        struct sample_live *batch = metadata_new(LIVE_BATCH * sizeof *batch);
        for (unsigned i = 0; batch && i < LIVE_BATCH; i++) {
            batch[i].next = sample_state.unused;
            sample_state.unused = &batch[i];
        }
        sample_state.live_count += batch ? LIVE_BATCH : 0;
    }
    struct sample_live *live = sample_state.unused;
    if (live)
        sample_state.unused = live->next;
    return live;
}

/* Under the lock; relaxed, as sample_may_be_live. */
static void sample_count_filter(const void *block, int more) {
    _Atomic uint8_t *count = &sample_filter[sample_filter_of(block)];
    uint8_t now = atomic_load_explicit(count, memory_order_relaxed);
    if (now != FILTER_FULL)
        atomic_store_explicit(count, (uint8_t)(now + more), memory_order_relaxed);
}

/* Under the lock. */
static void sample_link(struct sample_live *live) {
    struct sample_live **bucket = sample_bucket((const void *)live->address);
    live->next = *bucket;
    *bucket = live;
    sample_count_filter((const void *)live->address, 1);
}

static void sample_note(const void *block, size_t bytes, const uintptr_t *callers, uint32_t depth) {
    lock_take(&sample_state.lock);
    struct sample_site *site = sample_site(callers, depth, sample_size_class(bytes));
    struct sample_live *live = site ? sample_live_new() : NULL;
    if (live) {
        *live = (struct sample_live){NULL, site, (uintptr_t)block, bytes};
        sample_link(live);
        site->taken++;
        site->taken_bytes += bytes;
        site->live++;
        site->live_bytes += bytes;
        ASSERT(P2, site->live <= site->taken);
    } else {
        sample_state.lost++; /* P3 */
    }
    lock_release(&sample_state.lock);
}

static NOINLINE COLD void sample_take(const void *block, size_t bytes, const void *caller) {
    uintptr_t callers[SAMPLE_DEPTH];
    uint32_t depth = sample_callers((uintptr_t)caller, callers);
    sample_note(block, bytes, callers, depth);
}

void sample_took(struct poisson *clock, const void *block, size_t bytes, const void *caller) {
    if (sample_filter && sample_is_prepared() && poisson_is_due(clock, sample_state.rate, bytes))
        sample_take(block, bytes, caller);
}

/* Out of its chain, and out of the filter; NULL: it was not noted, or is set aside. Under the lock. */
static struct sample_live *sample_unlink(const void *block) {
    struct sample_live **place = sample_bucket(block), *live;
    while ((live = *place) != NULL && live->address != (uintptr_t)block)
        place = &live->next;
    if (!live)
        return NULL;
    *place = live->next;
    sample_count_filter(block, -1);
    return live;
}

/* Under the lock. */
static void sample_drop(struct sample_live *live) {
    ASSERT(P1, live->site->live > 0 && live->site->live_bytes >= live->bytes);
    live->site->live--;
    live->site->live_bytes -= live->bytes;
    live->next = sample_state.unused;
    sample_state.unused = live;
}

static COLD void sample_forget(const void *block) {
    lock_take(&sample_state.lock);
    struct sample_live *live = sample_unlink(block);
    if (live)
        sample_drop(live);
    lock_release(&sample_state.lock);
}

void sample_gone(const void *block) {
    if (sample_filter && UNLIKELY(sample_may_be_live(block)))
        sample_forget(block);
}

struct sample_live *sample_set_aside(const void *block) {
    if (!sample_filter || !sample_may_be_live(block))
        return NULL;
    lock_take(&sample_state.lock);
    struct sample_live *live = sample_unlink(block);
    lock_release(&sample_state.lock);
    return live;
}

void sample_settle(struct sample_live *live, bool gone) {
    if (!live)
        return;
    lock_take(&sample_state.lock);
    if (gone)
        sample_drop(live);
    else
        sample_link(live);
    lock_release(&sample_state.lock);
}

void sample_lock(bool take) {
    if (take)
        lock_take(&sample_state.lock);
    else
        lock_release(&sample_state.lock);
}
