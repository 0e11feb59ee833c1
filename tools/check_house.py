#!/usr/bin/env python3
"""Checks that the house is as src/FLOORS and CONTRIBUTING.md say. Python's own library only.

usage: check_house.py [ROOT]        ROOT: the tree (default: the one this file lies in)

Prints `file:line: what is wrong` for each breach and ends with status 1; silent and 0 when there is none.

What is checked, each by one function below:
  rooms      every file of src/ belongs to a room of FLOORS, every room of FLOORS has a file
  includes   a room includes only rooms of lower floors; src/hakmem.c includes the rooms in floor order
  choices    #if only in base, boxes and os (include guards, .def tables and hakmem.c excepted)
  guards     a header is guarded by HAKMEM_<NAME>_H
  budgets    a room has no more lines of code (comments and blank lines not counted) than FLOORS allows
  functions  at most 60 lines each, 25 when ALWAYS_INLINE; a room's name prefixes what others can see
  state      a room has at most one private variable at file scope (thread-local ones and arrays that start as
             zeros excepted), and declares the others in its header
  letters    a header opens with a comment of 8-25 lines that begins with the room's name and numbers its promises
  promises   each promise has an ASSERT in its room or is named by a test (`slab P3`), and nobody names one that
             does not exist
  names      no type of ours ends in _t
  leftovers  no marks of unfinished work anywhere
"""

import re
import sys
from pathlib import Path

FUNCTION_LINES = 60
HOT_FUNCTION_LINES = 25
LETTER_LINES = range(8, 26)
CHOOSING_ROOMS = {"base", "boxes", "os"}
UNPREFIXED_ROOMS = {"base", "boxes"}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
SEARCHED_FOR_LEFTOVERS = ("src", "include", "tests", "bench", "scripts", "tools", "launcher", "cmake", "packaging",
                          "lab", "bindings", "docs")
ATTRIBUTE_WORDS = re.compile(
    r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\b(?:ALIGNED|LOG_FORMAT|_Alignas)\s*\((?:[^()]|\([^()]*\))*\)")
NOT_FUNCTION_NAMES = {"if", "for", "while", "switch", "return", "sizeof", "_Static_assert", "static_assert"}


class House:
    """The rooms of FLOORS, their files, and the breaches found so far."""

    def __init__(self, root):
        self.root = root
        self.breaches = []
        self.floors = {}
        self.budgets = {}
        self.places = {}
        self.read_floors()
        self.files = sorted((root / "src").glob("*.[ch]"))

    def breach(self, path, line, message):
        self.breaches.append(f"{path.relative_to(self.root)}:{line}: {message}")

    def read_floors(self):
        path = self.root / "src" / "FLOORS"
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            row = re.match(r"(\d+)\s+(\w+)\s+(\d+)\s+(\S.*)$", line)
            if row is None:
                self.breach(path, number, "a row is: floor, room, lines, one sentence")
                continue
            room = row[2]
            self.floors[room], self.budgets[room], self.places[room] = int(row[1]), int(row[3]), number

    def room_of(self, path):
        """The room a file belongs to: its name, or the part of it before an underscore. None: no room."""
        name = Path(path).stem
        while name not in self.floors and "_" in name:
            name = name.rpartition("_")[0]
        return name if name in self.floors else None

    def files_of(self, room):
        return [path for path in self.files if path.name != "hakmem.c" and self.room_of(path) == room]


def blank(match):
    """Spaces as long as the match, its newlines kept, so that line numbers stay true."""
    return re.sub(r"[^\n]", " ", match[0])


def without_comments(text):
    pattern = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    return re.sub(pattern, lambda m: blank(m) if m[0][0] == "/" else m[0], text, flags=re.S)


def only_code(text):
    """Neither comments, strings nor preprocessor lines."""
    text = without_comments(text)
    text = re.sub(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text)
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", blank, text, flags=re.M)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class Item:
    """Something at file scope: its words with each outermost {...} as {}, its lines, whether it has a body."""

    def __init__(self, head, first, last, body):
        self.head, self.first, self.last, self.body = head, first, last, body
        plain = ATTRIBUTE_WORDS.sub(" ", head)
        self.plain = re.sub(r"\s+", " ", plain).strip()
        name = re.match(r"[^=(]*?\b(\w+) ?\((?! ?\*)", self.plain)
        self.function = name[1] if name and name[1] not in NOT_FUNCTION_NAMES else None

    def has(self, word):
        return re.search(rf"\b{word}\b", self.head) is not None


def items_of(text):
    """The items at file scope of a C text."""
    code = only_code(text)
    items, depth, start, head, body_from = [], 0, None, "", None

    def close(end, body):
        nonlocal start, head
        if start is not None:
            items.append(Item(head, line_of(code, start), line_of(code, end), body))
        start, head = None, ""

    for at, char in enumerate(code):
        if depth == 0 and start is None and not char.isspace() and char != ";":
            start = at
        if char == "{":
            if depth == 0:
                body_from = re.search(r"\)\s*$", ATTRIBUTE_WORDS.sub(" ", head)) is not None
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                head += "{}"
                if body_from and "=" not in head:
                    close(at, True)
        elif depth == 0:
            if char == ";":
                close(at, False)
            else:
                head += char
    return items


def check_rooms(house):
    for path in house.files:
        if path.name != "hakmem.c" and house.room_of(path) is None:
            house.breach(path, 1, "belongs to no room of src/FLOORS")
    for room in house.floors:
        if not house.files_of(room):
            house.breach(house.root / "src" / "FLOORS", house.places[room], f"the room {room} has no file")


def includes_of(path):
    for number, line in enumerate(without_comments(path.read_text()).splitlines(), 1):
        included = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if included:
            yield number, included[1]


def check_includes(house):
    for path in house.files:
        if path.name == "hakmem.c":
            check_order_of_shipping(house, path)
            continue
        room = house.room_of(path)
        if room is None:
            continue
        for number, name in includes_of(path):
            other = house.room_of(name)
            if name.endswith(".c"):
                house.breach(path, number, f"only hakmem.c includes a source file, not {name}")
            elif other is not None and other != room and house.floors[other] >= house.floors[room]:
                house.breach(path, number, f"{room} (floor {house.floors[room]}) includes {name} "
                             f"(floor {house.floors[other]}): only lower floors may be included")


def check_order_of_shipping(house, path):
    highest, shipped = 0, set()
    for number, name in includes_of(path):
        room = house.room_of(name)
        if not name.endswith(".c") or room is None:
            continue
        shipped.add(name)
        if house.floors[room] < highest:
            house.breach(path, number, f"{name} (floor {house.floors[room]}) comes after a room of floor {highest}")
        highest = max(highest, house.floors[room])
    for other in house.files:
        outside = house.room_of(other) in ("libc", "cxx")
        if other.suffix == ".c" and other != path and other.name not in shipped and not outside:
            house.breach(path, 1, f"does not include {other.name}")


def guard_of(path):
    return f"HAKMEM_{re.sub(r'[^A-Z0-9]', '_', path.stem.upper())}_H"


def check_choices_and_guards(house):
    for path in house.files:
        text = without_comments(path.read_text())
        guard = guard_of(path)
        if path.suffix == ".h" and not re.search(rf"^#ifndef {guard}\n#define {guard}$", text, re.M):
            house.breach(path, 1, f"a header is guarded by {guard}")
        if house.room_of(path) in CHOOSING_ROOMS or path.name == "hakmem.c":
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else)\b", line) and line.strip() != f"#ifndef {guard}":
                house.breach(path, number, "#if lives in base, boxes and os only: write `if (has(box))`")


def check_budgets(house):
    for room, budget in house.budgets.items():
        lines = sum(1 for path in house.files_of(room)
                    for line in without_comments(path.read_text()).splitlines() if line.strip())
        if lines > budget:
            house.breach(house.root / "src" / "FLOORS", house.places[room],
                         f"{room} has {lines} lines of code, {budget} are allowed")


def exported_names(house):
    path = house.root / "src" / "exports.def"
    return set(re.findall(r"\w+", without_comments(path.read_text()))) if path.exists() else set()


def declared_below(house, room):
    """Functions that headers of lower floors declare: a higher room may define them."""
    return {item.function for path in house.files if path.suffix == ".h" and house.room_of(path)
            and house.floors[house.room_of(path)] < house.floors[room]
            for item in items_of(path.read_text()) if item.function}


def check_functions(house):
    exported = exported_names(house)
    for path in house.files:
        room = house.room_of(path)
        for item in items_of(path.read_text()):
            if item.function is None or item.has("typedef"):
                continue
            lines = item.last - item.first + 1
            allowed = HOT_FUNCTION_LINES if item.has("ALWAYS_INLINE") else FUNCTION_LINES
            if item.body and lines > allowed:
                house.breach(path, item.first, f"{item.function} has {lines} lines, {allowed} are allowed")
            private = item.has("static") and path.suffix == ".c"
            if room is None or private or room in UNPREFIXED_ROOMS or not (item.body or path.suffix == ".h"):
                continue
            known = item.function.startswith((f"{room}_", "hakmem_")) or item.function in exported
            if not known and item.function not in declared_below(house, room):
                house.breach(path, item.first, f"{item.function}: the room's name comes first: {room}_...")


def variable_of(item):
    """The name of the mutable object that an item defines, or None."""
    declaration = item.plain.split("=")[0].split("[")[0].strip()
    if (item.body or item.function or not declaration or declaration.endswith("{}")
            or re.match(r"(extern|typedef|_Static_assert|static_assert)\b", declaration)):
        return None
    name = re.search(r"(\w+)$", declaration)
    before = declaration[:name.start()] if name else ""
    if not before.strip() or re.fullmatch(r"(struct|union|enum) ", before):
        return None
    if re.search(r"\bconst\b", before.rpartition("*")[2]):
        return None
    return name[1]


def is_zeroed_table(item):
    """An array without an initialiser: beside an initialised state it would fill the file with its zeros."""
    return item.plain.endswith("]") and "=" not in item.plain


def check_state(house):
    for room in house.floors:
        private, declared = [], set()
        for path in house.files_of(room):
            for item in items_of(path.read_text()):
                if path.suffix == ".h" and item.has("extern") and not item.function:
                    declared.update(re.findall(r"\w+", item.plain))
                name = variable_of(item)
                if name is not None:
                    private.append((path, item, name))
        private = [(path, item, name) for path, item, name in private if name not in declared]
        for path, item, name in private:
            if not item.has("static"):
                house.breach(path, item.first, f"{name} is neither static nor declared in a header")
        kept = [entry for entry in private if not entry[1].has("THREAD_LOCAL") and not is_zeroed_table(entry[1])]
        for path, item, name in kept[1:]:
            house.breach(path, item.first, f"{name}: one room, one state; {room} already has {kept[0][2]}")


def letter_of(path):
    opening = re.match(r"/\*(.*?)\*/", path.read_text(), re.S)
    return opening[0] if opening else ""


def promises_of(letter):
    return [int(number) for number in re.findall(r"^ \*\s+P(\d+)\s", letter, re.M)]


def check_letters(house):
    for path in house.files:
        if path.suffix != ".h" or house.room_of(path) is None:
            continue
        letter, name = letter_of(path), path.stem
        if not re.match(rf"/\* {name}\b[^\n]*: ", letter):
            house.breach(path, 1, f"a header opens with a letter: /* {name}: what it is")
        elif letter.count("\n") + 1 not in LETTER_LINES:
            house.breach(path, 1, f"the letter has {letter.count(chr(10)) + 1} lines, 8 to 25 are wanted")
        elif not promises_of(letter):
            house.breach(path, 1, "the letter makes no promise (P1 ...)")
        elif promises_of(letter) != list(range(1, len(promises_of(letter)) + 1)):
            house.breach(path, 1, "the letter's promises are not numbered P1, P2, ... in order")


def promises_named_by_tests(house):
    """(room, number) -> (path, line) for each `room P3`, `room P1, P2` or `room_p3` below tests/."""
    named = {}
    rooms = "|".join(sorted(house.floors, key=len, reverse=True))
    pattern = re.compile(rf"\b({rooms})((?:(?:[ ,_]|\band\b)+P\d+)+)", re.I)
    for path in sorted((house.root / "tests").rglob("*")):
        if not path.is_file() or path.suffix not in {".c", ".h", ".cpp", ".py", ".sh", ".txt", ".md"}:
            continue
        if "house" in path.relative_to(house.root).parts:
            continue
        text = path.read_text(errors="replace")
        for match in pattern.finditer(text):
            for number in re.findall(r"P(\d+)", match[2], re.I):
                named.setdefault((match[1].lower(), int(number)), (path, line_of(text, match.start())))
    return named


def check_promises(house):
    named = promises_named_by_tests(house)
    for room in house.floors:
        made, asserted = {}, {}
        for path in house.files_of(room):
            if path.suffix == ".h":
                made.update({number: path for number in promises_of(letter_of(path))})
            code = without_comments(path.read_text())
            for match in re.finditer(r"\bASSERT\(P(\d+),", code):
                asserted.setdefault(int(match[1]), (path, line_of(code, match.start())))
        for number, path in sorted(made.items()):
            if number not in asserted and (room, number) not in named:
                house.breach(path, 1, f"no ASSERT and no test names `{room} P{number}`")
        named_here = {number: place for (name, number), place in named.items() if name == room}
        for number, (path, line) in sorted({**asserted, **named_here}.items()):
            if number not in made:
                house.breach(path, line, f"{room} makes no promise P{number}")


def check_names(house):
    for path in house.files + sorted((house.root / "include").glob("*.h")):
        code = without_comments(path.read_text())
        pattern = r"\btypedef\b[^;{]*\b(\w+_t)\s*;|\b(?:struct|union|enum)\s+(\w+_t)\b|\}\s*(\w+_t)\s*;"
        for match in re.finditer(pattern, code):
            name = match[1] or match[2] or match[3]
            house.breach(path, line_of(code, match.start()), f"{name}: no type of ours ends in _t")


def check_leftovers(house):
    built = house.root / "bindings" / "rust" / "target"  # cargo's, where somebody built in the tree
    for directory in SEARCHED_FOR_LEFTOVERS:
        for path in sorted((house.root / directory).rglob("*")):
            if not path.is_file() or path.suffix in {".png", ".svg", ".csv", ".gz", ".pyc"} or built in path.parents:
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                found = UNFINISHED.search(line)
                if found:
                    house.breach(path, number, f"{found[0]}: finish it, or write down why not in docs/")


CHECKS = (check_rooms, check_includes, check_choices_and_guards, check_budgets, check_functions, check_state,
          check_letters, check_promises, check_names, check_leftovers)


def main(arguments):
    root = Path(arguments[1]) if len(arguments) > 1 else Path(__file__).resolve().parent.parent
    house = House(root.resolve())
    for check in CHECKS:
        check(house)
    for breach in house.breaches:
        print(breach)
    return 1 if house.breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
