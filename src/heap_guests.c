/* Guests: blocks of others that a heap keeps for its own next mallocs, where many threads share few CPUs. While a thread waits for a CPU
 * the others free what it has allocated, and while it runs it needs as much anew: each heap would grow to what its thread allocates
 * in one turn. docs/experiments/guests.md */
#include "heap_parts.h"

#include "os.h"

enum {
    CROWD_LEAST = 4,   /* heaps in use; as many with one CPU are a crowd */
    CROWD_EACH = 2,    /* heaps to a CPU, and one for a thread that waits for the others */
    CARVED_LOOK = 128, /* blocks from one look to the next, at least */
    SUITED_LEAST = 2,  /* looks in a row */
    CPUS_WORDS = 16    /* CPUs from 1,024 on count as those from 0 on */
};

/* On which CPUs heaps have grown while there were several. Not how many the process may use: that would be a system call in a malloc,
 * and a thread that is bound to one CPU would hear of that one only. Relaxed, all of it: a guess. */
static struct {
    uint64_t seen[CPUS_WORDS];
    uint32_t count;
} heap_cpus;

static void heap_see_cpu(void) {
    int cpu = os_cpu();
    uint64_t *word = &heap_cpus.seen[(unsigned)cpu / 64 % CPUS_WORDS], bit = 1ULL << (unsigned)cpu % 64;
    if (cpu < 0 || __atomic_load_n(word, __ATOMIC_RELAXED) & bit)
        return;
    if (!(__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_add(&heap_cpus.count, 1, __ATOMIC_RELAXED);
}

static bool heap_is_in_crowd(void) {
    unsigned in_use = heap_in_use(), cpus = __atomic_load_n(&heap_cpus.count, __ATOMIC_RELAXED);
    return cpus > 0 && in_use >= CROWD_LEAST && in_use > CROWD_EACH * cpus + 1;
}

static void heap_set_hosting(struct heap *heap, bool hosts) {
    heap->hosted |= hosts;
    heap->posting = hosts ? NULL : heap->outbox;
    heap->suited = 0;
}

/* Blocks of others that were freed since the last look; they begin anew together with those that were carved. */
static uint64_t heap_passed_on(struct heap *heap) {
    uint64_t passed = heap->remote_frees + (heap->outbox ? heap->outbox->count : 0) + heap->kept,
             since = passed - heap->passed_before;
    heap->passed_before = passed;
    heap->carved = 0;
    return since;
}

/* As many blocks of others are freed as are carved anew, more or less: those would do. Not so where few are freed, nor where a heap lives
 * on what comes back from others and hardly grows. */
static bool heap_would_do_with_guests(struct heap *heap) {
    uint64_t carved = heap->carved;
    if (carved < CARVED_LOOK)
        return false;
    uint64_t passed = heap_passed_on(heap);
    bool suits = 2 * passed >= carved && 2 * passed <= 3 * carved;
    heap->suited = suits ? (uint8_t)(heap->suited + 1) : 0;
    return heap->suited >= SUITED_LEAST;
}

void heap_look_for_guests(struct heap *heap) {
    if (has(verify_free) || heap_in_use() < 2)
        return;
    heap_see_cpu();
    if (heap->posting && heap_is_in_crowd() && heap_would_do_with_guests(heap))
        heap_set_hosting(heap, true);
}

void heap_look_as_host(struct heap *heap) {
    uint64_t carved = heap->carved;
    bool in_vain = carved >= CARVED_LOOK && 2 * heap_passed_on(heap) < carved;
    if (in_vain || !heap_is_in_crowd())
        heap_set_hosting(heap, false);
}

void heap_end_hosting(struct heap *heap) {
    heap_set_hosting(heap, false);
    heap->hosted = false;
    heap_passed_on(heap);
}

bool heap_let_guests_go(struct heap *heap, unsigned class) {
    if (LIKELY(!heap->hosted))
        return false;
    struct heap_class *mine = &heap->class[class];
    void **top = (void **)heap->top[class], **stays = &mine->array[mine->sentinel];
    for (void **block = stays + 1; block <= top; block++) {
        if (pagemap_tag(*block) == (heap->tag | class))
            *++stays = *block;
        else if (heap_post(heap, class, *block))
            heap_send(heap);
    }
    heap->top[class] = (unsigned char *)stays;
    return stays < top;
}
