"""The command line of the analyzers: a report on each CSV file of a soak that is named."""

import sys

from output import until_interrupted
from settings import refuse


def report_each(report):
    """Calls report(path) for each argument; bad input ends the command with its message."""

    def main():
        if len(sys.argv) < 2:
            refuse("at least one CSV file of a soak")
        for path in sys.argv[1:]:
            report(path)
        return 0

    until_interrupted(main)
