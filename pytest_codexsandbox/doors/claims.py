"""Claims: asks the real Codex what it will enforce (`config/read` and `thread/start` of its app-server), without a
login.

One server answers about many files, because it reads config.toml anew for each question. The settings that it enforces
were read when it started, so a claim says nothing about enforcement; the doors measure that. Each file contains a
unique word that Codex echoes, which proves that the answer is about this very file. A file that does not load is asked
about once more, unchanged, in a process that was started after the file was written.
"""

import codecs
import secrets
from collections.abc import Container, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import tomli

from pytest_codexsandbox.doors.app_server import SUBCOMMAND, AppServerDoor
from pytest_codexsandbox.doors.support.app_server_client import AskingServer, Ended, Refused
from pytest_codexsandbox.doors.support.call_output import exhausted_resource
from pytest_codexsandbox.doors.support.call_settings import surroundings
from pytest_codexsandbox.doors.support.claim_parser import claim_of, with_placeholders
from pytest_codexsandbox.doors.support.codex_options import settings_of
from pytest_codexsandbox.doors.support.driver_command import as_words
from pytest_codexsandbox.errors import HarnessError, Unavailable
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.generator import CONFIG, Claim, GeneratedFile, Mode
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Environment, Subject

MANY: Final = 200  # files that one server is asked about: each leaves a thread in its memory
QUIET: Final = ("features.plugins=false", "features.shell_snapshot=false")
_OURS: Final = {word.partition("=")[0].rpartition(".")[2] for word in QUIET}
# Settings about the model, the screen and third-party tools: they do not change how our commands run.
_ONLY_WORDS: Final = (
    "model",
    "tui",
    "mcp_servers",
    "history",
    "developer_instructions",
    "instructions",
    "compact_prompt",
    "desktop",
    "file_opener",
    "notice",
    "personality",
    "profiles",
)
_LIFE: Final = 24 * 3600.0
_PATIENCE: Final = 30.0


class Claimant:
    """One Codex in one environment. `world` has the folders that a file may name: its workspace is the thread's.

    with Claimant(environment, subject) as claimant:
        claimant.claim(b'sandbox_mode = "workspace-write"\\n')
    """

    def __init__(self, environment: Environment, subject: Subject, *, timeout_scale: float = 1.0) -> None:
        missing = AppServerDoor().lacks(subject.capabilities)
        if missing:
            raise Unavailable(missing, why="the harness needs the app-server to read a configuration file")
        self._environment, self._subject, self._scale = environment, subject, timeout_scale
        self.world: World = environment.world()
        self._server: AskingServer | None = None
        self._asked = 0
        self._laid: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._end_server()
        self._environment.clear(self.world)

    def claim(
        self,
        config: bytes | None,
        *,
        files: Mapping[str, GeneratedFile] | None = None,
        argv: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        mode: Mode = "",
        fresh: bool = False,
    ) -> Claim:
        """Returns what Codex says about this config.toml (None: the file does not exist).

        `files`: further files, by placeholder path. `argv`: words after `app-server`. `env`: added to the variables of
        a call. `mode`: sandbox mode of the thread, set as `-c` would. `fresh`: use a process started for this claim.
        """
        alone = fresh or config is None or bool(files or argv or env) or config.endswith(b"\r")
        if not alone and config is not None and not overridden_by_us(config):
            found = self._by_the_server(config, mode)
            if found is not None and found.loads:
                return found
        return self._by_its_own(config, files or {}, argv, env or {}, mode)

    # ---- the server that many files share
    def _by_the_server(self, config: bytes, mode: Mode) -> Claim | None:
        """Asks the shared server; None if its answer may be about another file."""
        word = f"/codexsandbox/{secrets.token_hex(8)}"
        entry = f'[projects."{word}"]\ntrust_level = "untrusted"\n'.encode()
        self._put({CONFIG: GeneratedFile(content=config + (b"" if config.endswith(b"\n") else b"\n") + entry)})
        try:
            server = self._shared()
            server.notices.clear()
            read, started = self._answers(server, mode)
        except Refused:
            return None
        except (Ended, HarnessError):  # the next file is not to suffer from it
            self._end_server()
            return None
        projects = read.get("projects")
        if not isinstance(projects, dict) or projects.pop(word, None) is None:
            return None
        return claim_of(read, started, server.notices, self.world, fresh=False)

    def _shared(self) -> AskingServer:
        self._asked += 1
        if self._server is not None and self._asked > MANY:
            self._end_server()
        if self._server is None:
            self._server, self._asked = self._start((), {}, quiet=True), 1
        return self._server

    def _end_server(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            server.close()

    # ---- a server of its own
    def _by_its_own(
        self,
        config: bytes | None,
        files: Mapping[str, GeneratedFile],
        argv: Sequence[str],
        env: Mapping[str, str],
        mode: Mode,
    ) -> Claim:
        own = {} if config is None else {CONFIG: GeneratedFile(content=config)}
        self._put({**own, **files}, alone=True)
        try:
            texts = [laid.content for path, laid in {**own, **files}.items() if path.endswith(".toml")]
            return self._asked_alone(argv, env, mode, quiet=not any(map(overridden_by_us, texts)))
        finally:
            self._take_away()

    def _asked_alone(self, argv: Sequence[str], env: Mapping[str, str], mode: Mode, *, quiet: bool) -> Claim:
        server: AskingServer | None = None
        try:
            server = self._start(argv, env, quiet=quiet)
            read, started = self._answers(server, mode)
        except (Refused, Ended) as problem:
            full = exhausted_resource(problem.finished) if isinstance(problem, Ended) else ""
            if full:
                raise HarnessError(
                    "this machine lacks the resources to run Codex", where=self._environment.spec.id, why=full
                ) from None
            return Claim(loads=False, error=with_placeholders(self.world, str(problem)))
        finally:
            if server is not None:
                server.close()
        return claim_of(read, started, server.notices, self.world, fresh=True)

    def _start(self, argv: Sequence[str], env: Mapping[str, str], *, quiet: bool) -> AskingServer:
        given = settings_of(argv, door=AppServerDoor.name)
        words = (self._subject.binary, SUBCOMMAND, *(as_words(QUIET) if quiet else ()), *given)
        built = {**surroundings(self.world, Call()), "RUST_LOG": "off", **env}
        command = Command(
            argv=words,
            cwd=self.world.values["WORKSPACE"],
            env=built,
            timeout=_LIFE,
            aside=True,
            why="codex app-server, asked for the settings of a file",
        )
        return AskingServer(self._environment, command, patience=_PATIENCE * self._scale)

    def _answers(self, server: AskingServer, mode: Mode) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the answers to config/read and thread/start. Codex starts no MCP server that a file names."""
        params: dict[str, Any] = {"cwd": self.world.values["WORKSPACE"], "ephemeral": True}
        origins: Any = {}
        try:
            answer = server.ask("config/read", {"includeLayers": False})
            read, origins = dict(answer.get("config") or {}), answer.get("origins")
        except Refused as problem:  # thread/start shows whether the file loads
            read = {}
            server.notices.append({"method": "warning", "params": {"message": f"config/read was refused: {problem}"}})
        servers = read.get("mcp_servers") or {}
        if isinstance(servers, dict) and servers:
            params["config"] = _switched_off(servers, _given_by_words(servers, origins))
        if (
            mode
        ):  # as a setting: for the thread's own `sandbox` Codex may write into the file that the folder is trusted
            params["config"] = {**params.get("config", {}), "sandbox_mode": mode}
        return read, server.ask("thread/start", params)

    # ---- files
    def _put(self, files: Mapping[str, GeneratedFile], *, alone: bool = False) -> None:
        if alone:
            self._take_away([CONFIG])
        for path, file in files.items():
            self._environment.put(self.world.fill(path), file.content, file.mode)
            self._laid.add(path)

    def _take_away(self, more: Iterable[str] = ()) -> None:
        """Removes the files that were created for a claim, with the folders that were made for them."""
        gone = sorted({self._top(path) for path in (*self._laid, *more)})
        self._laid.clear()
        done = self._environment.run(
            Command(
                argv=("/bin/rm", "-rf", "--", *gone),
                cwd=self.world.folder,
                env={},
                aside=True,
                why="removing the files of a claim",
            )
        )
        if done.ended != "exit" or done.exit:
            raise HarnessError(
                "a configuration file that Codex has read could not be removed",
                where=self._environment.spec.id,
                why=done.error or done.stderr.decode("utf-8", "replace"),
            )

    def _top(self, path: str) -> str:
        """Returns the path to remove: in $CODEX_HOME the file itself, since a server runs there; elsewhere its top
        folder.
        """
        place, _, rest = path.partition("/")
        kept = rest if place == "@CODEX_HOME@" else rest.partition("/")[0]
        return self.world.fill(f"{place}/{kept}")


def refused_words(argv: Sequence[str]) -> str:
    """Returns why an app-server does not take these words; "" if it does."""
    return AppServerDoor().refuses(argv)


def _switched_off(servers: Mapping[str, Any], given: Container[str]) -> dict[str, Any]:
    """Returns settings of a thread that start none of these servers. Codex cuts a key at its dots, so a name with a dot
    is given in a whole table. That table replaces one that `-c` gives: a server of `-c` stands in it whole."""
    if not any("." in name for name in servers):
        return {f"mcp_servers.{name}.enabled": False for name in servers}
    off = {"enabled": False}
    return {"mcp_servers": {name: _said(table) | off if name in given else off for name, table in servers.items()}}


def _said(table: Any) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None} if isinstance(table, dict) else {}


def _given_by_words(servers: Iterable[str], origins: Any) -> set[str]:
    """Returns the names of the servers that `-c` gives, in whole or in part."""
    known = origins if isinstance(origins, dict) else {}
    return {
        name
        for name in servers
        for key, origin in known.items()
        if key.startswith(f"mcp_servers.{name}.") and msgspec.json.encode(origin).find(b'"sessionFlags"') >= 0
    }


def overridden_by_us(config: bytes) -> bool:
    """Checks whether our overrides would hide that this file does not load.

    They hide a `features` that is no table, and any value of our two keys. A file that cannot be parsed counts as
    hidden.
    """
    try:
        features = tomli.loads(config.removeprefix(codecs.BOM_UTF8).decode()).get("features", {})
    except (UnicodeDecodeError, tomli.TOMLDecodeError, RecursionError):
        return True
    return not isinstance(features, dict) or not _OURS.isdisjoint(features)


def effective(claim: Claim) -> tuple[Any, ...]:
    """Returns all parts of a claim that decide about a command. Files with equal parts are measured once.

    A file may decide by more than its policy (a feature, a variable, a hook). So only settings that surely have no
    effect are left out.
    """
    said = {name: value for name, value in claim.config.items() if value and not name.startswith(_ONLY_WORDS)}
    if isinstance(features := said.get("features"), dict):  # our own overrides decide nothing
        said["features"] = {name: value for name, value in features.items() if name not in _OURS}
    return (
        claim.loads,
        claim.sandbox,
        claim.network,
        tuple(sorted(claim.roots)),
        claim.exclude_slash_tmp,
        claim.exclude_tmpdir,
        claim.profile,
        msgspec.json.encode(said, order="sorted"),
    )
