"""Lines of a journal for tests of reports: calls, environments, Codex binaries."""

from pytest_codexsandbox.model.act import ActResult
from pytest_codexsandbox.model.journal_lines import (
    CallLine,
    EnvironmentLine,
    SubjectLine,
)
from pytest_codexsandbox.model.observation import Link, Observation, ProcReading

DIGEST = "1f2e3d4c5b6a79880123456789abcdef0123456789abcdef0123456789abcdef"


def call(cell_id: str, policy: str, **words: object) -> CallLine:
    observation: dict[str, object] = {
        "id": f"{cell_id}-{policy}",
        "door": "sandbox",
        "policy": policy,
        "nonce": "n0nce",
        "argv": ("codex", "sandbox", "-c", 'sandbox_mode="workspace-write"', "--", "python3", "-I", "probe.py"),
        "cwd": "/var/lib/agent/w1/workspace",
        "env": {"HOME": "/var/lib/agent/w1/home", "PATH": "/usr/bin:/bin"},
        "ended": "exit",
        "code": 0,
        "seconds": 0.04,
        "stdout_sha256": "0" * 64,
        "stdout_total": 10,
        "stdout": "",
        "stderr": "",
        "ready": True,
        "finished": True,
        "rows": {"filesystem.outside-refused/write": ActResult(act="filesystem.outside-refused/write", ok=False)},
        "readings": (reading(),),
    } | words
    return CallLine(
        id=f"{cell_id}-{policy}",
        environment="e1",
        subject="s1",
        cell=cell_id,
        observation=Observation(**observation),  # type: ignore[arg-type]
        repro=f"repro/{cell_id}-{policy}.sh",
        timeout=20.0,
    )


def reading() -> ProcReading:
    return ProcReading(
        pid=4242,
        namespaces={"net": "net:[2]", "mnt": "mnt:[2]", "user": "user:[2]"},
        seccomp=2,
        filters=1,
        no_new_privs=1,
        cap_eff="0",
        cap_bnd="0",
        uid_map="0 1000 1",
        stdout_is_ours=True,
        chain=(
            Link(pid=4240, exe="/opt/codex/bin/codex", name="codex"),
            Link(pid=4241, exe="/opt/codex/codex-resources/bwrap", name="bwrap", sha256=DIGEST),
        ),
        hand_namespaces={"net": "net:[1]", "mnt": "mnt:[1]", "user": "user:[1]"},
        hand_seccomp=0,
        hand_filters=0,
        hand_no_new_privs=0,
        hand_cap_eff="0",
    )


def environment(spec: str = "debian-12~host~local", id: str = "e1") -> EnvironmentLine:
    facts = {
        "distro": "debian",
        "distro_name": "Debian GNU/Linux 12 (bookworm)",
        "kernel": "6.18.4",
        "provenance": "host",
        "arch": "x86_64",
        "uid": 1000,
        "lsms": ["capability", "landlock", "yama"],
        "sysctls": {"user.max_user_namespaces": 63000},
    }
    return EnvironmentLine(id=id, spec=spec, facts=facts)


def subject(label: str = "0.163.0", id: str = "s1") -> SubjectLine:
    return SubjectLine(
        id=id,
        label=label,
        version="0.163.0",
        digest=DIGEST,
        source="installed",
        binary="/opt/codex/bin/codex",
    )
