"""Columns of a sink's source, as a Delta schema has them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from dt_jupyter.delivery.source_at import sink_columns
from dt_jupyter.sinks import Binding, SinkColumn
from tests.unit.sinks.lab import refused

_TEXT = {"type": "struct", "fields": [{"name": "f", "type": "string", "nullable": True,
         "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}}]}  # fmt: skip


def field(name: str, type_: Any = "string", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": metadata}


@pytest.mark.parametrize(
    "metadata",
    [
        {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"},
        {"__COLLATIONS": {"x": "spark.UTF8_LCASE"}},
        {"delta.generationExpression": "upper(y)"},
        {"delta.identity.start": 1},
    ],
)
def test_what_a_source_says_of_a_column_does_not_change_its_values(
    metadata: dict[str, Any],
) -> None:
    (found,) = sink_columns([field("x", **metadata)])
    assert (found.name, found.type) == ("x", pa.string())


def test_a_bound_in_a_nested_type_is_no_other_type() -> None:
    array = {"type": "array", "elementType": _TEXT, "containsNull": True}
    found = [c.type for c in sink_columns([field("x", _TEXT), field("y", array)])]
    assert found == [pa.struct([("f", pa.string())]), pa.list_(pa.struct([("f", pa.string())]))]


@pytest.mark.parametrize("type_", ["variant", "interval day to second", "void", "time(6)"])
def test_a_type_that_no_sink_has_is_refused_by_column_and_type(type_: str) -> None:
    nested = {"type": "array", "elementType": type_, "containsNull": True}
    for each in (type_, nested):
        with refused("DT-6132") as found:
            sink_columns([field("k"), field("x", each)])
        assert f"Column x of type {type_}" in found[0].sentence


def test_a_collated_key_is_refused_and_a_collated_value_is_not() -> None:
    columns = sink_columns([field("k"), field("x", __COLLATIONS={"x": "spark.UTF8_LCASE"})])
    assert Binding("t", columns, ("k",)).key == ("k",)
    with refused("DT-6136"):
        Binding("t", columns, ("x",))
    with refused("DT-6136"):
        Binding("t", (SinkColumn("x", pa.string(), collated=True),), ("x",))
