"""Repository files: what makes git obey a folder. No such file of a generator reaches the workspace of a Codex call.

Codex runs git there, outside its sandbox, and a repository's settings name programs that git starts. A generator is
confined, and must not get a program to run outside its confinement that way.
"""

from typing import Final

_WORKSPACE: Final = "@WORKSPACE@/"
_BARE: Final = "HEAD"  # without it a folder is no bare repository


def steers_git(path: str) -> bool:
    """Checks whether git would read the file, by its placeholder path, from inside the workspace."""
    parts = path.split("/")
    return any(part.casefold() == ".git" for part in parts) or path == f"{_WORKSPACE}{_BARE}"
