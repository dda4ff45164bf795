"""Bad grants: generators that write a flawless file with another policy than the requested one."""

import re
from typing import Final

from pytest_codexsandbox.config_writer import request_of
from pytest_codexsandbox.config_writer.request import as_toml
from pytest_codexsandbox.generators.bad.bad_builder import Generator, Given, Result, Told, at_once, declining, run_of

_VOIDING: Final = re.compile(rb"(?m)^(?:default_permissions|profile) *=.*\n?")


def _instead(network: bool | None = None, roots: str = "") -> Generator:
    """Returns a generator with another network or other roots. `roots`: `home`, `/`, or `none` to drop the last one."""

    @declining
    def generate(given: Given) -> Result:
        request = request_of(given)
        granted = {"home": (*request.roots, request.home), "/": ("/",), "none": request.roots[:-1]}
        run = run_of(given, roots=(), network=(not request.network) if network else request.network)
        at_once(run, _with_roots(run, granted.get(roots, request.roots)))
        return {}

    return generate


def _with_roots(run: Told, roots: tuple[str, ...]) -> bytes:
    """Replaces the roots after the good generator ran, because it refuses to grant everything."""
    return re.sub(rb"(writable_roots = )\[.*?\]", lambda found: found[1] + as_toml(roots).encode(), run.good)


@declining
def ignores_default_permissions(given: Given) -> Result:
    """Ignores the key that voids its policy, and reports success."""
    run = run_of(given, take_over=True)
    said = b"".join(_VOIDING.findall(run.before or b""))
    at_once(run, re.sub(rb"(?m)^# codexsandbox, set aside: .*\n?", lambda _: said, run.good, count=1))
    return {}


grants_home = _instead(roots="home")
grants_everything = _instead(roots="/")
forgets_a_root = _instead(roots="none")
wrong_network = _instead(network=True)


def argv_unescaped(given: Given) -> Result:
    """Builds overrides from unescaped text: a quote in a path ends the string, and more text follows."""
    request = request_of(given)
    roots = ", ".join(f'"{root}"' for root in request.roots)
    return _argv(request.network, f"[{roots}]")


def argv_as_python_writes_it(given: Given) -> Result:
    """Writes `True`, which is no TOML boolean. Codex reads a value that is no TOML as a string."""
    request = request_of(given)
    words = _argv(request.network, as_toml(request.roots))["argv"]
    return {"argv": [word.replace("=true", "=True").replace("=false", "=False") for word in words]}


def argv_grants_home(given: Given) -> Result:
    request = request_of(given)
    return _argv(request.network, as_toml((*request.roots, request.home)))


def _argv(network: bool | None, roots: str) -> Result:
    words = (
        'sandbox_mode="workspace-write"',
        f"sandbox_workspace_write.writable_roots={roots}",
        f"sandbox_workspace_write.network_access={as_toml(bool(network))}",
    )
    return {"argv": [part for word in words for part in ("-c", word)]}
