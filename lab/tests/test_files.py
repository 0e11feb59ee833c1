"""Whether a file can be written is known before anything is done, said in the same words everywhere, and leaves no trace."""

import errno
import os
from pathlib import Path

import pytest

from lab import files, results, store
from lab.errors import LabError


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
