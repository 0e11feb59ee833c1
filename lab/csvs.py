"""The CSV files of soaks, as the contract writes them: their columns, a line of each, and how they are read back.

    epoch,iter,throughput_ops_s,rss_mb                       one long process, an epoch a line
    epoch_s,elapsed_s,iter,throughput_ops_s,peak_rss_mb      a process per step, a step a line

`epoch` counts from 0, `iter` is the operations of that epoch or step alone, `epoch_s` the Unix time and `elapsed_s`
the seconds since the soak began, both at the step's end. A megabyte is 1024 * 1024 bytes. Speed is written as a whole
number, seconds with three digits, memory with two. Only the standard library is needed.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TextIO

from lab.errors import AskedWrongly

RSS_COLUMNS = ("rss_mb", "peak_rss_mb")


@dataclass(frozen=True)
class Epoch:
    """One epoch of a long process; `rss_mb` is the process's current memory at its end."""

    COLUMNS: ClassVar = ("epoch", "iter", "throughput_ops_s", "rss_mb")

    epoch: int
    iter: int
    throughput_ops_s: float
    rss_mb: float

    def cells(self) -> tuple[str, ...]:
        """The line's cells as text."""
        return str(self.epoch), str(self.iter), f"{self.throughput_ops_s:.0f}", f"{self.rss_mb:.2f}"


@dataclass(frozen=True)
class Step:
    """One process of a soak that begins a new one for each step; `peak_rss_mb` is the most that it ever held."""

    COLUMNS: ClassVar = ("epoch_s", "elapsed_s", "iter", "throughput_ops_s", "peak_rss_mb")

    epoch_s: int
    elapsed_s: float
    iter: int
    throughput_ops_s: float
    peak_rss_mb: float

    @property
    def rss_mb(self) -> float:
        """The memory of this line, under the name that both kinds have."""
        return self.peak_rss_mb

    def cells(self) -> tuple[str, ...]:
        """The line's cells as text."""
        when = str(self.epoch_s), f"{self.elapsed_s:.3f}"
        return *when, str(self.iter), f"{self.throughput_ops_s:.0f}", f"{self.peak_rss_mb:.2f}"


Row = Epoch | Step


class Writer:
    """Writes one kind of line; each is in the file as soon as it is known, so that a killed soak keeps its lines."""

    def __init__(self, file: TextIO, kind: type[Row]) -> None:
        self._file = file
        self._line(kind.COLUMNS)

    def row(self, row: Row) -> None:
        """Adds a line."""
        self._line(row.cells())

    def _line(self, cells: tuple[str, ...]) -> None:
        print(",".join(cells), file=self._file, flush=True)


@dataclass(frozen=True)
class Figures:
    """What analyses need of a file: an entry a line, in the file's order."""

    throughput_ops_s: list[float]
    rss_mb: list[float]


def read(path: str | Path) -> Figures:
    """The figures of a soak's file. It may have more columns, in any order: earlier tools wrote some.

    Raises AskedWrongly, naming the file and the line, when it cannot be read, has no rows, lacks a column, or holds a
    cell that is not a finite number of at least 0.
    """
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AskedWrongly(f"cannot read {path}: {error}") from None
    if not rows:
        raise AskedWrongly(f"{path}: no rows")
    rss = [column for column in RSS_COLUMNS if column in rows[0]]
    if "throughput_ops_s" not in rows[0] or not rss:
        raise AskedWrongly(f"{path}: needs the columns throughput_ops_s and rss_mb or peak_rss_mb")
    return Figures(_column(path, rows, "throughput_ops_s"), _column(path, rows, rss[0]))


def _column(path: str | Path, rows: list[dict[str, str]], name: str) -> list[float]:
    values = []
    for line, row in enumerate(rows, 2):
        try:
            value = float(row[name])
        except (TypeError, ValueError):
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise AskedWrongly(f"{path}, line {line}: {name} is not a number but '{row[name] or ''}'")
        values.append(value)
    return values
