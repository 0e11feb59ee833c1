"""Section 1, speed: every workload against the best peer, with an interval.

First a look: one run of every allocator on every workload, in a random order. It gives each row a figure for every
peer, and peak memory. One run in a noisy moment may hide the fastest peer, and what other programs do makes runs slower
but not faster: so peers that were not far behind get a second run, and the faster one counts. Then the final: the subject
and the peer that looked fastest, with those that looked nearly as fast, are compared in interleaved blocks
(lab/campaign.py) for as long as the time allows. The best peer is the fastest of those, chosen by the same runs, which
makes the subject look slightly worse. On the contract's own workload every mimalloc is in the final, and it gets more of
the time: the milestones are read there.

Many workloads in little time leave few blocks to each. Below ten the bootstrap's interval would be too narrow; the
exact one by order statistics takes its place (scipy.stats.quantile_test), which is the whole range of 6 to 8 blocks.
With fewer than 6 no interval has 95 %, and there is no verdict: so every row gets its 6 blocks as long as time is left,
and those for which none is left are only looked at, or, where the looks alone take longer than the section may, left out.
"""

from __future__ import annotations

import random
from statistics import fmean, median, stdev

import numpy as np
from scipy import stats

from lab import campaign, pairs, run
from lab.campaign import Result
from lab.errors import CrashError, LabError
from lab.model import Allocator, Sample, Workload
from lab.pairs import Runner
from lab.scorecard.card import FEW, Against, Speed, SpeedRow
from lab.scorecard.setting import Setting, Timer
from lab.spoken import counted
from lab.statistics import FEWEST_BLOCKS, MINIMUM_BLOCKS, Interval

OFFICIAL = "mixed_400"
OFFICIAL_FAMILY = "mimalloc"
OFFICIAL_WEIGHT = 3.0
FINALISTS, FINALISTS_FULL = 2, 3
NEARLY_AS_FAST = 1.02
NOT_FAR_BEHIND = 1.15  # so far off one run of a quarter of a second has been seen on a machine that was in use
STARTING_S = 0.02  # between two runs
KB_PER_MB = 1024


def measure(speed: Speed, setting: Setting, seconds: float, runner: Runner = run.run_once) -> str:
    """Fills `speed`; returns what was left out for want of time, or nothing."""
    timer = Timer(seconds, setting.clock)
    looks: dict[str, dict[str, Sample]] = {}
    rng = random.Random(setting.seed)
    for workload in setting.workloads:
        if speed.rows and not timer.left:
            speed.skipped[workload.name] = "the time was up"
            continue
        setting.prove(workload)
        row = row_of(workload)
        speed.rows.append(row)
        looks[workload.name] = look(row, workload, setting, rng, runner)
        take_look(row, workload, setting.subject.name, looks[workload.name])
    for index, row in enumerate(speed.rows):
        costs = [block_s(each, setting, looks[each.workload]) for each in speed.rows[index:]]
        if timer.left > 0 and costs[0]:
            share = timer.left * weight(row, costs[0]) / sum(map(weight, speed.rows[index:], costs))
            share = min(max(share, (FEWEST_BLOCKS + 1.5) * costs[0]), timer.left)
            final(row, setting.workloads[index], setting, share, runner)
    return shortage(speed, len(setting.workloads))


def shortage(speed: Speed, asked: int) -> str:
    """One sentence on workloads without a verdict; nothing when all that were asked for have one."""
    rows = [row for row in speed.rows if row.best]
    without = sum(not any(entry.blocks for entry in row.against) for row in rows)
    few = sum(row.standing == FEW for row in rows) - without
    left_out = asked - len(speed.rows)
    words = [f"{left_out} of {asked} workloads were left out (--workload, --group and --peer choose fewer)"] if left_out else []
    if without:
        words.append(f"{without} of {len(rows)} workloads were only looked at")
    if few:
        words.append(f"{few} of {len(rows)} workloads have fewer than {FEWEST_BLOCKS} blocks, too few for a verdict")
    return "the time was short: " + ", ".join(words) if words else ""


def block_s(row: SpeedRow, setting: Setting, samples: dict[str, Sample]) -> float:
    """About how long a block of the row's final is, by what the look took; 0 when there is no final."""
    others = [each.name for each in finalists(row, setting)]
    if setting.subject.name not in samples or not others:
        return 0.0
    return 2 * sum(samples[name].wall_s + STARTING_S for name in (setting.subject.name, *others) if name in samples)


def weight(row: SpeedRow, cost_s: float) -> float:
    """A workload's part of the time: by the length of its blocks, more for the contract's own."""
    return cost_s * (OFFICIAL_WEIGHT if row.workload == OFFICIAL else 1.0)


def row_of(workload: Workload) -> SpeedRow:
    return SpeedRow(
        workload.name,
        workload.question,
        workload.group,
        workload.after,
        workload.unit,
        workload.threads,
        pairs.default_metric(workload),
    )


def look(row: SpeedRow, workload: Workload, setting: Setting, rng: random.Random, runner: Runner) -> dict[str, Sample]:
    """One run of each, and a second one of the peers that may be the fastest; who crashes is noted in the row."""
    samples: dict[str, Sample] = {}

    def speed_on(allocator: Allocator) -> float:
        return speed_of(samples[allocator.name], workload, row.metric)

    def run_all(allocators: list[Allocator]) -> None:
        for allocator in rng.sample(allocators, len(allocators)):
            setting.tell(f"speed, a look: {workload.name} on {allocator.name}")
            try:
                sample = runner(workload, allocator, cpu=run.default_cpu(workload))
            except CrashError as error:
                row.failures[allocator.name] = error.message
                samples.pop(allocator.name, None)
                continue
            if allocator.name not in samples or speed_of(sample, workload, row.metric) > speed_on(allocator):
                samples[allocator.name] = sample

    run_all(setting.allocators)
    peers = [each for each in setting.peers if each.name in samples]
    fastest = max(map(speed_on, peers), default=0.0)
    near = [each for each in peers if speed_on(each) * NOT_FAR_BEHIND >= fastest]
    if len(near) > 1:
        run_all(near)
    return samples


def speed_of(sample: Sample, workload: Workload, metric: str) -> float:
    """A figure that grows with speed; 0 when the sample has none."""
    try:
        return pairs.speed(sample, workload, metric)
    except LabError:
        return 0.0


def take_look(row: SpeedRow, workload: Workload, subject: str, samples: dict[str, Sample]) -> None:
    """The figures of the look; nothing when the subject has none."""
    if subject not in samples:
        return
    ours = samples[subject]
    row.value = row.mean = ours.value
    row.cpu_s, row.rss_mb = ours.cpu_s, ours.peak_rss_kb / KB_PER_MB
    for name, sample in samples.items():
        if name != subject:
            try:
                ratio = pairs.speed(ours, workload, row.metric) / pairs.speed(sample, workload, row.metric)
            except LabError as error:
                row.failures[name] = error.message
                continue
            rss_mb = sample.peak_rss_kb / KB_PER_MB
            row.against.append(Against(name, ratio, ratio, ratio, 0, sample.value, sample.value, rss_mb, sample.cpu_s))
    row.against.sort(key=lambda entry: entry.ratio)


def finalists(row: SpeedRow, setting: Setting) -> list[Allocator]:
    """The peers that looked fastest, or nearly as fast; all mimallocs on the contract's workload."""
    most = FINALISTS_FULL if setting.full else FINALISTS
    near = row.against[0].ratio * NEARLY_AS_FAST if row.against else 0.0
    names = [entry.peer for entry in row.against[:most] if entry.ratio <= near]
    if row.workload == OFFICIAL:
        names += [each.name for each in setting.peers if each.family == OFFICIAL_FAMILY]
    return [each for each in setting.peers if each.name in names and each.name not in row.failures]


def final(row: SpeedRow, workload: Workload, setting: Setting, share: float, runner: Runner) -> None:
    """Compares in blocks for `share` seconds. Raises KeyboardInterrupt when Ctrl-C ended it; what is there is kept."""
    others = finalists(row, setting)

    def step(_: Workload, comparison: pairs.Comparison | None) -> None:
        done = counted(len(comparison.blocks), "block") if comparison else "begins"
        setting.tell(f"speed: {workload.name}, {done}")

    done = campaign.measure(
        [workload], [setting.subject, *others], budget_s=share, seed=setting.seed, on_step=step, runner=runner, clock=setting.clock
    )
    if done.results:
        take_final(row, done.results[0], setting.subject.name)
    if done.interrupted:
        raise KeyboardInterrupt


def take_final(row: SpeedRow, result: Result, subject: str) -> None:
    """Puts the figures of the blocks in place of the look's."""
    row.failures |= result.failures
    if result.comparison is None or subject not in result.measured:
        return
    row.stopped = result.comparison.stopped
    values = result.comparison.values(subject)
    row.value, row.mean = median(values), fmean(values)
    row.cv = 100 * stdev(values) / row.mean if len(values) > 1 and row.mean else 0.0
    row.cpu_s, row.rss_mb = cpu_s(result, subject), result.peak_kb(subject) / KB_PER_MB
    final_of = {name: against(result, subject, name) for name in result.measured if name != subject}
    row.against = sorted([final_of.get(entry.peer, entry) for entry in row.against], key=lambda entry: entry.ratio)


def against(result: Result, subject: str, peer: str) -> Against:
    assert result.comparison
    found, values = interval(result, subject, peer), result.comparison.values(peer)
    rss_mb = result.peak_kb(peer) / KB_PER_MB
    ends = found.median, found.low, found.high, found.n
    return Against(peer, *ends, median(values), fmean(values), rss_mb, cpu_s(result, peer))


def cpu_s(result: Result, name: str) -> float:
    """The median of the runs' user and system time."""
    return result.median(name, lambda sample: sample.cpu_s)


def interval(result: Result, subject: str, peer: str) -> Interval:
    """The subject's speed to the peer's: the bootstrap of lab/statistics.py, or the exact interval of few blocks."""
    assert result.comparison
    ratios = result.comparison.ratios(subject, peer)
    if ratios.size >= MINIMUM_BLOCKS:
        return result.interval(subject, peer)
    low, high = float(ratios.min()), float(ratios.max())
    if ratios.size >= FEWEST_BLOCKS:
        exact = stats.quantile_test(ratios, p=0.5).confidence_interval(0.95)
        low, high = float(exact.low), float(exact.high)
    return Interval(float(np.median(ratios)), low, high, ratios.size)
