/* Unit tests of heap: slabs that are lent, and visits. */
#include "heap_elsewhere.h"
#include "no_large.h"

/* A block that two threads free: when its slab is empty it is still on its way to the owner, and must not be
 * given to somebody else. */
static void heap_deletes_no_slab_that_is_on_its_way(void **state) {
    (void)state;
    struct heap *heap = heap_take();
    const unsigned class = SIZECLASS_COUNT - 1, blocks = sizeclass_table[class].blocks;
    heap->class[class].units = sizeclass_table[class].units; /* the first one as large as the others */
    take_blocks(heap, class, 2 * blocks);
    void *twice = live[blocks].block;
    struct slab *slab = pagemap_record(twice);
    assert_int_equal(remote_free(slab, twice), SLAB_OK);
    for (unsigned i = 0; i < live_count; i++)
        heap_flush(heap, class, &live[i].block, 1);
    live_count = 0;
    assert_ptr_equal(pagemap_record(twice), slab);
    assert_int_equal(slab->free, blocks);
    heap_drain(heap);
    heap_drain(heap);
    assert_int_equal(pagemap_tag(twice), PAGEMAP_NONE);
    assert_false(remote_waits(&heap->inbox));
    heap_retire(heap);
    walk();
}

/* What others have freed of a heap whose thread does nothing goes to its slabs, and those that are empty serve others. */
static void heap_is_collected_for(void **state) {
    (void)state;
    const unsigned class = sizeclass_of(1024);
    size_t dirty = superslab_dirty_bytes();
    struct heap *heap = heap_take();
    take_blocks(heap, class, LIVE);
    heap_drain(heap);
    assert_false(heap_collect_for(heap)); /* nothing waits */
    while (live_count > 0) {
        void *block = live[--live_count].block;
        assert_int_equal(remote_free(pagemap_record(block), block), SLAB_OK);
    }
    assert_true(remote_waits(&heap->inbox));
    for (unsigned visits = 0; heap_collect_for(heap); visits++)
        assert_in_range(visits, 0, 100);
    assert_false(remote_waits(&heap->inbox));
    assert_int_equal(heap->class[class].out, 0);
    assert_in_range(superslab_dirty_bytes(), dirty + LIVE / 2 * 1024, SIZE_MAX);
    heap_retire(heap);
    walk();
}

enum { LENT_CLASS = SIZECLASS_USUAL + 3, LENT_EACH = 32 }; /* of 2,048 bytes, plain */

/* Takes two slabs. Of the first nothing is in use; of the second, which is lent, the two blocks in live[]; freed[] were. */
static struct slab *two_slabs_one_lent(struct heap *heap, void **freed) {
    heap->class[LENT_CLASS].units = sizeclass_table[LENT_CLASS].units;
    for (unsigned i = 0; i < 2 * LENT_EACH - 2; i++)
        freed[i] = take_raw(heap, LENT_CLASS);
    take_block(heap, LENT_CLASS);
    take_block(heap, LENT_CLASS);
    struct slab *slab = pagemap_record(live[1].block);
    assert_ptr_equal(pagemap_record(freed[2 * LENT_EACH - 3]), slab);
    heap_drain(heap);
    heap_flush(heap, LENT_CLASS, freed, 2 * LENT_EACH - 2);
    assert_int_equal(slab->free, LENT_EACH - 2);
    heap_lend(&heap->class[LENT_CLASS], slab);
    return slab;
}

/* A block is freed a second time while the pages of the free ones around it go home: that is noticed, and nobody is given a block
 * of the slab, empty or not, until it is back. */
static void heap_P2_a_lent_slab_gives_nothing_and_takes_all(void **state) {
    (void)state;
    void *freed[2 * LENT_EACH - 2], **twice = freed + 2 * LENT_EACH - 6;
    struct heap *heap = heap_take();
    struct heap_class *class = &heap->class[LENT_CLASS];
    struct slab *slab = two_slabs_one_lent(heap, freed);
    heard_count = 0;
    heap_flush(heap, LENT_CLASS, twice, 4);
    assert_int_equal(heard_count, 4);
    for (unsigned i = 0; i < heard_count; i++)
        assert_int_equal(heard[i].kind, MISUSE_DOUBLE_FREE);
    assert_int_equal(remote_free(slab, *twice), SLAB_DOUBLE_FREE);
    for (unsigned i = 0; i <= LENT_EACH; i++) {
        take_block(heap, LENT_CLASS);
        assert_ptr_not_equal(pagemap_record(live[live_count - 1].block), slab);
    }
    give_all(heap);
    heap_drain(heap);
    assert_true(slab_is_empty(slab));
    assert_ptr_not_equal(class->empty, slab);
    assert_ptr_equal(pagemap_record(*twice), slab);
    remote_return(slab);
    heap_drain(heap);
    assert_int_equal(pagemap_tag(*twice), PAGEMAP_NONE);
    assert_int_equal(class->out, 0);
    heap_retire(heap);
    walk();
}

/* Also one that others freed blocks of meanwhile, so that it came into the inbox before it was back. */
static void heap_files_a_slab_that_is_back(void **state) {
    (void)state;
    for (int freed_elsewhere = 0; freed_elsewhere < 2; freed_elsewhere++) {
        void *freed[2 * LENT_EACH - 2];
        struct heap *heap = heap_take();
        struct slab *slab = two_slabs_one_lent(heap, freed);
        if (freed_elsewhere)
            assert_int_equal(remote_free(slab, live[--live_count].block), SLAB_OK);
        heap_collect_class(heap, LENT_CLASS);
        assert_int_equal(slab->bin, HEAP_LENT);
        assert_int_equal(slab->free, LENT_EACH - 2 + freed_elsewhere);
        remote_return(slab);
        assert_true(remote_is_on_its_way(slab));
        heap_collect_class(heap, LENT_CLASS);
        assert_false(remote_is_on_its_way(slab));
        assert_int_equal(slab->bin, bin_of(slab));
        walk();
        give_all(heap);
        heap_retire(heap);
    }
}

/* What was never carved of a slab is handed out when it is back, unless another one is carved from meanwhile. */
static void heap_carves_on_from_a_slab_that_is_back(void **state) {
    (void)state;
    for (int another = 0; another < 2; another++) {
        struct heap *heap = heap_take();
        struct heap_class *class = &heap->class[LENT_CLASS];
        take_block(heap, LENT_CLASS);
        struct slab *slab = class->carving, *meanwhile = NULL;
        assert_true(slab_fresh(slab) > 0);
        heap_drain(heap);
        heap_lend(class, slab);
        assert_null(class->carving);
        if (another) {
            take_block(heap, LENT_CLASS);
            meanwhile = class->carving;
            assert_ptr_not_equal(meanwhile, slab);
        }
        remote_return(slab);
        heap_collect_class(heap, LENT_CLASS);
        assert_ptr_equal(class->carving, another ? meanwhile : slab);
        walk();
        give_all(heap);
        heap_retire(heap);
    }
}

/* A slab of sixteen blocks of a page, all written; of every second one of the first `freed`, which are free, live[] knows as ever. */
static struct slab *slab_of_pages(struct heap *heap, unsigned class, unsigned freed) {
    for (unsigned i = 0; i < 16; i++) {
        take_block(heap, class);
        *(char *)live[i].block = 1;
    }
    heap_drain(heap);
    for (unsigned i = 0; i < freed; i += 2)
        heap_flush(heap, class, &live[i].block, 1);
    assert_ptr_equal(pagemap_record(live[0].block), pagemap_record(live[15].block));
    return pagemap_record(live[0].block);
}

/* Frees the others, and the slab is no more. */
static void end_slab_of_pages(struct heap *heap, unsigned class, unsigned freed) {
    for (unsigned i = 0; i < 16; i++)
        if (i >= freed || i % 2 != 0)
            heap_flush(heap, class, &live[i].block, 1);
    heap_drain(heap);
    live_count = 0;
}

/* Looks with `budget` pieces of advice (0: as many as it takes). */
static enum heap_tidied look_within(struct heap *heap, unsigned budget) {
    size_t purged = 0;
    limit.budget = budget;
    atomic_store(&limit.spent, 0);
    enum heap_tidied result = heap_tidy(heap, true, &purged);
    limit.budget = 0;
    return result;
}

/* A visit that does not get through a slab says nothing of the next one that has its record. */
static void heap_tidies_the_next_slab_of_a_record_from_its_begin(void **state) {
    (void)state;
    const unsigned class = sizeclass_aligned(4096, 4096);
    struct heap *heap = heap_take();
    heap_move_in(heap);
    struct slab *slab = slab_of_pages(heap, class, 12);
    look_within(heap, 3);
    assert_ptr_equal(heap->tidied_partly, slab);
    end_slab_of_pages(heap, class, 12);
    assert_int_equal(pagemap_tag(slab->start), PAGEMAP_NONE);
    assert_ptr_equal(slab_of_pages(heap, class, 12), slab);
    while (look_within(heap, 0) != HEAP_TIDY)
        continue;
    for (unsigned i = 0; i < 12; i += 2)
        assert_int_equal(*(char *)live[i].block, 0);
    end_slab_of_pages(heap, class, 12);
    heap_retire(heap_move_out());
    walk();
}

/* Others free a block of a slab each second: a visitor that has one piece of advice a second gets to its end all the same, and then to
 * what was freed before the place where it was. */
static void heap_tidies_on_while_others_free(void **state) {
    (void)state;
    const unsigned class = sizeclass_aligned(4096, 4096), freed = 8;
    struct heap *heap = heap_take();
    heap_move_in(heap);
    struct slab *slab = slab_of_pages(heap, class, freed);
    unsigned seconds = 0;
    for (; seconds < freed / 2; seconds++) {
        look_within(heap, 1);
        assert_int_equal(*(char *)live[2 * seconds].block, 0);
        assert_int_equal(remote_free(slab, live[2 * seconds + 1].block), SLAB_OK);
    }
    while (look_within(heap, 1) != HEAP_TIDY)
        assert_true(seconds++ < 20);
    for (unsigned i = 0; i < freed; i++)
        assert_int_equal(*(char *)live[i].block, 0);
    for (unsigned i = freed; i < 16; i++)
        heap_flush(heap, class, &live[i].block, 1);
    live_count = 0;
    heap_retire(heap_move_out());
    walk();
}

enum { TIDIED = 256 };

/* Those of live[] that are marked. */
static unsigned marked(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < TIDIED; i++)
        count += *(char *)live[i].block;
    return count;
}

/* Slabs with many runs of free pages, and a visitor with `budget` pieces of advice a second (0: as many as it takes). Meanwhile one
 * more block is freed, here or elsewhere. Returns how many looks it took. */
static unsigned tidy_within(unsigned budget, bool elsewhere) {
    const unsigned class = sizeclass_aligned(4096, 4096);
    struct heap *heap = heap_take();
    heap_move_in(heap); /* looks after itself */
    for (unsigned i = 0; i < TIDIED; i++) {
        take_block(heap, class);
        *(char *)live[i].block = 1;
    }
    heap_drain(heap);
    for (unsigned i = 0; i < TIDIED; i += 2)
        heap_flush(heap, class, &live[i].block, 1);
    unsigned looks = 0, freed = TIDIED / 2,
             early = TIDIED - 1; /* the first one in use of the slab that is tidied first */
    while (pagemap_record(live[early - 2].block) == pagemap_record(live[TIDIED - 1].block))
        early -= 2;
    limit.budget = budget;
    for (size_t purged = 0; heap_tidy(heap, false, &purged) != HEAP_TIDY; looks++) {
        assert_true(looks < TIDIED);
        atomic_store(&limit.spent, 0); /* a second later */
        if (looks == 4) {              /* before the place that it has come to */
            if (elsewhere)
                assert_int_equal(remote_free(pagemap_record(live[early].block), live[early].block), SLAB_OK);
            else
                heap_flush(heap, class, &live[early].block, 1);
            freed++;
        }
    }
    limit.budget = 0;
    assert_int_equal(marked(), TIDIED - freed);
    for (unsigned i = 1; i < TIDIED; i += 2)
        if (i != early || freed == TIDIED / 2)
            heap_flush(heap, class, &live[i].block, 1);
    heap_retire(heap_move_out());
    for (unsigned i = 0; i < TIDIED; i++)
        assert_int_equal(pagemap_tag(live[i].block), PAGEMAP_NONE);
    live_count = 0;
    return looks;
}

/* With one piece a second, too, it gets to the end: no visit begins with the first pages of a slab again, unless something has
 * changed there. */
static void heap_tidies_whatever_the_budget(void **state) {
    (void)state;
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        assert_in_range(tidy_within(1, elsewhere), TIDIED / 2, TIDIED - 1);
        assert_in_range(tidy_within(0, elsewhere), 3, 8);
    }
}

/* What stands in the inbox behind a slab that was adopted meanwhile is collected, too. */
static void heap_collects_what_stands_behind_one_that_was_adopted(void **state) {
    (void)state;
    enum { CLASS = SIZECLASS_COUNT - 1, SLAB_BLOCKS = 8 };
    struct heap *one = heap_take(), *two = heap_take();
    one->class[CLASS].units = sizeclass_table[CLASS].units;
    for (unsigned i = 0; i < 2 * SLAB_BLOCKS; i++)
        take_block(one, CLASS);
    struct slab *behind = pagemap_record(live[0].block), *adopted = pagemap_record(live[SLAB_BLOCKS].block);
    assert_ptr_not_equal(behind, adopted);
    assert_int_equal(remote_free(behind, live[0].block), SLAB_OK);
    assert_int_equal(remote_free(adopted, live[SLAB_BLOCKS].block), SLAB_OK);
    one->class[CLASS].carving = NULL;
    heap_hand_over(&one->class[CLASS], &two -> class[CLASS], adopted);
    slab_change_owner(adopted, &two->inbox, two->tag | CLASS);
    heap_collect(one);
    assert_int_equal(behind->free, 1);
    heap_collect(two);
    assert_int_equal(adopted->free, 1);
    for (unsigned i = 0; i < 2 * SLAB_BLOCKS; i++)
        if (i % SLAB_BLOCKS != 0)
            heap_flush(i < SLAB_BLOCKS ? one : two, CLASS, &live[i].block, 1);
    live_count = 0;
    heap_retire(two);
    heap_retire(one);
    walk();
}

/* ---- visits ---- */

/* No empty slab is kept while it is lent. */
static void heap_keeps_no_slab_that_is_lent(void **state) {
    (void)state;
    struct heap *heap = heap_take();
    struct heap_class *class = &heap->class[LENT_CLASS];
    take_block(heap, LENT_CLASS);
    struct slab *slab = pagemap_record(live[--live_count].block);
    heap_flush_all(heap, LENT_CLASS);
    heap_rewind(heap, LENT_CLASS, class->sentinel);
    heap_flush(heap, LENT_CLASS, &live[0].block, 1);
    assert_ptr_equal(class->empty, slab);
    heap_lend(class, slab);
    assert_null(class->empty);
    remote_return(slab);
    heap_collect_class(heap, LENT_CLASS);
    assert_ptr_equal(class->empty, slab);
    heap_retire(heap);
    walk();
}

enum { VISIT_CLASS = SIZECLASS_COUNT - 1, VISIT_EACH = 8 }; /* each block has pages of its own */

/* Takes `slabs` slabs into live[], writes to all their blocks, and frees every second one of each, `freed` together. */
static struct heap *heap_to_visit(unsigned slabs, unsigned freed) {
    struct heap *heap = heap_take();
    heap->class[VISIT_CLASS].units = sizeclass_table[VISIT_CLASS].units;
    unsigned from = live_count;
    while (live_count < from + slabs * VISIT_EACH)
        take_block(heap, VISIT_CLASS);
    heap_drain(heap);
    for (unsigned i = 0; i < slabs * VISIT_EACH; i++) {
        *(char *)live[from + i].block = 1;
        if (i % 2 == 0 && i % VISIT_EACH / 2 < freed)
            heap_flush(heap, VISIT_CLASS, &live[from + i].block, 1);
    }
    return heap;
}

/* Frees the other blocks of live[], from the first one on. */
static void end_visit(struct heap *heap, unsigned first, unsigned slabs, unsigned freed) {
    for (unsigned i = first; i < first + slabs * VISIT_EACH; i++)
        if (i % 2 != 0 || i % VISIT_EACH / 2 >= freed)
            heap_flush(heap, VISIT_CLASS, &live[i].block, 1);
    heap_retire(heap);
}

/* The heap's thread looks once, or until nothing is left. Returns the bytes that went home. */
static size_t look(struct heap *heap, enum heap_tidied *result) {
    size_t purged = 0;
    heap_move_in(heap);
    *result = heap_tidy(heap, true, &purged);
    heap_move_out();
    return purged;
}

static size_t look_on(struct heap *heap) {
    enum heap_tidied result;
    size_t purged = look(heap, &result);
    for (unsigned looks = 0; result != HEAP_TIDY; looks++) {
        assert_true(looks < 20);
        purged += look(heap, &result);
    }
    return purged;
}

static size_t visited_bytes(unsigned blocks) {
    return blocks * (size_t)sizeclass_table[VISIT_CLASS].size;
}

/* One visit looks at 256 slabs, the next one at those behind them. */
static void heap_visit_looks_at_a_bounded_number_of_slabs(void **state) {
    (void)state;
    enum { VISITED = 300 };
    enum heap_tidied result;
    struct heap *heap = heap_to_visit(VISITED, 0);
    for (unsigned i = 0; i < live_count; i += VISIT_EACH)
        heap_flush(heap, VISIT_CLASS, &live[i].block, 1);
    for (struct slab *slab = heap->class[VISIT_CLASS].bin[0]; slab; slab = slab->next) {
        slab->purged_changes = slab->changes;
        slab->purged_free = slab->free;
    }
    look(heap, &result);
    assert_int_equal(result, HEAP_MORE);
    look(heap, &result);
    assert_int_equal(result, HEAP_TIDY);
    end_visit(heap, 0, VISITED, 1);
    live_count = 0;
    walk();
}

/* The heap's thread looks as the janitor does, until nothing is left. */
static size_t look_calmly(struct heap *heap) {
    size_t purged = 0;
    heap_move_in(heap);
    for (unsigned looks = 0; heap_tidy(heap, false, &purged) != HEAP_TIDY; looks++)
        assert_true(looks < 20);
    heap_move_out();
    return purged;
}

/* A look splits no huge page for less than half of a slab; who wants all at once gets it. */
static void heap_visit_leaves_huge_pages_whole(void **state) {
    (void)state;
    superslab_unmap_free();
    superslab_configure(0, true, false);
    struct heap *heap = heap_to_visit(1, 3);
    struct slab *slab = pagemap_record(live[1].block);
    assert_true(slab->home->huge);
    assert_int_equal(look_calmly(heap), 0);
    assert_int_equal(look_calmly(heap), 0);
    assert_int_equal(look_on(heap), visited_bytes(3));
    end_visit(heap, 0, 1, 3);
    live_count = 0;
    superslab_unmap_free();
    heap = heap_to_visit(1, 3);
    assert_int_equal(look_calmly(heap), 0);
    slab = pagemap_record(live[1].block);
    assert_int_equal(slab->purged_changes, slab->changes); /* not looked at again */
    heap_flush(heap, VISIT_CLASS, &live[6].block, 1);
    slab->purged_changes = slab->changes; /* as if it had come round */
    assert_int_equal(look_calmly(heap), visited_bytes(4));
    end_visit(heap, 0, 1, 4);
    live_count = 0;
    superslab_configure(SIZE_MAX, true, false);
    walk();
}

/* However much others have freed, a visit collects a bounded part of it, and leaves the slabs to the next one. */
static void heap_visit_collects_a_bounded_part(void **state) {
    (void)state;
    enum { SLABS_USED = 12, ALL_WORDS = SLABS_USED * SMALLEST_EACH / 64 };
    static void *blocks[SLABS_USED * SMALLEST_EACH];
    enum heap_tidied result;
    struct heap *heap = heap_freed_elsewhere(blocks, SLABS_USED);
    heap->tidied_class = 1;
    assert_int_equal(look(heap, &result), 0);
    assert_int_equal(result, HEAP_MORE);
    assert_int_equal(heap->tidied_class, 1);
    assert_in_range(ALL_WORDS - words_waiting(blocks, SLABS_USED), HEAP_COLLECT_WORDS,
                    2 * (HEAP_COLLECT_WORDS + 64));
    look_on(heap);
    heap_retire(heap);
    walk();
}

/* Without a budget there is no visit, and nobody asks again at once. */
static void heap_without_budget_is_not_visited(void **state) {
    (void)state;
    enum heap_tidied result;
    struct heap *heap = heap_to_visit(1, 4);
    limit.budget = 1;
    atomic_store(&limit.spent, (1ULL << 62) + 1); /* a second that is not over soon */
    assert_int_equal(look(heap, &result), 0);
    assert_int_equal(result, HEAP_UNSETTLED);
    limit.budget = 0;
    assert_int_equal(look_on(heap), visited_bytes(4));
    end_visit(heap, 0, 1, 4);
    live_count = 0;
}

/* What the kernel would not take has not gone home: a janitor that counts it would never rest. */
static void heap_counts_what_went_home(void **state) {
    (void)state;
    struct heap *heap = heap_to_visit(1, 4);
    kernel.advise.refuse = ALWAYS;
    assert_int_equal(look_on(heap), 0);
    kernel.advise.refuse = 0;
    end_visit(heap, 0, 1, 4);
    live_count = 0;
}

/* A heap that others have freed blocks of has something to do. */
static void heap_with_an_inbox_is_not_tidy(void **state) {
    (void)state;
    struct heap *heap = heap_to_visit(1, 2);
    look_on(heap);
    assert_true(heap_is_tidy(heap));
    assert_int_equal(remote_free(pagemap_record(live[4].block), live[4].block), SLAB_OK);
    assert_false(heap_is_tidy(heap));
    assert_int_equal(look_on(heap), visited_bytes(2) + visited_bytes(1)); /* the slab as a whole */
    assert_true(heap_is_tidy(heap));
    end_visit(heap, 0, 1, 3);
    live_count = 0;
}

/* Nor is one that has collected them itself, because it needed a slab of another class. */
static void heap_that_collects_is_not_tidy(void **state) {
    (void)state;
    struct heap *heap = heap_to_visit(1, 0);
    look_on(heap);
    assert_true(heap_is_tidy(heap));
    for (unsigned i = 0; i < VISIT_EACH; i += 2)
        assert_int_equal(remote_free(pagemap_record(live[i].block), live[i].block), SLAB_OK);
    void *block = take_raw(heap, LENT_CLASS);
    assert_false(remote_waits(&heap->inbox));
    assert_false(heap_is_tidy(heap));
    heap_flush(heap, LENT_CLASS, &block, 1);
    assert_int_equal(look_on(heap), visited_bytes(4));
    end_visit(heap, 0, 1, 4);
    live_count = 0;
    walk();
}

/* A visitor lets an empty slab go, also the one that was kept; but not one that another visitor has hardly put down. */
static void heap_visitor_lets_empty_slabs_go(void **state) {
    (void)state;
    for (int on_its_way = 0; on_its_way < 2; on_its_way++) {
        enum heap_tidied result;
        struct heap *heap = heap_to_visit(1, 4);
        struct slab *slab = pagemap_record(live[0].block);
        for (unsigned i = 1; i < VISIT_EACH; i += 2)
            heap_flush(heap, VISIT_CLASS, &live[i].block, 1);
        assert_ptr_equal(heap->class[VISIT_CLASS].empty, slab);
        slab->lent = on_its_way ? SLAB_RETURNED : SLAB_HELD;
        look(heap, &result);
        assert_ptr_equal(pagemap_record(live[0].block), on_its_way ? slab : NULL);
        live_count = 0;
        heap_retire(heap);
        walk();
    }
}

/* Nor does the heap's own thread. */
static void heap_lets_no_slab_go_that_is_hardly_back(void **state) {
    (void)state;
    for (int drains = 0; drains < 2; drains++) {
        struct heap *heap = heap_take();
        struct heap_class *class = &heap->class[LENT_CLASS];
        take_block(heap, LENT_CLASS);
        struct slab *slab = pagemap_record(live[--live_count].block);
        heap_drain_class(heap, LENT_CLASS);
        heap_flush(heap, LENT_CLASS, &live[0].block, 1);
        assert_ptr_equal(class->empty, slab);
        for (int back = 0; back < 2; back++) {
            slab->lent = back ? SLAB_HELD : SLAB_RETURNED;
            if (drains)
                heap_drain(heap);
            else
                heap_let_hardly_used_go(heap, LENT_CLASS);
            assert_ptr_equal(pagemap_record(live[0].block), back ? NULL : slab);
        }
        heap_retire(heap);
        walk();
    }
}

/* Begins with a slab and stops after `budget` of its pieces. */
static void visit_partly(struct heap *heap, unsigned budget) {
    enum heap_tidied result;
    limit.budget = budget;
    atomic_store(&limit.spent, 0);
    assert_int_equal(look(heap, &result), visited_bytes(budget));
    assert_int_equal(result, HEAP_MORE);
    limit.budget = 0;
    assert_ptr_equal(heap->tidied_partly, pagemap_record(live[0].block));
}

/* A visitor does not go on with a slab that is another heap's by now. */
static void heap_visitor_leaves_a_slab_that_was_adopted(void **state) {
    (void)state;
    struct heap *heap = heap_to_visit(1, 4), *other = heap_take();
    struct slab *slab = pagemap_record(live[0].block);
    visit_partly(heap, 2);
    heap_collect(heap);
    heap->tidied = slab;
    heap_detach(&heap->class[VISIT_CLASS], slab);
    assert_null(heap->tidied);
    assert_null(heap->tidied_partly);
    heap_hand_over(&heap->class[VISIT_CLASS], &other -> class[VISIT_CLASS], slab);
    slab_change_owner(slab, &other->inbox, other->tag | VISIT_CLASS);
    heap_file(&other->class[VISIT_CLASS], slab);
    assert_int_equal(look_on(heap), 0);
    assert_int_equal(*(char *)live[6].block, 1);
    end_visit(other, 0, 1, 4);
    heap_retire(heap);
    live_count = 0;
    walk();
}

/* Nor with one that has gone home when others freed all its blocks: its record may be of anybody's slab by then. */
static void heap_visitor_leaves_a_slab_that_went_home(void **state) {
    (void)state;
    struct heap *heap = heap_to_visit(1, 4);
    visit_partly(heap, 2);
    heap->tidied = heap->tidied_partly;
    for (unsigned i = 1; i < VISIT_EACH; i += 2)
        assert_int_equal(remote_free(pagemap_record(live[i].block), live[i].block), SLAB_OK);
    heap_drain(heap);
    assert_int_equal(pagemap_tag(live[0].block), PAGEMAP_NONE);
    assert_null(heap->tidied);
    assert_null(heap->tidied_partly);
    assert_int_equal(look_on(heap), 0);
    live_count = 0;
    heap_retire(heap);
    walk();
}

/* Nor from the middle with one of which blocks were taken and given back: their pages are in memory again. */
static void heap_visitor_begins_again_with_a_slab_that_has_changed(void **state) {
    (void)state;
    struct heap *heap = heap_to_visit(1, 4);
    visit_partly(heap, 2);
    heap_collect(heap);
    assert_ptr_equal(take_raw(heap, VISIT_CLASS), live[0].block);
    *(char *)live[0].block = 1;
    heap_flush(heap, VISIT_CLASS, &live[0].block, 1);
    heap_drain(heap);
    look_on(heap);
    assert_int_equal(*(char *)live[0].block, 0);
    assert_int_equal(*(char *)live[6].block, 0);
    end_visit(heap, 0, 1, 4);
    live_count = 0;
    walk();
}

/* The slab that was looked at last stands in another bin now, or among those of another class: what stands behind it there is not what
 * comes next. */
static void heap_visitor_that_lost_its_place_begins_with_the_bin(void **state) {
    (void)state;
    enum { OTHER_BIN, OTHER_CLASS, CASES };
    for (int where = 0; where < CASES; where++) {
        enum heap_tidied result;
        struct heap *heap = heap_to_visit(2, 1);
        heap_flush(heap, VISIT_CLASS, &live[2].block, 1);
        heap_flush(heap, VISIT_CLASS, &live[4].block, 1);
        const unsigned small = 2 * VISIT_EACH;
        for (unsigned i = 0; i < LENT_EACH; i++)
            take_block(heap, LENT_CLASS);
        heap_drain(heap);
        for (unsigned i = 0; i < LENT_EACH / 2; i += 2)
            heap_flush(heap, LENT_CLASS, &live[small + i].block, 1);
        struct slab *places[CASES] = {pagemap_record(live[VISIT_EACH].block),
                                      pagemap_record(live[small].block)};
        assert_int_equal(places[OTHER_BIN]->bin, 0);
        assert_int_equal(places[OTHER_CLASS]->bin, 1);
        heap->tidied_class = VISIT_CLASS;
        heap->tidied_bin = 1;
        heap->tidied = places[where];
        assert_int_equal(look(heap, &result), visited_bytes(3));
        assert_int_equal(*(char *)live[0].block, 0);
        for (unsigned i = 1; i < VISIT_EACH; i++)
            if (i % 2 != 0 || i > 4)
                heap_flush(heap, VISIT_CLASS, &live[i].block, 1);
        for (unsigned i = 1; i < VISIT_EACH; i++)
            heap_flush(heap, VISIT_CLASS, &live[VISIT_EACH + i].block, 1);
        for (unsigned i = 0; i < LENT_EACH; i++)
            if (i >= LENT_EACH / 2 || i % 2 != 0)
                heap_flush(heap, LENT_CLASS, &live[small + i].block, 1);
        heap_retire(heap);
        live_count = 0;
        walk();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(heap_deletes_no_slab_that_is_on_its_way, setup),
        cmocka_unit_test_setup(heap_is_collected_for, setup),
        cmocka_unit_test_setup(heap_P2_a_lent_slab_gives_nothing_and_takes_all, setup),
        cmocka_unit_test_setup(heap_files_a_slab_that_is_back, setup),
        cmocka_unit_test_setup(heap_carves_on_from_a_slab_that_is_back, setup),
        cmocka_unit_test_setup(heap_tidies_the_next_slab_of_a_record_from_its_begin, setup),
        cmocka_unit_test_setup(heap_tidies_on_while_others_free, setup),
        cmocka_unit_test_setup(heap_tidies_whatever_the_budget, setup),
        cmocka_unit_test_setup(heap_collects_what_stands_behind_one_that_was_adopted, setup),
        cmocka_unit_test_setup(heap_keeps_no_slab_that_is_lent, setup),
        cmocka_unit_test_setup(heap_visit_looks_at_a_bounded_number_of_slabs, setup),
        cmocka_unit_test_setup(heap_visit_leaves_huge_pages_whole, setup),
        cmocka_unit_test_setup(heap_visit_collects_a_bounded_part, setup),
        cmocka_unit_test_setup(heap_without_budget_is_not_visited, setup),
        cmocka_unit_test_setup(heap_counts_what_went_home, setup),
        cmocka_unit_test_setup(heap_with_an_inbox_is_not_tidy, setup),
        cmocka_unit_test_setup(heap_that_collects_is_not_tidy, setup),
        cmocka_unit_test_setup(heap_visitor_lets_empty_slabs_go, setup),
        cmocka_unit_test_setup(heap_lets_no_slab_go_that_is_hardly_back, setup),
        cmocka_unit_test_setup(heap_visitor_leaves_a_slab_that_was_adopted, setup),
        cmocka_unit_test_setup(heap_visitor_leaves_a_slab_that_went_home, setup),
        cmocka_unit_test_setup(heap_visitor_begins_again_with_a_slab_that_has_changed, setup),
        cmocka_unit_test_setup(heap_visitor_that_lost_its_place_begins_with_the_bin, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
