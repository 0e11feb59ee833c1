/*
 * audit_library: a library for LD_AUDIT that asks to see every object and every symbol binding, which puts
 * the dynamic linker's most intrusive code before every call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <stddef.h>
#include <stdint.h>

unsigned la_version(unsigned version);
unsigned la_objopen(struct link_map *map, Lmid_t list, uintptr_t *cookie);

unsigned la_version(unsigned version) {
    return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t list, uintptr_t *cookie) {
    (void)map;
    (void)list;
    *cookie = 0;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
