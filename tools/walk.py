#!/usr/bin/env python3
"""walk.py [ENTRY]: the source that a reader walks from an entry (malloc) to the pointer when the call is a hit.

The walk begins at the entry's definition and follows every call of a function that is inlined by declaration
(ALWAYS_INLINE or static inline), wherever it is defined. Other functions are not followed: they are where the hit
path is left. Counted are the lines of the definitions, from the signature to the closing brace, without blank lines
and comments, and the files they stand in.

Options: --source DIR (src beside this file's directory), --lines N and --files N (40 and 5): more than that ends with
status 1. An entry without a definition, or bad usage, ends with status 2.
"""

import argparse
import re
import sys
from pathlib import Path

DEFINITION = re.compile(r"^(?P<head>[A-Za-z_][^;{}#=]*?\b(?P<name>\w+)\s*\([^;{}]*\)[^;{}()=]*)\{", re.M)
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INLINED = re.compile(r"\bALWAYS_INLINE\b|\bstatic\s+inline\b")
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


class Function:
    def __init__(self, path, first_line, head, body):
        self.path, self.first_line = path, first_line
        self.inlined = bool(INLINED.search(head))
        self.calls = list(dict.fromkeys(CALL.findall(body)))
        self.lines = sum(bool(line.strip()) for line in (head + body).splitlines())


def without_comments(text):
    """The text with comments and literals blanked; every line stays where it is."""
    return COMMENT_OR_STRING.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def body_end(text, opening):
    """The place after the brace that closes the one at `opening`."""
    depth = 0
    for brace in re.finditer(r"[{}]", text[opening:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return opening + brace.end()
    return len(text)


def functions_of(directory):
    """Every function defined below the directory, by name; an inlined one wins over others of its name."""
    found = {}
    for path in sorted(directory.rglob("*.[ch]")):
        text = without_comments(path.read_text(encoding="utf-8"))
        for match in DEFINITION.finditer(text):
            opening = match.end() - 1
            line = text.count("\n", 0, match.start()) + 1
            function = Function(path, line, match.group("head"), text[opening : body_end(text, opening)])
            known = found.get(match.group("name"))
            if not known or (function.inlined and not known.inlined):
                found[match.group("name")] = function
    return found


def walk(functions, entry):
    """The names on the way, in the order a reader meets them."""
    way, waiting = [], [entry]
    while waiting:
        name = waiting.pop(0)
        if name in way:
            continue
        way.append(name)
        called = functions[name].calls
        waiting = [call for call in called if call in functions and functions[call].inlined] + waiting
    return way


def main():
    parser = argparse.ArgumentParser(description="counts the source lines of a hit")
    parser.add_argument("entry", nargs="?", default="malloc")
    parser.add_argument("--source", type=Path, default=Path(__file__).resolve().parents[1] / "src")
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--files", type=int, default=5)
    given = parser.parse_args()

    functions = functions_of(given.source)
    if given.entry not in functions:
        parser.error(f"no definition of {given.entry} in {given.source}")
    way = walk(functions, given.entry)
    for name in way:
        function = functions[name]
        print(f"{function.lines:4} {function.path.relative_to(given.source)}:{function.first_line} {name}")
    lines = sum(functions[name].lines for name in way)
    files = len({functions[name].path for name in way})
    print(f"{lines:4} lines in {files} files from {given.entry} to the pointer (at most {given.lines} in {given.files})")
    return 0 if lines <= given.lines and files <= given.files else 1


if __name__ == "__main__":
    sys.exit(main())
