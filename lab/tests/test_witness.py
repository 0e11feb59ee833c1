"""The witness says yes only when the claimed library owns malloc, and says who does when it does not."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lab import witness
from lab.errors import WitnessError
from lab.model import Allocator
from lab.tests import fakes

ENV = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("witness")
    for name, source, options in [
        ("libbump.so", fakes.BUMP, []),
        ("libother.so", fakes.BUMP, []),
        ("libnofree.so", fakes.BUMP, ["-DNO_FREE"]),
        ("libforward.so", fakes.FORWARDING, []),
        ("libnothing.so", fakes.NO_ALLOCATOR, []),
        ("libnew.so", fakes.OPERATOR_NEW_ONLY, []),
        ("program", fakes.PROGRAM, []),
        ("own", fakes.BUMP.replace("static size_t used;", "static size_t used;\nint main(void) { return 0; }"), ["-rdynamic"]),
    ]:
        fakes.build(directory, name, source, *options)
    return directory


def prove(allocator: Allocator, command: list[str], **more: str) -> str:
    preload = {"LD_PRELOAD": allocator.path} if allocator.path else {}
    return witness.prove(allocator, command, {**ENV, **preload, **more})


def claim(path: Path | str | None, name: str = "claimed") -> Allocator:
    return Allocator(name, str(path) if path else None, "1", "test", "test")


def refused(allocator: Allocator, command: list[str], **more: str) -> str:
    with pytest.raises(WitnessError) as caught:
        prove(allocator, command, **more)
    return caught.value.text()


def test_a_library_that_owns_malloc_is_believed(built: Path) -> None:
    said = prove(claim(built / "libbump.so"), [str(built / "program")])
    assert said.startswith("claimed owns malloc and free in program (")


def test_nothing_of_the_program_is_done(built: Path, tmp_path: Path) -> None:
    left = tmp_path / "left"
    prove(claim(built / "libbump.so"), [str(built / "program"), str(left)])
    assert not left.exists()
    subprocess.run([str(built / "program"), str(left)], check=True)
    assert left.exists()


def test_glibc_is_proven_too(built: Path) -> None:
    assert "glibc owns malloc and free in program" in prove(claim(None, "glibc"), [str(built / "program")])


def test_a_library_by_another_name_is_the_same_library(built: Path, tmp_path: Path) -> None:
    link = tmp_path / "liblink.so"
    link.symlink_to(built / "libbump.so")
    prove(claim(link), [str(built / "program")])


def test_a_wrong_path_stops(built: Path) -> None:
    text = refused(claim("/nowhere/libpeer.so"), [str(built / "program")])
    assert "there is no library at /nowhere/libpeer.so" in text


def test_a_library_without_malloc_stops(built: Path) -> None:
    text = refused(claim(built / "libnothing.so"), [str(built / "program")])
    assert "does not own malloc in program" in text and "belongs to" in text and "libc.so" in text


def test_a_file_that_is_no_library_stops_with_the_loader_s_words(built: Path) -> None:
    text = refused(claim(built / "program.c"), [str(built / "program")])
    assert text.count("the loader says:") == 1 and "cannot be preloaded" in text


def test_a_library_with_half_of_the_names_stops(built: Path) -> None:
    assert "free of" in refused(claim(built / "libnofree.so"), [str(built / "program")])


def test_a_library_that_hands_on_to_glibc_stops_unless_that_is_asked(built: Path) -> None:
    allocator = claim(built / "libforward.so")
    assert "hands its requests on to glibc" in refused(allocator, [str(built / "program")])
    prove(allocator, [str(built / "program")], HAKMEM_FORCE_LIBC_ALLOC="1")


def test_an_allocator_that_stands_before_the_claimed_one_is_found(built: Path) -> None:
    both = f"{built / 'libother.so'}:{built / 'libbump.so'}"
    text = refused(claim(built / "libbump.so"), [str(built / "program")], LD_PRELOAD=both)
    assert "belongs to" in text and "libother.so" in text


def test_an_allocator_inside_the_program_is_found(built: Path) -> None:
    for claimed in (None, built / "libbump.so"):
        assert f"belongs to {built / 'own'}" in refused(claim(claimed), [str(built / "own")])


def test_an_allocator_that_the_program_is_linked_to_is_not_glibc(built: Path) -> None:
    linked = fakes.build(built, "linked", fakes.PROGRAM, str(built / "libother.so"), f"-Wl,-rpath,{built}")
    assert "libother.so" in refused(claim(None, "glibc"), [str(linked)])
    prove(claim(built / "libbump.so"), [str(linked)])


def test_names_that_a_lookup_finds_but_the_program_is_not_bound_to(built: Path) -> None:
    """Names of a version of their own: dlsym finds them, the loader binds nobody to them."""
    script = built / "versions"
    script.write_text("PEER_1 { global: malloc; free; calloc; realloc; };\n")
    library = fakes.build(built, "libversioned.so", fakes.BUMP, f"-Wl,--version-script={script}")
    assert " of program belongs to" in refused(claim(library), [str(built / "program")])


def test_a_static_program_is_recognised(built: Path) -> None:
    try:
        static = fakes.build(built, "static", fakes.PROGRAM, "-static")
    except subprocess.CalledProcessError:
        pytest.skip("no static C library")
    assert "is linked statically" in refused(claim(built / "libbump.so"), [str(static)])


def test_a_program_that_is_not_there(built: Path) -> None:
    assert "there is no program 'no-such-program'" in refused(claim(built / "libbump.so"), ["no-such-program"])


def test_an_address_of_malloc_that_is_a_stub_of_the_program(built: Path) -> None:
    try:
        taker = fakes.build(built, "taker", fakes.ADDRESS_TAKER, "-no-pie", "-fno-pie", "-fno-pic")
    except subprocess.CalledProcessError:
        pytest.skip("the compiler makes no programs at a fixed address")
    prove(claim(built / "libbump.so"), [str(taker)])
    prove(claim(None), [str(taker)])
    refused(claim(built / "libnothing.so"), [str(taker)])


def test_what_a_shell_starts_is_proven_and_named(built: Path, tmp_path: Path) -> None:
    other = shutil.copy(built / "program", tmp_path / "second")
    said = prove(claim(built / "libbump.so"), ["sh", "-c", f"{built / 'program'} && {other}"])
    assert "program, second (" in said
    with pytest.raises(WitnessError):
        prove(claim(built / "libbump.so"), ["sh", "-c", f"{built / 'own'}; exit 0"])


def test_operator_new_of_the_runtime_is_accepted_and_of_another_library_is_not(built: Path) -> None:
    plusplus = os.environ.get("TESTED_CXX") or "c++"
    if not shutil.which(plusplus):
        pytest.skip("no C++ compiler")
    program = fakes.build(built, "plusplus", fakes.CPLUSPLUS, cc=plusplus)
    prove(claim(built / "libbump.so"), [str(program)])
    both = f"{built / 'libbump.so'}:{built / 'libnew.so'}"
    text = refused(claim(built / "libbump.so"), [str(program)], LD_PRELOAD=both)
    assert "operator new" in text and "libnew.so" in text


def test_hakmem_itself(built: Path) -> None:
    library = os.environ.get("TESTED_LIB")
    if not library:
        pytest.skip("not run by `hakmem test`")
    prove(claim(library), [str(built / "program")])
    prove(claim(library), [str(built / "program")], HAKMEM_FORCE_LIBC_ALLOC="1")


def test_a_process_that_died_while_it_reported_is_left_out() -> None:
    whole = "program\t/bin/a\nlibc\t/lib/libc.so.6\nglobal\tmalloc\t/lib/x.so\nbound\tfree\t/lib/x.so\t/bin/a\nserved\tother\nend\n"
    said = witness.parse(whole + "program\t/bin/b\nlibc\t/lib/libc.so.6\n")
    assert [testimony.program for testimony in said] == ["/bin/a"]
    assert said[0].owners == {"malloc": "/lib/x.so"} and said[0].bound == [("free", "/lib/x.so", "/bin/a")]
    assert said[0].served == "other"


@pytest.mark.parametrize("root, said", [("/a tree", "move the tree to a path"), ("/tree", "copy the library, or link to it, to a path")])
def test_a_path_that_cannot_be_preloaded_says_what_has_to_move(monkeypatch, tmp_path, root, said):
    library = tmp_path.joinpath(root[1:], "my lib.so")
    library.parent.mkdir()
    library.touch()
    monkeypatch.setattr(witness, "ROOT", library.parent)
    with pytest.raises(WitnessError, match="cannot carry the path") as caught:
        witness.prove(Allocator("mine", str(library), "", "", "mine"), ["true"], {})
    assert said in caught.value.fix
