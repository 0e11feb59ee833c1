"""The command line of the lab: finds the command, turns errors into words and exit statuses.

Each command is the function `command` of lab/commands/<name>.py, a Typer function with its own options; only the
module of the command that was asked for is imported, so that `hakmem peers` does not wait for matplotlib.

Exit status: what the command returns (None is 0) or gives to typer.Exit; that of a LabError; 2 for a command line
that does not fit; 130 after Ctrl-C (the commands keep what they measured before they let it pass). SIGTERM, and the
SIGHUP of a terminal that is closed, are taken for a Ctrl-C, and end with 143 and 129: what was measured is kept, a
process that was stopped goes on, and no temporary file stays.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence

import click
import typer
from click.core import ParameterSource

from lab import streams
from lab.endings import endings
from lab.errors import AskedWrongly, LabError, of_the_place

INTERRUPTED = 130
NO_READER = 141
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


def application(name: str) -> click.Command:
    """One command, as Typer makes it. Raises KeyError when there is no such command."""
    sentence = COMMANDS[name]
    function = importlib.import_module(f"lab.commands.{name}").command
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
    app.command(name, help=function.__doc__ or sentence)(function)
    made = typer.main.get_command(app)
    for parameter in made.params:
        if parameter.default is None:  # "[default: None]" says nothing
            parameter.show_default = False  # type: ignore[attr-defined]
        if isinstance(parameter, click.Option):
            parameter.callback = _not_empty
    return made


def _not_empty(context: click.Context, option: click.Parameter, value: object) -> object:
    """Raises AskedWrongly when the option was given without a word: "$UNSET" must not do what nobody asked for."""
    given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    if given and "" in (value if isinstance(value, list | tuple) else [value]):
        name = option.opts[0]
        raise AskedWrongly(f"{name} '' has no value", f"give it as {name} {option.make_metavar()}, or leave it out")
    return value


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command line `words` (default: that of this process); returns the exit status."""
    streams.prepare()
    words = list(sys.argv[1:] if words is None else words)
    if not words or words[0] in ("-h", "--help", "help"):
        return _to_its_end(lambda: _usage(bool(words)))
    name = words[0]
    if name not in COMMANDS:
        print(f"hakmem: unknown command '{name}'\n  use one of: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    return run(name, words[1:])


def run(name: str, words: list[str]) -> int:
    """Runs one command to its end and turns what it raises into an exit status."""
    return _to_its_end(lambda: _status(name, words))


def _usage(asked: bool) -> int:
    print(usage(), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def _to_its_end(command: Callable[[], int]) -> int:
    """Until its output is written: that may fail as well."""
    try:
        with endings() as ended:
            status = command()
            streams.flush()
    except streams.OutputError as error:
        streams.give_up_output()
        print(error.text(), file=sys.stderr)
        return error.status
    except streams.NoReader:  # the reader went away (`| head`)
        streams.give_up_output()
        return NO_READER
    if status == INTERRUPTED:  # Typer turns Ctrl-C into this status without a word
        print("hakmem: interrupted", file=sys.stderr)
    return 128 + ended[0] if ended else status


def _status(name: str, words: list[str]) -> int:
    try:
        status = application(name).main(args=words, prog_name=f"hakmem {name}", standalone_mode=False)
    except streams.OutputError:
        raise
    except LabError as error:
        print(error.text(), file=sys.stderr)
        return error.status
    except click.ClickException as error:
        print(f"hakmem: {error.format_message()}\n  `hakmem {name} --help` lists the options", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OSError as error:
        told = of_the_place(error)
        if not told:
            raise
        print(told.text(), file=sys.stderr)
        return told.status
    return status if isinstance(status, int) else 0
