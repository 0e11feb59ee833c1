"""Files of another process: what its owner may put in their place harms nobody, and hakmem_layout is found in them."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.explain import mapped, smaps, symbol
from lab.explain.memory import Memory
from lab.explain.smaps import Mapping
from lab.heap.images import Images
from lab.tests.compiled import addresses, compiled

STUB = """
static const char anchor = 1;
const struct { char magic[16], rest[48]; const void *roots; } hakmem_layout = {"hakmem layout", "", &anchor};
"""


def library(path: Path, *more: str) -> int:
    """Loads a library of this name that has the constant into this process: the constant's address."""
    source = path.parent / "stub.c"
    source.write_text(STUB)
    loaded = ctypes.CDLL(str(compiled(path, [source], "-shared", "-fPIC", *more)))
    return ctypes.addressof(ctypes.c_char.in_dll(loaded, "hakmem_layout"))


def mapping_of(path: Path) -> Mapping:
    """A mapping of a file by its name alone: map_files has none at its addresses."""
    return Mapping(0x1000, 0x2000, "r-xp", 0, 1, str(path))


def found(*mappings: Mapping, program: str = "") -> int | None:
    with Memory(os.getpid()) as memory:
        return symbol.find(memory, mappings, program)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("content")
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "kernel").symlink_to("/proc/self/status")
    (tmp_path / "empty").touch()
    (tmp_path / "holes").touch()
    os.truncate(tmp_path / "holes", mapped.MOST_BYTES)
    os.mkfifo(tmp_path / "pipe")
    before = os.listdir("/proc/self/fd")
    for name in ("there", "link"):
        with mapped.regular(str(tmp_path / name)) as file:
            assert file.read() == b"content" and not os.get_inheritable(file.fileno())
    for name in ("zero", "kernel", "empty", "holes", "pipe", ".", "missing"):
        with pytest.raises(OSError, match=name if name == "missing" else "no regular file"):
            mapped.regular(str(tmp_path / name))
    assert os.listdir("/proc/self/fd") == before


def test_what_has_the_name_of_a_deleted_file_is_another(tmp_path: Path) -> None:
    for name in ("there", "there (deleted)"):
        (tmp_path / name).write_text("content")
    with mapped.opened(os.getpid(), mapping_of(tmp_path / "there"), "") as file:
        assert file.read() == b"content"
    with pytest.raises(OSError, match="map_files"):
        mapped.opened(os.getpid(), mapping_of(tmp_path / "there (deleted)"), "")


def test_a_program_that_was_deleted_is_still_read() -> None:
    program = "/gone (deleted)"
    with mapped.opened(os.getpid(), mapping_of(Path(program)), program) as file:
        assert file.read(4) == b"\x7fELF"


@pytest.mark.parametrize("name", ["libhakmem.so", "plugin.so", "a copy"])
def test_the_constant_in_a_library(tmp_path: Path, name: str) -> None:
    """Of that name, or in one that contains it."""
    address = library(tmp_path / name)
    assert found(*(one for one in smaps.places(os.getpid()) if str(tmp_path) in one.name)) == address


def test_readers_open_no_other_files(tmp_path: Path) -> None:
    """A library that is too long to be one: neither its constant nor the names of its functions are read."""
    path = tmp_path / "libhakmem.so"
    address = library(path)
    (first, *_) = [one for one in smaps.places(os.getpid()) if one.name == str(path)]
    renamed = tmp_path / "long-hakmem.so"
    renamed.write_bytes(path.read_bytes())
    place = Mapping(first.start, first.start + 1, "r-xp", 0, 1, str(renamed))
    images = Images(os.getpid(), [place], "", SimpleNamespace(address=0))  # type: ignore[arg-type]
    assert found(place) == address and images.build_id(place)
    os.truncate(renamed, mapped.MOST_BYTES)
    images = Images(os.getpid(), [place], "", SimpleNamespace(address=0))  # type: ignore[arg-type]
    assert found(place) is None and not images.build_id(place)


@pytest.mark.parametrize(("name", "all_ours"), [("libhakmem-observe.so.0", True), ("plugin.so", False), ("program", False)])
def test_a_plugin_that_contains_the_library_has_functions_of_its_own(tmp_path: Path, name: str, all_ours: bool) -> None:
    source = tmp_path / "plugin.c"
    source.write_text(STUB + "void of_the_plugin(void) {}\nvoid *malloc(unsigned long size) { return (void *)0; }\n")
    library = compiled(tmp_path / name, [source], "-shared", "-fPIC")
    place = Mapping(0, 1 << 20, "r-xp", 0, 1, str(library))
    images = Images(os.getpid(), [place], "", SimpleNamespace(address=1))  # type: ignore[arg-type]
    ours = [images.look_up(addresses(library)[name])[1] for name in ("of_the_plugin", "malloc")]
    assert ours == [all_ours, True]


HEAD = b"\x7fELF\x02".ljust(40, b"\0")
SECTION_WITHOUT_NAMES = struct.pack("=Q10xHHH", 64, 64, 1, 0) + symbol.SECTION.pack(0, 2, 0, 0, 0, 0, 7, 0, 0, 0)
LONG_TABLE = struct.pack("=Q10xHHH", 64, 64, 1, 0) + symbol.SECTION.pack(0, 2, 0, 0, 0, 1 << 40, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "rest", [b"", bytes(24), b"\xff" * 24, SECTION_WITHOUT_NAMES, LONG_TABLE], ids=["short", "zeros", "ones", "names", "long"]
)
def test_headers_that_make_no_sense(tmp_path: Path, rest: bytes) -> None:
    (tmp_path / "libhakmem.so").write_bytes(HEAD + rest)
    assert found(mapping_of(tmp_path / "libhakmem.so")) is None
