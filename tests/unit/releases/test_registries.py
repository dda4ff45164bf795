"""How pip and npm are asked, and how what they answer is understood."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.releases import npm, npmrc, pypi
from pytest_codexsandbox.releases.npmrc import Registry as Configured
from pytest_codexsandbox.system import pip
from pytest_codexsandbox.system.download import NotReached, NotThere
from tests.unit.releases.builders import X86, Machine, Registry, said, sha512

DIST = {"tarball": "https://registry/it.tgz", "integrity": sha512(b"it")}


def answers(done: CommandResult) -> Any:
    return lambda command: done


# ---- npm
def test_npm_is_asked_for_the_platforms_package_then_for_the_old_one() -> None:
    run = Machine(npm={"0.40.0": DIST})
    assert npm.find("0.40.0", X86, run=run).url == DIST["tarball"]
    assert [command.argv[-2] for command in run.commands] == ["@openai/codex@0.40.0-linux-x64", "@openai/codex@0.40.0"]


def test_npm_without_such_a_release_says_so() -> None:
    with pytest.raises(NotThere, match=r"9\.9\.9 .*linux-x64"):
        npm.find("9.9.9", X86, run=Machine())


@pytest.mark.parametrize(
    ("done", "kind", "words"),
    [
        (CommandResult(ended="timeout"), NotReached, "did not answer"),
        (said('{"error": {"code": "ENOTFOUND", "summary": "getaddrinfo"}}', code=1), NotReached, "getaddrinfo"),
        (said('{"error": {"code": "E401", "summary": "who are you"}}', code=1), Unavailable, "login"),
        (said("not json", code=1), NotReached, "not json"),
        (said("", code=1, stderr="node: not found"), NotReached, "node: not found"),
        (CommandResult(ended="not-started", error="no such file"), NotReached, "no such file"),
        (said(json.dumps({"tarball": "https://registry/it.tgz"})), Unavailable, "no hash"),
        (said(json.dumps({"integrity": sha512(b"it")})), Unavailable, "no address"),
    ],
    ids=["hangs", "no network", "login", "not json", "silent", "not started", "no hash", "no address"],
)
def test_each_failure_of_npm_has_its_own_error(done: CommandResult, kind: type[Unavailable], words: str) -> None:
    with pytest.raises(Unavailable, match=words) as caught:
        npm.find("0.136.0", X86, run=answers(done))
    assert type(caught.value) is kind


def test_an_absence_is_not_taken_from_what_npm_once_kept() -> None:
    """With a dead network npm answers from its cache, which does not know what was published since."""

    def run(command: Command) -> CommandResult:
        kept = command.env.get("npm_config_cache", "")
        if kept.startswith(tempfile.gettempdir()) and Path(kept).is_dir():
            return said('{"error": {"code": "EAI_AGAIN", "summary": "getaddrinfo"}}', code=1)
        return said('{"error": {"code": "E404", "summary": "No match found for version 9.9.9"}}', code=1)

    with pytest.raises(NotReached, match="getaddrinfo"):
        npm.find("9.9.9", X86, run=run)


def test_a_registry_without_the_package_says_nothing_about_its_releases(server: Registry) -> None:
    summary = "404 Not Found - GET https://mirror/@openai%2fcodex - no"
    done = said(json.dumps({"error": {"code": "E404", "summary": summary}}), code=1)
    with pytest.raises(Unavailable, match="@openai/codex") as caught:
        npm.find("0.136.0", X86, run=answers(done))
    assert type(caught.value) is Unavailable
    with pytest.raises(Unavailable, match="@openai/codex") as caught:
        npm.find("0.136.0", X86, run=Machine(), npm=lambda: "", registry=lambda: Configured(url=server.address))
    assert type(caught.value) is Unavailable


def test_an_empty_answer_of_an_old_npm_means_that_there_is_none() -> None:
    with pytest.raises(NotThere):
        npm.find("9.9.9", X86, run=answers(said("")))


def test_without_npm_the_configured_registry_is_read(server: Registry) -> None:
    server.put("/@openai%2Fcodex", json.dumps({"versions": {"0.136.0-linux-x64": {"dist": DIST}}}).encode())
    found = npm.find(
        "0.136.0",
        X86,
        run=Machine(),
        npm=lambda: "",
        registry=lambda: Configured(url=server.address, tokens={server.address.removeprefix("http:"): "hunter2"}),
    )
    assert found.url == DIST["tarball"]
    assert found.headers == {}  # the archive lies elsewhere: the token is not for it
    assert server.asked[0][1]["Authorization"] == "Bearer hunter2"


def test_a_registry_that_lists_no_such_release_says_so(server: Registry) -> None:
    server.put("/@openai%2Fcodex", b'{"versions": {"0.1.0": {}}}')
    for release in ("0.1.0", "9.9.9"):
        with pytest.raises(NotThere):
            npm.find(release, X86, run=Machine(), npm=lambda: "", registry=lambda: Configured(url=server.address))


# ---- .npmrc
@pytest.fixture
def rc(tmp_path: Path) -> tuple[Path, Path]:
    project, user = tmp_path / "project", tmp_path / "user"
    project.write_text("; a comment\nregistry = https://project/\n")
    user.write_text(
        "registry=https://user/\n//project/:_authToken=${TOKEN}\n//user/npm/:_authToken='plain'\n# x=y\nnonsense\n"
    )
    return project, user


def test_the_environment_comes_before_the_project_before_the_user(rc: tuple[Path, Path]) -> None:
    project, user = rc
    for environ, files, url in (
        ({"NPM_CONFIG_REGISTRY": "https://env"}, rc, "https://env"),
        ({}, rc, "https://project"),
        ({}, (user,), "https://user"),
    ):
        found = npmrc.configured(environ, files)
        assert found is not None
        assert found.url == url
    assert npmrc.configured({}, (project.with_name("none"),)) is None


def test_a_scope_of_its_own_comes_first(tmp_path: Path) -> None:
    (tmp_path / "rc").write_text("@openai:registry=https://mirror/npm/\nregistry=https://other/")
    found = npmrc.configured({}, (tmp_path / "rc",))
    assert found is not None
    assert found.url == "https://mirror/npm"


def test_a_token_goes_to_its_own_place_only(rc: tuple[Path, Path]) -> None:
    found = npmrc.configured({"TOKEN": "hunter2"}, rc)
    assert found is not None
    assert found.login() == {"Authorization": "Bearer hunter2"}
    assert found.login("https://user/npm/it.tgz") == {"Authorization": "Bearer plain"}
    for url in ("https://user/it.tgz", "https://project.evil/it.tgz", "https://elsewhere/project/it.tgz"):
        assert found.login(url) == {}


# ---- pip
def report(**info: Any) -> CommandResult:
    return said(json.dumps({"install": [{"download_info": info}]}))


def test_pip_is_asked_without_installing_and_in_the_users_own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror/simple")
    asked: list[Command] = []

    def run(command: Command) -> CommandResult:
        asked.append(command)
        return report(url="https://mirror/it.whl", archive_info={"hashes": {"sha256": "ab"}})

    found = pypi.find("0.140.0-alpha.2", X86, run=run)
    assert (found.url, str(found.expected)) == ("https://mirror/it.whl", "sha256:ab")
    assert asked[0].argv[-1] == "openai-codex-cli-bin==0.140.0a2"
    assert {"--dry-run", "--no-deps", "--report", "manylinux_2_17_x86_64"} <= set(asked[0].argv)
    assert asked[0].env["PIP_INDEX_URL"] == "https://mirror/simple"


def test_an_old_pips_way_of_saying_the_hash_is_understood() -> None:
    found = pypi.find("0.136.0", X86, run=answers(report(url="u", archive_info={"hash": "sha256=ab"})))
    assert str(found.expected) == "sha256:ab"


@pytest.mark.parametrize(
    ("done", "kind", "words"),
    [
        (CommandResult(ended="timeout"), NotReached, "did not answer"),
        (said(code=1, stderr="ERROR: No matching distribution found"), NotThere, "PyPI has no"),
        (said(code=1, stderr="Max retries exceeded\nERROR: No matching"), NotReached, "could not reach"),
        (said(code=1, stderr="UnicodeDecodeError: 'utf-8' codec"), Unavailable, "could not download"),
        (
            said(code=1, stderr="ERROR: Could not install it because of HTTP error 404"),
            Unavailable,
            "could not download",
        ),
        (CommandResult(ended="not-started", error="no such file"), Unavailable, "could not download"),
        (said("{"), Unavailable, "JSONDecodeError"),
        (said('{"install": []}'), Unavailable, "IndexError"),
    ],
    ids=["hangs", "none", "no network", "garbage", "no file", "not started", "not json", "empty report"],
)
def test_each_failure_of_pip_has_its_own_error(done: CommandResult, kind: type[Unavailable], words: str) -> None:
    with pytest.raises(Unavailable, match=words) as caught:
        pypi.find("0.136.0", X86, run=answers(done))
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ("404 Client Error: Not Found", NotThere, "PyPI has no"),
        ("403 Client Error: Forbidden", Unavailable, "requires a login"),
        ("HTTPConnectionPool(): (Caused by ResponseError('too many 503'))", NotReached, "could not read its index"),
    ],
    ids=["none", "login", "out of order"],
)
def test_an_index_that_pip_could_not_read_is_no_absence(status: str, kind: type[Unavailable], words: str) -> None:
    """pip says of all three that nothing matches; why, it writes into its log."""

    def run(command: Command) -> CommandResult:
        log = Path(command.argv[command.argv.index("--log") + 1])
        log.write_text(
            f"2026 Could not fetch URL https://me:hunter2@mirror/simple/it/: {status} for url: x - skipping\n"
        )
        return said(code=1, stderr="ERROR: No matching distribution found")

    with pytest.raises(Unavailable, match=words) as caught:
        pypi.find("0.136.0", X86, run=run)
    assert type(caught.value) is kind
    assert "hunter2" not in str(caught.value)


def test_a_wheel_whose_hash_pip_found_wrong_is_neither_absent_nor_tried_elsewhere() -> None:
    """pip reads the metadata out of the wheel itself where an index does not offer it alone."""
    told = (
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. Somebody may have tampered.\n"
        f"    it==1 from https://me:hunter2@mirror/it.whl#sha256={'a' * 64}:\n"
        f"        Expected sha256 {'a' * 64}\n             Got        {'b' * 64}\n"
    )
    with pytest.raises(CodexSandboxError, match="sha256:") as caught:
        pypi.find("0.136.0", X86, run=answers(said(code=1, stderr=told)))
    assert not isinstance(caught.value, Unavailable)
    assert caught.value.where == "https://mirror/it.whl"
    assert caught.value.why == f"expected sha256:{'a' * 64}, got sha256:{'b' * 64}"


def test_the_error_of_pip_is_shown_and_not_the_hint_at_its_end() -> None:
    told = "error: incomplete-download\n\n× Download failed, not enough bytes\n╰─> https://x\nhint: Use more retries"
    with pytest.raises(Unavailable) as caught:
        pypi.find("0.136.0", X86, run=answers(said(code=1, stderr=told)))
    assert caught.value.why == "× Download failed, not enough bytes"


def test_a_python_without_pip_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip, "program", tuple)
    with pytest.raises(Unavailable, match="ensurepip"):
        pypi.find("0.136.0", X86, run=Machine())


def test_a_login_in_what_pip_says_is_not_repeated() -> None:
    done = said(code=1, stderr="ERROR: cannot read https://me:hunter2@mirror/simple")
    with pytest.raises(Unavailable) as caught:
        pypi.find("0.136.0", X86, run=answers(done))
    assert "hunter2" not in str(caught.value)
    assert "https://mirror/simple" in caught.value.why
