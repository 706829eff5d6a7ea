"""DataFrames at the end of a cell: a table of their first rows, while the extension is loaded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.notebook.conftest import Kernel

LOOK = """
import json
from dt_jupyter.widgets import ROWS_TYPE
def look(value):
    data, _ = get_ipython().display_formatter.format(value)
    return {"types": sorted(data), "rows": data.get(ROWS_TYPE), "text": data.get("text/plain"),
            "html": data.get("text/html", "")}
"""
VALUES = (
    "CAST(NULL AS STRING) AS none, 'NULL' AS word, '' AS empty, '<b>x</b>' AS markup, X'00FF' AS "
    "bytes, CAST(1.10 AS DECIMAL(30, 2)) AS price, array(1, NULL) AS list, struct('a' AS b) AS row,"
    " TIMESTAMP'2026-01-01 10:00:00' AS at, TIMESTAMP_NTZ'2026-01-01 10:00:00' AS wall, "
    "repeat('x', 5000) AS long, 1 AS same, 2 AS same"
)


@pytest.fixture(autouse=True, scope="module")
def _connected(kernel: Kernel) -> None:
    kernel.run("%dt connect").ok  # noqa: B018


def shown(kernel: Kernel, *expressions: str) -> list[dict[str, Any]]:
    looks = ", ".join(f"look({expression})" for expression in expressions)
    found: list[dict[str, Any]] = json.loads(
        kernel.run(f"{LOOK}print(json.dumps([{looks}]))").ok.text
    )
    return found


def test_rows_of_a_dataframe_of_any_session_are_shown(kernel: Kernel) -> None:
    one, other, none, bare, wide = shown(
        kernel,
        f'spark.sql("SELECT {VALUES}")',
        'spark.newSession().range(5000).selectExpr("id", "CAST(id AS STRING)")',
        "spark.range(0)",
        "spark.range(3).select()",
        'spark.range(3000).selectExpr(*[f"id + {i} AS c{i}" for i in range(500)])',
    )
    assert "application/vnd.dt-jupyter.rows.v1+json" in one["types"]
    (row,) = one["rows"]["rows"]
    assert row[:10] == [None, "NULL", "", "<b>x</b>", "00FF", "1.10", "[1, null]", "{a}",
                        "2026-01-01 10:00:00", "2026-01-01 10:00:00"]  # fmt: skip
    assert row[10] == "x" * 2000 + "…", "a long value is not collected whole"
    assert [c["name"] for c in one["rows"]["columns"]][-2:] == ["same", "same"]
    kinds = [c["type"] for c in one["rows"]["columns"]]
    zone = kernel.value("spark.conf.get('spark.sql.session.timeZone')").strip("'")
    assert kinds[8:10] == [f"timestamp ({zone})", "timestamp_ntz"]
    assert "<b>x" not in one["html"]
    assert "NULL  'NULL'  ''" in one["text"]
    assert (len(other["rows"]["rows"]), other["rows"]["truncated"]) == (1000, True)
    assert "the first 100 rows" in other["html"], "a page that is not live has fewer"
    assert other["text"].endswith("the first 50 rows")
    assert (none["rows"]["rows"], none["rows"]["truncated"]) == ([], False)
    assert (bare["rows"]["rows"], bare["text"]) == ([[], [], []], "3 rows")
    assert (len(wide["rows"]["rows"]), wide["rows"]["truncated"]) == (100, True)


def test_what_cannot_be_read_is_an_error_of_a_few_lines(kernel: Kernel) -> None:
    reply = kernel.run("spark.range(1).selectExpr(\"raise_error('boom')\")")
    assert reply.told.splitlines()[0] == "USER_RAISED_EXCEPTION: boom."
    assert len(reply.trace) == 2, "Spark's own is a click away"
    assert reply.text.endswith("A DataFrame whose rows could not be read.")


def test_streams_choices_of_the_user_and_pandas_are_left_alone(kernel: Kernel) -> None:
    rate = 'spark.readStream.format("rate").load()'
    stream, pandas = shown(kernel, rate, "__import__('pandas').DataFrame({'a': [1]})")
    assert stream["text"].startswith("DataFrame[")
    assert (stream["rows"], pandas["rows"]) == (None, None)
    for eager in ("true", "false"):
        kernel.run(f"spark.conf.set('spark.sql.repl.eagerEval.enabled', {eager!r})").ok  # noqa: B018
        (own,) = shown(kernel, "spark.range(1)")
        assert own["rows"] is None
        assert ("<table border" in own["html"]) is (eager == "true")
    kernel.run("spark.conf.unset('spark.sql.repl.eagerEval.enabled')").ok  # noqa: B018


def test_it_ends_with_the_extension(kernel: Kernel) -> None:
    from_unloaded = "frames.stop_showing_frames(get_ipython())"
    again = "frames.show_frames(get_ipython())"
    kernel.run(f"from dt_jupyter.notebook import frames\n{from_unloaded}").ok  # noqa: B018
    assert shown(kernel, "spark.range(1)")[0]["types"] == ["text/plain"]
    kernel.run(again).ok  # noqa: B018
    assert shown(kernel, "spark.range(1)")[0]["rows"]["rows"] == [["0"]]
