#!/usr/bin/env python3
"""Writes docs/options.md and docs/boxes.md from src/options.def and src/boxes.def.

The tables in the source are the only place where an option or a box is described; these pages are their
readable form. Run it after a change of a table; with --check it writes nothing and fails when a page is stale.

    tools/gen_docs.py            write the pages
    tools/gen_docs.py --check    exit status 1, naming each page that differs
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNITS = {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "SIZE_MAX": (1 << 64) - 1}
VARIANTS = ("standard", "fast", "observe", "hardened", "check")
NOTE = "<!-- Made by tools/gen_docs.py from src/{source}: edit the table there, then run the tool. -->"


def rows(path, macro):
    """The argument lists of every `macro(...)` row of a .def file; strings come without their quotes."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    token = re.compile(r'"((?:[^"\\]|\\.)*)"|([^",()]+)|([,()])')
    found = []
    for start in re.finditer(rf"^{macro}\(", text, flags=re.M):
        arguments, current, at = [], "", start.end()
        while True:
            match = token.match(text, at)
            at = match.end()
            string, word, mark = match.groups()
            if mark == ",":
                arguments.append(current)
                current = ""
            elif mark == ")":
                arguments.append(current)
                break
            elif string is not None:
                current += string
            else:
                current += word.strip()
        found.append(arguments)
    return found


def number(expression):
    """The value of a product or quotient of numbers and unit names: `64 * MIB`, `SIZE_MAX / 2`."""
    if not re.fullmatch(r"\w+( [*/] \w+)*", expression):
        sys.exit(f"gen_docs: no product or quotient: {expression}")
    value, operator = 1, "*"
    for part in re.findall(r"\w+|[*/]", expression):
        if part in "*/":
            operator = part
            continue
        factor = UNITS[part] if part in UNITS else int(part)
        value = value * factor if operator == "*" else value // factor
    return value


def shown(kind, expression, choices):
    """A value as a user writes it: 64m, speed, 1."""
    if kind == "choice":
        return choices.get(expression, expression)
    value, suffix = number(expression), 0
    while kind in ("bytes", "limit") and value and value % 1024 == 0 and suffix < 3:
        value, suffix = value // 1024, suffix + 1
    return f"{value}{['', 'k', 'm', 'g'][suffix]}"


def option_range(field, kind, low, high, unit, choice_rows):
    if kind == "bool":
        return "0, 1"
    words = ", ".join(name for owner, _, name, _ in choice_rows if owner == field)
    if kind == "choice":
        return words
    if kind == "limit":
        return f"{shown(kind, low, {})} to {shown(kind, high, {})}, {words}"
    if number(high) >= UNITS["SIZE_MAX"] // 2:
        return f"from {shown(kind, low, {})} {unit}".strip()
    text = f"{shown(kind, low, {})} to {shown(kind, high, {})}"
    return text if kind == "bytes" else f"{text} {unit}".strip()


def options_page():
    source = ROOT / "src" / "options.def"
    choice_rows = rows(source, "CHOICE")
    choices = {value: name for _, value, name, _ in choice_rows}
    sets = {(profile, field): value for profile, field, value in rows(source, "PROFILE_SETS")}
    profiles = [(value, name, older) for field, value, name, older in choice_rows if field == "profile"]
    lines = [
        NOTE.format(source="options.def"),
        "# Options",
        "",
        "Options are environment variables, read once when the library starts. A value given by itself wins",
        "over the lean switch, the lean switch over the profile, the profile over the default. An empty value",
        "counts as not given. Switches take 1, on, yes, true or 0, off, no, false; bytes take the suffixes k, m",
        "and g. In a process with more rights than its user (setuid) no option is read.",
        "",
        "An unknown, malformed or out-of-range `HAKMEM_*`, or one of another variant, is reported once on stderr and ignored, or, with",
        "`HAKMEM_STRICT=1`, ends the process with status 2. `HAKMEM_VERBOSE=1` prints every effective value.",
        "",
        "| option | what it does | default | values | older name |",
        "|---|---|---|---|---|",
    ]
    table = rows(source, "OPTION")
    for field, name, kind, initial, low, high, unit, sentence, alias in table:
        values = option_range(field, kind, low, high, unit, choice_rows)
        older = f"`{alias}`" if alias else ""
        lines.append(f"| `{name}` | {sentence} | {shown(kind, initial, choices)} | {values} | {older} |")
    lines += [
        "",
        "## Profiles",
        "",
        "A profile is a named set of values; only what a profile can change is shown.",
        "",
        "| option | " + " | ".join(name for _, name, _ in profiles) + " |",
        "|---|" + "---|" * len(profiles),
    ]
    for field, name, kind, initial, *_ in table:
        if any((profile, field) in sets for profile, _, _ in profiles):
            cells = [shown(kind, sets.get((profile, field), initial), choices) for profile, _, _ in profiles]
            lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    older = [f"`{old}` is {name}" for _, name, old in profiles if old]
    lines += ["", "Older names of profiles: " + ", ".join(older) + ".", ""]
    return "\n".join(lines)


def boxes_page():
    lines = [
        NOTE.format(source="boxes.def"),
        "# Boxes",
        "",
        "A box is a feature that is chosen when the library is compiled; a variant is a column of this table.",
        "One box may be opened or shut by itself with `-DHAKMEM_BOX_<name>=1` or `=0`.",
        "",
        "| box | what it does | " + " | ".join(VARIANTS) + " |",
        "|---|---|" + "---|" * len(VARIANTS),
    ]
    for name, sentence, *columns in rows(ROOT / "src" / "boxes.def", "BOX"):
        cells = ["open" if column == "1" else "-" for column in columns]
        lines.append(f"| `{name}` | {sentence} | " + " | ".join(cells) + " |")
    return "\n".join(lines + [""])


def main():
    parser = argparse.ArgumentParser(description="write docs/options.md and docs/boxes.md")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is stale")
    check = parser.parse_args().check
    stale = 0
    for name, page in (("options.md", options_page()), ("boxes.md", boxes_page())):
        path = ROOT / "docs" / name
        if path.is_file() and path.read_text(encoding="utf-8") == page:
            continue
        if check:
            print(f"docs/{name} is stale: run tools/gen_docs.py", file=sys.stderr)
            stale = 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(page, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
