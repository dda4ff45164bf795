"""Docker command: the words of `docker create` for the same settings that the API gets. Pure.

They are made from those very settings (host_config.host_config). So a setting without a word here fails a test.
"""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pytest_codexsandbox.environments.container.host_config import WORLDS
from pytest_codexsandbox.environments.container.networks import NEIGHBOUR
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.repro_shell import FILES, NETWORK, ReproShell

Words = list[str]
FILTER: Final = "seccomp.json"
# Defaults of the command: it has no word for any other value.
_BY_ITSELF: Final[Mapping[str, object]] = {
    "Privileged": False,
    "OomScoreAdj": 0,
    "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
}


def entrance(
    image: str,
    host_config: Mapping[str, Any],
    *,
    user: str,
    hostname: str,
    archive: str = "",
    host: str = "",
    made_by: str = "",
) -> ReproShell:
    """Returns the commands that open the container by hand. `host_config`: the API's host settings
    (host_config.host_config).
    """
    filter = _filter(host_config["SecurityOpt"])
    words = [
        "--user",
        user,
        "--hostname",
        hostname,
        "--workdir",
        "/",
        "--env",
        "LC_ALL=C.UTF-8",
        *words_of(host_config),
    ]
    return ReproShell(
        image=image,
        words=tuple(words),
        home=WORLDS,
        files={FILTER: filter} if filter else {},
        archive=archive,
        host=host,
        made_by=made_by,
        neighbour="" if host_config["NetworkMode"] == "none" else NEIGHBOUR,
    )


def words_of(host_config: Mapping[str, Any]) -> Words:
    words: Words = []
    for name, value in host_config.items():
        if name in _BY_ITSELF:
            if value != _BY_ITSELF[name]:
                raise _no_word(name, value)
        elif name not in _WORDS:
            raise _no_word(name, value)
        else:
            words += _WORDS[name](value)
    return words


def _no_word(name: str, value: object) -> HarnessError:
    return HarnessError("no option of `docker create` is known for this setting", where=f"{name}: {value}")


def _each(option: str) -> Callable[[Iterable[str]], Words]:
    return lambda values: [word for value in values for word in (option, str(value))]


def _pairs(option: str, between: str) -> Callable[[Mapping[str, str]], Words]:
    return lambda values: _each(option)(f"{name}{between}{value}" for name, value in values.items())


def _mounts(mounts: Iterable[Mapping[str, Any]]) -> Words:
    return _each("--mount")(map(_mount, mounts))


def _mount(mount: Mapping[str, Any]) -> str:
    """Returns a mount as one line of CSV, as the command reads it: a folder's name may hold a comma."""
    line = io.StringIO()
    fields = [f"type={mount['Type']}", f"source={mount['Source']}", f"target={mount['Target']}"]
    csv.writer(line, lineterminator="").writerow([*fields, *(["readonly"] if mount["ReadOnly"] else [])])
    return line.getvalue()


def _security(options: Iterable[str]) -> Words:
    """Returns security options; the command needs a filter's file where the API needs its text."""
    return _each("--security-opt")(
        f"seccomp={FILES}/{FILTER}" if option.startswith("seccomp={") else option for option in options
    )


def _filter(options: Iterable[str]) -> str:
    found = (option.removeprefix("seccomp=") for option in options if option.startswith("seccomp={"))
    return next(found, "")


def _nothing_hidden(paths: list[str]) -> Words:
    if paths:
        raise _no_word("MaskedPaths", paths)
    return ["--security-opt", "systempaths=unconfined"]


_WORDS: Final[Mapping[str, Callable[[Any], Words]]] = {
    "NetworkMode": lambda mode: ["--network", mode if mode == "none" else NETWORK],
    "Mounts": _mounts,
    "Tmpfs": _pairs("--tmpfs", ":"),
    "SecurityOpt": _security,
    "CapAdd": _each("--cap-add"),
    "CapDrop": _each("--cap-drop"),
    "ReadonlyRootfs": lambda yes: ["--read-only"] if yes else [],
    "AutoRemove": lambda yes: ["--rm"] if yes else [],
    "LogConfig": lambda config: ["--log-driver", config["Type"]],
    "UsernsMode": lambda mode: ["--userns", mode] if mode else [],
    "Dns": _each("--dns"),
    "DnsSearch": _each("--dns-search"),
    "Sysctls": _pairs("--sysctl", "="),
    "MaskedPaths": _nothing_hidden,
    "ReadonlyPaths": lambda paths: [] if not paths else _nothing_hidden(paths),  # one word says both
    "PidsLimit": lambda most: ["--pids-limit", str(most)],
    "Memory": lambda most: ["--memory", str(most)],
    "MemorySwap": lambda most: ["--memory-swap", str(most)],
}
