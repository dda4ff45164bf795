"""P11 and P12: arguments as Codex reads them, and what file and arguments grant together."""

import json
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.generators.checks.argv import argv_as_codex_reads
from pytest_codexsandbox.generators.checks.grant_limits import grants_no_more
from pytest_codexsandbox.model.generator import CaseRun, CodexLaunch, DecisionRow, Declaration, ExpectedPolicy, Intent
from tests.unit.generators.builders import ANY, WORLD, case_run, ended, files, held, reasons, run, skips, state

MODE = ("-c", 'sandbox_mode="workspace-write"')
OFF = ("-c", "sandbox_workspace_write.network_access=false")
ROOT0 = "/stage/root0"
QUOTED = '/stage/root0/x","/'


def raw(listed: str) -> tuple[str, str]:
    return ("-c", f"sandbox_workspace_write.writable_roots=[{listed}]")


def roots(*paths: str) -> tuple[str, str]:
    return raw(", ".join(json.dumps(path, ensure_ascii=False) for path in paths))


def asked(*paths: str, **words: Any) -> Intent:
    return Intent(roots=paths, **words)


def ended_story(argv: tuple[str, ...], intent: Intent, before: bytes | None = None) -> CaseRun:
    one = run(before, argv=argv)
    return case_run(before, before, runs=(one, one, one), intent=intent, alone=None)


# ---- P11


@pytest.mark.parametrize(
    ("argv", "intent"),
    [
        ((*MODE, *roots(ROOT0), *OFF), asked("@ROOT0@")),
        (("-s", "workspace-write", *roots(ROOT0), *OFF), asked("@ROOT0@")),
        (("--sandbox=workspace-write", "--add-dir", ROOT0), asked("@ROOT0@")),
        ((*MODE, *roots(QUOTED), *OFF), asked('@ROOT0@/x","/')),
        ((*MODE, *roots("/stage/outside/rocket 🚀"), *OFF), asked("@OUTSIDE@/rocket 🚀")),
        ((*MODE, *roots("/stage/outside/a\nb"), *OFF), asked("@OUTSIDE@/a\nb")),
        ((*MODE, *roots(ROOT0), *OFF), asked("@ROOT0@", "@ROOT0@/", "@ROOT0@/inner")),
        ((*MODE, *OFF), asked("")),
        ((*MODE, *roots("/"), *OFF), asked("/")),
        ((*MODE, *OFF), asked("board")),
        ((*MODE, *roots("/stage/workspace/board"), *OFF), asked("board")),
        ((*MODE, *roots(ROOT0, ROOT0 + "/inner"), *OFF), asked("@ROOT0@")),
        ((*MODE, "-c", "sandbox_workspace_write.network_access=true"), asked(network=True)),
        (("-c", "sandbox_workspace_write={network_access=false}", "-c", "sandbox_mode=workspace-write"), asked()),
        (("-c", "mcp_servers.x.command=y"), asked()),
        ((*MODE, "-c", "approval_policy={granular={rules=true}}"), asked()),
        (("--config=sandbox_mode='workspace-write'", "-c=model=x"), asked()),
    ],
)
def test_arguments_that_say_what_was_asked_pass(argv: tuple[str, ...], intent: Intent) -> None:
    assert held(argv_as_codex_reads(ended_story(argv, intent), ANY))


@pytest.mark.parametrize(
    ("argv", "intent", "reason"),
    [
        ((*MODE, *raw('"/stage/root0/x","/"')), asked('@ROOT0@/x","/'), "injected-root"),
        (
            (*MODE, *raw('"/stage/root0", "/stage/root0/x","/stage/root0/y"')),
            asked("@ROOT0@", '@ROOT0@/x","/stage/root0/y'),
            "injected-root",
        ),
        (("--add-dir=/stage",), asked(), "another-mode"),
        (("-c", 'default_permissions=":danger-full-access"'), asked(), "another-mode"),
        ((*MODE, *raw('"/a"b"')), asked('/a"b'), "becomes-a-string"),
        ((*MODE, *raw('"C:\\Users\\x"')), asked("C:\\Users\\x"), "becomes-a-string"),
        ((*MODE, *raw('"\\ud83d\\ude80"')), asked("/🚀"), "becomes-a-string"),
        ((*MODE, *roots("/stage")), asked("@ROOT0@"), "root-added"),
        ((*MODE, *OFF), asked("@ROOT0@"), "root-missing"),
        ((*MODE, *roots("/a"), *roots(ROOT0)), asked("@ROOT0@", "/a"), "root-missing"),
        ((*MODE, "-c", "sandbox_workspace_write.network_access=True"), asked(), "becomes-a-string"),
        ((*MODE, "-c", "sandbox_workspace_write.network_access=1"), asked(), "wrong-type"),
        ((*MODE, "-c", "sandbox_workspace_write.network_access=true"), asked(), "another-network"),
        ((*MODE, *OFF), asked(network=True), "another-network"),
        (("-c", 'sandbox_mode="danger-full-access"'), asked(), "another-mode"),
        (("--yolo",), asked(), "another-mode"),
        (("-sdanger-full-access",), asked(), "another-mode"),
        (("--sandbox", "danger-full-access"), asked(), "another-mode"),
        (("--dangerously-bypass-approvals-and-sandbox",), asked(), "another-mode"),
        (("--full-auto",), asked("@ROOT0@"), "root-missing"),
        (("--approve-for-me",), asked("@ROOT0@"), "root-missing"),
        (("--full-auto", "--add-dir", "/stage"), asked(), "root-added"),
        (("--add-dir", "/stage"), asked(), "another-mode"),
        ((*MODE, "-c", "sandbox_workspace_write={writable_roots={}}"), asked(), "wrong-type"),
        ((*MODE, "-c", "sandbox_workspace_write={network_access='false'}"), asked(), "wrong-type"),
        (("-c", "sandbox_mode=1"), asked(), "wrong-type"),
        (("-c", "approval_policy=1"), asked(), "wrong-type"),
        (("-c", "default_permissions=1"), asked(), "wrong-type"),
        (("-c", "sandbox_workspace_write=1"), asked(), "wrong-type"),
        (("-c", "sandbox_workspace_write.writable_roots=1"), asked(), "wrong-type"),
        (("-c", "mcp_servers.x={a=b}"), asked(), "becomes-a-string"),
        (("-c", "mcp_servers.'a.b'.command=x"), asked(), "quoted-key"),
        ((*MODE, "-c", 'default_permissions=":read-only"'), asked(), "another-mode"),
        (("-c", "sandbox_mode"), asked(), "no-override"),
        (("-c", "=1"), asked(), "no-override"),
        (("-c", 'mcp_servers."a.b".command="x"'), asked(), "quoted-key"),
    ],
)
def test_arguments_that_say_something_else_are_found(argv: tuple[str, ...], intent: Intent, reason: str) -> None:
    assert reason in reasons(argv_as_codex_reads(ended_story(argv, intent), ANY))


@pytest.mark.parametrize(
    ("argv", "intent", "directions"),
    [
        (("--yolo",), asked(), {"leak"}),
        (("-s", "read-only"), asked(), {"denied"}),
        (("-c", "sandbox_mode=nonsense"), asked(), {"denied"}),
        ((*MODE, "-c", "sandbox_workspace_write.network_access=true"), asked(), {"leak"}),
        ((*MODE, *OFF), asked(network=True), {"denied"}),
        ((*MODE, *OFF), asked("@ROOT0@"), {"denied"}),
        ((*MODE, *roots("/")), asked(), {"leak"}),
        ((*MODE, *raw('"/stage/root0/x","/"')), asked('@ROOT0@/x","/'), {"leak"}),
        ((*MODE, "-c", "x"), asked(), {"denied"}),
        ((*MODE, "-c", "a.'b'=1"), asked(), {"denied"}),
        ((*MODE, "-c", "a=[x]"), asked(), {"denied"}),
    ],
)
def test_more_than_was_asked_is_a_leak_and_less_is_denied(
    argv: tuple[str, ...], intent: Intent, directions: set[str]
) -> None:
    assert {one.direction for one in argv_as_codex_reads(ended_story(argv, intent), ANY)} == directions


def test_a_profile_that_the_arguments_choose_says_what_they_say() -> None:
    def chosen(text: bytes, *argv: str) -> set[str]:
        there = files(b"") | {"@CODEX_HOME@/mine.config.toml": state(text)}
        told = case_run(b"", b"", runs=(run(None, files=there, argv=argv),), intent=asked(), alone=None)
        return reasons(argv_as_codex_reads(told, ANY))

    for key in (b'sandbox_mode = "danger-full-access"\n', b'default_permissions = ":danger-full-access"\n'):
        assert chosen(key, "-p", "mine") == chosen(key, "-pmine") == {"another-mode"}
        assert chosen(key, "-p", "other") == set()
    assert chosen(b'model = "x"\n', "-p", "mine") == set(), "it chooses a model, and says nothing of a policy"


def test_one_that_says_no_arguments_at_its_end_is_asked_for_none() -> None:
    assert "generator.ends-by-itself" in skips(argv_as_codex_reads(ended(b"", ended="timeout", argv=MODE), ANY))


WHOLE_MACHINE = ('{"/"="write"}', '{":root"="write"}', '{":root"={"."="write"}}', '{"/"={"."="write"}}')
READ_ONLY = DecisionRow(expect=ExpectedPolicy(sandbox="read-only"))


def profile(filesystem: str, extends: str = ":workspace") -> tuple[str, ...]:
    """Arguments that choose a permissions profile with these folders."""
    said = ('default_permissions="p"', f'permissions.p.extends="{extends}"', f"permissions.p.filesystem={filesystem}")
    return tuple(word for one in said for word in ("-c", one))


@pytest.mark.parametrize("filesystem", WHOLE_MACHINE)
@pytest.mark.parametrize("extends", [":workspace", ":read-only"])
def test_a_profile_that_opens_the_whole_machine_is_a_leak_in_every_spelling(filesystem: str, extends: str) -> None:
    """As the real Codex was seen to read them."""
    asks = READ_ONLY if extends == ":read-only" else None
    told = msgspec.structs.replace(ended_story(profile(filesystem, extends), asked()), row=asks)
    for check, reason in ((argv_as_codex_reads, "root-added"), (grants_no_more, "whole-machine")):
        found = check(told, ANY)
        assert reasons(found) == {reason}, found
        assert {one.direction for one in found} == {"leak"}


@pytest.mark.parametrize(
    "filesystem",
    [
        f'{{"{ROOT0}"="write"}}',
        f'{{"{ROOT0}"={{"."="write"}}}}',
        '{":root"="read"}',
        '{":nothing"="write"}',
        '{":tmpdir"="write", ":slash_tmp"="write"}',
        '{":workspace_roots"={"."="write", "**/*.env"="none"}}',
    ],
)
def test_a_profile_that_opens_what_was_asked_is_none(filesystem: str) -> None:
    told = ended_story(profile(filesystem), asked("@ROOT0@") if ROOT0 in filesystem else asked())
    assert held(argv_as_codex_reads(told, ANY))
    assert held(grants_no_more(told, ANY))


@pytest.mark.parametrize("filesystem", ['{":workspace_roots"="write"}', '{"/stage/workspace"={"."="write"}}'])
def test_if_no_write_is_allowed_the_workspace_is_read_only_too(filesystem: str) -> None:
    told = msgspec.structs.replace(ended_story(profile(filesystem, ":read-only"), asked()), row=READ_ONLY)
    assert reasons(argv_as_codex_reads(told, ANY)) == {"root-added"}
    assert reasons(grants_no_more(told, ANY)) == {"not-asked"}


def test_a_workspace_that_can_be_written_is_more_than_nothing() -> None:
    """Whoever asked for read-only and left, or wrote, workspace-write has granted a folder."""
    bare = b'[mcp_servers.demo]\ncommand = "x"\n'
    wide = case_run(b"", WW.encode(), row=READ_ONLY, alone=WW.encode())
    assert reasons(grants_no_more(wide, ANY)) == {"another-mode"}
    assert {one.direction for one in grants_no_more(wide, ANY)} == {"leak"}
    left = case_run(WW.encode(), WW.encode(), row=READ_ONLY, alone=b'sandbox_mode = "read-only"\n')
    assert reasons(grants_no_more(left, ANY)) == {"another-mode"}
    assert held(grants_no_more(case_run(WW.encode(), WW.encode() + bare, row=READ_ONLY, alone=bare), ANY)), "the user's"
    narrow = b'sandbox_mode = "read-only"\n'
    assert held(grants_no_more(case_run(b"", narrow, row=READ_ONLY, alone=narrow), ANY))


def test_a_sandbox_that_the_users_own_words_have_off_is_nothing_that_was_granted_as_asked() -> None:
    free = b'default_permissions = ":danger-full-access"\n'
    told = case_run(free, free + WW.encode(), intent=asked("@ROOT0@", network=None), alone=WW.encode())
    assert "makes it danger-full-access" in skips(grants_no_more(told, ANY))


def test_the_file_is_read_below_the_arguments() -> None:
    """`default_permissions` in the file loses against a mode in the arguments; roots of the file are replaced."""
    before = b'default_permissions = ":read-only"\n[sandbox_workspace_write]\nwritable_roots = ["/mine"]\n'
    assert held(argv_as_codex_reads(ended_story((*MODE, *roots(ROOT0)), asked("@ROOT0@"), before), ANY))
    assert reasons(argv_as_codex_reads(ended_story(MODE, asked("@ROOT0@"), before), ANY)) == {
        "root-missing",
        "root-added",
    }


def test_the_word_of_the_row_decides_and_launches_count() -> None:
    launch = CodexLaunch(argv=("app-server", *MODE, *roots("/stage/root0/board"), *OFF))
    one = run(None, launches=(CodexLaunch(argv=("--version",)), launch))
    told = case_run(
        None,
        None,
        runs=(one,),
        intent=asked("@ROOT0@"),
        row=DecisionRow(expect=ExpectedPolicy(network=False, roots=("@ROOT0@/board",))),
    )
    assert held(argv_as_codex_reads(told, ANY))


def test_without_arguments_nothing_can_be_read() -> None:
    assert "no arguments" in skips(argv_as_codex_reads(case_run(b"", b"a = 1\n"), ANY))


def test_an_unmentioned_network_is_the_users() -> None:
    before = b"[sandbox_workspace_write]\nnetwork_access = true\n"
    assert held(argv_as_codex_reads(ended_story(MODE, asked(network=None), before), ANY))
    assert reasons(argv_as_codex_reads(ended_story(MODE, asked(), before), ANY)) == {"another-network"}


def granting(text: str, intent: Intent | None = None, *, before: bytes = b"") -> CaseRun:
    return case_run(before, before + text.encode(), intent=intent or asked("@ROOT0@"))


WW = 'sandbox_mode = "workspace-write"\n'


def table(*paths: str, more: str = "") -> str:
    return f"{WW}[sandbox_workspace_write]\nwritable_roots = {json.dumps(paths)}\n{more}"


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        (table(ROOT0), asked("@ROOT0@")),
        (table(ROOT0 + "/"), asked("@ROOT0@")),
        (table(ROOT0, ROOT0 + "/inner"), asked("@ROOT0@")),
        (table(), asked()),
        (table(), asked("@WORKSPACE@/sub")),
        (table(ROOT0, more="network_access = true\n"), asked("@ROOT0@", network=True)),
        (
            f'default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
            f'filesystem = {{"{ROOT0}" = "write"}}\n',
            asked("@ROOT0@"),
        ),
        (table("/"), asked("/")),
    ],
)
def test_a_policy_that_covers_the_intent_and_no_more_passes(text: str, intent: Intent) -> None:
    assert held(grants_no_more(granting(text, intent), ANY))


@pytest.mark.parametrize(
    ("text", "intent", "reason"),
    [
        (table("/"), asked("@ROOT0@"), "whole-machine"),
        (table("/stage/home", ROOT0), asked("@ROOT0@"), "whole-home"),
        (table("~", ROOT0), asked("@ROOT0@"), "whole-home"),
        (table("/stage/home/.codex", ROOT0), asked("@ROOT0@"), "own-configuration"),
        (table(ROOT0), asked("@ROOT0@/boards/main"), "parent-granted"),
        (table(ROOT0, "/stage/sibling"), asked("@ROOT0@"), "not-asked"),
        (table("/stage/root"), asked("@ROOT0@"), "root-missing"),
        (table(), asked("@ROOT0@"), "root-missing"),
        (table(ROOT0, more="network_access = true\n"), asked("@ROOT0@"), "network-added"),
        ('sandbox_mode = "danger-full-access"\n', asked(), "no-sandbox"),
        ('default_permissions = ":workspace"\n' + table(ROOT0), asked("@ROOT0@"), "root-missing"),
    ],
)
def test_too_much_and_too_little_are_found(text: str, intent: Intent, reason: str) -> None:
    assert reason in reasons(grants_no_more(granting(text, intent), ANY))


def test_a_grant_by_the_user_is_the_users() -> None:
    before = table("/mine", more="network_access = true\n").encode()
    one = case_run(
        before, before.replace(b'["/mine"]', f'["/mine", "{ROOT0}"]'.encode()), intent=asked("@ROOT0@", network=None)
    )
    assert held(grants_no_more(one, ANY))
    intent = asked("@ROOT0@", network=False)
    two = case_run(before, before.replace(b'["/mine"]', f'["/mine", "{ROOT0}"]'.encode()), intent=intent)
    assert reasons(grants_no_more(two, ANY)) == {"network-left-on"}


def test_one_that_has_nothing_to_do_with_policies_grants_nothing() -> None:
    server = b'[mcp_servers.demo]\ncommand = "x"\n'
    free = b'sandbox_mode = "danger-full-access"\n'
    assert held(grants_no_more(case_run(free, free + server, alone=server, intent=asked("@ROOT0@")), ANY))


def test_a_generator_that_changes_a_policy_of_the_users_is_responsible_for_it() -> None:
    """Though it writes none where there is no file."""
    server = b'[mcp_servers.demo]\ncommand = "x"\n'
    before = table("/mine", more="network_access = true\n").encode()
    touched = before.replace(b'"/mine"', b'"/mine", "/stage/workspace/x"')
    assert held(grants_no_more(case_run(before, before + server, alone=server, intent=asked("@ROOT0@")), ANY))
    told = grants_no_more(case_run(before, touched + server, alone=server, intent=asked("@ROOT0@")), ANY)
    assert reasons(told) == {"root-missing", "network-left-on"}
    assert {one.reason: one.direction for one in told} == {"root-missing": "denied", "network-left-on": "leak"}


def test_a_trusted_project_and_the_arguments_are_later_layers() -> None:
    user = b'[projects."/stage/workspace"]\ntrust_level = "trusted"\n'
    project = {"@WORKSPACE@/.codex/config.toml": state(b'sandbox_mode = "read-only"\n')}
    one = run(None, files=files(user + table(ROOT0).encode()) | project)
    told = skips(grants_no_more(case_run(user, None, runs=(one,), intent=asked("@ROOT0@")), ANY))
    assert "project" in told and "read-only" in told and "effective.says-what-was-asked" in told
    arguments = run(None, files=files(user) | project, argv=(*MODE, *roots(ROOT0)))
    assert held(grants_no_more(case_run(user, None, runs=(arguments,), intent=asked("@ROOT0@")), ANY))
    wide = run(None, files=files(user), argv=(*MODE, *roots("/")))
    assert "whole-machine" in reasons(grants_no_more(case_run(user, None, runs=(wide,), intent=asked("@ROOT0@")), ANY))


def test_a_broken_file_grants_nothing_that_could_be_read() -> None:
    assert "generator.parses" in skips(grants_no_more(case_run(b"", b"a =\n"), ANY))
    assert skips(grants_no_more(ended(b"", code=3, reason="no"), Declaration(refuse_exit=(3,))))
    assert WORLD["ROOT0"] == ROOT0


def test_a_grant_by_the_user_in_words_that_were_not_in_force_is_the_users() -> None:
    before = b'[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = ["/mine"]\n'
    told = case_run(before, WW.encode() + before, intent=asked(network=None))
    assert held(grants_no_more(told, ANY))
    assert reasons(grants_no_more(case_run(before, WW.encode() + before, intent=asked()), ANY)) == {"network-left-on"}
