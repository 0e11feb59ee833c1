"""The checker of the house on small trees: a good one has no breach; each bad one has exactly the breach it is about."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TESTED_SOURCE_DIR", Path(__file__).resolve().parents[2]))

LETTER = """/* {room}: a room of the small tree.
 *
 * Owns nothing, so that the tree stays small. This is the shortest letter that is
 * allowed: eight lines.
 *
 * P1  it keeps what it says
 *
 */
"""
HEADER = LETTER + """#ifndef HAKMEM_{guard}_H
#define HAKMEM_{guard}_H

{body}

#endif
"""


def header(room, body):
    return HEADER.format(room=room, guard=room.upper(), body=body)


GOOD = {
    "src/FLOORS": "# floor room lines sentence\n0 base 20 words\n1 slab 40 blocks\n2 heap 40 lists\n",
    "src/base.h": header("base", "#if defined(__x86_64__)\n#define WORDS 1\n#endif\nint align(int n);"),
    "src/slab.h": header("slab", '#include "base.h"\nint slab_pop(int n);\nextern int slab_count;\n'
                                 "static ALWAYS_INLINE int slab_peek(void) {\n    return 1;\n}"),
    "src/slab.c": '#include "slab.h"\n\nint slab_count;\n'
                  "static struct {\n    int a, b;\n} slab_state = {.a = 1};\n"
                  "static const int table[] = {1, 2};\nstatic const char *const names[] = {\"{\", \"b\"};\n\n"
                  "static int helper(int n) {\n    return n;\n}\n\n"
                  "int slab_pop(int n)\n{\n    ASSERT(P1, n > 0);\n    return helper(n) + slab_state.a + table[0];\n}\n",
    "src/heap.h": header("heap", '#include "slab.h"\nvoid heap_refill(void);'),
    "src/heap.c": '#include "heap.h"\n\nvoid heap_refill(void) {\n}\n',
    "src/hakmem.c": '#include "slab.c"\n#include "heap.c"\n',
    "tests/unit/all.c": "/* base P1, heap P1 */\n",
}


class Checker(unittest.TestCase):
    def breaches(self, **changes):
        """Checks the good tree with some files replaced (None: left out); __ stands for a slash, _dot_ for a dot."""
        files = dict(GOOD)
        for name, text in changes.items():
            path = name.replace("__", "/").replace("_dot_", ".")
            files[path] = text
        with tempfile.TemporaryDirectory() as directory:
            for path, text in files.items():
                if text is not None:
                    place = Path(directory, path)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(text)
            done = subprocess.run([sys.executable, SOURCE / "tools" / "check_house.py", directory],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 1 if done.stdout else 0)
        return done.stdout.splitlines()

    def only(self, expected, **changes):
        found = self.breaches(**changes)
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])

    def test_a_good_tree(self):
        self.assertEqual(self.breaches(), [])

    def test_a_file_without_a_room(self):
        self.only("src/attic.h:1: belongs to no room", src__attic_dot_h=header("attic", ""))

    def test_a_room_without_a_file(self):
        self.only("src/FLOORS:5: the room attic has no file", src__FLOORS=GOOD["src/FLOORS"] + "3 attic 10 nothing\n")

    def test_a_row_that_is_no_row(self):
        self.only("src/FLOORS:5: a row is", src__FLOORS=GOOD["src/FLOORS"] + "attic on the roof\n")

    def test_an_include_that_climbs(self):
        self.only("src/slab.c:2: slab (floor 1) includes heap.h (floor 2)",
                  src__slab_dot_c=GOOD["src/slab.c"].replace("\n", '\n#include "heap.h"\n', 1))

    def test_an_include_beside(self):
        floors = GOOD["src/FLOORS"].replace("2 heap", "1 heap")
        self.only("src/heap.h:12: heap (floor 1) includes slab.h (floor 1)", src__FLOORS=floors)

    def test_an_include_in_a_comment_is_none(self):
        self.assertEqual(self.breaches(src__slab_dot_c=GOOD["src/slab.c"] + '/*\n#include "heap.h"\n*/\n'), [])

    def test_a_source_that_includes_a_source(self):
        self.only("only hakmem.c includes a source file",
                  src__heap_dot_c=GOOD["src/heap.c"].replace("\n", '\n#include "slab.c"\n', 1))

    def test_rooms_shipped_out_of_order(self):
        self.only("src/hakmem.c:2: slab.c (floor 1) comes after",
                  src__hakmem_dot_c='#include "heap.c"\n#include "slab.c"\n')

    def test_a_room_that_is_not_shipped(self):
        self.only("src/hakmem.c:1: does not include heap.c", src__hakmem_dot_c='#include "slab.c"\n')

    def test_a_choice_upstairs(self):
        self.only("src/heap.c:5: #if lives in base, boxes and os only",
                  src__heap_dot_c=GOOD["src/heap.c"] + "#ifdef FAST\n#endif\n")

    def test_a_header_without_its_guard(self):
        self.only("src/heap.h:1: a header is guarded by HAKMEM_HEAP_H",
                  src__heap_dot_h=GOOD["src/heap.h"].replace("HAKMEM_HEAP_H", "HAKMEM_OTHER_H")
                  .replace("#ifndef HAKMEM_OTHER_H\n", "").replace("#endif\n", ""))

    def test_a_room_over_its_budget(self):
        lines = "".join(f"static const int a{i} = {i};\n" for i in range(40))
        self.only("src/FLOORS:4: heap has", src__heap_dot_c=GOOD["src/heap.c"] + lines)

    def test_comments_cost_nothing(self):
        self.assertEqual(self.breaches(src__heap_dot_c=GOOD["src/heap.c"] + "/* why\n" + " * a\n\n" * 60 + " */\n"), [])

    def test_a_function_that_is_too_long(self):
        body = "    heap_refill();\n" * 70
        self.only("src/heap.c:5: heap_long has 72 lines, 60 are allowed",
                  src__FLOORS=GOOD["src/FLOORS"].replace("heap 40", "heap 400"),
                  src__heap_dot_c=GOOD["src/heap.c"] + f"static void heap_long(void) {{\n{body}}}\n")

    def test_a_hot_function_that_is_too_long(self):
        body = "    heap_refill();\n" * 24
        self.only("src/heap.c:5: heap_hot has 26 lines, 25 are allowed",
                  src__FLOORS=GOOD["src/FLOORS"].replace("heap 40", "heap 400"),
                  src__heap_dot_c=GOOD["src/heap.c"] + f"static ALWAYS_INLINE void heap_hot(void) {{\n{body}}}\n")

    def test_a_name_without_its_room(self):
        self.only("src/heap.c:5: refill: the room's name comes first",
                  src__heap_dot_c=GOOD["src/heap.c"] + "void refill(void) {\n}\n")

    def test_an_inline_name_without_its_room(self):
        self.only("peek: the room's name comes first",
                  src__heap_dot_h=header("heap", "static inline int peek(void) {\n    return 1;\n}"))

    def test_a_name_of_the_export_table(self):
        self.assertEqual(self.breaches(src__heap_dot_c=GOOD["src/heap.c"] + "void refill(void) {\n}\n",
                                       src__exports_dot_def="C(refill)\n"), [])

    def test_a_second_state(self):
        self.only("src/slab.c:20: second: one room, one state; slab already has slab_state",
                  src__slab_dot_c=GOOD["src/slab.c"] + "\nstatic int second[3] = {1};\n")

    def test_a_table_of_zeros_and_a_thread_local_word(self):
        more = "static int table[3];\nstatic THREAD_LOCAL int word;\n"
        self.assertEqual(self.breaches(src__slab_dot_c=GOOD["src/slab.c"] + more.replace("table", "zeros")), [])

    def test_a_variable_that_nobody_declares(self):
        self.only("loose is neither static nor declared", src__heap_dot_c=GOOD["src/heap.c"] + "int loose = 3;\n")

    def test_a_header_without_a_letter(self):
        self.assertIn("src/heap.h:1: a header opens with a letter: /* heap: what it is",
                      self.breaches(src__heap_dot_h="#ifndef HAKMEM_HEAP_H\n#define HAKMEM_HEAP_H\n#endif\n"))

    def test_a_letter_that_is_too_short(self):
        self.only("src/heap.h:1: the letter has 7 lines",
                  src__heap_dot_h=GOOD["src/heap.h"].replace(" *\n", "", 1))

    def test_promises_out_of_order(self):
        self.only("the letter's promises are not numbered",
                  tests__unit__all_dot_c="/* base P1, heap P2 */\n",
                  src__heap_dot_h=GOOD["src/heap.h"].replace("P1", "P2"))

    def test_a_promise_that_nobody_checks(self):
        self.only("src/heap.h:1: no ASSERT and no test names `heap P1`", tests__unit__all_dot_c="/* base P1 */\n")

    def test_a_test_of_no_promise(self):
        self.only("tests/unit/all.c:1: heap makes no promise P7",
                  tests__unit__all_dot_c="/* base P1; heap P1 and P7 */\n")

    def test_an_assertion_of_no_promise(self):
        self.only("src/slab.c:16: slab makes no promise P4",
                  src__slab_dot_c=GOOD["src/slab.c"].replace("    ASSERT", "    ASSERT(P4, n);\n    ASSERT"))

    def test_a_type_that_ends_like_libc(self):
        self.only("word_t: no type of ours ends in _t",
                  src__heap_dot_c=GOOD["src/heap.c"] + "typedef unsigned word_t;\n")

    def test_unfinished_work(self):
        mark = "TO" + "DO"
        self.only(f"src/heap.c:5: {mark}", src__heap_dot_c=GOOD["src/heap.c"] + f"/* {mark}: later */\n")

    def test_what_cargo_built(self):
        mark = "/* " + "TO" + "DO */\n"
        self.assertEqual(self.breaches(bindings__rust__target__debug__made_dot_c=mark), [])
        self.only("bindings/rust/c/made.c:1: ", bindings__rust__c__made_dot_c=mark)


if __name__ == "__main__":
    unittest.main()
