"""Private folders in an environment: written and read there by our own program (guest/generator_dirs.py).

One process for each file would take longer than the generator. Changes are therefore queued. They are sent in one batch
when the folders are read or a program runs.
"""

import base64
import json
import secrets
from collections.abc import Mapping
from typing import Any

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.generators.private_dirs import PLACES, PrivateDirs
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.protocols import Environment

_LONGEST = 60.0
_LARGEST = 256 * 1024 * 1024


class EnvironmentDirs(PrivateDirs):
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._top = f"{environment.folder.rstrip('/')}/generators-{secrets.token_hex(4)}"
        self._due: list[dict[str, Any]] = []
        self._looks: dict[str, Any] = {}  # snapshots since the last change or run: they are still valid
        places = {name: f"{self._top}/{place}" for name, place in PLACES.items()}
        super().__init__(places, f"{self._top}/own")
        self.fresh()

    def act(self, op: str, tops: Mapping[str, str], **words: Any) -> Any:
        """Queues a change, or returns a snapshot. Raises HarnessError for a failure inside, also of a queued change."""
        if op != "snapshot":
            entries = [_encoded(entry) for entry in words.get("entries", ())]
            self._due.append({"op": op, "tops": tops, "entries": entries})
            self._looks.clear()
            return None
        if not self._looks:
            self._look()
        return self._looks[_mark(tops)] if _mark(tops) in self._looks else self._perform(_looking(tops))[-1]

    def empty(self, tops: Mapping[str, str]) -> None:
        self.act("empty", tops)

    def settle(self) -> None:
        """Sends all queued changes, because a program is about to run."""
        self._perform()
        self._looks.clear()

    def end(self) -> None:
        self.empty({"TOP": self._top})
        self.settle()

    # ---- inside
    def _look(self) -> None:
        """Takes snapshots of all folders that are ever read: the user's, and the own folder with the generator's
        result."""
        every = (self.folders, {"OWN": self.own})
        answers = self._perform(*map(_looking, every))[-len(every) :]
        self._looks = {_mark(tops): found for tops, found in zip(every, answers, strict=True)}

    def _perform(self, *more: dict[str, Any]) -> list[Any]:
        acts, self._due = [*self._due, *more], []
        if not acts:
            return []
        python, guest = self._environment.guest
        finished = self._environment.run(
            Command(
                argv=(python, "-I", "-S", f"{guest}/generator_dirs.py"),
                cwd="/",
                env={"LC_ALL": "C.UTF-8"},
                stdin=json.dumps({"op": "several", "acts": acts}).encode(),
                timeout=_LONGEST,
                output_limit=_LARGEST,
                why="creating and reading a generator's folders",
            )
        )
        where = self._environment.spec.id
        if finished.ended != "exit" or finished.exit:
            why = finished.error or finished.stderr.decode("utf-8", "replace").strip()[-500:]
            raise HarnessError("the folders of a generator cannot be accessed", where=where, why=why)
        answers = json.loads(finished.stdout)["told"]
        wrong = next((one["wrong"] for one in answers if "wrong" in one), "")
        if wrong:
            raise HarnessError("the folders of a generator cannot be written or read", where=where, why=wrong)
        answer = [_told(act["op"], one["told"]) for act, one in zip(acts, answers, strict=True)]
        left = [word for act, words in zip(acts, answer, strict=True) if act["op"] == "empty" for word in words]
        if left:
            raise HarnessError("private folders cannot be emptied", where=where, why="; ".join(left[:3]))
        return answer


def _looking(tops: Mapping[str, str]) -> dict[str, Any]:
    return {"op": "snapshot", "tops": dict(tops)}


def _mark(tops: Mapping[str, str]) -> str:
    return ",".join(tops)


def _encoded(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "content": base64.b64encode(entry.get("content", b"")).decode()}


def _told(op: str, answers: Any) -> Any:
    if op != "snapshot":
        return answers
    return {name: {**one, "content": base64.b64decode(one.get("content", ""))} for name, one in answers.items()}
