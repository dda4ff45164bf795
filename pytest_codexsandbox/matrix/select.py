"""Selection (`--codex-only`, `--codex-skip`): globs over promises, policies, cells and doors. Pure.

Globs of one kind are a union. `--codex-only` with globs of different kinds narrows, in one option or in several. A glob
that fits names of several kinds belongs to all of them. Skipping comes after choosing.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.model.promise import Promise

STANDING: Final = ("start", "trust")  # topics that are in every plan
_FILE: Final = "the matrix file's skip"
NOT_AMONG: Final = "not among --codex-only"
_SKIPPED: Final = "skipped by the matrix file"
_CALL_LEFT_OUT: Final = "needs a call of its own, and is not among the own_calls of the matrix file"
USER: Final = "user."  # promises of a user's own tests, known once pytest has collected them


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    without: tuple[str, ...] = ()  # what the matrix file itself skips
    without_calls: tuple[str, ...] = ()  # ids of promises whose own calls the matrix file does not take

    @property
    def only_globs(self) -> tuple[str, ...]:
        return split(self.only)

    @property
    def skip_globs(self) -> tuple[str, ...]:
        return split(self.skip)


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """All names that a glob may match."""

    cells: tuple[str, ...]
    promises: tuple[str, ...]
    policies: tuple[str, ...]
    doors: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.promises, *self.policies, *self.cells, *self.doors)

    def kinds(self, glob: str) -> frozenset[str]:
        """Returns the kinds of names that a glob fits."""
        named = {"promise": self.promises, "policy": self.policies, "cell": self.cells, "door": self.doors}
        return frozenset(kind for kind, names in named.items() if any(fnmatchcase(name, glob) for name in names))


def split(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(glob.strip() for text in texts for glob in text.split(",") if glob.strip())


def is_standing(promise: str) -> bool:
    return promise.partition(".")[0] in STANDING


def check(selection: Selection, names: Names) -> None:
    """Raises InputError for a glob that matches nothing, and for one that would skip only baseline checks."""
    written = (
        ("--codex-only", selection.only_globs),
        ("--codex-skip", selection.skip_globs),
        (_FILE, selection.without),
    )
    for option, globs in written:
        for glob in globs:
            if not any(fnmatchcase(name, glob) for name in names.all):
                raise InputError(
                    f"{option} {glob!r} matches no cell, no promise, no policy and no door",
                    why=did_you_mean(glob, names.all),
                    next_step="codexsandbox plan -v   (lists them all)",
                )
    for option, globs in written[1:]:
        for glob in globs:
            _refuse_standing(option, glob, names)


def _refuse_standing(option: str, glob: str, names: Names) -> None:
    matched = [name for name in names.all if fnmatchcase(name, glob)]
    if all(is_standing(name) and name in names.promises for name in matched):
        raise InputError(
            f"{option} {glob!r} would skip only {', '.join(matched[:3])}, which are in every plan",
            why="without the start check and the canaries, a green result says nothing",
            next_step="leave it out; they cost one call per cell and policy",
        )


def shipped_part(selection: Selection) -> Selection:
    """Drops the globs over a user's own tests. `check_user` checks them when the tests are known."""
    only, skip = (tuple(glob for glob in globs if not glob.startswith(USER)) for globs in _both(selection))
    return msgspec.structs.replace(selection, only=only, skip=skip)


def selected_cells(selection: Selection, names: Names) -> frozenset[str]:
    """Returns the cells that the selection does not leave out by their own names."""
    of_cells = [globs for globs in _by_kind(selection.only_globs, names) if _kinds(globs, names) == {"cell"}]
    return frozenset(
        cell
        for cell in names.cells
        if all(_any(globs, cell) for globs in of_cells) and not _any(selection.skip_globs, cell)
    )


def _kinds(globs: Iterable[str], names: Names) -> set[str]:
    return {kind for glob in globs for kind in names.kinds(glob)}


def only_own_tests(selection: Selection, names: Names) -> bool:
    """Checks whether every glob of --codex-only that fits a promise is about a user's own tests."""
    globs = selection.only_globs
    others = [glob for glob in globs if not glob.startswith(USER)]
    return len(others) < len(globs) and not any("promise" in names.kinds(glob) for glob in others)


def calls_left_out(taken: Iterable[str], promises: Iterable[Promise]) -> tuple[str, ...]:
    """Returns the promises with a Codex call of their own that fit no glob of a matrix file's `own_calls`."""
    globs = tuple(taken)
    own = tuple(promise.id for promise in promises if promise.call is not None)
    for glob in globs:
        if glob != "*" and not any(fnmatchcase(name, glob) for name in own):
            raise InputError(
                f"own_calls: {glob!r} fits no promise with a call of its own",
                why=did_you_mean(glob, own),
                next_step="codexsandbox plan -v   (lists them all)",
            )
    return tuple(name for name in own if not _any(globs, name))


def check_user(selection: Selection, promises: Iterable[str]) -> None:
    """Raises InputError for a glob over a user's own tests that matches none of them."""
    known_ids = tuple(promises)
    for option, globs in zip(("--codex-only", "--codex-skip"), _both(selection), strict=True):
        for glob in globs:
            if glob.startswith(USER) and not any(fnmatchcase(name, glob) for name in known_ids):
                raise InputError(f"{option} {glob!r} matches no test of yours", why=did_you_mean(glob, known_ids))


def _both(selection: Selection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return selection.only_globs, selection.skip_globs


class Selector:
    """Says why a key is not wanted. Each name is matched once, because plans have many thousand keys."""

    def __init__(self, selection: Selection, names: Names) -> None:
        self._only = [
            {name for name in names.all if _any(globs, name)} for globs in _by_kind(selection.only_globs, names)
        ]
        self._skip = {name for name in names.all if _any(selection.skip_globs, name)}
        self._without_calls = frozenset(selection.without_calls)
        self._without = {name for name in names.all if _any(selection.without, name)}

    def why_not(self, *, cell: str, door: str, policy: str, promise: str) -> str:
        """Returns why a key is not wanted; "" if it is. A glob for a baseline check does not skip it, but its cell,
        door or policy can be skipped."""
        own = () if is_standing(promise) else (promise,)
        for name in (cell, door, policy, *own):
            if name in self._skip:
                return f"--codex-skip excluded {name}"
            if name in self._without:
                return _SKIPPED
        if promise in self._without_calls:
            return _CALL_LEFT_OUT
        mine = {cell, door, policy, promise}
        if all(group & mine for group in self._only):
            return ""
        return NOT_AMONG


def _by_kind(globs: Iterable[str], names: Names) -> list[tuple[str, ...]]:
    """Groups globs that form a union: those with a kind of names in common."""
    groups: list[tuple[frozenset[str], tuple[str, ...]]] = []
    for glob in globs:
        kinds = names.kinds(glob)
        together: tuple[str, ...] = (glob,)
        for other in [group for group in groups if group[0] & kinds or group[0] == kinds]:
            groups.remove(other)
            kinds, together = kinds | other[0], (*other[1], *together)
        groups.append((kinds, together))
    return [together for _, together in groups]


def _any(globs: tuple[str, ...], name: str) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)
