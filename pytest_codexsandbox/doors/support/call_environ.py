"""Environment variables of a call: built from nothing, so that a user's own settings do not change what is measured."""

from typing import Final

from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.world import World

SEARCH_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def surroundings(world: World, call: Call) -> dict[str, str]:
    """Returns every variable of the call; `call.env` overrides the others."""
    built = {
        "PATH": SEARCH_PATH,
        "HOME": world.values["HOME"],
        "CODEX_HOME": world.values["CODEX_HOME"],
        "TMPDIR": world.values["TMPDIR"],
        "LANG": "C.UTF-8",
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/sh",
        "TERM": "dumb",
    }
    return built | {name: world.fill(value) for name, value in call.env.items()}
