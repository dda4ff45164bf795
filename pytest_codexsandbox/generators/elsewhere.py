"""Generators in an environment, such as a container: that is what confines them, and its programs are what they call.

The folders lie in there, beside its worlds; a program of ours lays and looks (guest/staging.py), started like any
command. A Python function of this machine is none of its programs.
"""

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_codexsandbox.errors import MachineFault, NotHad, WrongInput
from pytest_codexsandbox.generators import readable
from pytest_codexsandbox.generators.confine import UNCONFINED
from pytest_codexsandbox.generators.folders import PLACES, Folders
from pytest_codexsandbox.generators.readable import Made
from pytest_codexsandbox.generators.running import Asked, Runner, stub
from pytest_codexsandbox.generators.ward import Job
from pytest_codexsandbox.model.command import Command, Finished
from pytest_codexsandbox.model.generator import Outcome
from pytest_codexsandbox.ports import Environment

_LONGEST: Final = 60.0
_ALSO: Final = "use a container's program (cmd:…), or run it here, confined"


class Inside(Folders):
    """Private folders in an environment."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._top = f"{environment.folder.rstrip('/')}/generators-{secrets.token_hex(4)}"
        places = {name: f"{self._top}/{place}" for name, place in PLACES.items()}
        super().__init__(places, f"{self._top}/own")
        self.fresh()

    def act(self, op: str, tops: Mapping[str, str], **words: Any) -> Any:
        """OSError says what was wrong in there."""
        python, guest = self._environment.guest
        asked = {"op": op, "tops": tops, "entries": [_encoded(entry) for entry in words.get("entries", ())]}
        finished = self._environment.run(
            Command(argv=(python, "-I", "-S", f"{guest}/staging.py"), cwd="/", env={"LC_ALL": "C.UTF-8"},
                    stdin=json.dumps(asked).encode(), timeout=_LONGEST, output_limit=256 * 1024 * 1024,
                    why="laying and looking at a generator's folders")
        )  # fmt: skip
        if finished.ended != "exit" or finished.exit:
            why = finished.error or finished.stderr.decode("utf-8", "replace").strip()[-500:]
            raise MachineFault("a generator's folders are out of reach", where=self._environment.spec.id, why=why)
        answer = json.loads(finished.stdout)
        if "wrong" in answer:
            raise OSError(answer["wrong"])
        told = answer["told"]
        return {name: _decoded(state) for name, state in told.items()} if op == "snapshot" else told

    def empty(self, tops: Mapping[str, str]) -> None:
        left = self.act("empty", tops)
        if left:
            raise MachineFault("private folders cannot be emptied", where=self._environment.spec.id,
                               why="; ".join(left[:3]))  # fmt: skip

    def end(self) -> None:
        self.act("empty", {"TOP": self._top})


def _encoded(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "content": base64.b64encode(entry.get("content", b"")).decode()}


def _decoded(state: Mapping[str, Any]) -> dict[str, Any]:
    return {**state, "content": base64.b64decode(state.get("content", ""))}


class Elsewhere(Runner):
    """Runs in an environment. `folders` are in there."""

    def __init__(self, environment: Environment, folders: Inside) -> None:
        if environment.spec.backend == "local":
            raise WrongInput("this machine as an environment confines nobody", next_step=_ALSO)
        self.stage, self.confinement = folders, UNCONFINED
        self._environment = environment

    @property
    def by(self) -> str:
        return f"the environment {self._environment.spec.id}"

    def close(self) -> None:
        """Nothing of it lives on: a command's end is the end of its scope."""

    def _before(self) -> None:
        """What was written elsewhere in there is the environment's."""

    def _made(self, asked: Asked) -> Made:
        words = asked.generator.spec.words
        if not words or asked.prefix:
            raise NotHad(f"{asked.generator.spec} cannot be run in an environment", why=_WHY, next_step=_ALSO)
        program = asked.codex if words[0] == readable.CODEX and asked.codex else words[0]
        return Made(argv=(program, *words[1:]))

    def _stubs_of(self, codex: str) -> str:
        return f"{self.stage.own}/stub"

    def _stub(self, codex: str, folder: str) -> None:
        python, guest = self._environment.guest
        self.stage.lay_own("stub/codex", stub(python, guest, self.stage.own, codex).encode(), 0o755)

    def _performed(self, prepared: Sequence[tuple[Job, Made]]) -> tuple[Finished, ...]:
        return self._environment.run_together([job.command for job, _ in prepared])

    def _need_room(self, told: Sequence[Outcome]) -> None:
        """Nobody has looked how much there is in there."""

    def _strayed(self) -> tuple[str, ...]:
        return ()


_WHY: Final = "a function of this machine's Python is no program in there"
