"""Bad input of any kind is a catalogue error with a code, and nothing is lost or half done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.model import DTError
from tests.spark.engine_lab import Lab, without_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    without_check(monkeypatch)


@pytest.fixture(scope="module")
def untouched(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One lake for all the input that must leave it as it is."""
    made = Lab.open(spark, tmp_path_factory.mktemp("untouched"))
    made.table("item", "id INT, name STRING, v INT", "1, 'rug', 1", "2, 'car', 2")
    made.table("price", "id INT, v INT", "1, 10")
    yield made
    made.close()


BAD = [
    ("SELECT * FROM nowhere", "", "DT-1101"),
    ("SELECT * FROM itme", "", "DT-1101"),
    ("SELECT nope FROM item", "", "DT-1102"),
    ("SELECT v FROM item JOIN price ON item.id = price.id", "", "DT-1103"),
    ("SELECT item.id, price.id FROM item JOIN price ON item.id = price.id", "", "DT-1104"),
    ("SELECT id, ID FROM item", "", "DT-1104"),
    ("SELECT * FROM d", "", "DT-1106"),
    ("SELECT id FROM item", "TARGET_LAG = '0 seconds'", "DT-1003"),
    ("SELECT id FROM item", "TARGET_LAG = 'soon'", "DT-1003"),
    ("SELECT id FROM item", "TARGET_LAG = '-5 minutes'", "DT-1003"),
    ("SELECT id FROM item", "WAREHOUSE = nowhere", "DT-1108"),
    ("SELECT id FROM item", "REFRESH_MODE = SOMETIMES", "DT-1003"),
    ("SELECT id FROM item", "COLOUR = 'red'", "DT-1002"),
    ("SELECT percentile_approx(id, 0.5) AS n FROM item", "REFRESH_MODE = INCREMENTAL", "DT-1107"),
    ("SELECT id AS __dt_id FROM item", "", "DT-1114"),
    ("SELECT NULL AS x FROM item", "", "DT-1116"),
    ("SELECT nofunction(id) AS x FROM item", "", "DT-1117"),
    ("SELECT id FROM tmp", "", "DT-1110"),
    ("SELECT id FROM item WHERE v > :limit", "", "DT-1113"),
    ("SELECT id +", "", "DT-1001"),
    ("SELECT id / 0 AS x FROM item", "", "DT-2105"),
    ("SELECT CAST(name AS INT) AS x FROM item", "", "DT-2105"),
    ("DELETE FROM item", "", "DT-1001"),
]


@pytest.mark.parametrize(("query", "options", "code"), BAD)
def test_bad_input_has_a_code_and_leaves_nothing(
    untouched: Lab, query: str, options: str, code: str
) -> None:
    untouched.spark.sql("CREATE OR REPLACE TEMP VIEW tmp AS SELECT 1 AS id")
    before = untouched.names()
    statement = f"CREATE DYNAMIC TABLE d {options} AS {query}"
    with pytest.raises(DTError) as e:
        untouched.sql(statement)
    assert e.value.code == code, str(e.value)
    assert "\n" not in str(e.value)
    assert untouched.names() == before
    assert untouched.rows("item") == [(1, "rug", 1), (2, "car", 2)]


def test_a_syntax_error_stands_at_its_word_in_the_script(untouched: Lab) -> None:
    script = "SELECT 1;\n\nSELECT id\nFORM item"
    with pytest.raises(DTError) as e:
        untouched.sql(script)
    assert (e.value.code, e.value.query) == ("DT-1001", script)
    assert e.value.span is not None
    assert script[e.value.span.start : e.value.span.end] == "item"


@pytest.mark.parametrize(
    "script",
    [
        "MERGE INTO item USING `` ON true WHEN MATCHED THEN DELETE",
        "SELECT * FROM ``",
        "INSERT INTO item SELECT * FROM default.``",
        "CREATE DYNAMIC TABLE d AS SELECT * FROM ``",
        "SELECT * FROM `` AT (VERSION => 0)",
        "DELETE FROM item WHERE id IN (SELECT id FROM ``)",
    ],
)
def test_a_name_of_no_characters_has_a_code(untouched: Lab, script: str) -> None:
    with pytest.raises(DTError) as e:
        untouched.sql(script)
    assert e.value.code in ("DT-1001", "DT-1101", "DT-1112", "DT-1119"), str(e.value)
    assert untouched.rows("item") == [(1, "rug", 1), (2, "car", 2)]


@pytest.mark.parametrize(
    "value", [2**63, -(2**63) - 1, 10**30, 10**5_000, [1, 10**30]], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize(
    "script",
    [
        "SELECT :x",
        "SELECT :x AT (VERSION => 0)",
        "SELECT * FROM item WHERE id = :x",
        "CREATE DYNAMIC TABLE d AS SELECT id, :x AS big FROM item",
    ],
)
def test_an_integer_beyond_bigint_is_no_parameter(
    untouched: Lab, script: str, value: object
) -> None:
    with pytest.raises(DTError) as e:
        untouched.engine.sql(script, {"x": value})
    assert (e.value.code, e.value.facts["option"]) == ("DT-1003", ":x")


@pytest.mark.parametrize(
    "point",
    ["TIMESTAMP => '+294247-01-10'", "TIMESTAMP => '-290000-01-01'", "OFFSET => -999999999999"],
)
def test_a_time_without_a_date_is_no_point(untouched: Lab, point: str) -> None:
    with pytest.raises(DTError) as e:
        untouched.sql(f"SELECT id FROM item AT ({point})")
    assert e.value.code == "DT-1003", str(e.value)
