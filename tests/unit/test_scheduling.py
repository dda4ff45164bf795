"""Which environment an item belongs to."""

import pytest

from pytest_codexsandbox.scheduling import Owners
from tests.unit.matrix.making import cell

OWNERS = Owners(
    (
        cell("0.163.0", id="debian-12~host~local"), cell("0.163.0-mine", id="debian-12~host~local"),
        cell("0.163.0", id="my-debian-12~host~local"),
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("nodeid", "environment"),
    [
        ("x.py::test_a[debian-12~host~local~codex-0.163.0-sandbox-read-only]", "debian-12~host~local"),
        ("x.py::test_a[debian-12~host~local~codex-0.163.0-mine-sandbox-read-only]", "debian-12~host~local"),
        ("x.py::test_a[my-debian-12~host~local~codex-0.163.0-sandbox-read-only]", "my-debian-12~host~local"),
        ("x.py::test_a[one-debian-12~host~local~codex-0.163.0-sandbox-read-only]", "debian-12~host~local"),
        ("x.py::test_a[one]", ""),
        ("x.py::test_a", ""),
    ],
)
def test_an_item_belongs_where_its_cell_runs(nodeid: str, environment: str) -> None:
    assert OWNERS.environment_of(nodeid) == environment
