"""The page: what a card says, as a document. The verdict and the losses first, then the sections of the contract."""

from __future__ import annotations

from collections.abc import Sequence

from lab.progress import spoken_time
from lab.scorecard import sections
from lab.scorecard.bars import Bar, bars
from lab.scorecard.card import AHEAD, BEHIND, DONE, FAILED, FEW, LEVEL, NOISY, SECTIONS, Scorecard
from lab.scorecard.changes import Earlier
from lab.scorecard.document import Block, Cell, Document, Fold, Heading, Items, Table, Text
from lab.scorecard.findings import Finding, counts, failures, findings
from lab.spoken import counted

STANDINGS = {
    AHEAD: "ahead",
    LEVEL: "level within 1 %",
    BEHIND: "behind",
    NOISY: "too noisy to tell",
    FEW: "with too few blocks to tell",
    FAILED: "without a figure",
}


def write(card: Scorecard, date: str, earlier: Sequence[Earlier] = (), lacking: str = "") -> Document:
    """The whole page. `earlier` are the cards that it is compared with; `lacking` says what could not be compared."""
    page = Document(f"Scorecard of {card.subject}", subtitle(card, date))
    judged = findings(card)
    page.add(*summary(card, judged))
    page.add(Heading(2, "Where we lose"), *losses(card, judged))
    page.add(Heading(2, "Bars"), *bar_table(bars(card)))
    page.add(Heading(2, "Since the last scorecard"), *since_last(earlier, lacking))
    for name, title in SECTIONS.items():
        page.add(Heading(2, title), *state(card, name), *sections.BLOCKS[name](card))
    page.add(Heading(2, "Where we win"), *wins(judged))
    page.add(Heading(2, "How it was measured"), *provenance(card))
    return page


def subtitle(card: Scorecard, date: str) -> str:
    return f"{date}, commit {card.commit or 'unknown'}; {card.machine.cpu}, {counted(card.machine.cores, 'core')}, Linux {card.machine.kernel}"


def summary(card: Scorecard, judged: Sequence[Finding]) -> list[Block]:
    """The answer in a few lines."""
    found = counts(card)
    said = [f"{found[standing]} {words}" for standing, words in STANDINGS.items() if found.get(standing)]
    lines = []
    if said:
        lines.append(f"Speed against the best peer, workload by workload ({len(card.speed.rows)}): {', '.join(said)}.")
    judgeable = [bar for bar in bars(card) if bar.met is not None]
    met = sum(bool(bar.met) for bar in judgeable)
    noisy, few = (sum(getattr(bar, why) for bar in bars(card)) for why in ("noisy", "few"))
    if judgeable or few:
        others = f"; {noisy} more that nobody met: the machine was too noisy to tell" if noisy else ""
        others += f"; {few} more are not judged: too little was measured" if few else ""
        lines.append(f"Bars of the contract: {met} of {len(judgeable)} met{others}.")
    lines.append(
        f"Findings beyond noise: {sum(not each.wins for each in judged)} losses, {sum(each.wins for each in judged)} wins."
    )
    unfinished = [
        f"{SECTIONS[name]} ({status.state}{f': {status.reason}' if status.reason else ''})"
        for name, status in card.status.items()
        if status.state != DONE
    ]
    blocks: list[Block] = [Items(lines)]
    if unfinished:
        blocks.append(Text(f"Not complete: {'; '.join(unfinished)}.", "bad"))
    if card.missing:
        blocks.append(Text("Peers that could not be had: " + "; ".join(f"{k} ({v})" for k, v in card.missing.items()), "bad"))
    return blocks


def losses(card: Scorecard, judged: Sequence[Finding]) -> list[Block]:
    """Every loss beyond noise, every bar that is not met, every crash."""
    lost = [finding for finding in judged if not finding.wins]
    blocks: list[Block] = []
    not_met = [bar for bar in bars(card) if bar.met is False]
    if not_met:
        blocks.append(Items([f"Bar not met: {bar.what}: {bar.measured}, wanted {bar.wanted}" for bar in not_met]))
    if lost:
        blocks.append(finding_table(lost, "bad"))
    elif any(status.state == DONE for status in card.status.values()):
        blocks.append(Text("No loss beyond noise was found."))
    else:
        blocks.append(Text("Too little was measured to say."))
    crashed = failures(card)
    if crashed:
        blocks += [Heading(3, "What failed"), Items(crashed)]
    return blocks


def wins(judged: Sequence[Finding]) -> list[Block]:
    won = [finding for finding in judged if finding.wins]
    return [finding_table(won, "good")] if won else [Text("No win beyond noise was found.")]


def finding_table(found: Sequence[Finding], tone: str) -> Table:
    rows = [[SECTIONS[each.section], each.what, Cell(each.ours, tone), each.best] for each in found]
    return Table(["section", "what", "ours", "best peer"], rows, left=4)


def bar_table(found: Sequence[Bar]) -> list[Block]:
    rows = [
        [
            SECTIONS[bar.section], bar.what, bar.measured, bar.wanted, verdict(bar.met, bar.wanted, untold(bar)),
            bar.aim or "-", verdict(bar.aim_met, bar.aim, untold(bar) if bar.few else ""),
        ]
        for bar in found
    ]
    return [Table(["section", "what", "measured", "first bar", "", "where we aim", ""], rows, left=7)]


def untold(bar: Bar) -> str:
    """Why it is not judged though there is a figure."""
    return "too noisy to tell" if bar.noisy else "too little to tell" if bar.few else ""


def verdict(met: bool | None, wanted: str, untold: str = "") -> Cell:
    if wanted in ("", "-"):
        return Cell("")
    if met is None:
        return Cell(untold or "not measured", "mild")
    return Cell("met", "good") if met else Cell("not met", "bad")


def since_last(earlier: Sequence[Earlier], lacking: str) -> list[Block]:
    words = {True: Cell("better", "good"), False: Cell("worse", "bad"), None: Cell("")}
    blocks: list[Block] = []
    for each in earlier:
        said = f"Against {each.card} ({each.compared})"
        if not each.changes:
            blocks.append(Text(f"{said}: nothing beyond noise."))
            continue
        ordered = sorted(each.changes, key=lambda change: change.better is not False)
        rows = [[change.what, change.before, change.now, words[change.better]] for change in ordered]
        blocks += [Text(f"{said}:"), Table(["what", "then", "now", ""], rows, left=4)]
    return [*blocks, Text(lacking)] if lacking else blocks


def state(card: Scorecard, name: str) -> list[Block]:
    """Why a section is not whole, before what there is of it."""
    status = card.status[name]
    if status.state == DONE:
        return []
    return [Text(f"{status.state}{f': {status.reason}' if status.reason else ''}.", "bad")]


def provenance(card: Scorecard) -> list[Block]:
    """What a reader needs to judge or repeat it."""
    machine = card.machine
    described = [
        f"{machine.cpu}, {counted(machine.cores, 'core')}, {machine.memory_mb:,} MB, Linux {machine.kernel}",
        f"huge pages: {machine.thp or 'unknown'}; governor: {machine.governor or 'unknown'}; {machine.libc}; {machine.compiler}",
        "Options: " + ", ".join(f"{key}={value}" for key, value in card.options.items()),
    ]
    allocators = [[each.name, each.version, each.origin] for each in card.allocators]
    times = [
        [SECTIONS[name], status.state, spoken_time(status.seconds), spoken_time(status.given_s)]
        for name, status in card.status.items()
    ]
    blocks: list[Block] = [
        Text(
            "Every allocator is preloaded under the same programs, in a clean environment, after the witness has seen it own "
            "malloc there. Runs are short and interleaved; a ratio is the median over blocks of neighbouring runs, its 95 % "
            "interval a bootstrap. docs/lab.md says how this can be wrong."
        ),
        Items(described),
        Table(["allocator", "version", "from"], allocators, left=3),
        Fold("Time of each section", [Table(["section", "state", "took", "was given"], times, left=2)]),
    ]
    return blocks
