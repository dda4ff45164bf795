"""Call settings: the environment variables of a call, and the details of its policy as values of Codex's option `-c`.

The variables are built from nothing, so that a user's own settings do not change what is measured.
"""

from collections.abc import Iterator
from typing import Final

from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.policy import Policy
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


def details_of(policy: Policy, world: World, call: Call) -> Iterator[str]:
    """Yields what makes a workspace-write wider or narrower."""
    roots = [world.fill(root) for root in (*policy.roots, *call.roots)]
    if roots:
        yield f"sandbox_workspace_write.writable_roots=[{', '.join(map(toml_text, roots))}]"
    switches = {
        "network_access": policy.network,
        "exclude_slash_tmp": policy.exclude_slash_tmp or "slash-tmp" in call.excludes,
        "exclude_tmpdir_env_var": policy.exclude_tmpdir or "tmpdir" in call.excludes,
    }
    for key, on in switches.items():
        if on:
            yield f"sandbox_workspace_write.{key}=true"


def toml_text(text: str) -> str:
    """Returns a TOML basic string: quotes, backslashes and control characters are escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    shown = (f"\\u{ord(sign):04X}" if ord(sign) < 0x20 or ord(sign) == 0x7F else sign for sign in escaped)
    return f'"{"".join(shown)}"'
