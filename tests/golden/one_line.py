"""The hits of malloc, free, operator new and operator delete each lie in one line of 64 bytes, from its beginning on: eight bytes more cost
the mixed workload 2 % (docs/experiments/newest-beside-the-top.md).

`one_line.py check`   of $TESTED_LIB, if gcc 12 made it for x86-64: other compilers arrange the same instructions in other ways. Skips (77) if not.
"""

import os
import re
import subprocess
import sys

from golden import made_by_the_golden_compiler

ENTRIES = ("malloc", "free", "_Znwm", "_ZdlPv")
LINE = 64  # bytes


def address_of(library, name):
    symbols = subprocess.run(["readelf", "-W", "--dyn-syms", library], stdout=subprocess.PIPE, text=True, check=True)
    return int(re.search(rf"^ *\d+: (\w+) .* {name}(?:@@?\S+)?$", symbols.stdout, re.M)[1], 16)


def end_of_hit(library, begin):
    """Where the instruction after the first return would begin; None: there is no return nearby."""
    span = ["--start-address", hex(begin), "--stop-address", hex(begin + 4 * LINE)]
    code = subprocess.run(["objdump", "-d", "-w", *span, library], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.search(r"^ +(\w+):\t((?:[0-9a-f]{2} )+) *\tret", code, re.M)
    return found and int(found[1], 16) + len(found[2].split())


def check(library):
    if not made_by_the_golden_compiler(library):
        print("another compiler made this library, or for another processor")
        return 77
    wrong = 0
    for name in ENTRIES:
        begin = address_of(library, name)
        end = end_of_hit(library, begin)
        fits = begin % LINE == 0 and end is not None and end <= begin + LINE
        print(f"{name}: from {begin:#x} to {f'{end:#x}' if end else 'no return'}{'' if fits else f', not in one line of {LINE} bytes'}")
        wrong += not fits
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(check(os.environ["TESTED_LIB"]) if sys.argv[1:] == ["check"] else __doc__)
