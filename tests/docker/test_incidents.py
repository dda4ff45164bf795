"""molecule-core#2128 by the lines of docs/explanation/incidents.md: a container in which no sandbox starts."""

from tests.live.incident_builders import Asked, have, run

WITH_NETWORK, WITHOUT, FREE = "workspace-write-network", "workspace-write", "danger-full-access"
START, WORK, HTTP = "start.sandbox-is-on", "filesystem.workspace-writable", "network.loopback-http-arrives"
RELEASE = "0.130.0"
LOOPBACK = ("loopback: Failed RTM_NEWADDR: Operation not permitted", "loopback-newaddr-refused-by-filter")
UID_MAP = ("setting up uid map: Permission denied", "uid-map-refused-by-filter")


def test_molecule_what_was_written_for_the_network_starts_no_sandbox_either() -> None:
    have(RELEASE)
    seen = run("--codex-matrix=incident-molecule", f"--codex-only={WORK},{HTTP}")
    assert seen.code == 1, seen.out
    for generator, policy, (said, fingerprint) in (
        ("", WITHOUT, LOOPBACK),  # Codex's own default
        ("", WITH_NETWORK, UID_MAP),
        ("molecule-first-boot", WITH_NETWORK, UID_MAP),
        ("molecule-77", WITH_NETWORK, UID_MAP),
        ("molecule-hotpatch", WITH_NETWORK, LOOPBACK),  # at its second boot the file does not load: the default again
    ):
        red = Asked(generator, START, policy=policy, release=RELEASE)
        assert (seen.records[red].verdict.value, seen.fingerprint(red)) == ("violates", fingerprint), (red, seen.out)
        assert said in seen.records[red].reason
        blocked = seen.verdicts(generator=generator, policy=policy, promise=WORK)
        assert list(blocked.values()) == ["blocked"]
    for generator in ("", "molecule-82", "molecule-fixed"):
        free = seen.verdicts(generator=generator, policy=FREE)
        assert {asked.promise for asked in free} >= {START, WORK, HTTP}
        assert set(free.values()) == {"unconfined"}, (generator, free)


def test_molecule_a_boot_prepends_what_is_there_already() -> None:
    have(RELEASE)
    seen = run(
        "--codex-matrix=incident-molecule",
        "--codex-only=generator.second-run-changes-nothing,generator.means-the-same-again,generator.config-loads",
        "-k",
        "01-none-no-folder or 63-molecule-77",
    )
    verdicts = {
        name: {
            asked.promise: verdict for asked, verdict in seen.verdicts(generator=name, case="01-none-no-folder").items()
        }
        for name in ("molecule-hotpatch", "molecule-77", "molecule-82", "molecule-fixed")
    }
    again, means, loads = (
        "generator.second-run-changes-nothing",
        "generator.means-the-same-again",
        "generator.config-loads",
    )
    red, good = "violates", "conforms"
    assert verdicts == {
        "molecule-hotpatch": {again: red, means: red, loads: red},
        "molecule-77": {again: red, means: good, loads: good},  # it grows, and means the same
        "molecule-82": {again: red, means: good, loads: good},
        "molecule-fixed": {again: good, means: good, loads: good},
    }, seen.out
    (unreadable,) = seen.verdicts(generator="molecule-hotpatch", promise=means, case="01-none-no-folder")
    assert seen.fingerprint(unreadable) == "generator-duplicate-table"
