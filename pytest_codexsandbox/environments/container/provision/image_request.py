"""Image request: which image a container needs, and its ingredients. Pure: nothing is queried and nothing is started
here.

Words from data files reach a shell only as arguments, and only if they look as expected.
"""

import hashlib
import json
import re
from typing import Final

import msgspec

from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.container import ContainerSpec, ImageSpec

AGENT: Final = "agent"
UID: Final = 1000
DIGEST: Final = f"{labels.PREFIX}image"  # the label with the digest of an image's ingredients
NAME: Final = f"{labels.PREFIX}name"  # the label with the distribution
_OF_BASE: Final = ("name", "pull", "suite", "mirror", "components", "only", "merged_usr")
REPOSITORY: Final = "codexsandbox"
_PACKAGE: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9+._-]*")
_SUITE: Final = re.compile(r"[a-z][a-z0-9-]*")
_ADDRESS: Final = re.compile(r"(https?|file|copy):/[!-~]+")
_REFERENCE: Final = re.compile(r"[a-z0-9][A-Za-z0-9._:/@-]{0,299}")


class ImageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One image: a distribution with or without its own bubblewrap."""

    image: ImageSpec
    bubblewrap: bool

    @property
    def variant(self) -> str:
        return "distro" if self.bubblewrap else "none"

    @property
    def what(self) -> str:
        return f"{self.image.name} ({self.variant})"

    @property
    def tag(self) -> str:
        return f"{REPOSITORY}/{self.image.name}:{self.variant}-{digest(self)}"


def wanted(spec: ContainerSpec) -> ImageRequest:
    """Returns the image of a container. For a bubblewrap of another origin, the image contains none."""
    return ImageRequest(image=spec.image, bubblewrap=spec.bwrap.source == "distro")


def digest(want: ImageRequest) -> str:
    """Returns a digest of all ingredients: a changed word in a recipe means another image."""
    return _hash([base_digest(want.image), dockerfile(want, "base")])


def base_digest(image: ImageSpec) -> str:
    """Returns a digest of the base's ingredients, for any provider. An empty field does not change it."""
    inputs = {key: getattr(image, key) for key in _OF_BASE if getattr(image, key)}
    return _hash(["1", inputs])


def base_tag(image: ImageSpec, content: str) -> str:
    """Returns the tag of a base. `content`: the digest of the downloaded content."""
    return f"{REPOSITORY}/base-{image.name}:{base_digest(image)[:8]}-{content.rpartition(':')[2][:16]}"


# ---- the second stage
def dockerfile(want: ImageRequest, base: str) -> str:
    """Returns the Dockerfile. The label comes first, so that the leftovers of a killed build carry it too."""
    image = want.image
    lines = [f"FROM {base}", f"LABEL {labels.KIND}=image"]
    if image.family == "busybox":
        lines.append(_run(("/bin/busybox", "sh"), _APPLETS))
    packages = (*((image.bubblewrap,) if want.bubblewrap and image.bubblewrap else ()), *image.packages)
    if packages:
        lines.append(_run(("/bin/sh",), _install(image), *(_checked(_PACKAGE, "package", one) for one in packages)))
    lines.append(_run(("/bin/sh",), _GROUND, "yes" if want.bubblewrap else ""))
    lines.append('CMD ["/bin/sh"]')
    return "\n".join(lines) + "\n"


def _run(shell: tuple[str, ...], script: str, *words: str) -> str:
    """Returns a RUN instruction as a list, so that no other shell reads it and no word becomes an instruction."""
    return "RUN " + json.dumps([*shell, "-ec", script, "sh", *words])


def _install(image: ImageSpec) -> str:
    if image.family == "debian":
        return _APT.replace("@VALID@", "false" if image.expired else "true")
    if image.family not in _INSTALL:
        raise InputError(f"no way is known to install packages in the family {image.family!r}", where=image.name)
    return _INSTALL[image.family]


_APT: Final = """export DEBIAN_FRONTEND=noninteractive
apt="apt-get -q -o Acquire::Retries=3 -o Acquire::Check-Valid-Until=@VALID@"
$apt update
$apt install -y --no-install-recommends "$@"
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/apt /var/log/dpkg.log
"""

_INSTALL: Final = {
    "fedora": 'dnf -y --setopt=install_weak_deps=False install "$@"\ndnf clean all\n',
    "alpine": 'apk add --no-cache "$@"\n',
    # Its own sandbox for downloads needs Landlock, which filters of engines refuse.
    "arch": (
        "alone=\npacman -S --help | grep -q -- --disable-sandbox && alone=--disable-sandbox\n"
        'pacman -Syu --noconfirm --needed $alone "$@"\nrm -rf /var/cache/pacman/pkg/* /var/lib/pacman/sync/*\n'
    ),
    "opensuse": 'zypper --non-interactive install --no-recommends "$@"\nzypper clean --all\n',
}

_APPLETS: Final = """b=/bin/busybox
$b mkdir -p /bin /sbin /usr/bin /usr/sbin /etc /dev /proc /sys /run /root /home
$b --install -s 2>/dev/null || true  # those that are there already stay
"""

# An ordinary user has a name, as on a machine; $1: whether a bubblewrap is to be there.
_GROUND: Final = f"""mkdir -p /tmp /var/tmp /usr/bin /home /opt /srv /root
chmod 1777 /tmp /var/tmp
touch /etc/passwd /etc/group
grep -q '^root:' /etc/passwd || echo 'root:x:0:0:root:/root:/bin/sh' >> /etc/passwd
grep -q '^root:' /etc/group || echo 'root:x:0:' >> /etc/group
sed -i -e '/^{AGENT}:/d' -e '/^[^:]*:[^:]*:{UID}:/d' /etc/passwd /etc/group
echo '{AGENT}:x:{UID}:{UID}:{AGENT}:/home/{AGENT}:/bin/sh' >> /etc/passwd
echo '{AGENT}:x:{UID}:' >> /etc/group
mkdir -p /home/{AGENT}
chown {UID}:{UID} /home/{AGENT}
if [ -n "$1" ]; then
  bwrap --version
else
  rm -f /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap
  if command -v bwrap; then echo 'a bubblewrap is still there' >&2; exit 1; fi
fi
"""


# ---- words that reach a program
def suite(image: ImageSpec) -> str:
    return _checked(_SUITE, "suite", image.suite)


def components(image: ImageSpec) -> str:
    return ",".join(_checked(_SUITE, "component", one) for one in image.components)


def only(image: ImageSpec) -> str:
    return ",".join(_checked(_PACKAGE, "package", one) for one in image.only)


def word(name: str) -> str:
    """Returns a checked name of a package or file, safe as part of a path or an argument."""
    return _checked(_PACKAGE, "package or file", name)


def mirror(address: str, *, where: str) -> str:
    if address and not _ADDRESS.fullmatch(address):
        raise InputError(f"{address!r} is not the address of an archive", where=where, why="as in https://host/path")
    return address


def reference(text: str, *, where: str) -> str:
    if not _REFERENCE.fullmatch(text):
        raise InputError(f"{text!r} is not the name of an image", where=where)
    return text


def _checked(form: re.Pattern[str], what: str, word: str) -> str:
    if not form.fullmatch(word):
        raise InputError(f"{word!r} is not the name of a {what}")
    return word


def _hash(inputs: list[object]) -> str:
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:16]
