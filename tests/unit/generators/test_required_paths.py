"""What a generator is made of is found without starting it, and no more than that is shown to it."""

import errno
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators import confinement
from pytest_codexsandbox.generators.confinement import Confinement
from pytest_codexsandbox.generators.local_dirs import LocalDirs
from pytest_codexsandbox.generators.required_paths import check, made
from pytest_codexsandbox.matrix.generator_specs import asked
from pytest_codexsandbox.model.generator import Declaration
from pytest_codexsandbox.model.generator_spec import Generator


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    return path


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def one(text: str, base: Path, **declared: object) -> Generator:
    (found,) = asked([text], base=base)
    return Generator(name=found.name, spec=found.spec, base=str(base), declaration=Declaration(**declared))  # type: ignore[arg-type]


def test_a_program_beside_who_asks_is_found_with_its_folder(home: Path) -> None:
    tool = program(home / "project" / "tools" / "gen.sh")
    found = made(one("./tools/gen.sh @CONFIG@", home / "project"))
    assert found.argv == (str(tool), "@CONFIG@")
    assert str(home / "project") in found.readable


@pytest.mark.parametrize("whose", ["generator", "interpreter"])
def test_a_prefix_that_the_user_may_not_read_is_one_clear_error(
    home: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    closed = home / "venv/pyvenv.cfg"
    tool = program(home / "venv/bin/tool")
    closed.write_text("home = /usr/bin\n")
    read = Path.read_text

    def refused(path: Path, *words: Any, **named: Any) -> str:
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read(path, *words, **named)

    monkeypatch.setattr(Path, "read_text", refused)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    if whose == "interpreter":  # one that the generator may start: it is found on PATH
        program(tool.parent / "node")
    generator = one("cmd:tool @CONFIG@" if whose == "generator" else "cmd:sh @CONFIG@", home)
    for ask in (made, check):
        with pytest.raises(InputError, match="cannot be listed") as caught:
            ask(generator)
        assert (caught.value.where, "Permission denied" in caught.value.why) == (str(closed), True)
        assert caught.value.next_step


def test_a_file_among_its_words_is_made_absolute_and_nothing_else_is(home: Path) -> None:
    project = home / "project"
    program(project / "gen.py", "print(1)\n")
    (project / "add").write_text("")
    found = made(one("sh gen.py add --x=gen.py @CONFIG@ other.py ./add", project))
    assert found.argv[1:] == (
        str(project / "gen.py"),
        "add",
        "--x=gen.py",
        "@CONFIG@",
        "other.py",
        str(project / "add"),
    )


def test_a_program_in_the_home_itself_shows_only_itself(home: Path) -> None:
    program(home / "gen.sh")
    (home / ".ssh").mkdir()
    found = made(one("./gen.sh", home))
    assert str(home / "gen.sh") in found.readable
    assert not [path for path in found.readable if Path(path) in (home, *home.parents)]


def test_a_tool_of_npm_shows_the_folder_of_its_modules(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(home / ".npm-global/lib/node_modules/add-mcp/dist/cli.js", "#!/usr/bin/env sh\n")
    links = home / ".npm-global" / "bin"
    links.mkdir()
    (links / "add-mcp").symlink_to("../lib/node_modules/add-mcp/dist/cli.js")
    monkeypatch.setenv("PATH", f"{links}:/usr/bin:/bin")
    found = made(one("add-mcp x", home))
    assert found.argv[0] == str(links / "add-mcp")
    covered = [Path(path) for path in found.readable]
    for needed in (links / "add-mcp", home / ".npm-global/lib/node_modules/other/index.js"):
        assert any(path in needed.parents for path in covered), needed


def test_a_script_of_a_virtual_environment_shows_it_and_its_python(home: Path, tmp_path: Path) -> None:
    base = tmp_path / "pythons" / "3.12" / "bin"
    program(base / "python3.12")
    venv = home / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {base}\n")
    (venv / "bin" / "python").symlink_to(base / "python3.12")
    program(home / "tools" / "mytool", f"#!{venv}/bin/python -E\n")
    found = made(one(f"{home}/tools/mytool", home))
    assert {str(venv), str(base.parent), str(home / "tools")} <= set(found.readable)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("nowhere-at-all x", "no program 'nowhere-at-all'"),
        ("./nowhere x", "no program ./nowhere"),
        ("py:nowhere_at_all.x:y", "no module 'nowhere_at_all'"),
        ("ep:nowhere-at-all", "among the entry points"),
        ("launch:nowhere-at-all", "no program"),
    ],
)
def test_a_missing_path_is_reported_while_planning(home: Path, text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        check(one(text, home))
    assert what in caught.value.what


def test_a_program_that_cannot_be_executed_says_how(home: Path) -> None:
    (home / "gen.sh").write_text("#!/bin/sh\n")
    with pytest.raises(InputError) as caught:
        check(one("./gen.sh", home))
    assert "chmod +x" in caught.value.next_step


def test_the_cells_codex_needs_no_path(home: Path) -> None:
    check(one("codex mcp add x", home))


def test_a_module_is_found_and_not_imported(home: Path) -> None:
    (home / "src").mkdir()
    (home / "src" / "mine.py").write_text("raise SystemExit('imported')\ndef write(run): ...\n")
    found = made(one("py:mine:write", home / "src"))
    assert found.function == ("mine", "write")
    assert str(home / "src") in found.readable
    assert "mine" not in sys.modules


@pytest.mark.parametrize("named", ["~", "/", "/etc", "/home", "/tmp", ".."])
def test_more_than_a_tools_own_is_not_shown(home: Path, named: str) -> None:
    (home / "project").mkdir()
    with pytest.raises(InputError, match=f"^installed: {re.escape(named)} "):
        made(one("sh -c true", home / "project", installed=(named,)))


# ---- walls
@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalDirs:
    monkeypatch.setattr("pytest_codexsandbox.generators.local_dirs._SHARED", ())
    return LocalDirs(tmp_path / "stage")


def test_the_users_home_and_the_shared_folders_are_empty_ones_of_the_harness(stage: LocalDirs, home: Path) -> None:
    walls = Confinement(bwrap="/usr/bin/bwrap").walls(stage, ())
    bound = {walls[at + 2]: walls[at + 1] for at, word in enumerate(walls) if word == "--bind"}
    for path in (str(home), "/tmp", "/var/tmp", "/run", "/dev/shm"):
        assert bound[path].startswith(str(stage.away))
    assert bound[str(stage.root)] == str(stage.root)
    assert not [path for path in bound.values() if not path.startswith(str(stage.folder))]


def test_unreadable_files_of_etc_are_absent(tmp_path: Path) -> None:
    for name, mode in (("passwd", 0o644), ("shadow", 0o640), ("ssl/private/key", 0o600), ("keys/one", 0o644)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        path.chmod(mode)
    (tmp_path / "keys").chmod(0o700)
    (tmp_path / "link").symlink_to("shadow")
    found = dict(confinement._closed_to_others(tmp_path))
    assert found == {
        str(tmp_path / "shadow"): False,
        str(tmp_path / "ssl/private/key"): False,
        str(tmp_path / "keys"): True,
    }


def test_unconfined_there_are_no_walls(stage: LocalDirs) -> None:
    assert confinement.UNCONFINED.walls(stage, ("/usr",)) == ()
    assert confinement.UNCONFINED.by == ""


@pytest.mark.parametrize("top", ["/tmp", "/dev/shm"])
def test_private_folders_do_not_lie_where_every_sandbox_may_write(top: str) -> None:
    with pytest.raises(InputError, match=f"is below {top}"):
        LocalDirs(Path(top) / "codexsandbox-never-made")
    assert not Path(top, "codexsandbox-never-made").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [("#!/nonexistent/python\n", "/nonexistent/python"), ("echo\n", "#!/bin/sh")],
)
def test_a_program_on_path_needs_its_interpreter_too(
    home: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    program(home / "bin" / "mytool", text)
    monkeypatch.setenv("PATH", f"{home}/bin:/usr/bin:/bin")
    with pytest.raises(InputError, match=why):
        made(one("mytool @CONFIG@", home))


def test_an_unreadable_program_is_left_to_the_kernel(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool, opened = program(home / "tool"), Path.open

    def refused(path: Path, *words: Any, **named: Any) -> Any:
        if path == tool:
            raise PermissionError
        return opened(path, *words, **named)

    monkeypatch.setattr(Path, "open", refused)
    assert made(one("./tool @CONFIG@", home)).argv[0] == str(tool)


def test_a_declared_name_with_arguments_is_not_called_missing(home: Path) -> None:
    (home / "generators").mkdir()
    (home / "generators" / "mytool.toml").write_text("")
    with pytest.raises(InputError) as caught:
        made(one("mytool --x", home))
    assert "there is no" not in caught.value.why
    assert caught.value.next_step.endswith(": mytool")
