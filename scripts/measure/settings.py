"""The variables of a measurement: read from the environment, checked, with a plain message when they are wrong.

Also the word of the house for "clean environment": a measured process gets PATH, HOME, LC_ALL and what was asked
for, and nothing else, so that no HAKMEM_*, MALLOC* or LD_PRELOAD of the caller's shell reaches it. Asked for are
the driver's own BENCH_WORKLOAD, BENCH_THREADS and BENCH_EMPTY, and every NAME=value word in BENCH_ENV.

Importing it makes the modules of the lab importable that need the standard library only: what both need is there.
"""

import math
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.argv[0]).name
sys.path.insert(0, str(ROOT))

BENCH = Path(os.environ.get("BENCH_DIR") or ROOT / "build/bench")
PEERS = Path(os.environ.get("PEERS_DIR") or ROOT / "build/peers")

PASSED_ON = ("BENCH_WORKLOAD", "BENCH_THREADS", "BENCH_EMPTY")


def refuse(message):
    """Ends the program: the input is wrong or a tool is missing."""
    print(f"{PROGRAM}: {message}", file=sys.stderr)
    sys.exit(2)


def no_arguments(after=0):
    """For a command that is told everything by variables, but for its first words."""
    if sys.argv[1 + after :]:
        refuse(f"it takes no arguments, as '{sys.argv[1 + after]}', but variables (--help says which)")


def number(name, default, lowest=1, kind=int):
    """The variable's value, the default when it is not set or empty."""
    text = os.environ.get(name) or str(default)
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        refuse(f"{name} must be a {'whole number' if kind is int else 'number'}, not '{text}'")
    if value < lowest:
        refuse(f"{name} must be at least {lowest}, not {text}")
    return value


def numbers(name, default):
    """A list of whole numbers, separated by blanks or commas."""
    words = (os.environ.get(name) or default).replace(",", " ").split()
    if not words or not all(word.isdigit() and int(word) > 0 for word in words):
        refuse(f"{name} must be a list of whole numbers above 0, not '{' '.join(words)}'")
    return [int(word) for word in words]


def clean_environment(**asked):
    """The environment of a measured process; an asked-for value of None means: not set."""
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C"}
    for name in PASSED_ON:
        if os.environ.get(name):
            environment[name] = os.environ[name]
    for word in os.environ.get("BENCH_ENV", "").split():
        name, equals, value = word.partition("=")
        if not equals or not name:
            refuse(f"BENCH_ENV holds NAME=value words, not '{word}'")
        environment[name] = value
    environment.update({name: str(value) for name, value in asked.items() if value is not None})
    return environment


def pin():
    """Keeps this process and its children on one CPU, PIN or the last one allowed; unless PIN=off, or threads are measured."""
    allowed, asked = os.sched_getaffinity(0), os.environ.get("PIN")
    if asked and asked != "off" and asked not in map(str, allowed):
        refuse(f"PIN must be off or one of the CPUs {', '.join(map(str, sorted(allowed)))}, not '{asked}'")
    threaded = os.environ.get("BENCH_WORKLOAD") in ("producer_consumer", "thread_churn")
    if asked == "off" or threaded or number("BENCH_THREADS", 1) > 1:
        return None
    try:
        cpu = int(asked or max(allowed))
        os.sched_setaffinity(0, {cpu})
        return cpu
    except OSError:
        return None
