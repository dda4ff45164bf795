"""Fake Codex: takes the command line of `codex sandbox`, and keeps or breaks its promises as requested.

    PYTHON -I -S fake_codex.py '{"conduct": "restrained", "flaws": ["socket:INET"]}' [OPTIONS] sandbox [OPTIONS] CMD…

It is an `app-server` and an `exec` as well (fake_doors.py). `conduct` selects how it runs the command: `restrained`
runs the probe under restrained_probe.py and any other command unchanged; DOING lists the others. A flaw changes one
thing. restraint.py implements flaws of files, sockets and databases; fake_call.py and this module implement the rest. A
probe is recognised by its argv. The program runs with only the files beside it: standard library only, Python 3.9 or
newer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, NoReturn  # noqa: UP035

if TYPE_CHECKING:
    from pytest_codexsandbox.guest import fake_doors, world_flaws
    from pytest_codexsandbox.guest.fake_call import (
        AlteringPipe,
        Call,
        become,
        end_descendants,
        is_probe,
        wait_for,
        write_all,
    )
else:  # started as a file: the files beside it are modules
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import fake_doors
    import world_flaws
    from fake_call import AlteringPipe, Call, become, end_descendants, is_probe, wait_for, write_all

VERSION = "codex-cli 0.0.0\n"
HELP = """Codex CLI

Usage: codex [OPTIONS] [PROMPT]
       codex [OPTIONS] <COMMAND> [ARGS]

Commands:
  exec        Run Codex non-interactively
  app-server  Run the app server
  sandbox     Run commands within a Codex-provided sandbox
  features    Inspect feature flags
  help        Print this message or the help of the given subcommand(s)

Options:
  -c, --config <key=value>  Override a configuration value
  -h, --help                Print help
  -V, --version             Print version
"""
SANDBOX_HELP = """Run commands within a Codex-provided sandbox

Usage: codex sandbox [OPTIONS] [COMMAND]...

Arguments:
  [COMMAND]...  Full command args to run under the Linux sandbox

Options:
  -c, --config <key=value>         Override a configuration value
      --enable <FEATURE>           Enable a feature (repeatable)
      --disable <FEATURE>          Disable a feature (repeatable)
  -P, --permission-profile <NAME>  Named permissions profile to apply
  -C, --cd <DIR>                   Working directory used for command execution
  -h, --help                       Print help
"""
OTHER_HELP = """Usage: codex {} [OPTIONS]

Options:
  -c, --config <key=value>  Override a configuration value
  -h, --help                Print help
"""
SUBCOMMANDS = ("sandbox", "app-server", "exec", "features")
FEATURES = "shell_snapshot  stable  true\n"
ALONE = ("--json", "--skip-git-repo-check")  # options of `exec` without a value
WITH_VALUE = ("-c", "--config", "--enable", "--disable", "-P", "--permission-profile", "-C", "--cd", "-s", "--sandbox")
UNKNOWN = "Error: this stand-in for Codex knows `sandbox`, `app-server`, `exec` and `features` only\n"
MODES = ("read-only", "workspace-write", "danger-full-access")
PROFILES = {":read-only": MODES[0], ":workspace": MODES[1], ":danger-full-access": MODES[2]}


def end(code: int, text: str) -> NoReturn:
    os.write(2 if code else 1, text.encode())
    raise SystemExit(code)


class Asked:
    """Command line of the fake Codex, parsed as Codex reads it."""

    def __init__(self, words: list[str]) -> None:
        self.options: dict[str, Any] = {}
        self.subcommand, self.folder = "", ""
        self.command: list[str] = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if self.subcommand and not word.startswith("-"):
                self.command = [word, *rest]
                return
            if self.subcommand and word == "--":
                self.command = rest
                return
            self._option(word, rest) if word.startswith("-") else self._subcommand(word)

    def _subcommand(self, word: str) -> None:
        if word not in SUBCOMMANDS:
            end(1, UNKNOWN)
        self.subcommand = word

    def _option(self, word: str, rest: list[str]) -> None:
        name, equals, value = word.partition("=")
        if name in ("-h", "--help"):
            end(0, {"": HELP, "sandbox": SANDBOX_HELP}.get(self.subcommand, OTHER_HELP.format(self.subcommand)))
        if name in ("-V", "--version"):
            end(0, VERSION)
        if self.subcommand == "exec" and word in ALONE:
            return
        if name not in WITH_VALUE or not (equals or rest):
            end(2, f"error: unexpected argument '{word}' found\n\nFor more information, try '--help'.\n")
        value = value if equals else rest.pop(0)
        if name in ("-c", "--config"):
            key, _, text = value.partition("=")
            self.options[key.strip()] = value_of(text.strip())
        elif name in ("-s", "--sandbox"):
            self.options["sandbox_mode"] = value
        elif name in ("-P", "--permission-profile"):
            self.options["sandbox_mode"] = PROFILES.get(value, value)
        elif name in ("-C", "--cd"):
            self.folder = value

    def under_a_file(self) -> None:
        """Adds the settings of the file that the command line does not set.

        As in Codex, `app-server` starts with a broken file as with none, and reports it when it is asked.
        """
        try:
            self.options = {**fake_doors.of_the_file(), **self.options}
        except fake_doors.Broken as broken:
            if self.subcommand == "exec":
                end(1, f"Error: {broken}\n")

    def policy(self, *, believes: tuple[str, ...] = ()) -> dict[str, Any]:
        mode = self.options.get("sandbox_mode", MODES[0])
        hostile = os.path.exists(".codex/config.toml")
        if hostile and "project:believed" in believes:
            mode = MODES[2]
        if mode not in MODES:
            end(1, f"Error: unknown variant `{mode}`, expected one of `{'`, `'.join(MODES)}`\nin `sandbox_mode`\n")
        return {
            "mode": mode,
            "cwd": os.getcwd(),
            "roots": [os.path.abspath(root) for root in self._detail("writable_roots") or []],
            "network": self._detail("network_access") is True or (hostile and "project:network" in believes),
            "exclude_slash_tmp": self._detail("exclude_slash_tmp") is True,
            "exclude_tmpdir": self._detail("exclude_tmpdir_env_var") is True,
            "tmpdir": os.environ.get("TMPDIR", ""),
            "home": os.environ.get("HOME", ""),
        }

    def _detail(self, key: str) -> Any:
        return self.options.get("sandbox_workspace_write." + key)


def value_of(text: str) -> Any:
    """Parses TOML as far as overrides need it: a string, a boolean, a list of strings; else the raw text, as in
    Codex.
    """
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text


# ---- ways of doing


def restrained(call: Call) -> int:
    """Behaves like a correct sandbox, and like every mutant of one."""
    if any(flaw.startswith(("output:", "stdin:", "stderr:cut")) for flaw in call.flaws):
        return AlteringPipe(call).run()
    return call.run()


def unconfined(call: Call) -> int:
    become(call.command, dict(os.environ))


def says_nothing(call: Call) -> int:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    return call.run()


def hangs(call: Call) -> int:
    while True:
        time.sleep(60)


def talks_garbage(call: Call) -> int:
    nonce = call.command[4] if is_probe(call.command) else "0"
    for text in ('{"ready": 5}', "[1, 2", '{"row": null}', '{"row": {"act": 7, "ok": "yes"}}', '{"done": "many"}'):
        write_all(1, f"\x1ecx:{nonce}:{text}\n".encode())
    write_all(1, bytes(range(256)))
    return 0


def talks_prose(call: Call) -> int:
    write_all(1, b"sh: 1: cannot create file: Read-only file system\n")
    write_all(2, b"Permission denied\nOperation not permitted (os error 1)\n")
    return 1


def crashes(call: Call) -> int:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)
    return 139


def does_it_late(call: Call) -> int:
    """Answers like a correct sandbox, and lets everything through after the last answer."""
    code = call.run()
    if is_probe(call.command):
        unrestrained(call)
    return code


def unrestrained(call: Call) -> None:
    source, sink = os.pipe()
    os.write(sink, b"go\n")
    os.close(sink)
    child = os.fork()
    if not child:
        nothing = os.open(os.devnull, os.O_WRONLY)
        for handle, place in ((source, 0), (nothing, 1), (nothing, 2)):
            os.dup2(handle, place)
        become(call.command, call.environment)
    os.close(source)
    wait_for(child)
    end_descendants()


def stops_half_way(call: Call) -> int:
    if is_probe(call.command):
        AlteringPipe(call, rows=max(1, len(call.acts()) // 2)).run()
    return 0


def does_it_twice(call: Call) -> int:
    call.run()
    source, sink = os.pipe()
    os.close(sink)
    os.dup2(source, 0)
    return call.run()


def one_at_a_time(call: Call) -> int:
    """Refuses to work during another call, like a program with an unguarded, shared state."""
    import fcntl

    handle = os.open(call.launcher, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        end(1, "Error: the state of another call is in the way\n")
    return call.run()


DOING: dict[str, Callable[[Call], int]] = {
    "restrained": restrained,
    "unconfined": unconfined,
    "exit-0": lambda call: 0,
    "exit-1": lambda call: 1,
    "silent": says_nothing,
    "hang": hangs,
    "garbage": talks_garbage,
    "prose": talks_prose,
    "crash": crashes,
    "liar": restrained,  # restrained_probe.py lies, so that a process exists to be inspected
    "wrong-nonce": restrained,
    "late": does_it_late,
    "half": stops_half_way,
    "twice": does_it_twice,
    "one-at-a-time": one_at_a_time,
}


def shown_code(code: int, flaws: frozenset[str]) -> int:
    """Returns the exit code as the caller gets it."""
    if "exit:swallowed" in flaws:
        return 0
    if ("exit:one" in flaws and code) or "exit:failure" in flaws:
        return 1
    if "exit:swapped" in flaws and code in (1, 2):
        return 3 - code
    if "exit:above-128" in flaws and code > 128:
        return 1
    if "exit:signal" in flaws and code > 128:
        return code - 128
    return code


def main(words: list[str]) -> None:
    subject, asked = json.loads(words[0]), Asked(words[1:])
    if not asked.subcommand:
        end(1, UNKNOWN)
    if asked.subcommand == "features":
        end(0, FEATURES)
    if asked.subcommand != "sandbox":
        asked.under_a_file()
    policy = asked.policy(believes=tuple(subject["flaws"]))
    conduct = "unconfined" if f"unconfined:{asked.subcommand}" in subject["flaws"] else subject["conduct"]

    def perform(command: list[str]) -> int:
        call = Call(command, dict(policy), subject, folder=asked.folder)
        return shown_code(DOING[conduct](call), call.flaws)

    if asked.subcommand == "app-server":
        fake_doors.serve(asked.options, policy, perform)
    elif asked.subcommand == "exec":
        if asked.options.get("features.shell_snapshot") is True:
            outside = os.path.join(os.path.dirname(policy["cwd"]), "documents")
            world_flaws.take_snapshot(subject["flaws"], outside=outside)
        fake_doors.turn(asked.options, perform)
    elif not asked.command:
        end(1, "Error: sandbox command must not be empty\n")
    else:
        raise SystemExit(perform(asked.command))


if __name__ == "__main__":
    main(sys.argv[1:])
