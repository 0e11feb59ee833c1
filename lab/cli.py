"""The command line of the lab: finds the command, turns errors into words and exit statuses.

Each command is the function `command` of lab/commands/<name>.py, a Typer function with its own options; only the
module of the command that was asked for is imported, so that `hakmem peers` does not wait for matplotlib.

Exit status: what the command returns (None is 0) or gives to typer.Exit; that of a LabError; 2 for a command line
that does not fit; 130 after Ctrl-C (the commands keep what they measured before they let it pass).
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click
import typer

from lab.errors import LabError

INTERRUPTED = 130
COMMANDS = {
    "bench": "the mixed workload and the suite, every allocator against every other",
    "ab": "two builds, boxes or option values: GO, NEUTRAL or NO-GO, with a record",
    "soak": "long runs of several allocators, epoch by epoch: drift of speed and memory",
    "tail": "latency of single calls, p50 to p99.99",
    "scorecard": "one page that says where hakmem stands, against all peers",
    "explain": "where the resident memory of a process is",
    "heap": "which call paths hold the memory of a process, as a table and for pprof",
    "calls": "how long the calls of a process take, and which came last",
    "top": "what explain says, as a live view, with what changed",
    "peers": "build or install the other allocators, and say which versions",
}


def usage() -> str:
    """The list of commands."""
    rows = "\n".join(f"  {name:<11}{sentence}" for name, sentence in COMMANDS.items())
    return f"usage: hakmem COMMAND ...\n\n{rows}\n\n`hakmem COMMAND --help` lists the options of a command."


def application(name: str) -> typer.Typer:
    """The Typer application of one command. Raises KeyError when there is no such command."""
    sentence = COMMANDS[name]
    function = importlib.import_module(f"lab.commands.{name}").command
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
    app.command(name, help=function.__doc__ or sentence)(function)
    return app


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command line `words` (default: that of this process); returns the exit status."""
    words = list(sys.argv[1:] if words is None else words)
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage(), file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    name = words[0]
    if name not in COMMANDS:
        print(f"hakmem: unknown command '{name}'\n  use one of: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    return run(name, words[1:])


def run(name: str, words: list[str]) -> int:
    """Runs one command to its end and turns what it raises into an exit status."""
    try:
        status = application(name)(args=words, prog_name=f"hakmem {name}", standalone_mode=False)
    except LabError as error:
        print(error.text(), file=sys.stderr)
        return error.status
    except click.ClickException as error:
        print(f"hakmem: {error.format_message()}\n  `hakmem {name} --help` lists the options", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, click.Abort):
        status = INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`); what is still in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    if status == INTERRUPTED:  # Typer turns Ctrl-C into this status without a word
        print("hakmem: interrupted", file=sys.stderr)
    return status if isinstance(status, int) else 0
