"""Process tools of the environment contract: small programs with generous time limits."""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Environment

GENEROUS: Final = 120.0  # a loaded machine must not look like a broken environment
PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@contextmanager
def fresh(environment: Environment) -> Iterator[World]:
    world = environment.world()
    try:
        yield world
    finally:
        environment.clear(world)


def shell(world: World, script: str, **changes: Any) -> Command:
    words: dict[str, Any] = {"cwd": world.values["WORKSPACE"], "env": {"PATH": PATH}, "timeout": GENEROUS}
    return Command(argv=("/bin/sh", "-c", script), **{**words, **changes})


def python(world: World, script: str, *words: str, **changes: Any) -> Command:
    """Returns a command that runs a script with the environment's own Python."""
    start = ("-I", "-S", "-c", textwrap.dedent(script), *words)
    base: dict[str, Any] = {"cwd": world.values["WORKSPACE"], "env": {"PATH": PATH}, "timeout": GENEROUS}
    return Command(argv=(world.values["PYTHON"], *start), **{**base, **changes})


def sh(environment: Environment, script: str, **changes: Any) -> CommandResult:
    with fresh(environment) as world:
        return environment.run(shell(world, script, **changes))


def processes_with(environment: Environment, word: str) -> list[str]:
    """Returns the command lines that contain the word, as seen inside the environment."""
    script = """
        import os, sys
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                line = open("/proc/%s/cmdline" % pid, "rb").read()
            except OSError:
                continue
            if sys.argv[1].encode() in line and pid != str(os.getpid()):
                print(pid, line)
    """
    with fresh(environment) as world:
        # The word is split in two, so that the search does not find itself.
        done = environment.run(
            python(world, script.replace("sys.argv[1]", "(sys.argv[1] + sys.argv[2])"), word[:4], word[4:])
        )
    assert done.ended == "exit", done
    assert done.exit == 0, done
    return done.stdout.decode().splitlines()
