"""Tables and progress. Progress goes to a terminal only; results go out as soon as they are known.

Also the end of a command: help, Ctrl-C, a reader that goes away, output that cannot be written.
"""

import sys

import settings  # first: it makes lab importable

from lab import streams
from lab.endings import endings
from lab.errors import LabError
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
    """Runs a command's main, or says what it is for; Ctrl-C ends it quietly, what it has printed stays."""
    streams.prepare()
    status, ended = 0, []
    try:
        with endings() as ended:
            if {"--help", "-h"} & set(sys.argv[1:]):
                print(sys.modules["__main__"].__doc__.strip())
            else:
                status = main()
            streams.flush()
    except KeyboardInterrupt:
        print("\ninterrupted: the results above stand", file=sys.stderr)
        status = 128 + ended[0] if ended else 130
    except streams.NoReader:
        streams.give_up_output()
        status = 141
    except LabError as error:
        streams.give_up_output()
        print(f"{settings.PROGRAM}: {error.message}" + (f"; {error.fix}" if error.fix else ""), file=sys.stderr)
        status = error.status
    except OSError as error:
        print(f"{settings.PROGRAM}: {error.filename or 'a file'}: {error.strerror}", file=sys.stderr)
        status = 1
    sys.exit(status)
