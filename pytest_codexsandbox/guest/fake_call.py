"""Fake call: one call of fake_codex.py: runs the command as a child, confines it, and passes its output on."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import time
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, NoReturn  # noqa: UP035

if TYPE_CHECKING:
    from pytest_codexsandbox.guest import world_flaws
    from pytest_codexsandbox.guest.restraint import Boundary
else:  # beside this file, which is started as one
    import world_flaws
    from restraint import Boundary

MARKER = "CODEX_SANDBOX_NETWORK_DISABLED"
FOLDER = os.path.dirname(os.path.abspath(__file__))
PROBES = ("task.py", "probe.py")  # the copy that calls are given (probe_copy.py), and the installed file
RESTRAINED = os.path.join(FOLDER, "restrained_probe.py")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def is_probe(command: list[str]) -> bool:
    return len(command) >= 6 and command[1:3] == ["-I", "-S"] and os.path.basename(command[3]) in PROBES


class Call:
    def __init__(self, command: list[str], policy: dict[str, Any], subject: dict[str, Any], *, folder: str) -> None:
        self.flaws = world_flaws.in_force(subject["flaws"], folder=folder, stdin=kind_of_stdin())
        self.conduct, self.launcher = subject["conduct"], subject.get("launcher", "")
        self.command, self.policy, self.folder = self._altered(command), policy, folder
        self.policy["roots"] = [root for root in self.policy["roots"] if self._granted(root)]
        self.environment = self._environment()
        world_flaws.refuse_link(self.flaws, folder or os.getcwd())

    def _altered(self, command: list[str]) -> list[str]:
        """Returns the command's words: the further ones of a probe altered, where that is the flaw."""
        own, further = (command[:6], command[6:]) if is_probe(command) else (command, [])
        if "words:split" in self.flaws:
            further = [part for word in further for part in word.split(" ")]
        if "words:empty-lost" in self.flaws:
            further = [word for word in further if word]
        if "words:utf-8" in self.flaws:
            further = world_flaws.as_utf_8(further)
        return [*own, *further]

    def _granted(self, root: str) -> bool:
        """Checks whether a root is granted: a missing root is skipped; a file, or a folder that the user cannot write,
        is harmless.
        """
        faults = {
            "root:missing-kills": not os.path.exists(root),
            "root:missing-inside-kills": not os.path.exists(root) and root.startswith(os.getcwd() + os.sep),
            "root:file-kills": os.path.isfile(root),
            "root:foreign-kills": os.path.isdir(root) and not os.access(root, os.W_OK),
        }
        if any(fault and flaw in self.flaws for flaw, fault in faults.items()):
            os.write(2, f"Error: writable root {root} cannot be used\n".encode())
            raise SystemExit(101)
        if "root:missing-made" in self.flaws:
            os.makedirs(root, exist_ok=True)
        relative = "root:relative-ignored" in self.flaws and root == os.path.join(
            os.path.dirname(os.getcwd()), "relative-root"
        )
        return os.path.exists(root) and not relative

    def _environment(self) -> dict[str, str]:
        made = world_flaws.variables(self.flaws)
        off = not self.policy["network"] and self.policy["mode"] != "danger-full-access"
        if (off and "marker:missing" not in self.flaws) or "marker:always" in self.flaws:
            made[MARKER] = "1"
        return made

    def acts(self) -> list[dict[str, Any]]:
        import base64
        import zlib

        acts: list[dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(self.command[5])))["acts"]
        return acts

    def _unconfined(self) -> bool:
        """Checks for a flaw: `unconfined` concerns any command, `unconfined:command` any but a probe, `unconfined:VERB`
        a probe with such an act.
        """
        asked = {str(act["verb"]) for act in self.acts()} if is_probe(self.command) else {"command"}
        return "unconfined" in self.flaws or any("unconfined:" + word in self.flaws for word in asked)

    def execute(self) -> NoReturn:
        """Becomes the command, or the restrained probe in its place."""
        if self.folder:
            os.chdir(self.folder)
        world_flaws.call_git(self.flaws)
        if "odd:lost" in self.flaws and world_flaws.is_odd(os.getcwd()):
            os.chdir("/")
        quiet = "command:silent" in self.flaws
        if "stderr:lost" in self.flaws:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        if self._unconfined() or f"unconfined:{os.path.basename(self.command[0])}" in self.flaws:
            become(self.command, self.environment)
        if not is_probe(self.command):
            if self.policy["mode"] != "danger-full-access" and is_of_another_process(self.command[0]):
                cannot_run(self.command, errno.ENOENT, quiet=quiet)
            become(self._without_the_outside(), self.environment, quiet=quiet)
        order = {"argv": self.command, "asked": self.policy, "flaws": sorted(self.flaws), "conduct": self.conduct}
        os.execve(self.command[0], padded(self.command), {**self.environment, "CX_RESTRAINT": json.dumps(order)})

    def _without_the_outside(self) -> list[str]:
        """Returns the command with other words for files that it may not make: below /dev/null nothing can be made."""
        boundary = Boundary(self.policy, sorted(self.flaws))

        def word(text: str) -> str:
            free = not text.startswith("/") or os.path.lexists(text) or boundary.writable(boundary.real(text))
            return text if free else f"/dev/null{text}"

        return [self.command[0], *map(word, self.command[1:])]

    def run(self, prepare: Callable[[], None] | None = None, started: Callable[[], None] | None = None) -> int:
        """Returns the exit code of the command, after everything that it started has ended."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        child = os.fork()
        if not child:
            self._be_the_child(prepare)
        if "death:alone" not in self.flaws:
            end_by_interrupts(ignored="interrupt:ignored" in self.flaws)
        if started:
            started()
        code = wait_for(child)
        if "children:left" not in self.flaws:
            end_descendants()
        self._leave_a_writer()
        self._litter()
        self._lose()
        return code

    def _be_the_child(self, prepare: Callable[[], None] | None) -> NoReturn:
        try:
            if not self.flaws & {"children:left", "death:alone"}:
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if "interrupt:ignored" in self.flaws or (kind_of_stdin() == "terminal" and self._takes_no_terminal()):
                os.setsid()
            if prepare:
                prepare()
            self._spoil()
            self.execute()
        except OSError as failure:
            os.write(2, f"Error: {failure}\n".encode())
        finally:
            os._exit(125)

    def _takes_no_terminal(self) -> bool:
        return not self.flaws & {"terminal:kept", "terminal:typed"} and self.policy["mode"] != "danger-full-access"

    def _spoil(self) -> None:
        """Changes what the command inherits, where that is the flaw."""
        import resource

        if "descriptors:left" not in self.flaws:
            os.closerange(3, 256)
        if "descriptors:own" in self.flaws:
            os.dup2(os.open("/", os.O_RDONLY | os.O_DIRECTORY), 9)
        for flaw, mask in (("umask:open", 0), ("umask:fixed", 0o022)):
            if flaw in self.flaws:
                os.umask(mask)
        if "limits:lowered" in self.flaws:
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        if "signals:ignored" in self.flaws:
            for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
        if "signals:pipe" not in self.flaws:  # Python ignores these two, and a command would inherit that
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)

    def _leave_a_writer(self) -> None:
        """Leaves a process that writes outside five seconds later, where the flaw names a verb of this probe."""
        late = {flaw.partition(":")[2] for flaw in self.flaws if flaw.startswith("late:")}
        asked = {str(act["verb"]) for act in self.acts()} if late and is_probe(self.command) else set()
        if not late & asked or os.fork():
            return
        os.setsid()
        for number in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        time.sleep(5)
        with open(os.path.join(os.path.dirname(os.getcwd()), "documents", "late"), "wb"):
            os._exit(0)

    def _litter(self) -> None:
        places = {"workspace": self.policy["cwd"], "tmp": "/tmp", "root": (self.policy["roots"] or [""])[0]}
        for name, place in places.items():
            if place and "litter:" + name in self.flaws:
                os.makedirs(os.path.join(place, ".codex-left-behind"), exist_ok=True)

    def _lose(self) -> None:
        """Empties the written files if the flaw asks for it, like a sandbox that returns files without their new
        content.
        """
        if "files:emptied" in self.flaws:
            for root in (self.policy["cwd"], *self.policy["roots"]):
                for folder, _, names in os.walk(root):
                    for path in (os.path.join(folder, name) for name in names):
                        # Only root may empty a file without write permission.
                        if os.path.isfile(path) and not os.path.islink(path) and os.access(path, os.W_OK):
                            os.truncate(path, 0)


def padded(argv: list[str]) -> list[str]:
    """Returns words for execve that start restrained_probe.py, exactly as many bytes as `argv`: see `wear` there."""
    first = [argv[0], "-I", "-S", RESTRAINED]
    room = sum(len(os.fsencode(word)) + 1 for word in argv) - sum(len(os.fsencode(word)) + 1 for word in first)
    half = room // 2
    return [*first, "x" * (half - 1), "x" * (room - half - 1)]


def kind_of_stdin() -> str:
    """Returns `terminal`, `null`, `closed`, or `other`."""
    try:
        if os.fstat(0).st_rdev == os.makedev(1, 3):
            return "null"
    except OSError:
        return "closed"
    return "terminal" if os.isatty(0) else "other"


def is_of_another_process(path: str) -> bool:
    """Checks whether a path is `/proc/PID/…`, which a private process namespace hides for processes outside it."""
    return re.match(r"/proc/\d+/", path) is not None


def become(command: list[str], environment: dict[str, str], *, quiet: bool = False) -> NoReturn:
    try:
        os.execvpe(command[0], command, environment)
    except OSError as failure:
        cannot_run(command, failure.errno or 0, quiet=quiet)


def cannot_run(command: list[str], number: int, *, quiet: bool) -> NoReturn:
    if not quiet:
        why = f"{command[0]}: {os.strerror(number)} (os error {number})"
        os.write(2, f"\nthread 'main' ({os.getpid()}) panicked:\nFailed to execvp {why}\n".encode())
    os._exit(101)


def prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def end_by_interrupts(*, ignored: bool) -> None:
    """Ends the call at an interrupt at once, by the signal itself, as Codex ends."""

    def ended(number: int, frame: FrameType | None) -> None:
        end_descendants()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if ignored else ended)


def wait_for(child: int) -> int:
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:  # ended and reaped by end_descendants in another thread
            return 137
        if pid == child:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def end_descendants() -> None:
    """Kills descendants until none is left, as the end of a process id namespace does at once."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def descendants() -> list[int]:
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    parents[int(name)] = int(stat.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
    family = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        if not more:
            return sorted(family - {os.getpid()})
        family |= more


# ---- the command's output, and where that is the flaw its input, passed on by us


class AlteringPipe:
    """A pipe that loses or adds output. It changes only the second megabyte, so that no row of a probe is changed. Of
    stderr, which has no rows, it passes on the first 64 KiB.
    """

    START, END = 1 << 20, 2 << 20
    ERRORS = 64 << 10

    def __init__(self, call: Call, *, rows: int = 0) -> None:
        self.call, self.rows, self.seen, self.place, self.rest = call, rows, 0, 0, b""
        self.handle = 2 if "stderr:cut" in call.flaws else 1

    def run(self) -> int:
        import threading

        source, sink = os.pipe()
        stdin, feed = os.pipe() if "stdin:eaten" in self.call.flaws else (0, -1)
        thread = threading.Thread(target=self._pass_on, args=(source,), daemon=True)
        feeder = threading.Thread(target=feed_one_line, args=(feed,), daemon=True)

        def prepare() -> None:
            os.dup2(sink, self.handle)
            os.dup2(stdin, 0)
            for handle in (source, sink, feed):
                if handle > 0:
                    os.close(handle)

        def started() -> None:
            os.close(sink)
            thread.start()
            if feed > 0:
                os.close(stdin)
                feeder.start()

        code = self.call.run(prepare, started)
        thread.join(30)
        return code

    def _pass_on(self, source: int) -> None:
        while True:
            data = os.read(source, 65536)
            if not data:
                return
            if not self.rows:
                write_all(self.handle, self._changed(data))
            elif not self._first_rows(data):
                end_descendants()
                return

    def _first_rows(self, data: bytes) -> bool:
        """Passes a probe's output on, line by line; False once the probe has printed its rows."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            write_all(1, line + b"\n")
            self.seen += line.startswith(b"\x1ecx:")
            if self.seen > self.rows:
                return False
        return True

    def _changed(self, data: bytes) -> bytes:
        start, self.place = self.place, self.place + len(data)
        if self.handle == 2:
            return data[: max(0, self.ERRORS - start)]
        if not start and "output:banner" in self.call.flaws:
            return b"codex: running in a sandbox\n" + data
        if not self.START <= start < self.END:
            return data
        if "output:lost" in self.call.flaws:
            return b""
        if "output:doubled" in self.call.flaws:
            return data + data
        return data.swapcase() if "output:altered" in self.call.flaws else data


def write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def feed_one_line(handle: int) -> None:
    """Feeds the first line of stdin, which starts a probe, and discards the rest."""
    byte = b""
    while byte != b"\n":
        byte = os.read(0, 1)
        if not byte:
            break
        write_all(handle, byte)
    os.close(handle)
