"""Whether a file can be written is known before anything is done, said in the same words everywhere, and leaves no trace."""

import contextlib
import errno
import os
import resource
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import files, results, store
from lab.errors import AskedWrongly, LabError, NotWritten


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/proc/none", "no file can be made there"),
        ("/nowhere/file", "there is no such directory"),
        ("/", "it is a directory"),
        ("/dev/null/file", "there is no such directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_what_cannot_be_written_is_refused(path: str, why: str) -> None:
    with pytest.raises(LabError, match=f"cannot write {path}: {why}") as caught:
        files.check("--heap", path)
    assert caught.value.fix == "give --heap a file that can be written"


def test_a_current_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    asked = [
        lambda path: files.check_all([("--heap", path), ("--plot", "")]),
        lambda path: files.check_apart([("--heap", path), ("--plot", "")]),
        lambda path: files.write("--heap", path, b""),
    ]
    for ask in asked:
        ask(str(tmp_path / "a"))
        with pytest.raises(NotWritten, match="^cannot write a.gz: the current directory is gone$") as caught:
            ask("a.gz")
        assert (caught.value.fix, caught.value.status) == ("change to one that exists", 1)
    monkeypatch.chdir(tmp_path)


def test_only_json_goes_to_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AskedWrongly, match="--trace - is no file: only --json") as caught:
        results.check("-", ("--trace", "-"))
    assert caught.value.fix == "name a file; one called - is ./-"
    files.check("--trace", "./-")
    assert not os.listdir(tmp_path)


def test_a_disk_that_is_full_is_seen_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(file: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(LabError, match="No space left on device"):
        files.check("--heap", str(tmp_path / "a"))
    assert not list(tmp_path.iterdir())


def test_what_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    there, link, pipe = tmp_path / "there", tmp_path / "link", tmp_path / "pipe"
    there.write_text("content")
    os.utime(there, (1, 1))
    link.symlink_to("not-yet")
    os.mkfifo(pipe)
    before = sorted(tmp_path.iterdir())
    for path in ("", str(tmp_path / "new"), str(there), str(link), str(pipe), "/dev/null"):
        files.check("--heap", path)
    assert sorted(tmp_path.iterdir()) == before
    assert there.read_text() == "content" and there.stat().st_mtime == 1


def test_no_two_options_have_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    file, link = str(tmp_path / "file"), str(tmp_path / "link")
    for other in (file, f"{tmp_path}/../{tmp_path.name}/file", link):
        with pytest.raises(AskedWrongly, match=f"--heap and --trace name the same file, {other}") as caught:
            files.check_all([("--heap", file), ("--plot", ""), ("--trace", other)])
        assert caught.value.fix == "give each a file of its own"
    with pytest.raises(AskedWrongly, match="--plot and --json name the same file"):
        results.check(file, ("--plot", file))
    results.check("-", ("--plot", str(tmp_path / "-")))
    files.check_all([("--heap", "/dev/null"), ("--trace", "/dev/null"), ("--plot", ""), ("--json", "")])


def test_every_option_says_it_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results.check("-")
    assert not list(tmp_path.iterdir())
    for check, option in ((results.check, "--json"), (lambda path: store.check(Path(path)), "--store")):
        with pytest.raises(LabError, match="cannot write /proc/none: no file can be made there") as caught:
            check("/proc/none")
        assert f"give {option} a file that can be written" in caught.value.fix
    with pytest.raises(LabError) as caught:
        results.check("/proc/none")
    assert caught.value.fix.endswith("or - for standard output")


@contextlib.contextmanager
def no_file_above(count: int) -> Iterator[None]:
    """As a disk on which there is room for so many bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_no_file_stays_half_written(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("before")
    for path in (there, tmp_path / "new"):
        with no_file_above(5000), pytest.raises(NotWritten, match=f"cannot write {path}: File too large"):
            files.write("--heap", str(path), bytes(10_000))
    assert list(tmp_path.iterdir()) == [there] and there.read_text() == "before"


def test_a_file_that_is_replaced_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_text("before")
    there.chmod(0o604)
    link.symlink_to("there")
    files.write("--heap", str(link), b"after")
    assert there.read_text() == "after" and link.is_symlink() and stat.S_IMODE(there.stat().st_mode) == 0o604
    before = os.umask(0o027)
    files.write("--heap", str(tmp_path / "new"), b"")
    os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "new", "there"]


def test_a_file_may_be_written_where_none_may_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *_: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)

    (tmp_path / "there").write_text("before")
    monkeypatch.setattr(files.os, "replace", refuse)
    files.write("--heap", str(tmp_path / "there"), b"after")
    assert (tmp_path / "there").read_text() == "after"
    with pytest.raises(NotWritten, match="Permission denied"):
        files.write("--heap", str(tmp_path / "new"), b"after")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_what_is_no_regular_file_is_written_as_it_is(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    files.write("--heap", str(pipe), b"through")
    reader.join()
    assert read == [b"through"] and stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(NotWritten, match="cannot write /dev/full: No space left on device"):
        files.write("--heap", "/dev/full", b"nowhere")
