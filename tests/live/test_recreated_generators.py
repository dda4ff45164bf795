"""What a real Codex says and does with what the exemplary and the re-created generators wrote: incidents again."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli
from codexsandbox_incidents import hermes_argv, hermes_file, molecule, multica
from codexsandbox_incidents.file_writing import Result

from pytest_codexsandbox.config_writer import apply, generate
from pytest_codexsandbox.config_writer.managed_block import Marks
from pytest_codexsandbox.doors.app_server import AppServerDoor
from pytest_codexsandbox.doors.claims import Claimant
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.base_acts import BASE_ACTS
from pytest_codexsandbox.model.generator import CONFIG, Claim, GeneratedConfig, GeneratedFile, Request
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import POLICIES, WORKSPACE_WRITE, Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Environment, Subject
from tests.fakes.machine import run_folder

Generate = Callable[[Request], Result]
PLAIN = b'# mine\nmodel = "gpt-5.5"\n\n[mcp_servers.user]\ncommand = "user"\n'
BOARD, SIBLING = "@ROOT0@/kanban.db", "@SIBLING@/kanban.db"
SQL = ["INSERT INTO t VALUES('done')"]
ACTS = {
    **BASE_ACTS,
    **{
        f"board/{name}": Act(
            verb="sqlite", path=path, params={"sql": SQL}, given=(Given(kind="sqlite-wal", path=path),)
        )
        for name, path in {"own": BOARD, "sibling": SIBLING}.items()
    },
}


def written(
    generate: Generate, values: dict[str, str], folder: Path, user: bytes | None, **words: Any
) -> GeneratedConfig:
    """What it made of the user's file, for a world whose folders are called `values`."""
    config = folder / "config.toml"
    if user is not None:
        config.write_bytes(user)
    given: dict[str, Any] = {
        "platform": "linux",
        "version": "0.163.0",
        "config": str(config),
        "roots": (values["ROOT0"],),
    }
    paths = {name.lower(): values[name] for name in ("HOME", "CODEX_HOME", "WORKSPACE")}
    told = generate(Request(**(given | paths | words)))
    assert not told.get("refused"), told
    files = {CONFIG: GeneratedFile(content=config.read_bytes())} if config.exists() else {}
    return GeneratedConfig(files=files, argv=tuple(told.get("argv", ())))


def claimed(claimant: Claimant, generate: Generate, folder: Path, user: bytes | None = PLAIN, **words: Any) -> Claim:
    made = written(generate, claimant.world.values, folder, user, **words)
    content = made.files[CONFIG].content if made.files else None
    return claimant.claim(content, argv=made.argv)


@pytest.mark.parametrize(
    "user",
    [
        None,
        b"",
        PLAIN,
        PLAIN.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + PLAIN,
        PLAIN + b"[tui]\nx = 1\n",
        b'sandbox_mode = "read-only"\n' + PLAIN,
        b"sandbox_workspace_write = { network_access = false }\n" + PLAIN,
        b"[ sandbox_workspace_write ] # c\nexclude_slash_tmp = true\nwritable_roots = [\n '/a', # b\n]\n",
        b'[permissions.x]\nextends = ":workspace"\n',
        b'[profiles.p]\nsandbox_mode = "read-only"\n',
    ],
)
def test_codex_reports_the_policy_that_the_exemplary_generator_requests(
    claimant: Claimant, tmp_path: Path, user: bytes | None
) -> None:
    claim = claimed(claimant, generate, tmp_path, user, network=True)
    assert (claim.loads, claim.sandbox, claim.network, claim.roots) == (True, "workspace-write", True, ("@ROOT0@",)), (
        claim
    )
    assert claim.warnings == ()


def test_a_setting_that_the_generator_refuses_is_really_void(claimant: Claimant) -> None:
    """The control of its refusal: with the policy put beside it, Codex enforces something else."""
    for void in (b'default_permissions = ":read-only"\n', b'profile = "p"\n'):
        claim = claimant.claim(void + b'sandbox_mode = "workspace-write"\n')
        assert not claim.loads or claim.sandbox == "read-only", (void, claim)


@pytest.mark.parametrize(
    "words", [("features", "enable", "goals"), ("mcp", "add", "zed", "--", "zed"), ("mcp", "remove", "user")]
)
def test_codex_itself_writes_between_two_runs(codex: Subject, words: tuple[str, ...]) -> None:
    with run_folder() as folder:
        config = folder / ".codex" / "config.toml"
        config.parent.mkdir()
        for user in (b"", PLAIN, b"sandbox_workspace_write.exclude_slash_tmp = true\n" + PLAIN):
            config.write_bytes(user)
            apply(config, roots=["/srv/x"], home=folder)
            env = {"PATH": os.environ["PATH"], "HOME": str(folder), "CODEX_HOME": str(config.parent)}
            subprocess.run([codex.binary, *words], check=True, env=env, capture_output=True, cwd=folder, timeout=60)
            between = tomli.loads(config.read_text())
            apply(config, roots=["/srv/y"], home=folder)
            text = config.read_bytes()
            marks = Marks("codexsandbox")
            assert (text.count(marks.begin.encode()), text.count(marks.end.encode())) == (1, 1), text
            wanted = {**between.pop("sandbox_workspace_write"), "writable_roots": ["/srv/y"]}
            assert tomli.loads(text.decode()) == {**between, "sandbox_workspace_write": wanted}
            assert apply(config, roots=["/srv/y"], home=folder).changed is False


DEFAULT_BOARD: dict[str, Any] = {"roots": (), "params": {"board": "default"}}
MACOS: dict[str, Any] = {"platform": "darwin"}


@pytest.mark.parametrize(
    ("generator", "words", "sandbox", "network", "roots"),
    [
        (hermes_argv.merged, {}, "workspace-write", False, ("@ROOT0@",)),
        (hermes_argv.fixed, {}, "workspace-write", False, ("@ROOT0@",)),
        (hermes_argv.merged, DEFAULT_BOARD, "workspace-write", False, ("@HOME@/.hermes",)),
        (hermes_argv.fixed, DEFAULT_BOARD, "workspace-write", False, ("@HOME@/.hermes/kanban/boards/default",)),
        (hermes_file.release_0_19, {}, "workspace-write", False, ()),
        (hermes_file.fixed, {}, "workspace-write", False, ()),
        (hermes_file.release_0_13, {}, "read-only", False, ()),  # captured by the last table
        (multica.release_0_2_5, {}, "workspace-write", True, ()),
        (multica.release_0_2_5, MACOS, "danger-full-access", True, ()),
        (multica.release_0_4_16, {}, "danger-full-access", True, ()),
        (multica.fixed, {}, "workspace-write", True, ()),
        (molecule.hotpatch, {}, "workspace-write", True, ()),
        (molecule.pr_77, {}, "workspace-write", True, ()),
        (molecule.pr_82, {}, "danger-full-access", True, ()),
        (molecule.fixed, {}, "danger-full-access", True, ()),
    ],
)
def test_each_re_created_policy_is_said_by_codex(
    claimant: Claimant,
    tmp_path: Path,
    generator: Generate,
    words: dict[str, Any],
    sandbox: str,
    network: bool,
    roots: tuple[str, ...],
) -> None:
    claim = claimed(claimant, generator, tmp_path, **words)
    assert (claim.loads, claim.sandbox, claim.network, claim.roots) == (True, sandbox, network, roots), claim


def observed(machine: Environment, codex: Subject, generate: Generate, folder: Path, user: bytes) -> Observation:
    def write(world: World, policy: Policy) -> GeneratedConfig:
        return written(generate, world.values, folder, user)

    door = AppServerDoor().configured(write)
    (seen,) = door.observe(machine, codex, POLICIES[WORKSPACE_WRITE], ACTS, None)
    return seen


PROFILE = b'default_permissions = ":workspace"\n'


def test_a_worker_without_the_bridge_cannot_close_its_task(
    machine: Environment, codex: Subject, tmp_path: Path
) -> None:
    """hermes-agent#26203: the work is done, and the board says that it crashed."""
    rows = observed(machine, codex, hermes_argv.none, tmp_path, PROFILE).rows
    assert (rows["board/own"].ok, rows["board/own"].detail) == (False, "unable to open database file"), rows
    assert not rows["base/forbidden"].ok, "the sandbox is on"


@pytest.mark.parametrize("bridge", [hermes_argv.merged, hermes_argv.fixed])
def test_with_the_bridge_it_writes_its_own_board_and_no_other(
    machine: Environment, codex: Subject, tmp_path: Path, bridge: Generate
) -> None:
    rows = observed(machine, codex, bridge, tmp_path, PROFILE).rows
    assert (rows["board/own"].ok, rows["board/sibling"].ok, rows["base/forbidden"].ok) == (True, False, False), rows
    assert rows["board/sibling"].detail == "unable to open database file"


def test_the_exemplary_one_does_the_same_by_a_file(machine: Environment, codex: Subject, tmp_path: Path) -> None:
    rows = observed(machine, codex, generate, tmp_path, PLAIN).rows
    assert (rows["board/own"].ok, rows["board/sibling"].ok, rows["base/forbidden"].ok) == (True, False, False), rows
