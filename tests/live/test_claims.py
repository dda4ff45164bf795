"""What the real Codex says about a file, and that what it says is about this file."""

import time

import pytest

from pytest_codexsandbox.doors.app_server import AppServerDoor
from pytest_codexsandbox.doors.claims import Claimant, effective
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.generator import GeneratedFile
from pytest_codexsandbox.model.policy import POLICIES, WORKSPACE_WRITE
from pytest_codexsandbox.protocols import Environment, Subject
from tests.fakes.machine import local_environment


def test_each_mode_is_said_with_its_roots_and_its_network(claimant: Claimant) -> None:
    root = claimant.world.values["ROOT0"]
    wide = f'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = ["{root}/a", "/srv"]\n'
    for text, expected in {
        "": ("read-only", False, (), False, False),
        'sandbox_mode = "workspace-write"': ("workspace-write", False, (), False, False),
        wide + "network_access = true\n": ("workspace-write", True, ("@ROOT0@/a", "/srv"), False, False),
        wide + "exclude_slash_tmp = true": ("workspace-write", False, ("@ROOT0@/a", "/srv"), True, False),
        'sandbox_mode = "danger-full-access"\n': ("danger-full-access", True, (), False, False),
    }.items():
        claim = claimant.claim(text.encode())
        told = (claim.sandbox, claim.network, claim.roots, claim.exclude_slash_tmp, claim.exclude_tmpdir)
        assert (claim.loads, claim.fresh, told) == (True, False, expected), (text, claim)


def test_permission_profiles_are_understood(claimant: Claimant) -> None:
    own = f"""
        default_permissions = "mine"
        [permissions.mine]
        extends = ":workspace"
        [permissions.mine.filesystem]
        "{claimant.world.values["ROOT0"]}" = "write"
        [permissions.mine.network]
        enabled = true
    """
    for text, expected in {
        'default_permissions = ":workspace"': (":workspace", "workspace-write", False, ()),
        'default_permissions = ":read-only"': (":read-only", "read-only", False, ()),
        'default_permissions = ":danger-full-access"': (":danger-full-access", "danger-full-access", True, ()),
        own: ("mine", "workspace-write", True, ("@ROOT0@",)),
    }.items():
        claim = claimant.claim(text.encode())
        assert (claim.profile, claim.sandbox, claim.network, claim.roots) == expected, claim


def test_a_profile_beside_a_mode_voids_it(claimant: Claimant) -> None:
    both = b'sandbox_mode = "danger-full-access"\ndefault_permissions = ":read-only"\n'
    assert claimant.claim(both).sandbox == "read-only"


@pytest.mark.parametrize(
    "text", [b"x = \n", b'sandbox_mode = "bogus"\n', b'features = "all"\n', b"\xff\xfe", b"a = 1\r"]
)
def test_a_file_that_does_not_load_is_confirmed_by_a_process_of_its_own(claimant: Claimant, text: bytes) -> None:
    claim = claimant.claim(text)
    assert (claim.loads, claim.fresh) == (False, True), claim
    assert "config.toml" in claim.error or "features" in claim.error
    assert claimant.claim(b'sandbox_mode = "workspace-write"\n').sandbox == "workspace-write", "and the next one loads"


@pytest.mark.parametrize(
    "text",
    [
        b'[features]\nplugins = "no"\n',
        b"[features]\nshell_snapshot = 3\n",
        b"[[features]]\nx = 1\n",
        b'"fe\\u0061tures" = 1\n',
        b"\xef\xbb\xbffeatures = 1\n",
        b"[features.plugins]\nx = 1\n",
    ],
)
def test_options_that_keep_a_server_quiet_hide_nothing(claimant: Claimant, text: bytes) -> None:
    for claim in (claimant.claim(text), claimant.claim(text, fresh=True), claimant.claim(text, argv=("-c", "a=1"))):
        assert not claim.loads, claim


def test_nor_in_a_projects_own_file(claimant: Claimant) -> None:
    place = claimant.world.values["WORKSPACE"]
    user = f'[projects."{place}"]\ntrust_level = "trusted"\n'.encode()
    for text, loads in ((b'[features]\nplugins = "no"\n', False), (b"[features]\nplugins = true\n", True)):
        assert (
            claimant.claim(user, files={"@WORKSPACE@/.codex/config.toml": GeneratedFile(content=text)}).loads is loads
        )


def test_a_file_to_which_nothing_can_be_added_is_asked_about_as_it_is(claimant: Claimant) -> None:
    claim = claimant.claim(b'sandbox_mode = "workspace-write"\nprojects = { "/x" = { trust_level = "trusted" } }\n')
    assert (claim.loads, claim.fresh, claim.sandbox) == (True, True, "workspace-write")
    assert list(claim.config["projects"]) == ["/x"]


def test_the_word_that_proves_it_is_in_no_claim(claimant: Claimant) -> None:
    assert "codexsandbox/" not in str(claimant.claim(b'model = "m"\n').config)


def test_no_file_is_not_the_file_before(claimant: Claimant) -> None:
    claimant.claim(b'sandbox_mode = "danger-full-access"\n')
    claim = claimant.claim(None)
    assert (claim.loads, claim.sandbox, claim.fresh) == (True, "read-only", True)


def test_a_trusted_projects_own_file_counts_and_is_gone_afterwards(claimant: Claimant) -> None:
    place = claimant.world.values["WORKSPACE"]
    user = f'sandbox_mode = "read-only"\n[projects."{place}"]\ntrust_level = "trusted"\n'.encode()
    project = {"@WORKSPACE@/.codex/config.toml": GeneratedFile(content=b'sandbox_mode = "danger-full-access"\n')}
    assert claimant.claim(user, files=project).sandbox == "danger-full-access"
    assert claimant.claim(user).sandbox == "read-only"
    assert claimant.claim(user, fresh=True).sandbox == "read-only"


def test_overrides_and_variables_are_asked_of_a_process_of_their_own(claimant: Claimant) -> None:
    claim = claimant.claim(b"", argv=("-c", 'sandbox_mode="workspace-write"'))
    assert (claim.sandbox, claim.fresh) == ("workspace-write", True)
    assert claimant.claim(b'sandbox_mode = "read-only"\n', argv=("-s", "workspace-write")).sandbox == "workspace-write"
    broken = claimant.claim(
        b"", argv=("-c", "sandbox_workspace_write.writable_roots=[/x]", "-c", 'sandbox_mode="workspace-write"')
    )
    assert not broken.loads and "sequence" in broken.error
    elsewhere = f"{claimant.world.values['ROOT0']}/other-home"
    laid = {"@ROOT0@/other-home/config.toml": GeneratedFile(content=b'sandbox_mode = "danger-full-access"\n')}
    assert claimant.claim(b"", files=laid, env={"CODEX_HOME": elsewhere}).sandbox == "danger-full-access"


@pytest.mark.parametrize(
    "file",
    [b"", b'[mcp_servers.docs]\ncommand = "docs"\n', b'[mcp_servers."a.b"]\ncommand = "docs"\n'],
    ids=["none", "plain", "with-a-dot"],
)
def test_an_mcp_server_that_only_arguments_give_loads_and_is_not_started(
    claimant: Claimant, machine: Environment, file: bytes
) -> None:
    made = f"{claimant.world.values['OUTSIDE']}/started-by-arguments"
    argv = ("-c", 'mcp_servers.given.command="/bin/touch"', "-c", f'mcp_servers.given.args=["{made}"]')
    claim = claimant.claim(file, argv=argv)
    assert claim.loads, claim
    time.sleep(0.3)
    assert machine.look(claimant.world, ["@OUTSIDE@/started-by-arguments"]).popitem()[1].kind == "missing"
    incomplete = claimant.claim(file, argv=("-c", 'mcp_servers.given.env.KEY="x"'))
    assert not incomplete.loads and "transport" in incomplete.error, incomplete


@pytest.mark.parametrize("name", ['"a.b"', "plain", '"with space"'])
def test_no_mcp_server_of_a_file_is_started(claimant: Claimant, machine: Environment, name: str) -> None:
    made = f"{claimant.world.values['OUTSIDE']}/started"
    server = f'[mcp_servers.{name}]\ncommand = "/bin/touch"\nargs = ["{made}"]\n'.encode()
    assert claimant.claim(server).loads
    assert claimant.claim(server, fresh=True).loads
    time.sleep(0.3)
    assert machine.look(claimant.world, ["@OUTSIDE@/started"])["@OUTSIDE@/started"].kind == "missing"


def test_many_files_are_asked_about_by_few_servers(
    machine: Environment, codex: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_codexsandbox.doors.claims.MANY", 5)
    with Claimant(machine, codex) as claimant:
        for number in range(12):
            claim = claimant.claim(f'model = "m{number}"\n'.encode())
            assert (claim.config["model"], claim.fresh) == (f"m{number}", False)


def test_claims_differ_by_the_deciding_fields_alone(claimant: Claimant) -> None:
    mode = b'sandbox_mode = "workspace-write"\n'
    one, same, other = (
        effective(claimant.claim(config))
        for config in (
            mode,
            b"# other bytes\n" + mode + b'model = "m"\n',
            mode + b"sandbox_workspace_write.network_access = true\n",
        )
    )
    assert one == same != other


def test_the_door_is_named_by_which_a_release_is_left_out() -> None:
    assert AppServerDoor.needs == ("app-server",)


def test_a_server_that_keeps_running_does_not_prevent_a_call_of_codex(codex: Subject) -> None:
    """Those who share /tmp take turns there, call by call: a server that is only asked takes none."""
    with local_environment() as one, local_environment() as other, Claimant(one, codex) as claimant:
        assert claimant.claim(b"").loads
        for environment in (one, other):
            (seen,) = AppServerDoor().observe(environment, codex, POLICIES[WORKSPACE_WRITE], {}, Call(timeout=60.0))
            assert (seen.finished, seen.litter, seen.survivors) == (True, (), ()), seen.stderr
        assert claimant.claim(b'model = "m"\n').fresh is False
