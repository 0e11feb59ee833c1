"""What several commands take on their command line."""

from __future__ import annotations

from typing import Annotated

import click
import typer


class _Number(click.ParamType):
    """Only how it is shown in the help: lab.explain.problems.process_id looks at the words."""

    name = "number"


# A process. A list of words all the same: with the hidden option --run they are a command.
Pid = Annotated[list[str], typer.Argument(metavar="PID", help="the process", click_type=_Number())]
