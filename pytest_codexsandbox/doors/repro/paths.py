"""Words of a shell script in which the folders of a recorded world have become those of the script. Pure."""

import re
import shlex
from collections.abc import Sequence

from pytest_codexsandbox.model.world import World

FOLDERS = ("HOME", "CODEX_HOME", "WORKSPACE", "OUTSIDE", "ROOT0", "SIBLING")


class Paths:
    """`"$W"` stands for the world's folder, `"$T"` for the folder of temporary files, `"$HIDDEN"` for a program that no
    sandbox sees."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._variables = {world.folder.rstrip("/"): '"$W"', world.values["TMPDIR"].rstrip("/"): '"$T"'}
        if "HIDDEN" in world.values:  # not in a journal of an earlier version
            self._variables[world.values["HIDDEN"]] = '"$HIDDEN"'
        longest = sorted(self._variables, key=len, reverse=True)
        self._known = re.compile(f"({'|'.join(map(re.escape, longest))})(?![A-Za-z0-9_.-])")

    def word(self, text: str) -> str:
        """`text` as one word of the shell."""
        pieces = self._known.split(text)
        return "".join(self._variables.get(piece) or (shlex.quote(piece) if piece else "") for piece in pieces) or "''"

    def words(self, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self.word, texts))

    def marked(self, text: str) -> str:
        """`text` with `@W@` and `@T@` where the script has its own folders."""
        return self._known.sub(lambda found: self._variables[found[1]].replace('"$', "@").replace('"', "@"), text)

    def shown(self, text: str) -> str:
        """`text` for a reader: `$W/outside` and not where that was."""
        return self._known.sub(lambda found: self._variables[found[1]].strip('"'), text)

    def folders(self) -> tuple[str, ...]:
        """Returns the world's folders as words of the shell; they must exist before any file is created."""
        return self.words([self.world.values[name] for name in FOLDERS if name in self.world.values])


def remark(text: str) -> str:
    """One line of comment: nothing in it can end the line."""
    return "# " + "".join(sign if sign.isprintable() else "?" for sign in text)[:300]
