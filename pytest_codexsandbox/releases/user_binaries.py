"""User binaries: `--codex-bin [LABEL=]PATH[@AS-VERSION]` names the user's own, which are checked before anything is
started."""

import os
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.releases.platform_tag import PLATFORMS, Platform
from pytest_codexsandbox.releases.version_names import release_name

OPTION: Final = "--codex-bin"
_FORM: Final = f"{OPTION} [LABEL=]PATH[@AS-VERSION], e.g. {OPTION} mine=./target/release/codex@0.170.0"
_MACHO: Final = (
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
)


def candidate(text: str, *, base: Path | None = None) -> SubjectSpec:
    """Returns the spec that the option's value means. A relative path counts from `base` (the current folder)."""
    base = base or Path.cwd()
    label, path = _split_label(text, base)
    path, version = _split_version(path, base)
    if not path:
        raise InputError(f"{OPTION} {text!r} names no path", next_step=_FORM)
    full = Path(os.path.abspath(base / Path(path).expanduser()))  # noqa: PTH100 (links stay as they were written)
    return SubjectSpec(label=label or "candidate", path=str(full), as_version=version, source="path")


def examine(path: str, platform: Platform | None) -> str:
    """Returns the program behind `path`, links followed. InputError when it cannot be a Codex for this machine."""
    try:
        real = Path(os.path.realpath(path, strict=True))
        head = b"" if real.is_dir() else _head(real)
    except OSError as problem:
        raise _wrong(path, problem.strerror or str(problem), "check the path") from problem
    if real.is_dir():
        raise _wrong(path, "it is a folder", "name the program in it")
    if head.startswith(b"#!") and real.name == "codex.js":
        return _behind_launcher(real, platform)
    _check_head(path, head, platform)
    if not os.access(real, os.X_OK):
        raise _wrong(path, "it is not executable", f"chmod +x {path}")
    return str(real)


def _split_label(text: str, base: Path) -> tuple[str, str]:
    label, sign, rest = text.partition("=")
    if not sign or "/" in label or (base / text).exists():
        return "", text
    if not is_value(label):
        raise InputError(
            f"{label!r} cannot be the label of a binary",
            where=f"{OPTION} {text}",
            why="it becomes part of cell ids: lower-case letters, digits, `.`, `+`, `_` and `-`",
            next_step=_FORM,
        )
    return label, rest


def _split_version(path: str, base: Path) -> tuple[str, str]:
    place, sign, version = path.rpartition("@")
    if not sign or "/" in version or (base / Path(path).expanduser()).exists():
        return path, ""
    return place, release_name(version)


def _check_head(path: str, head: bytes, platform: Platform | None) -> None:
    if head.startswith(b"#!"):
        return
    if head[:4] in _MACHO:
        raise _wrong(path, "it is a macOS program", "use the Linux build")
    if head[:2] == b"MZ":
        raise _wrong(path, "it is a Windows program", "use the Linux build")
    if head[:4] != b"\x7fELF" or len(head) < 20:
        raise _wrong(path, "it is neither an ELF program nor a script", "name the `codex` program itself")
    machine = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    if platform is not None and machine != platform.machine:
        names = {known.machine: known.arch for known in PLATFORMS.values()}
        what = names.get(machine, f"another machine (e_machine {machine})")
        raise _wrong(path, f"it is built for {what}, this machine is {platform.arch}", "use a build for this machine")


def _behind_launcher(script: Path, platform: Platform | None) -> str:
    """Returns the program beside npm's `codex`, which is a Node script. The program is what is measured."""
    if platform is None:
        raise _wrong(str(script), "it is npm's launcher, and npm has no program for this machine", "name the program")
    root = script.parent.parent
    names = ("bin/codex", "codex/codex")
    homes = (root, root / "node_modules/@openai" / f"codex-{platform.npm}", root.parent / f"codex-{platform.npm}")
    places = [home / "vendor" / platform.triple / name for home in homes for name in names]
    for place in (*places, root / "bin" / f"codex-{platform.triple}"):
        if place.is_file() and os.access(place, os.X_OK):
            return str(place.resolve())
    raise _wrong(
        str(script),
        "it is npm's launcher, and no program for this machine is beside it",
        "name the `codex` program below `vendor/`",
    )


def _head(file: Path) -> bytes:
    if not file.is_file():
        raise OSError(0, "it is not a file")
    with file.open("rb") as source:
        return source.read(64)


def _wrong(path: str, why: str, next_step: str) -> InputError:
    return InputError("this is not a Codex that can run here", where=path, why=why, next_step=next_step)
