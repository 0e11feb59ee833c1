"""The scorecard: judged and written from figures whose truth is known, measured on a simulated machine, and end to end."""

import copy
import errno
import json
import os
import random
import re
import shutil
from dataclasses import asdict, replace
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from lab import cli, plots, store
from lab.errors import CrashError, LabError
from lab.model import Sample, Workload
from lab.scorecard import bars, calls, changes, conduct, findings, html, long_run, markdown, memory, page, pictures, sections, startup
from lab.scorecard import speed as speed_section
from lab.scorecard.card import AHEAD, BEHIND, FEW, LEVEL, NOISY, SECTIONS, CallsRow, Scorecard, Speed, Startup, load
from lab.scorecard.document import Document, Figure, Fold, Heading
from lab.scorecard.setting import Setting
from lab.tests import cards
from lab.tests.simulated import Machine

VOID = {"meta", "link", "br", "img", "hr"}


@pytest.fixture(scope="module")
def document():
    return page.write(cards.card(), "2026-01-01 10:00 UTC", [], "No earlier scorecard of this machine is stored.")


@pytest.fixture(scope="module")
def text(document):
    return markdown.write(document)


def part(text: str, title: str) -> str:
    """A section of the Markdown by its heading."""
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows_of(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| ")]


def row_of(text: str, first: str) -> list[str]:
    return next(row for row in rows_of(text) if row[0] == first)


# What the figures say


def test_standings_follow_the_intervals():
    found = {row.workload: row.standing for row in cards.speed().rows}
    assert found == {"mixed_400": AHEAD, "tree": BEHIND, "larson": LEVEL, "leak": NOISY, "huge": FEW, "crasher": "failed"}


def test_the_best_peer_is_the_fastest_that_was_measured_in_blocks():
    rows = {row.workload: row for row in cards.speed().rows}
    assert rows["tree"].best.peer == "mimalloc2" and rows["mixed_400"].best.peer == "mimalloc3"


def test_bars_of_the_contract():
    found = {bar.what: bar for bar in bars.bars(cards.card())}
    met = {what: bar.met for what, bar in found.items()}
    assert met["mixed workload, WS=400: speed to mimalloc2"] is True
    assert found["mixed workload, WS=400: speed to mimalloc3"].measured == "110.0 %, milestone M4"
    assert met["mmap + munmap + madvise per operation"] is True
    assert found["mmap + munmap + madvise per operation"].aim_met is False
    assert met["RSS at WS=400, profile speed"] is True and met["RSS at WS=400, profile lean"] is False
    assert met["RSS drift over 2 min"] is False
    assert met["throughput drift over 2 min, 12 epochs"] is True and found["CV of epochs"].aim_met is True
    assert met["p99/p50 of epochs"] is True and met["stddev/mean of epochs"] is True
    assert found["percentiles of single calls, p50 to p99.99"].measured == "best at 8 of 10"


def with_epochs(*wobbles):
    """A card of which only the long run differs: ours first, then the others'."""
    found = cards.card()
    found.long_run.rows = [cards.soak(f"peer{i}" if i else "hakmem", 50e6, wobble) for i, wobble in enumerate(wobbles)]
    return found


STEADINESS = ("CV of epochs", "p99/p50 of epochs", "stddev/mean of epochs")


@pytest.mark.parametrize(
    "wobbles, met",
    [
        ((0.08, 0.09, 0.12, 0.07), None),  # nobody is steady: the machine is not
        ((0.08, 0.09, 0.12, 0.01), False),  # one is: it could be done
        ((0.13, 0.09, 0.12, 0.07), False),  # we are among the worst of them
        ((0.01, 0.09, 0.12, 0.07), True),
        ((0.08,), False),  # there is nobody to compare with
    ],
)
def test_what_a_noisy_machine_tells_of_steadiness(wobbles, met):
    found = {bar.what: bar for bar in bars.bars(with_epochs(*wobbles))}
    assert [found[what].met for what in STEADINESS] == [met] * 3
    assert [found[what].noisy for what in STEADINESS] == [met is None] * 3
    assert found["throughput drift over 2 min, 12 epochs"].met is True


@pytest.mark.parametrize("ours, met", [(-9.7, None), (-12.0, False), (-4.0, True)])
def test_a_drift_of_the_machine_is_none_of_ours(ours, met):
    found = with_epochs(0.01, 0.01, 0.01)
    for row, drift in zip(found.long_run.rows, (ours, -9.4, -11.5)):
        row.drift = drift
    drift = next(bar for bar in bars.bars(found) if bar.what.startswith("throughput drift"))
    assert (drift.met, drift.noisy) == (met, met is None)


def test_a_few_looks_judge_no_bar():
    short = with_epochs(0.0, 0.01)
    for row in short.long_run.rows:
        for name, value in vars(row).items():
            if isinstance(value, list):
                setattr(row, name, value[: bars.WANTED_EPOCHS - 1])
    for row in short.speed.rows:
        for against in row.against:
            against.blocks = 5
    found = {bar.what.split(" over ")[0].split(" (")[0]: bar for bar in bars.bars(short)}
    judged = [*STEADINESS, "RSS drift", "throughput drift", "mixed workload, WS=400: speed to mimalloc2"]
    assert all((found[what].met, found[what].aim_met, found[what].few) == (None, None, True) for what in judged)
    written = markdown.write(page.write(short, "2026-01-01 10:00 UTC"))
    assert re.search(r"; \d+ more are not judged: too little was measured\.", written)
    assert part(written, "Bars").count("too little to tell") >= len(judged)


@pytest.mark.parametrize(
    "first, after, met, aim_met",
    [
        (0, 0, None, None),  # none is not few: a longer run may have some
        (2, 0, None, None),  # they are made once: 2 of 200 M operations would meet the aim
        (0, 1, None, None),
        (0, 2, None, False),  # nine times 0.24 of them to come at least
        (3, 0, None, False),  # no length makes three of them as few as the aim
        (20, 0, None, False),
        (21, 0, False, False),
        (0, 9, False, False),  # nine times 4.1
    ],
)
def test_a_short_run_judges_system_calls_only_where_a_longer_one_could_not_differ(first, after, met, aim_met):
    card = cards.card()
    card.calls.operations = 20_000_000
    card.calls.rows[0] = CallsRow("hakmem", first, after, {"mmap": first + after})
    bar = next(bar for bar in bars.bars(card) if bar.section == "calls")
    assert (bar.met, bar.aim_met, bar.few) == (met, aim_met, met is None)
    written = row_of(part(markdown.write(page.write(card, "now")), "Bars"), "System calls")
    words = {None: "too little to tell", False: "not met"}
    assert [written[4], written[6]] == [words[met], words[aim_met]]


def test_what_the_machine_does_not_tell_is_said():
    written = markdown.write(page.write(with_epochs(0.08, 0.09, 0.12), "2026-01-01 10:00 UTC"))
    assert "; 3 more that nobody met: the machine was too noisy to tell." in written
    assert part(written, "Bars").count("too noisy to tell") == 3
    assert "Bar not met: CV of epochs" not in written


@pytest.mark.parametrize("ratio, name", [(0.49, "none"), (0.5, "M1"), (0.6, "M3"), (0.649, "M3"), (1.2, "M4")])
def test_milestones(ratio, name):
    assert bars.milestone(ratio) == name


def test_what_cannot_carry_an_interval_shows_none():
    card = cards.card()
    card.speed.rows = [cards.row("mixed_400", [cards.against("mimalloc3", 0.7, 0.02, 5)])]
    card.startup.runs = 5
    written = markdown.write(page.write(card, "now"))
    assert "68.0" not in written and "72.0" not in written and "240 to" not in written and "start-up over" not in written
    marked = sections.ratio_row(card.speed.rows[0])
    assert marked.low == marked.ratio == marked.high


def test_bars_without_figures_are_neither_met_nor_missed():
    empty = Scorecard("hakmem", [cards.allocator("hakmem")], cards.MACHINE)
    assert all(bar.met is None for bar in bars.bars(empty)) and len(bars.bars(empty)) >= 10


def test_findings_are_losses_and_wins_beyond_noise_only():
    found = findings.findings(cards.card())
    said = {(each.section, each.what.split(":")[0]): each.wins for each in found}
    assert said[("speed", "mixed_400")] is True and said[("speed", "tree")] is False
    assert not {("speed", name) for name in ("larson", "leak", "huge")} & set(said)
    assert said[("speed", "crasher")] is False
    assert said[("calls", "memory system calls, all kinds")] is False
    assert said[("memory", "peak RSS of mixed_400")] is True and said[("memory", "peak RSS of leak")] is False
    assert said[("tail", "malloc, p50")] is True and said[("tail", "free, p99.99")] is False
    assert ("tail", "free, p90") not in said and ("tail", "malloc, largest") not in said
    assert said[("startup", "start-up over glibc (of those that are preloaded)")] is True
    assert said[("long_run", "CV of epochs in the same run")] is True


def test_tails_whose_runs_overlap_are_no_finding():
    card = cards.card()
    card.tail.rows = [cards.tail_row(row.name, row.ns["malloc"], row.ns["free"], 0.9) for row in card.tail.rows]
    assert not [each for each in findings.findings(card) if each.section == "tail"]


# What the page says


def test_losses_stand_near_the_top_and_are_complete(text):
    assert text.index("## Where we lose") < text.index("## Bars") < text.index("## Speed") < text.index("## Where we win")
    lost = part(text, "Where we lose")
    assert "80.0 % [77.0 to 83.0]" in lost and "mimalloc2" in lost
    assert "killed by signal 11" in lost
    assert "Bar not met: RSS drift" in lost and "Bar not met: RSS at WS=400, profile lean: 11.0 MB" in lost
    assert "free, p99.99" in lost and "2,000 ns" in lost
    assert "larson" not in lost and "huge" not in lost


def test_wins_are_there_too(text):
    won = part(text, "Where we win")
    assert "110.0 % [109.0 to 111.0]" in won and "malloc, p50" in won and "tree" not in won


def test_the_speed_table_names_peer_ratio_interval_and_standing(text):
    speed = part(text, "Speed")
    assert row_of(speed, "tree")[1:6] == ["mimalloc2", "80.0 %", "77.0 to 83.0", "behind", "20"]
    assert row_of(speed, "mixed\\_400")[1:6] == ["mimalloc3", "110.0 %", "109.0 to 111.0", "ahead", "20"]
    assert row_of(speed, "huge")[4] == "too few" and row_of(speed, "leak")[4] == "too noisy"
    assert "~90.0 %" in speed and "there is no redis-server" in speed
    assert "median of ratios" in speed


def test_what_stands_beside_a_ratio_is_what_it_compares(text):
    """By the wall clock ours is the faster on tree; the ratio says that it is not."""
    assert row_of(part(text, "Speed"), "tree")[6:8] == ["0.200 s CPU", "0.160 s CPU"]
    threads = cards.row("larson", [cards.against("glibc", 1.2)], metric="throughput")
    assert sections.speed_line(threads)[6:8] == ["60 M ops/s", "50 M ops/s"]


def test_the_summary_counts(text):
    top = text.split("## Where we lose")[0]
    assert "1 ahead, 1 level within 1 %, 1 behind, 1 too noisy to tell, 1 with too few blocks to tell, 1 without a figure" in top
    assert "snmalloc (no C++ compiler)" in top
    judged = [bar for bar in bars.bars(cards.card()) if bar.met is not None]
    assert f"{sum(bar.met for bar in judged)} of {len(judged)} met" in top


def test_every_table_of_the_markdown_is_regular(text):
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({re.sub(r"\\\|", "", line).count("|") for line in lines}) <= 1


class Checker(HTMLParser):
    """Open elements, ids, links, and everything that would be fetched from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.fetched, self.words = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if tag == "a" else []
        self.fetched += [values[key] for key in ("src", "data") if key in values]
        if tag in ("script", "link", "iframe", "img"):
            self.fetched.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def written(document):
    return html.write(document)


def test_the_html_page_is_whole_and_needs_nothing_from_elsewhere(written):
    checker = Checker()
    checker.feed(written)
    assert checker.open == [] and checker.fetched == []
    assert len(checker.ids) == len(set(checker.ids))
    assert checker.links and all(link[0] == "#" and link[1:] in checker.ids for link in checker.links)
    assert "url(http" not in written and "@import" not in written


def test_the_html_page_says_what_the_markdown_says(written, text):
    checker = Checker()
    checker.feed(written)
    said = " ".join(checker.words)
    for word in ("80.0 % [77.0 to 83.0]", "not met", "killed by signal 11", "too few", "mimalloc2", "abc123", "A CPU"):
        assert word in said and word.replace("_", "\\_") in text
    assert written.count("<svg") == 4


LETTER_PX, PADDING_PX, PAGE_PX = 7.6, 12.8, 62 * 16 - 2 * 16  # page.css, with a wide font


def test_no_table_of_words_is_wider_than_the_page():
    written = html.write(page.write(with_epochs(0.08, 0.09, 0.12), "now"))
    for table in re.findall(r"<table>(.*?)</table>", written, re.S):
        widths: dict[int, int] = {}
        for row in re.findall(r"<tr>(.*?)</tr>", table):
            for column, (kind, text) in enumerate(re.findall(r"<t[hd](.*?)>(.*?)</t[hd]>", row)):
                together = [unescape(text)] if "short" in kind or "figure" in kind else unescape(text).split()
                widths[column] = max(widths.get(column, 0), *map(len, together), 0)
        assert LETTER_PX * sum(widths.values()) + PADDING_PX * len(widths) <= PAGE_PX, table[:200]


def test_losses_and_wins_are_coloured_alike(written):
    assert '<td class="short bad">80.0 % [77.0 to 83.0]</td>' in written
    assert '<td class="short good">110.0 % [109.0 to 111.0]</td>' in written


def test_the_style_has_every_colour_of_the_figures_in_light_and_in_dark():
    style = "".join(path.read_text() for path in html.STYLES)
    for block in re.findall(r":root \{(.*?)\}", style, re.S):
        assert set(re.findall(r"--([\w-]+):", block)) >= set(plots.VARIABLES)
    assert style.count(":root {") == 3


def test_markdown_has_its_figures_beside_it_each_whole_by_itself():
    document = page.write(cards.card(), "now")
    files = {name: pictures.standalone(figure) for figure, name in pictures.names(document).items()}
    assert list(files) == ["speed.svg", "memory.svg", "long-run.svg", "tail.svg"]
    assert re.findall(r"!\[[^]]+\]\(([^)]+)\)", markdown.write(document)) == list(files)
    for text in files.values():
        ElementTree.fromstring(text)
        assert set(re.findall(r"var\(--([\w-]+)\)", text)) <= set(re.findall(r"--([\w-]+):", text))


def test_figures_of_one_section_are_told_apart():
    document = Document("title")
    document.add(Heading(2, "Long run"), Figure("<svg >1</svg>", "a"), Fold("more", [Figure("<svg >2</svg>", "b")]))
    assert list(pictures.names(document).values()) == ["long-run.svg", "long-run-2.svg"]


def test_what_comes_from_outside_is_escaped():
    card = cards.card()
    card.speed.rows[0].failures["hakmem"] = "<script>alert(1)</script> | `x` **b**"
    document = page.write(card, "now")
    assert "<script" not in html.write(document)
    assert "<script" not in markdown.write(document) and "\\| \\`x\\`" in markdown.write(document)


@pytest.mark.parametrize("state", ["failed", "interrupted", "partial", "not run"])
def test_a_section_that_is_not_whole_says_why(state):
    card = cards.card()
    card.status["tail"].state, card.status["tail"].reason = state, "the reason"
    text = markdown.write(page.write(card, "now"))
    assert f"{state}: the reason" in part(text, "Tail") and f"Tail ({state}: the reason)" in text


def test_a_card_without_any_figure_has_a_page():
    card = Scorecard("hakmem", [cards.allocator("hakmem")], cards.MACHINE)
    document = page.write(card, "now", [], "nothing is stored")
    assert "Too little was measured" in markdown.write(document) and "</html>" in html.write(document)


# Stored, and compared with the last one


def stored(card, path, date="2026-01-01T10:00:00+00:00"):
    record = store.Record.now("scorecard", asdict(card), {}, card.machine)
    store.append(replace(record, date=date, commit="abc123"), path)


def test_a_card_survives_the_store(tmp_path):
    stored(cards.card(), tmp_path / "s.jsonl")
    ((found, record),) = changes.stored(tmp_path / "s.jsonl", "hakmem", cards.MACHINE)
    assert found == cards.card() and record.kind == "scorecard"


def test_the_last_card_is_of_the_same_machine_and_subject(tmp_path):
    path = tmp_path / "s.jsonl"
    first = cards.card()
    stored(first, path)
    other = cards.card()
    other.machine = replace(cards.MACHINE, cpu="another")
    stored(other, path)
    third = cards.card()
    third.subject = "glibc"
    stored(third, path)
    assert [card for card, _ in changes.stored(path, "hakmem", cards.MACHINE)] == [first]
    assert changes.earlier(tmp_path / "none.jsonl", first) == ([], "No earlier scorecard of this machine is stored.")


def test_a_stored_card_of_another_shape_is_passed_over(tmp_path):
    stored(cards.card(), tmp_path / "s.jsonl")
    store.append(store.Record.now("scorecard", {"subject": "hakmem", "speed": 7}, {}, cards.MACHINE), tmp_path / "s.jsonl")
    assert [card for card, _ in changes.stored(tmp_path / "s.jsonl", "hakmem", cards.MACHINE)] == [cards.card()]


def with_sections(*names):
    """The card with no other sections."""
    found = cards.card()
    empty = Scorecard("hakmem", found.allocators, found.machine)
    return replace(empty, **{name: getattr(found, name) for name in names})


def test_cards_with_nothing_in_common_say_so(tmp_path):
    stored(with_sections("speed"), tmp_path / "s.jsonl")
    said = changes.earlier(tmp_path / "s.jsonl", with_sections("memory", "startup"))
    assert said == ([], "Nothing in common with the earlier scorecards of this machine that could be compared.")
    assert "Nothing in common" in part(markdown.write(page.write(with_sections("memory"), "now", *said)), "Since the last scorecard")


def test_a_card_of_one_section_hides_nothing_of_the_whole_one_before_it(tmp_path):
    path, whole = tmp_path / "s.jsonl", cards.card()
    for before, date in (
        (whole, "2026-01-01"), (with_sections("startup"), "2026-01-02"), (with_sections("memory"), "2026-01-03"),
    ):  # fmt: skip
        stored(before, path, date)
    now = cards.card()
    now.speed.rows[1].against[0] = cards.against("mimalloc2", 0.70, 0.02)
    now.memory.rows[2].largest_peak_mb = 9.0
    found, lacking = changes.earlier(path, now)
    said = [(each.card[:10], each.compared, [change.what for change in each.changes]) for each in found]
    everything = "speed on 4 workloads, peak memory on 6 workloads, system calls, long run"
    assert said == [
        ("2026-01-03", "memory", ["bar: RSS at WS=400, profile lean < 10 MB"]),
        ("2026-01-02", "start-up", []),
        ("2026-01-01", everything, ["tree: speed to mimalloc2"]),
    ]
    assert lacking == ""
    text = part(markdown.write(page.write(now, "now", found, lacking)), "Since the last scorecard")
    assert "Against 2026-01-02 UTC, commit abc123 (start-up): nothing beyond noise." in text and "70.0 %" in text


def test_what_only_a_peer_or_a_workload_of_the_last_card_has_is_looked_for_in_the_one_before(tmp_path):
    path, part_of = tmp_path / "s.jsonl", cards.card()
    part_of.speed.rows = [replace(row, against=row.against[-1:]) for row in part_of.speed.rows[:1]]
    stored(with_sections("speed"), path, "2026-01-01")
    stored(replace(with_sections(), speed=part_of.speed), path, "2026-01-02")
    found, lacking = changes.earlier(path, with_sections("speed", "memory"))
    assert [(each.card[:10], each.compared) for each in found] == [
        ("2026-01-02", "speed on 1 workload, peak memory on 1 workload"),
        ("2026-01-01", "speed on 4 workloads, peak memory on 5 workloads"),
    ]
    assert lacking == "In no earlier scorecard of this machine: memory."


def test_a_run_that_was_too_short_to_judge_is_not_compared(tmp_path):
    short = cards.card()
    short.calls.operations, short.startup.runs = 20_000_000, 5
    for row in short.long_run.rows:
        row.throughput_ops_s = row.throughput_ops_s[:9]
    short.speed.rows = [replace(row, against=[replace(each, blocks=5) for each in row.against]) for row in short.speed.rows]
    both = changes.figures(cards.card()) & changes.figures(short)
    assert {key[0] for key in both} == {"peak", "memory"}


def test_equal_cards_have_no_changes():
    assert changes.changes(cards.card(), cards.card()) == []


def test_changes_are_those_beyond_the_intervals():
    now = cards.card()
    rows = {row.workload: row for row in now.speed.rows}
    rows["tree"].against[0] = cards.against("mimalloc2", 0.95, 0.02)
    rows["mixed_400"].against[0] = cards.against("mimalloc3", 1.095)
    rows["leak"].rss_mb = 12.0
    now.memory.rows[2].largest_peak_mb = 9.0
    now.startup.rows[1] = replace(now.startup.rows[1], extra_us=150, extra_low_us=140, extra_high_us=160)
    found = {change.what: change for change in changes.changes(cards.card(), now)}
    start = found.pop("start-up over glibc, of glibc's own")
    assert (start.before, start.now, start.better) == ("16.7 %", "25.0 %", False)
    assert set(found) == {"tree: speed to mimalloc2", "leak: peak RSS", "bar: RSS at WS=400, profile lean < 10 MB"}
    assert found["tree: speed to mimalloc2"].better and found["leak: peak RSS"].better is False
    text = markdown.write(page.write(now, "now", [changes.Earlier("then", "all of it", list(found.values()))]))
    changed = part(text, "Since the last scorecard")
    assert row_of(changed, "tree: speed to mimalloc2")[1:] == ["80.0 %", "95.0 %", "better"]
    assert changed.index("worse") < changed.index("better")


def test_a_peer_of_another_version_is_not_compared():
    now = cards.card()
    now.allocators = [replace(each, version="2.0") if each.name == "mimalloc2" else each for each in now.allocators]
    now.speed.rows[1].against[0] = cards.against("mimalloc2", 0.95, 0.02)
    assert changes.changes(cards.card(), now) == []


# Measuring


MIXED = Workload("mixed_400", "?", ["unused"], seconds=0.2)
TREE = Workload("tree", "?", ["unused too"], seconds=0.2)


def setting(machine: Machine, names=("hakmem", "mimalloc3", "mimalloc2", "glibc"), workloads=(MIXED, TREE)) -> Setting:
    found = Setting([cards.allocator(name) for name in names], list(workloads), clock=machine.clock)
    found.proven = {(name, workload.command[0]) for name in names for workload in workloads}
    return found


def test_speed_finds_the_true_ratio_to_the_true_best_peer():
    machine = Machine({"hakmem": 0.10, "mimalloc3": 0.11, "mimalloc2": 0.14, "glibc": 0.2})
    speed = Speed()
    reason = speed_section.measure(speed, setting(machine), 60.0, runner=machine.run)
    assert reason == "" and machine.now < 75
    for row in speed.rows:
        assert row.best.peer == "mimalloc3" and row.standing == AHEAD
        assert row.best.low <= 1.1 <= row.best.high and row.best.blocks >= 10
        assert row.to("glibc").blocks == 0 and len(row.against) == 3
        assert row.best.cpu_s / row.cpu_s == pytest.approx(row.best.ratio, rel=0.05), "of the same runs"
    assert speed.rows[0].to("mimalloc2").blocks > 0, "on the contract's workload every mimalloc is measured in blocks"


def test_the_fastest_peer_is_found_though_its_first_run_was_in_a_noisy_moment():
    machine = Machine({"hakmem": 0.10, "mimalloc3": 0.11, "mimalloc2": 0.12, "glibc": 0.2})
    seen = []

    def run(workload, allocator, *, cpu=None):
        sample = machine.run(workload, allocator, cpu=cpu)
        seen.append((workload.name, allocator.name))
        if seen.count(seen[-1]) == 1 and allocator.name == "mimalloc3":
            return replace(sample, wall_s=sample.wall_s * 1.2, user_s=sample.user_s * 1.2, value=sample.value / 1.2)
        return sample

    speed = Speed()
    speed_section.measure(speed, setting(machine), 60.0, runner=run)
    assert [row.best.peer for row in speed.rows] == ["mimalloc3", "mimalloc3"]
    assert seen.count(("tree", "glibc")) == 1, "who is far behind is not looked at again"


def test_speed_says_so_when_the_subject_is_behind():
    machine = Machine({"hakmem": 0.12, "mimalloc3": 0.10, "mimalloc2": 0.2, "glibc": 0.3})
    speed = Speed()
    speed_section.measure(speed, setting(machine), 60.0, runner=machine.run)
    assert [row.standing for row in speed.rows] == [BEHIND, BEHIND]


def test_speed_without_time_is_a_look_and_says_so():
    machine = Machine({"hakmem": 0.10, "mimalloc3": 0.11, "mimalloc2": 0.14, "glibc": 0.2})
    speed = Speed()
    reason = speed_section.measure(speed, setting(machine), 1.6, runner=machine.run)
    assert "2 of 2 workloads were only looked at" in reason
    assert [row.standing for row in speed.rows] == [FEW, FEW] and all(row.value > 0 for row in speed.rows)


def test_speed_with_hardly_any_time_leaves_workloads_out_and_says_so():
    machine = Machine({"hakmem": 0.10, "mimalloc3": 0.11, "mimalloc2": 0.14, "glibc": 0.2})
    workloads = (MIXED, TREE, *(Workload(f"tree_{number}", "?", ["unused too"], seconds=0.2) for number in range(48)))
    speed = Speed()
    reason = speed_section.measure(speed, setting(machine, workloads=workloads), 0.1, runner=machine.run)
    assert [row.workload for row in speed.rows] == ["mixed_400"] and speed.rows[0].value > 0 and machine.now < 3
    assert "49 of 50 workloads were left out" in reason and "1 of 1 workloads were only looked at" in reason
    assert len(speed.skipped) == 49 and speed.skipped["tree"] == "the time was up"


def test_speed_with_little_time_says_which_verdicts_are_missing():
    machine = Machine({"hakmem": 0.10, "mimalloc3": 0.11, "mimalloc2": 0.14, "glibc": 0.2})
    speed = Speed()
    reason = speed_section.measure(speed, setting(machine), 4.0, runner=machine.run)
    assert "fewer than 6 blocks" in reason


def test_what_little_time_there_is_makes_verdicts_row_by_row():
    machine = Machine({"hakmem": 0.10, "mimalloc3": 0.11, "mimalloc2": 0.14, "glibc": 0.2})
    speed = Speed()
    reason = speed_section.measure(speed, setting(machine), 12.0, runner=machine.run)
    assert speed.rows[0].standing == AHEAD and speed.rows[0].best.blocks >= 6
    assert speed.rows[1].standing == FEW and "1 of 2 workloads" in reason


def test_an_allocator_that_crashes_is_reported_and_the_others_are_measured():
    machine = Machine({"hakmem": 0.10, "mimalloc3": 0.11, "mimalloc2": 0.14, "glibc": 0.2})

    def run(workload, allocator, *, cpu=None):
        if allocator.name == "mimalloc3" and workload is TREE:
            raise CrashError("it died")
        return machine.run(workload, allocator, cpu=cpu)

    speed = Speed()
    speed_section.measure(speed, setting(machine), 40.0, runner=run)
    assert speed.rows[1].failures == {"mimalloc3": "it died"} and speed.rows[1].best.peer == "mimalloc2"
    assert speed.rows[0].best.peer == "mimalloc3" and not speed.rows[0].failures


def test_a_subject_that_crashes_has_no_figure_but_a_reason():
    machine = Machine({"hakmem": 0.10, "mimalloc3": 0.11, "mimalloc2": 0.14, "glibc": 0.2})

    def run(workload, allocator, *, cpu=None):
        if allocator.name == "hakmem":
            raise CrashError("it died")
        return machine.run(workload, allocator, cpu=cpu)

    speed = Speed()
    speed_section.measure(speed, setting(machine), 10.0, runner=run)
    assert [row.standing for row in speed.rows] == ["failed", "failed"] and speed.rows[0].failures["hakmem"] == "it died"


def test_ctrl_c_keeps_the_look_and_the_blocks():
    machine = Machine({"hakmem": 0.10, "mimalloc3": 0.11, "mimalloc2": 0.14, "glibc": 0.2}, interrupt_after=40)
    speed = Speed()
    with pytest.raises(KeyboardInterrupt):
        speed_section.measure(speed, setting(machine), 60.0, runner=machine.run)
    assert len(speed.rows) == 2 and speed.rows[0].best.blocks > 0 and speed.rows[1].best.blocks == 0


@pytest.mark.parametrize("blocks", [6, 7, 8, 9])
def test_the_interval_of_few_blocks_holds_the_truth_in_95_of_100(blocks):
    """What every block costs is drawn from the simulated machine's noise; bootstrap intervals would hold it less often."""

    class Fixed:
        def __init__(self, ratios):
            self.found = np.array(ratios)

        def ratios(self, *_):
            return self.found

    rng, held = random.Random(blocks), 0
    for _ in range(400):
        ratios = [1.05 * np.exp(rng.gauss(0, 0.03)) for _ in range(blocks)]
        found = speed_section.interval(type("R", (), {"comparison": Fixed(ratios)})(), "a", "b")
        held += found.low <= 1.05 <= found.high
    assert held >= 0.93 * 400


def test_memory_measures_hakmem_in_every_profile(monkeypatch):
    monkeypatch.setattr(memory.lineup, "program", lambda name: "unused")
    machine = Machine({})

    def run(workload, allocator, *, cpu=None):
        machine.now += 1
        peak = {"speed": 2048, "balanced": 1024, "lean": 512}.get(allocator.env.get("HAKMEM_PROFILE", ""), 4096)
        return Sample(1.0, 1.0, 1.0, 0.0, peak, current_rss_kb=peak // 2)

    found = memory.Memory()
    memory.measure(found, setting(machine), 9.0, runner=run)
    said = {(row.name, row.profile): (row.peak_mb, row.end_mb, row.runs) for row in found.rows}
    assert said[("hakmem", "lean")] == (0.5, 0.25, 2) and said[("glibc", "")] == (4.0, 2.0, 2) and len(said) == 6


def test_startup_is_the_difference_to_glibc_of_the_same_round(monkeypatch):
    machine = Machine({})
    monkeypatch.setattr(startup.run, "syscalls", lambda *_: {"mmap": 3, "read": 2})

    def run(workload, allocator, *, cpu=None):
        machine.now += 0.1
        # The machine is ten times slower every other second: the difference of a round is not.
        cost = 1e-3 + {"hakmem": 2e-4, "glibc": 0.0}.get(allocator.name, 5e-4)
        return Sample(cost, cost, cost, 0.0, 1024, minor_faults=60)

    found = Startup()
    names = ("hakmem", "mimalloc3", "glibc")
    made = setting(machine, names, [Workload("start", "?", [shutil.which("true")])])
    startup.measure(found, made, 5.0, runner=run)
    extra = {row.name: row.extra_us for row in found.rows}
    assert extra == pytest.approx({"hakmem": 200, "mimalloc3": 500, "glibc": 0}) and found.runs >= 10
    assert {row.calls for row in found.rows} == {5}


def test_system_calls_are_counted_between_the_marks():
    lines = [
        "100 mmap(NULL, 8192) = 0x7f",
        "100 brk(NULL) = 0x55",
        "100 munmap(0x7f, 8192) = 0",
        '100 write(1, "[EPOCH] 0 Throughput = 1 ops/s"..., 80) = 80',
        "100 madvise(0x7f, 4096, MADV_DONTNEED) = 0",
        '100 write(1, "[EPOCH] 1 Throughput = 1 ops/s"..., 80) = 80',
        '100 write(1, "Throughput = 1 ops/s"..., 60) = 60',
        "100 munmap(0x7f, 4096) = 0",
    ]
    first, after = calls.count(lines)
    assert dict(first) == {"mmap": 1, "brk": 1, "munmap": 1} and dict(after) == {"madvise": 1}
    assert calls.count(lines[:3]) is None and calls.count(lines[:6]) is None


def test_relative_cv_takes_the_machine_out():
    machine = [1, 0.5, 1, 0.5, 0.8]
    speeds = {"a": [10 * m for m in machine], "b": [20 * m for m in machine], "c": [30.0 * m for m in machine]}
    assert long_run.relative_cv(speeds, "a") == pytest.approx(0, abs=1e-9)
    assert long_run.relative_cv({"a": [1.0, 2.0]}, "a") is None


# Conducting


def conducted(measures, budget=100.0, machine=None, parts=None):
    machine = machine or Machine({})
    card = Scorecard("hakmem", [cards.allocator("hakmem")], cards.MACHINE)
    parts = parts or dict.fromkeys(measures, 1.0)
    whole = conduct.conduct(card, setting(machine, ("hakmem",), ()), budget, parts, measures)
    return card, whole


def test_a_section_that_fails_does_not_stop_the_next(capsys):
    def broken(*_):
        raise LabError("no strace", "install it")

    def defective(*_):
        raise ZeroDivisionError("oops")

    card, whole = conducted({"speed": broken, "calls": defective, "memory": lambda *_: "", "tail": lambda *_: "few"})
    states = {name: (card.status[name].state, card.status[name].reason) for name in ("speed", "calls", "memory", "tail")}
    assert states["speed"] == ("failed", "no strace - install it")
    assert states["calls"][0] == "failed" and "ZeroDivisionError" in states["calls"][1]
    assert states["memory"] == ("done", "") and states["tail"] == ("partial", "few")
    assert whole and "ZeroDivisionError" in capsys.readouterr().err


def test_ctrl_c_leaves_the_rest_out():
    def interrupted(*_):
        raise KeyboardInterrupt

    def never(*_):
        raise AssertionError("it must not run")

    card, whole = conducted({"speed": lambda *_: "", "calls": interrupted, "memory": never})
    assert not whole and card.status["speed"].state == "done"
    assert card.status["calls"].state == "interrupted" and card.status["memory"].state == "not run"
    assert card.status["memory"].reason == "Ctrl-C came before it"


def test_what_a_section_does_not_need_goes_to_the_next():
    machine, given = Machine({}), []

    def quick(_, __, seconds):
        given.append(seconds)
        machine.now += 10
        return ""

    conducted({"speed": quick, "calls": quick, "memory": quick}, 90.0, machine, {"speed": 1.0, "calls": 1.0, "memory": 1.0})
    assert given == pytest.approx([30, 40, 70])


@pytest.mark.parametrize("full", [False, True])
def test_the_forecast_is_the_budget(full):
    parts = conduct.shares(full, [])
    assert list(parts) == list(SECTIONS) and sum(conduct.forecast(840, parts).values()) == pytest.approx(840)
    assert list(conduct.shares(full, ["tail", "speed"])) == ["speed", "tail"]


# End to end


def scorecard(tmp_path, *words):
    common = ["scorecard", "-p", "glibc", "--out", str(tmp_path / "out"), "--store", str(tmp_path / "s.jsonl"), "--quiet"]
    return cli.main([*common, *words])


def test_the_command_writes_page_text_store_and_json(tmp_path, capsys):
    sections = [word for name in SECTIONS if name != "calls" for word in ("--section", name)]
    target = tmp_path / "card.json"
    words = ["--budget", "2s", "-w", "tree", *sections, "--json", str(target)]
    assert scorecard(tmp_path, *words) == 0
    said = capsys.readouterr()
    assert "workload by workload (1)" in said.out and str(tmp_path / "out/scorecard.html") in said.out
    record = json.loads(target.read_text())
    card = load(Scorecard, record["data"])
    assert record["kind"] == "scorecard" and [each.name for each in card.allocators] == ["hakmem", "glibc"]
    assert card.speed.rows[0].workload == "tree" and card.speed.rows[0].against[0].peer == "glibc"
    assert {row.profile for row in card.memory.rows} == {"speed", "balanced", "lean", ""}
    assert len(card.long_run.rows) == len(card.tail.rows) == len(card.startup.rows) == 2
    assert (card.status["calls"].state, card.status["calls"].reason) == ("not run", "not asked for")
    text = (tmp_path / "out/scorecard.md").read_text()
    assert "Scorecard of hakmem" in text and "No earlier scorecard" in text
    named = re.findall(r"\]\(([\w-]+\.svg)\)", text)
    assert "speed.svg" in named and all((tmp_path / "out" / name).stat().st_size > 0 for name in named)
    checker = Checker()
    checker.feed((tmp_path / "out/scorecard.html").read_text())
    assert checker.open == []
    assert scorecard(tmp_path, "--budget", "1s", "--section", "startup") == 0
    assert "Against 2" in (tmp_path / "out/scorecard.md").read_text()
    assert len(store.read(tmp_path / "s.jsonl")[0]) == 2


def test_system_calls_end_to_end(tmp_path, monkeypatch):
    strace = shutil.which("strace")
    if not strace:
        pytest.skip("no strace (Debian: strace)")
    try:
        calls.strace_options(strace)
    except LabError as error:
        pytest.skip(error.message)
    monkeypatch.setattr(calls, "SHORT_OPERATIONS", 500_000)
    target = tmp_path / "card.json"
    assert scorecard(tmp_path, "--budget", "1s", "--section", "calls", "--json", str(target)) == 0
    card = load(Scorecard, json.loads(target.read_text())["data"])
    assert [row.name for row in card.calls.rows] == ["hakmem", "glibc"] and card.calls.loader["mmap"] > 0
    assert 0 < card.calls.rows[0].first < 100 and card.calls.rows[0].after < 100


def test_a_page_that_cannot_be_written_costs_nothing_else(tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(html, "write", full)
    target = tmp_path / "card.json"
    assert scorecard(tmp_path, "--budget", "1s", "--section", "startup", "--json", str(target)) == 1
    said = capsys.readouterr()
    assert "No space left on device" in said.err and "Findings beyond noise" in said.out
    assert len(store.read(tmp_path / "s.jsonl")[0]) == 1 and json.loads(target.read_text())["kind"] == "scorecard"


@pytest.mark.parametrize("content", ["root:x:0:0\n", '{"no": "record"}\n'])
def test_a_file_of_somebody_else_is_no_store(tmp_path, capsys, content):
    other = tmp_path / "s.jsonl"
    other.write_text(content)
    assert scorecard(tmp_path, "--budget", "1s", "--section", "startup") == 2
    assert "holds no results" in capsys.readouterr().err and other.read_text() == content


@pytest.mark.parametrize(
    "words, status, said",
    [
        (["--section", "nope"], 2, "nope"),
        (["--budget", "soon"], 2, "soon"),
        (["-w", "nope"], 2, "nope"),
        (["--subject", "glibc"], 2, "nothing to compare with: glibc is the subject itself"),
        (["--subject", "/nowhere/lib.so"], 1, "/nowhere/lib.so"),
        (["--out", "/proc/nowhere"], 1, "cannot write"),
        (["--out", "/dev/null/nowhere"], 1, "/dev/null is no directory"),
        (["--store", "/dev"], 1, "cannot write /dev: it is a directory"),
        (["--store", "same", "--json", "./same"], 2, "--store and --json name the same file, ./same"),
        (["--store", "/dev/null", "--budget", "1s", "--section", "startup"], 2, "/dev/null is no regular file"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_measured(tmp_path, capsys, monkeypatch, words, status, said):
    monkeypatch.chdir(tmp_path)
    assert scorecard(tmp_path, *words) == status
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "s.jsonl"]), "and no empty page stays"


def test_the_cards_of_the_tests_are_not_changed_by_judging():
    card = cards.card()
    before = copy.deepcopy(card)
    page.write(card, "now")
    assert card == before
