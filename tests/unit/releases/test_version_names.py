"""Names of releases, sizes, machines, and what is said before something is downloaded."""

import re
from pathlib import Path

import pytest

from pytest_codexsandbox import registry
from pytest_codexsandbox.errors import CodexSandboxError, InputError, Unavailable
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.command import CommandResult
from pytest_codexsandbox.releases import download_estimate, installed_package, known_releases, npm
from pytest_codexsandbox.releases.cache_limits import limit_from, parse_size
from pytest_codexsandbox.releases.npmrc import Registry as Configured
from pytest_codexsandbox.releases.platform_tag import here
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.releases.version_names import order, release_name, wheel_version
from pytest_codexsandbox.system import pip
from pytest_codexsandbox.system.progress import Progress
from tests.unit.releases.builders import X86, Machine, Registry, codex_of, dist, tgz


@pytest.mark.parametrize(
    ("text", "ours", "wheel"),
    [
        ("0.163.0", "0.163.0", "0.163.0"),
        ("0.140.0-alpha.2", "0.140.0-alpha.2", "0.140.0a2"),
        ("0.140.0a2", "0.140.0-alpha.2", "0.140.0a2"),
    ],
)
def test_one_release_has_one_name(text: str, ours: str, wheel: str) -> None:
    assert release_name(text) == ours
    assert wheel_version(ours) == wheel


@pytest.mark.parametrize("text", ["", "latest", "0.163", "v0.163.0", "0.163.0/../x", "1", "0.163.0 "])
def test_an_invalid_release_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=re.escape(repr(text))):
        release_name(text)


def test_releases_are_ordered_by_number_and_an_alpha_comes_before_its_release() -> None:
    names = ["0.100.0", "0.99.0", "0.100.0-alpha.1"]
    assert sorted(names, key=order) == ["0.99.0", "0.100.0-alpha.1", "0.100.0"]


@pytest.mark.parametrize(("text", "size"), [("5GB", 5 * 10**9), ("1.5 mb", 1_500_000), ("7k", 7000), ("0", 0)])
def test_a_size_is_read_as_people_write_it(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "many", "-1GB", "5 GiB", "1e9"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a size"):
        parse_size(text)


def test_the_limit_is_the_variables_else_ten_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limit_from() == 10**10
    monkeypatch.setenv("CODEXSANDBOX_CACHE_LIMIT", "2GB")
    assert limit_from() == 2 * 10**9


def test_machines_are_known_by_every_name_and_others_get_the_next_step() -> None:
    assert here("linux", "x86_64").npm == "linux-x64"
    assert here("linux", "arm64").triple == "aarch64-unknown-linux-musl"
    with pytest.raises(Unavailable, match="needs Linux"):
        here("darwin", "arm64")
    with pytest.raises(Unavailable, match="riscv64"):
        here("linux", "riscv64")


def test_a_machine_without_published_releases_may_have_a_build_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """What the error of `here` tells such a user to do has to work."""
    binary = tmp_path / "codex"
    binary.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf3\x00" + bytes(44))  # of a RISC-V
    binary.chmod(0o755)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    own = SubjectSpec(label="own", path=str(binary), source="path")
    assert download_estimate.forecast(own, cache) == download_estimate.Forecast(source="path", cached=True)
    assert "published: aarch64, x86_64" in download_estimate.forecast(spec("0.136.0"), cache).why_not
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    with pytest.raises(InputError, match=re.escape(str(binary))):
        download_estimate.forecast(own, cache)
    monkeypatch.setattr("sys.platform", "darwin")
    assert "needs Linux" in download_estimate.forecast(own, cache).why_not


def test_a_user_without_a_home_has_to_name_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(name: str) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("CODEXSANDBOX_CACHE", raising=False)
    monkeypatch.setattr(registry, "user_cache_path", no_home)
    with pytest.raises(InputError, match="cache folder") as caught:
        registry.cache_folder()
    assert caught.value.next_step == "CODEXSANDBOX_CACHE=DIR"


# ---- forecast
def spec(release: str) -> SubjectSpec:
    return SubjectSpec(label=release, release=release)


@pytest.fixture
def _forecasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_estimate, "here", lambda: X86)
    known = {"0.114.0": known_releases.Known(npm=54), "0.136.0": known_releases.Known(npm=92, pypi=90)}
    monkeypatch.setattr(known_releases, "known", lambda: known)


@pytest.mark.usefixtures("_forecasts")
def test_a_forecast_says_where_from_and_how_much(cache: Path) -> None:
    assert download_estimate.forecast(spec("0.136.0"), cache) == download_estimate.Forecast(source="pypi", megabytes=90)
    assert download_estimate.forecast(spec("0.114.0"), cache) == download_estimate.Forecast(source="npm", megabytes=54)


@pytest.mark.usefixtures("_forecasts")
def test_a_release_that_data_does_not_know_is_asked_for(server: Registry, cache: Path) -> None:
    archive = server.tarball("0.999.0", tgz(codex_of("0.999.0")))
    there = download_estimate.forecast(spec("0.999.0"), cache, run=Machine(npm={"0.999.0-linux-x64": dist(archive)}))
    assert there == download_estimate.Forecast(source="npm", megabytes=1)
    assert not cache.exists()
    server.put("/codex-0.999.0.tgz", b"", status=503)  # it exists; what it weighs nobody says
    there = download_estimate.forecast(spec("0.999.0"), cache, run=Machine(npm={"0.999.0-linux-x64": dist(archive)}))
    assert there == download_estimate.Forecast(source="npm")
    assert "no Codex 9.9.9; " in download_estimate.forecast(spec("9.9.9"), cache, run=Machine()).why_not
    dead = download_estimate.forecast(spec("9.9.9"), cache, run=lambda command: CommandResult(ended="timeout"))
    assert "Codex 9.9.9 is unknown; pip" in dead.why_not


@pytest.mark.usefixtures("_forecasts")
def test_a_forecast_without_pip_and_npm_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip, "program", tuple)
    assert download_estimate.forecast(spec("0.136.0"), cache).source == "npm"
    monkeypatch.setattr(npm, "command", lambda: "")
    assert download_estimate.forecast(spec("0.114.0"), cache).why_not == npm.NO_WAY
    monkeypatch.setattr(Configured, "configured", classmethod(lambda cls: Configured(url="https://registry")))
    assert download_estimate.forecast(spec("0.114.0"), cache).source == "npm"


@pytest.mark.usefixtures("_forecasts")
def test_a_cached_release_costs_no_download(
    server: Registry, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Machine(npm={"0.114.0-linux-x64": dist(server.tarball("0.114.0", tgz(codex_of("0.114.0"))))})
    resolve(spec("0.114.0"), cache=cache, progress=Progress(), run=run)
    assert download_estimate.forecast(spec("0.114.0"), cache) == download_estimate.Forecast(source="cache", cached=True)
    monkeypatch.setattr(
        installed_package, "find", lambda: installed_package.InstalledPackage(release="0.163.0", binary="/codex")
    )
    assert download_estimate.forecast(spec("0.163.0"), cache) == download_estimate.Forecast(
        source="installed", cached=True
    )
    mine = SubjectSpec(label="mine", path=str(tmp_path / "none"), source="path")
    with pytest.raises(InputError, match="not a Codex"):
        download_estimate.forecast(mine, cache)


@pytest.mark.usefixtures("_forecasts")
def test_a_name_that_is_no_release_is_refused_in_the_forecast(cache: Path) -> None:
    with pytest.raises(InputError, match="not the name"):
        download_estimate.forecast(spec("latest"), cache)


def test_data_that_cannot_be_read_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("[")
    for name in ("broken.toml", "none.toml"):
        with pytest.raises(CodexSandboxError, match="data about releases") as caught:
            known_releases._read(tmp_path / name)
        assert caught.value.where.endswith(name)
