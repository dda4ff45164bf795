"""Version names: the name of one release at npm (`0.140.0-alpha.2`), at PyPI (`0.140.0a2`) and in its own
`--version`."""

import re
from typing import Final

from packaging.version import InvalidVersion, Version

from pytest_codexsandbox.errors import InputError

_WORDS: Final = {"a": "alpha", "b": "beta", "rc": "rc"}
_SHAPE: Final = re.compile(r"\d+\.\d+\.\d+\S*")


def release_name(text: str) -> str:
    """Returns npm's form of a version, which codexsandbox uses. InputError for anything else."""
    try:
        if not _SHAPE.fullmatch(text):
            raise InvalidVersion(text)
        version = Version(text)
    except InvalidVersion:
        raise InputError(
            f"{text!r} is not the name of a Codex release",
            why="a release is called like 0.163.0",
            next_step="codexsandbox capabilities --list shows the known ones",
        ) from None
    number = ".".join(str(part) for part in version.release)
    return number if version.pre is None else f"{number}-{_WORDS[version.pre[0]]}.{version.pre[1]}"


def wheel_version(release: str) -> str:
    return str(Version(release))


def order(release: str) -> Version:
    return Version(release)
