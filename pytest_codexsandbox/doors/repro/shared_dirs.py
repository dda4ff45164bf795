"""The folders that a repro script shares with everybody: whose turn it is there, and what is taken away afterwards."""

import shlex
from collections.abc import Mapping
from typing import Final

import msgspec

from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.world import World

LOCK: Final = "8"  # the descriptor of the lock; Codex does not inherit it
TURN: Final = f"""\
# Calls of Codex that share /tmp disturb each other: they take turns. This script removes what it leaves there.
exec {LOCK}< /tmp
"$PY" -c 'import fcntl; fcntl.flock({LOCK}, fcntl.LOCK_EX | fcntl.LOCK_NB)' 2> /dev/null || {{
  echo 'waiting for another run that shares /tmp' >&2
  "$PY" -c 'import fcntl; fcntl.flock({LOCK}, fcntl.LOCK_EX)'
}}
for one in /tmp/.git /tmp/.agents /tmp/.codex /tmp/.aws "/tmp/codex-daemon-$(id -u)"; do
  [ -e "$one" ] || [ -L "$one" ] || new="$new $one"
done"""
TAKE_AWAY: Final = """\
take_away() {  # removes the empty folders and files of Codex, and everything of this script
  for one in $others; do kill "$one" 2>/dev/null; done
  for one in $new; do
    rmdir "$one" 2>/dev/null || [ -L "$one" ] || [ ! -f "$one" ] || [ -s "$one" ] || rm -f "$one"
  done
  chmod -R u+w "$R" 2>/dev/null; rm -rf "$R\""""


def take_away(acts: Mapping[str, Act], world: World) -> str:
    """Returns the shell function that the script ends with. Names in shared folders contain the recorded world's
    name.
    """
    encoded = msgspec.json.encode(acts).decode()
    places = (f"{world.values.get(place, '')}/tmp-{world.id}-" for place in ("TMP", "SHM"))
    named = "".join(f" {shlex.quote(place)}*" for place in places if place in encoded)
    return f"{TAKE_AWAY}{named}\n}}"
