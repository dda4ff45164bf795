"""Paths: words of a shell script, with the folders of a recorded world replaced by the script's own. Pure."""

import re
import shlex
from collections.abc import Sequence

from pytest_codexsandbox.model.world import World

FOLDERS = ("HOME", "CODEX_HOME", "WORKSPACE", "OUTSIDE", "ROOT0", "SIBLING")


class Paths:
    """Replaces folders: `"$W"` is the world's folder, `"$T"` the folder of temporary files, `"$HIDDEN"` a program that
    no sandbox sees.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._variables = {world.folder.rstrip("/"): '"$W"', world.values["TMPDIR"].rstrip("/"): '"$T"'}
        if "HIDDEN" in world.values:  # not in a journal of an earlier version
            self._variables[world.values["HIDDEN"]] = '"$HIDDEN"'
        longest = sorted(self._variables, key=len, reverse=True)
        self._known = re.compile(f"({'|'.join(map(re.escape, longest))})(?![A-Za-z0-9_.-])")

    def word(self, text: str) -> str:
        """Returns `text` as one word of the shell."""
        pieces = self._known.split(text)
        return "".join(self._variables.get(piece) or (shlex.quote(piece) if piece else "") for piece in pieces) or "''"

    def words(self, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self.word, texts))

    def marked(self, text: str) -> str:
        """Returns `text` with `@W@` and `@T@` in place of the script's own folders."""
        return self._known.sub(lambda found: self._variables[found[1]].replace('"$', "@").replace('"', "@"), text)

    def shown(self, text: str) -> str:
        """Returns `text` for a reader: `$W/outside` in place of the real path."""
        return self._known.sub(lambda found: self._variables[found[1]].strip('"'), text)

    def folders(self) -> tuple[str, ...]:
        """Returns the world's folders as words of the shell; they must exist before any file is created."""
        return self.words([self.world.values[name] for name in FOLDERS if name in self.world.values])


def remark(text: str) -> str:
    """Returns one line of comment; no character of the text can end the line."""
    return "# " + "".join(sign if sign.isprintable() else "?" for sign in text)[:300]
