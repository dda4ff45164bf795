"""What this machine has for containers: an engine that answers, images, and a sandbox that starts in one of them."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from pytest_codexsandbox.commands.doctor_findings import Finding, words
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.matrix.axis_files import DISTROS, SHIPPED
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.container import ContainerSpec
from pytest_codexsandbox.registry import cache_folder

PROFILE: Final = "seccomp-unconfined-systempaths"  # in which nothing stands in a sandbox's way
_BWRAP, _USER = "as-chosen", "root"
_DOCKER: Final = "pip install 'pytest-codexsandbox[docker]'"
_MAKE: Final = "codexsandbox images build debian-bookworm"


def findings(starts: Callable[[EnvironmentSpec], Finding] | None) -> Iterator[Finding]:
    """`starts`: tries a sandbox in an environment; None where there is no Codex to try it with."""
    try:
        from pytest_codexsandbox.commands.images_table import rows
        from pytest_codexsandbox.environments.container.engine import Engine
        from pytest_codexsandbox.environments.container.images import Images

        with Engine() as engine:
            yield of_engine(engine.about(), engine.host)
            found = rows(SHIPPED.values(DISTROS), cache_folder(), Images(engine, cache_folder()))
    except ImportError:
        yield Finding(what="containers", answer="no", why="the Python package of containers is missing", fix=_DOCKER)
        return
    except CodexSandboxError as error:
        yield Finding(what="containers", answer="no", why=words(error), fix=error.next_step)
        return
    yield of_images(found)
    ready = [row.name for row in found if any(one.image and one.bwrap == "distro" for one in row.variants)]
    if ready and starts is not None:
        yield starts(environment(ready[0]))


def of_engine(about: dict[str, Any], host: str) -> Finding:
    names = [str(part.get("Name", "")) for part in about["Components"]]
    name = "Podman" if any("podman" in one.lower() for one in names) else "Docker"
    return Finding(what="containers", answer="yes", why=f"{name} {about['EngineVersion']} at {host}")


def of_images(rows: tuple[Any, ...]) -> Finding:
    """Which distributions stand ready; one that cannot be had is told by `codexsandbox images list`."""
    by_state = {
        state: [row.name for row in rows if row.state == state] for state in ("ready", "in part", "to make", "not had")
    }
    ready = by_state["ready"] + by_state["in part"]
    told = [f"ready: {', '.join(ready)}"] if ready else []
    told += [f"to make when they are wanted: {len(by_state['to make'])}"] if by_state["to make"] else []
    told += (
        [f"not to be had here: {len(by_state['not had'])} (codexsandbox images list)"] if by_state["not had"] else []
    )
    return Finding(what="images", answer="yes" if ready else "no", why="; ".join(told), fix=_MAKE)


def environment(distro: str) -> EnvironmentSpec:
    made = ContainerSpec(
        image=SHIPPED.image(distro),
        bwrap=SHIPPED.bwrap(_BWRAP),
        profile=SHIPPED.profile(PROFILE),
        user=SHIPPED.user(_USER),
    )
    return EnvironmentSpec(
        id=f"{distro}~bwrap-{_BWRAP}~{PROFILE}~{_USER}",
        backend="docker",
        distro=distro,
        profile=PROFILE,
        user=_USER,
        arch=this_machine().arch,
        bwrap=_BWRAP,
        container=made,
    )
