"""Section 3, memory: what a small heap costs. The mixed workload at WS=400 has about 0.1 MB live.

Peak is VmHWM of the process itself, end is its current RSS (statm) after the last operation; program and C library
are in both, the same for all. Runs of all allocators are interleaved, medians are shown. The subject is measured in
each of its profiles. Peaks of every other workload come from the runs of section 1, drift of RSS from section 4.
"""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import median

from lab import lineup, programs, run
from lab.errors import CrashError
from lab.model import Allocator, Sample
from lab.pairs import Runner
from lab.scorecard.card import Memory, MemoryRow
from lab.scorecard.setting import Setting, Timer
from lab.soak import sources

OPERATIONS = 5_000_000
WORKING_SET = 400
MOST_RUNS = 5
KB_PER_MB = 1024


def measure(memory: Memory, setting: Setting, seconds: float, runner: Runner = run.run_once) -> str:
    """Fills `memory`: at least one run of each, at most MOST_RUNS."""
    timer = Timer(seconds, setting.clock)
    env = {"BENCH_RSS": "1", "HAKMEM_BENCH_EPOCH_ITERS": str(OPERATIONS)}
    workload = sources.mixed(lineup.program(programs.MIXED), OPERATIONS, WORKING_SET, 1, env)
    setting.prove(workload)
    subjects = sides(setting)
    samples: dict[tuple[str, str], list[Sample]] = {}
    rng = random.Random(setting.seed)
    try:
        for _ in range(MOST_RUNS):
            for profile, allocator in rng.sample(subjects, len(subjects)):
                if allocator.name in memory.failures:
                    continue
                setting.tell(f"memory: {allocator.name} {profile}".rstrip())
                try:
                    sample = runner(workload, allocator, cpu=setting.cpu)
                except CrashError as error:
                    memory.failures[allocator.name] = error.message
                else:
                    samples.setdefault((allocator.name, profile), []).append(sample)
            if not timer.left:
                break
    finally:
        keys = [(allocator.name, profile) for profile, allocator in subjects]
        memory.rows = [row_of(*key, samples[key]) for key in keys if key in samples]
    return ""


def sides(setting: Setting) -> list[tuple[str, Allocator]]:
    """(profile, allocator): the subject in every profile when it is hakmem, the peers as they are."""
    subject = setting.subject
    if subject.family != "hakmem":
        return [("", each) for each in setting.allocators]
    profiles = [(name, replace(subject, env=subject.env | {"HAKMEM_PROFILE": name})) for name in lineup.PROFILES]
    return [*profiles, *(("", each) for each in setting.peers)]


def row_of(name: str, profile: str, samples: list[Sample]) -> MemoryRow:
    peaks = [sample.peak_rss_kb / KB_PER_MB for sample in samples]
    ends = [sample.current_rss_kb / KB_PER_MB for sample in samples]
    return MemoryRow(name, profile, median(peaks), max(peaks), median(ends), len(samples))
