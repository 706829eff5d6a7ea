"""Plans of Spark that are stored for tests without a JVM."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.recorded_plans import (
    FOLDER,
    RECORDING,
    RecordedPlan,
    RecordedPlans,
    column_names,
    read_store,
    write_store,
)

PLAN = RecordedPlan("SELECT a FROM t", {"t": "a INT"}, {"v": "SELECT * FROM t"}, "{}")


@pytest.mark.skipif(bool(RECORDING), reason="a recording has all plans")
def test_a_text_without_a_plan_fails_with_what_to_run() -> None:
    with pytest.raises(
        AssertionError, match=r"Run `python3 dev.py record`: no plan .* of SELECT z"
    ):
        RecordedPlans(FOLDER / "none.xz").relation("SELECT z FROM t", {"t": "z INT"})


def test_a_plan_is_of_its_text_its_tables_and_its_views() -> None:
    others = (
        replace(PLAN, text="SELECT a  FROM t"),
        replace(PLAN, tables={"t": "a BIGINT"}),
        replace(PLAN, views={}),
    )
    assert len({PLAN.key, *(other.key for other in others)}) == 4
    assert replace(PLAN, document="").key == PLAN.key


def test_a_store_has_the_same_bytes_for_the_same_plans(tmp_path: Path) -> None:
    other = replace(PLAN, text="SELECT 'ü\\n'")
    plans = {p.key: p for p in (PLAN, other)}
    write_store(tmp_path / "one.xz", plans)
    write_store(tmp_path / "other.xz", dict(reversed(plans.items())))
    assert read_store(tmp_path / "one.xz") == plans
    assert (tmp_path / "one.xz").read_bytes() == (tmp_path / "other.xz").read_bytes()


def test_the_columns_of_a_ddl_have_their_names() -> None:
    ddl = "`a b` INT, `c``d` DECIMAL(10, 2), s STRUCT<x: INT, y: ARRAY<INT>>"
    ddl += ", ü MAP<INT, STRING>, z INT"
    assert column_names(ddl) == ("a b", "c`d", "s", "ü", "z")
