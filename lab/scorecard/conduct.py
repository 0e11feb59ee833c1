"""Conducts the sections: each by itself, within its part of the budget.

A section that fails leaves its reason and what it has measured; the next one goes on. Ctrl-C ends the section that
runs, keeps what is there, and leaves the rest out. What a section does not need of its time goes to those after it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping

from lab.errors import LabError, of_the_place
from lab.scorecard import calls, long_run, memory, speed, startup, tail
from lab.scorecard.card import DONE, FAILED, INTERRUPTED, PARTIAL, SECTIONS, Scorecard, Status
from lab.scorecard.setting import Setting, Timer

Measure = Callable[..., str]
MEASURES: dict[str, Measure] = {
    "speed": speed.measure,
    "calls": calls.measure,
    "memory": memory.measure,
    "long_run": long_run.measure,
    "tail": tail.measure,
    "startup": startup.measure,
}
SHARES = {"speed": 66.0, "calls": 6.0, "memory": 2.0, "long_run": 17.0, "tail": 7.0, "startup": 2.0}
FULL_SHARES = {"speed": 36.0, "calls": 3.0, "memory": 1.0, "long_run": 54.0, "tail": 5.0, "startup": 1.0}


def shares(full: bool, only: list[str]) -> dict[str, float]:
    """The parts of the time, by section in the order in which they run; only these, when any are named."""
    parts = FULL_SHARES if full else SHARES
    return {name: parts[name] for name in SECTIONS if not only or name in only}


def forecast(budget_s: float, parts: Mapping[str, float]) -> dict[str, float]:
    """Seconds for each section."""
    return {name: budget_s * part / sum(parts.values()) for name, part in parts.items()}


def conduct(
    card: Scorecard,
    setting: Setting,
    budget_s: float,
    parts: Mapping[str, float],
    measures: Mapping[str, Measure] = MEASURES,
) -> bool:
    """Measures the sections of `parts` into the card. False when Ctrl-C ended it."""
    timer = Timer(budget_s, setting.clock)
    names = list(parts)
    for index, name in enumerate(names):
        given = timer.left * parts[name] / sum(parts[later] for later in names[index:])
        if not _section(card, setting, name, given, measures[name]):
            for later in names[index + 1 :]:
                card.status[later].reason = "Ctrl-C came before it"
            return False
    return True


def _section(card: Scorecard, setting: Setting, name: str, given: float, measure: Measure) -> bool:
    status = card.status[name] = Status(given_s=given)
    section = Timer(given, setting.clock)
    setting.tell(SECTIONS[name].lower())
    try:
        status.reason = measure(getattr(card, name), setting, given)
        status.state = PARTIAL if status.reason else DONE
    except KeyboardInterrupt:
        status.state, status.reason = INTERRUPTED, "Ctrl-C ended it; what was measured before is shown"
        return False
    except LabError as error:
        status.state, status.reason = FAILED, " - ".join(filter(None, (error.message, error.fix)))
    except Exception as error:  # a defect of one section must not cost the others' results
        told = of_the_place(error) if isinstance(error, OSError) else None
        if not told:
            traceback.print_exc()
        status.state, status.reason = FAILED, told.message if told else f"a defect of the lab: {type(error).__name__}: {error}"
    finally:
        status.seconds = section.spent
    return True
