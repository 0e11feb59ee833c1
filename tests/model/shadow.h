/*
 * The shadow heap: which address ranges the tested allocator has handed out and not got back.
 *
 * A sorted array of ranges under one mutex. A program enters a range after the allocator returned it and removes it
 * before it calls free or realloc, so that at any time the shadow holds a part of what is really live: two ranges that
 * overlap in it are always the allocator's fault, whatever the threads do.
 *
 * Who calls it: random_program.c. It takes its memory from static storage and never from the tested allocator.
 */
#ifndef HAKMEM_TEST_SHADOW_H
#define HAKMEM_TEST_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enters [at, at + bytes); false when it overlaps a live range, which is then told in *other_at and *other_bytes. */
bool shadow_enter(uintptr_t at, size_t bytes, uintptr_t *other_at, size_t *other_bytes);

/* Removes the range that starts at `at`; false when there is none. */
bool shadow_remove(uintptr_t at);

size_t shadow_live(void);

#endif
