/* metadata: see metadata.h. A chunk is handed out from its low end; what a request leaves over in the old
 * chunk when a new one begins is lost, at most one record. */
#include "base.h"
#include "boxes.h"
#include "os.h"
#include "lock.h"
#include "metadata.h"

#define METADATA_FIRST (64 * KIB)
/* Large heaps need few chunks; small ones never come near. */
#define METADATA_LARGEST (4 * MIB)
#define METADATA_WIDE 256

struct lock metadata_lock = LOCK_INITIAL(3);

/* All zero at first, so that it costs the library's file nothing. */
FIRST_RECORDS static struct {
    unsigned char *at; /* first byte that is not handed out; NULL before the first call */
    unsigned char *end;
    size_t next_chunk; /* bytes */
    uint64_t bytes;
    ALIGNED(METADATA_WIDE) unsigned char first[METADATA_FIRST];
} metadata_state;

static void metadata_start(void) {
    metadata_state.at = metadata_state.first;
    metadata_state.end = metadata_state.first + METADATA_FIRST;
    metadata_state.next_chunk = 2 * METADATA_FIRST;
}

/* Starts a chunk that holds `bytes`; when the system has no room for a generous one, one that just fits. */
static bool metadata_grow(size_t bytes) {
    size_t least = align_up(bytes, METADATA_FIRST);
    size_t chunk = metadata_state.next_chunk > least ? metadata_state.next_chunk : least;
    unsigned char *base = os_map(chunk, NULL);
    if (base == NULL && chunk > least) {
        chunk = least;
        base = os_map(chunk, NULL);
    }
    if (base == NULL)
        return false;
    os_name(base, chunk, OS_RECORDS);
    metadata_state.at = base;
    metadata_state.end = base + chunk;
    if (metadata_state.next_chunk < METADATA_LARGEST)
        metadata_state.next_chunk *= 2;
    return true;
}

/* Cuts `bytes` from the chunk, NULL when it is too short; the caller holds the lock. */
static void *metadata_cut(size_t bytes, size_t alignment) {
    size_t padding = align_up((uintptr_t)metadata_state.at, alignment) - (uintptr_t)metadata_state.at;
    size_t left = (size_t)(metadata_state.end - metadata_state.at);
    if (padding > left || bytes > left - padding)
        return NULL;
    void *record = metadata_state.at + padding;
    metadata_state.at += padding + bytes;
    metadata_state.bytes += padding + bytes;
    ASSERT(P1, align_down((uintptr_t)record, alignment) == (uintptr_t)record);
    return record;
}

void *metadata_new(size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        return NULL;
    size_t alignment = bytes % METADATA_WIDE == 0 ? METADATA_WIDE : CACHE_LINE;
    bytes = align_up(bytes, CACHE_LINE);
    lock_take(&metadata_lock);
    if (metadata_state.at == NULL)
        metadata_start();
    void *record = metadata_cut(bytes, alignment);
    if (record == NULL && metadata_grow(bytes))
        record = metadata_cut(bytes, alignment);
    lock_release(&metadata_lock);
    return record;
}

uint64_t metadata_bytes(void) {
    lock_take(&metadata_lock);
    uint64_t bytes = metadata_state.bytes;
    lock_release(&metadata_lock);
    return bytes;
}
