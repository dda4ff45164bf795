"""What /proc says of a container, read from lines that were seen there."""

from pathlib import Path

import pytest

from pytest_codexsandbox.guest import confinement

MOUNTS = """overlay / overlay rw,relatime,lowerdir=/x 0 0
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
tmpfs /dev tmpfs rw,nosuid,size=65536k,mode=755 0 0
sysfs /sys sysfs ro,nosuid,nodev,noexec,relatime 0 0
tmpfs /srv/areas tmpfs rw 0 0
proc /proc/bus proc ro,nosuid,nodev,noexec,relatime 0 0
proc /proc/sys proc ro,nosuid,nodev,noexec,relatime 0 0
tmpfs /proc/acpi tmpfs ro,relatime 0 0
tmpfs /proc/kcore tmpfs rw,nosuid,size=65536k,mode=755 0 0
tmpfs /sys/firmware tmpfs ro,relatime 0 0
""".splitlines()
ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
""".splitlines()


def test_paths_that_an_engine_hides_and_those_it_makes_read_only() -> None:
    assert confinement.mounted(MOUNTS) == (
        "rw",
        ["/proc/acpi", "/proc/kcore", "/sys/firmware"],
        ["/proc/bus", "/proc/sys"],
    )
    assert confinement.mounted(["overlay / overlay ro 0 0", "proc /proc proc rw 0 0"]) == ("ro", [], [])
    assert confinement.mounted([]) == ("", [], [])


def test_a_route_that_leads_out() -> None:
    assert confinement.default_route(ROUTES) == "eth0"
    assert confinement.default_route([ROUTES[0], ROUTES[2]]) == "none"
    assert confinement.default_route([]) == "none"


def test_capabilities_by_name() -> None:
    has, lacks = confinement.capabilities("00000000a80425fb")
    assert len(has) == 14
    assert {"CHOWN", "SETFCAP", "NET_RAW"} <= set(has)
    assert "SYS_ADMIN" in lacks
    assert not set(has) & set(lacks)
    assert confinement.capabilities("") == ([], [])
    assert confinement.capabilities("0")[0] == []


def test_capabilities_in_force_are_none_some_or_all() -> None:
    assert confinement.in_force("0000000000000000", "00000000a80425fb") == "none"
    assert confinement.in_force("00000000a80425fb", "00000000a80425fb") == "all"
    assert confinement.in_force("0000000000000400", "00000000a80425fb") == "some"
    assert confinement.in_force("0000000000000000", "0000000000000000") == "none"


def test_the_name_of_a_uid() -> None:
    lines = ["root:x:0:0:root:/root:/bin/bash", "broken", "me:x:1000:1000::/:/bin/sh"]
    assert confinement.user_name(1000, lines) == "me"
    assert confinement.user_name(100, lines) == ""


@pytest.mark.parametrize(
    ("text", "told"), [("max\n", "none"), ("9223372036854771712\n", "none"), ("67108864\n", "67108864"), ("", "")]
)
def test_limits_of_both_kinds_of_control_groups(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "limit").write_text(text)
    assert confinement.limit((str(tmp_path / "missing"), str(tmp_path / "limit"))) == told


def test_a_kernel_setting_is_writable_or_not(tmp_path: Path) -> None:
    """One that opens is enough; nothing is written into it, and nothing is made."""
    setting, missing = tmp_path / "setting", tmp_path / "missing"
    setting.write_text("60")
    assert confinement.settings([str(missing), str(setting)]) == "writable"
    assert setting.read_text() == "60"
    assert confinement.settings([str(missing), str(tmp_path)]) == "ENOENT"
    assert confinement.settings([str(tmp_path), str(missing)]) == "EISDIR"
    assert not missing.exists()
    assert confinement.settings([]) == ""
