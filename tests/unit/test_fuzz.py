"""Hostile input as far as it goes without Spark: a value, or an error of the catalogue."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter import connect
from dt_jupyter.cli import main
from dt_jupyter.model import DTError
from dt_jupyter.sql.grammar.functions import qualified_name
from dt_jupyter.sql.grammar.magic_options import (
    parse_changes,
    parse_dt,
    parse_dynamic_table,
    parse_replay,
    parse_time_point,
)
from dt_jupyter.sql.grammar.parse import parse_script
from tests.unit.hostile import NAMES, WHENS, Hostile

CASES = int(os.environ.get("DT_JUPYTER_CASES", "2500"))
SEED = int(os.environ.get("DT_JUPYTER_SEED", "14"))
LONGEST = 80_000
"""Characters of an error; names are shown as they are."""


def answered(call: Callable[[], Any]) -> Any:
    """The result; None for an error of the catalogue, which has to be one that can be shown."""
    try:
        return call()
    except DTError as e:
        if e.code == "DT-5111" or not e.sentence or len(str(e)) > LONGEST:
            raise AssertionError(str(e)) from e
        return None


def test_statements() -> None:
    hostile = Hostile(SEED)
    parsed = 0
    for _ in range(CASES):
        script = hostile.statement()
        for statement in answered(lambda s=script: parse_script(s)) or ():  # type: ignore[misc]
            parsed += bool(statement)
    assert parsed > CASES / 5


def test_lines_of_magics() -> None:
    hostile = Hostile(SEED)
    for _ in range(CASES // 4):
        line, cell = hostile.line(), hostile.query()
        answered(lambda: parse_dt(line))  # noqa: B023
        answered(lambda: parse_dt(line, cell))  # noqa: B023
        answered(lambda: parse_dynamic_table(line, cell))  # noqa: B023
        answered(lambda: parse_changes(line))  # noqa: B023
        answered(lambda: parse_changes(line, cell))  # noqa: B023
        answered(lambda: parse_replay(line))  # noqa: B023


def test_names_and_times() -> None:
    for name in NAMES:
        answered(lambda: qualified_name(name))  # noqa: B023
    for when in (*WHENS, *NAMES):
        answered(lambda: parse_time_point("--at", when))  # noqa: B023


@pytest.mark.parametrize(
    "lake", ["\0", "a\0b", "x" * 5000, "/proc/nowhere", "/dev/null/lake", "~nobody_here/x", ""]
)
def test_a_lake_that_is_no_folder(
    lake: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if lake:
        with pytest.raises(DTError) as e:
            connect(lake)
        assert e.value.code == "DT-5103"
        assert main([lake, "status"]) == 1
        assert capsys.readouterr().err.startswith("DT-5103: ")
    for wrong in (None, 5, b"lake", object()):
        with pytest.raises(DTError) as e:
            connect(wrong)  # type: ignore[arg-type]
        assert e.value.code == "DT-1031"


def test_options_of_connect(tmp_path: Path) -> None:
    for options in ({"colour": 1}, {"spark": 5}, {"memory": 2}, {"scheduler": "yes"}):
        with pytest.raises(DTError) as e:
            connect(str(tmp_path), **options)
        assert e.value.code in ("DT-1031", "DT-1032")
    for name in ("\ud800", "a%20b"):
        with pytest.raises(DTError) as e:
            connect(str(tmp_path / "is" / name))
        assert e.value.code == "DT-5103"
