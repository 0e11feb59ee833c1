"""The files of a soak, in one directory.

NAME.csv for each allocator, written line by line while it runs (lab/csvs.py; scripts/analyze_soak.py reads them),
then throughput.svg and .png, rss.svg and .png over time, and soak.json with everything.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from lab import csvs, files
from lab.curves import Chart, draw
from lab.errors import LabError
from lab.soak.outcome import Soak
from lab.soak.sources import MODELS


RESULTS = Path(__file__).resolve().parents[2] / "results"


class Directory:
    """Where the files go; a context manager that closes them."""

    def __init__(self, path: Path | None, names: Sequence[str], model: str) -> None:
        """Makes the directory (None: one of the day under results/) and begins the CSV files.

        Raises LabError when it cannot, or when a soak is there already.
        """
        self.path = path or RESULTS / f"soak-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}"
        self._files: list[TextIO] = []
        self._writers: dict[str, csvs.Writer] = {}
        self._failed: LabError | None = None
        try:
            if path:
                path.mkdir(parents=True, exist_ok=True)
            else:
                self.path = files.fresh(self.path)
            for name in names:
                self._files.append(open(self.path / f"{file_name(name)}.csv", "x", encoding="utf-8"))
                self._writers[name] = csvs.Writer(self._files[-1], MODELS[model].ROW)
        except FileExistsError as error:
            self.__exit__()
            raise LabError(f"{error.filename} is there already", "choose another directory with --out") from None
        except OSError as error:
            self.__exit__()
            raise self._refused(error) from None

    def __enter__(self) -> Directory:
        return self

    def __exit__(self, *unused: object) -> None:
        for file in self._files:
            with contextlib.suppress(OSError):  # what was not written has been said
                file.close()

    def keep(self, soak: Soak, name: str) -> None:
        """Adds the newest line of an allocator to its file; nothing for one that has just crashed.

        When the disk is full the soak goes on, without lines: `finish` says so.
        """
        if name not in soak.crashed and not self._failed:
            try:
                self._writers[name].row(soak.rows[name][-1])
            except OSError as error:
                self._failed = self._refused(error, f"{file_name(name)}.csv")

    def finish(self, soak: Soak, data: Mapping[str, Any]) -> None:
        """Writes the JSON, which is `data`, and the plots. Raises LabError when they, or lines before, cannot be written."""
        try:
            files.put(self.path / "soak.json", json.dumps(data, indent=1).encode() + b"\n")
        except OSError as error:
            raise self._refused(error, "soak.json") from None
        if soak.names():
            self._plots(soak)
        if self._failed:
            raise self._failed

    def _refused(self, error: OSError, name: str = "") -> LabError:
        place = error.filename or self.path / name
        return LabError(f"cannot write {place}: {error.strerror}", "choose another directory with --out")

    def _plots(self, soak: Soak) -> None:
        memory = "peak RSS of the step, MB" if MODELS[soak.model].ROW is csvs.Step else "RSS, MB"
        what = f"mixed workload, WS={soak.working_set}"
        minutes = {name: [seconds / 60 for seconds in ended] for name, ended in soak.ended_s.items()}
        millions = {name: [speed / 1e6 for speed in speeds] for name, speeds in soak.throughput().items()}
        for file, title, label, values in (
            ("throughput", "Throughput", "M ops/s", millions),
            ("rss", "Memory", memory, soak.rss_mb()),
        ):
            lines = {name: (minutes[name], values[name]) for name in soak.names()}
            draw(Chart(f"{title} over time, {what}", "minutes", label), lines, self.path / file)


def file_name(name: str) -> str:
    """An allocator's name as part of a file's name."""
    return re.sub(r"[^\w.+-]", "_", name)
