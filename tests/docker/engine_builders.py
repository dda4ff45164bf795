"""One more Docker engine on this machine, in a mount and a network namespace of its own; it may be stopped."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import CodexSandboxError

_SUBIDS = ("/etc/subuid", "/etc/subgid")


class OwnEngine:
    """`hide`: folders of this machine that it does not see, as an engine on another machine would not. `userns`: its
    containers are in a user namespace, whose map this machine's own files do not have to name."""

    def __init__(self, folder: Path, *, hide: tuple[Path, ...] = (), userns: bool = False) -> None:
        self.folder, self.host = folder, f"unix://{folder}/engine.sock"
        hiding = "".join(f"mount -t tmpfs none '{place}' && " for place in hide)
        self._more: tuple[str, ...] = ("--userns-remap=daemon",) if userns else ()
        if userns:
            (folder / "subids").write_text("daemon:200000:65536\n")
            folder.chmod(0o711)  # its containers' root is nobody here, and passes through
            hiding += "".join(f"touch {file} && mount --bind '{folder}/subids' {file} && " for file in _SUBIDS)
        # It keeps the namespaces while the engine is stopped and started again.
        self._holder = subprocess.Popen(
            ("unshare", "--net", "--mount", "sh", "-c", f"{hiding}ip link set lo up && echo ready && exec sleep 3600"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"ready\n"
        self._holder.stdout.close()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        for stale in ("pid", "engine.sock", "exec/containerd/containerd.pid", "exec/containerd/containerd.sock"):
            (self.folder / stale).unlink(missing_ok=True)  # a stale one lies about who runs
        words = (
            "nsenter",
            "-t",
            str(self._holder.pid),
            "--net",
            "--mount",
            "dockerd",
            "--data-root",
            f"{self.folder}/data",
            "--exec-root",
            f"{self.folder}/exec",
            "-H",
            self.host,
            "--pidfile",
            f"{self.folder}/pid",
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false",
            "--storage-driver=overlay2",
            *self._more,
        )
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        limit = time.monotonic() + 60
        while True:
            try:
                Engine(self.host, timeout=5).close()
                return
            except CodexSandboxError:
                if time.monotonic() > limit or self._process.poll() is not None:
                    raise AssertionError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.1)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """By SIGKILL its containers live on; its containerd is ended with it."""
        if self._process is None:
            return
        self._process.send_signal(number)
        self._process.wait(60)
        self._process = None
        self._end_those_with("containerd.toml")

    def end(self) -> None:
        """With every container."""
        if self._process is not None:
            with suppress(CodexSandboxError), Engine(self.host, timeout=10) as engine:
                for one in engine.api.containers(all=True):
                    engine.remove(one["Id"])
        self.stop()
        self._end_those_with("")
        self._holder.kill()
        self._holder.wait()

    def _end_those_with(self, word: str) -> None:
        """Processes whose command line names our folder."""
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                if str(self.folder).encode() in line and word.encode() in line and int(entry.name) != os.getpid():
                    os.kill(int(entry.name), signal.SIGKILL)


@contextmanager
def own_engine(*, hide: tuple[Path, ...] = (), userns: bool = False) -> Iterator[OwnEngine]:
    folder = Path(tempfile.mkdtemp(prefix="codexsandbox-engine-", dir="/var/tmp"))
    engine = OwnEngine(folder, hide=hide, userns=userns)
    try:
        engine.start()
        yield engine
    finally:
        engine.end()
        shutil.rmtree(folder, ignore_errors=True)
