"""Local environment: this machine, as it is. The agent runs outside every namespace but a mount namespace for its /tmp.

Where that mount namespace would take a user namespace it has none: a user namespace around Codex would change what is
measured.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.environments import run_dirs
from pytest_codexsandbox.environments.agent_client import TURN_TIMEOUT, AgentClient
from pytest_codexsandbox.environments.agent_environment import GUEST, AgentEnvironment
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import EnvironmentLost, HarnessError
from pytest_codexsandbox.guest.worlds import new_word
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.protocols import Backend, Notify, ProvidedProgram, silent
from pytest_codexsandbox.system import process

HAND: Final = GUEST / "agent.py"


class LocalBackend(Backend):
    """Backend that runs Codex on this machine.

    `own_tmp=False`: share the machine's /tmp even if a private one is possible. `turn_timeout`: how long to wait for
    another run that shares /tmp.
    """

    def __init__(self, *, own_tmp: bool = True, turn_timeout: float = TURN_TIMEOUT) -> None:
        self._own_tmp, self._turn_timeout = own_tmp, turn_timeout

    def here(self) -> EnvironmentSpec:
        return this_machine()

    def audit(self) -> tuple[str, ...]:
        return run_dirs.audit()

    @contextmanager
    def open(
        self,
        spec: EnvironmentSpec,
        folder: Path,
        *,
        cache: Path | None = None,
        brought: Sequence[ProvidedProgram] = (),
        say: Notify = silent,
    ) -> Iterator[AgentEnvironment]:
        word = new_word()
        place = run_dirs.prepare(folder, word)
        run_dirs.now_open(word)
        try:
            with self._started(spec, place, word, say) as environment:
                yield environment
        finally:
            run_dirs.now_closed(word)
            run_dirs.end_marked(word)
            run_dirs.remove(place, word)

    @contextmanager
    def _started(self, spec: EnvironmentSpec, folder: Path, word: str, say: Notify) -> Iterator[AgentEnvironment]:
        if not sys.platform.startswith("linux"):
            raise HarnessError(
                "this machine cannot be measured",
                where=spec.id,
                why="Codex's Linux sandbox needs Linux",
                next_step='use a Linux container: docker run --rm -it -v "$PWD:$PWD" -w "$PWD" python:3.12 sh -c '
                "'pip install \"pytest-codexsandbox[codex]\" && pytest --codex-matrix'",
            )
        argv = (sys.executable, "-I", "-S", str(HAND))
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
        with (
            (folder / "agent.log").open("wb") as log,
            process.running(argv, cwd="/", env=environment, stderr=log) as child,
        ):
            assert child.stdin is not None
            assert child.stdout is not None
            client = AgentClient(child.stdin, child.stdout, name=spec.id, say=say)
            words: dict[str, Any] = {
                "folder": str(folder),
                "word": word,
                "own_tmp": "make" if self._own_tmp else "share",
                "turn_timeout": self._turn_timeout,
                "keeps_worlds": True,
            }
            try:
                body, _ = client.ask("hello", watch_parent=True, **words)
                yield AgentEnvironment(spec, client, body["facts"], folder=str(folder))
            except EnvironmentLost as problem:
                raise _with_log(problem, folder / "agent.log") from problem
            finally:
                with suppress(HarnessError, TimeoutError):
                    client.ask("bye")
                client.close()
                process.let_end(child, within=10.0)
                client.join()


def _with_log(problem: EnvironmentLost, log: Path) -> EnvironmentLost:
    text = log.read_bytes()[-2000:].decode("utf-8", "replace").strip()
    return EnvironmentLost(problem.what, where=problem.where, why=f"{problem.why}\n{text}" if text else problem.why)
