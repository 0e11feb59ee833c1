"""Tables and progress. Progress goes to a terminal only; results go out as soon as they are known."""

import sys

import settings  # noqa: F401: it makes lab importable
from lab.tables import aligned


class Progress:
    """One line on stderr that is written over; nothing when stderr is not a terminal."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def say(self, text):
        if self.shown:
            print(f"\r\x1b[K{text[:100]}", end="", file=sys.stderr, flush=True)

    def clear(self):
        self.say("")


def table(titles, rows):
    """Prints columns: the first to the left, the others to the right."""
    print("\n".join(aligned(titles, [list(map(str, row)) for row in rows])), flush=True)


def millions(operations_per_second):
    return f"{operations_per_second / 1e6:.2f}"


def until_interrupted(main):
    """Runs a command's main; Ctrl-C ends it quietly, what it has printed stays."""
    try:
        status = main()
    except KeyboardInterrupt:
        print("\ninterrupted: the results above stand", file=sys.stderr)
        status = 130
    except BrokenPipeError:
        status = 1
    sys.exit(status)
