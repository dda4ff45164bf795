"""Doctor of containers: an engine that answers, images that stand ready, and a sandbox that starts in one of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.image_rows import image_rows
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.model.doctor_finding import DoctorFinding
from pytest_codexsandbox.model.image_status import ImageRow

_MAKE: Final = "codexsandbox images build debian-bookworm"


def about(host: str = "") -> Mapping[str, str]:
    """Returns the kernel and the version of an engine, the version by the engine's name."""
    with Engine(host) as engine:
        info = engine.about()
        name = "Podman" if engine.podman else "Docker"
    return {"kernel": str(info.get("KernelVersion", "")), name: str(info.get("EngineVersion", ""))}


def findings(
    specs: Sequence[EnvironmentSpec], cache: Path, starts: Callable[[EnvironmentSpec], DoctorFinding] | None
) -> Iterator[DoctorFinding]:
    """Yields what the usual engine has; tries a sandbox in the first environment whose image stands ready."""
    images = [spec.container.image for spec in specs if spec.container is not None]
    try:
        with Engine() as engine:
            yield engine_finding(engine.about(), engine.host)
            rows = image_rows(images, cache, Images(engine, cache))
    except CodexSandboxError as error:
        why = "; ".join(filter(None, (error.what, error.why)))
        yield DoctorFinding(what="containers", answer="no", why=why, fix=error.next_step)
        return
    yield images_finding(rows)
    ready = first_ready(specs, images, rows)
    if ready is not None and starts is not None:
        yield starts(ready)


def first_ready(
    specs: Sequence[EnvironmentSpec], images: Sequence[ImageSpec], rows: Sequence[ImageRow]
) -> EnvironmentSpec | None:
    """Returns the first environment whose image with the distribution's own bubblewrap is there."""
    there = {row.name for row in rows if any(one.image and one.bwrap == "distro" for one in row.variants)}
    return next((spec for spec, image in zip(specs, images, strict=True) if image.name in there), None)


def engine_finding(info: dict[str, Any], host: str) -> DoctorFinding:
    names = [str(part.get("Name", "")) for part in info["Components"]]
    name = "Podman" if any("podman" in one.lower() for one in names) else "Docker"
    return DoctorFinding(what="containers", answer="yes", why=f"{name} {info['EngineVersion']} at {host}")


def images_finding(rows: Sequence[ImageRow]) -> DoctorFinding:
    """Counts the distributions by state; `codexsandbox images list` says why one is unavailable."""
    by_state = {
        state: [row.name for row in rows if row.state == state] for state in ("ready", "in part", "to make", "not had")
    }
    ready = by_state["ready"] + by_state["in part"]
    parts = [f"ready: {', '.join(ready)}"] if ready else []
    parts += [f"built on demand: {len(by_state['to make'])}"] if by_state["to make"] else []
    parts += (
        [f"not available here: {len(by_state['not had'])} (codexsandbox images list)"] if by_state["not had"] else []
    )
    return DoctorFinding(what="images", answer="yes" if ready else "no", why="; ".join(parts), fix=_MAKE)
