"""Measures every profile with a real engine, for docs/reference/profiles.md and the test over all pairs of profiles.

python -m tools.profiles_measured                      every profile that this machine's engine can have
python -m tools.profiles_measured NAME...              some, the others stay as they were measured
python -m tools.profiles_measured --own-engine NAME    in an engine that is started with --userns-remap
"""

import argparse
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from pytest_codexsandbox.environments.container.config_verification import expected, flat
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.environment import ContainerEnvironment
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.command import CommandResult
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.registry import cache_folder
from tests.docker.engine_builders import own_engine
from tests.docker.profile_builders import NETWORK_ON, PROGRAMS, opened, profiled, run, sandboxed
from tests.fakes.machine import installed_codex
from tests.lint.profiles_data import MEASURED, USERS, Everything, Measured, Result, load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of profiles")
    parser.add_argument("--own-engine", action="store_true", help="one with user namespaces, for this run")
    asked = parser.parse_args()
    remapped = {name for name in SHIPPED.values("profiles") if SHIPPED.profile(name).userns}
    names = asked.names or sorted(set(SHIPPED.values("profiles")) - remapped)
    before = load().measured if MEASURED.is_file() else ()
    kept = {(one.profile, one.user): one for one in before if one.profile in SHIPPED.values("profiles")}
    with ExitStack() as stack:
        host = stack.enter_context(own_engine(userns=True)).host if asked.own_engine else ""
        machine: dict[str, str] = {}
        for name in names:
            for user in USERS:
                kept[name, user], machine = _measure(name, user, host)
                print(name, user, {what: one.exit for what, one in kept[name, user].results.items()})
    found = Everything(machine=machine, measured=tuple(kept[key] for key in sorted(kept)))
    MEASURED.parent.mkdir(parents=True, exist_ok=True)
    MEASURED.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


def _measure(name: str, user: str, host: str) -> tuple[Measured, dict[str, str]]:
    spec = msgspec.structs.replace(profiled(name, user), engine_host=host)
    codex = installed_codex(cache_folder())
    with tempfile.TemporaryDirectory() as folder, opened(spec, Path(folder), codex=codex) as environment:
        facts = flat(environment.facts())
        with Engine(host) as engine:
            machine = _machine(facts, engine.about(), codex)
        results = _results(environment, codex)
    watched = {fact for other in SHIPPED.values("profiles") for fact in expected(profiled(other, user))}
    return Measured(
        profile=name, user=user, facts={name: facts[name] for name in sorted(watched)}, results=results
    ), machine


def _machine(facts: Mapping[str, str], about: Mapping[str, Any], codex: Subject) -> dict[str, str]:
    return {
        "kernel": facts["kernel"].partition("-")[0],
        "distro": facts["distro_name"],
        "bwrap": facts["bwrap.version"],
        "apparmor": facts["apparmor_profile"],
        "engine": f"Docker {about['EngineVersion']}",
        "codex": codex.capabilities.version,
    }


def _results(environment: ContainerEnvironment, codex: Subject) -> dict[str, Result]:
    done = {what: run(environment, *argv) for what, argv in PROGRAMS.items()}
    done["codex"] = sandboxed(environment, codex, "true")
    done["codex, network on"] = sandboxed(environment, codex, "true", more=NETWORK_ON)
    return {what: Result(one.exit if one.ended == "exit" else None, _said(one)) for what, one in done.items()}


def _said(done: CommandResult) -> str:
    return done.stderr.decode("utf-8", "replace").strip()[:600] if done.exit else ""


if __name__ == "__main__":
    main()
