"""Everything that can be measured: the suite (lab/suite.py) and the real programs (lab/real.py), by name or group."""

from __future__ import annotations

from collections.abc import Sequence

from lab.programs import Skipped
from lab.errors import AskedWrongly
from lab.model import Workload
from lab.real import PROGRAMS, real_programs
from lab.suite import ROWS, groups, suite

__all__ = ["REAL", "Skipped", "choose", "every_group", "every_name", "find", "real_programs", "suite"]

REAL = "real"


def every_group() -> list[str]:
    """The names of all groups."""
    return [*groups(), REAL]


def every_name() -> list[str]:
    """The names of all workloads, whether they can be run here or not."""
    return [*(row.name for row in ROWS), *(program.name for program in PROGRAMS)]


def choose(
    names: Sequence[str] = (),
    chosen_groups: Sequence[str] = (),
    real: bool = False,
    budget: str = "short",
    skipped: list[Skipped] | None = None,
) -> list[Workload]:
    """The workloads of these names, or of these groups; neither given: the suite. `real` adds the real programs.

    Raises AskedWrongly for a name or group that does not exist, and for a name that is in none of the groups.
    """
    known = every_name()
    for name in names:
        if name not in known:
            raise AskedWrongly(f"there is no workload '{name}'", f"use one of: {', '.join(known)}")
    for group in chosen_groups:
        if group not in every_group():
            raise AskedWrongly(f"there is no group '{group}'", f"use one of: {', '.join(every_group())}")
    _check_groups_of(names, chosen_groups)
    if names:  # all of them are in the groups
        chosen_groups = ()
    programs = [program.name for program in PROGRAMS]
    of_suite = [name for name in names if name not in programs]
    of_real = [name for name in names if name in programs]
    all_real = real or REAL in chosen_groups
    suite_groups = [group for group in chosen_groups if group != REAL]
    found: list[Workload] = []
    if of_suite or suite_groups or not (names or chosen_groups):
        found += suite(of_suite, suite_groups, budget, skipped)
    if all_real or of_real:
        found += real_programs(None if all_real else of_real, budget, skipped)
    return found


def _check_groups_of(names: Sequence[str], chosen_groups: Sequence[str]) -> None:
    group_of = {row.name: row.group for row in ROWS} | {program.name: REAL for program in PROGRAMS}
    for name in names if chosen_groups else ():
        if group_of[name] not in chosen_groups:
            raise AskedWrongly(
                f"{name} is not in the group {' or '.join(chosen_groups)} but in {group_of[name]}",
                f"leave --group out, or add --group {group_of[name]}",
            )


def find(name: str, budget: str = "short") -> Workload:
    """One workload by its name. Raises AskedWrongly when there is none, and when it cannot be run here."""
    skipped: list[Skipped] = []
    found = choose([name], budget=budget, skipped=skipped)
    if not found:
        fix = f"install the Debian package {skipped[0].package}" if skipped and skipped[0].package else ""
        raise AskedWrongly(f"{name} cannot be run here: {skipped[0].reason if skipped else 'unknown'}", fix)
    return found[0]
