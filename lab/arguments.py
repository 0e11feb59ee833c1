"""What several commands take on their command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import click
import typer


class _Number(click.ParamType):
    """Only how it is shown in the help: lab.explain.problems.process_id looks at the words."""

    name = "number"


# A process. A list of words all the same: with the hidden option --run they are a command.
Pid = Annotated[list[str], typer.Argument(metavar="PID", help="the process", click_type=_Number())]

# Who is measured, and how quietly: the same names in every command.
PEER = ("--peer", "--allocator", "-p")
ALLOCATOR = ("--allocator", "--peer", "-p")
QUIET = ("--quiet", "-q")
CPU = "last|any|N"


def one_of(words: Iterable[str]) -> str:
    """What the help shows in the place of TEXT."""
    return "|".join(words)
