"""What `hakmem heap` gives: the file for pprof, the table, the picture and the command, on profiles made up here."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import cli
from lab.commands import heap
from lab.errors import LabError
from lab.explain import held
from lab.explain.smaps import Mapping
from lab.heap import picture, pprof, report
from lab.heap.estimate import of_samples
from lab.heap.images import NOWHERE, Frame
from lab.heap.messages import TABLE, profile_class
from lab.heap.profile import CodeMapping, Profile, Stack

MIB = 1 << 20
CODE = Mapping(0x5000, 0x9000, "r-xp", 0x1000, 3, "/bin/program")
PLUGIN = Mapping(0xA000, 0xB000, "r-xp", 0, 4, "/lib/plugin.so")


def frame(name: str, address: int, symbol: str = "") -> Frame:
    return Frame(address, name, symbol or name, CODE.name, address - 0x4000, CODE)


MAIN, LOAD, PARSE = frame("main", 0x5010), frame("load(int)", 0x5020, "_Z4loadi"), frame("parse", 0x5030)
UNKNOWN = Frame(0xA010, "", "", PLUGIN.name, 0x10, PLUGIN)


def stack(live: tuple[int, int], taken: tuple[int, int], rate: int, *frames: Frame) -> Stack:
    return Stack(frames, of_samples(*taken, rate), of_samples(*live, rate), taken[1] // taken[0])


def profile(rate: int = 1, lost: int = 0, torn: int = 0, stacks: bool = True) -> Profile:
    """4 MiB that parse holds, 1 MiB that an unnamed function does, 1 MiB in main; parse calls itself."""
    made = (
        stack((4, 4 * MIB), (8, 8 * MIB), rate, PARSE, PARSE, LOAD, MAIN),
        stack((1, MIB), (1, MIB), rate, UNKNOWN, MAIN),
        stack((2, MIB), (2, MIB), rate, MAIN),
        stack((0, 0), (3, 30), rate, NOWHERE),
    )
    mappings = (
        CodeMapping(0x5000, 0x9000, 0x1000, "/bin/program", "ab12"),
        CodeMapping(0xA000, 0xB000, 0, "/lib/plugin.so", ""),
    )
    chosen = made if stacks else ()
    return Profile(7, "program $1 <x>", "standard", "0.1.0", "running", 12345, rate, lost, torn, mappings, chosen)


# ---- the file ----


def read_back(found: Profile) -> Any:
    return profile_class().FromString(gzip.decompress(pprof.encoded(found)))


def test_the_file_says_what_the_profile_says() -> None:
    message = read_back(profile(rate=1, lost=9))
    text = message.string_table
    assert text[0] == "" and len(set(text)) == len(text)
    kinds = [(text[one.type], text[one.unit]) for one in message.sample_type]
    assert kinds == list(pprof.SAMPLE_TYPES) and text[message.default_sample_type] == "inuse_space"
    assert (text[message.period_type.type], text[message.period_type.unit], message.period) == ("space", "bytes", 1)
    assert message.time_nanos == 12345 and any("hakmem 0.1.0 standard" in text[one] for one in message.comment)
    assert any("9 lost" in text[one] for one in message.comment)
    assert [list(one.value) for one in message.sample][:2] == [[8, 8 * MIB, 4, 4 * MIB], [1, MIB, 1, MIB]]
    (label,) = message.sample[0].label
    assert (text[label.key], label.num, text[label.num_unit]) == ("bytes", MIB, "bytes")


def test_stacks_lead_from_the_leaf_to_functions_and_files() -> None:
    message = read_back(profile())
    text, locations = message.string_table, {one.id: one for one in message.location}
    functions = {one.id: (text[one.name], text[one.system_name]) for one in message.function}
    path = [locations[number] for number in message.sample[0].location_id]
    assert [functions[one.line[0].function_id][0] for one in path] == ["parse", "parse", "load", "main"]
    assert [one.address for one in path] == [0x5030, 0x5030, 0x5020, 0x5010] and len(locations) == 5
    assert ("load", "_Z4loadi") in functions.values()
    first, second = message.mapping
    assert (first.memory_start, first.memory_limit, first.file_offset) == (0x5000, 0x9000, 0x1000)
    assert (text[first.filename], text[first.build_id], first.has_functions) == ("/bin/program", "ab12", True)
    assert not second.has_functions, "of a file with unnamed functions pprof asks the file itself"
    nameless = [one for one in message.location if not one.line]
    assert [(one.address, one.mapping_id) for one in nameless] == [(0xA010, second.id)]


def test_estimates_are_written_unsampled() -> None:
    message = read_back(profile(rate=1 << 30))
    blocks, bytes_ = message.sample[0].value[:2]
    assert blocks == pytest.approx(8 * 1024, rel=1e-2) and bytes_ == pytest.approx(blocks * MIB, rel=1e-3)


def test_an_empty_profile_is_a_valid_one() -> None:
    message = read_back(profile(stacks=False))
    assert len(message.sample_type) == 4 and not message.sample and message.period == 1


def test_what_pprof_shall_drop() -> None:
    pattern = re.compile(f"^({pprof.drop_frames()})$")
    assert all(pattern.match(name) for name in ("malloc", "realloc", "operator new", "operator new[]", "__libc_malloc"))
    assert not any(pattern.match(name) for name in ("main", "my_malloc", "operator newer", "alloc_page"))


def test_the_same_profile_gives_the_same_file() -> None:
    assert pprof.encoded(profile()) == pprof.encoded(profile())


def test_field_numbers_are_used_once() -> None:
    for fields in TABLE.values():
        assert len({number for number, _, _ in fields}) == len({name for _, name, _ in fields}) == len(fields)


# ---- the table ----


def test_flat_and_cumulative() -> None:
    rows = {row.name: (row.flat.bytes, row.cumulative.bytes) for row in report.rows_of(profile())}
    assert rows == {
        "parse": (4 * MIB, 4 * MIB),  # it calls itself and counts once
        "main": (MIB, 6 * MIB),
        "plugin.so+0x10": (MIB, MIB),
        "load": (0, 4 * MIB),
    }
    assert [row.name for row in report.rows_of(profile())] == ["parse", "main", "plugin.so+0x10", "load"]
    assert report.rows_of(profile(), "allocated")[0].flat.bytes == 8 * MIB
    assert "[no call path]" in {row.name for row in report.rows_of(profile(), "allocated")}


def test_paths_merge_whatever_the_size() -> None:
    path = report.paths_of(profile())[0]
    assert path.names == ("main", "load", "parse", "parse") and path.of.bytes == 4 * MIB


def test_the_page() -> None:
    page = "\n".join(report.lines(profile(lost=3, torn=2)))
    assert (
        "process 7 (program $1 <x>), hakmem 0.1.0 standard" in page
        and "every allocation: 14 samples, 7 of them live" in page
    )
    assert "live: 6.0 MiB in 7 blocks; allocated since the start: 10.0 MiB in 14 blocks" in page
    assert "3 lost" in page and "lost samples are missing" in page and "2 records were left out" in page
    assert "main > load > parse > parse" in page and "4.0 MiB (66.7 %), 4 blocks of 1,048,576 bytes" in page
    (row,) = [line.split() for line in page.splitlines() if line.endswith(" load")]
    assert row == ["0", "B", "0.0", "4.0", "MiB", "66.7", "0", "0", "load"]


def test_estimates_have_errors_and_say_what_they_mean() -> None:
    page = "\n".join(report.lines(profile(rate=64 * MIB)))
    assert "one sample each 64.0 MiB on average" in page and "relative standard error" in page
    (row,) = [line.split() for line in page.splitlines() if line.endswith(" parse") and ">" not in line]
    assert float(row[3]) == pytest.approx(50, abs=1), "4 samples"
    assert "±" not in "\n".join(report.lines(profile(rate=1))).replace("±%", ""), "what is exact has none"


def test_no_more_rows_than_asked_for_and_none_without_samples() -> None:
    assert sum(" > " in line for line in report.lines(profile(), top=1)) == 1
    page = "\n".join(report.lines(profile(stacks=False)))
    assert "no samples yet" in page and "Functions" not in page


def test_the_middle_of_a_long_path_is_left_out() -> None:
    deep = replace(profile(), stacks=(stack((1, 8), (1, 8), 1, *[PARSE] * 40, MAIN),))
    page = " ".join(" ".join(report.lines(deep)).split())
    assert "main" + " > parse" * 7 + " > ... 17 more ..." + " > parse" * 16 in page


@pytest.mark.parametrize(
    ("width", "kept"),
    [
        (40, ["flat"]),
        (60, ["flat"]),
        (80, ["flat", "%", "cum", "blocks"]),
        (100, ["flat", "%", "cum", "%", "blocks", "samples"]),
        (120, list(report.HEADINGS)),
    ],
)
def test_a_narrow_terminal_has_fewer_columns_and_cuts_nothing(width: int, kept: list[str]) -> None:
    name = "a_function_whose_name_is_long"
    of = stack((700, 1500 * MIB), (700, 1500 * MIB), 64 * MIB, frame(name, 0x5040), MAIN)
    page = report.lines(replace(profile(rate=64 * MIB), stacks=(of,)), width=width)
    assert max(map(len, page)) <= width
    at = next(i for i, line in enumerate(page) if line.endswith("   function"))
    assert page[at].split() == [*kept, "function"]
    shown = page[at + 2 : page.index("", at)]
    figures = {"flat": "45,554.2 MiB", "%": "100.0", "±%": "3.7", "cum": "45,554.2 MiB", "blocks": "21,259", "samples": "700"}
    first, rest = shown[0].split(), shown[1:-1]
    assert " ".join(first[:-1]) == " ".join(figures[heading] for heading in kept)
    assert first[-1] + "".join(rest).strip() == name and len(rest) == (width == 40)


@pytest.mark.parametrize("width", [8, 20, 40, 60, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, report.lines(profile(), width=width))) <= width


def test_names_of_a_process_are_shown_and_not_obeyed() -> None:
    odd = Frame(0xA010, "", "", "/lib/\x1b[31mred.so", 0x10, PLUGIN)
    found = replace(profile(), command="\x1b[31mred", stacks=(stack((1, MIB), (1, MIB), 1, odd, MAIN),))
    page = "\n".join(report.lines(found)) + picture.drawn(found, "svg").decode()
    assert "\x1b" not in page and page.count(r"\x1b[31mred") >= 4
    assert "process 7: \\x1b[31mred" in read_back(found).string_table


def test_json_has_all_of_it() -> None:
    data = json.loads(json.dumps(report.as_json(profile()), allow_nan=False))
    assert data["live"] == {"bytes": 6 * MIB, "blocks": 7, "samples": 7, "relative_error": 0}
    assert [one["name"] for one in data["stacks"][0]["frames"]] == ["parse", "parse", "load(int)", "main"]
    assert data["functions"]["allocated"][0]["name"] == "parse" and data["bytes_between_samples"] == 1


@pytest.mark.parametrize(("count", "said"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 30, "5,120.0 MiB")])
def test_sizes(count: int, said: str) -> None:
    assert report.size(count) == said


# ---- the picture ----


def test_bars_lie_below_who_called() -> None:
    bars = picture.bars_of(picture.tree_of(profile()))
    places = {(bar.name, bar.row): (round(bar.left, 3), round(bar.width, 3)) for bar in bars}
    assert places == {
        ("all", 0): (0, 1),
        ("main", 1): (0, 1),
        ("load", 2): (0, 0.667),
        ("plugin.so+0x10", 2): (0.667, 0.167),
        ("parse", 3): (0, 0.667),
        ("parse", 4): (0, 0.667),
    }


def test_pictures_of_every_kind() -> None:
    svg = picture.drawn(profile(), "svg").decode()
    assert "load" in svg and "process 7 (program $1 &lt;x&gt;)" in svg and "6.0 MiB in 7 blocks live" in svg
    assert svg == picture.drawn(profile(), "svg").decode()
    assert picture.drawn(profile(), "png").startswith(b"\x89PNG") and picture.drawn(profile(), "pdf").startswith(b"%PDF")
    assert "nothing sampled is live" in picture.drawn(profile(stacks=False), "svg").decode()


# ---- the command ----


@pytest.fixture(name="taken")
def _taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Every process has the same profile, and the working directory is a new one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(heap.profile, "take", lambda pid, state: profile())
    return tmp_path


def test_the_file_is_where_it_says(taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["heap", "7"]) == 0 and cli.main(["heap", "7", "--sort", "allocated"]) == 0
    said = capsys.readouterr().out
    for name in ("hakmem.7.heap.pb.gz", "hakmem.7.2.heap.pb.gz"):
        assert f"profile: {name}\n  to look at it: go tool pprof -http=: {name}" in said and (taken / name).exists()
    assert "allocated since the start" in said


def test_all_files_that_are_asked_for(taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["heap", "7", "-o", "a", "--plot", "b.png", "--json", "c"]) == 0
    assert all((taken / name).stat().st_size for name in ("a", "b.png", "c"))
    said = capsys.readouterr().out
    assert "profile: a\n" in said and "picture: b.png\n" in said and json.loads((taken / "c").read_text())["profile"] == "a"


def test_json_on_standard_output_is_alone(taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["heap", "7", "-o", "a", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["profile"] == "a"


def test_a_disk_that_is_full_costs_a_file_but_not_the_page(taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["heap", "7", "-o", "/dev/full"]) == 1
    said = capsys.readouterr()
    assert "cannot write /dev/full: No space left on device" in said.err
    assert "live: 6.0 MiB in 7 blocks" in said.out and "profile:" not in said.out and "pprof" not in said.out


def test_every_file_is_tried_whatever_becomes_of_the_others(taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (taken / "full.svg").symlink_to("/dev/full")
    assert cli.main(["heap", "7", "-o", "a", "--plot", "full.svg", "--json", "c"]) == 1
    said = capsys.readouterr()
    assert "live: 6.0 MiB" in said.out and "\n\nprofile: a\n" in said.out and "picture:" not in said.out
    assert said.err.count("cannot write") == 1 and "cannot write full.svg: No space left on device" in said.err
    assert (taken / "a").exists() and json.loads((taken / "c").read_text())["profile"] == "a"
    assert cli.main(["heap", "7", "-o", "/dev/full", "--plot", "full.svg", "--json", "/dev/full"]) == 1
    said = capsys.readouterr()
    assert said.err.count("No space left on device") == 3 and "live: 6.0 MiB" in said.out
    assert cli.main(["heap", "7", "-o", "/dev/full", "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["profile"] is None


def test_a_directory_that_cannot_be_written(
    taken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir("/proc")
    assert cli.main(["heap", "7"]) == 1
    said = capsys.readouterr()
    assert "live: 6.0 MiB in 7 blocks" in said.out and "pprof" not in said.out
    assert said.err.startswith("hakmem: cannot write hakmem.7.heap.pb.gz: ")
    assert said.err.endswith("\n  the profile was not written: choose another place with -o FILE\n")


def test_the_command_to_look_at_a_profile_can_be_pasted(taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["heap", "7", "-o", "a b$c.pb.gz"]) == 0
    said = capsys.readouterr().out
    assert "profile: a b$c.pb.gz\n  to look at it: go tool pprof -http=: 'a b$c.pb.gz', or pprof 'a b$c.pb.gz'\n" in said
    assert cli.main(["heap", "7", "-o", "/dev/null"]) == 0
    said = capsys.readouterr().out
    assert "profile: /dev/null\n" in said and "pprof" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["one"], "'one' is not a process id"),
        (["7", "--sort", "size"], "use one of live, allocated"),
        (["7", "--plot", "a.gif"], "let its name end in one of .svg, .png, .pdf"),
        (["7", "--plot", "/nowhere/a.svg"], "cannot write /nowhere/a.svg: there is no such directory"),
        (["7", "-o", "."], "cannot write .: it is a directory"),
        (["7", "--json", "/nowhere/a"], "cannot write /nowhere/a"),
        (["7", "-o", "a.svg", "--plot", "a.svg"], "--output and --plot name the same file, a.svg"),
    ],
)
def test_what_does_not_fit_is_said(taken: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["heap", *words]) != 0
    assert said in capsys.readouterr().err and not list(taken.iterdir())


def test_reports_of_a_held_program(monkeypatch: pytest.MonkeyPatch, taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both reports, on standard error; one that is refused does not keep the other from speaking."""

    def refuse(pid: int) -> None:
        raise LabError(f"no words about {pid}")

    def hold(words: list[str], environment: dict[str, str], at_exit: Any) -> int:
        assert words == ["program", "--top"] and environment["LD_PRELOAD"].endswith("lib.so")
        at_exit(7)
        return 5 << 8

    monkeypatch.setattr(held.hold, "run", hold)
    monkeypatch.setattr(heap.explain, "at_exit", refuse)
    assert cli.main(["heap", "--run", "lib.so", "--explain", "-o", "a", "--", "program", "--top"]) == 5
    done = capsys.readouterr()
    assert not done.out and "no words about 7" in done.err and "profile: a" in done.err and (taken / "a").exists()
    for ended, status in ((5 << 8, 5), (0, 1)):  # of the program, and what of it is made where a file is missing
        monkeypatch.setattr(held.hold, "run", lambda words, environment, at_exit: (at_exit(7), ended)[1])
        assert cli.main(["heap", "--run", "lib.so", "-o", "/dev/full", "--", "program"]) == status
        done = capsys.readouterr()
        assert not done.out and "live: 6.0 MiB" in done.err and "cannot write /dev/full" in done.err
    monkeypatch.setattr(heap.profile, "take", lambda pid, state: refuse(pid))
    assert cli.main(["heap", "--run", "lib.so", "-o", "a", "--", "program"]) == 0, "it says so, and ends as the program did"
    assert cli.main(["heap", "--run", "lib.so", "-o", "/nowhere/a", "--", "program"]) == 1
    assert "give --heap a file" in capsys.readouterr().err
