/* options: the environment, read once into one struct.
 *
 * Owns the table options.def (a row is everything about an option: field, name, kind, default, range, unit,
 * sentence, older alias) and the struct `options` made of it. The generated table is docs/options.md.
 *
 * P1  before options_read every field holds its default, so a call that comes first finds a valid struct.
 * P2  a value given by itself wins over mem_lean, mem_lean over the profile, the profile over the default.
 * P3  an unknown, malformed or out-of-range HAKMEM_*, or one of another variant, is reported on stderr and ignored; with
 *     HAKMEM_STRICT=1 the process ends with status 2 before it has done anything. An empty value counts as
 *     not given.
 * P4  in a process with more rights than its user no HAKMEM_* is read.
 *
 * Fields are read on slow paths only: nothing here is ever looked at by a hit.
 *
 * Called once by lifecycle, before there are threads; after that the struct is constant. Never allocates.
 */
#ifndef HAKMEM_OPTIONS_H
#define HAKMEM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type of a field, by the kind of its row. */
typedef bool options_bool;
typedef size_t options_bytes;
typedef size_t options_count;
typedef unsigned options_choice;
typedef size_t options_limit; /* bytes, or OPTIONS_CGROUP */

#define OPTIONS_CGROUP SIZE_MAX

enum profile { PROFILE_SPEED, PROFILE_BALANCED, PROFILE_LEAN };
enum decommit { DECOMMIT_OFF, DECOMMIT_FREE, DECOMMIT_DONTNEED };

struct options {
#define OPTION(field, name, kind, initial, min, max, unit, sentence, alias) options_##kind field;
#define CHOICE(field, value, name, older)
#define PROFILE_SETS(profile, field, value)
#include "options.def"
#undef OPTION
#undef CHOICE
#undef PROFILE_SETS
};

extern struct options options;

extern const char options_version[]; /* "1.2.3" */
extern const char options_commit[];  /* of the source it was built from */
extern const char options_variant[]; /* "standard", "fast", "observe", "hardened", "check" */

/* Reads the environment, reports what it cannot use, and prints all values when HAKMEM_VERBOSE=1. */
void options_read(void);

/* Version, commit, variant and every effective value, one line each, on stderr. */
void options_print(void);

/* "speed", "balanced", "lean". */
const char *options_profile_name(void);

#endif
