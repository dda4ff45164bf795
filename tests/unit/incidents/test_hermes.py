"""Hermes Agent's generators as they were measured, byte for byte where texts are known, and as they would be right."""

from pathlib import Path
from typing import Any

import pytest
import tomli
from codexsandbox_incidents import hermes_argv, hermes_file
from codexsandbox_incidents.file_writing import Given, Result

from tests.unit.generators.call_builders import home, request

USER = b'model = "x"\n\n# servers\n[mcp_servers.a]\ncommand = "a"\n'


def roots(argv: list[str]) -> Any:
    """As Codex reads an override: as TOML, else as the text that it is."""
    (word,) = (part.partition("=")[2] for part in argv if "writable_roots" in part)
    try:
        return tomli.loads(f"x = {word}")["x"]
    except tomli.TOMLDecodeError:
        return word


def asked(generate: Any, config: Path, **params: str) -> Result:
    told: Result = generate(request(config, params=params))
    return told


def test_before_the_bridge_nothing_was_added(tmp_path: Path) -> None:
    assert "argv" not in hermes_argv.none(request(home(tmp_path), roots=("/srv/board",)))


def test_the_overrides_as_they_were_merged(tmp_path: Path) -> None:
    told = hermes_argv.merged(request(home(tmp_path), roots=("/srv/board",), network=True))
    assert told["argv"] == [
        "-c",
        'sandbox_mode="workspace-write"',
        "-c",
        'sandbox_workspace_write.writable_roots=["/srv/board"]',
        "-c",
        "sandbox_workspace_write.network_access=false",
    ]
    assert told["env"]["HERMES_KANBAN_DB"] == "/srv/board/kanban.db"


def test_without_a_task_nothing_is_added(tmp_path: Path) -> None:
    assert asked(hermes_argv.merged, home(tmp_path), task="")["argv"] == []


@pytest.mark.parametrize(
    ("params", "merged", "fixed"),
    [
        ({"board": "default"}, ["@/.hermes"], ["@/.hermes/kanban/boards/default"]),
        ({"board": "b1"}, ["@/.hermes/kanban/boards/b1"], ["@/.hermes/kanban/boards/b1"]),
        ({"db": "kanban.db"}, [""], ["@/../work"]),
        ({"root": "/srv/k"}, ["/srv/k"], ["/srv/k/kanban/boards/default"]),
        ({"db": '/srv/a"b/kanban.db'}, '["/srv/a"b"]', ['/srv/a"b']),
        ({"db": "C:\\boards\\x/kanban.db"}, '["C:\\boards\\x"]', ["@/../work/C:\\boards\\x"]),
        ({"db": '/srv/x","//kanban.db'}, ["/srv/x", "/"], ['/srv/x","/']),
        ({"db": "/srv/\U0001f600/kanban.db"}, ["/srv/\U0001f600"], ["/srv/\U0001f600"]),
    ],
)
def test_the_granted_folder(tmp_path: Path, params: dict[str, str], merged: Any, fixed: list[str]) -> None:
    """`@`: the home. Merged, the default board grants Hermes' whole home, and a quote in a path is a way out."""
    config = home(tmp_path)

    def seen(generate: Any) -> Any:
        found = roots(asked(generate, config, **params)["argv"])
        return [root.replace(str(tmp_path / "home"), "@") for root in found] if isinstance(found, list) else found

    assert seen(hermes_argv.merged) == merged
    assert seen(hermes_argv.fixed) == [root.replace("@/../work", str(tmp_path / "work")) for root in fixed]


def file(path: Path, generate: Any, content: bytes | None = USER, **params: str) -> str:
    config = home(path, content)
    for _ in range(2):
        before = config.read_bytes() if config.exists() else None
        told: Result = generate(request(config, params=params))
    assert not told.get("refused"), told
    assert config.read_bytes() == before, "the second run changes nothing"
    return config.read_bytes().decode()


def test_the_section_word_for_word(tmp_path: Path) -> None:
    text = file(tmp_path, hermes_file.release_0_19, None)
    assert text == (
        "# managed by hermes-agent — `hermes codex-runtime migrate` regenerates this section\n"
        "\n"
        'default_permissions = ":workspace"\n'
        "\n"
        "[mcp_servers.hermes-tools]\n"
        'command = "python3"\n'
        'args = ["-m", "agent.transports.hermes_tools_mcp_server"]\n'
        f'env = {{ HERMES_HOME = "{tmp_path}/home/.hermes", HERMES_QUIET = "1", HERMES_REDACT_SECRETS = "true" }}\n'
        "startup_timeout_sec = 30.0\n"
        "tool_timeout_sec = 600.0\n"
        "\n"
        "# end hermes-agent managed section\n"
    )


def test_0_13_appends_and_the_table_above_has_it(tmp_path: Path) -> None:
    data = tomli.loads(file(tmp_path, hermes_file.release_0_13, USER + b"[tui]\nx = 1\n"))
    assert "default_permissions" not in data
    assert data["tui"]["default_permissions"] == ":workspace"


def test_0_19_puts_it_before_the_first_table_and_apart_from_its_comment(tmp_path: Path) -> None:
    text = file(tmp_path, hermes_file.release_0_19)
    assert tomli.loads(text)["default_permissions"] == ":workspace"
    assert text.startswith('model = "x"\n\n# servers\n\n# managed by')
    assert text.endswith('# end hermes-agent managed section\n\n[mcp_servers.a]\ncommand = "a"\n')


@pytest.mark.parametrize(
    "user",
    [
        b'default_permissions = ":read-only"\n' + USER,
        b'[mcp_servers.hermes-tools]\ncommand = "mine"\n',
        b'mcp_servers = { a = { command = "x" } }\n',
        b"x = [\n[1],\n]\n",
    ],
)
def test_0_19_writes_what_no_codex_reads(tmp_path: Path, user: bytes) -> None:
    tomli.loads(user.decode())
    with pytest.raises(tomli.TOMLDecodeError):
        tomli.loads(file(tmp_path, hermes_file.release_0_19, user))


def test_0_19_becomes_a_part_of_a_string(tmp_path: Path) -> None:
    data = tomli.loads(file(tmp_path, hermes_file.release_0_19, b'a = """\n[x]\n"""\n'))
    assert list(data) == ["a"], "valid, and nothing is in force"


@pytest.mark.parametrize("name", ["сервер", "a\x7fb"])
def test_0_19_does_not_escape_what_toml_must_have_escaped(tmp_path: Path, name: str) -> None:
    with pytest.raises(tomli.TOMLDecodeError):
        tomli.loads(file(tmp_path, hermes_file.release_0_19, servers=f'{{"{name}": {{"command": "x"}}}}'))


def test_0_19_deletes_the_users_plugins_where_the_list_is_empty(tmp_path: Path) -> None:
    user = b'[plugins."p@m"]\nenabled = true\n'
    assert "plugins" not in tomli.loads(file(tmp_path / "a", hermes_file.release_0_19, user))
    assert "plugins" in tomli.loads(file(tmp_path / "b", hermes_file.release_0_19, user, plugins="unknown"))
    assert "plugins" in tomli.loads(file(tmp_path / "c", hermes_file.fixed, user))


def test_0_19_without_an_end_goes_to_the_next_strange_table(tmp_path: Path) -> None:
    """After `codex mcp add` took the end mark: the user's server, and the one just added, are gone."""
    once = file(tmp_path / "a", hermes_file.release_0_19, b'[mcp_servers.user]\ncommand = "u"\n[tui]\nx = 1\n')
    data = tomli.loads(
        file(tmp_path / "b", hermes_file.release_0_19, once.replace(f"{hermes_file.END}\n", "").encode())
    )
    assert "user" not in data["mcp_servers"]
    assert data["tui"] == {"x": 1}


def test_0_19_replaces_a_link_and_shuts_the_file(tmp_path: Path) -> None:
    config = home(tmp_path, USER)
    config.rename(tmp_path / "real")
    config.symlink_to(tmp_path / "real")
    hermes_file.release_0_19(request(config))
    assert not config.is_symlink()
    assert config.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "real").read_bytes() == USER


@pytest.mark.parametrize(
    "user", [None, b"", USER, USER.replace(b"\n", b"\r\n"), b"x = [\n[1],\n]\n", b'a = """\n[x]\n"""\n']
)
def test_fixed_has_the_same_in_force_and_keeps_the_rest(tmp_path: Path, user: bytes | None) -> None:
    text = file(tmp_path, hermes_file.fixed, user)
    data, before = tomli.loads(text), tomli.loads((user or b"").decode())
    assert data.pop("default_permissions") == ":workspace"
    assert data["mcp_servers"].pop("hermes-tools")["tool_timeout_sec"] == 600.0
    assert {key: value for key, value in data.items() if value} == before
    assert text.encode().endswith(user or b"")


@pytest.mark.parametrize("earlier", [hermes_file.release_0_13, hermes_file.release_0_19])
@pytest.mark.parametrize("user", [b"", USER, USER + b"[tui]\nx = 1\n"])
def test_fixed_takes_over_from_earlier_releases(tmp_path: Path, earlier: Any, user: bytes) -> None:
    config = home(tmp_path, user)
    earlier(request(config))
    assert not hermes_file.fixed(request(config)).get("refused")
    text = config.read_bytes().decode()
    assert hermes_file.BEGIN not in text
    data = tomli.loads(text)
    assert data["default_permissions"] == ":workspace"
    assert data.get("tui", {"x": 1}) == {"x": 1}
    for line in filter(None, user.decode().splitlines()):
        assert line in text


@pytest.mark.parametrize(
    "user", [b'default_permissions = ":read-only"\n', b'[mcp_servers.hermes-tools]\ncommand = "mine"\n']
)
def test_fixed_leaves_a_users_own_choice_alone(tmp_path: Path, user: bytes) -> None:
    config = home(tmp_path, user)
    assert hermes_file.fixed(request(config))["refused"]
    assert config.read_bytes() == user


def test_a_request_may_also_be_a_mapping(tmp_path: Path) -> None:
    given: Given = {
        "platform": "linux",
        "version": "",
        "home": str(tmp_path),
        "codex_home": str(tmp_path),
        "config": str(tmp_path / "config.toml"),
        "workspace": str(tmp_path),
    }
    assert hermes_argv.merged(given)["argv"]
