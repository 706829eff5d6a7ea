"""Memory is short where the machine, or the process's control group, has little left."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from dt_jupyter.lake.read.memory import is_memory_short


def group(folder: Path, limit: str, current: int, inactive: int) -> Path:
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{current}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {inactive}\n")
    return folder


@pytest.mark.parametrize(
    ("limit", "current", "inactive", "short"),
    [("1000", 950, 0, True), ("1000", 950, 200, False), ("1000", 100, 0, False),
     ("max", 950, 0, False)],
)  # fmt: skip
def test_a_control_group_that_is_full(
    tmp_path: Path, limit: str, current: int, inactive: int, short: bool
) -> None:
    assert is_memory_short(group(tmp_path, limit, current, inactive)) is short


def test_a_machine_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_memory_short(tmp_path / "none")
    found = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: found._replace(available=1))
    assert is_memory_short(tmp_path / "none")
