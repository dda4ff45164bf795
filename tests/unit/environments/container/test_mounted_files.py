"""What a container is given of this machine's files, and what is changed in its own."""

import ipaddress
from pathlib import Path

import pytest

from pytest_codexsandbox.environments.container import networks
from pytest_codexsandbox.environments.container.codex_files import contents, place_of
from pytest_codexsandbox.environments.container.image_users import changes
from pytest_codexsandbox.model.container import UserSpec

PASSWD = b"root:x:0:0:root:/root:/bin/bash\nubuntu:x:1000:1000:Ubuntu:/home/ubuntu:/bin/bash\n"
GROUP = b"root:x:0:\nubuntu:x:1000:\n"
U1000 = UserSpec(name="u1000", uid=1000, gid=1000)
NAMELESS = UserSpec(name="u1000-nopasswd", uid=1000, gid=1000, passwd=False)


def files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
        (folder / name).chmod(0o700)


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


# ---- the subject's folder
def test_a_folder_that_holds_only_codex_is_shown_as_it_is(tmp_path: Path) -> None:
    package = tmp_path / "codex_cli_bin"
    files(
        package,
        "bin/codex",
        "bin/codex-code-mode-host",
        "codex-resources/bwrap",
        "codex-path/rg",
        "codex-package.json",
        "__init__.py",
        "__pycache__/__init__.cpython-311.pyc",
    )
    assert place_of(str(package / "bin/codex"), "d1", tmp_path / "cache") == (package, "bin/codex")
    alone = tmp_path / "alone"
    files(alone, "my-build")
    assert place_of(str(alone / "my-build"), "d2", tmp_path / "cache") == (alone, "my-build")
    assert not (tmp_path / "cache").exists()


def test_a_home_is_not_shown_only_the_program_in_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    files(home, "codex", ".ssh/id_ed25519", ".codex/auth.json", "notes.txt", "codex-linux-sandbox")
    folder, program = place_of(str(home / "codex"), "d1", tmp_path / "cache")
    assert folder.is_relative_to(tmp_path / "cache")
    assert (program, below(folder)) == ("codex", {"codex", "codex-linux-sandbox"})
    assert (folder / program).stat().st_mode & 0o777 == 0o744
    assert place_of(str(home / "codex"), "d1", tmp_path / "cache") == (folder, program)


def test_a_prefix_that_others_use_is_not_shown_only_what_belongs_to_codex(tmp_path: Path) -> None:
    usr = tmp_path / "usr"
    files(usr, "bin/codex", "bin/sh", "bin/bwrap", "codex-resources/bwrap", "lib/libc.so.6", "codex-package.json")
    (usr / "codex-resources" / "secret").symlink_to("/etc/shadow")
    folder, program = place_of(str(usr / "bin/codex"), "d1", tmp_path / "cache")
    assert folder != usr
    assert program == "bin/codex"
    assert below(folder) == {"bin/codex", "bin/bwrap", "codex-resources/bwrap", "codex-package.json"}


def test_a_change_beside_a_program_is_copied_again(tmp_path: Path) -> None:
    usr = tmp_path / "usr"
    files(usr, "bin/codex", "bin/sh", "codex-resources/bwrap")
    before, _ = place_of(str(usr / "bin/codex"), "d1", tmp_path / "cache")
    (usr / "codex-resources/bwrap").write_text("a newer one")
    after, _ = place_of(str(usr / "bin/codex"), "d1", tmp_path / "cache")
    assert before != after
    assert (after / "codex-resources/bwrap").read_text() == "a newer one"


def test_the_same_program_with_another_bubblewrap_beside_it_is_another_codex(tmp_path: Path) -> None:
    one, two, equal = tmp_path / "one", tmp_path / "two", tmp_path / "equal"
    for folder in (one, two, equal):
        files(folder, "bin/codex", "codex-resources/bwrap", "codex-path/rg")
    (two / "codex-resources/bwrap").write_text("patched-resources/bwrap"[: len("codex-resources/bwrap")])
    first, second, third = (contents(str(folder / "bin/codex"), "d1") for folder in (one, two, equal))
    assert first == third
    assert first != second
    assert first != contents(str(one / "bin/codex"), "d2")


# ---- the password file
def both(passwd: bytes = PASSWD, group: bytes = GROUP) -> dict[str, bytes]:
    return {"/etc/passwd": passwd, "/etc/group": group}


def test_a_password_file_that_is_as_asked_is_left_alone() -> None:
    assert changes(both(), U1000) == {}
    assert changes(both(), UserSpec(name="root")) == {}
    assert changes(both(PASSWD.splitlines(keepends=True)[0]), NAMELESS) == {}


def test_only_the_requested_uid_loses_its_name() -> None:
    assert changes(both(), NAMELESS) == {"/etc/passwd": PASSWD.splitlines(keepends=True)[0]}


def test_a_uid_without_a_name_gets_one() -> None:
    wanted = changes(both(b"agent:x:7:7::/:/bin/sh\n", b"root:x:0:\n"), U1000)
    assert wanted == {
        "/etc/passwd": b"agent:x:1000:1000::/home/agent:/bin/sh\n",
        "/etc/group": b"root:x:0:\nagent:x:1000:\n",
    }
    assert changes(both(b"", b""), UserSpec(name="root"))["/etc/passwd"] == b"root:x:0:0::/root:/bin/sh\n"


def test_binary_lines_of_a_password_file_stay() -> None:
    odd = b"caf\xe9:x:9:9::/:/bin/sh\n"
    assert changes(both(odd + PASSWD), NAMELESS)["/etc/passwd"] == odd + PASSWD.splitlines(keepends=True)[0]


# ---- networks
def test_networks_are_small_apart_and_in_an_unrouted_range() -> None:
    drawn = {networks._subnet() for _ in range(200)}
    assert len(drawn) > 150
    assert all(ipaddress.ip_network(one).subnet_of(networks.RANGE) for one in drawn)  # type: ignore[arg-type]
    assert all(ipaddress.ip_network(one).num_addresses == 8 for one in drawn)


@pytest.mark.parametrize(
    "network", [networks.NONE, networks.Network(mode="codexsandbox-12ab34cd", neighbour="198.18.0.3")]
)
def test_a_container_is_connected_to_its_network_alone(network: networks.Network) -> None:
    joined = network.words.get("NetworkingConfig", {}).get("EndpointsConfig", {})
    assert list(joined) == ([network.mode] if network.neighbour else [])
