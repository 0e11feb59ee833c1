"""`hakmem calls`: how long the calls of a process take, and which came last. Also behind `hakmem run --calls, --trace`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from lab import files, outputs, results
from lab.arguments import Pid
from lab.calls import latency, look, report, trace
from lab.calls.look import Look
from lab.commands import explain, heap
from lab.errors import LabError
from lab.explain import held
from lab.explain.problems import process_id
from lab.outputs import Output


def command(
    pid: Pid,
    plot: Annotated[str, typer.Option("--plot", metavar="FILE", help="percentile curves: .svg, .png or .pdf")] = "",
    to_trace: Annotated[str, typer.Option("--trace", metavar="FILE", help="the events that are kept, as CSV")] = "",
    histogram: Annotated[
        str, typer.Option("--histogram", metavar="FILE", help="HdrHistogram's log (.hlog), or its list of percentiles")
    ] = "",
    top: Annotated[int, typer.Option(min=0, help="functions that called, of the events")] = report.TOP,
    run: Annotated[str, typer.Option("--run", hidden=True)] = "",
    explained: Annotated[bool, typer.Option("--explain", hidden=True)] = False,
    profile: Annotated[str, typer.Option("--heap", hidden=True)] = "",
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="also as JSON; - is standard output")] = "",
) -> int:
    """How long do malloc and free take here? Every call, p50 to p99.99, and the last events with who called.

    The process must have been started with `hakmem run --calls -- CMD` (or `--trace FILE`), or with HAKMEM_LATENCY=1 or
    HAKMEM_TRACE=65536 on the variant observe. Read from outside: it neither runs code for it nor notices.
    """
    files.check_picture(plot)
    results.check(to_json, ("--plot", plot), ("--trace", to_trace), ("--histogram", histogram), ("--heap", profile))

    def give(pid: int, state: str) -> None:
        found = look.take(pid, state)
        _check(found, to_trace, plot or histogram)
        asked = _outputs(found, to_trace, plot, histogram)
        outputs.give(report.lines(found, top), asked, lambda written: report.as_json(found), to_json)

    if run:
        reports: list[Callable[[int], None]] = [explain.at_exit] if explained else []
        if profile:
            reports.append(lambda pid: heap.at_exit(pid, profile))
        return held.run(pid, run, [*reports, lambda pid: give(pid, "exit")])
    give(process_id(pid, "hakmem calls PID, or hakmem run --calls -- CMD"), "running")
    return 0


def _check(found: Look, to_trace: str, of_times: str) -> None:
    """Raises LabError when a file is asked for of what is not noted down."""
    if to_trace and found.trace is None:
        fix = "start it with `hakmem run --trace FILE -- CMD`, or HAKMEM_TRACE=65536"
        raise LabError(f"process {found.pid} keeps no events: there is nothing to write to {to_trace}", fix)
    if of_times and not found.records.timed:
        fix = "start it with `hakmem run --calls -- CMD`, or HAKMEM_LATENCY=1"
        raise LabError(f"calls of process {found.pid} are not timed: there is nothing to write to {of_times}", fix)


def _outputs(found: Look, to_trace: str, plot: str, histogram: str) -> list[Output]:
    """The files that are asked for."""
    events, asked = found.trace, []
    if to_trace and events is not None:
        asked.append(Output("--trace", to_trace, "events", lambda: trace.as_csv(events, found.names)))
    if histogram:
        asked.append(Output("--histogram", histogram, "histograms", lambda: latency.written(found.latencies, histogram)))
    if plot:
        asked.append(Output("--plot", plot, "picture", lambda: _picture(found, Path(plot).suffix[1:])))
    return asked


def _picture(found: Look, kind: str) -> bytes:
    from lab.calls import picture  # it takes Matplotlib, which is slow to load

    return picture.drawn(found, kind)
