"""What is there already is used as it is: nothing is locked or written, so that a built tree works where nobody may write."""

import errno
import fcntl
import os
import threading
from pathlib import Path

import pytest

from lab import builds, once, run, witness


def refuse(*_: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_it_is_made_once_however_many_want_it(tmp_path: Path) -> None:
    path, times = tmp_path / "there/file", []

    def make() -> None:
        times.append(1)
        path.write_text("made")

    threads = [threading.Thread(target=once.made, args=(path, path.exists, make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(times) == 1 and path.read_text() == "made"


def test_it_is_older_than_its_sources_or_not_there(tmp_path: Path) -> None:
    made, source = tmp_path / "made", tmp_path / "source"
    source.touch()
    assert not once.is_newer(made, [source])
    made.touch()
    os.utime(source, (1, 1))
    assert once.is_newer(made, [source])
    os.utime(made, (0, 0))
    assert not once.is_newer(made, [source])


def test_it_is_older_when_a_source_was_deleted(tmp_path: Path) -> None:
    made, source = tmp_path / "made", tmp_path / "sources/room/source"
    source.parent.mkdir(parents=True)
    source.touch()
    made.touch()
    for path in (source, source.parent, source.parent.parent):
        os.utime(path, (1, 1))
    assert once.is_newer(made, once.tree(tmp_path / "sources"))
    source.unlink()
    os.utime(made, (2, 2))
    assert not once.is_newer(made, once.tree(tmp_path / "sources"))


def test_helpers_that_are_built_are_not_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    built = [run.child_program(), witness.library()]
    monkeypatch.setattr(fcntl, "flock", refuse)
    assert [run.child_program(), witness.library()] == built


def test_a_library_is_built_again_only_after_a_source_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(command: list[str], directory: Path) -> None:
        made.append(command[1])
        (directory / "libhakmem.so").touch()

    for name in (*builds.SOURCES, "tools"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    for name in ("CMakeLists.txt", "CMakePresets.json"):
        (tmp_path / name).touch()
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    monkeypatch.setattr(builds, "_make", make)
    library = builds.build("standard")
    assert made == ["--preset", "--build"] and library == tmp_path / "build/boxes/standard/libhakmem.so"
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        assert builds.build("standard") == library
        os.utime(tmp_path / "src/file", (2**32, 2**32))
        with pytest.raises(OSError, match="Read-only"):
            builds.build("standard")
    os.utime(tmp_path / "src/file", (1, 1))
    os.utime(library.parent / ".built", (0, 0))
    builds.build("standard")
    assert made == ["--preset", "--build"] * 2
