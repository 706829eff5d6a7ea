"""Which DELETE and UPDATE become a MERGE, and which are left as they are."""

from __future__ import annotations

import pytest

from dt_jupyter.sql.grammar.subquery_dml import as_merge

CHOSEN = "USING (SELECT DISTINCT * FROM ({}) AS __dt_chosen({})) AS __dt_chosen ON {} WHEN MATCHED"


@pytest.mark.parametrize(
    ("text", "target", "chosen", "then"),
    [
        (
            "DELETE FROM t WHERE id IN (SELECT id FROM s WHERE k = 'a') -- of old",
            "t",
            ("SELECT id FROM s WHERE k = 'a'", "__dt_k0", "(id) = __dt_chosen.__dt_k0"),
            "DELETE",
        ),
        (
            "delete from a.t as x where v between 1 and 3 and (x.a, b + 1) in (select a, b from s)",
            "a.t as x",
            (
                "select a, b from s",
                "__dt_k0, __dt_k1",
                "(x.a) = __dt_chosen.__dt_k0 AND (b + 1) = __dt_chosen.__dt_k1"
                " AND (v between 1 and 3)",
            ),
            "DELETE",
        ),
        (
            "UPDATE t SET v = v + 1 WHERE EXISTS (SELECT 1 FROM s j WHERE j.id = t.id AND j.k > 3)",
            "t",
            ("SELECT j.id FROM s j WHERE j.k > 3", "__dt_k0", "(t.id) = __dt_chosen.__dt_k0"),
            "UPDATE SET v = v + 1",
        ),
        (
            "DELETE FROM delta.`/a/t` AS `t` WHERE EXISTS"
            " (SELECT * FROM s WHERE T.b = s.b AND s.a = t.a)",
            "delta.`/a/t` AS `t`",
            (
                "SELECT s.b, s.a FROM s",
                "__dt_k0, __dt_k1",
                "(T.b) = __dt_chosen.__dt_k0 AND (t.a) = __dt_chosen.__dt_k1",
            ),
            "DELETE",
        ),
    ],
)
def test_rows_that_a_query_chooses(
    text: str, target: str, chosen: tuple[str, str, str], then: str
) -> None:
    assert as_merge(text) == f"MERGE INTO {target} {CHOSEN.format(*chosen)} THEN {then}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "DELETE FROM t",
        "DELETE FROM t WHERE id IN (1, 2)",
        "DELETE FROM t WHERE id NOT IN (SELECT id FROM s)",
        "DELETE FROM t WHERE NOT id IN (SELECT id FROM s)",
        "DELETE FROM t WHERE a = 1 OR id IN (SELECT id FROM s)",
        "DELETE FROM t WHERE id IN (SELECT id FROM s) IS NULL",
        "DELETE FROM t WHERE id IN (SELECT id FROM s) AND b IN (SELECT b FROM s)",
        "DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.id = t.id)",
        "DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.id < t.id)",
        "DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.id = t.id + 1)",
        "DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.id = t.id LIMIT 1)",
        "DELETE FROM t WHERE EXISTS (SELECT 1 FROM u.t WHERE t.id = t.id)",
        "DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.id > 3)",
        "UPDATE t SET v = (SELECT MAX(v) FROM s) WHERE id = 3",
        "INSERT INTO t SELECT id FROM s WHERE id IN (SELECT id FROM u)",
    ],
)
def test_what_is_left_as_it_is(text: str) -> None:
    assert as_merge(text) is None
