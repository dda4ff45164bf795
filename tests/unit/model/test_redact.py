"""Credentials are recognised in text and in JSON, and JSON stays JSON."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.model.redact import (
    MARK,
    cut_outside,
    nameable,
    redact,
    redact_bytes,
    redact_json,
    redact_lookalikes,
    redact_words,
    register,
)
from pytest_codexsandbox.system.environ import is_existing_path

# Put together at run time, so that no scanner takes this file for a leak.
TOKENS = [
    "sk-" + "proj-abcDEF0123456789xyz",
    "gh" + "p_0123456789abcdefABCDEF0123456789abcd",
    "github" + "_pat_11ABCDEFG0123456789_abcdefghijklmnop",
    "gl" + "pat-0123456789abcdefghij",
    "npm" + "_0123456789abcdefghij0123456789abcdef",
    "xox" + "b-0123456789-abcdefghij",
    "AKIA" + "0123456789ABCDEF",
    "AIza" + "0123456789abcdefghijklmnopqrstuvwxyz",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
]
ORDINARY = [
    "EROFS at open; the file was not made",
    "1f2e3d4c5b6a79880123456789abcdef0123456789abcdef0123456789abcdef",
    "https://developers.openai.com/codex/sandbox#prerequisites",
    "/work/task-list/sk-ip/workspace",
    "bwrap: No permissions to create a new namespace",
    "basic characterisation of the network",
    "tmp-w1-network-loopback",
    "PATH=/usr/bin:/bin HOME=/home/agent",
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize(
    "frame", ["{}", "\n{}\n", "a {} b", "OPENAI_API_KEY={}", '"{}"', "--token {}", "\t{}", "\x1f{}"]
)
def test_a_token_is_removed_at_every_place(token: str, frame: str) -> None:
    text = frame.format(token)
    assert token not in redact(text)
    assert MARK in redact(text)
    line = redact_json(json.dumps({"stderr": text}).encode())
    assert token.encode() not in line
    assert MARK in json.loads(line)["stderr"]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("GITHUB_TOKEN=hunter2", "hunter2"),
        ("https://me:hunter2@example.org/x", "hunter2"),
        ("Authorization: Bearer abcdefghijklm0123456789", "abcdefghijklm0123456789"),
        ('{"OPENAI_API_KEY": "hunter2"}', "hunter2"),
        ("-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----", "hunter2"),
    ],
)
def test_a_value_is_recognised_by_its_surroundings(text: str, secret: str) -> None:
    assert secret not in redact(text)
    line = redact_json(json.dumps({"value": text}).encode())
    assert secret.encode() not in line
    json.loads(line)


def test_a_member_of_an_environment_is_known_by_its_name() -> None:
    line = redact_json(json.dumps({"env": {"MY_SECRET": 'hun"ter\\2', "HOME": "/home"}}).encode())
    assert json.loads(line) == {"env": {"MY_SECRET": MARK, "HOME": "/home"}}


@pytest.mark.parametrize("text", ORDINARY)
def test_evidence_is_left_alone(text: str) -> None:
    assert redact(text) == text
    line = json.dumps({"saw": text}).encode()
    assert redact_json(line) == line


PIECES = st.sampled_from(
    [*TOKENS, '"', "\\", "\n", "://a:", "@", "TOKEN=", '"API_KEY": "', "-----BEGIN PRIVATE KEY-----"]
)


@settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PIECES | st.text(max_size=8), max_size=12), st.sampled_from(["saw", "MY_TOKEN"]))
def test_json_stays_json(pieces: list[str], name: str) -> None:
    text = "".join(pieces)
    line = redact_json(
        json.dumps({"before": 1, name: text, "after": [text, "kept"]}, ensure_ascii=False).encode("utf-8", "replace")
    )
    read = json.loads(line)
    assert read["before"] == 1
    assert read["after"][1] == "kept"


def test_a_name_is_what_it_was_or_a_digest_that_stays() -> None:
    assert nameable("plain-sk-1") == "plain-sk-1"
    for name in ("sk-" + "Ab1" * 12, "sk-2024-tests-of-mine-test-x-py", "password=hunter2"):
        made = nameable(name)
        assert made.startswith("redacted-") and nameable(made) == made == redact(made)
    assert nameable("password=a1") != nameable("password=a2")


def test_bytes_that_are_no_text_are_redacted_at_a_credential() -> None:
    token = b"sk-" + b"Ab1" * 12
    assert redact_bytes(b"\xff\x00 " + token + b" \xfe") == b"\xff\x00 [redacted] \xfe"


FLAGGED = [
    ("tool --token hunter2 --out x", "tool --token [redacted] --out x"),
    ("tool --api-key=hunter2", "tool --api-key=[redacted]"),
    ('["tool", "--github-token", "hunter2", "x"]', '["tool", "--github-token", "[redacted]", "x"]'),
    ("('tool', '--password', 'hunter2')", "('tool', '--password', '[redacted]')"),
    ("error: unexpected argument '--password' found", "error: unexpected argument '--password' found"),
    ("--max-tokens 100 --tokenizer fast --token --out", "--max-tokens 100 --tokenizer fast --token --out"),
]


@pytest.mark.parametrize(("text", "shown"), FLAGGED)
def test_the_value_of_a_flag_is_known_by_the_flag(text: str, shown: str) -> None:
    assert redact(text) == shown
    line = redact_json(json.dumps({"invocation": text}).encode())
    assert json.loads(line) == {"invocation": shown}


def test_the_word_after_a_flag_is_its_value() -> None:
    assert redact_words(("tool", "--token", "hunter2", "x")) == ("tool", "--token", MARK, "x")
    assert redact_words(("--token", "--out", "x")) == ("--token", "--out", "x")
    assert redact_words(["--token"]) == ("--token",)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_codexsandbox.model.redact._registered", {})


@pytest.mark.usefixtures("registered")
def test_the_value_of_a_secret_variable_is_replaced_without_its_name() -> None:
    values = {
        "MY_API_KEY": "Quagga7.plain",
        "service_token": 'Ze"bra\\8',
        "A_PASSWORD": "Quagga7.plain.longer",
        "B_TOKEN": "/Ab0123+begins/as.a.path",
        "C_SECRET": "~Ab0123.begins.as.a.home",
        "D_SECRET_KEY": "@Ab0123.begins.as.a.placeholder",
        "E_CREDENTIALS": "/root-of-no-machine/Token1",
    }
    register(values, is_there=is_existing_path)
    for value in values.values():
        assert redact(f"it says {value}.") == f"it says {MARK}."
        for line in ({"saw": f"it says {value}."}, {"saw": json.dumps({"value": value})}):
            made = redact_json(json.dumps(line).encode())
            assert MARK in json.loads(made)["saw"] and json.dumps(value)[1:-1].encode() not in made
        assert redact_lookalikes(value) == value


@pytest.mark.usefixtures("registered")
def test_a_cut_splits_no_registered_value() -> None:
    register({"MY_API_KEY": "Quagga7.plain", "A_TOKEN": "plainZebra"}, is_there=is_existing_path)
    text = "..Quagga7.plainZebra.."  # the values overlap
    assert [cut_outside(text, at) for at in (0, 2, 3, 14, 15, 19, 20, 22)] == [0, 2, 2, 2, 2, 2, 20, 22]
    assert [cut_outside(text, at, forward=True) for at in (0, 2, 3, 14, 15, 19, 20)] == [0, 2, 20, 20, 20, 20, 20]
    assert cut_outside("plain", 3) == 3


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    "variables",
    [
        {"MY_TOKEN": "workspace-write"},
        {"MY_TOKEN": "@HOME@/Token1"},
        {"MY_TOKEN": "Ab1"},
        {"MY_TOKEN": "Two words 1"},
        {"MY_TOKEN": ""},
        {"MY_VALUE": "Quagga7.plain"},
        {"MY_TOKEN_FILE": "Quagga7.plain"},
        {"CACHE_KEY": "Quagga7.plain"},
    ],
)
def test_no_plain_word_path_or_other_variable_is_registered(variables: dict[str, str]) -> None:
    register(variables, is_there=is_existing_path)
    (value,) = variables.values()
    assert redact(f"a {value} b") == f"a {value} b"


@pytest.mark.usefixtures("registered")
def test_the_path_of_a_file_that_is_there_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Token1").touch()
    (tmp_path / "Token2").symlink_to("nowhere")
    kept = {"A_CREDENTIALS": str(tmp_path / "Token1"), "B_TOKEN": str(tmp_path / "Token2"), "C_SSH_KEY": str(tmp_path)}
    near = {"D_API_KEY": "~/Token1"}
    gone = {"E_TOKEN": "~/Token3", "F_TOKEN": "~no-such-user-1/Token", "G_TOKEN": str(tmp_path / "Token1.longer")}
    register(kept | near | gone, is_there=is_existing_path)
    for value in (kept | near).values():
        assert redact(f"at {value} it is") == f"at {value} it is"
    for value in gone.values():
        assert redact(f"at {value} it is") == f"at {MARK} it is"
