"""`-c` as the real Codex reads it is `-c` as the checks read it."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.generators.checks.cli_overrides import words
from pytest_codexsandbox.registry import cache_folder
from tests.fakes.machine import installed_codex, run_folder

READ = (
    ("model=abc",), ("model= 'a b' ",), ("model=''x''",), ('model=a"b"',), ("model=",), (" model = abc ",),
    ("model=x\ny=2",), ('model="x"\ny=2',), ("x.y={a=1}", "x.z=2"), ("x={a=1}", "x={b=2}"), ("x=[1,2]", "x=[3]"),
    ("x=2", "x.y=1"), ("x.y=1", "x=2"), ('"a".b=1',), ('a."b.c".d=1',), ("x={a=1,\nb=2}",), ('x="\\e"',), ("a..b=1",),
    ("x=9223372036854775808",), ('x="\U0001f680"',), ('x=["\\ud83d\\ude80"]',), ("x=1 # c",), ("x=True",), ("x=true",),
    ("x=[/a]",), ('x=["/a"b"]',), ("x=['C:\\Users\\x']",), ('x=["C:\\Users\\x"]',), ("x=1.0",),
)  # fmt: skip
REFUSED = (("=5",), ("model",), ("model=1",), ("sandbox_workspace_write.writable_roots=[x]",))


def config_read(folder: Path, *overrides: str) -> dict[str, Any] | None:
    """What the layer of the arguments holds; None where Codex ends at once."""
    home, workspace = folder / "home" / ".codex", folder / "workspace"
    for path in (home, workspace):
        path.mkdir(parents=True)
    argv = [word for one in overrides for word in ("-c", one)]
    calls = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "t", "title": "t", "version": "0"}}},
        {"method": "initialized"},
        {"id": 2, "method": "config/read", "params": {"includeLayers": True}},
    ]
    process = subprocess.Popen(
        [str(installed_codex(cache_folder()).binary), "app-server", *argv],
        cwd=workspace,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "CODEX_HOME": str(home)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError), process:  # it may end before it was asked anything
        try:
            process.stdin.write("".join(msgspec.json.encode(call).decode() + "\n" for call in calls))
            process.stdin.flush()
        except BrokenPipeError:
            return None
        for line in process.stdout:
            answer = msgspec.json.decode(line)
            if answer.get("id") == 2:
                process.kill()
                layers = answer["result"]["layers"]
                return dict(next(one["config"] for one in layers if "lags" in str(one["name"])))
    return None


@pytest.mark.parametrize("overrides", READ, ids=" ".join)
def test_codex_reads_an_override_as_the_checks_do(overrides: tuple[str, ...]) -> None:
    with run_folder() as folder:
        found = config_read(folder, *overrides)
    ours = words([word for one in overrides for word in ("-c", one)])
    assert found == ours.layer
    assert not any(one.fault for one in ours.overrides)


@pytest.mark.parametrize("overrides", REFUSED, ids=" ".join)
def test_codex_ends_at_once_where_the_checks_say_so(overrides: tuple[str, ...]) -> None:
    with run_folder() as folder:
        assert config_read(folder, *overrides) is None
