"""Tables made of files and of frames: what was read is said, and nothing is overwritten."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pytest

from tests.spark.engine_lab import Lab, refused

FILES = {
    # name: text, the columns that are made of it, and what the notes say
    "orders.csv": (
        "id,country,price\n1,DE,2.5\n2,,3\n",
        [("id", "int"), ("country", "string"), ("price", "double")],
        "The first line has the names",
    ),
    "semi.csv": (
        "Order ID;day;day\n1;2026-01-02;x\n",
        [("Order_ID", "int"), ("day1", "date"), ("day2", "string")],
        "'Order ID' is the column Order_ID.",
    ),
    "Plain-rows.csv": ("1,a\n2,b\n", [("_c0", "int"), ("_c1", "string")], "No line has names"),
    "tabbed.tsv": ("a\tb\n1\tx,y\n", [("a", "int"), ("b", "string")], "'\\t'"),
    "lines.jsonl": (
        '{"a": 1, "b": {"c": "x"}}\n',
        [("a", "bigint"), ("b", "struct<c:string>")],
        "",
    ),
}


@pytest.fixture(scope="module")
def lab(shared_lab: Lab) -> Lab:
    return shared_lab


def test_a_file_is_a_table_that_a_dynamic_table_reads(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = type(lab.spark.range(1))
    for file, (text, columns, said) in FILES.items():
        (tmp_path / file).write_text(text)
        with monkeypatch.context() as patch:
            patch.setattr(frames, "count", None)  # the table's log has the number of rows
            found = lab.engine.load(None, tmp_path / file)
        assert found.rows == lab.spark.table(found.name.sql).count(), file
        assert list(found.columns) == columns, file
        assert said in str(found), file
        assert lab.sql(found.query)
    assert lab.rows("orders") == [(1, "DE", 2.5), (2, None, 3.0)]
    assert lab.rows("plain_rows") == [(1, "a"), (2, "b")]
    assert lab.rows("tabbed") == [(1, "x,y")]
    lab.dynamic_table("per_country", "SELECT country, count(*) AS n FROM orders GROUP BY country")
    lab.insert("orders", "3, 'DE', 1")
    assert lab.refresh("per_country") == "INCREMENTAL"
    assert lab.rows("per_country") == [("DE", 2), (None, 1)]
    with refused("DT-1105") as errors:
        lab.engine.load("orders", tmp_path / "tabbed.tsv")
    assert "Nothing was loaded" in errors[0].hint
    assert len(lab.rows("orders")) == 3


def test_frames_keep_their_values_and_types(lab: Lab) -> None:
    frame = pandas.DataFrame({
        "id": [1, 2], "kind": pandas.Categorical(["a", None]), "none": [None, None],
        "at": pandas.to_datetime(["2026-01-01", None]), "price": [Decimal("1.50"), None],
    })  # fmt: skip
    found = lab.engine.load("of_pandas", frame)
    assert dict(found.columns)["kind"] == dict(found.columns)["none"] == "string"
    assert found.rows == 2
    assert [row[:3] for row in lab.rows("of_pandas")] == [(1, "a", None), (2, None, None)]
    lab.engine.load("of_arrow", pyarrow.table({"a b": [[1, 2]], "A B": ["x"]}))
    assert lab.spark.table("of_arrow").columns == ["a_b", "A_B_2"]
    lab.engine.load("of_spark", lab.spark.range(3))
    assert lab.rows("of_spark") == [(0,), (1,), (2,)]
    assert not lab.spark.catalog.tableExists("__dt_loaded")


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("nowhere.csv", "DT-1003", "it does not exist"),
        ("orders.xlsx", "DT-1003", "its format is not known"),
        (5, "DT-1031", "a path, or a frame"),
        (pandas.DataFrame({"a": [1, "x"]}), "DT-1003", "values of one type"),
        (pandas.DataFrame([[1, 2]], columns=["a", "a"]), "DT-1003", "a unique name"),
    ],
)
def test_what_cannot_be_loaded_is_said_and_leaves_nothing(
    lab: Lab, source: Any, code: str, said: str
) -> None:
    before = lab.names()
    with refused(code) as errors:
        lab.engine.load("made", source)
    assert said in str(errors[0])
    assert lab.names() == before
