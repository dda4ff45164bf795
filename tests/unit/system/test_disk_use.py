"""Disk use counts what a removal would free, and nothing elsewhere."""

import os
from pathlib import Path

from pytest_codexsandbox.system.disk_use import disk_use, in_words


def test_files_are_counted_once_and_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"x" * 1_000_000)
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "a").write_bytes(b"x" * 100_000)
    alone = disk_use(folder)
    assert 100_000 <= alone < 200_000
    os.link(folder / "below" / "a", folder / "b")
    (folder / "c").symlink_to(outside)
    (folder / "d").symlink_to(tmp_path)
    assert disk_use(folder) - alone < 20_000
    assert disk_use(tmp_path / "gone") == 0


def test_sizes_are_shown_in_a_unit_that_fits() -> None:
    assert (in_words(1_234_567), in_words(0), in_words(2_345_000_000)) == ("1.2 MB", "0.0 MB", "2.3 GB")
