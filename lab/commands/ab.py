"""`hakmem ab`: two builds, two settings of a box, two values of an option: GO, NEUTRAL or NO-GO, and a record.

The command chooses the sides and the workloads, compares, prints and records. How it measures: lab/pairs.py; what the
verdict means: lab/statistics.py; the controls and the measured power: lab/controls.py.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from lab import arguments, builds, controls, durations, lineup, pairs, peers, record, results, statistics, verdict_text, workloads
from lab.errors import AskedWrongly, LabError
from lab.experiment import LEVELS, Experiment, outcome
from lab.model import Allocator, Machine, Workload
from lab.progress import Progress
from lab.spoken import counted

NOTHING_MEASURED = "interrupted before the first block was complete: nothing to report"
DEFAULT_WORKLOAD = "mixed_400"


@dataclass(frozen=True)
class Plan:
    """How to measure: what goes to pairs.compare, and what is said about it."""

    level: str
    budget_s: float
    metric: str | None
    cpu: int | None
    min_pairs: int
    max_pairs: int
    seed: int
    quiet: bool

    @property
    def band(self) -> float:
        """The decision rule's band, a fraction."""
        return LEVELS[self.level]

    def how(self) -> dict[str, Any]:
        """The arguments of `compare` that all commands share."""
        counted = {"runner": pairs.counted} if self.metric == "instructions" else {}
        return {"metric": self.metric, "cpu": self.cpu, "min_pairs": self.min_pairs} | counted


def command(
    a: Annotated[
        str | None, typer.Argument(help="the reference: a name (hakmem-fast, mimalloc3, glibc) or a library's path")
    ] = None,
    b: Annotated[str | None, typer.Argument(help="the candidate, which the verdict is about")] = None,
    box: Annotated[str | None, typer.Option(metavar="BOX", help="two builds: the box shut (A) and open (B)")] = None,
    opt: Annotated[str | None, typer.Option(metavar="NAME=a,b", help="one library with HAKMEM_NAME=a (A) and =b (B)")] = None,
    price: Annotated[bool, typer.Option("--price", help="every box flipped, one build each, in one table")] = False,
    power: Annotated[
        bool, typer.Option("--power", help="the smallest change that is found here in 1, 5, 20 minutes")
    ] = False,
    control: Annotated[
        bool, typer.Option("--control", help="the two controls: equal builds, and a build with a tax")
    ] = False,
    variant: Annotated[str, typer.Option(metavar=arguments.one_of(builds.VARIANTS), help="of --box, --opt, --price, --power, --control")] = "standard",
    workload: Annotated[
        list[str] | None, typer.Option("--workload", "-w", metavar="NAME", help=f"default {DEFAULT_WORKLOAD}; may be repeated")
    ] = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="time for each workload, at most: 90, 90s, 5m")] = "240s",
    level: Annotated[
        str | None, typer.Option(metavar=arguments.one_of(LEVELS), help="run: ±1.0 %; build: ±0.5 % (default for --box and --price)")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(metavar=arguments.one_of(pairs.METRICS), help="default: cpu for one thread, throughput for several")
    ] = None,
    cpu: Annotated[str, typer.Option(metavar=arguments.CPU, help="the CPU of workloads of one thread")] = "last",
    least_pairs: Annotated[
        int | None,
        typer.Option("--min-pairs", min=1, help=f"blocks of four runs, at least; default {statistics.MINIMUM_BLOCKS}"),
    ] = None,
    max_pairs: Annotated[int, typer.Option(min=1, help="blocks of four runs, at most")] = 1000,
    reason: Annotated[str, typer.Option(help="one line for the record; default: what the figures say")] = "",
    trials: Annotated[int | None, typer.Option(min=1, help="of each control; default 40 and 10")] = None,
    records: Annotated[bool, typer.Option("--record/--no-record", help="write docs/experiments")] = True,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="the result as JSON in a file, or - for standard output")
    ] = None,
    seed: Annotated[int, typer.Option(help="of the order of the runs")] = 0,
    quiet: Annotated[bool, typer.Option(*arguments.QUIET, help="no progress")] = False,
) -> int:
    """A/B of two builds, boxes or option values: interleaved runs, interval, verdict GO/NEUTRAL/NO-GO, a dated record."""
    _one_question(a, b, box, opt, price, power, control)
    if level is not None and level not in LEVELS:
        raise AskedWrongly(f"unknown level '{level}'", f"use one of: {', '.join(LEVELS)}")
    if metric is not None and metric not in pairs.METRICS:
        raise AskedWrongly(f"unknown metric '{metric}'", f"use one of: {', '.join(pairs.METRICS)}")
    chosen = level or ("build" if box or price else "run")
    if metric == "instructions":
        least_pairs = max_pairs = 1
    min_pairs = min(statistics.MINIMUM_BLOCKS, max_pairs) if least_pairs is None else least_pairs
    if min_pairs > max_pairs:
        raise AskedWrongly(f"--min-pairs {min_pairs} is more than --max-pairs {max_pairs}", "lower one or raise the other")
    plan = Plan(chosen, durations.seconds(budget, "--budget"), metric, _cpu(cpu), min_pairs, max_pairs, seed, quiet)
    asked = workloads.choose(workload or [DEFAULT_WORKLOAD])
    if not asked:
        raise LabError("none of these workloads can be run here", "`hakmem bench --list` says why")
    results.check(json or "")
    out = verdict_text.Output(json)
    if power:
        return _power(asked[0], variant, plan, out)
    if control:
        return _control(asked[0], variant, plan, trials, out)
    if price:
        return _experiment(
            f"Price of every box, {variant}", "price", builds.price_sides(variant), asked, plan, reason, records, out
        )
    sides, name = _sides(a, b, box, opt, variant)
    question = f"{sides[1].name} against {sides[0].name}" + (f", {variant}" if name else "")
    return _experiment(question, "ab", sides, asked, plan, reason, records, out)


def _one_question(
    a: str | None, b: str | None, box: str | None, opt: str | None, price: bool, power: bool, control: bool
) -> None:
    questions = {"A B": a, "--box": box, "--opt": opt, "--price": price, "--power": power, "--control": control}
    asked = [name for name, given in questions.items() if given]
    if not asked:
        raise AskedWrongly("ab takes two sides: A B, --box NAME or --opt NAME=a,b; or --price, --power, --control",
                           "`hakmem ab --help` lists them")  # fmt: skip
    if len(asked) > 1:
        raise AskedWrongly(f"ab answers one question at a time, not {' and '.join(asked)}",
                           "leave out all but one: only A B takes sides, the others are of --variant")  # fmt: skip
    if a and not b:
        raise AskedWrongly(f"ab takes two sides: there is nothing to compare {a} with", f"name the candidate as well: ab {a} B")


def _cpu(word: str) -> int | None:
    """What pairs.compare takes: None chooses, -1 does not pin."""
    pinned = lineup.cpu_of(word)
    if pinned is None:
        return -1
    return None if word in lineup.CPU_WORDS else pinned


def _sides(a: str | None, b: str | None, box: str | None, opt: str | None, variant: str) -> tuple[list[Allocator], str]:
    """The reference and the candidate; and the box or option, if that is what differs."""
    if box:
        return list(builds.box_sides(box, variant)), box
    if opt:
        return list(builds.option_sides(opt, variant)), opt
    sides = [peers.find(a or ""), peers.find(b or "")]
    if sides[0].name == sides[1].name:
        sides = [replace(side, name=f"{label}:{side.name}") for label, side in zip("AB", sides, strict=True)]
    return sides, ""


def _experiment(
    question: str,
    kind: str,
    sides: Sequence[Allocator],
    asked: Sequence[Workload],
    plan: Plan,
    reason: str,
    records: bool,
    out: verdict_text.Output,
) -> int:
    """Compares on every workload until one is interrupted; prints, records, and gives 130 after Ctrl-C.

    What was measured is recorded also where nobody reads what is printed any more.
    """
    if records:
        record.check()
    experiment = Experiment(question, kind, plan.level, Machine.read(), reason=reason)
    interrupted = False
    try:
        for workload in asked:
            found = _compare(workload, sides, plan)
            interrupted = found.stopped == "interrupted"
            if found.blocks:
                judged = [outcome(found, side, plan.band) for side in sides[1:]]
                experiment.outcomes += judged
                for one in judged:
                    out.say(*verdict_text.lines(one))
            if interrupted:
                break
    finally:
        if experiment.outcomes:
            _keep(experiment, question, records, out)
    if not experiment.outcomes:
        print(f"hakmem: {NOTHING_MEASURED}", file=sys.stderr)
        return 130
    return 130 if interrupted else 0


def _keep(experiment: Experiment, question: str, records: bool, out: verdict_text.Output) -> None:
    """The JSON and the record, each also when the other cannot be written."""
    path = None
    try:
        out.give(record.as_json(experiment))
    finally:
        if records:
            path = _recorded(experiment, question)
    if path:
        why = ": unfinished, it may be deleted (--no-record writes none)" if experiment.unfinished else ""
        out.say(f"recorded in {os.path.relpath(path)}{why}")


def _recorded(experiment: Experiment, question: str) -> Path:
    try:
        return record.write(experiment, question)
    except OSError as error:
        raise record.refused(error) from None


def _compare(workload: Workload, sides: Sequence[Allocator], plan: Plan) -> pairs.Comparison:
    with Progress(plan.budget_s, plan.quiet, label=workload.name) as progress:

        def tell(found: pairs.Comparison) -> None:
            progress.say(counted(len(found.blocks), "block"))

        precision = None if plan.metric == "instructions" else plan.band / 2
        return pairs.compare(
            workload,
            sides,
            budget_s=plan.budget_s,
            max_pairs=plan.max_pairs,
            precision=precision,
            on_progress=tell,
            seed=plan.seed,
            **plan.how(),
        )


def _power(workload: Workload, variant: str, plan: Plan, out: verdict_text.Output) -> int:
    side = builds.allocator(variant, builds.build(variant))
    if plan.metric == "instructions":
        raise AskedWrongly(
            "counted instructions have no noise: there is no power to measure", "choose another --metric"
        )
    with Progress(plan.budget_s, plan.quiet, label="A against A") as progress:
        measured, powers = controls.measure_power(
            workload,
            side,
            budget_s=plan.budget_s,
            band=plan.band,
            on_progress=lambda found: progress.say(counted(len(found.blocks), "block")),
            seed=plan.seed,
            **plan.how(),
        )
    if not measured.blocks:
        print(f"hakmem: {NOTHING_MEASURED}", file=sys.stderr)
        return 130
    said = f"{workload.name}, A against A, {counted(len(measured.blocks), 'block')} of {measured.seconds_per_block:.2f} s"
    if powers:
        see = "smallest change that nine of ten experiments see (interval without zero) and call"
        out.say(f"{said}; {see} (beyond ±{100 * plan.band:.1f} %):", *controls.power_table(powers))
    else:
        out.say(f"{said}: too few to tell how noisy they are; that takes {statistics.FEWEST_BLOCKS}, and a larger --budget")
    facts = [
        {"metric": one.metric, "spread": one.spread, "found": [vars(power) for power in one.found]} for one in powers
    ]
    out.give({"power": facts, "comparison": record.comparison_json(measured)})
    return 130 if measured.stopped == "interrupted" else int(not powers)


def _control(workload: Workload, variant: str, plan: Plan, count: int | None, out: verdict_text.Output) -> int:
    """Both controls; exit status 1 when one of them misses its bar."""
    began, facts, passed = time.monotonic(), [], True
    for wanted, sides in (
        (controls.NEGATIVE, builds.same_sides(variant)),
        (controls.POSITIVE, builds.box_sides("tax", variant)),
    ):
        wanted = replace(wanted, trials=count or wanted.trials, budget_s=min(plan.budget_s, wanted.budget_s))
        with Progress(wanted.trials, plan.quiet, unit="trials", label=wanted.name) as progress:
            done = controls.trials(
                wanted,
                workload,
                sides,
                band=plan.band,
                on_trial=lambda found: progress.to(len(found.outcomes), found.outcomes[-1].verdict),
                max_pairs=plan.max_pairs,
                seed=plan.seed,
                **plan.how(),
            )
        if not done.outcomes:
            print(f"hakmem: {NOTHING_MEASURED}", file=sys.stderr)
            return 130
        out.say(done.text())
        facts.append(
            {
                "control": wanted.name,
                "passed": done.passed,
                "outcomes": [record.outcome_json(one) for one in done.outcomes],
            }
        )
        passed = passed and done.passed
        if len(done.outcomes) < wanted.trials:
            out.give({"controls": facts})
            return 130
    out.say(f"both controls took {time.monotonic() - began:.0f} s")
    out.give({"controls": facts})
    return 0 if passed else 1
