"""The answer as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from lab import tail
from lab.calls.latency import ALL, Latency
from lab.calls.look import Look
from lab.calls.trace import Caller, Trace, by_caller
from lab.explain import identity
from lab.heap.report import size
from lab.spoken import counted
from lab.tables import aligned

TOP = 10
PERCENTS = [f"p{percent:g}" for percent in tail.PERCENTS]
TITLES = ["", "calls", *PERCENTS, "max", "ms", "% of time"]
WIDEST_NAME = 80


def lines(look: Look, top: int = TOP) -> list[str]:
    """The page for a person."""
    page = [identity.line(look)]
    page += _latencies(look)
    if look.trace is not None:
        page += ["", *_events(look.trace, look.names, top)]
    if look.records.torn:
        page.append(identity.left_out(look.records.torn))
    return page


def as_json(look: Look) -> dict[str, Any]:
    """All of it, for machines."""
    return {
        **identity.as_json(look),
        "time_ns": look.time_ns,
        "timed": look.records.timed,
        "ns_per_tick": look.records.ns_per_tick,
        "torn_records": look.records.torn,
        "cpu_s": look.cpu_s,
        "allocator_s": look.total_s,
        "share_of_cpu": look.share,
        "large_from_bytes": look.records.largest_small + 1,
        "threads": [
            {"number": thread.number, "calls": int(thread.counts.sum()), "events": len(thread.events)}
            for thread in look.records.threads
        ],
        "percents": [*tail.PERCENTS, 100.0],
        "kinds": {
            one.kind: {"calls": one.count, "total_ns": one.total_ns, "share": _share(one, look.latencies), "ns": one.ns}
            for one in look.latencies
        },
        "trace": None if look.trace is None else _trace_as_json(look.trace, look.names),
    }


def _trace_as_json(trace: Trace, names: dict[int, str]) -> dict[str, Any]:
    return {
        "events": len(trace),
        "overwritten": trace.overwritten,
        "whole_from_ns": trace.whole_from_ns,
        "torn": trace.torn,
        "callers": [asdict(one) for one in by_caller(trace, names)],
    }


def _latencies(look: Look) -> Iterable[str]:
    if not look.records.timed:
        yield "how long calls take is not noted down: that takes HAKMEM_LATENCY=1"
        return
    if not look.latencies or not look.latencies[-1].count:
        yield "no calls yet"
        return
    count = len(look.records.threads)
    of = "the record of one thread" if count == 1 else f"the records of {count} threads, merged"
    yield f"{of}; a thread that ends leaves its record to the next"
    said = f"inside the allocator: {_seconds(look.total_s)}"
    if look.share is not None:
        said += f", {100 * look.share:.1f} % of the {_seconds(look.cpu_s)} of CPU time of the process"
    yield said
    yield ""
    rows = [_row(one, look.latencies) for one in look.latencies if one.count]
    yield from aligned(TITLES, rows)
    tick = f"one tick of the counter is {look.records.ns_per_tick:.3g} ns"
    yield f"p50 to max in ns; large: more than {look.records.largest_small:,} bytes were asked for; {tick}"
    yield "buckets are at most 1/32 wide, so that a figure is off by 1/64 at most, or by half a tick"


def _row(one: Latency, found: list[Latency]) -> list[str]:
    name = f"{one.kind} calls" if one.kind == ALL else one.kind
    return [name, f"{one.count:,}", *map(_ns, one.ns), f"{one.total_ns / 1e6:,.2f}", f"{100 * _share(one, found):.1f}"]


def _share(one: Latency, found: list[Latency]) -> float:
    whole = found[-1].total_ns
    return one.total_ns / whole if whole else 0.0


def _events(trace: Trace, names: dict[int, str], top: int) -> Iterable[str]:
    older = f"{counted(trace.overwritten, 'older one was', 'older ones were')} overwritten"
    if not len(trace):
        yield f"events: none yet; {older}"
        return
    span = (int(trace.ns[-1]) - int(trace.ns[0])) / 1e9
    yield f"events: the last {counted(len(trace), 'call')}, of {_seconds(span)}; {older}"
    if trace.overwritten:
        yield f"those of all threads are there from {_seconds(trace.whole_from_ns / 1e9)} on"
    if trace.torn:
        yield f"left out, for it made no sense: {counted(trace.torn, 'event')}"
    callers = by_caller(trace, names)[:top]
    if callers:
        titles = ["function that called", "events", "%", "allocated", "bytes", "freed", "bytes", "resized"]
        yield from aligned(titles, [_caller(one, len(trace)) for one in callers])


def _caller(one: Caller, events: int) -> list[str]:
    name = one.name if len(one.name) <= WIDEST_NAME else one.name[: WIDEST_NAME - 3] + "..."
    cells = [name, f"{one.events:,}", f"{100 * one.events / events:.1f}", f"{one.blocks:,}", size(one.bytes)]
    return [*cells, f"{one.freed:,}", size(one.freed_bytes), f"{one.resized:,}"]


def _ns(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"
