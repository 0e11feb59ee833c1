/* layout: where everything lies, for a tool that reads the memory of a running process.
 *
 * Owns one exported constant, hakmem_layout: a magic word, the version of this description, and two lists of named rows:
 * where the rooms' roots and tables are, and where in a record each field is. `hakmem explain` finds it through
 * /proc/PID/maps and the symbol table, and then knows how to walk superslabs, slabs, heaps and caches from outside,
 * whatever variant was built. The rows are in layout.def.
 *
 * P1  it is constant: nothing of it runs, and nothing in the process ever reads it
 * P2  names fit their place, end with a zero and stand only once, so that a reader finds each by its name
 * P3  every private root that the tool needs is there in the shipped library, with its address and its size
 *
 * Rooms keep their state private. Only the shipped library is one translation unit, in which their names can be seen:
 * hakmem.c lets the private rows through; when layout.c is compiled by itself they are empty.
 *
 * A reader must expect lists that change while it reads: it bounds every walk and believes no pointer.
 */
#ifndef HAKMEM_LAYOUT_H
#define HAKMEM_LAYOUT_H

#include "base.h"

enum { LAYOUT_VERSION = 5, LAYOUT_NAME = 24 };

/* A field of a record: its offset and its length in bytes. In the row of a type by itself, its length stands as the offset; in that of an object
 * of the library there is none, and its address stands in the list of addresses, in the same place. */
struct layout_field {
    char name[LAYOUT_NAME];
    uint32_t offset, bytes;
};

struct layout {
    char magic[16]; /* "hakmem layout" */
    uint32_t version, root_count, field_count, reserved;
    char variant[16], release[16];
    const void *const *addresses;
    const struct layout_field *roots;
    const struct layout_field *fields;
};

extern EXPORT const struct layout hakmem_layout;

#endif
