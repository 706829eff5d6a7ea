"""What Java is told at the start of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dt_jupyter.spark.class_archive import OPTIONS
from dt_jupyter.spark.launch import Launch, environment, plan_start

if TYPE_CHECKING:
    from pathlib import Path

LAUNCH = Launch({"spark.master": "local[1]"}, ())
LATE = "-XX:Tier4InvocationThreshold=50000"


@pytest.mark.parametrize("given", [
    "", "-XX:+UseSerialGC", f"{LATE[:-5]}5000 -XX:TieredStopAtLevel=1",
])  # fmt: skip
def test_what_the_user_chose_comes_last_and_decides(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # without an archive
    monkeypatch.setenv(OPTIONS, given)
    with environment(plan_start(LAUNCH).variables):
        again = plan_start(LAUNCH).variables[OPTIONS]
    options = plan_start(LAUNCH).variables[OPTIONS]
    assert options.startswith(LATE)
    assert options.endswith(given)
    assert again.endswith(given), "also where another start is under way"
    assert len(again.split()) <= 2 * len(options.split())
