"""What several terms of a change read is computed once, with nothing computed in the process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from dt_jupyter.ivm import Rel
from dt_jupyter.model import RefreshWay
from dt_jupyter.refresh.shared_rows import SharedRows
from tests.spark.engine_lab import Lab

QUERIES = {
    "outer": "SELECT c.k, count(o.v) AS n FROM c LEFT JOIN o ON c.k = o.k AND o.t NOT LIKE '%x%'"
    " GROUP BY c.k",
    "semi": "SELECT c.k, c.t, o.v FROM c JOIN o ON c.k = o.k WHERE EXISTS"
    " (SELECT 1 FROM d WHERE d.k = o.v AND d.t <> 'x')",
    "anti": "SELECT c.* FROM c JOIN o ON c.k = o.k WHERE NOT EXISTS"
    " (SELECT 1 FROM d WHERE d.k = c.k AND d.t = o.t)",
    "full": "SELECT c.t, o.t AS u, c.k, o.v FROM c FULL JOIN o ON c.k = o.k AND c.t = o.t",
    "twice": "SELECT c.k, a.v, b.v AS w FROM c LEFT JOIN o AS a ON c.k = a.k"
    " LEFT JOIN o AS b ON c.k = b.k AND b.t <> 'y'",
    "whole": "SELECT c.*, o.v, d.t AS u FROM c LEFT JOIN o USING (k) LEFT JOIN d USING (k)",
}
ROWS = 400


@pytest.fixture
def tables(quick_lab: Lab) -> Lab:
    """Three tables with duplicates, NULLs and keys without a partner."""
    quick_lab.leave_process()
    key = f"IF(id % 17 = 0, NULL, CAST(id * 7 % {ROWS // 2} AS INT))"
    text = "element_at(array('x', 'y', 'axb', NULL), 1 + CAST(id % 4 AS INT))"
    for name, columns in (
        ("c", f"{key} AS k, {text} AS t"),
        ("o", f"{key} AS k, CAST(id % 23 AS INT) AS v, {text} AS t"),
        ("d", f"CAST(id * 3 % {ROWS // 2} AS INT) AS k, {text} AS t"),
    ):
        quick_lab.table(name, {"o": "k INT, v INT, t STRING"}.get(name, "k INT, t STRING"))
        quick_lab.sql(f"INSERT INTO {name} SELECT {columns} FROM range({ROWS})")
    return quick_lab


def change(lab: Lab, rng: Random) -> None:
    """Rows are inserted, deleted and updated in each table, some without any effect."""
    for name in "cod":
        keys = ", ".join(str(rng.randrange(ROWS // 2)) for _ in range(4))
        lab.sql(f"DELETE FROM {name} WHERE k IN ({keys}) AND t IS NOT NULL")
        lab.sql(f"UPDATE {name} SET k = k + 1 WHERE k = {rng.randrange(ROWS // 2)} OR k IS NULL")
        extra = ", 3" if name == "o" else ""
        lab.insert(name, f"{rng.randrange(ROWS)}{extra}, 'z'", f"NULL{extra}, 'x'")


@pytest.mark.nightly
def test_rows_are_right_and_each_version_of_a_table_is_scanned_once(
    tables: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One term needs the orders of customers that changed, another those of customers whose orders
    changed; both read one selection. The old orders, which one term needs, have another."""
    for name, text in QUERIES.items():
        tables.dynamic_table(name, text)
    held: list[str] = []
    hold = SharedRows._held

    def note(shared: SharedRows, rel: Rel) -> str:
        held.append(repr(rel))
        return hold(shared, rel)

    tables.sql("UPDATE c SET t = 'q' WHERE k = 14; UPDATE o SET v = 5 WHERE k = 21")
    with monkeypatch.context() as patched:
        patched.setattr(SharedRows, "_held", note)
        assert tables.refresh("outer") == "INCREMENTAL"
    tables.verified("outer")
    assert len(held) == 3, held  # orders now, orders before, and customers for two terms
    assert tables.engine.records("outer")[0].statistics.rows_read < 4 * ROWS
    change(tables, Random(3))
    for name in QUERIES:
        assert tables.refresh(name) == "INCREMENTAL"
        assert tables.engine.records(name)[0].statistics.way == RefreshWay.SPARK
    tables.verified(*QUERIES)


def _only_first_keys(shared: SharedRows, what, keys):  # type: ignore[no-untyped-def]
    return RESTRICT(shared, what, keys[:1])


RESTRICT = SharedRows._restrict


@pytest.mark.nightly
def test_a_selection_by_too_few_keys_is_caught(
    tables: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SharedRows, "_restrict", _only_first_keys)
    names = ["outer", "whole"]
    for name in names:
        tables.dynamic_table(name, QUERIES[name])
    change(tables, Random(1))
    change(tables, Random(2))
    for name in names:
        tables.record(name)
    assert any(tables.wrong(name) or tables.record(name).error for name in names)


@pytest.mark.nightly
def test_two_tables_with_one_query_are_refreshed_at_the_same_time(tables: Lab) -> None:
    """Spark caches rows by their plan, for all sessions: one releases what others read."""
    names = ["one", "two", "three"]
    for name in names:
        tables.dynamic_table(name, QUERIES["outer"])
    rng = Random(5)
    for _ in range(4):
        change(tables, rng)
        with ThreadPoolExecutor(len(names)) as pool:
            records = list(pool.map(tables.record, names))
        assert [(str(r.action), r.error) for r in records] == [("INCREMENTAL", None)] * len(names)
        tables.verified(*names)
