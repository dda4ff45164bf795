"""Bootstrap: makes a distribution's base from its own archive with mmdebstrap, if no registry answers.

The cache keeps one archive of a file system for each distribution, identified by its digest. The archive contains
nothing of this machine: neither its name nor its resolver, nor the folder of its keys.
"""

import hashlib
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.environments import run_dirs
from pytest_codexsandbox.environments.container.provision import image_request, keyrings
from pytest_codexsandbox.environments.container.provision.build_errors import of_bootstrap
from pytest_codexsandbox.environments.container.provision.cache_errors import keeping
from pytest_codexsandbox.environments.container.provision.keyrings import Lack
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.guest import process_tree
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.system import process

FOLDER: Final = Path("images", "bases")  # below the cache
TOOL: Final = "mmdebstrap"
LIMIT: Final = 1800.0  # seconds; 20 are usual
_CLEANING: Final = 30.0  # for the tool to remove its own folder after a limit
_SYS_ADMIN: Final = 21
_DATE: Final = "1700000000"  # files get no later date: the same packages make the same archive
_LEAN: Final = ("man", "doc", "locale")
_KEPT_ENV: Final = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
# $1 is the new root. A key is looked for where the image has it, not where this machine does.
_HOOK: Final = (
    'rm -f "$1"/etc/resolv.conf "$1"/etc/hostname; '
    'for f in "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*.list; do '
    'if [ -f "$f" ]; then sed -i "s/ *\\[signed-by=[^]]*\\]//" "$f"; fi; done'
)
_MERGED: Final = "/usr/share/mmdebstrap/hooks/merged-usr"  # the tool's own
Run = Callable[[Command], CommandResult]


def lacking(image: ImageSpec, cache: Path, *, arch: str = "") -> Lack | None:
    """Returns why the image cannot be bootstrapped, as far as is known without a try. `arch`: of the engine."""
    if not image.suite:
        return Lack(why="an image cannot be bootstrapped from its archive")
    if arch and arch != platform.machine():
        return Lack(why=f"the engine runs {arch}, but this machine bootstraps {platform.machine()}")
    if archive(image, cache) is not None:
        return None
    if shutil.which(TOOL) is None:
        return Lack(why=f"{TOOL} is not installed", remedy=f"apt install {TOOL}")
    return keyrings.lacking(image, cache)


def archive(image: ImageSpec, cache: Path) -> tuple[Path, str] | None:
    """Returns the archive that was bootstrapped before, with its digest; None without one."""
    path = _place(image, cache)
    try:
        note = json.loads(path.with_suffix(".json").read_bytes())
        return (path, str(note["sha256"])) if path.stat().st_size == note["size"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def have(
    image: ImageSpec, cache: Path, *, run: Run = process.run, arch: str = "", again: bool = False
) -> tuple[Path, str]:
    """Returns the archive and its digest, bootstrapped unless it is cached. The caller holds the lock of this base."""
    if lack := lacking(image, cache, arch=arch):
        raise Unavailable(f"{image.name} cannot be bootstrapped", why=lack.why, next_step=lack.remedy)
    kept = None if again else archive(image, cache)
    if kept is not None:
        return kept
    path = _place(image, cache)
    with _staging(path) as (staging, word):
        run = _marked(run, word)
        fetch = partial(_keyring_package, staging=staging, run=run)
        with _in_tmp(word, "-gpg-") as home:
            key = keyrings.have(image, cache, fetch=fetch, run=run, within=staging, home=home)
        target = staging / "root.tar"
        with _seen_by_all(key, word) as seen:
            _make(command(image, target, key=seen, tmp=staging), image, run, staging)
        digest, size = _digest(target), target.stat().st_size
        path.unlink(missing_ok=True)
        target.rename(path)
        path.with_suffix(".json").write_text(json.dumps({"name": image.name, "sha256": digest, "size": size}))
    return path, digest


def command(image: ImageSpec, target: Path, *, key: Path | None, tmp: Path) -> Command:
    words = ["--variant=extract", f"--include={image_request.only(image)}"] if image.only else ["--variant=apt"]
    words += [f"--components={image_request.components(image)}", "--format=tar"]
    words += [f"--keyring={key}"] if key is not None else []
    words += ['--aptopt=Acquire::Check-Valid-Until "false"'] if image.expired else []
    # Folders directly below stay: scripts of packages expect them.
    words += [f"--dpkgopt=path-exclude=/usr/share/{name}/*/*" for name in _LEAN]
    words += [f"--customize-hook={_HOOK}"]
    if Path(_MERGED).is_dir():
        words += {"folders": [f"--setup-hook={_MERGED}/setup00.sh"], "package": [f"--hook-dir={_MERGED}"]}.get(
            image.merged_usr, []
        )
    return _tool(words, image, target, tmp)


def _keyring_package(image: ImageSpec, to: Path, staging: Path, run: Run) -> None:
    """Unpacks the keyring package and runs nothing of it, because it is not verified yet."""
    words = ["--variant=extract", f"--include={image_request.word(image.keyring_package)}", "--format=tar"]
    words += ['--aptopt=Acquire::AllowInsecureRepositories "true"', '--aptopt=APT::Get::AllowUnauthenticated "true"']
    _make(_tool(words, image, to, staging), image, run, staging)


def _tool(words: list[str], image: ImageSpec, target: Path, tmp: Path) -> Command:
    named = mirror(image)
    argv = (*_leash(), TOOL, *words, image_request.suite(image), str(target), *((named,) if named else ()))
    kept = {name: os.environ[name] for name in _KEPT_ENV if name in os.environ}
    env = {"PATH": os.environ.get("PATH", os.defpath), "SOURCE_DATE_EPOCH": _DATE, "LC_ALL": "C.UTF-8", **kept}
    if os.geteuid() == 0:  # an ordinary user's helpers must be able to enter it, so theirs is the usual one
        env["TMPDIR"] = str(tmp)
    elif "TMPDIR" in os.environ:
        env["TMPDIR"] = os.environ["TMPDIR"]
    return Command(argv=argv, cwd="/", env=env, timeout=LIMIT + 2 * _CLEANING)


def _leash() -> tuple[str, ...]:
    """Returns words before a command that end it when this process dies or at the time limit, so that it cleans up.

    They also hide its mounts from other processes.
    """
    words: tuple[str, ...] = ()
    if shutil.which("setpriv"):
        words += ("setpriv", "--pdeathsig", "TERM")
    if shutil.which("timeout"):
        words += ("timeout", f"--kill-after={_CLEANING:.0f}", f"{LIMIT:.0f}")
    if os.geteuid() == 0 and _may_mount() and shutil.which("unshare"):
        words += ("unshare", "--mount")
    return words


def _marked(run: Run, word: str) -> Run:
    return lambda command: run(msgspec.structs.replace(command, env={**command.env, process_tree.MARK: f"{word}.tool"}))


def _make(made: Command, image: ImageSpec, run: Run, staging: Path) -> None:
    done = run(made)
    if done.ended != "exit" or done.exit:
        raise of_bootstrap(image, done, staging, limit=LIMIT)


def mirror(image: ImageSpec) -> str:
    """Returns the mirror of the data file, or a user's own: CODEXSANDBOX_MIRROR_DEBIAN, …_UBUNTU."""
    variable = f"CODEXSANDBOX_MIRROR_{image.name.partition('-')[0].upper()}"
    return image_request.mirror(os.environ.get(variable, "") or image.mirror, where=variable)


def _place(image: ImageSpec, cache: Path) -> Path:
    name = f"{image_request.word(image.name)}-{platform.machine()}-{image_request.base_digest(image)}.tar"
    return cache / FOLDER / name


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


@contextmanager
def _staging(path: Path) -> Iterator[tuple[Path, str]]:
    """Creates a temporary folder, and the word that marks its processes. Removes a killed run's folder of the same
    base.

    If this process is killed, `sweep` ends the marked processes and removes the folder.
    """
    folder = path.with_name(f"making-{path.stem}")
    with keeping(path.parent):
        run_dirs.give_back(folder)
        folder.mkdir(mode=0o755)
        word = run_dirs.take(folder)
    try:
        yield folder, word
    finally:
        run_dirs.give_back(folder)


@contextmanager
def _in_tmp(word: str, what: str) -> Iterator[Path]:
    """Creates a folder in /tmp that `sweep` finds by its name if this process is killed."""
    with tempfile.TemporaryDirectory(prefix=run_dirs.named_for(word, what), dir=run_dirs.SHARED[0]) as folder:
        yield Path(folder)


@contextmanager
def _seen_by_all(key: Path | None, word: str) -> Iterator[Path | None]:
    """Copies the key to /tmp, because apt reads keys as another user, who may not enter our cache."""
    if key is None:
        yield None
        return
    with _in_tmp(word, "-key-") as folder:
        folder.chmod(0o755)
        copy = folder / key.name
        shutil.copyfile(key, copy)
        copy.chmod(0o644)
        yield copy


def _may_mount() -> bool:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return bool(int(status.split("CapEff:")[1].split()[0], 16) >> _SYS_ADMIN & 1)
    except (OSError, IndexError, ValueError):
        return False
