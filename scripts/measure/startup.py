"""What it costs to start `true` under an allocator, beside preloading an empty library.

System calls are counted by strace, page faults by the kernel (minor and major, of the child). Faults vary by one or
two from run to run, so the runs are interleaved and medians compared.

Variables: RUNS (41). Arguments: libraries to preload; without any: hakmem's variants and the peers that are built.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from allocators import needed, preloadable
from output import Progress, table, until_interrupted
from settings import PEERS, ROOT, clean_environment, number, refuse

VARIANTS = {"standard": "", "fast": "-fast", "observe": "-observe", "hardened": "-hardened"}


def default_libraries():
    ours = [ROOT / f"build/{variant}/libhakmem{suffix}.so" for variant, suffix in VARIANTS.items()]
    return [str(path) for path in ours + [PEERS / "libmimalloc3.so", PEERS / "libmimalloc2.so"] if path.is_file()]


def empty_library(directory):
    path = Path(directory) / "libempty.so"
    done = subprocess.run([needed("cc", "gcc"), "-shared", "-o", path, "-x", "c", "/dev/null"], capture_output=True, text=True)
    if done.returncode != 0:
        refuse(f"cannot make {path}: {done.stderr.strip()[-300:]}")
    return str(path)


def system_calls(library, directory):
    trace = Path(directory) / "trace"
    command = ["strace", "-f", "-o", trace, "-E", f"LD_PRELOAD={library}", shutil.which("true")]
    subprocess.run(command, env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, stdin=subprocess.DEVNULL, check=True)
    return len(re.findall(r"^\d+ +\w+\(", trace.read_text(errors="replace"), re.M))


def page_faults(library):
    child = subprocess.Popen([shutil.which("true")], env=clean_environment(LD_PRELOAD=library), stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    return usage.ru_minflt + usage.ru_majflt


def main():
    needed("strace", "strace")
    libraries = [os.path.abspath(path) for path in sys.argv[1:]] or default_libraries()
    if not libraries:
        refuse("nothing is built yet: run ./hakmem build")
    preloadable(libraries)
    runs, progress = number("RUNS", 41), Progress()
    with tempfile.TemporaryDirectory() as directory:
        everyone = [empty_library(directory), *libraries]
        calls = [system_calls(library, directory) for library in everyone]
        faults = [[] for _ in everyone]
        for i in range(runs + 1):
            progress.say(f"run {i}/{runs}")
            for library, counted in zip(everyone, faults):
                counted.append(page_faults(library))
        progress.clear()
    medians = [statistics.median(counted[1:]) for counted in faults]
    print(f"starting true under an empty library: {calls[0]} system calls, {medians[0]:g} page faults; extra:")
    rows = zip(libraries, calls[1:], medians[1:])
    labels = [[Path(p).name.replace(".so", ""), f"{c - calls[0]:+d}", f"{m - medians[0]:+g}"] for p, c, m in rows]
    table(["library", "system calls", "page faults"], labels)
    return 0


if __name__ == "__main__":
    until_interrupted(main)
