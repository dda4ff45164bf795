"""Container parts of an environment: an image, a bubblewrap, a security profile and a user. Data only."""

import re
from typing import Final, Literal

import msgspec

USUAL_CAPABILITIES: Final = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
_CAPABILITY: Final = re.compile(r"(?!CAP_)[A-Z][A-Z0-9_]{1,40}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SYNTHETIC: Final = "synthetic-"  # the name of a profile that manufactures a refusal begins so, and no other


class ImageSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Distribution of a container. One of two providers gives its base; the same second stage completes it."""

    name: str  # the axis value: `debian-bookworm`
    family: Literal["debian", "fedora", "alpine", "arch", "opensuse", "busybox"] = "debian"  # how packages get in
    pull: str = ""  # what a registry calls it
    suite: str = ""  # what its archive calls it; "" where it cannot be bootstrapped
    mirror: str = ""  # "" for the bootstrap tool's own default
    components: tuple[str, ...] = ("main",)
    only: tuple[str, ...] = ()  # packages that are unpacked in the place of a whole system
    # The bootstrap tool is to merge /usr, for no package does it: `folders` lays them out so, `package` also takes the
    # one that says so in the place of one that brings all of Perl.
    merged_usr: Literal["", "folders", "package"] = ""
    keyring: str = ""  # the file by which its archive is trusted
    keyring_package: str = ""  # what brings that file
    signed_by: tuple[str, ...] = ()  # fingerprints: a keyring that the archive gives itself counts when it has these
    expired: bool = False  # its Release file may have run out
    bubblewrap: str = "bubblewrap"  # its package; "" where it has none
    packages: tuple[str, ...] = ()  # beside bubblewrap
    musl: bool = False
    distro: str = ""  # what a container of it says of itself in /etc/os-release, as patterns of facts; "" anything
    distro_version: str = ""
    distro_name: str = ""
    reference: str = ""  # an image of the user's, by name or id: taken as it is, nothing is added to it

    @property
    def expect(self) -> dict[str, str]:
        """Returns the expected facts inside, by name."""
        patterns = {"distro": self.distro, "distro_version": self.distro_version, "distro_name": self.distro_name}
        return {name: pattern for name, pattern in patterns.items() if pattern}


class BwrapSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bubblewrap that a program finds as /usr/bin/bwrap."""

    name: str  # the axis value: `distro`, `none`, `0.8.0`, `0.8.0-setuid`
    source: Literal["distro", "none", "static", "wheel"] = "distro"
    version: str = ""
    sha256: dict[str, str] = {}  # of what is downloaded: `source` (the tarball), or one wheel for each architecture
    mode: int = 0o755
    file_caps: bool = False  # with a file capability
    free: bool = False  # none is requested: Codex may use whichever it prefers
    codex: str = ""  # the releases that look for a bubblewrap at all; "" every one

    @property
    def ours(self) -> bool:
        """Checks whether the harness puts the file there. Otherwise the image has its own, or none."""
        return self.source in ("static", "wheel")


class UserSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """User that runs Codex."""

    name: str  # the axis value: `root`, `u1000`, `u1000-nopasswd`
    uid: int = 0
    gid: int = 0
    passwd: bool = True  # whether the password file knows this uid


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Confinement that an engine is asked for, in the engine's own terms."""

    name: str
    summary: str = ""
    seccomp: str = ""  # "" the engine's default, `unconfined`, else the JSON text
    cap_add: tuple[str, ...] = ()  # to the usual ones, or `ALL`
    cap_drop: tuple[str, ...] = ()  # from the usual ones, or `ALL`
    no_new_privileges: bool = False
    masked_paths: bool = True  # the engine hides parts of /proc and makes others read-only
    apparmor: str = ""
    read_only: bool = False
    network: Literal["none", "own"] = "none"
    pids_limit: int = 0
    memory: int = 0
    userns: Literal["", "remap"] = ""  # the engine's own (dockerd --userns-remap), else none
    synthetic: bool = False  # a refusal that is manufactured
    expect: dict[str, str] = {}  # fact → its value inside, beside those that the words above imply

    def __post_init__(self) -> None:
        if self.synthetic != self.name.startswith(SYNTHETIC):
            raise ValueError(f"a profile is called `{SYNTHETIC}…` if `synthetic` is true, and only then")
        if self.has_filter and not self.seccomp.lstrip().startswith("{"):
            raise ValueError(f"seccomp is `unconfined`, or `file:NAME` of a filter, not {self.seccomp!r}")
        for name in (*self.cap_add, *self.cap_drop):
            if not _CAPABILITY.fullmatch(name):
                raise ValueError(f"{name!r} is not a capability, such as SYS_ADMIN or ALL")
        if self.apparmor and not _NAME.fullmatch(self.apparmor):
            raise ValueError(f"apparmor: {self.apparmor!r} is not the name of a profile")
        if self.memory < 0 or self.pids_limit < 0:
            raise ValueError("a limit cannot be negative")

    @property
    def has_filter(self) -> bool:
        """Checks whether the profile has a filter of its own, not the engine's."""
        return self.seccomp not in ("", "unconfined")

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Returns the capabilities that a process in the container may ever have, by name. They are the same on every
        engine, whatever its default is."""
        if "ALL" in self.cap_add:
            return ("ALL",)
        left = () if "ALL" in self.cap_drop else USUAL_CAPABILITIES
        return tuple(sorted({*left, *self.cap_add} - set(self.cap_drop)))


class ContainerSpec(msgspec.Struct, frozen=True, kw_only=True):
    image: ImageSpec
    bwrap: BwrapSpec
    profile: Profile
    user: UserSpec
