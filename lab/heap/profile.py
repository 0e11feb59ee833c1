"""The profile of a process: its sampled stacks with names, and what they stand for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

from lab.explain import layout, process, smaps
from lab.explain.memory import Memory
from lab.explain.smaps import Mapping
from lab.heap import estimate, sites
from lab.heap.estimate import Estimate
from lab.heap.images import Frame, Images


@dataclass(frozen=True)
class CodeMapping:
    """A file whose code is mapped."""

    start: int
    end: int
    offset: int
    path: str
    build_id: str


@dataclass(frozen=True)
class Stack:
    """A call path, innermost first, and the blocks of one size class that came by it."""

    frames: tuple[Frame, ...]
    allocated: Estimate  # ever
    live: Estimate  # of these what was not freed yet
    bytes_each: int  # as they were asked for, on average

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Its functions, outermost first."""
        return tuple(frame.short for frame in reversed(self.frames))


@dataclass(frozen=True)
class Profile:
    """One look at the samples of a process."""

    pid: int
    command: str
    variant: str
    release: str
    state: str  # of lab.explain.identity.STATES
    time_ns: int
    rate: int
    lost: int
    torn: int
    mappings: tuple[CodeMapping, ...]  # the program's own first
    stacks: tuple[Stack, ...]

    @cached_property
    def live(self) -> Estimate:
        """All that is live."""
        return sum((stack.live for stack in self.stacks), Estimate())

    @cached_property
    def allocated(self) -> Estimate:
        """All that was ever allocated."""
        return sum((stack.allocated for stack in self.stacks), Estimate())


def take(pid: int, state: str = "running") -> Profile:
    """Reads the samples of the process. Raises LabError when there are none to be had."""
    mappings, program = smaps.places(pid), process.program(pid)
    with Memory(pid) as memory:
        described = layout.find(memory, mappings, program)
        samples = sites.read(memory, described)
        images = Images(pid, mappings, program, described)
        stacks = tuple(_stack(site, images, samples.rate) for site in samples.sites)
        return Profile(
            pid=pid,
            command=process.command(pid),
            variant=described.variant,
            release=described.release,
            state=state,
            time_ns=time.time_ns(),
            rate=samples.rate,
            lost=samples.lost,
            torn=samples.torn,
            mappings=_mappings(images, stacks),
            stacks=stacks,
        )


def _stack(site: sites.Site, images: Images, rate: int) -> Stack:
    return Stack(
        images.stack(site.callers),
        estimate.of_samples(site.taken, site.taken_bytes, rate),
        estimate.of_samples(site.live, site.live_bytes, rate),
        round(site.taken_bytes / site.taken),
    )


def _mappings(images: Images, stacks: tuple[Stack, ...]) -> tuple[CodeMapping, ...]:
    """Those that stacks lead through, behind the program's own."""
    used = {frame.mapping.start for stack in stacks for frame in stack.frames if frame.mapping and frame.image}
    chosen = [one for one in images.code if one.start in used or one.name == images.program]
    chosen.sort(key=lambda one: (one.name != images.program, one.start))
    return tuple(_code_mapping(one, images) for one in chosen)


def _code_mapping(one: Mapping, images: Images) -> CodeMapping:
    return CodeMapping(one.start, one.end, one.offset, one.name, images.build_id(one))
