"""Tables, CSV lines and progress. Progress goes to a terminal only; results go out as soon as they are known."""

import sys


class Progress:
    """One line on stderr that is written over; nothing when stderr is not a terminal."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def say(self, text):
        if self.shown:
            print(f"\r\x1b[K{text[:100]}", end="", file=sys.stderr, flush=True)

    def clear(self):
        self.say("")


def table(titles, rows, file=None):
    """Columns as wide as their widest cell: the first to the left, the others to the right."""
    cells = [[str(cell) for cell in row] for row in [titles, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
    for row in cells:
        line = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(line).rstrip(), file=file or sys.stdout, flush=True)


def csv_line(*cells):
    print(",".join(str(cell) for cell in cells), flush=True)


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
