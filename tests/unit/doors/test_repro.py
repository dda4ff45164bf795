"""The script is text that a shell can read, names no folder of the recorded world, and types what a person would."""

import shlex
from typing import Any

import pytest

from pytest_codexsandbox.doors.controls import UnconfinedDoor
from pytest_codexsandbox.doors.repro.paths import Paths, remark
from pytest_codexsandbox.doors.repro.script import repro_script
from pytest_codexsandbox.doors.repro.shell_commands import VERBS, in_words
from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.doors.support.observe import observe
from pytest_codexsandbox.guest import probe
from pytest_codexsandbox.model.act import Act, Call, Given, Launch
from pytest_codexsandbox.model.command import CommandResult
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import POLICIES, ROOTS
from tests.fakes.scripted import FakeSubject, ScriptedEnvironment, world

PATHS = Paths(world())
ONLY_THE_PROBE = {"stdin", "output", "beat", "spawn-lingering"}  # beside the rare verbs of probe_verbs.py
PARAMS: dict[str, dict[str, Any]] = {
    "rename": {"to": "/b"}, "link": {"to": "/b"}, "symlink": {"to": "/b"}, "chmod": {"mode": 0o600},
    "getaddrinfo": {"name": "x"}, "signal": {"number": 15}, "sleep": {"seconds": 1}, "run": {"argv": ["id"]},
    "become": {"argv": ["id"]},
}  # fmt: skip


def recorded(acts: dict[str, Act], *, door: str = "sandbox", call: Call | None = None) -> Observation:
    environment = ScriptedEnvironment(lambda command: CommandResult(ended="exit"))
    chosen = SandboxDoor() if door == "sandbox" else UnconfinedDoor()
    (seen,) = observe(chosen, environment, FakeSubject(), POLICIES[ROOTS], acts, call)
    return seen


def test_the_folders_of_the_recorded_world_become_those_of_the_script() -> None:
    word = PATHS.word('roots=["/run folder/w1/root0", "/run folder/w10/x", "/run folder/t"]')
    assert word.count('"$W"') == 1 and word.count('"$T"') == 1
    assert shlex.split(word.replace("$W", "W").replace("$T", "T")) == ['roots=["W/root0", "/run folder/w10/x", "T"]']


@pytest.mark.parametrize("text", ["", "'", '$(rm)`"\\', "a b\nc", "*"])
def test_any_text_stays_one_word(text: str) -> None:
    assert shlex.split(PATHS.word(text)) == [text]


def test_a_remark_cannot_end_its_line() -> None:
    assert "\n" not in remark("a\nrm -rf /\r\x1b[0m") and remark("a").startswith("# ")


@pytest.mark.parametrize("verb", sorted(set(probe.VERBS) - ONLY_THE_PROBE))
def test_every_act_that_a_person_could_type_is_typed(verb: str) -> None:
    words = in_words(Act(verb=verb, path="/a", params=PARAMS.get(verb, {})), PATHS)
    assert words and all(len(shlex.split(word)) == 1 for word in words)


def test_a_check_for_write_permission_is_printed_without_writing() -> None:
    words = in_words(Act(verb="may-write", path="/proc/sys/kernel/core_pattern"), PATHS)
    assert words is not None
    assert " ".join(words) == "sh -c ': >> \"$1\"' sh /proc/sys/kernel/core_pattern"


def test_no_words_are_known_for_verbs_that_do_not_exist() -> None:
    probe.verb("unshare-user")  # reads probe_verbs.py
    assert set(VERBS) <= set(probe.VERBS) - ONLY_THE_PROBE


def test_one_act_is_shown_by_the_recorded_command_around_what_a_person_types() -> None:
    given = Given(kind="file", path="@OUTSIDE@/@NAME@", content="it's old")
    acts = {"f.o/w": Act(verb="append", path="@OUTSIDE@/@NAME@", params={"data": "x"}, given=(given,))}
    script = repro_script(recorded(acts), acts=acts)
    assert '"$CODEX" -c' in script and "sandbox_workspace_write.writable_roots" in script
    assert 'sh -c \'printf %s "$2" >> "$1"\' sh "$W"/outside/tmp-w1-f-o-w x' in script
    assert '> "$W"/outside/tmp-w1-f-o-w' in script  # laid
    assert script.count('show "$W"/outside/tmp-w1-f-o-w') == 2
    assert 'HOME="$W"/home' in script and "env -i" in script


def code_of(script: str) -> str:
    return "\n".join(line for line in script.splitlines() if not line.startswith("#"))


def test_the_code_of_a_script_never_names_the_recorded_world() -> None:
    acts = {"f.o/w": Act(verb="write", path="@OUTSIDE@/@NAME@"), "p.q/s": Act(verb="stdin")}
    seen = recorded(acts)
    for chosen in (None, {}, acts, {"p.q/s": acts["p.q/s"]}):
        assert "/run folder/w1" not in code_of(repro_script(seen, acts=chosen))


def test_several_acts_are_shown_by_the_probe() -> None:
    script = repro_script(recorded({"f.o/w": Act(verb="write", path="@OUTSIDE@/x")}))
    assert '"$PY" -I -S "$PROBE" again "$PLAN"' in script and '"path":"@W@/outside/x"' in script


def test_a_call_whose_start_is_the_question_shows_the_write_that_nothing_lets_through() -> None:
    script = repro_script(recorded({}), acts={})
    assert 'sh "$W"/outside/tmp-w1-base-forbidden' in script and "PROBE" not in script


def test_a_call_of_its_own_is_shown_with_its_words_and_its_input() -> None:
    seen = recorded({}, call=Call(argv=("sh", "-c", "cat > @ROOT0@/x")))
    script = repro_script(seen, stdin=b"said\n")
    assert "sh -c 'cat > '\"$W\"/root0/x" in script and "echo c2FpZAo= | base64 -d |" in script


def test_the_start_and_end_of_a_call_are_repeated() -> None:
    acts = {"p.q/w": Act(verb="beat", params={"seconds": 20})}
    seen = recorded(acts)
    left_open = Call(launch=Launch(descriptors=("folder:@OUTSIDE@", "unix:@UNIX@"), stdin_file="@OUTSIDE@/in"))
    script = repro_script(seen, acts=acts, call=left_open)
    assert (
        'first=210 limit=60 open=folder:"$W"/outside open=unix:"$R"/listener.sock stdin="$W"/outside/in -- env -i'
        in script
    )
    assert "listener.py" in script and "signal=" not in script
    alone = Call(interrupt_after=0.2, launch=Launch(signal=15, signal_alone=True))
    script = repro_script(seen, acts=acts, call=alone)
    assert "signal=15 after=0.2 to=codex -- env -i" in script and "timeout -s" not in script
    plain = repro_script(seen, acts=acts, call=Call(interrupt_after=0.2))
    assert "caller.py" not in plain and "timeout -s INT 2 env -i" in plain


def test_the_control_is_shown_without_codex() -> None:
    script = repro_script(recorded({}, door="unconfined"), acts={})
    assert "CODEX=" not in code_of(script).replace("CODEX_HOME=", "")


def test_a_call_that_never_started_has_its_reason() -> None:
    seen = recorded({})
    script = repro_script(Observation(**{**{n: getattr(seen, n) for n in seen.__struct_fields__}, "argv": ()}))
    assert "exit 2" in script and script.startswith("#!/bin/sh\n# ")


def test_a_key_of_the_caller_is_made_before_codex_starts() -> None:
    act = Act(verb="key", params={"name": "cx-kept"})
    script = repro_script(recorded({"p.k/s": act}), acts={"p.k/s": act})
    assert "add_key" in script and '"$PY" -I "$R/key.py" cx-kept env -i' in script
    assert "key.py" not in repro_script(recorded({"p.k/s": act}), acts={})


@pytest.mark.parametrize("verb", ["http", "dns", "unix-connect"])
def test_an_act_that_talks_to_the_outside_gets_a_server_there(verb: str) -> None:
    act = Act(verb=verb, params={"address": "@UNIX@", "port": "1", "name": "x"})
    assert "listener.py" in repro_script(recorded({"n.w/a": act}), acts={"n.w/a": act})
