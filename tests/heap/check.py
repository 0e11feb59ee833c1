"""Runs holder in every way it can be linked, takes its heap profile, and compares it with what holder has allocated.

With a sample of every allocation the figures are exact. With a rate they are estimates: within six times the standard
error that the tool itself states, which one run in 500 million would miss.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lab.heap.messages import profile_class
from lab.tests.outside import LAB, LIBRARY, PROGRAMS, check_refusals, directory, environment, refused, run_all, speaking

EVERY = {"HAKMEM_HEAP_SAMPLE": "1"}
ERRORS = 6  # standard errors that an estimate may be off by
KNOWN = {  # function: live blocks and bytes, allocated blocks and bytes
    "take_small": (1000, 100000, 1000, 100000),
    "take_large": (3, 600000, 3, 600000),
    "take_zeroed": (10, 500, 10, 500),
    "take_aligned": (10, 50000, 10, 50000),
    "churn": (0, 0, 500, 150000),
    "take_in_thread": (100, 6400, 200, 12800),
}


def holder(
    mode: str, program: Path = PROGRAMS / "heap_holder", preload: bool = True, **options: str
) -> AbstractContextManager[Any]:
    """A holder that has said everything: its process id and what it said."""
    return speaking([program, mode], environment(preload, **options))


def profiled(pid: int, *words: object) -> tuple[dict[str, Any], Any]:
    """What the tool finds: its JSON, and the message in the file."""
    with directory() as place:
        target = place / "profile"
        command = [*LAB, "heap", str(pid), "--output", str(target), "--json", "-", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), message_of(target)


def message_of(file: Path) -> Any:
    return profile_class().FromString(gzip.decompress(file.read_bytes()))


def flat(found: dict[str, Any], order: str, name: str) -> dict[str, Any]:
    """What a function allocated itself."""
    rows = [row["flat"] for row in found["functions"][order] if row["name"] == name]
    return rows[0] if rows else {"blocks": 0, "bytes": 0, "samples": 0, "relative_error": 0}


def check_known(found: dict[str, Any]) -> None:
    """Every figure, and the path to one of the functions."""
    assert found["bytes_between_samples"] == 1 and found["lost_samples"] == 0 and found["torn_records"] == 0, found
    for name, wanted in KNOWN.items():
        live, allocated = flat(found, "live", name), flat(found, "allocated", name)
        is_there = (live["blocks"], live["bytes"], allocated["blocks"], allocated["bytes"])
        assert is_there == wanted, f"{name}: {is_there}, wanted {wanted}"
        assert live["relative_error"] == 0 and live["samples"] == live["blocks"]
    grown = flat(found, "live", "grow")
    assert (grown["blocks"], grown["bytes"]) == (1, 1 << 20), grown
    (path,) = [stack["frames"] for stack in found["stacks"] if stack["frames"][0]["name"] == "take_large"]
    names = [frame["name"] for frame in path]
    assert names[:3] == ["take_large", "inner", "outer"] and "main" in names, names
    leaves = {stack["frames"][0]["name"] for stack in found["stacks"]}
    assert not any(name.startswith(("alloc_", "sample_", "malloc", "calloc", "realloc")) for name in leaves), leaves


def test_preloaded_every_figure_is_exact() -> None:
    with holder("known", **EVERY) as (pid, _):
        found, message = profiled(pid)
        check_known(found)
        assert found["pid"] == pid and found["state"] == "running" and found["variant"] == os.environ["TESTED_VARIANT"]
        assert found["command"].endswith("heap_holder known")
        check_message(found, message)


def check_message(found: dict[str, Any], message: Any) -> None:
    """The file says the same as the JSON."""
    text = message.string_table
    kinds = [(text[kind.type], text[kind.unit]) for kind in message.sample_type]
    wanted = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
    assert [kind for kind, _ in kinds] == wanted and [unit for _, unit in kinds] == ["count", "bytes"] * 2, kinds
    assert text[message.default_sample_type] == "inuse_space" and message.period == found["bytes_between_samples"]
    sums = [sum(sample.value[i] for sample in message.sample) for i in range(4)]
    rounding = len(message.sample)
    for i, (order, what) in enumerate((order, what) for order in ("allocated", "live") for what in ("blocks", "bytes")):
        assert abs(sums[i] - found[order][what]) <= rounding, (sums, found["live"], found["allocated"])
    program = message.mapping[0]
    assert text[program.filename].endswith("/heap_holder"), text[program.filename]
    assert len(text[program.build_id]) >= 16 or not text[program.build_id]
    ranges = {mapping.id: (mapping.memory_start, mapping.memory_limit) for mapping in message.mapping}
    for location in message.location:
        low, high = ranges[location.mapping_id]
        assert low <= location.address < high
    names = {text[function.name] for function in message.function}
    assert {"take_small", "take_large", "main"} <= names, names


def test_linked_statically() -> None:
    with holder("known", PROGRAMS / "heap_static", preload=False, **EVERY) as (pid, _):
        check_known(profiled(pid)[0])


def test_stripped_the_places_in_the_file_are_named() -> None:
    if not shutil.which("strip"):
        return
    with directory() as place:
        program = place / "stripped"
        subprocess.run(["strip", "-o", program, PROGRAMS / "heap_holder"], check=True)
        with holder("known", program, **EVERY) as (pid, _):
            found, _ = profiled(pid)
    leaves = {stack["frames"][0]["name"]: stack for stack in found["stacks"] if stack["live"]["blocks"] == 1000}
    (name,) = leaves
    assert name.startswith("stripped+0x") and leaves[name]["live"]["bytes"] == 100000, name


def test_estimates_are_within_their_errors() -> None:
    wanted = {"take_small": (36e6, 36e6), "take_and_give_half": (22.5e6, 45e6)}
    with holder("many", HAKMEM_HEAP_SAMPLE="8k") as (pid, _):
        found, message = profiled(pid)
    assert found["bytes_between_samples"] == 8192 == message.period
    for name, bytes_ in wanted.items():
        for order, true in zip(("live", "allocated"), bytes_, strict=True):
            of = flat(found, order, name)
            assert 0 < of["relative_error"] < 0.03 and of["samples"] > 1000, (name, order, of)
            assert abs(of["bytes"] - true) <= ERRORS * of["relative_error"] * true, (name, order, of)
            blocks = true / (120 if name == "take_small" else 1500)
            assert abs(of["blocks"] - blocks) <= ERRORS * of["relative_error"] * blocks, (name, order, of)


def test_a_child_has_what_it_inherited_and_its_own() -> None:
    with holder("fork", **EVERY) as (pid, said):
        parent, child = profiled(pid)[0], profiled(said["child"])[0]
    assert flat(parent, "live", "take_small")["blocks"] == 100 and flat(child, "live", "take_small")["blocks"] == 60
    assert flat(parent, "live", "take_in_parent")["bytes"] == 210000 and not flat(parent, "live", "take_in_child")["blocks"]
    assert flat(child, "live", "take_in_child")["bytes"] == 100000 and not flat(child, "live", "take_in_parent")["blocks"]


def test_a_process_that_changes_is_read_all_the_same() -> None:
    with holder("change", **EVERY) as (pid, _):
        for _ in range(5):
            found, _ = profiled(pid)
            deep = [stack for stack in found["stacks"] if stack["frames"][0]["name"] == "deep"]
            assert deep and all(stack["live"]["blocks"] <= stack["allocated"]["blocks"] for stack in deep)
            assert sum(stack["live"]["blocks"] for stack in deep) <= 1001 + len(deep)
            assert all(stack["bytes_each"] == 100 for stack in deep), deep[0]


def test_the_table_and_the_files() -> None:
    with holder("known", **EVERY) as (pid, _), directory() as place:
        for name in ("hakmem.{}.heap.pb.gz", "hakmem.{}.2.heap.pb.gz"):
            command = [*LAB, "heap", str(pid), "--plot", "heap.svg", "--top", "20", "--sort", "allocated"]
            done = subprocess.run(command, capture_output=True, text=True, cwd=place)
            assert done.returncode == 0 and not done.stderr, done.stderr
            for words in ("take_small", "outer > inner > take_large", "every allocation", f"profile: {name.format(pid)}"):
                assert words in done.stdout, done.stdout
            check_message(profiled(pid)[0], message_of(place / name.format(pid)))
        picture = (place / "heap.svg").read_text()
        assert "<svg" in picture and "take_small" in picture and f"process {pid}" in picture


def run(*words: object, **options: str) -> subprocess.CompletedProcess[str]:
    command = [*LAB, "heap", "--run", LIBRARY, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(False, **options))


def test_held_at_its_exit() -> None:
    with directory() as place:
        target = place / "profile"
        done = run("--output", target, "--", PROGRAMS / "heap_holder", "exit", **EVERY)
        assert done.returncode == 3 and not done.stdout, done.stdout + done.stderr
        assert "held at its exit" in done.stderr and "take_small" in done.stderr and "of Rss" not in done.stderr
        message = message_of(target)
        assert any(list(sample.value) == [1000, 100000, 1000, 100000] for sample in message.sample)


def test_held_once_for_both_reports() -> None:
    with directory() as place:
        target = place / "profile"
        done = run("--output", target, "--explain", "--", PROGRAMS / "heap_holder", "exit", **EVERY)
        assert done.returncode == 3 and not done.stdout, done.stdout + done.stderr
        assert "the kernel's Rss" in done.stderr and "take_small" in done.stderr and target.exists()
        done = run("--output", target, "--explain", "--", "sh", "-c", "kill -USR1 $$")
        assert done.returncode == -signal.SIGUSR1 and "the kernel's Rss" in done.stderr
        assert "takes no heap samples" in done.stderr, "one that cannot speak does not keep the other from it"


def test_a_file_that_cannot_be_written_is_refused_before_the_program_runs() -> None:
    with directory() as place:
        done = run("--output", "/proc/none", "--", "touch", place / "ran")
        assert done.returncode == 1 and "cannot write /proc/none" in done.stderr and not (place / "ran").exists(), done.stderr


def test_before_anything_was_sampled() -> None:
    with holder("sleep", HAKMEM_HEAP_SAMPLE="1g") as (pid, _), directory() as place:
        command = [*LAB, "heap", str(pid), "--output", str(place / "profile")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        message = message_of(place / "profile")
        assert len(message.sample_type) == 4 and message.period == 1 << 30
        assert bool(message.sample) != ("no samples yet" in done.stdout), done.stdout  # once in a million it has one


def test_what_cannot_be_profiled() -> None:
    check_refusals("heap")
    with holder("sleep") as (pid, _):
        refused(1, "hakmem run --sample 512k", "heap", pid)
        refused(1, "cannot write /nowhere/profile", "heap", pid, "--output", "/nowhere/profile")


if __name__ == "__main__":
    sys.exit(run_all(globals()))
