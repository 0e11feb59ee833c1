// A log-structured store, as LevelDB and RocksDB are: what is put lies in a table of single nodes until that is full; then all of it is written to a
// buffer that grows, with an index of what its blocks begin with, and the nodes are freed. Each fourth time four files are merged: their buffers are
// read, and a new one is written. Beside it, a cache of blocks that were read.
#include "application.h"

#include <stdlib.h>

enum { ROUNDS = 16, MERGED = 4, READ_EACH = 16, INDEXED_EACH = 24, FILES = ROUNDS, INDEX_MOST = 64 };

struct store {
    struct work *work;
    uint64_t shortest, longest, block, table_bytes; // nodes; blocks of files; a table
    size_t nodes, indexed, cached;                  // most of each
    void **node, **cache, **index[FILES];
};

// Fills the table; returns how many nodes it has.
static size_t fill(struct store *store) {
    uint64_t filled = 0;
    size_t count = 0;
    while (filled < store->table_bytes && count < store->nodes) {
        uint64_t size = between_doublings(store->work, store->shortest, store->longest);
        store->node[count++] = work_new(size);
        filled += size;
        if (count % READ_EACH == 0) {
            void **place = &store->cache[below(&store->work->state, store->cached)];
            free(*place);
            *place = work_new(between(store->work, store->block / 2, store->block));
        }
    }
    return count;
}

static void flush(struct store *store, size_t count, unsigned file) {
    struct grown buffer = {0};
    store->index[file] = work_table(store->indexed);
    for (size_t i = 0; i < count; i++) {
        grown_append(&buffer, store->shortest);
        if (i % INDEXED_EACH == 0)
            store->index[file][i / INDEXED_EACH] = work_new(between(store->work, 16, INDEX_MOST));
    }
    for (size_t i = 0; i < count; i++)
        free(store->node[i]);
    grown_end(&buffer);
}

static void merge(struct store *store, unsigned last) {
    void *read[MERGED];
    struct grown written = {0};
    for (unsigned i = 0; i < MERGED; i++)
        read[i] = work_new(store->table_bytes / 4);
    for (uint64_t done = 0; done < store->table_bytes; done += store->block)
        grown_append(&written, store->block);
    for (unsigned i = 0; i < MERGED; i++) {
        free(read[i]);
        work_table_end(store->index[last - i], store->indexed);
    }
    grown_end(&written);
}

void application_store(struct work *work) {
    struct store store = {.work = work,
                          .shortest = between_doublings(work, 24, 400),
                          .block = between_doublings(work, 2000, 40000),
                          .table_bytes = work->bytes / 3};
    store.longest = between_doublings(work, store.shortest + 1, 4000);
    store.nodes = store.table_bytes / store.shortest + 1;
    store.indexed = store.nodes / INDEXED_EACH + 1;
    store.cached = work->bytes / 3 / store.block + 1;
    store.node = work_table(store.nodes);
    store.cache = work_table(store.cached);
    for (unsigned round = 0; round < ROUNDS; round++) {
        flush(&store, fill(&store), round);
        if (round % MERGED == MERGED - 1)
            merge(&store, round);
    }
    work_table_end(store.cache, store.cached);
    free(store.node);
}
