"""Private folders of one generator at a time, here or in an environment: filled for a case, read, emptied
afterwards."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import HarnessError, InputError
from pytest_codexsandbox.generators import placeholders
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable
from pytest_codexsandbox.generators.run_result import as_files
from pytest_codexsandbox.model.generator import Case, Declaration, Files, FileState

PLACES: Final = {
    "HOME": "home", "CODEX_HOME": "home/.codex", "WORKSPACE": "workspace", "ROOT0": "root0", "SIBLING": "sibling",
    "OUTSIDE": "outside", "TMPDIR": "tmp",
}  # fmt: skip
USUAL: Final = 0o755  # of a folder
LAUNCHES: Final = "launches"  # below the own folder: what the stub saw
_BEHIND: Final = "dotfiles/codex.toml"  # below HOME: where a config.toml that is a link leads
_BEHIND_HOME: Final = "dotfiles/codex"


class PrivateDirs:
    """`folders`: placeholder → real folder; `inside`: the paths that the generator sees; `own`: of requests and
    results."""

    def __init__(self, folders: Mapping[str, str], own: str, inside: Mapping[str, str] | None = None) -> None:
        self.folders, self.own = dict(folders), own
        self.inside = {**folders, **(inside or {})}

    def act(self, op: str, tops: Mapping[str, str], **words: Any) -> Any:
        """Performs an operation of guest/generator_dirs.py where the folders are. Raises OSError and ValueError."""
        raise NotImplementedError

    def empty(self, tops: Mapping[str, str]) -> None:
        """Empties each folder and creates it if it is missing."""
        raise NotImplementedError

    def end(self) -> None:
        """Removes the folders."""
        raise NotImplementedError

    # ---- names
    @property
    def is_elsewhere(self) -> bool:
        return self.inside != self.folders

    @property
    def paths(self) -> dict[str, str]:
        """Returns placeholder → path, as the generator sees it."""
        return self.paths_of(0)

    def paths_of(self, number: int) -> dict[str, str]:
        """Returns the paths for one of several parallel runs, each with its own request and result."""
        return placeholders.of_folders(self.inside, f"{self.own}/{number}" if number else self.own)

    # ---- before
    def fresh(self) -> None:
        self.empty({**self.folders, "OWN": self.own})

    def lay(self, case: Case, values: Mapping[str, str], declaration: Declaration) -> None:
        """Writes the user's files and the tool's own. Where both name one path, the user's file wins."""
        setup = {path: placeholders.fill(text, values).encode() for path, text in declaration.setup.items()}
        users = _of_config(case, values, self.folders["HOME"])
        entries = [
            *_of_home(case),
            *_beside(users, _of_files(setup, values, self.inside), case),
            *users,
            *_of_files(case.files, values, self.inside),
        ]
        try:
            self.act("lay", self.folders, entries=entries)
        except (OSError, ValueError) as problem:
            where = self.folders["HOME"]
            raise HarnessError(f"the case {case.id!r} cannot be set up", where=where, why=str(problem)) from problem

    def ready(self, request: bytes, number: int = 0) -> None:
        """Writes the request for one run and removes what earlier runs left. `number`: of several parallel runs."""
        if not number:
            self.empty({"OWN": self.own})
        path = f"{number}/request.json" if number else "request.json"
        self.act("lay", {"OWN": self.own}, entries=[_file("OWN", path, request)])

    def lay_own(self, path: str, content: bytes, mode: int) -> None:
        """Writes one of the harness's files for the generator."""
        self.act("lay", {"OWN": self.own}, entries=[{**_file("OWN", path, content), "mode": mode}])

    # ---- after
    def files(self) -> Files:
        return {
            name: msgspec.structs.replace(state, target=placeholders.shown(state.target, self.inside))
            if state.kind == "symlink"
            else state
            for name, state in as_files(self.act("snapshot", self.folders)).items()
        }

    def reported_result(self, number: int = 0) -> FileState | None:
        """Returns the result that the generator wrote; None if it wrote none."""
        path = f"@OWN@/{number}/result.json" if number else "@OWN@/result.json"
        return as_files(self.act("snapshot", {"OWN": self.own})).get(path)

    def launches(self) -> tuple[bytes, ...]:
        """Returns what the stub recorded."""
        found = as_files(self.act("snapshot", {"OWN": self.own}))
        head = f"@OWN@/{LAUNCHES}/"
        recorded = sorted(name for name in found if name.startswith(head) and name.endswith(".json"))
        return tuple(found[name].content for name in recorded)


# ---- entries to write
Entry = dict[str, Any]


def _file(top: str, path: str, content: bytes) -> Entry:
    return {"top": top, "kind": "file", "path": path, "content": content}


def _of_home(case: Case) -> list[Entry]:
    """Returns the entries of the Codex home. A folder's mode is set after everything is written."""
    place = PLACES["CODEX_HOME"].removeprefix(f"{PLACES['HOME']}/")
    if case.link not in ("symlinked-home", "missing-home"):
        usual = case.folder_mode == USUAL
        return [] if usual else [{"top": "HOME", "kind": "dir", "path": place, "mode": case.folder_mode}]
    gone = {"top": "HOME", "kind": "gone", "path": place}
    if case.link == "missing-home":
        return [gone]
    return [
        gone,
        {"top": "HOME", "kind": "dir", "path": _BEHIND_HOME},
        {"top": "HOME", "kind": "symlink", "path": place, "to": _BEHIND_HOME},
    ]


def _of_config(case: Case, values: Mapping[str, str], home: str) -> list[Entry]:
    config = {"top": "CODEX_HOME", "path": "config.toml"}
    link = {**config, "kind": "symlink", "to": f"../{_BEHIND}"}
    if case.link == "directory":
        return [{**config, "kind": "dir"}]
    if case.link == "dangling":
        return [{"top": "HOME", "kind": "dir", "path": "dotfiles"}, link]
    if case.config is None or case.link == "missing-home":
        return []
    content = {"kind": "file", "content": placeholders.fill_bytes(case.config, values), "mode": case.mode}
    behind = {**content, "top": "HOME", "path": _BEHIND}
    if case.link == "symlinked-home":
        return [{**behind, "path": f"{_BEHIND_HOME}/config.toml"}]
    if case.link == "symlink":
        return [behind, link]
    if case.link == "hardlink":
        return [behind, {**config, "kind": "hardlink", "to": f"{home}/{_BEHIND}"}]
    return [{**content, **config}]


def _beside(users: Sequence[Entry], tools: Sequence[Entry], case: Case) -> list[Entry]:
    """Returns the tool's own files without those that would be in the way of the user's links."""
    taken = {(one["top"], one["path"]) for one in users}
    left = [one for one in tools if (one["top"], one["path"]) not in taken]
    if case.link == "missing-home" and any(one["top"] == "CODEX_HOME" for one in left):
        why = "the declaration's `setup` needs a file in the folder that this case lacks"
        raise CaseNotApplicable(f"the case {case.id} has no Codex home", why=why)
    return left


def _of_files(files: Mapping[str, bytes], values: Mapping[str, str], inside: Mapping[str, str]) -> Sequence[Entry]:
    """Returns entries for files with placeholders in their names. A name that ends in `/` is a folder."""
    entries = []
    for name, content in files.items():
        path = placeholders.shown(placeholders.fill(name, values), inside)
        top, _, rest = path.partition("/")
        if top.strip("@") not in inside or not rest.strip("/"):
            raise InputError(f"{name!r} is not in one of the private folders", next_step="@HOME@/…, @WORKSPACE@/…")
        laid = _file(top.strip("@"), rest.rstrip("/"), placeholders.fill_bytes(content, values))
        entries.append({**laid, "kind": "dir"} if name.endswith("/") else laid)
    return entries
