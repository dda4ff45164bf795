"""Repro shell: how a user with nothing but a shell enters an environment equal to one of a run."""

from typing import Final

import msgspec

FILES: Final = "@FILES@"  # in a word: the folder that the files were written to
NETWORK: Final = "@NETWORK@"  # a word: the name of a network without a way out, made for this one visit


class ReproShell(msgspec.Struct, frozen=True, kw_only=True):
    """Container of a repro: the options of `docker create`, and what must exist before and after it."""

    image: str
    made_by: str = ""  # the command that makes the image where it is missing
    words: tuple[str, ...]  # options of `docker create`
    home: str  # a folder inside that the entering user may write to
    files: dict[str, str] = {}  # name → text: what the words name below FILES
    archive: str = ""  # a tar of this machine, unpacked at / before the start
    host: str = ""  # the engine's address, where it is not the one that the docker command would use
    neighbour: str = ""  # the name of another container in the network
