"""CPython's own tests on the tested library, with PYTHONMALLOC=malloc, so that every object is one of its blocks.

    python_suite.py MODULE...      for example: python_suite.py test_gc test_json

Finds an interpreter that has its test suite. The modules run with the library; the tests that were run must be all that
an interpreter without the library finds. A test that fails is run again alone, at most twice, because some of these
tests watch the clock and fail now and then on a busy machine whatever the allocator is; if it goes on failing it is run
without the library as well, and what fails there, too, is not the library's. A process that dies is a failure at once.

The slow module is cut into groups that run beside each other: they mostly sleep.
"""

import json
import os
import subprocess
import sys
import threading

from both import WORDS_OF_THE_ALLOCATOR, Session, end_group, fail, sized, skip

HERE = os.path.dirname(os.path.abspath(__file__))
RUNNER = os.path.join(HERE, "suite_runner.py")
TIMEOUT = 600

FORK_GROUPS = (
    ("WithProcesses",),
    ("WithThreads",),
    ("WithManager",),
    ("!WithProcesses", "!WithThreads", "!WithManager"),
)
# In the reduced variants only the groups whose tests fork most.
GROUPS = {"test_multiprocessing_fork": FORK_GROUPS if sized(True, False) else FORK_GROUPS[:1]}


def interpreters():
    """Interpreters that may have a test suite, the system's first; real programs, not shims."""
    for name in ("/usr/bin/python3", "python3", sys.executable):
        try:
            found = subprocess.run(
                [name, "-c", "import sys; print(getattr(sys, '_base_executable', sys.executable))"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
        except OSError:
            continue
        if found.returncode == 0:
            yield found.stdout.strip()


def find_interpreter(modules):
    wanted = "import importlib.util as u, sys; sys.exit(not all(u.find_spec('test.' + m) for m in sys.argv[1:]))"
    for path in interpreters():
        if subprocess.run([path, "-c", wanted, *modules], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0:
            return path
    return skip("no python3 here has its test suite (Debian: libpython3.11-testsuite)")


class Suite:
    def __init__(self, session, interpreter):
        self.session, self.interpreter = session, interpreter
        self.runs = 0
        self.lock = threading.Lock()

    def run(self, action, module, patterns, preloaded):
        """{test: outcome}; ends the test when the process dies or hangs."""
        with self.lock:
            self.runs += 1
            directory = self.session.path(f"run{self.runs}")
        os.mkdir(directory)
        file, log = os.path.join(directory, "outcomes"), os.path.join(directory, "log")
        command = [self.interpreter, "-X", "faulthandler", RUNNER, file, action, "test." + module, *patterns]
        with open(log, "wb") as output:
            process = self.session.start(
                command,
                preloaded,
                {"PYTHONMALLOC": "malloc", "TMPDIR": directory, "HOME": directory},
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                status = process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                end_group(process)
                process.wait()
        with open(log, "rb") as output:
            words = output.read()
        what = f"{module} {' '.join(patterns)} ({'with' if preloaded else 'without'} the library)"
        tail = b"\n".join(words.splitlines()[-40:]).decode(errors="replace")
        if status != 0:
            return {}, f"{what}: {'no end' if status is None else f'status {status}'}\n{tail}"
        if preloaded and WORDS_OF_THE_ALLOCATOR.search(words):
            return {}, f"{what}: the allocator complains\n{tail}"
        with open(file, encoding="utf-8") as outcomes:
            return json.load(outcomes), None

    def passes(self, module, test, preloaded, tries):
        """Whether the one test passes alone in one of the tries."""
        for _ in range(tries):
            outcomes, problem = self.run("run", module, [test], preloaded)
            if problem:
                fail(problem)
            if outcomes.get(test) in ("ok", "skipped"):
                return True
        return False

    def groups(self, module):
        """Runs the groups of a module beside each other; all outcomes."""
        results = []

        def run_group(patterns):
            results.append(self.run("run", module, patterns, True))

        threads = [threading.Thread(target=run_group, args=(patterns,)) for patterns in GROUPS.get(module, ((),))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for outcomes, problem in results:
            if problem:
                fail(problem)
        return {test: outcome for outcomes, _ in results for test, outcome in outcomes.items()}

    def check(self, module):
        outcomes = self.groups(module)
        everything = GROUPS.get(module) in (None, FORK_GROUPS)
        expected, problem = self.run("list", module, () if everything else GROUPS[module][0], False)
        if problem:
            skip(problem)
        missing = set(expected) - set(outcomes)
        if missing or not outcomes:
            fail(f"{module}: not run with the library: {sorted(missing)[:20]}")
        for test in sorted(test for test, outcome in outcomes.items() if outcome not in ("ok", "skipped")):
            if test not in expected:
                fail(f"{module}: {test}: {outcomes[test]}")
            if self.passes(module, test, True, 2):
                print(f"{test}: passes when it runs alone")
            elif self.passes(module, test, False, 1):
                fail(f"{test} fails with the library and passes without it")
            else:
                print(f"{test}: fails without the library as well")
        counts = {word: list(outcomes.values()).count(word) for word in sorted(set(outcomes.values()))}
        print(f"{module}: {counts}")
        self.session.compared += len(outcomes)


def main():
    modules = sys.argv[1:]
    interpreter = find_interpreter(modules)
    with Session("python") as session:
        suite = Suite(session, interpreter)
        for module in modules:
            suite.check(module)
        session.finish()


if __name__ == "__main__":
    main()
