/* unit: what every unit test of a room includes: cmocka and the standard headers that it wants first.
 *
 * A unit test links one room, or includes its .c where it has to look at the room's own state, and stands in for
 * the rooms below with fakes of its own. Nothing here waits, and nothing depends on another test.
 * A test that shows promise Pn of a room carries `Pn` in its name. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
