"""A plan on a machine that has nothing yet: what a real engine is told by real registries, and said before a run."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.environments.container.engine import Engine
from tests.docker.registry import registry


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for matrix files, with a cache of its own."""
    with Engine() as engine:
        if not engine.host.startswith("unix://"):
            pytest.skip("the engine is elsewhere: it cannot reach a registry on this machine's loopback")
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path / "cache"))
    (tmp_path / "distros").mkdir()
    yield tmp_path


def planned(folder: Path, capsys: pytest.CaptureFixture[str], *images: str, **pulls: str) -> dict[str, Any]:
    """By name of a distribution what is pulled for it; beside them one that needs nothing."""
    for name, reference in pulls.items():
        (folder / "distros" / f"{name}.toml").write_text(f'family = "alpine"\npull = "{reference}"\n')
    file = folder / "mine.toml"
    file.write_text(
        f'releases = ["0.163.0"]\nenvironments = ["local"]\n[containers]\ndistros = {json.dumps(list(pulls))}\n'
        f'images = {json.dumps(images)}\nbwraps = ["none"]\n'
    )
    assert main(["plan", str(file), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def left_out(shown: dict[str, Any]) -> dict[str, str]:
    return {one["what"]: one["why"] for one in shown["not_planned"] if one["kind"] == "unavailable"}


def answers(shown: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(one["kind"], one["name"]): one["answer"] for one in shown["asked"]}


def test_a_registry_that_answers_keeps_its_images_in_the_plan(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with registry() as there:
        there.publish("one", "1", b"\0" * 10240, machine="x86_64")
        shown = planned(
            empty,
            capsys,
            f"mine={there.address}/one:1",
            f"none={there.address}/none:1",
            one=f"{there.address}/one:1",
            two=f"{there.address}/two:1",
        )
        assert list(left_out(shown)) == ["none"], "of the others nobody knows better"
        assert "docker pull" in left_out(shown)["none"]
        assert answers(shown)["registry", there.address] == "yes"
        assert answers(shown)["image", f"{there.address}/one:1"] == "yes"
        (layer,) = [path for path, (kind, _) in there.documents.items() if kind == "application/octet-stream"][1:]
        assert layer not in there.asked, "nothing is pulled"
        asked = len(there.asked)
        again = planned(empty, capsys, one=f"{there.address}/one:1", two=f"{there.address}/two:1")
        assert (left_out(again), len(there.asked)) == ({}, asked), "what was said is known for a while"


def test_a_registry_that_refuses_takes_all_its_images_out_of_the_first_plan(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        nobody = f"127.0.0.1:{listening.getsockname()[1]}"
    shown = planned(empty, capsys, one=f"{nobody}/one:1", two=f"{nobody}/two:1")
    assert set(left_out(shown)) == {"one", "two"}
    assert "no registry answered" in left_out(shown)["two"]
    assert "connection refused" in next(one["why"] for one in shown["asked"] if one["kind"] == "registry")


def test_a_registry_that_says_nothing_holds_the_plan_for_a_few_seconds_alone(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        shown = planned(empty, capsys, one=f"{address}/one:1")
    assert "no registry answered" in left_out(shown)["one"]
    assert answers(shown)["registry", address] == "no"
