"""How a command gives its result: lines on standard output, JSON in a file or, for `--json -`, on standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lab import files


def give(lines: Sequence[str], data: Mapping[str, Any], to_json: str = "") -> None:
    """Prints the lines, and writes `data` when it was asked for; with `-` it stands in place of the lines."""
    try:  # the file first: a reader that goes away must not cost it, nor it the lines
        if to_json:
            put(data, to_json)
    finally:
        if to_json != "-":
            print("\n".join(lines))


def put(data: Mapping[str, Any], to_json: str) -> None:
    """The JSON, in its file or on standard output. Raises LabError when the file cannot be written."""
    if to_json == "-":
        print(text(data).decode(), end="")
    else:
        files.write("--json", to_json, text(data))


def text(data: Mapping[str, Any]) -> bytes:
    """The JSON as it stands in a file."""
    return json.dumps(data, indent=2, allow_nan=False).encode() + b"\n"


def check(path: str, *others: tuple[str, str]) -> None:
    """The file of --json before anything is measured, not after; and those of `others`, (option, path).

    Raises LabError when one cannot be written, or two are the same.
    """
    files.check_all([*others, ("--json", "" if path == "-" else path)])


def write(path: str, text: str) -> None:
    """The file of --json. Raises LabError when it cannot be written."""
    files.write("--json", path, text.encode())


def add(path: str, line: str) -> None:
    """One more line of a --json that is written as it comes. Raises LabError when it cannot be."""
    if path == "-":
        print(line, flush=True)
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError as error:
        raise files.refused("--json", path, error.strerror or "") from None
