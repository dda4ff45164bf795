"""Commands: the words of `codexsandbox`, one module each. `cli` imports only the one that the user types.

A module has
    EXAMPLES: tuple[str, ...]                             lines to paste, shown at the end of its --help
    def add(parser: argparse.ArgumentParser) -> None      its options
    def run(options: argparse.Namespace) -> int           its exit code; it raises our errors and prints none
Its docstring's first line is its help. A new command is a module and its name here.
"""

from typing import Final

# In the order of --help: what a newcomer needs comes first.
NAMES: Final = (
    "doctor",
    "boot-check",
    "plan",
    "run",
    "generator",
    "report",
    "diagnose",
    "remedies",
    "expectations",
    "selftest",
    "capabilities",
    "cache",
    "images",
    "schema",
    "sweep",
)


def module_name(name: str) -> str:
    """Returns the module of a command: `boot-check` is in commands/boot_check.py."""
    return f"pytest_codexsandbox.commands.{name.replace('-', '_')}"
