"""The command line of the analyzers: a report on each CSV file of a soak that is named."""

import sys

from settings import refuse  # first: it makes lab importable

from lab.errors import LabError


def report_each(report):
    """Calls report(path) for each argument; bad input ends the command with its message."""
    if len(sys.argv) < 2:
        refuse("at least one CSV file of a soak")
    try:
        for path in sys.argv[1:]:
            report(path)
    except LabError as error:
        refuse(error.message)
