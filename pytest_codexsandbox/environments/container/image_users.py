"""Image users: gives an image's password file the user of a cell, or removes it, in a derived image that is made
once.
"""

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Final

from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import HarnessError, Unavailable
from pytest_codexsandbox.model.container import UserSpec
from pytest_codexsandbox.system.locks import exclusive

_USERS: Final = "/etc/passwd"
_GROUPS: Final = "/etc/group"
_NAME: Final = "codexsandbox/with-user"
_SHAPE: Final = "1"  # of what is made; a new one is another image
_MOST: Final = 4 << 20
Files = dict[str, bytes]


def image_for(engine: Engine, image: str, user: UserSpec, cache: Path) -> str:
    """Returns the image, or an image derived from it that differs in two files."""
    inputs = f"{_SHAPE} {image} {user.uid}:{user.gid} {user.passwd}"
    tag = hashlib.sha256(inputs.encode()).hexdigest()[:24]
    as_it_is = cache / "users" / tag  # images are named by what is in them: what was seen once stays so
    if as_it_is.exists():
        return image
    with exclusive(as_it_is.with_name(f"{tag}.lock"), "makes an image for this user"):
        return engine.image_id(f"{_NAME}:{tag}") or _made(engine, image, user, as_it_is)


def _made(engine: Engine, image: str, user: UserSpec, as_it_is: Path) -> str:
    with engine.helper(image) as helper:
        changed = changes({path: _read(engine, helper, path) for path in (_USERS, _GROUPS)}, user)
        if not changed:
            as_it_is.touch()
            return image
        return _kept(engine, helper, changed, as_it_is.name)


def changes(files: Files, user: UserSpec) -> Files:
    """Returns the files to write so that the uid has a name, or has none. Pure."""
    passwd = files[_USERS].decode("utf-8", "surrogateescape").splitlines()
    group = files[_GROUPS].decode("utf-8", "surrogateescape").splitlines()
    known = any(_id(line) == str(user.uid) for line in passwd)
    if known == user.passwd:
        return {}
    if not user.passwd:
        passwd = [line for line in passwd if _id(line) != str(user.uid)]
    else:
        name = "root" if user.uid == 0 else "agent"
        passwd = [line for line in passwd if line.split(":")[0] != name]
        passwd.append(f"{name}:x:{user.uid}:{user.gid}::{'/root' if user.uid == 0 else '/home/agent'}:/bin/sh")
        if not any(_id(line) == str(user.gid) for line in group):
            group.append(f"{name}:x:{user.gid}:")
    written = {_USERS: passwd, _GROUPS: group}
    made = {
        path: "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
        for path, lines in written.items()
    }
    return {path: content for path, content in made.items() if content != files[path]}


def _id(line: str) -> str:
    fields = line.split(":")
    return fields[2] if len(fields) > 2 else ""


# ---- by way of the engine
def _read(engine: Engine, container: str, path: str) -> bytes:
    try:
        return engine.read_file(container, path, limit=_MOST)
    except Unavailable:
        return b""


def _kept(engine: Engine, helper: str, files: Files, tag: str) -> str:
    with engine.asked("accept the password file"):
        if not engine.api.put_archive(helper, "/", _packed(files)):
            raise HarnessError("the container engine did not accept the password file")
    with engine.asked("store an image with another password file"):
        engine.api.commit(helper, repository=_NAME, tag=tag, changes=labels.derived())
    return engine.image_id(f"{_NAME}:{tag}")


def _packed(files: Files) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return into.getvalue()
