"""What workers found: one name must mean one program and one image to all of them."""

import msgspec
import pytest

from pytest_codexsandbox.model.journal_lines import Line
from pytest_codexsandbox.pytest_plugin.worker_agreement import WorkerAgreement
from tests.unit.reports.line_builders import environment, subject

CODEX = subject("0.163.0")
OTHER = msgspec.structs.replace(CODEX, digest="f" * 64)


def in_image(digest: str, engine: str = "unix:///var/run/docker.sock") -> Line:
    given = {"name": "agent:latest", "id": digest, "engine": engine}
    return msgspec.structs.replace(environment(), facts={"image": "of a user", "image_given": given})


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        ((CODEX, CODEX, environment(), environment()), 0),
        ((CODEX, OTHER), 1),
        ((CODEX, msgspec.structs.replace(CODEX, version="0.164.0")), 1),
        ((in_image("sha256:1"), in_image("sha256:1"), in_image("sha256:2", "ssh://far")), 0),
        ((in_image("sha256:1"), in_image("sha256:2")), 1),
    ],
)
def test_one_name_is_one_program_and_one_image_to_all_workers(lines: tuple[Line, ...], faults: int) -> None:
    agreement = WorkerAgreement()
    for line in lines:
        agreement.take(line)
    assert ["was replaced" in fault for fault in agreement.faults] == [True] * faults
