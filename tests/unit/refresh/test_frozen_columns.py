"""In which columns frozen rows go on, and what is refused since a value would be lost."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError, Name
from dt_jupyter.refresh.frozen_columns import (
    ColumnsKept,
    ColumnTypes,
    carried_columns,
    holds_every_value,
)

NAME = Name("default", "t")
STORED = {"g": "int", "a b": "decimal(10,2)", "s": "string"}


def carried(
    wanted: ColumnTypes,
    told: ColumnTypes | None = None,
    renamed: dict[str, str] | None = None,
    read: tuple[str, ...] = (),
) -> tuple[str, ...]:
    of = ColumnsKept(STORED, told or wanted, wanted, renamed or {}, frozenset(read))
    return carried_columns(NAME, of)


def problem(*args: object, **more: object) -> str:
    with pytest.raises(DTError) as found:
        carried(*args, **more)  # type: ignore[arg-type]
    assert found.value.code == "DT-1142"
    return str(found.value)


def test_a_column_is_found_by_its_name_or_by_the_one_that_it_had() -> None:
    assert carried({"G": "int"}) == ("CAST(`g` AS int) AS `G`",)
    assert carried({"x": "string"}, renamed={"x": "s"}) == ("CAST(`s` AS string) AS `x`",)
    assert carried({"x": "string"}) == ("CAST(NULL AS string) AS `x`",)
    assert carried({"a b": "decimal(12,3)"}) == ("CAST(`a b` AS decimal(12,3)) AS `a b`",)


def test_no_value_is_lost_unless_a_statement_says_so() -> None:
    told = {"g": "int", "s": "string"}
    assert "no column s" in problem({"g": "int"}, told)
    assert carried({"g": "int"}, {"g": "int"}) == ("CAST(`g` AS int) AS `g`",)
    assert len(carried({"g": "int", "t": "string"}, told, {"t": "s"})) == 2
    assert "s is int now, and was string" in problem({"s": "int"})


def test_what_the_condition_reads_has_to_be_stored() -> None:
    assert "no column day" in problem({"g": "int", "day": "date"}, read=("day",))
    assert len(carried({"g": "int", "day": "date"}, read=("g",))) == 2


@pytest.mark.parametrize(
    ("old", "new", "wider"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("int", "double", True),
        ("bigint", "double", False),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(10,2)", False),
        ("decimal(10,2)", "decimal(11,3)", True),
        ("decimal(10,2)", "decimal(10,3)", False),
        ("date", "timestamp", False),
        ("array<int>", "array<bigint>", False),
    ],
)
def test_a_wider_type_holds_every_value(old: str, new: str, wider: bool) -> None:
    assert holds_every_value(old, new) is wider
