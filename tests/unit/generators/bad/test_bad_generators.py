"""The catalogue of generators that must not pass; those which reach for something would get it if they could."""

import importlib
import pwd
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli

from pytest_codexsandbox.generators.bad import BAD, Bad, bad_behaviour, named
from pytest_codexsandbox.model.generator import Request
from tests.unit.generators.call_builders import home, request

PROMISES = {
    "generator.exit-and-refusal-agree",
    "generator.parses",
    "generator.config-loads",
    "generator.user-keys-keep-their-values",
    "generator.keys-at-their-own-place",
    "generator.comments-stay",
    "generator.line-ends-stay",
    "generator.second-run-changes-nothing",
    "generator.third-run-changes-nothing",
    "generator.does-not-grow",
    "generator.mode-owner-links-stay",
    "generator.replaced-at-once",
    "generator.leaves-nothing-behind",
    "generator.ends-by-itself",
    "generator.stays-inside",
    "managed-block.one-balanced-pair",
    "managed-block.survives-other-writers",
    "managed-block.deletes-nothing-of-theirs",
    "generator.migrates",
    "generator.two-at-once-lose-nothing",
    "generator.crash-leaves-a-whole-file",
    "effective.says-what-was-asked",
    "effective.does-what-was-asked",
    "effective.argv-reads-as-asked",
    "effective.grants-no-more",
    "generator.means-the-same-again",
    "generator.second-run-touches-nothing",
}


def function(bad: Bad) -> Any:
    module, _, name = bad.run.removeprefix("py:").partition(":")
    return getattr(importlib.import_module(module), name)


def test_every_promise_has_one_that_breaks_it() -> None:
    caught = {promise for bad in BAD for promise in bad.caught_by}
    assert caught == PROMISES


def test_names_are_distinct_and_each_says_its_mistake() -> None:
    assert len({bad.name for bad in BAD}) == len({bad.wrong for bad in BAD}) == len(BAD)
    assert all(callable(function(bad)) for bad in BAD)
    assert [bad.name for bad in named(["idle", "grows"])] == ["grows", "idle"]
    with pytest.raises(KeyError, match="nobody"):
        named(["idle", "nobody"])


def test_a_prevented_generator_is_caught_by_no_other_promise() -> None:
    assert {bad.kind == "prevented" for bad in BAD if not bad.caught_by} == {True}
    assert {bad.caught_by for bad in BAD if bad.kind == "prevented"} == {()}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Request:
    real = tmp_path / "real"
    (real / ".ssh").mkdir(parents=True)
    (real / ".ssh" / "id").write_text("key")
    entry = pwd.struct_passwd(("u", "x", 0, 0, "", str(real), ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: entry)
    return request(home(tmp_path))


@pytest.fixture
def listener() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{folder}/s")
        door.listen()
        yield f"{folder}/s"


def test_unconfined_a_key_is_read(asked: Request, capsys: pytest.CaptureFixture[str]) -> None:
    bad_behaviour.reads_keys(asked)
    assert capsys.readouterr().out.startswith(bad_behaviour.REACHED)


def test_unconfined_the_agent_is_reached(
    asked: Request, listener: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", listener)
    bad_behaviour.reaches_the_agent(asked)
    assert f"{bad_behaviour.REACHED} {listener}" in capsys.readouterr().out


def test_unconfined_an_engine_is_reached(listener: str, capsys: pytest.CaptureFixture[str]) -> None:
    bad_behaviour._connect(listener)
    bad_behaviour._connect(listener + "x")
    assert capsys.readouterr().out == f"{bad_behaviour.REACHED} {listener}\n"


def test_unconfined_the_real_home_is_written(asked: Request, tmp_path: Path) -> None:
    bad_behaviour.writes_to_the_real_home(asked)
    assert (tmp_path / "real" / ".codex" / "codexsandbox-was-here").exists()


@pytest.mark.parametrize("bad", named(["deletes-what-follows", "gives-up-on-moved-marks"]), ids=lambda bad: bad.name)
def test_a_leftover_of_another_writer_costs_the_user_a_key(bad: Bad, tmp_path: Path) -> None:
    assert bad.config is not None
    config = home(tmp_path, bad.config)
    generate = function(bad)
    generate(request(config))
    assert bad.config in config.read_bytes(), "until somebody else has been at the file all is well"
    left = bad.disturbed(config.read_bytes())
    config.write_bytes(left)
    generate(request(config))
    assert b"check_for_update" not in config.read_bytes()
    assert (b"[tui]" not in config.read_bytes()) is (bad.between == "loses-end")


def test_without_its_marks_a_key_comes_a_second_time(tmp_path: Path) -> None:
    (bad,) = named(["looks-for-marks-only"])
    config = home(tmp_path, bad.config)
    for _ in range(2):
        function(bad)(request(config))
        tomli.loads(config.read_bytes().decode())
    config.write_bytes(bad.disturbed(config.read_bytes()))
    tomli.loads(config.read_bytes().decode())
    function(bad)(request(config))
    with pytest.raises(tomli.TOMLDecodeError):
        tomli.loads(config.read_bytes().decode())


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_a_bad_generator_declines_the_same_cases_as_the_good_one(bad: Bad, tmp_path: Path) -> None:
    """Each has its one flaw and no other."""
    if bad.name in (
        "hangs",
        "idle",
        "swallows",
        "ignores-default-permissions",
        "writes-to-the-real-home",
        "writes-beside",
    ) or (bad.name.startswith("argv-")):
        return  # they do not look at the file
    config = home(tmp_path, b"broken = \n")
    assert function(bad)(request(config))["refused"]
    assert config.read_bytes() == b"broken = \n"
