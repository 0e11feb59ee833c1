"""Instructions that an allocator itself executes in a real program, of all that the program does.

callgrind counts every process that the command begins, object by object; the allocator's own are those of its library.
They hardly depend on the machine's load, so programs can be compared where times cannot: but page faults, caches and
what a free leaves for later are not in them. A program takes some fifty times as long.

Arguments: libraries to preload (label=path gives another name), then -- and a command.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from allocators import needed, preloadable
from output import Progress, table, until_interrupted
from settings import clean_environment, refuse

OBJECT = re.compile(r"^(c?)ob=(\(\d+\))(?: (.+))?$")
COST = re.compile(r"^(?:0x)?[+\-*\da-f][\da-fx]* (\d+)$")  # a line, or an address before it, and its instructions


def by_object(lines):
    """Instructions by object file, of one file of callgrind's; its format is in valgrind's manual, "Callgrind Format"."""
    names, found, current, is_call = {}, {}, "?", False
    for line in lines:
        named = OBJECT.match(line.rstrip("\n"))
        if named:
            names.setdefault(named.group(2), named.group(3))
            current = current if named.group(1) else names[named.group(2)]
        elif line.startswith("calls="):
            is_call = True  # the next cost is that of what is called, which has its own
        else:
            cost = COST.match(line.rstrip("\n"))
            if cost and not is_call:
                found[current] = found.get(current, 0) + int(cost.group(1))
            is_call = is_call and not cost
    return found


def counted(library, command):
    """Own instructions and all; None when valgrind or the command fails."""
    with tempfile.TemporaryDirectory() as directory:
        tool = ["valgrind", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={directory}/%p"]
        done = subprocess.run(
            [*tool, "env", f"LD_PRELOAD={library}", *command],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            return None
        own = total = 0
        for path in Path(directory).iterdir():
            with path.open(encoding="utf-8", errors="replace") as lines:
                objects = by_object(lines)
            total += sum(objects.values())
            own += sum(n for name, n in objects.items() if name and os.path.realpath(name) == os.path.realpath(library))
        return own, total


def main():
    words = sys.argv[1:]
    if "--" not in words or words[0] == "--" or words[-1] == "--":
        refuse("it wants libraries, then -- and a command: LIBRARY... -- COMMAND...")
    needed("valgrind", "valgrind")
    cut = words.index("--")
    labels = [word.rpartition("=") for word in words[:cut]]
    preloadable(path for _, _, path in labels)
    rows, progress = [], Progress()
    for label, _, path in labels:
        name = label or re.sub(r"\.so.*$", "", os.path.basename(path))
        progress.say(name)
        found = counted(os.path.abspath(path), words[cut + 1 :])
        progress.clear()
        rows.append([name, *((f"{found[0] / 1e6:.2f}", f"{found[1] / 1e6:.1f}") if found else ("does not run", "-"))])
    print("millions of instructions: the library's own, and all")
    table(["library", "own", "all"], rows)
    return 0 if any(row[2] != "-" for row in rows) else 1


if __name__ == "__main__":
    until_interrupted(main)
