"""The container axes of a matrix file → environments: every combination. Pure."""

from itertools import product

from pytest_codexsandbox.matrix import axes
from pytest_codexsandbox.matrix.load import Containers
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.container import ContainerSpec
from pytest_codexsandbox.model.ids import cell_id

Names = tuple[str, str, str, str]  # distro, bubblewrap, profile, user


def specs(asked: Containers, *, arch: str) -> tuple[EnvironmentSpec, ...]:
    """`arch`: of the machine that the engine runs on."""
    return tuple(spec(names, arch=arch) for names in product(asked.distros, asked.bwraps, asked.profiles, asked.users))


def spec(names: Names, *, arch: str) -> EnvironmentSpec:
    distro, bwrap, profile, user = names
    made = ContainerSpec(
        image=axes.image(distro), bwrap=axes.bwrap(bwrap), profile=axes.profile(profile), user=axes.user(user)
    )
    return EnvironmentSpec(
        id=cell_id(distro, f"bwrap-{bwrap}", profile, user), backend="docker", distro=distro, profile=profile,
        user=user, engine="docker", arch=arch, synthetic=made.profile.synthetic, bwrap=bwrap, container=made,
    )  # fmt: skip
