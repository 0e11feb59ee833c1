/* The shipped library: every room, in the order of the floors, as one translation unit. */
#include "sizeclass.c"

#include "os_linux.c"
#include "os_place.c"
#include "os_text.c"
#include "os_thread.c"

#include "lock.c"
#include "log.c"
#include "pages.c"
#include "poisson.c"
#include "reach.c"
#include "seams.c"
#include "visit.c"

#include "dense.c"
#include "favour.c"
#include "metadata.c"
#include "misuse.c"
#include "next.c"
#include "options.c"

#include "limit.c"
#include "pack.c"
#include "pagemap.c"

#include "superslab.c"
#include "superslab_areas.c"
#include "superslab_field.c"
#include "superslab_home.c"

#include "huge.c"
#include "huge_ahead.c"
#include "lengths.c"
#include "slab.c"
#include "slab_hand.c"
#include "spare.c"

#include "large.c"
#include "large_clear.c"
#include "large_field.c"
#include "large_hand.c"
#include "large_hold.c"
#include "large_map.c"
#include "large_purge.c"
#include "large_resize.c"
#include "large_solid.c"
#include "marks.c"
#include "remote.c"
#include "remote_send.c"

#include "heap.c"
#include "heap_gather.c"
#include "heap_growth.c"
#include "heap_guests.c"
#include "heap_hollow.c"
#include "heap_life.c"
#include "heap_lodgers.c"
#include "heap_marks.c"
#include "heap_packs.c"
#include "heap_reach.c"
#include "heap_rest.c"
#include "heap_slabs.c"
#include "heap_tidy.c"
#include "heap_waves.c"

#include "purge.c"
#include "stats.c"

#include "calls.c"
#include "janitor.c"
#include "sample.c"

#include "lifecycle.c"

#include "alloc.c"
#include "alloc_watch.c"

#include "api.c"

#define LAYOUT_SHIPPED(...) __VA_ARGS__ /* only here can the rooms' private names be seen */
#include "layout.c"

#ifndef HAKMEM_PREFIX_ONLY
#include "cxx.c"
#include "libc.c"
#endif
