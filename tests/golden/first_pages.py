"""What a small program runs of the library lies in the last 64 KiB of its code: cmake/first_pages.cmake.

`first_pages.py check PROGRAM`                 runs the program under callgrind with $TESTED_LIB and looks where each function lies
                                               that it executed. Skips (77) where the library was linked as it comes.
`first_pages.py write PROGRAM LIBRARY...`      writes those functions into cmake/first_functions.txt, and keeps what stands there: another
                                               compiler has others (tools/first_functions.sh).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LIST = Path(__file__).parents[2] / "cmake/first_functions.txt"
TITLE = "# What a small program executes, written by tools/first_functions.sh: these functions come first in the library's file.\n"
WINDOW = 64 << 10  # what the kernel maps at one touch
CODE = {"observe": 60 << 10}  # bytes of it that are code: all of that is resident
CODE_USUALLY = 56 << 10
RELOCATED = {"observe": 4 << 12}  # bytes of constants that the dynamic linker writes: each page of them is a process's own
RELOCATED_USUALLY = 3 << 12
PAGE = 4 << 10
UPMOST = range(0xD00, 0xF00)  # where in a page glibc's threads have their first frames: docs/experiments/stack-and-got.md


def executed(program, library):
    """Names of the library's functions that the program executes."""
    library = str(Path(library).resolve())
    # No clock decides what is executed: on a slow machine memory would go home while the program runs.
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": library, "HAKMEM_PURGE_DELAY": "3600000"}
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out"
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", program]
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=True, timeout=200)
        said = subprocess.run(
            ["callgrind_annotate", "--threshold=100", "--show=Ir", out], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    names = set(re.findall(rf":([A-Za-z_][\w.]*)\S* \[{re.escape(library)}\]$", said, re.M))
    if "malloc" not in names:
        sys.exit(f"callgrind names no malloc of {library}")
    return names


def reads_options(name):
    """A small program gives no options, so what reads one is not among the first."""
    return name != "options_read" and name.startswith(("options_", "os_getenv"))


def places(library):
    """Where the code begins, where its last window does, and how long that is; {function: its address}, from readelf."""

    def told(option):
        return subprocess.run(["readelf", "-W", option, library], stdout=subprocess.PIPE, text=True, check=True).stdout

    begin, count = re.search(r"^  LOAD +\S+ (0x\w+) \S+ \S+ (0x\w+) +R E ", told("-l"), re.M).groups()
    end = int(begin, 16) + int(count, 16)
    symbol = re.compile(r"^ *\d+: (\w+) +\d+ FUNC +\w+ +\w+ +\d+ ([^\s@]+)", re.M)
    window = (end - 1) // WINDOW * WINDOW
    return int(begin, 16), window, end - window, {name: int(at, 16) for at, name in symbol.findall(told("-s"))}


def table_apart(library):
    """Whether the table of options, which comes last of what is only read, is alone in its window: the tables for unwinding end before that."""
    told = subprocess.run(["readelf", "-SW", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    at, size = (int(word, 16) for word in re.search(r" \.rodata_rare +PROGBITS +(\w+) \w+ (\w+) ", told).groups())
    return (at - 1) // WINDOW < (at + size - 1) // WINDOW


def relocated(library):
    told = subprocess.run(["readelf", "-lW", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.search(r"^  GNU_RELRO +\S+ \S+ \S+ \S+ (0x\w+) ", told, re.M).group(1), 16)


def told_from(library):
    """Where malloc and free load from where the thread's own words are: an entry of .got; None where it is reached in another way."""
    told = subprocess.run(["readelf", "-srW", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    own = re.search(r"^ *\d+: (\w+) +\d+ TLS .* heap_current$", told, re.M)
    entry = own and re.search(rf"^(\w+) +\w+ R_X86_64_TPOFF64 +{int(own.group(1), 16):x}$", told, re.M)
    if not entry and "R_X86_64_" in told:
        sys.exit(f"{library} has no word that says where heap_current is")
    return int(entry.group(1), 16) if entry else None


def check(program):
    library = os.environ["TESTED_LIB"]
    if not (Path(os.environ["TESTED_BUILD_DIR"]) / "first_pages.ld").exists():
        print("the linker's script is another than GNU ld's")
        return 77
    if not shutil.which("valgrind"):
        print("valgrind is not here")
        return 77
    begin, window, count, at = places(library)
    ran = executed(program, library)
    asked = {name for name in ran if reads_options(name)}
    names = ran - asked
    elsewhere = sorted(name for name in names if at.get(name, window) < window)
    print(f"{len(names)} functions; the window that they lie in has {count} bytes")
    variant = os.environ["TESTED_VARIANT"]
    code = CODE.get(variant, CODE_USUALLY)
    if elsewhere or count > code:
        print(f"elsewhere: {', '.join(elsewhere) or 'none'}; at most {code} bytes: run tools/first_functions.sh, or see what has grown")
    far = sorted(name for name in asked if at[name] >= begin + WINDOW)
    apart = table_apart(library)
    if not asked or far or not apart:
        print(f"what reads options: {len(asked)} functions, of them not in the first 64 KiB: {', '.join(far) or 'none'}")
        print(f"the table of options is {'apart' if apart else 'among the tables for unwinding'}")
    constants, most = relocated(library), RELOCATED.get(variant, RELOCATED_USUALLY)
    if constants > most:
        print(f"{constants} bytes of relocated constants, at most {most}: one of libc's functions more takes eight")
    entry = told_from(library)
    aliased = entry is not None and entry % PAGE in UPMOST
    if aliased:
        print(f"where the thread's words are is told at {entry:#x}: loads of it may wait for what the upmost frames of a thread store")
    return 1 if elsewhere or count > code or not asked or far or not apart or constants > most or aliased else 0


def write(program, libraries):
    names = {line for line in LIST.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#")}
    for library in libraries:
        names |= {name.split(".")[0] for name in executed(program, library) if not reads_options(name)}
    LIST.write_text(TITLE + "".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")
    return 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "check":
        return check(sys.argv[2])
    if len(sys.argv) > 3 and sys.argv[1] == "write":
        return write(sys.argv[2], sys.argv[3:])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
