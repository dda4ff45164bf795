"""Planned environment: rebuilds the environment of a planned cell from its line in the journal, as far as requirements
of promises ask for it. Pure."""

from collections.abc import Iterable

from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.matrix.container_cells import BACKEND, environment_id
from pytest_codexsandbox.matrix.exclusions import ENGINE
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.container import SYNTHETIC, BwrapSpec, ContainerSpec, ImageSpec, Profile, UserSpec
from pytest_codexsandbox.model.ids import cell_id
from pytest_codexsandbox.model.journal_lines import CellRow, EnvironmentLine

LOCAL = "local"
ROOT = "root"


def environment_of(row: CellRow) -> EnvironmentSpec | None:
    """Returns the environment of a cell. None where its axes do not tell: it is of a backend that is not shipped, or
    the axes are not those of its id. A profile that is not shipped has its name alone."""
    axes = row.axes
    if is_local(row):
        return EnvironmentSpec(id=row.environment, backend=LOCAL, distro=axes["distro"], user=axes.get("user", ""))
    names = tuple(axes.get(name, "") for name in ("distro", "bwrap", "profile", "user"))
    if axes.get("engine") != ENGINE or environment_id(names) != row.environment:
        return None
    distro, bwrap, name, user = names
    profile = SHIPPED.profile(name) if knows_profile(row) else Profile(name=name, synthetic=name.startswith(SYNTHETIC))
    return EnvironmentSpec(
        id=row.environment,
        backend=BACKEND,
        distro=distro,
        user=user,
        resolver="ours",
        container=ContainerSpec(
            image=ImageSpec(name=distro), bwrap=BwrapSpec(name=bwrap), profile=profile, user=UserSpec(name=user)
        ),
    )


def knows_profile(row: CellRow) -> bool:
    """Checks whether the security profile of a cell is shipped. This machine has none."""
    return is_local(row) or row.axes.get("profile", "") in SHIPPED.values("profiles")


def is_local(row: CellRow) -> bool:
    return row.environment == cell_id(row.axes.get("distro", ""), "host", LOCAL) and "engine" not in row.axes


def another_user(spec: EnvironmentSpec, lines: Iterable[EnvironmentLine]) -> str:
    """Returns how the planned user differs from the one that the opened environments report; "" if it does not."""
    known = spec.backend == LOCAL or spec.user in SHIPPED.values("users")
    ids = [line.facts.get("uid") for line in lines] if known else []
    wrong = next((uid for uid in ids if isinstance(uid, int) and (uid == 0) != (spec.user == ROOT)), None)
    return "" if wrong is None else f"it names the user {spec.user}, and the uid there is {wrong}"
