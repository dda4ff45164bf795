"""Platform tags: the names of this machine that publishers of Codex use."""

import platform
import sys
from typing import Final

import msgspec

from pytest_codexsandbox.errors import Unavailable


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    arch: str  # as the kernel says it
    triple: str  # the folder inside an npm package
    npm: str  # the suffix of npm's version
    wheels: tuple[str, ...]  # pip's platform tags
    machine: int  # e_machine in the head of an ELF file


_X86_64: Final = Platform(
    arch="x86_64",
    triple="x86_64-unknown-linux-musl",
    npm="linux-x64",
    machine=62,
    wheels=("manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"),
)
_AARCH64: Final = Platform(
    arch="aarch64",
    triple="aarch64-unknown-linux-musl",
    npm="linux-arm64",
    machine=183,
    wheels=("manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"),
)
PLATFORMS: Final = {"x86_64": _X86_64, "amd64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}


def of_a_build() -> Platform | None:
    """Returns the platform for a user's own binary. None: no Codex is published for this machine, but the user may
    build one."""
    published = platform.machine().lower() in PLATFORMS
    return here() if published or sys.platform != "linux" else None


def here(system: str = "", machine: str = "") -> Platform:
    system, machine = system or sys.platform, (machine or platform.machine()).lower()
    if system != "linux":
        raise Unavailable(
            "Codex's Linux sandbox needs Linux", where=f"{system}, {machine}", next_step="run inside a Linux container"
        )
    if machine not in PLATFORMS:
        raise Unavailable(
            "no Codex is published for this machine",
            where=f"Linux on {machine}",
            why=f"published: {', '.join(sorted({p.arch for p in PLATFORMS.values()}))}",
            next_step="build one and use --codex-bin PATH",
        )
    return PLATFORMS[machine]
