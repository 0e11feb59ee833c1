"""Runs real programs with and without the tested library and compares what they do. Used by every test of this room.

A test makes a Session, calls session.both(...) for each program, and ends with session.finish(). Without the library a
program must succeed (else the test is skipped: the machine, not the allocator, is at fault); with it, it must give the
same exit status and the same output, and must not have a word of the allocator on its standard error.

Every program gets a small, fixed environment (LC_ALL=C, a temporary HOME and TMPDIR, no HAKMEM_* variable), closed
standard input and a time-out far beyond what it needs. Temporary directories are removed, and programs are started in a
session of their own, so that nothing they leave behind stays alive.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

LIBRARY = os.path.abspath(os.environ["TESTED_LIB"])
VARIANT = os.environ.get("TESTED_VARIANT", "standard")
FULL_SIZE = VARIANT == "standard"
WORDS_OF_THE_ALLOCATOR = re.compile(rb"^hakmem: ", re.MULTILINE)
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def fail(reason):
    print(f"FAILED: {reason}")
    sys.exit(1)


def need(name):
    """The path of a program; skips the test when it is not installed."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + SYSTEM_PATH)
    return path or skip(f"{name} is not installed")


def sized(standard, others):
    """How much of something: the full amount in the standard variant, less in the others."""
    return standard if FULL_SIZE else others


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


class Outcome:
    def __init__(self, status, output, errors):
        self.status, self.output, self.errors = status, output, errors

    def describe(self):
        tail = b"\n".join(self.errors.splitlines()[-15:]).decode(errors="replace")
        how = f"signal {-self.status}" if self.status < 0 else f"status {self.status}"
        return f"{how}, {len(self.output)} bytes of output, last words:\n{tail}"


def difference(before, after):
    for number, (one, two) in enumerate(zip(before.splitlines(), after.splitlines()), 1):
        if one != two:
            return f"line {number}: {one[:200]!r} and {two[:200]!r}"
    return f"{len(before)} and {len(after)} bytes"


class Session:
    def __init__(self, name):
        if not os.path.exists(LIBRARY):
            fail(f"there is no library {LIBRARY}")
        self.name = name
        self.directory = tempfile.mkdtemp(prefix=f"real-{name}-")
        self.compared = 0
        self.check_that_it_loads()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def environment(self, preloaded, more=None):
        environment = {
            "PATH": os.environ.get("PATH", SYSTEM_PATH),
            "HOME": self.directory,
            "TMPDIR": self.directory,
            "LC_ALL": "C",
            "TZ": "UTC",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        environment.update(more or {})
        if preloaded:
            environment["LD_PRELOAD"] = LIBRARY
        return environment

    def start(self, command, preloaded, environment=None, **more):
        return subprocess.Popen(
            command,
            env=self.environment(preloaded, environment),
            cwd=more.pop("cwd", self.directory),
            start_new_session=True,
            **more,
        )

    def run(self, command, preloaded, environment=None, cwd=None, data=None, timeout=400):
        process = self.start(
            command,
            preloaded,
            environment,
            cwd=cwd or self.directory,
            stdin=subprocess.PIPE if data is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            output, errors = process.communicate(data, timeout)
            return Outcome(process.returncode, output, errors)
        except subprocess.TimeoutExpired:
            end_group(process)
            process.communicate()
            return fail(f"{os.path.basename(command[0])} did not end in {timeout} s (preloaded: {preloaded})")
        finally:
            end_group(process)

    def check_that_it_loads(self):
        outcome = self.run(["/bin/sh", "-c", "cat /proc/$$/maps"], True)
        if outcome.status or os.path.basename(os.path.realpath(LIBRARY)).encode() not in outcome.output:
            fail(f"{LIBRARY} does not load: {outcome.describe()}")

    def same(self, what, before, after):
        """Compares two values that must not differ."""
        self.compared += 1
        if before != after:
            fail(f"{what} differs with the library: {before!r} without, {after!r} with it")

    def check_words(self, what, outcome):
        if WORDS_OF_THE_ALLOCATOR.search(outcome.errors):
            fail(f"{what}: the allocator complains: {outcome.describe()}")

    def both(self, command, what=None, normalise=lambda output: output, before_each=lambda: None, **how):
        """Runs the command without and with the library; the outcome of the second run when they agree."""
        what = what or os.path.basename(command[0])
        outcomes = []
        for preloaded in (False, True):
            before_each()
            outcomes.append(self.run(command, preloaded, **how))
        plain, tested = outcomes
        if plain.status != 0:
            skip(f"{what} does not work here even without the library: {plain.describe()}")
        self.compared += 1
        if tested.status != plain.status:
            fail(f"{what} fails with the library: {tested.describe()}")
        if normalise(tested.output) != normalise(plain.output):
            fail(f"{what} gives other output: {difference(normalise(plain.output), normalise(tested.output))}")
        self.check_words(what, tested)
        return tested

    def finish(self):
        if not self.compared:
            fail("nothing was compared")
        print(f"{self.name}: {self.compared} comparisons, no difference")
