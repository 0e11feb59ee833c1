"""Peers: the recipes' metadata, how they are made, kept, found and reported. No registry is asked: the recipes that
are carried out here compile small allocators of the tests."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import cli, peers
from lab.commands import peers as commands
from lab.errors import AskedWrongly, LabError
from lab.peers import Step, mimalloc, shelf, tcmalloc
from lab.peers.recipe import CannotBeHad, Job, Made, Recipe
from lab.tests import fakes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def private_shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PEERS_DIR", str(tmp_path / "peers"))
    return tmp_path / "peers"


@pytest.fixture
def recipes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts these recipes in the place of the real ones."""
    return lambda *chosen: monkeypatch.setattr(peers, "RECIPES", list(chosen))


def recipe(name: str, make: Callable[[Job], Made] | None = None, **other) -> Recipe:
    given = {"tools": (), "packages": "none", "seconds": 1.0, "origin": f"test {name} 1.0", "version": "1.0"}
    return Recipe(name=name, family=name, make=make or compiled(fakes.BUMP), **{**given, **other})


def compiled(source: str, *options: str) -> Callable[[Job], Made]:
    return lambda job: Made(fakes.build(job.work, "libmade.so", source, *options), "1.0.7")


def unavailable(job: Job) -> Made:
    job.run("sh", "-c", "echo asking >&2; echo no such crate >&2; exit 3")
    raise AssertionError("not reached")


def states(results: list[peers.PeerResult]) -> dict[str, str]:
    return {result.name: result.state for result in results}


def test_every_recipe_is_pinned_and_says_what_it_needs() -> None:
    names = [name for recipe in peers.RECIPES for name in (recipe.name, *recipe.aliases)]
    assert len(names) == len(set(names))
    wanted = {"mimalloc2", "mimalloc3", "jemalloc", "tcmalloc", "gperftools", "snmalloc", "rpmalloc"}
    assert {recipe.name for recipe in peers.RECIPES} == wanted
    for known in peers.RECIPES:
        assert re.fullmatch(r"crate [\w-]+ \d+\.\d+\.\d+|Debian [\w.-]+", known.origin), known
        assert re.match(r"\d", known.version) and known.seconds > 0 and known.tools and known.packages
    assert sum(known.seconds for known in peers.RECIPES) < 8 * 60


def test_no_recipe_names_a_host() -> None:
    for source in (ROOT / "lab/peers").glob("*.py"):
        assert "://" not in source.read_text(), source


def test_a_peer_is_made_once_and_noted(recipes, private_shelf: Path) -> None:
    asked = []

    def make(job: Job) -> Made:
        asked.append(job)
        return compiled(fakes.BUMP)(job)

    recipes(recipe("bump", make, links=("libbump.so.1",), env={"OPTION": "1"}))
    (first,) = peers.get()
    assert first.state == "made" and first.allocator is not None and first.reason == ""
    assert first.allocator.path == str(private_shelf / "libbump.so") and first.allocator.version == "1.0.7"
    assert first.allocator.env == {"OPTION": "1"}
    note = json.loads((private_shelf / "libbump.json").read_text())
    assert note["sha256"] == shelf.checksum(private_shelf / "libbump.so")
    assert (note["name"], note["version"], note["origin"]) == ("bump", "1.0.7", "test bump 1.0")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", note["date"])
    assert os.readlink(private_shelf / "libbump.so.1") == "libbump.so"
    assert states(peers.get()) == {"bump": "ready"} and len(asked) == 1
    assert states(peers.get(again=True)) == {"bump": "made"} and len(asked) == 2
    left = {".lock", "work", "libbump.so", "libbump.so.1", "libbump.json"}
    assert set(os.listdir(private_shelf)) <= left and not os.listdir(private_shelf / "work")


def test_one_that_cannot_be_had_says_why_and_does_not_stop_the_others(recipes) -> None:
    recipes(recipe("gone", unavailable), recipe("lacks", tools=("no-such-tool",), packages="toolbox"), recipe("bump"))
    gone, lacks, bump = peers.get()
    assert gone.state == "failed" and gone.allocator is None
    assert gone.reason == "`sh -c` failed: asking\nno such crate"
    assert lacks.reason == "no-such-tool not found" and lacks.fix == "install the Debian packages toolbox"
    assert bump.state == "made"


def test_a_surprise_in_a_recipe_is_a_reason_too(recipes) -> None:
    recipes(recipe("odd", lambda job: Made(job.work / "nothing.so", "1")), recipe("odder", lambda job: {}["version"]))
    assert states(peers.get()) == {"odd": "failed", "odder": "failed"}


@pytest.mark.parametrize("source", [fakes.NO_ALLOCATOR, fakes.FORWARDING])
def test_a_library_that_is_no_allocator_is_not_kept(recipes, private_shelf: Path, source: str) -> None:
    recipes(recipe("liar", compiled(source)))
    (result,) = peers.get()
    assert result.state == "failed" and "does not own malloc" in result.reason
    assert not list(private_shelf.glob("*.so"))


def test_a_library_that_programs_do_not_survive_is_not_kept(recipes) -> None:
    dying = fakes.BUMP.replace("return cut(16, size); }", "static int calls; return ++calls > 200 ? *(char **)8 : cut(16, size); }", 1)
    recipes(recipe("dying", compiled(dying)))
    (result,) = peers.get()
    assert result.state == "failed" and "a program does not run with it" in result.reason


def test_an_interruption_keeps_what_is_finished(recipes, private_shelf: Path) -> None:
    def interrupted(job: Job) -> Made:
        (job.work / "half").touch()
        raise KeyboardInterrupt

    recipes(recipe("bump"), recipe("slow", interrupted))
    with pytest.raises(KeyboardInterrupt):
        peers.get()
    assert [allocator.name for allocator in peers.installed() if allocator.family == "bump"] == ["bump"]
    assert not os.listdir(private_shelf / "work")


def test_an_interruption_ends_the_commands_of_a_recipe(tmp_path: Path) -> None:
    started = tmp_path / "pid"

    def tick() -> None:
        if started.exists() and started.read_text().strip():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Job(tmp_path, tick).run("sh", "-c", f"echo $$ >{started}; sleep 1000 & sleep 1000")
    group = int(started.read_text())
    for _ in range(3000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("a command of the recipe is still there")


def test_what_an_earlier_run_left_half_done_is_removed(recipes, private_shelf: Path) -> None:
    (private_shelf / "work/bump-killed").mkdir(parents=True)
    recipes(recipe("bump"))
    peers.get()
    assert not (private_shelf / "work/bump-killed").exists()


def test_a_library_that_its_note_does_not_fit_is_not_there(recipes, private_shelf: Path) -> None:
    recipes(recipe("bump"))
    peers.get()
    with open(private_shelf / "libbump.so", "ab") as library:
        library.write(b"changed")
    with pytest.raises(LabError, match="bump is not there"):
        peers.find("bump")
    assert states(peers.get()) == {"bump": "made"}
    (private_shelf / "libbump.json").write_text("{")
    assert states(peers.get()) == {"bump": "made"}
    recipes(recipe("bump", origin="test bump 1.1"))
    assert states(peers.get()) == {"bump": "made"}


def test_two_runs_wait_for_each_other(recipes) -> None:
    recipes(recipe("bump"))
    steps: queue.Queue[Step] = queue.Queue()
    results: list[peers.PeerResult] = []
    with shelf.locked():
        other = threading.Thread(target=lambda: results.extend(peers.get(None, steps.put)))
        other.start()
        assert steps.get(timeout=200).state == "waiting"
        assert not results
    other.join(200)
    assert states(results) == {"bump": "made"}


def test_progress_tells_what_is_left(recipes) -> None:
    recipes(recipe("first", seconds=30.0), recipe("second", seconds=50.0))
    steps: list[Step] = []
    peers.get(None, steps.append)
    assert steps[0].name == "first" and steps[0].state == "making" and 70 < steps[0].left_s <= 80
    assert [(step.name, step.left_s) for step in steps if step.state == "made"] == [("first", 50.0), ("second", 0.0)]
    assert all(0.0 <= step.fraction <= 1.0 for step in steps)


def test_allocators_are_found_by_name_alias_and_path(recipes, tmp_path: Path) -> None:
    recipes(recipe("bump", aliases=("b",)))
    peers.get()
    assert peers.find("b") == peers.find("bump")
    assert peers.find("glibc").path is None and peers.find("system").name == "glibc"
    library = fakes.build(tmp_path, "libmine.so", fakes.BUMP)
    assert (peers.find(str(library)).name, peers.find(f"new={library}").name) == ("mine", "new")
    assert peers.find(str(library)).version.startswith("sha256 ")
    assert [allocator.name for allocator in peers.installed()][:2] == ["glibc", "bump"]


def test_what_cannot_be_found_says_what_to_do(recipes) -> None:
    recipes(recipe("bump"))
    for name, kind, words in [
        ("bump", LabError, "`hakmem peers bump` makes it"),
        ("bmup", AskedWrongly, "use one of: bump, glibc"),
        ("/nowhere/libx.so", LabError, "no library at /nowhere/libx.so"),
        ("hakmem-quick", AskedWrongly, "use one of: standard, fast, observe, hardened"),
    ]:
        with pytest.raises(kind) as caught:
            peers.find(name)
        assert words in caught.value.text()


def test_hakmem_s_own_variants(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shelf, "ROOT", tmp_path)
    with pytest.raises(LabError, match="the fast variant of hakmem is not built"):
        peers.find("hakmem-fast")
    (tmp_path / "build/fast").mkdir(parents=True)
    fakes.build(tmp_path / "build/fast", "libhakmem-fast.so", fakes.BUMP)
    assert peers.find("hakmem-fast").origin == "this tree, build/fast"
    assert peers.find("hakmem-fast").version == "unknown"
    assert peers.version_in("hakmem: version 0.1.0, commit ce867ebf33ce, variant fast\n") == "0.1.0 (ce867ebf33ce)"
    assert "hakmem-fast" in [allocator.name for allocator in peers.installed()]


@pytest.mark.parametrize(("number", "version"), [("227", "2.2.7"), ("20502", "2.5.2"), ("30600", "3.6.0"), ("31012", "3.10.12")])
def test_the_version_that_mimalloc_states(tmp_path: Path, number: str, version: str) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/mimalloc.h").write_text(f"#define MI_MALLOC_VERSION {number}  // major\n")
    assert mimalloc.version_of(tmp_path) == version


def test_the_sources_of_tcmalloc_are_those_of_its_crate() -> None:
    script = '["c_src/abseil-cpp/absl/a.cc", "c_src/tcmalloc/tcmalloc/internal/b.S", "c_src/malloc_bridge.cc", "c_src/readme.md"]'
    sources = tcmalloc.sources_of(script)
    assert sources == ["c_src/abseil-cpp/absl/a.cc", "c_src/tcmalloc/tcmalloc/internal/b.S", "c_src/tcmalloc/tcmalloc/tcmalloc.cc"]
    rows = tcmalloc.ninja_file(Path("/s"), sources).splitlines()
    assert "build 1.o: compile /s/c_src/tcmalloc/tcmalloc/internal/b.S" in rows
    assert "build libtcmalloc.so: link 0.o 1.o 2.o" in rows
    with pytest.raises(CannotBeHad):
        tcmalloc.sources_of("fn main() {}")


def test_the_command_shows_rows_and_reasons(recipes, capsys: pytest.CaptureFixture[str]) -> None:
    recipes(recipe("bump"), recipe("gone", unavailable))
    assert cli.main(["peers", "--no-build"]) == 0
    assert "`hakmem peers bump` makes it" in capsys.readouterr().out
    assert cli.main(["peers", "--no-build", "--again"]) == 2
    assert "leave one of them out" in capsys.readouterr().err
    assert cli.main(["peers"]) == 0
    shown = capsys.readouterr()
    assert re.search(r"^ +bump +1\.0\.7 +test bump 1\.0 +\S+libbump\.so +made in \d+ s", shown.out, re.M)
    assert re.search(r"^ +glibc +\d", shown.out, re.M) and re.search(r"^ +gone +- .* failed", shown.out, re.M)
    assert "gone cannot be had: `sh -c` failed: asking\nno such crate" in shown.out
    assert shown.err == "hakmem: making bump\nhakmem: making gone\n"


def test_the_command_fails_only_for_what_was_asked_by_name(recipes, capsys: pytest.CaptureFixture[str]) -> None:
    recipes(recipe("bump"), recipe("gone", unavailable))
    assert cli.main(["peers", "bump", "--quiet"]) == 0
    assert cli.main(["peers", "glibc"]) == 0
    assert cli.main(["peers", "gone"]) == 1
    assert "hakmem: not to be had here: gone" in capsys.readouterr().err
    assert cli.main(["peers", "noen"]) == 2


def test_the_command_as_json(recipes, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    recipes(recipe("bump"), recipe("gone", unavailable))
    assert cli.main(["peers", "--json", "-", "--quiet"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["bump"]["state"] == "made" and rows["bump"]["allocator"]["version"] == "1.0.7"
    assert rows["gone"]["allocator"] is None and "no such crate" in rows["gone"]["reason"]
    assert cli.main(["peers", "bump", "--json", str(tmp_path / "peers.json")]) == 0
    assert [row["name"] for row in json.loads((tmp_path / "peers.json").read_text())] == ["glibc", "bump"]
    assert cli.main(["peers", "bump", "--json", str(tmp_path / "no/such/file")]) == 1


def test_the_way_for_scripts(tmp_path: Path) -> None:
    """`python -m lab.peers` needs no package: it is run with none."""
    command = [sys.executable, "-S", "-P", "-m", "lab.peers", "nobody"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 2 and done.stderr.startswith("hakmem: there is no peer 'nobody'\n  use one of: mimalloc3")


def test_a_path_is_whole_where_the_current_directory_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    assert commands._near(f"{tmp_path}/gone/library.so") == "library.so"
    (tmp_path / "gone").rmdir()
    assert commands._near("/elsewhere/library.so") == "/elsewhere/library.so"
    monkeypatch.chdir(tmp_path)
