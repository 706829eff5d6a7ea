"""The tables of a text replaced where they stand, in each place where Spark lets a name stand."""

from __future__ import annotations

import pytest

from dt_jupyter.ivm import Refused
from dt_jupyter.sources.pinned_text import pinned


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT * FROM t WHERE a", "SELECT * FROM {t} AS t WHERE a"),
        ("SELECT * FROM t x, `t` limit", "SELECT * FROM {t} x, {t} limit"),
        ("FROM t TABLESAMPLE (1 ROWS), u", "FROM {t} TABLESAMPLE (1 ROWS) AS t, u"),
        ("SELECT * FROM t TABLESAMPLE (1 ROWS) x", "SELECT * FROM {t} TABLESAMPLE (1 ROWS) x"),
        ("SELECT * FROM t VERSION AS OF 1, t", "SELECT * FROM t VERSION AS OF 1, {t} AS t"),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t, s.t",
         "WITH t AS (SELECT * FROM {t} AS t) SELECT * FROM t, s.t"),
        ("TABLE t ORDER BY a", "(SELECT * FROM {t} AS t) ORDER BY a"),
        ("FROM t |> UNION ALL TABLE t", "FROM {t} AS t |> UNION ALL (SELECT * FROM {t} AS t)"),
        ("SELECT * FROM f(TABLE (t), TABLE t)",
         "SELECT * FROM f(TABLE (SELECT * FROM {t} AS t), TABLE (SELECT * FROM {t} AS t))"),
        ("SELECT * FROM v", "SELECT * FROM (\nSELECT {t}.a FROM {t} AS t\n) AS v"),
    ],
)  # fmt: skip
def test_names_become_relations(query: str, text: str) -> None:
    views = {("v",): "SELECT {t}.a FROM t"}
    found = pinned(query, lambda p: "{t}" if p == ("t",) else None, views.get)
    assert found == text


def test_a_table_with_options_has_no_rows_in_its_place() -> None:
    query = "SELECT * FROM t WITH (a = 1), u"
    assert pinned(query, lambda p: "x" if p == ("u",) else None, lambda p: None).endswith("x AS u")
    with pytest.raises(Refused, match="options"):
        pinned(query, lambda p: "x", lambda p: None)
