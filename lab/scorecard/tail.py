"""Section 5, the tail: nanoseconds of single calls of malloc and free, p50 to p99.99 (lab/tail.py says how)."""

from __future__ import annotations

from lab import lineup
from lab import tail as calls
from lab.model import Workload
from lab.scorecard.card import Tail, TailRow
from lab.scorecard.setting import Setting, Timer

DRIVER = "tail_mixed"
PROBE_OPERATIONS = 200_000
MOST_OPERATIONS = 20_000_000
WORKING_SET = 400
RUNS = 5


def measure(tail: Tail, setting: Setting, seconds: float) -> str:
    """Fills `tail`: RUNS interleaved runs of each allocator, as long as the time allows."""
    timer = Timer(seconds, setting.clock)
    driver = lineup.program(DRIVER)
    setting.prove(Workload("tail_mixed", "", [driver, "1", str(WORKING_SET), "1", "/dev/null"]))
    probed = Timer(0.0, setting.clock)
    _run(setting, driver, 1, PROBE_OPERATIONS)
    operations = length(timer.left, probed.spent)
    done = _run(setting, driver, RUNS, operations)
    take(tail, done)
    if done.interrupted:
        raise KeyboardInterrupt
    return f"the time was short: runs of {operations:,} operations" if operations < 1_000_000 else ""


def length(seconds: float, probe_s: float) -> int:
    """Operations of a run, so that all of them take about `seconds`; `probe_s` is what the probe of all took."""
    return int(min(MOST_OPERATIONS, max(PROBE_OPERATIONS, PROBE_OPERATIONS * seconds / (RUNS * max(probe_s, 0.01)))))


def _run(setting: Setting, driver: str, runs: int, operations: int) -> calls.Calls:
    return calls.measure(
        driver,
        setting.allocators,
        runs=runs,
        iterations=operations,
        working_set=WORKING_SET,
        seed=setting.seed + 1,
        cpu=setting.cpu,
        on_progress=lambda name, done: setting.tell(f"tail: {name}, run {done + 1} of {runs * len(setting.allocators)}"),
    )


def take(tail: Tail, done: calls.Calls) -> None:
    """The percentiles of what was measured."""
    values = done.as_json()
    tail.percents, tail.working_set = values["percents"], values["working_set"]
    tail.clock_cost_ns, tail.clock_ns = values["clock_cost_ns"], values["clock"]
    tail.failures = dict(values["crashed"])
    for name, figures in values["allocators"].items():
        ns, runs = ({call: figures[call][key] for call in calls.CALLS} for key in ("ns", "runs"))
        tail.rows.append(TailRow(name, ns, runs, figures["malloc"]["count"]))
