"""A whole soak in one call: finds the length of an epoch, lets the allocators take turns, keeps what Ctrl-C cuts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from lab.model import Allocator
from lab.soak import sources
from lab.soak.outcome import Soak
from lab.soak.rounds import rounds

SHORTEST_TIMEOUT_S = 600.0
LATE = 20  # an epoch may take so many times what it was meant to


def measure(
    model: str,
    driver: str,
    allocators: Sequence[Allocator],
    *,
    epoch_s: float,
    duration_s: float = float("inf"),
    most: int | None = None,
    iterations: int = 0,
    working_set: int = 400,
    seed: int = 1,
    cpu: int | None = None,
    on_epoch: Callable[[Soak, str], None] | None = None,
) -> Soak:
    """Epochs of about `epoch_s` seconds (or of `iterations` operations) of each allocator in turn.

    Ends after `duration_s` seconds or `most` rounds, whichever is first. `on_epoch` is told of each epoch, and of each
    crash, with the allocator's name. Ctrl-C ends it: `interrupted` says so. Prove the allocators before (lab.witness).
    """
    probe = sources.mixed(driver, 1, working_set, seed)
    soak = Soak(model, list(allocators), iterations, working_set, seed, cpu)
    try:
        soak.iterations = iterations or sources.epoch_length(probe, allocators, epoch_s, cpu)
        workload, timeout = sources.mixed(driver, soak.iterations, working_set, seed), max(SHORTEST_TIMEOUT_S, LATE * epoch_s)
        each = {a.name: sources.MODELS[model](workload, a, cpu, timeout) for a in allocators}
        began = time.monotonic()
        with contextlib.closing(rounds(each, duration_s, seed, most=most)) as taken:
            for name, row in taken:
                soak.add(name, row, time.monotonic() - began)
                if on_epoch:
                    on_epoch(soak, name)
    except KeyboardInterrupt:
        soak.interrupted = True
    return soak
