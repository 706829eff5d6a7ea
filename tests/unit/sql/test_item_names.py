"""Which items of a SELECT get the name of the function that is in them."""

from __future__ import annotations

import pytest

from dt_jupyter.sql.grammar.functions import replace_spans
from dt_jupyter.sql.text.item_names import unnamed_items


def named(text: str) -> str:
    return replace_spans(text, unnamed_items(text))


L, H = "LAST_QUERY_ID()", "SYSTEM$STREAM_HAS_DATA('s')"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"SELECT {L}", f"SELECT {L} AS `{L}`"),
        (f"SELECT {H}", f"SELECT {H} AS `{H}`"),
        ("select system$stream_has_data ( 's' ) ;",
         f"select system$stream_has_data ( 's' ) AS `{H}` ;"),
        (f"SELECT a, {L} FROM t", f"SELECT a, {L} AS `{L}` FROM t"),
        (f"SELECT DISTINCT {L}, {H}", f"SELECT DISTINCT {L} AS `{L}`, {H} AS `{H}`"),
        (f"SELECT /*+ COALESCE(1) */ {L}", f"SELECT /*+ COALESCE(1) */ {L} AS `{L}`"),
        (f"SELECT upper({L}), 1", f"SELECT upper({L}) AS `upper({L})`, 1"),
        (f"SELECT {L} || 'a' || `b``c`",
         f"SELECT {L} || 'a' || `b``c` AS `{L} || 'a' || ``b````c```"),
        (f"SELECT\n  1  +\n(SELECT {L})", f"SELECT\n  1  +\n(SELECT {L} AS `{L}`) "
                                        f"AS `1 + (SELECT {L})`"),
        (f"SELECT * FROM (SELECT {L})", f"SELECT * FROM (SELECT {L} AS `{L}`)"),
        (f"SELECT * EXCEPT (a), {L} FROM t", f"SELECT * EXCEPT (a), {L} AS `{L}` FROM t"),
        (f"SELECT 1 UNION SELECT {L} UNION ALL SELECT {L} y",
         f"SELECT 1 UNION SELECT {L} AS `{L}` UNION ALL SELECT {L} y"),
        (f"SELECT CASE WHEN {H} THEN 1 END",
         f"SELECT CASE WHEN {H} THEN 1 END AS `CASE WHEN {H} THEN 1 END`"),
        (f"SELECT window(ts, '1 hour'), {L} FROM t",
         f"SELECT window(ts, '1 hour'), {L} AS `{L}` FROM t"),
        (f"FROM t |> SELECT {L} |> LIMIT 1", f"FROM t |> SELECT {L} AS `{L}` |> LIMIT 1"),
        (f"SELECT NOT {H}", f"SELECT NOT {H} AS `NOT {H}`"),
        (f"SELECT {L} IS NULL", f"SELECT {L} IS NULL AS `{L} IS NULL`"),
        (f"SELECT x = {L} FROM t WHERE y = {L}",
         f"SELECT x = {L} AS `x = {L}` FROM t WHERE y = {L}"),
    ],
)  # fmt: skip
def test_an_item_is_named_as_it_is_written(text: str, wanted: str) -> None:
    assert named(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {L} AS x", f"SELECT {L} x", f"SELECT {L} `x y`", f"SELECT upper({L}) AS x, b",
        f"SELECT 1 + length({L}) n FROM t", f"SELECT CASE WHEN {H} THEN 1 END c",
        f"SELECT a FROM t WHERE {H}", f"SELECT a FROM t ORDER BY {L}", f"VALUES ({L})",
        "SELECT 'LAST_QUERY_ID()' -- LAST_QUERY_ID()", "SELECT last_query_id FROM t",
        f"SELECT a FROM t GROUP BY a HAVING {L} = a LIMIT 1", "SELECT 1", "",
    ],
)  # fmt: skip
def test_what_has_an_alias_or_is_no_item_stays(text: str) -> None:
    assert named(text) == text
