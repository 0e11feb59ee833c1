"""How a command gives its result: lines on standard output, JSON in a file or, for `--json -`, on standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.errors import LabError


def give(lines: Sequence[str], data: Mapping[str, Any], to_json: str = "") -> None:
    """Prints the lines, and writes `data` when it was asked for; with `-` it stands in place of the lines."""
    text = json.dumps(data, indent=2, allow_nan=False) if to_json else ""
    if to_json == "-":
        print(text)
        return
    print("\n".join(lines))
    if to_json:
        write(to_json, text + "\n")


def check(path: str) -> None:
    """The file of --json before anything is measured, not after. Raises LabError when it cannot be written."""
    if path in ("", "-"):
        return
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise _refused(path, error) from None


def _refused(path: str, error: OSError) -> LabError:
    fix = "give --json a file that can be written, or - for standard output"
    return LabError(f"cannot write {path}: {error.strerror}", fix)


def write(path: str, text: str) -> None:
    """The file of --json. Raises LabError when it cannot be written."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _refused(path, error) from None


def add(path: str, line: str) -> None:
    """One more line of a --json that is written as it comes. Raises LabError when it cannot be."""
    if path == "-":
        print(line, flush=True)
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError as error:
        raise _refused(path, error) from None
