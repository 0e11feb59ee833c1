"""One look or a few: what is kept of a process that changes while it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from lab.explain import report, snapshot
from lab.explain.snapshot import Snapshot

MIB = 1 << 20


def seen(live_mib: int, moved_mib: int, rss_mib: int = 100) -> Snapshot:
    """A look at which so much was found live, the rest another's, and so much came or went meanwhile."""
    sums, others = Counter({"live_small": live_mib * MIB}), Counter({"anonymous": (rss_mib - live_mib) * MIB})
    return Snapshot(
        7, "the program", "standard", "0.1.0", "running", True, rss_mib * MIB, 0, sums, others, [], 1, 0, moved_mib * MIB
    )


def taken(monkeypatch: pytest.MonkeyPatch, looks: Sequence[Snapshot]) -> tuple[Snapshot, int]:
    left = list(looks)
    monkeypatch.setattr(snapshot, "look", lambda *_: left.pop(0))
    return snapshot.take(7), len(looks) - len(left)


@pytest.mark.parametrize("moved", [[0], [60, 0], [60, 30, 0], [60, 30, 40, 50, 0]])
def test_what_came_or_went_meanwhile_is_looked_at_again(monkeypatch: pytest.MonkeyPatch, moved: list[int]) -> None:
    """The sum fits each time: what is gone when our records are read counts as another's."""
    best, looks = taken(monkeypatch, [seen(live_mib=90 - of, moved_mib=of) for of in moved])
    assert looks == min(len(moved), snapshot.LOOKS)
    assert best.moved == min(moved[: snapshot.LOOKS]) * MIB
    assert best.difference == 0


def test_a_sum_that_is_off_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    off = seen(live_mib=90, moved_mib=0)
    off.sums["live_small"] += 5 * MIB
    best, looks = taken(monkeypatch, [off, seen(live_mib=80, moved_mib=0)])
    assert (looks, best.difference) == (2, 0)


def test_the_page_says_when_much_moved_all_the_time() -> None:
    assert "30.0 MiB came or went while the process was read" in "\n".join(report.lines(seen(60, 30)))
    assert "came or went" not in "\n".join(report.lines(seen(90, 1)))
    assert report.as_json(seen(60, 30))["moved_bytes"] == 30 * MIB
