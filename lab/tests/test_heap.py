"""What `hakmem heap` reads and makes of it, on memory and programs made up here; tests/heap looks at real processes."""

from __future__ import annotations

import ctypes
import os
import random
import re
import shutil
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from lab.errors import LabError
from lab.explain import layout, process, smaps
from lab.explain.layout import Layout
from lab.heap import estimate, images, names, sites
from lab.heap.estimate import Estimate
from lab.heap.images import NOWHERE, Frame, Images
from lab.heap.profile import Stack
from lab.heap.symbols import Symbols
from lab.tests.compiled import addresses, compiled
from lab.tests.memory import FakeMemory

STATE_AT, SITES_AT = 0x100000, 0x200000
WORDS = ("older", "depth", "taken", "taken_bytes", "live", "live_bytes")  # of a site here: one word each
RECORD = 8 * len(WORDS)


def described(rate: int, newest: int, without: str = "") -> tuple[FakeMemory, Layout]:
    """Memory with a hakmem_layout as the library has it, and the state of its sampler."""
    memory = FakeMemory()
    memory.put(STATE_AT, struct.pack("=3Q", rate, 5, newest))
    roots = [(name, STATE_AT, 8) for name in layout.ROOTS]
    roots += [(name, STATE_AT + 8 * i, 8) for i, name in enumerate(sites.ROOTS)]
    fields = [(name, 0, 8) for name in layout.FIELDS] + [("sample_site", RECORD, RECORD)]
    fields += [(f"sample_site.{name}", 8 * i, 8) for i, name in enumerate(WORDS)]
    fields.append(("sample_site.callers", RECORD, RECORD))
    memory.describe(roots, fields, without=without)
    return memory, memory.layout()


def walked(*records: tuple[int, ...], newest: int = SITES_AT, rate: int = 512) -> sites.Samples:
    """What is read of sites that lie 4 KiB apart; each (older, depth, taken, taken_bytes, live, live_bytes, callers...)."""
    memory, described_ = described(rate, newest)
    for i, record in enumerate(records):
        memory.put(SITES_AT + 4096 * i, struct.pack(f"={len(record)}Q", *record))
    return sites.read(memory, described_)  # type: ignore[arg-type]


# ---- sites ----


def test_sites_are_read() -> None:
    found = walked((SITES_AT + 4096, 2, 9, 900, 4, 400, 0x11, 0x22), (0, 1, 1, 7, 0, 0, 0x33))
    assert (found.rate, found.lost, found.torn) == (512, 5, 0)
    assert found.sites == [sites.Site(9, 900, 4, 400, (0x11, 0x22)), sites.Site(1, 7, 0, 0, (0x33,))]


def test_none_yet() -> None:
    assert walked(newest=0) == sites.Samples(512, 5)


def test_a_list_that_bites_its_tail_ends() -> None:
    found = walked((SITES_AT + 4096, 0, 1, 8, 1, 8), (SITES_AT, 0, 2, 16, 2, 16))
    assert [site.taken for site in found.sites] == [1, 2] and found.torn == 1


@pytest.mark.parametrize("older", [3, 0x7777770, 1 << 60])
def test_what_comes_before_a_pointer_to_nowhere_is_kept(older: int) -> None:
    found = walked((older, 0, 3, 30, 1, 10))
    assert [site.taken for site in found.sites] == [3] and found.torn == 1


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ((0, 65, 1, 8, 1, 8), None),  # deeper than any
        ((0, 0, 1, 1 << 60, 1, 8), None),  # more bytes than a block can have
        ((0, 0, 0, 0, 0, 0), None),  # not counted yet
        ((0, 0, 4, 40, 5, 50), (4, 40, 4, 40)),  # counted between our two reads
        ((0, 0, 4, 40, (1 << 64) - 1, 0), (4, 40, 0, 0)),  # counted down first
        ((0, 0, 4, 40, 0, 10), (4, 40, 0, 0)),
    ],
)
def test_counts_that_change_stay_sane(record: tuple[int, ...], wanted: tuple[int, ...] | None) -> None:
    found = walked((SITES_AT + 4096, *record[1:]), (0, 0, 1, 8, 1, 8))
    kept = [(site.taken, site.taken_bytes, site.live, site.live_bytes) for site in found.sites]
    assert kept == [wanted, (1, 8, 1, 8)] if wanted else kept == [(1, 8, 1, 8)]


def test_callers_end_at_a_zero() -> None:
    assert walked((0, 3, 1, 8, 1, 8, 0x11, 0, 0x22)).sites[0].callers == (0x11,)


def test_not_sampled_and_how_to() -> None:
    with pytest.raises(LabError, match="takes no heap samples") as error:
        walked(rate=0)
    assert "HAKMEM_HEAP_SAMPLE=512k" in error.value.fix and error.value.status == 1


@pytest.mark.parametrize("without", ["sample_state.newest", "sample_site.live", "sample_site"])
def test_an_older_hakmem_is_refused(without: str) -> None:
    memory, described_ = described(512, 0, without)
    with pytest.raises(LabError, match=r"hakmem 0\.1\.0 standard, which takes no heap samples"):
        sites.read(memory, described_)  # type: ignore[arg-type]


# ---- what samples stand for ----


def test_every_allocation_is_itself() -> None:
    assert estimate.of_samples(7, 70, 1) == Estimate(7, 7, 70, 0) and estimate.of_samples(3, 0, 1).blocks == 3
    assert estimate.of_samples(0, 0, 512) == Estimate()


def test_small_blocks_stand_for_many_and_large_ones_for_themselves() -> None:
    small, large = estimate.of_samples(100, 1600, 1 << 19), estimate.of_samples(3, 3 << 30, 1 << 19)
    assert small.blocks == pytest.approx(100 * (1 << 19) / 16, rel=1e-3) and small.bytes == pytest.approx(16 * small.blocks)
    assert small.error == pytest.approx(0.1, rel=1e-3), "1 / sqrt(samples)"
    assert large.blocks == pytest.approx(3) and large.error == pytest.approx(0, abs=1e-9)
    assert (small + large).bytes == small.bytes + large.bytes and (small + large).samples == 103
    assert (small + large).error == pytest.approx(0.1 * small.bytes / (small + large).bytes, rel=1e-3)


def test_blocks_of_no_bytes_do_not_divide_by_zero() -> None:
    assert estimate.of_samples(2, 0, 512).bytes == 0 and estimate.of_samples(2, 0, 512).blocks > 2


@pytest.mark.parametrize("size", [16, 500, 8000])
def test_a_poisson_process_is_unsampled(size: int) -> None:
    """Within four standard errors of the truth, and these as large as they are said to be; the seed is fixed."""
    chosen, rate, blocks = random.Random(size), 4096, 20000
    ratios, errors = [], []
    for _ in range(40):
        taken, left = 0, chosen.expovariate(1 / rate)
        for _ in range(blocks):
            left -= size
            if left < 0:
                taken, left = taken + 1, chosen.expovariate(1 / rate)
        of = estimate.of_samples(taken, taken * size, rate)
        ratios.append(of.bytes / (blocks * size))
        errors.append(of.error)
    error = float(np.mean(errors))
    assert abs(np.mean(ratios) - 1) < 4 * error / 40**0.5
    assert 0.6 < np.std(ratios) / error < 1.5


# ---- names ----


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("main", "main"),
        ("operator new[](unsigned long)", "operator new[]"),
        ("void f<int>(int)", "f<>"),
        ("std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<>::push_back"),
        ("void (anonymous namespace)::f<int>(int)", "(anonymous namespace)::f<>"),
        ("f(int)::{lambda(int)#1}::operator()(int) const", "f::{lambda#1}::operator()"),
        ("C::f() const::{lambda()#2}::operator()() const", "C::f::{lambda#2}::operator()"),
        ("std::ostream& std::operator<< <char>(std::ostream&, char const*)", "std::operator<< <>"),
        ("C::operator->()", "C::operator->"),
        ("decltype (f()) g<int>(int)", "g<>"),
        ("C::operator bool() const", "C::operator bool"),
        ("[code without a file]", "[code without a file]"),
        ("f(", "f("),
    ],
)
def test_short_names(full: str, short: str) -> None:
    assert names.short(full) == short


def test_symbols_become_names() -> None:
    pairs = {"_ZN3foo3barEi.cold": "foo::bar(int)", "f.part.0.isra.1": "f", "puts@@GLIBC_2.2.5": "puts", "_Zno": "_Zno", "a\x1b[1mb": r"a\x1b[1mb"}
    assert {symbol: names.demangled(symbol) for symbol in pairs} == pairs


# ---- symbols ----

PROGRAM = "int helper(int);\nint twice(int x) { return helper(x) * 2; }\nint main(int n, char **v) { return twice(n); }\n"
OWN = "static __attribute__((noinline)) int inner(int x) { return x + 1; }\nint helper(int x) { return inner(x) * 3; }\n"


@pytest.fixture(scope="module", name="program")
def _program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of two sources, one of which has the name of hakmem's."""
    place = tmp_path_factory.mktemp("program")
    (place / "program.c").write_text(PROGRAM)
    (place / "hakmem.c").write_text(OWN)
    return compiled(place / "program", [place / "program.c", place / "hakmem.c"], "-Wl,--build-id")


def symbols_of(path: Path) -> Symbols:
    with path.open("rb") as file:
        return Symbols(file)


def test_functions_of_a_program(program: Path) -> None:
    symbols, where = symbols_of(program), addresses(program)
    for name in ("main", "twice", "helper", "inner"):
        assert symbols.at(where[name] + 1) == (name, name == "inner"), "private functions of hakmem.c are its own"
    assert symbols.at(0) is None and len(symbols.build_id) == 40


def test_a_stripped_library_has_what_it_exports(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text(PROGRAM.replace("int main", "int entry") + OWN)
    library = compiled(tmp_path / "library.so", [tmp_path / "library.c"], "-shared", "-fPIC", "-s")
    loaded = ctypes.CDLL(str(library))
    place = ctypes.cast(loaded.twice, ctypes.c_void_p).value or 0
    (code,) = [one for one in smaps.places(os.getpid()) if one.start <= place < one.end]
    symbols = symbols_of(library)
    assert symbols.at(symbols.address(place - code.start + code.offset)) == ("twice", False)


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    for text in (b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01\x01" + bytes(20), b"\x7fELF\x02\x01\x01" + b"\xff" * 500):
        (tmp_path / "file").write_bytes(text)
        symbols = symbols_of(tmp_path / "file")
        assert symbols.at(5) is None and symbols.address(5) == 5 and not symbols.build_id


# ---- stacks of this process ----


def own_images(home: int) -> Images:
    mappings = smaps.places(os.getpid())
    return Images(os.getpid(), mappings, process.program(os.getpid()), SimpleNamespace(address=home))  # type: ignore[arg-type]


def in_libc(name: str) -> int:
    """A return address in a function of libc."""
    return (ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0) + 2


def test_a_stack_has_names_and_places() -> None:
    (frame, nowhere) = own_images(0).stack([in_libc("strtol"), 0x10])
    assert "strto" in frame.name and frame.address == in_libc("strtol") - 1 and "libc" in frame.image
    assert frame.mapping and frame.mapping.start <= frame.address < frame.mapping.end
    assert nowhere.label == images.NO_FILE and nowhere.mapping is None


def test_our_own_frames_go_at_the_inner_end_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """libc stands for the library of hakmem here."""
    monkeypatch.setattr(images, "LIBRARY", re.compile("libc"))
    libc, outside = in_libc("strtol"), 0x10
    stack = own_images(libc).stack([libc, in_libc("qsort"), outside, libc])
    assert [frame.address for frame in stack] == [outside - 1, libc - 1]
    assert own_images(libc).stack([libc]) == (NOWHERE,) and own_images(libc).stack([]) == (NOWHERE,)


def test_a_stack_that_was_cut_says_so() -> None:
    assert own_images(0).stack([0x10] * 64)[-1] == images.BEYOND and images.BEYOND not in own_images(0).stack([0x10] * 63)


def test_what_is_linked_in_is_known_by_its_names() -> None:
    assert {"malloc", "calloc", "realloc", "posix_memalign", "_Znwm", "_ZnamSt11align_val_t"} <= images.exported()


@pytest.mark.parametrize("file", ["libx.so", "my prog", "a program (copy)", "a<b>", "[b"])
def test_a_frame_without_a_name_says_where_it_is(file: str) -> None:
    frame = Frame(0x7F12, "", "", f"/sp ace/{file}", 0x12, None)
    assert frame.label == frame.short == f"{file}+0x12"
    assert Stack((frame,), Estimate(), Estimate(), 0).names == (f"{file}+0x12",)


def test_a_frame_with_a_name_has_it_in_short() -> None:
    frame = Frame(0x7F12, "void f<int>(int)", "_Z1fIiEvT_", "/sp ace/my prog", 0x12, None)
    assert (frame.label, frame.short) == ("void f<int>(int)", "f<>") and NOWHERE.short == "[no call path]"


def test_demangled_names_of_a_compiled_program(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no C++ compiler (Debian: g++)")
    source = "namespace a { template <class T> T twice(T x) { return 2 * x; } }\n"
    (tmp_path / "program.cpp").write_text(source + "int main(int n, char **) { return a::twice(n); }\n")
    subprocess.run([compiler, "-O0", "-o", tmp_path / "program", tmp_path / "program.cpp"], check=True)
    mangled = "_ZN1a5twiceIiEET_S1_"
    found = symbols_of(tmp_path / "program").at(addresses(tmp_path / "program")[mangled] + 4)
    assert found == (mangled, False) and names.demangled(mangled) == "int a::twice<int>(int)"
