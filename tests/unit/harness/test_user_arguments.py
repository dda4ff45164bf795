"""Every wrong word of a user's own test is named, with what to type."""

from typing import Any

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.user_arguments import check_look, check_run, policies_of
from pytest_codexsandbox.model.act import Given

FILE = Given(kind="file", path="@WORKSPACE@/x", content="mail me@home.org @HOME@")


def check(*argv: Any, **words: Any) -> None:
    usual: dict[str, Any] = {"given": (), "looks": (), "stdin": b"", "env": None, "timeout": 20.0}
    check_run(argv, **usual | words)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("true",), {}),
        (("sh", "-c", "echo a b; mail me@example.org"), {"looks": ["@WORKSPACE@/a b"], "given": [FILE]}),
        (("/opt/my tool/run",), {"env": {"A": "@TMPDIR@"}, "timeout": 1, "stdin": b"x"}),
        (("git", "log", "--format=@%an@"), {"looks": ("/tmp/x",)}),
    ],
)
def test_right_words_pass(argv: tuple[str, ...], words: dict[str, Any]) -> None:
    check(*argv, **words)


@pytest.mark.parametrize(
    ("argv", "words", "what", "typed"),
    [
        ((), {}, "needs a command", 'codex_sandbox.run("true")'),
        (("echo hi",), {}, "one text with blanks: 'echo hi'", 'codex_sandbox.run("echo", "hi")'),
        (("/bin/ls -la",), {}, "one text with blanks", 'run("/bin/ls", "-la")'),
        ((["echo", "hi"],), {}, "one list", 'codex_sandbox.run("echo", "hi")'),
        (("echo", 3), {}, "has an int as word 2: 3", "str(3)"),
        (("touch", "@WORKSPCE@/x"), {}, "unknown placeholder @WORKSPCE@", "'@WORKSPACE@/x'"),
        (("touch", "@workspace@/x"), {}, "unknown placeholder @workspace@", "'@WORKSPACE@/x'"),
        (("true",), {"looks": "@WORKSPACE@/x"}, "looks is a text, not a list", "looks=["),
        (("true",), {"looks": [b"x"]}, "looks has a bytes at place 1", "looks=["),
        (("true",), {"looks": ["made"]}, "looks has a relative path: 'made'", "@WORKSPACE@/made"),
        (("true",), {"looks": ["@WORKSPACE/x"]}, "unknown placeholder @WORKSPACE", "'@WORKSPACE@/x'"),
        (("true",), {"looks": ["@OUTSIDER@/x"]}, "unknown placeholder @OUTSIDER@", "'@OUTSIDE@/x'"),
        (("true",), {"given": FILE}, "given is a Given, not a list", "given=[Given("),
        (("true",), {"given": ["x"]}, "given has a text at place 1", "given=[Given("),
        (("true",), {"given": [Given(kind="file", path="@NOPE@/x")]}, "unknown placeholder @NOPE@", ""),
        (("true",), {"stdin": "text"}, "stdin is a text, not bytes", 'stdin=b"text"'),
        (("true",), {"env": ["A=1"]}, "env is no mapping", "env={"),
        (("true",), {"env": {"A": 1}}, "env is no mapping", "env={"),
        (("true",), {"timeout": "20"}, "timeout is '20'", "timeout=20.0"),
    ],
)
def test_a_wrong_word_is_named_with_what_to_type(
    argv: tuple[Any, ...], words: dict[str, Any], what: str, typed: str
) -> None:
    with pytest.raises(InputError) as raised:
        check(*argv, **words)
    assert what in raised.value.what
    assert "codex_sandbox.run()" in raised.value.what
    assert typed in raised.value.next_step


def test_a_path_that_was_not_looked_at_is_no_missing_file() -> None:
    check_look("@WORKSPACE@/x", ["@WORKSPACE@/x"])
    with pytest.raises(InputError, match="@WORKSPACE@/made") as raised:
        check_look("@WORKSPACE@/made", ["@WORKSPACE@/mad"])
    assert raised.value.next_step == "look(seen, '@WORKSPACE@/mad')"
    with pytest.raises(InputError) as raised:
        check_look("@WORKSPACE@/made", [])
    assert raised.value.next_step == "codex_sandbox.run(…, looks=['@WORKSPACE@/made'])"


def test_the_marker_names_policies() -> None:
    assert policies_of((), {}, test="t") == ("workspace-write",)
    both = ("read-only", "workspace-write")
    assert policies_of((), {"policies": list(both)}, test="t") == both


@pytest.mark.parametrize(
    ("args", "kwargs", "what", "typed"),
    [
        ((), {"policies": ("read-ony",)}, "a policy that does not exist: 'read-ony'", '("read-only",)'),
        ((), {"policies": ("read-only", "nowhere")}, "does not exist: 'nowhere'", '("read-only", "'),
        ((), {"policies": "read-only"}, "which is a text", '("read-only",)'),
        ((), {"policies": ()}, "names no policy", '("workspace-write",)'),
        ((), {"policies": None}, "does not exist: 'None'", '("workspace-write",)'),
        ((), {"policy": "read-only"}, "has no word 'policy'", '("read-only",)'),
        (("read-only",), {}, "takes no word without a name: 'read-only'", '("read-only",)'),
    ],
)
def test_a_wrong_marker_is_named_with_what_to_type(
    args: tuple[Any, ...], kwargs: dict[str, Any], what: str, typed: str
) -> None:
    with pytest.raises(InputError) as raised:
        policies_of(args, kwargs, test="test_x.py::test_y")
    assert what in raised.value.what
    assert raised.value.where == "test_x.py::test_y"
    assert f"@pytest.mark.codex(policies={typed}" in raised.value.next_step
