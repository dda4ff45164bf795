"""`codexsandbox plan`: what would be done, said before anything is."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.commands.plan import as_json, calls
from pytest_codexsandbox.commands.plan_text import as_text
from pytest_codexsandbox.environments.bubblewrap import bwrap_build
from pytest_codexsandbox.environments.container import planned_availability
from pytest_codexsandbox.environments.container.provision import keyrings, registry_ping
from pytest_codexsandbox.environments.container.provision.registry_ping import Heard
from pytest_codexsandbox.harness.durations import GUESSED, GUESSED_STORY, GUESSED_STRAIN
from pytest_codexsandbox.harness.feasibility import CONTAINERS
from pytest_codexsandbox.matrix.plan import make
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.plan_key import NotPlanned
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.releases.download_estimate import Forecast
from tests import needs
from tests.unit.commands.screen_builders import PLAN, shown_with
from tests.unit.matrix.builders import promise, traits
from tests.unit.matrix.container_builders import SMALL, choice, written


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine and no archive of this machine is asked, and nothing of its cache is known."""
    monkeypatch.chdir(tmp_path)  # no project, whose hooks would be asked
    monkeypatch.setenv("DOCKER_HOST", "unix:///nobody")
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path / "cache"))
    for name in ("archive", "sources"):
        monkeypatch.setattr(registry_ping, name, lambda *_, **__: Heard(answer="unknown", why="nobody was asked"))


@pytest.fixture
def greeted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine says that it is there, and answers nothing else."""
    monkeypatch.setattr(planned_availability, "silent_engines", lambda hosts: {})


def test_calls_are_batteries_and_calls_of_their_own() -> None:
    assert calls(PLAN) == 2 * (2 + 16)  # cells x (policies + copies): what is not applicable costs nothing


def test_the_text_says_cells_promises_downloads_and_what_is_left_out() -> None:
    downloads = {"0.136.0": Forecast(megabytes=87, source="pypi"), "0.163.0": Forecast(source="cache", cached=True)}
    shown = as_text(shown_with(downloads))
    assert [int(count) for count in re.findall(r"\d+", shown.splitlines()[0])] == [2, 4, 14, 36]
    assert "codex 0.136.0 0.163.0" in shown
    assert "filesystem     1 promise, 4 checks" in shown
    assert "87 MB" in shown
    assert "pypi" in shown
    assert "dns.by-name: not applicable: " in " ".join(shown.split())
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_many_environments_are_folded_by_axis_and_each_is_there_when_asked_for(tmp_path: Path) -> None:
    more = SMALL.replace('"busybox"', '"debian-sid", "debian-bullseye"')
    found = choice(tmp_path, more.replace('"seccomp-unconfined"', '"synthetic-mount"')).chosen(2)
    assert found.picked is not None
    made = make(
        "mine", found.cells, (promise(),), doors=traits("sandbox"), platform="linux", coverage=found.picked.coverage
    )
    seconds = {one.id: 30.0 for one in made.cells}
    shown = shown_with({}, plan=made, seconds=seconds, learned=3, unlocked=2)
    text = as_text(shown)
    assert f"about {round(len(made.cells) / 2)} min" in text and "3 runs" in text
    assert f"{found.picked.coverage.coverable:,} pairs" in text
    assert "profile  docker-default " in text
    assert re.search(r"\d+ cells synthetic", text)
    assert "codexsandbox plan mine --update-lock" in " ".join(text.split())
    assert made.cells[0].environment.id not in text
    assert made.cells[0].environment.id in as_text(shown, verbose=True)
    assert all(len(line) <= 80 for line in text.splitlines())


def test_images_to_make_are_counted_and_named() -> None:
    stock = (
        ArtifactStatus(kind="image", name="debian-trixie (none)", ready=True),
        ArtifactStatus(kind="image", name="debian-sid (none)", ready=False, megabytes=60),
        ArtifactStatus(kind="bubblewrap", name="0.8.0", ready=True),
    )
    text = as_text(shown_with({}, stock=stock))
    (line,) = [line for line in text.splitlines() if line.startswith("images: 1 ready, 1 ")]
    assert "60 MB" in line and line.endswith(": debian-sid (none)")
    assert "bubblewraps: 1 ready\n" in text


def test_the_archives_and_their_answers_are_named() -> None:
    asked = (
        PlanQuery(kind="engine", name="", where="unix:///a", answer="yes", has=("x (none)",)),
        PlanQuery(kind="engine", name="", where="unix:///b", answer="unknown", why="no answer from it"),
        PlanQuery(kind="archive", name="debian-sid", answer="yes"),
        PlanQuery(kind="archive", name="debian-forky", answer="yes", when="5 minutes ago"),
        PlanQuery(
            kind="registry", name="docker.io", where="unix:///a", answer="no", why="no such host", when="just now"
        ),
    )
    shown = shown_with({}, asked=asked)
    text = " ".join(as_text(shown).split())
    assert text.index("checked beforehand") < text.index("unix:///a has 1 image")
    assert re.search(r"archive [a-z]+ debian-sid, debian-forky", text)
    assert re.search(r"unknown: [a-z ]+ \(unix:///b\): no answer ", text)
    assert "registry docker.io (unix:///a, just now): no such host" in text
    assert [one["answer"] for one in json.loads(as_json(shown))["asked"]] == ["yes", "unknown", "yes", "yes", "no"]
    assert "checked beforehand" not in as_text(shown_with({}))


@pytest.mark.usefixtures("greeted")
def test_a_plan_of_containers_asks_and_leaves_out_unavailable_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_ping, "archives", lambda image: (f"http://{image.suite}.example/",))
    monkeypatch.setattr(
        registry_ping, "archive", lambda *_, **__: Heard(answer="no", short="its archive is gone", why="404")
    )
    monkeypatch.setattr(keyrings, "FOLDER", tmp_path)  # an Ubuntu has no key of Debian's
    (tmp_path / "debian-archive-keyring.gpg").touch()
    (tmp_path / "distros").mkdir()
    (tmp_path / "distros" / "nowhere.toml").write_text('suite = "none"\n')
    monkeypatch.setattr("shutil.which", lambda name, **_: f"/bin/{name}")
    file = written(tmp_path, 'distros = ["debian-trixie", "nowhere"]\nbwraps = ["none"]')
    assert main(["plan", str(file)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "nowhere (http://none.example/): 404" in text
    assert text.index("not available here") < text.index("nowhere: ")
    assert re.search(r"unknown: [a-z ]+ docker\.io: ", text)
    assert main(["plan", str(file), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    (gone,) = [one for one in shown["not_planned"] if one["what"] == "nowhere"]
    assert "archive" in gone["why"] and gone["kind"] == "unavailable"
    assert {(one["kind"], one["name"], one["answer"]) for one in shown["asked"]} == {
        ("engine", "", "unknown"),
        ("registry", "docker.io", "unknown"),
        ("archive", "nowhere", "no"),
        ("archive", "debian-trixie", "no"),
    }


def test_a_plan_of_which_nothing_can_be_measured_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, 'distros = ["debian-trixie"]')
    assert main(["plan", str(file)]) == 4
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("codexsandbox: ") and "container engine" in said.err.splitlines()[0]
    assert "unix:///nobody" in said.err
    assert "DOCKER_HOST=" in said.err
    assert not (tmp_path / "cache").exists(), "nothing was asked that is worth keeping"


@needs.npm()  # SMALL names a release that npm alone has
def test_a_plan_says_which_part_cannot_be_measured_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, 'distros = ["debian-trixie"]')
    file.write_text('environments = ["local"]\n' + file.read_text())
    assert main(["plan", str(file), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    (gone,) = [one for one in shown["not_planned"] if one["required"]]
    assert gone["what"] == CONTAINERS
    assert "(unix:///nobody): " in gone["why"]
    assert {one["axes"]["environment"].rpartition("~")[2] for one in shown["cells"]} == {"local"}


def test_unavailable_cells_come_before_the_ones_left_out() -> None:
    gone = NotPlanned(what="fedora-43", why="no registry answers", kind="unavailable")
    away = NotPlanned(what="some", why="no room", kind="budget")
    text = as_text(shown_with({}, plan=msgspec.structs.replace(PLAN, not_planned=(away, gone))))
    assert text.index(f"fedora-43: {gone.why}") < text.index("  some: no room")


def test_every_cell_that_is_left_out_is_named_when_asked_for() -> None:
    gone = tuple(NotPlanned(what=f"cell-{number}", why="no room", kind="budget") for number in range(9))
    shown = shown_with({}, plan=msgspec.structs.replace(PLAN, not_planned=gone))
    assert "cell-3 and 5 more: no room" in " ".join(as_text(shown).split())
    assert "cell-7, cell-8: no room" in " ".join(as_text(shown, verbose=True).split())


@needs.npm()
@pytest.mark.usefixtures("greeted")
@pytest.mark.parametrize("compiler", ["gcc", ""])
def test_the_cells_of_a_file_are_locked_and_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    monkeypatch.setattr(bwrap_build, "compiler", lambda: compiler)
    file = written(tmp_path, f"{SMALL}\npairs = 2")
    words = ["plan", str(file)]
    assert main([*words, "--update-lock"]) == 0
    count, new, gone = re.findall(r"\d+", capsys.readouterr().out.rpartition("mine.lock.toml")[2])
    assert count == new != "0" == gone
    before = cells_of(words, capsys)
    file.write_text(file.read_text().replace('"0.163.0"', '"0.163.0", "0.169.0"'))
    assert before < cells_of(words, capsys)
    assert main([*words, "--update-lock"]) == 0
    assert "0 gone" in capsys.readouterr().out


def cells_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> set[str]:
    assert main([*words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["covered"] == shown["coverage"]["coverable"]
    return {one["id"] for one in shown["cells"]}


def test_every_promise_is_listed_when_asked_for() -> None:
    there = Forecast(source="cache", cached=True)
    shown = as_text(shown_with({"0.136.0": there, "0.163.0": there}), verbose=True)
    assert all(one.id in shown for one in PLAN.promises)


def test_an_unavailable_cell_is_named_with_the_next_step() -> None:
    downloads = {"0.136.0": Forecast(why_not="install npm"), "0.163.0": Forecast(source="cache", cached=True)}
    shown = as_text(shown_with(downloads))
    assert "0.136.0" in shown
    assert "here: install npm" in shown
    assert "would download" not in shown


def test_a_download_of_unknown_size_is_not_called_0_mb() -> None:
    unknown = Forecast(source="npm")
    shown = as_text(shown_with({"0.136.0": unknown, "0.163.0": unknown}))
    assert re.search(r"\b2 releases of [a-z ]+\n", shown) and " 0 MB" not in shown
    shown = as_text(shown_with({"0.136.0": unknown, "0.163.0": Forecast(megabytes=162, source="npm")}))
    assert re.search(r"\b162 MB and 1 release of [a-z ]+\n", shown)


def test_with_everything_there_nothing_is_downloaded() -> None:
    there = Forecast(source="cache", cached=True)
    assert "nothing to download" in as_text(shown_with({"0.136.0": there, "0.163.0": there}))


def test_tools_of_registries_are_said_with_what_they_take() -> None:
    told = {
        "ruler": Forecast(megabytes=9, source="npm"),
        "zcf": Forecast(megabytes=15, source="npm"),
        "mcpm": Forecast(source="cache", cached=True),
        "add-mcp": Forecast(why_not="it needs node"),
    }
    there = {"0.163.0": Forecast(source="cache", cached=True)}
    shown = as_text(shown_with(there, tools=told))
    assert re.search(r"^Generators: .* 2 tools, about 24 MB", shown, re.MULTILINE)
    assert "here: it needs node" in shown
    assert "mcpm" not in shown
    assert json.loads(as_json(shown_with(there, tools=told)))["tools"]["ruler"]["megabytes"] == 9
    assert "Generators: nothing" in as_text(shown_with(there, tools={"mcpm": told["mcpm"]}))
    assert "Generators" not in as_text(shown_with(there))


def test_only_tools_that_the_plan_asks_are_brought(capsys: pytest.CaptureFixture[str]) -> None:
    def tools(*words: str) -> set[str]:
        assert main(["plan", "--json", "--codex-release", "0.163.0", *words]) == 0
        return set(json.loads(capsys.readouterr().out)["tools"])

    assert tools() == set()
    assert tools("--codex-generator", "good", "--codex-only", "generator.parses") == set()
    assert tools("--codex-generator", "chain:good,add-mcp", "--codex-only", "generator.parses") == {"add-mcp"}
    assert "mcpm" in tools("--codex-generator", "mcpm", "--codex-only", "generator.parses")


def test_programs_get_every_key_and_reason() -> None:
    shown = json.loads(as_json(shown_with({"0.136.0": Forecast(megabytes=87, source="pypi")})))
    assert len(shown["keys"]) == len(PLAN.keys)
    assert shown["downloads"]["0.136.0"]["megabytes"] == 87
    assert len(shown["not_applicable"]) == 4
    assert len(shown["digest"]) == 64


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lokal",), "did you mean 'local'?"),
        (("local", "--codex-release", "0.163.0", "--codex-only", "nothing.like-it"), "matches no cell"),
        (("local", "--codex-release", "0.163.0", "--codex-skip", "start.*"), "in every plan"),
        (("local", "--codex-bin", "a=/bin/true", "--codex-bin", "a=/bin/false"), "two Codex binaries"),
        (("./none.toml",), "no matrix file"),
        (("local", "--codex-pairs", "5"), "--codex-pairs"),
        (("local", "--codex-release", "0.163.0", "--codex-budget", "1s"), "too short for a single cell"),
        (("local", "--codex-pairs", "2"), "--codex-pairs has no effect here"),
        (("releases", "--codex-docker-hosts", "unix:///x"), "--codex-docker-hosts has no effect here"),
        (("pull-request", "--update-lock", "--codex-budget", "1m"), "--codex-budget has no effect beside"),
        (("pull-request", "--update-lock", "--codex-only", "sqlite.*"), "leave out --codex-only"),
        (("releases", "--update-lock"), "picks no cells"),
        (("pull-request", "--update-lock", "--codex-release", "0.163.0"), "leave out --codex-release and --codex-bin"),
    ],
)
def test_wrong_words_are_answered(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *words]) == 4
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown


def test_the_cases_of_a_generator_are_counted_take_time_and_need_room(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def shown(*words: str) -> dict[str, Any]:
        given = ("--codex-release", "0.163.0", "--codex-report-dir", str(tmp_path), *words)
        assert main(["plan", *given, "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert main(["plan", *given]) == 0
        text = capsys.readouterr().out
        words_of = " ".join(text.split())
        assert f"{found['stories']} cases of generators" in words_of
        assert f"guessed: {GUESSED} s for " in words_of and f", {GUESSED_STORY} s for " in words_of
        assert all(len(line) <= 80 for line in text.splitlines()[:4])
        return found

    one = shown("--codex-generator", "good", "--codex-only", "generator.*")
    assert one["calls"] == 0
    assert one["stories"] > 200
    assert one["strains"] > 1
    assert one["seconds"] == pytest.approx(one["stories"] * GUESSED_STORY + one["strains"] * GUESSED_STRAIN, abs=0.2)
    two = ("--codex-generator", "good", "--codex-generator", "multica-0.4.3", "--codex-only", "generator.*")
    assert len(shown(*two)["cells"]) == 2
    assert len(shown(*two, "--codex-budget", f"{round(one['seconds']) + 5}s")["cells"]) == 1
