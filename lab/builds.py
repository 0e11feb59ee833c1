"""Libraries that differ in one thing: a box open or shut, or an option's value.

`box_sides` builds the variant twice, `price_sides` once as it is and once for every box flipped, `option_sides` takes
one library and two values. Builds lie in build/boxes, made by the tree's own CMake with HAKMEM_BOXES, so that flags
and everything else are those of `hakmem build`; each has a lock, and is built again when a source is newer.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import once
from lab.errors import AskedWrongly, LabError
from lab.model import Allocator

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("src", "include", "cmake", "packaging")
VARIANTS = ("standard", "fast", "observe", "hardened", "check")
BOX = re.compile(r"^BOX\((\w+), \"((?:[^\"\\]|\\.)*)\", (\d), (\d), (\d), (\d), (\d)\)", re.M)
REFUSED = re.compile(r"^hakmem: refused \((.*)\): ", re.M)
OPTION = re.compile(r"^OPTION\(\w+, \"(HAKMEM_\w+)\",.*?\"(\w*)\"\)$", re.M | re.S)


@dataclass(frozen=True)
class Box:
    """A row of src/boxes.def: `columns` says for each variant whether it is open."""

    name: str
    sentence: str
    columns: Mapping[str, bool]


def boxes() -> dict[str, Box]:
    """Every box by name, in the order of the table."""
    rows = BOX.findall((ROOT / "src/boxes.def").read_text())
    return {
        name: Box(name, sentence, {variant: value == "1" for variant, value in zip(VARIANTS, values, strict=True)})
        for name, sentence, *values in rows
    }


def options() -> set[str]:
    """Every name of a run-time option, older names included."""
    rows = OPTION.findall((ROOT / "src/options.def").read_text())
    return {name for row in rows for name in row if name}


def source_version() -> str:
    """The commit of the tree, with "+changes" when tracked files under src differ from it; "unknown" without git."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    return (
        (commit + ("+changes" if _git("status", "--porcelain", "-uno", "--", "src") else "")) if commit else "unknown"
    )


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def build(variant: str, settings: Mapping[str, bool] | None = None, copy: str = "") -> Path:
    """The shared library of a variant with some boxes opened or shut. `copy` names a further build of the same.

    Raises AskedWrongly for an unknown variant or box, LabError with the end of the log when it does not build.
    """
    settings = dict(settings or {})
    if variant not in VARIANTS:
        raise AskedWrongly(f"unknown variant '{variant}'", f"use one of: {', '.join(VARIANTS)}")
    for name in settings:
        check_box(name)
    words = [f"{name}={int(value)}" for name, value in sorted(settings.items())]
    directory = ROOT / "build/boxes" / "-".join([variant, *words, *([copy] if copy else [])])
    stamp = directory / ".built"

    def make() -> None:
        directory.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
        begun = directory / ".building"  # what is changed while it builds is newer
        begun.touch()
        _make(["cmake", "--preset", variant, "-B", str(directory), f"-DHAKMEM_BOXES={';'.join(words)}"], directory)
        _make(["cmake", "--build", str(directory), "--target", "library"], directory)
        if not _libraries(directory):
            raise LabError(f"no library came out of {directory.relative_to(ROOT)}", f"see {directory.name}/lab.log")
        begun.replace(stamp)

    once.made(directory, lambda: bool(_libraries(directory)) and once.is_newer(stamp, _sources()), make)
    return _libraries(directory)[0]


def _libraries(directory: Path) -> list[Path]:
    return sorted(directory.glob("libhakmem*.so"))


def _sources() -> list[Path]:
    """All that a library is made of."""
    trees = [path for name in SOURCES for path in once.tree(ROOT / name)]
    return [*trees, ROOT / "CMakeLists.txt", ROOT / "CMakePresets.json"]


def _make(command: list[str], directory: Path) -> None:
    log = directory / "lab.log"
    try:
        with open(log, "w") as out:
            done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    except OSError as error:
        raise LabError(
            f"cannot run cmake: {error}", "install cmake and ninja-build, or run `hakmem build` once"
        ) from None
    if done.returncode != 0:
        raise LabError(f"{directory.name} does not build:\n{log.read_text(errors='replace')[-1500:]}")


def check_box(name: str) -> Box:
    """The box of that name. Raises AskedWrongly."""
    if name not in boxes():
        raise AskedWrongly(f"unknown box '{name}'", f"use one of: {', '.join(boxes())}")
    return boxes()[name]


def allocator(name: str, path: Path, env: Mapping[str, str] | None = None) -> Allocator:
    """A build of this tree as a side of a comparison."""
    return Allocator(name, str(path), source_version(), "this tree", "hakmem", dict(env or {}))


def check_value(library: Path, variable: str, value: str) -> None:
    """The library is asked whether it takes the value. Raises AskedWrongly with its own words when it does not."""
    env = {variable: value, "HAKMEM_STRICT": "1", "LD_PRELOAD": str(library)}
    done = subprocess.run(["/bin/sh", "-c", ":"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    refused = REFUSED.search(done.stderr)
    if refused:
        what = f"give two values that {variable} takes; docs/options.md has its kind and its range"
        raise AskedWrongly(f"--opt: {variable} does not take '{value}': it is {refused.group(1)}", what)


def box_sides(name: str, variant: str = "standard") -> tuple[Allocator, Allocator]:
    """The variant with the box shut (A) and open (B)."""
    check_box(name)
    shut, opened = (build(variant, {name: value}) for value in (False, True))
    return allocator(f"{name}=0", shut), allocator(f"{name}=1", opened)


def price_sides(variant: str = "standard") -> list[Allocator]:
    """The variant as it is, then one build for each box flipped, named "box=0" or "box=1"."""
    sides = [allocator(variant, build(variant))]
    for box in boxes().values():
        flipped = not box.columns[variant]
        sides.append(allocator(f"{box.name}={int(flipped)}", build(variant, {box.name: flipped})))
    return sides


def same_sides(variant: str = "standard") -> tuple[Allocator, Allocator]:
    """Two builds of the same, each in a directory of its own."""
    return allocator("same-1", build(variant)), allocator("same-2", build(variant, copy="again"))


def option_sides(asked: str, variant: str = "standard") -> tuple[Allocator, Allocator]:
    """`NAME=a,b`: the same library with HAKMEM_NAME=a (A) and HAKMEM_NAME=b (B). Raises AskedWrongly."""
    name, equals, values = asked.partition("=")
    first, comma, second = values.partition(",")
    if not (equals and comma and first and second) or "," in second:
        raise AskedWrongly(f"--opt takes NAME=a,b, not '{asked}'", "for example --opt PREWARM=1,8")
    variable = name if name.startswith("HAKMEM_") else f"HAKMEM_{name}"
    if variable not in options():
        raise AskedWrongly(f"unknown option '{variable}'", f"use one of: {', '.join(sorted(options()))}")
    if first == second:
        raise AskedWrongly(f"both sides of --opt {name} are '{first}'", "give two values")
    path = build(variant)
    for value in (first, second):
        check_value(path, variable, value)
    short = variable.removeprefix("HAKMEM_")
    return tuple(  # type: ignore[return-value]
        allocator(f"{short}={value}", path, {variable: value, "HAKMEM_STRICT": "1"}) for value in (first, second)
    )
