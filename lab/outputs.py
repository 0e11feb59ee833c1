"""The files that a command gives beside its page: each is tried, whatever becomes of the page and of the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab import files, results
from lab.errors import LabError, SeveralNotWritten


@dataclass(frozen=True)
class Output:
    """A file that was asked for: by which option, what the page calls it, and how its content is made."""

    option: str
    path: str
    said: str
    made: Callable[[], bytes]
    fix: str = ""  # in place of the usual one, where it cannot be written
    hint: str = ""  # a line below its name, where it was written and can be read again


def give(
    page: Sequence[str], outputs: Sequence[Output], data: Callable[[list[Output]], Mapping[str, Any]], to_json: str = ""
) -> None:
    """Prints the page, then writes the files, then says which were written.

    `data` makes the JSON of what was written, when it was asked for; with `-` it stands in place of all lines. Raises
    what kept a file from being written when all has been tried.
    """
    written: list[Output] = []
    errors: list[LabError] = []
    try:
        if to_json != "-":
            print("\n".join(page), flush=True)  # at once: a picture takes a while
    finally:
        for output in outputs:
            _try(output, written, errors)
        if to_json and to_json != "-":
            _try(Output("--json", to_json, "", lambda: results.text(data(written))), [], errors)
    if to_json == "-":
        results.give([], data(written), to_json)
    elif written:
        print("\n".join(["", *(line for output in written for line in _said(output))]))
    if errors:
        raise errors[0] if len(errors) == 1 else SeveralNotWritten(errors)


def _try(output: Output, written: list[Output], errors: list[LabError]) -> None:
    try:
        files.write(output.option, output.path, output.made())
    except LabError as error:
        error.fix = output.fix or error.fix
        errors.append(error)
    else:
        written.append(output)


def _said(output: Output) -> list[str]:
    hint = [f"  {output.hint}"] if output.hint and os.path.isfile(output.path) else []
    return [f"{output.said}: {output.path}", *hint]
