"""Releases with real processes: the installed Codex, what the cache holds, programs that misbehave, many at once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases import capability_probe, known_releases
from pytest_codexsandbox.releases.cache_files import sha256_of
from pytest_codexsandbox.releases.platform_tag import here
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.releases.user_binaries import candidate
from pytest_codexsandbox.system.progress import Progress
from tests.unit.releases.builders import Registry, registry, sha512, tgz

FAKE = """#!/bin/sh
case "$*" in
  --version) echo "codex-cli 0.136.0" ;;
  "sandbox --help") printf 'Usage: codex sandbox [OPTIONS] [COMMAND]...\\n' ;;
  *) printf 'Usage: codex [OPTIONS] [PROMPT]\\n' ;;
esac
"""
RESOLVE = """
import sys
from pathlib import Path
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.releases import known_releases
from pytest_codexsandbox.system.progress import Progress
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.registry import cache_folder

known_releases.known = lambda: {"0.136.0": known_releases.Known(npm=1)}
known_releases.capabilities = dict
spec = SubjectSpec(label="0.136.0", release="0.136.0")
print(resolve(spec, cache=cache_folder(), progress=Progress()).binary)
"""


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): sha256_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_installed_codex_is_what_was_measured_and_the_users_home_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, cache = tmp_path / "home", tmp_path / "cache"
    (home / ".codex").mkdir(parents=True)
    (home / ".codex/config.toml").write_text('model = "mine"\n')
    before = tree(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CODEX_HOME", str(home / ".codex"))
    spec = known_releases.installed()
    assert spec is not None, "the tests need openai-codex-cli-bin"
    found = resolve(spec, cache=cache, progress=Progress(), offline=True)
    assert (found.version, found.source, found.disagreement) == (spec.release, "installed", "")
    assert found.digest == sha256_of(Path(found.binary))
    assert tree(home) == before
    assert list((cache / "homes").iterdir()) == []


def test_every_release_of_the_cache_is_what_was_measured() -> None:
    store, spec = Store(cache_folder()), known_releases.installed()
    assert spec is not None
    for name in sorted({*store.releases(), spec.release}):  # tools that are kept there too are none
        found = resolve(SubjectSpec(label=name, release=name), cache=cache_folder(), progress=Progress(), offline=True)
        assert (found.version, found.disagreement) == (name, "")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("#!/bin/sh\nexec sleep 600\n", "did not end within"),
        ("#!/bin/sh\nhead -c 3000000 /dev/urandom\n", "printed"),
        ("#!/bin/sh\nkill -SEGV $$\n", f"died by signal {int(signal.SIGSEGV)}"),
        ("#!/bin/sh\necho no >&2; exit 7\n", "ended with 7"),
        ("#!/no/such/interpreter\n", "No such file"),
    ],
    ids=["hangs", "prints garbage", "dies by signal", "fails", "cannot start"],
)
def test_a_program_that_is_no_codex_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.setattr(capability_probe, "PATIENCE", 3.0 if "sleep" in script else 120.0)
    binary = tmp_path / "codex"
    binary.write_text(script)
    binary.chmod(0o755)
    with pytest.raises(InputError) as caught:
        resolve(candidate(str(binary)), cache=tmp_path / "cache", progress=Progress())
    assert caught.value.where == str(binary) and why in caught.value.why
    assert list((tmp_path / "cache/homes").iterdir()) == []


def publish(known: Registry) -> None:
    archive = tgz({f"package/vendor/{here().triple}/bin/codex": FAKE.encode()})
    url = known.put("/codex.tgz", archive)
    dist = f'{{"tarball": "{url}", "integrity": "{sha512(archive)}"}}'
    listed = f'{{"versions": {{"0.136.0-{here().npm}": {{"dist": {dist}}}}}}}'
    known.put("/@openai%2Fcodex", listed.encode())


def test_many_processes_at_once_download_a_release_once(tmp_path: Path) -> None:
    with registry() as known:
        publish(known)
        env = {
            "PATH": str(tmp_path),
            "HOME": str(tmp_path),
            "CODEXSANDBOX_CACHE": str(tmp_path / "cache"),
            "npm_config_registry": known.address,
            "no_proxy": "127.0.0.1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        workers = [
            subprocess.Popen([sys.executable, "-c", RESOLVE], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(6)
        ]
        done = [(*worker.communicate(timeout=300), worker.returncode) for worker in workers]
    assert [(code, err) for _, err, code in done] == [(0, b"")] * 6
    assert len({out for out, _, _ in done}) == 1
    assert [path for path, _ in known.asked].count("/codex.tgz") == 1


def test_a_builder_that_is_killed_leaves_nothing_that_a_reader_sees(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    script = (
        "import sys, time; from pathlib import Path; from pytest_codexsandbox.releases.store import Store\n"
        "with Store(Path(sys.argv[1])).building('0.136.0', 'x86_64') as staging:\n"
        "    (staging / 'half').write_bytes(b'codex'); print('at work', flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(store.folder)], stdout=subprocess.PIPE) as builder:
        assert builder.stdout is not None
        assert builder.stdout.readline() == b"at work\n"
        builder.kill()
    assert store.find("0.136.0", "x86_64") is None
    with store.building("0.136.0", "x86_64") as staging:
        assert list(staging.iterdir()) == []
        assert list((store.folder / "staging").iterdir()) == [staging]
