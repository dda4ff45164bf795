"""The caller of a repro script: starts a call as `Call.launch` says, which a shell cannot do.

It leaves descriptors open, opens a file as stdin, resets signals and umask, and sends a signal to the call.
"""

from collections.abc import Iterator
from typing import Final

from pytest_codexsandbox.doors.repro.paths import Paths
from pytest_codexsandbox.doors.support.placeholders import fill_launch
from pytest_codexsandbox.model.act import FIRST_DESCRIPTOR, Call, Launch

LISTENER: Final = '"$R"/listener.sock'  # of setup.listener("unix")
CALLER: Final = r"""
import fcntl, os, signal, socket, subprocess, sys, termios, time, tty
end = sys.argv.index("--")
settings = [word.split("=", 1) for word in sys.argv[1:end]]
wanted, command = dict(settings), sys.argv[end + 1 :]
def opened(kind, path):
    if kind == "folder":
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    if kind == "file":
        return os.open(path, os.O_RDWR | os.O_APPEND)
    made = socket.socket(socket.AF_UNIX)
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)  # an address is shorter than a path
    made.connect("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
    os.close(folder)
    return made.detach()
def as_usual():
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(int(wanted.get("umask", "022"), 8))
    if "terminal" in wanted:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in wanted.get("closed", "").split():
        os.close(int(number))
def started():
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if state not in "ZX":
            found[int(pid)] = (int(parent), name, rest.split()[19])
    return found
def below(pid):
    every, found = started(), {}
    heads = [pid]
    while heads:
        head = heads.pop()
        if head in every and head not in found:
            found[head] = every[head]
            heads += [one for one, (parent, _, _) in every.items() if parent == head]
    return found
def left_of(family):
    every = started()
    return {one: process for one, process in family.items() if one in every and every[one][2] == process[2]}
given, left = sys.stdin.buffer.read(), []
for number, word in enumerate((value for name, value in settings if name == "open"), int(wanted["first"])):
    handle = opened(*word.split(":", 1))
    os.dup2(handle, number)
    os.close(handle)
    left.append(number)
stdin = subprocess.PIPE
if "stdin" in wanted:
    with open(wanted["stdin"], "ab") as file:
        file.write(given)
    stdin = os.open(wanted["stdin"], os.O_RDONLY)
stdout, stderr = subprocess.PIPE if "signal" in wanted else None, None
if "terminal" in wanted:
    terminal, stdin = os.openpty()
    tty.setraw(stdin)
    stdout = stderr = stdin
call = subprocess.Popen(
    command, stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=left, start_new_session=True, preexec_fn=as_usual
)
if "terminal" in wanted:
    os.close(stdin)
    os.write(terminal, given)
    said = b"-"
    while said:
        try:
            said = os.read(terminal, 65536)
        except OSError:  # the last process that held the other end is gone
            break
        os.write(1, said)
for number in left:
    os.close(number)
if call.stdin is not None:
    try:
        call.stdin.write(given)
        call.stdin.close()
    except BrokenPipeError:
        pass
family = {}
if "signal" in wanted:
    said = b"-"
    while said and b'"ready"' not in said:
        said = os.read(call.stdout.fileno(), 65536)
        sys.stdout.buffer.write(said)
    time.sleep(float(wanted["after"]))
    number, family = int(wanted["signal"]), below(call.pid)
    (os.kill if wanted["to"] == "codex" else os.killpg)(call.pid, number)
    whom = "the Codex process alone" if wanted["to"] == "codex" else "the group of the Codex process"
    print("\n== signal %d to %s" % (number, whom), flush=True)
try:
    code = call.wait(float(wanted["limit"]))
except subprocess.TimeoutExpired:
    family = family or below(call.pid)
    print("== the call did not end within %s seconds" % wanted["limit"], flush=True)
    code = 124
if family:
    time.sleep(2)
    stays = left_of(family)
    names = ", ".join("%s (process %d)" % (process[1], one) for one, process in stays.items())
    print("seen from outside, 2 seconds later: " + ("still running: " + names if stays else "no process is left"))
    for one in stays:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:  # the end of another one ended it
            pass
sys.exit(128 - code if code < 0 else code)
"""


def launch_of(call: Call, paths: Paths) -> Launch | None:
    """Returns what the caller must do, filled; None where a shell starts the call as the harness did."""
    return fill_launch(paths.world, call.launch) if call.launch != Launch() else None


def needs_listener(launch: Launch | None) -> bool:
    return launch is not None and any(word.startswith("unix:") for word in launch.descriptors)


def written() -> list[str]:
    return [f"cat > \"$R/caller.py\" <<'CALLER'{CALLER}CALLER"]


def words(launch: Launch, call: Call, paths: Paths) -> Iterator[str]:
    """Yields the words that stand before the command."""
    yield from ('"$PY"', "-I", '"$R/caller.py"', f"first={FIRST_DESCRIPTOR}", f"limit={max(60, round(call.timeout))}")
    for word in launch.descriptors:
        kind, _, path = word.partition(":")
        yield f"open={kind}:{LISTENER if kind == 'unix' else paths.word(path)}"
    if launch.stdin_file:
        yield f"stdin={paths.word(launch.stdin_file)}"
    if launch.terminal:
        yield "terminal=yes"
    if launch.closed:
        yield f"closed={' '.join(map(str, launch.closed))!r}"
    if launch.umask >= 0:
        yield f"umask={launch.umask:03o}"
    if call.interrupt_after:
        yield f"signal={launch.signal}"
        yield f"after={call.interrupt_after}"
        yield f"to={'codex' if launch.signal_alone else 'group'}"
    yield "--"
