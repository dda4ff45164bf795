"""A shell script that a stranger can paste: fresh folders, what the act needs, the recorded command, what it left.

For one act the script uses the program that a person would type; where only the probe can show it (or for several
acts) the probe itself. The script is text, made of the observation and of what its door declares.
"""

import base64
import posixpath
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.doors.repro import caller, container_entry, setup, shared_dirs
from pytest_codexsandbox.doors.repro.paths import Paths, remark
from pytest_codexsandbox.doors.repro.shell_commands import in_words, listener_of
from pytest_codexsandbox.doors.support.placeholders import fill_act, looked_at, read_plan
from pytest_codexsandbox.model.act import Act, Call, Given, Launch
from pytest_codexsandbox.model.base_acts import CONFIGURED, FORBIDDEN
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.repro_shell import ReproShell
from pytest_codexsandbox.registry import doors

DRIVERS: Final = ("/app_server_driver.py", "/exec_turn_driver.py")
PROBE_WORDS: Final = 6  # PYTHON -I -S PROBE NONCE PLAN
BEGIN: Final = """\
set -u
umask 022  # as in the recorded call
base=${HOME:-/tmp}/.cache  # not below /tmp: Codex refuses helper programs there, and it may be a writable root itself
case $base in /tmp/*) base=/var/tmp ;; esac
mkdir -p "$base" 2>/dev/null && [ -w "$base" ] || base=/var/tmp
R=$(mktemp -d "$base/codexsandbox-repro.XXXXXX") || exit 1
others= new=
trap take_away EXIT; trap 'exit 1' HUP INT TERM
W=$R/w T=$R/t"""
ENCODE: Final = (
    "import base64, sys, zlib; text = sys.stdin.read().replace('@W@', sys.argv[1]).replace('@T@', sys.argv[2]); "
    "print(base64.b64encode(zlib.compress(text.encode())).decode())"
)
FIND: Final = (
    "import importlib.util as u, sys; "
    "print(u.find_spec('pytest_codexsandbox').submodule_search_locations[0] + '/guest/' + sys.argv[1])"
)


def repro_script(
    observation: Observation,
    *,
    acts: Mapping[str, Act] | None = None,
    call: Call | None = None,
    stdin: bytes = b"",
    entrance: ReproShell | None = None,
    about: str = "",
) -> str:
    """Returns the script for the call, or for these of its acts (with their placeholders, by id). `call`: how it was
    started, where a promise made a call of its own."""
    if observation.world is None or not observation.argv:
        return _nothing(observation)
    paths = Paths(observation.world)
    chosen = _chosen(observation, acts, paths)
    inner, before = _inner(observation, chosen, paths)
    looks = _looks(observation, chosen)
    call = call or Call()
    launch = caller.launch_of(call, paths)
    launched = tuple(caller.words(launch, call, paths)) if launch else ()
    parts = [
        "#!/bin/sh",
        *([remark(about)] if about else []),
        *(remark(paths.shown(line)) for line in _head(observation, chosen)),
        *(container_entry.enter(entrance) if entrance else ()),
        *_programs(observation),
        shared_dirs.take_away(chosen, paths.world),
        BEGIN,
        *((shared_dirs.TURN,) if _calls_codex(observation) else ()),
        f'mkdir -p "$T" {" ".join(paths.folders())}',
        setup.SHOW,
        setup.WAIT,
        *setup.lay(observation.given.get(CONFIGURED, ()), paths),
        *setup.lay(_given(observation, chosen, launch), paths),
        *(line for kind in _listeners(chosen, paths, launch) for line in setup.listener(kind)),
        *(setup.listener("dns-udp", port=53) if entrance and _asks_names(chosen) else ()),
        *before,
        *(setup.hidden() if _hides(observation) else ()),
        *(setup.key() if _keyed(chosen, paths) else ()),
        *_shown("before", looks, paths),
        *(caller.written() if launched else ()),
        *_run(
            observation, inner, paths, stdin=stdin, before=(*_keyed(chosen, paths), *(launched or _interrupted(chosen)))
        ),
        *_shown("after", looks, paths),
        'exit "$code"',
    ]
    return "\n".join(parts) + "\n"


def _nothing(observation: Observation) -> str:
    why = (observation.error or "this call was never started").replace("\n", " ")
    return f"#!/bin/sh\n{remark(why)}\necho 'there is nothing to reproduce' >&2\nexit 2\n"


def _calls_codex(observation: Observation) -> bool:
    door = doors().get(observation.door)
    return door is None or not door.is_control


def _is_driven(observation: Observation) -> bool:
    """Checks whether one of our drivers talks to Codex: PYTHON -I -S DRIVER CHANNEL COUNT CODEX …"""
    return observation.argv[3:4] != () and observation.argv[3].endswith(DRIVERS)


def _codex_at(observation: Observation) -> int:
    return 6 if _is_driven(observation) else 0


def _probes(observation: Observation) -> bool:
    return observation.argv[-2:-1] == (observation.nonce,)


def _chosen(observation: Observation, acts: Mapping[str, Act] | None, paths: Paths) -> dict[str, Act]:
    """Returns the acts to show, filled.

    Without a choice, shows the write that no sandbox permits, or the program that the call became.
    """
    if acts:
        return {act_id: fill_act(paths.world, act_id, act) for act_id, act in acts.items()}
    if not _probes(observation):
        return {}
    known = {
        asked["id"]: Act(
            verb=asked["verb"], path=asked["path"], params=asked["params"], given=observation.given.get(asked["id"], ())
        )
        for asked in read_plan(observation.argv[-1])
    }
    became = {act_id: act for act_id, act in known.items() if act.verb == "become"}
    return known if acts is None else became or {FORBIDDEN: known[FORBIDDEN]}


def _head(observation: Observation, chosen: Mapping[str, Act]) -> list[str]:
    lines = [
        f"{observation.policy}, door {observation.door}: the call ended with {observation.ended} {observation.code}"
    ]
    for act_id, act in chosen.items():
        row = observation.rows.get(act_id)
        said = "was not reached" if row is None else "worked" if row.ok else f"{row.errno or row.detail} at {row.step}"
        lines.append(f"{act_id} ({act.verb} {act.path}): {said}")
    return lines[:20]


def _programs(observation: Observation) -> list[str]:
    """Returns lines that set variables for programs with another path on another machine."""
    values = observation.world.values if observation.world else {}
    lines = ["# Another Codex or Python: CODEX=/path/to/codex PY=python3 sh THIS-FILE"]
    if _calls_codex(observation):
        lines.append(f"CODEX=${{CODEX:-{_inside_braces(observation.argv[_codex_at(observation)])}}}")
    lines.append(f"PY=${{PY:-{_inside_braces(values.get('PYTHON', 'python3'))}}}")
    lines.append('command -v "$PY" > /dev/null || PY=python3')
    if _is_driven(observation):
        driver = observation.argv[3]
        lines += _found("DRIVER", driver, posixpath.basename(driver))
    return lines


def _found(variable: str, program: str, name: str) -> list[str]:
    """Returns lines that find one of our programs: at its recorded path, or else by its name where it is installed."""
    return [
        f"{variable}=${{{variable}:-{_inside_braces(program)}}}",
        f'[ -r "${variable}" ] || {variable}=$("$PY" -c {shlex.quote(FIND)} {name})',
    ]


def _inside_braces(text: str) -> str:
    return "".join(f"\\{sign}" if not (sign.isalnum() or sign in "/._-+") else sign for sign in text)


def _listeners(chosen: Mapping[str, Act], paths: Paths, launch: Launch | None) -> list[str]:
    left_open = ["unix"] if caller.needs_listener(launch) else []
    found = (*left_open, *(listener_of(act, paths) for act in chosen.values()))
    return [kind for kind in dict.fromkeys(found) if kind][:1]


def _interrupted(chosen: Mapping[str, Act]) -> tuple[str, ...]:
    return ("timeout", "-s", "INT", "2") if any(act.verb == "beat" for act in chosen.values()) else ()


def _keyed(chosen: Mapping[str, Act], paths: Paths) -> tuple[str, ...]:
    """Returns the words that keep the key that an act looks for in the caller's session keyring; () if none does."""
    names = [act.params["name"] for act in chosen.values() if act.verb == "key" and act.params.get("name")]
    return ('"$PY"', "-I", '"$R/key.py"', paths.word(names[0])) if names else ()


def _asks_names(chosen: Mapping[str, Act]) -> bool:
    """Checks whether an act queries the system's own name service, which queries our DNS responder inside."""
    return any(act.verb == "getaddrinfo" for act in chosen.values())


def _given(observation: Observation, chosen: Mapping[str, Act], launch: Launch | None) -> Iterator[Given]:
    """Yields the files that the acts need. A launch may open a file of any act of the call."""
    yield from (given for act in chosen.values() for given in act.given)
    if launch is not None:
        yield from (given for act_id, files in observation.given.items() if act_id != CONFIGURED for given in files)


def _looks(observation: Observation, chosen: Mapping[str, Act]) -> list[str]:
    return [path for act in chosen.values() for path in looked_at(act)]


def _hides(observation: Observation) -> bool:
    return observation.world is not None and observation.world.values.get("HIDDEN") in observation.argv


def _inner(observation: Observation, chosen: Mapping[str, Act], paths: Paths) -> tuple[Sequence[str], list[str]]:
    """Returns the words inside the sandbox, and the lines that must run before them."""
    if not _probes(observation):
        return (), []
    words = in_words(next(iter(chosen.values())), paths) if len(chosen) == 1 else None
    if words is not None:
        return words, []
    probe = observation.argv[-PROBE_WORDS:][3]
    asked = [{"id": act_id, "verb": a.verb, "path": a.path, "params": a.params} for act_id, a in chosen.items()]
    plan = paths.marked(msgspec.json.encode({"acts": asked}).decode())
    before = [
        *_found("PROBE", probe, "probe.py"),
        f'PLAN=$("$PY" -I -c {paths.word(ENCODE)} "$W" "$T" <<\'ACTS\'\n{plan}\nACTS\n)',
    ]
    return ('"$PY"', "-I", "-S", '"$PROBE"', "again", '"$PLAN"'), before


def _run(
    observation: Observation, inner: Sequence[str], paths: Paths, *, stdin: bytes, before: Sequence[str]
) -> list[str]:
    """Returns lines that make the call. `before`: the words of a program that starts it."""
    own = PROBE_WORDS if _probes(observation) else 0
    outer = list(paths.words(observation.argv[: len(observation.argv) - own]))
    if _calls_codex(observation):
        outer[_codex_at(observation)] = '"$CODEX"'
    if _is_driven(observation):
        outer[0], outer[3] = '"$PY"', '"$DRIVER"'
    variables = [f"{name}={paths.word(value)}" for name, value in observation.env.items()]
    words = " ".join([*outer, *inner, *((f"{shared_dirs.LOCK}<&-",) if _calls_codex(observation) else ())])
    given = (b"go\n" if '"$PLAN"' in inner else b"") + stdin
    feed = f"echo {base64.b64encode(given).decode()} | base64 -d |" if given else ""
    if not feed and '"$R/caller.py"' in before:
        feed = ": |"
    return [
        f"cd {paths.word(observation.cwd)} || exit 1",
        "\n".join(
            [
                " ".join(filter(None, (feed, *before, "env -i \\"))),
                *(f"  {variable} \\" for variable in variables),
                f"  {words}",
            ]
        ),
        "code=$?",
        "printf '\\n== exit code %s\\n' \"$code\"",
    ]


def _shown(when: str, looks: Sequence[str], paths: Paths) -> list[str]:
    return [f"echo '== {when}, seen from outside'", *setup.shows(looks, paths)] if looks else []
