"""Memory is short where the machine, or the process's control group, has little left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dt_jupyter.caches.free_memory import is_memory_short


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Makes the machine's memory free to a part."""
    found = psutil.virtual_memory()

    def set_free(part: float) -> None:
        now = found._replace(available=int(part * found.total))
        monkeypatch.setattr(psutil, "virtual_memory", lambda: now)

    return set_free


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
    tmp_path: Path,
    machine: Callable[[float], None],
    limit: str,
    current: int,
    inactive: int,
    short: bool,
) -> None:
    machine(0.5)
    assert is_memory_short(group(tmp_path, limit, current, inactive)) is short


def test_a_machine_that_is_full(tmp_path: Path, machine: Callable[[float], None]) -> None:
    machine(0.2)
    assert not is_memory_short(tmp_path / "none")
    machine(0.05)
    assert is_memory_short(tmp_path / "none")
