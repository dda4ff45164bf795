"""What a container environment is made of: an image, a bubblewrap, a security profile and a user. Data only."""

from typing import Literal

import msgspec


class ImageSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution. One of two providers gives its base, the same second stage makes it ours."""

    name: str  # the axis value: `debian-bookworm`
    family: Literal["debian", "fedora", "alpine", "arch", "opensuse"] = "debian"
    pull: str = ""  # what a registry calls it
    suite: str = ""  # what its archive calls it; "" where it cannot be bootstrapped
    mirror: str = ""  # "" for the bootstrap tool's own default
    components: tuple[str, ...] = ("main",)
    keyring: str = ""
    expired: bool = False  # its Release file may have run out
    install: str = ""  # the shell line that installs the packages named by `$PACKAGES`
    packages: tuple[str, ...] = ()  # beside bubblewrap
    musl: bool = False
    reference: str = ""  # an image that is there already, by name or id: neither pulled nor built


class BwrapSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The bubblewrap that a program finds as /usr/bin/bwrap."""

    name: str  # the axis value: `distro`, `none`, `0.8.0`, `0.8.0-setuid`
    source: Literal["distro", "none", "static", "wheel"] = "distro"
    version: str = ""
    sha256: dict[str, str] = {}  # of what is downloaded: `source` (the tarball), or one wheel for each architecture
    mode: int = 0o755
    file_caps: bool = False  # with a file capability
    free: bool = False  # whichever Codex prefers is as good: nobody is asked for
    codex: str = ""  # the releases that look for a bubblewrap at all; "" every one

    @property
    def ours(self) -> bool:
        """We lay it there; else it is what the image has, or has not."""
        return self.source in ("static", "wheel")


class UserSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Who runs Codex."""

    name: str  # the axis value: `root`, `u1000`, `u1000-nopasswd`
    uid: int = 0
    gid: int = 0
    passwd: bool = True  # whether the password file knows this uid


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine is asked to confine the container with, in the engine's own terms."""

    name: str
    summary: str = ""
    seccomp: str = ""  # "" the engine's default, `unconfined`, else the JSON text
    cap_add: tuple[str, ...] = ()
    cap_drop: tuple[str, ...] = ()
    no_new_privileges: bool = False
    masked_paths: bool = True  # the engine hides parts of /proc and makes others read-only
    apparmor: str = ""
    read_only: bool = False
    network: Literal["none", "own"] = "none"
    pids_limit: int = 0
    memory: int = 0
    userns: str = ""
    synthetic: bool = False  # a refusal that is manufactured
    expect: dict[str, str] = {}  # fact → its value inside; another one means that the profile did not take effect


class ContainerSpec(msgspec.Struct, frozen=True, kw_only=True):
    image: ImageSpec
    bwrap: BwrapSpec
    profile: Profile
    user: UserSpec
