"""The golden table of the hot path: instructions of each entry on a hit, a column for each variant.

`golden.py check PROGRAM`   counts with the program under $TESTED_LIB and compares with the column of $TESTED_VARIANT.
                            A library made by gcc 12 for x86-64 must match exactly (hardened: within 15 %, because
                            its calls go through every room); one made by another compiler must keep the bars
                            of the standard and the fast build: a malloc hit <= 16, a free hit <= 18.
`golden.py write PROGRAM VARIANT=LIBRARY...`   counts and writes the whole table (tools/update_golden.sh).
"""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).with_name("hot_path.golden")
VARIANTS = ("standard", "fast", "observe", "hardened")
BARRED = ("standard", "fast")
BARS = {"malloc": 16, "free": 18}
TOLERANCES = {"hardened": 0.15}  # it takes the slow path always, which every room on the way may change a little
HEADER = """\
# Instructions of hakmem's own code for a hit of each entry: gcc 12, x86-64, the flags of cmake/flags.cmake.
# Written by tools/update_golden.sh; a change of the hot path shows here. libc's memset is not counted.
"""


def counted(program, library):
    """{entry: instructions}; ends the test when the program skips or fails."""
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": library}
    done = subprocess.run(
        [program], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=200
    )
    if done.returncode == 77:
        print(done.stdout.strip())
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"{program} ended with {done.returncode} under {library}")
    return {entry: int(count) for entry, count in (line.split() for line in done.stdout.splitlines())}


def read_table():
    """{variant: {entry: instructions}}."""
    lines = [line.split() for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    titles, rows = lines[0][1:], lines[1:]
    return {title: {row[0]: int(row[i + 1]) for row in rows} for i, title in enumerate(titles)}


def write_table(columns):
    rows = [["entry", *columns]]
    rows += [[entry, *(str(column[entry]) for column in columns.values())] for entry in next(iter(columns.values()))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    text = "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)
    TABLE.write_text(HEADER + text, encoding="utf-8")


def made_by_the_golden_compiler(library):
    """gcc 12 alone, for x86-64: the compilers of all its objects stand in the library's .comment section."""
    data = Path(library).read_bytes()
    majors = set(re.findall(rb"GCC: \([^)]*\) (\d+)\.", data))
    return platform.machine() == "x86_64" and majors == {b"12"} and b"clang version" not in data


def bar_of(entry):
    return next((bar for name, bar in BARS.items() if entry.startswith(f"{name}_")), None)


def faults(counts, golden, exact, barred, tolerance=0.0):
    """What is wrong with the counts, as lines; `tolerance` is the share by which a count may be off."""
    wrong = []
    for entry, count in counts.items():
        bar = bar_of(entry) if barred else None
        if bar and count > bar:
            wrong.append(f"{entry}: {count} instructions, the bar is {bar}")
        if exact and (entry not in golden or abs(count - golden[entry]) > tolerance * golden[entry]):
            wrong.append(f"{entry}: {count} instructions, {golden.get(entry)} in {TABLE.name}")
    if exact:
        wrong += [f"{entry}: in {TABLE.name} only" for entry in golden if entry not in counts]
    return wrong


def check(program):
    library, variant = os.environ["TESTED_LIB"], os.environ["TESTED_VARIANT"]
    exact = made_by_the_golden_compiler(library)
    tolerance = TOLERANCES.get(variant, 0.0)
    wrong = faults(counted(program, library), read_table()[variant], exact, variant in BARRED, tolerance)
    if wrong:
        print("\n".join(wrong))
        print("If the change is meant, run tools/update_golden.sh and say in the commit why.")
    else:
        print(f"{variant}: {'exactly as in the table' if exact else 'another compiler: only the bars were checked'}")
    return 1 if wrong else 0


def write(program, words):
    libraries = dict(word.split("=", 1) for word in words)
    if tuple(libraries) != VARIANTS or not all(map(made_by_the_golden_compiler, libraries.values())):
        sys.exit(f"the table needs {', '.join(VARIANTS)}, in this order, built with gcc 12 for x86-64")
    write_table({variant: counted(program, library) for variant, library in libraries.items()})
    return 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "check":
        return check(sys.argv[2])
    if len(sys.argv) > 3 and sys.argv[1] == "write":
        return write(sys.argv[2], sys.argv[3:])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
