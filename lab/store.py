"""Results as plain text: one JSON object a line, appended and never changed (results/*.jsonl, which git ignores).

A line holds what was measured (`kind`: "scorecard", "bench" ...), when, on which commit and with which options and
machine, and the result itself under `data`. It can be read with any tool: `jq -c '[.date, .commit]' results/*.jsonl`.
A line that cannot be read (a disk was full, somebody edited it) is skipped and counted, never a reason to fail.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from lab import files
from lab.errors import AskedWrongly, LabError
from lab.model import Machine

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
FORMAT = 1


@dataclass(frozen=True)
class Record:
    """One stored result. `commit` ends with "+" when files of the tree differed from it; "" without git."""

    kind: str
    data: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    commit: str = ""
    date: str = ""
    format: int = FORMAT

    @classmethod
    def now(cls, kind: str, data: Mapping[str, Any], options: Mapping[str, Any], machine: Machine) -> Record:
        """A record of this moment, tree and machine."""
        date = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return cls(kind, dict(data), dict(options), asdict(machine), commit(), date)

    def same_place(self, other: Record) -> bool:
        """Whether figures of both can be compared: the same kind, processor, number of cores and kernel release."""
        keys = ("cpu", "cores", "kernel")
        return self.kind == other.kind and all(self.machine.get(key) == other.machine.get(key) for key in keys)


def commit(root: Path = ROOT) -> str:
    """The abbreviated commit of the tree, with "+" when tracked files were changed; "" when git does not know."""
    head = _git(root, "rev-parse", "--short=12", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no") if head else ""
    return head + ("+" if changed else "")


def origin(kind: str, machine: Machine | None = None) -> dict[str, Any]:
    """What the --json of every measurement begins with: what it is, of which commit, and where and when it was measured."""
    return {"kind": kind, "commit": commit(), "machine": asdict(machine or Machine.read())}


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def path_of(kind: str) -> Path:
    """Where results of a kind are stored without --store."""
    return RESULTS / f"{kind}s.jsonl"


def append(record: Record, path: Path) -> None:
    """Adds one line; whole, also when another process appends at the same time. Raises LabError when it cannot."""
    line = json.dumps(plain(asdict(record)), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0, os.SEEK_END)
            broken = file.tell() > 0 and _last_byte(file) != b"\n"
            file.write((b"\n" if broken else b"") + line.encode() + b"\n")
    except OSError as error:
        raise files.refused("--store", str(path), error.strerror or "") from None


def check(path: Path) -> None:
    """The file before anything is measured, not after. Raises LabError when it cannot be written, or is another's."""
    _regular(path)
    files.check("--store", str(path))
    if path.is_file() and path.stat().st_size > 0 and not read(path)[0]:
        raise AskedWrongly(f"{path} holds no results", "name another file with --store: a new one, or one that a scorecard has made")


def _regular(path: Path) -> None:
    """Raises AskedWrongly for a device or a pipe: some have no end, and reading them would take all memory."""
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise AskedWrongly(f"{path} is no regular file", "results are read from --store as well as written: name a file, new or of a scorecard")


def _last_byte(file: Any) -> bytes:
    file.seek(-1, os.SEEK_END)
    return file.read(1)


def read(path: Path, kind: str = "") -> tuple[list[Record], int]:
    """(the records in the order in which they were stored, how many lines could not be read)."""
    _regular(path)
    records: list[Record] = []
    unreadable = 0
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}", "name another file with --store") from None
    for line in filter(str.strip, lines):
        record = _parse(line)
        if record is None:
            unreadable += 1
        elif not kind or record.kind == kind:
            records.append(record)
    return records, unreadable


def _parse(line: str) -> Record | None:
    try:
        fields = json.loads(line)
        known = {name: fields[name] for name in Record.__dataclass_fields__ if name in fields}
        record = Record(**known)
    except (ValueError, TypeError):
        return None
    return record if isinstance(record.data, dict) and record.format == FORMAT else None


def plain(value: Any) -> Any:
    """The value with what JSON cannot say replaced: NaN and infinity by None, NumPy's numbers by Python's."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        return [plain(entry) for entry in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
