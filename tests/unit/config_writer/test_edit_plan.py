"""The exemplary generator's pure half: what it makes of a file, and what it refuses."""

from collections.abc import Callable

import msgspec
import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.config_writer import PlannedEdit, PolicyRequest, Refusal, edit_plan, edits, plan
from pytest_codexsandbox.config_writer.managed_block import Marks
from pytest_codexsandbox.config_writer.toml_statements import NotToml, cut

BEGIN, END = Marks("codexsandbox").begin.encode(), Marks("codexsandbox").end.encode()
WANTED = PolicyRequest(roots=("/srv/board",))
BLOCK = (
    BEGIN + b'\nsandbox_mode = "workspace-write"\nsandbox_workspace_write.network_access = false\n'
    b'sandbox_workspace_write.writable_roots = ["/srv/board"]\n' + END + b"\n"
)
USER = b'# mine\nmodel = "x"  # big\n\n# servers\n[mcp_servers.a]\ncommand = "a"\nstartup_timeout_sec = 1.0\n'


def planned(content: bytes | None, wanted: PolicyRequest = WANTED) -> bytes:
    made = plan(content, wanted)
    assert isinstance(made, PlannedEdit), made
    again = plan(made.content, wanted)
    assert isinstance(again, PlannedEdit)
    assert (again.content, again.changed) == (made.content, False), "the second run changes nothing"
    return made.content


def refused(content: bytes | None, wanted: PolicyRequest = WANTED) -> str:
    made = plan(content, wanted)
    assert isinstance(made, Refusal), made
    return made.what


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"# c",
        b"# c\n",
        USER,
        USER.rstrip(b"\n"),
        USER.replace(b"\n", b"\r\n"),
        b'"\xc3\xa9" = 1',
        b"[[hooks.x]]\na = 1\n",
        b"[a.b.c]\nx = 1\n[a]\ny = 2\n",
        b'x = [\n[1],\n]\ny = """\n[z]\nsandbox_mode = "no"\n"""\n',
        b'# sandbox_mode = "read-only"\nsandbox_mode_note = 1\n[profiles.p]\nsandbox_mode = "read-only"\n',
        b'a = { x = 1,\n y = 2, # c\n}\nb = "\\e"\n',
        b"n = nan\nz = -0.0\nd = 1979-05-27 07:32:00Z\ni = 0x10\n",
        b"model = 'x'\t# tab\r\n\r\n[a]\nb = 1\r\n",
    ],
)
def test_the_earlier_content_follows_the_block_byte_for_byte(content: bytes | None) -> None:
    made = planned(content)
    eol = b"\r\n" if content and content.split(b"\n")[0].endswith(b"\r") else b"\n"
    assert made == BLOCK.replace(b"\n", eol) + (content or b"")


def test_a_mark_of_byte_order_stays_the_first_thing() -> None:
    assert planned(b"\xef\xbb\xbf[a]\nb = 1\n") == b"\xef\xbb\xbf" + BLOCK + b"[a]\nb = 1\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'sandbox_mode = "read-only"  # mine\n', b'sandbox_mode = "workspace-write"  # mine\n'),
        (b'sandbox_mode="read-only"\n', b'sandbox_mode="workspace-write"\n'),
        (b'"sandbox_mode" = "read-only"\n', b'"sandbox_mode" = "workspace-write"\n'),
        (b"  'sandbox_mode' = 'read-only'\n", b"  'sandbox_mode' = \"workspace-write\"\n"),
        (b"sandbox_mode = 1", b'sandbox_mode = "workspace-write"'),
        (
            b"sandbox_workspace_write.network_access = true\nsandbox_workspace_write.exclude_slash_tmp = true\n",
            b"sandbox_workspace_write.network_access = false\nsandbox_workspace_write.exclude_slash_tmp = true\n",
        ),
        (
            b"[ sandbox_workspace_write ] # c\nnetwork_access = true # d\nwritable_roots = ['/x']\n",
            b'[ sandbox_workspace_write ] # c\nnetwork_access = false # d\nwritable_roots = ["/srv/board"]\n',
        ),
        (
            b'["sandbox_workspace_write"]\nwritable_roots = [\n  "/a", # cache\n  # more\n  "b"\n]\n'
            b"network_access = false\n",
            b'["sandbox_workspace_write"]\nwritable_roots = ["/srv/board",\n  # cache\n  # more\n]\n'
            b"network_access = false\n",
        ),
        (
            b"sandbox_workspace_write = { network_access = true, writable_roots = [] } # i\n",
            b'sandbox_workspace_write = { network_access = false, writable_roots = ["/srv/board"] } # i\n',
        ),
    ],
)
def test_a_value_of_the_users_is_changed_in_place(before: bytes, after: bytes) -> None:
    made = planned(before)
    assert made.endswith(after)
    assert b"codexsandbox, before: " in made, "what it was is remembered"


def test_the_note_of_the_users_earlier_value_survives_later_intents() -> None:
    first = planned(b"[sandbox_workspace_write]\nnetwork_access = false\n", PolicyRequest(network=True))
    second = planned(first, PolicyRequest(network=False))
    third = planned(second, PolicyRequest(network=True))
    assert b"# codexsandbox, before: sandbox_workspace_write.network_access = false\n" in third
    assert third == first


@pytest.mark.parametrize(
    "table",
    [
        b"[sandbox_workspace_write]",
        b"[sandbox_workspace_write]\n",
        b"[ 'sandbox_workspace_write' ] # c\r\n",
        b"[sandbox_workspace_write]\nexclude_slash_tmp = true\n[tui]\nx = 1\n",
    ],
)
def test_below_the_users_own_header_each_line_bears_its_mark(table: bytes) -> None:
    made = planned(table)
    assert made.count(b"# codexsandbox: written by a program") == 2
    assert made.count(BEGIN) == made.count(END) == 1
    other = planned(made, PolicyRequest(sandbox="read-only"))
    assert b"written by a program\n" not in other.replace(BEGIN, b"").replace(END, b"")


def test_keys_go_into_the_braces_of_an_inline_table() -> None:
    made = planned(b"sandbox_workspace_write = {exclude_slash_tmp = true}")
    assert tomli.loads(made.decode())["sandbox_workspace_write"] == {
        "exclude_slash_tmp": True,
        "network_access": False,
        "writable_roots": ["/srv/board"],
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BLOCK + BLOCK + USER, BLOCK + USER),
        (USER + BLOCK, BLOCK + USER),
        (BEGIN + b"\n" + USER, BLOCK + USER),
        (USER + END, BLOCK + USER),
        (END + b"\n" + BEGIN + b"\n" + USER, BLOCK + USER),
        (BLOCK.replace(END + b"\n", b"") + USER, BLOCK + USER),
        (
            BLOCK.replace(BEGIN, b"  # >>> codexsandbox: other words >>>  ").replace(b"/board", b"/x") + USER,
            BLOCK + USER,
        ),
        (BLOCK.replace(END, b'model = "y"\n' + END), BLOCK + b'model = "y"\n'),
        (BLOCK.replace(END, b'[mcp_servers.z]\ncommand = "z"\n' + END), BLOCK + b'[mcp_servers.z]\ncommand = "z"\n'),
        (BLOCK.replace(b"\n", b"\r\n") + USER, BLOCK.replace(b"\n", b"\r\n") + USER),
        (b"# licence\n" + BLOCK + USER, b"# licence\n" + BLOCK + USER),
        (END + b"\r\n[a]", BLOCK.replace(b"\n", b"\r\n") + b"[a]"),
        (BLOCK.rstrip(b"\n"), BLOCK.rstrip(b"\n")),
        (USER + BLOCK.rstrip(b"\n"), BLOCK + USER),
    ],
)
def test_a_block_that_others_have_been_at_is_whole_again(before: bytes, after: bytes) -> None:
    assert planned(before) == after


def test_keys_whose_marks_were_lost_are_found_as_the_users_own() -> None:
    """As after a program that writes the whole file anew, without comments."""
    lost = b'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nnetwork_access = false\nwritable_roots = []\n'
    made = planned(lost)
    assert tomli.loads(made.decode()) == {
        "sandbox_mode": "workspace-write",
        "sandbox_workspace_write": {"network_access": False, "writable_roots": ["/srv/board"]},
    }


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'default_permissions = ":workspace"\n', "default_permissions"),
        (b'profile = "p"\n', "profile"),
        (b"a = 1\na = 2\n", "not TOML"),
        (b"a =\n", "not TOML"),
        (b"# \xff\n", "UTF-8"),
        (b"a = 1\rb = 2\n", "not TOML"),
        ("a = 1\n".encode("utf-16"), "UTF-8"),
        (b"# \0\n", "not TOML"),
        (b"\xef\xbb\xbf\xef\xbb\xbfa = 1\n", "not TOML"),
        (b'sandbox_workspace_write = "x"\n', "not a table"),
        (b"[[sandbox_workspace_write]]\nx = 1\n", "not a table"),
        (b"a = " + b"[" * 5000 + b"]" * 5000 + b"\n", "not TOML"),
        (b"[sandbox_workspace_write]\nnetwork_access = [\n # c\n 1]\n", "not TOML"),
    ],
)
def test_it_refuses_what_it_could_not_do_without_loss_or_in_vain(content: bytes, reason: str) -> None:
    assert reason in refused(content)


@pytest.mark.parametrize(
    "content", [b'default_permissions = ":workspace" # mine\n' + USER, b'"profile" = "p"\n' + USER]
)
def test_a_setting_that_voids_the_policy_is_set_aside_on_request(content: bytes) -> None:
    made = planned(content, msgspec.structs.replace(WANTED, take_over=True))
    assert b"# codexsandbox, set aside: " + content in made
    assert not {"default_permissions", "profile"} & tomli.loads(made.decode()).keys()


def test_it_refuses_to_change_what_the_user_says_if_one_wants_it_so() -> None:
    careful = msgspec.structs.replace(WANTED, conflicts="refuse")
    assert "sandbox_mode" in refused(b'sandbox_mode = "read-only"\n', careful)
    assert planned(b'sandbox_mode = "workspace-write"\n', careful)


@pytest.mark.parametrize(
    "wanted",
    [
        PolicyRequest(roots=("rel",)),
        PolicyRequest(roots=("~/x",)),
        PolicyRequest(roots=("",)),
        PolicyRequest(roots=("/",)),
        PolicyRequest(roots=("//",)),
        PolicyRequest(roots=("/srv/../home/u",), guarded=("/home/u/.codex",)),
        PolicyRequest(roots=("/home",), guarded=("/home/u",)),
        PolicyRequest(roots=("/x\0y",)),
        PolicyRequest(roots=("/\udc80",)),
        PolicyRequest(roots=("C:\\x",)),
        PolicyRequest(sandbox="read-only", network=True),
        PolicyRequest(sandbox="danger-full-access", roots=("/x",)),
        PolicyRequest(approval="on-failure"),
        PolicyRequest(owner="x >>>\n"),
        PolicyRequest(platform="windows"),
        PolicyRequest(platform="darwin", network=True),
    ],
)
def test_some_intents_are_refused_for_every_file(wanted: PolicyRequest) -> None:
    assert refused(USER, wanted)


@given(
    roots=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), max_size=4)
)
@settings(deadline=None)
def test_every_path_reads_as_it_was_asked(roots: list[str]) -> None:
    wanted = tuple(dict.fromkeys(f"/r/{root}" for root in roots if root.strip("/.")))
    made = plan(USER, PolicyRequest(roots=wanted))
    assert isinstance(made, PlannedEdit) or any(".." in root for root in wanted)
    if isinstance(made, PlannedEdit):
        assert tomli.loads(made.content.decode())["sandbox_workspace_write"]["writable_roots"] == list(wanted)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('model = "x"', 'model = "y"'),
        lambda text: text.replace("1.0", "1"),
        lambda text: text.replace("workspace-write", "read-only"),
        lambda text: text + END.decode() + "\n",
        lambda text: 'profile = "p"\n' + text,
        lambda text: text.replace("[mcp", "[[mcp"),
    ],
)
def test_a_mistake_of_its_own_is_not_written(monkeypatch: pytest.MonkeyPatch, damage: Callable[[str], str]) -> None:
    """The result is looked at before anybody gets it, whatever made it."""
    genuine = edits.applied
    monkeypatch.setattr(edit_plan, "applied", lambda text, changes: damage(genuine(text, changes)))
    assert "this file" in refused(USER)


def test_two_owners_of_different_keys_stand_in_one_file() -> None:
    """Of the same keys they do not: the second refuses, and the first one's block is as it was."""
    first = planned(USER)
    server = PolicyRequest(sandbox="", network=None, owner="tool", more={("mcp_servers", "t", "command"): "t"})
    both = planned(first, server)
    assert planned(both) == both
    assert "codexsandbox" in refused(both, PolicyRequest(owner="third"))


@given(
    lines=st.lists(
        st.sampled_from(
            [
                "a = 1",
                'b.c = "x # y"',
                "[t]",
                "[t.u] # c",
                "[[v]]",
                "# c",
                "",
                's = """\n[x]\n"""',
                "w = [\n 1, # d\n]",
                "sandbox_mode = 'read-only'",
                "[sandbox_workspace_write]",
                "network_access = true",
                END.decode(),
                BEGIN.decode(),
                "sandbox_workspace_write.writable_roots = ['/q']",
                "i = { a = 1, b = [2] }",
            ]
        ),
        max_size=9,
    ),
    eol=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    network=st.booleans(),
)
@settings(deadline=None, max_examples=400)
def test_existing_content_is_kept_or_refused(lines: list[str], eol: str, last: bool, network: bool) -> None:
    text = eol.join(lines).replace("\n", eol).replace("\r\r", "\r") + (eol if last else "")
    made = plan(text.encode(), PolicyRequest(network=network))
    if isinstance(made, Refusal):
        with pytest.raises(tomli.TOMLDecodeError):
            tomli.loads(text)
        return
    after = tomli.loads(made.content.decode())
    assert after["sandbox_mode"] == "workspace-write"
    assert after["sandbox_workspace_write"]["network_access"] is network
    again = plan(made.content, PolicyRequest(network=network))
    assert isinstance(again, PlannedEdit)
    assert not again.changed


@pytest.mark.parametrize("text", ['a = "x', "a = [1", "a = }", "= 1", "a 1", "[a", 'a = """x'])
def test_invalid_toml_cannot_be_cut(text: str) -> None:
    with pytest.raises(NotToml):
        cut(text)


def test_the_pieces_put_together_are_the_text() -> None:
    text = "# a\r\n[x]\n  b.'c d' = [ # e\n '''\n]''', {f = \"]\"}\n] # g\n\n\"h\" = 1979-05-27 07:32:00 # i"
    pieces = cut(text)
    assert "".join(text[piece.start : piece.stop] for piece in pieces) == text
    assert [piece.kind for piece in pieces] == ["comment", "header", "pair", "blank", "pair"]
    assert pieces[2].pair is not None
    assert pieces[2].pair.key == ("b", "c d")
    assert pieces[2].comment == "# g"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'[mcp_servers]\nx = { command = "mine" }\n', b'[mcp_servers]\nx = { command = "ours" }\n'),
        (
            b'mcp_servers = { x = { command = "mine" }, y = { a = 1 } }\n',
            b'mcp_servers = { x = { command = "ours" }, y = { a = 1 } }\n',
        ),
        (b'mcp_servers.x = { command = "mine" }\n', b'mcp_servers.x = { command = "ours" }\n'),
    ],
)
def test_a_value_in_nested_braces_is_changed_in_place(before: bytes, after: bytes) -> None:
    wanted = PolicyRequest(sandbox="", network=None, more={("mcp_servers", "x", "command"): "ours"}, owner="srv")
    assert planned(before, wanted).endswith(after)
    assert "mcp_servers.x.command" in refused(before, msgspec.structs.replace(wanted, conflicts="refuse"))


def test_a_table_where_a_value_was_asked_for_is_a_refusal() -> None:
    wanted = PolicyRequest(sandbox="", network=None, more={("mcp_servers", "x", "command"): "ours"}, owner="srv")
    assert refused(b"[mcp_servers.x.command]\na = 1\n", wanted).endswith("these keys")
