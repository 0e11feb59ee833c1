"""Runs test modules of the interpreter's own test suite and writes each test's outcome to a file.

    python3 suite_runner.py FILE run|list MODULE [PATTERN...]

FILE gets one JSON object {test id: outcome}; an outcome is ok, skipped, FAIL or ERROR; with `list`, the tests are only
collected, and the outcome is empty. PATTERN limits the tests to ids that contain one of them; !PATTERN leaves out those
that contain it. Whatever the tests print goes where it goes. This file is run by the interpreter under test (python_suite.py starts it, and its tests start it
again as __mp_main__), so that it uses the standard library only and does nothing when it is imported.
"""

import json
import sys
import unittest


class Outcomes(unittest.TestResult):
    """Remembers the worst outcome of each test and prints the traceback of a failure."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def note(self, test, outcome, error=None):
        name = test.id()
        if outcome in ("FAIL", "ERROR"):
            self.outcomes[name] = outcome
            print(f"{outcome}: {name}\n{self._exc_info_to_string(error, test)}", file=sys.stderr)
        else:
            self.outcomes.setdefault(name, outcome)

    def addSuccess(self, test):
        self.note(test, "ok")

    def addSkip(self, test, reason):
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.note(test, "ok")

    def addUnexpectedSuccess(self, test):
        self.note(test, "ok")

    def addFailure(self, test, err):
        self.note(test, "FAIL", err)

    def addError(self, test, err):
        self.note(test, "ERROR", err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(test, "ERROR", err)


def tests_in(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_in(test)
        else:
            yield test


def wanted(name, patterns):
    without = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    within = [pattern for pattern in patterns if not pattern.startswith("!")]
    return not any(part in name for part in without) and (not within or any(part in name for part in within))


def main():
    file, action, module, *patterns = sys.argv[1:]
    import test.support

    test.support.use_resources = []
    suite = unittest.TestSuite(
        test
        for test in tests_in(unittest.defaultTestLoader.loadTestsFromName(module))
        if wanted(test.id(), patterns)
    )
    result = Outcomes()
    if action == "run":
        suite.run(result)
    else:
        result.outcomes = {test.id(): "" for test in tests_in(suite)}
    with open(file, "w", encoding="utf-8") as output:
        json.dump(result.outcomes, output)


if __name__ == "__main__":
    main()
