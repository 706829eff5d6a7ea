"""What is wrong with a text is told before it runs, and nothing is written for it."""

from __future__ import annotations

import pytest

from dt_jupyter.engine import lint_text
from dt_jupyter.model import DTError
from tests.spark.engine_lab import Lab

SCRIPT = """CREATE DYNAMIC TABLE a TARGET_LAG = '1 minute' AS SELECT k, rand() AS r FROM orders;
CREATE DYNAMIC TABLE b TARGET_LAG = '5 min' AS SELECT 1;
CREATE DYNAMIC TABLE c TARGET_LAG = '1 minute' AS SELECT kk FROM orders;
CREATE DYNAMIC TABLE d AS SELECT k, count(*) AS n FROM keyed GROUP BY k;
CREATE DYNAMIC TABLE e TARGET_LAG = '1 minute' AS SELECT n FROM d;
CREATE DYNAMIC TABLE f TARGET_LAG = '1 minute' AS SELECT v FROM keyed WHERE v > :least;
CREATE DYNAMIC TABLE g AS SELECT v FROM keyed;
CREATE DYNAMIC TABLE there TARGET_LAG = '1 minute' AS SELECT 1 AS one;
SELECT vv FROM keyed;
SELECT 'a"""


@pytest.fixture(scope="module")
def shop(shared_lab: Lab) -> Lab:
    lab = shared_lab
    lab.table("orders", "k INT, v INT", "1, 10")
    lab.sql("CREATE TABLE keyed (k INT, v INT) USING delta TBLPROPERTIES ('dt.primaryKey' = 'k')")
    lab.dynamic_table("there", "SELECT k FROM orders")
    return lab


def found(lab: Lab, text: str, **more: object) -> list[tuple[str, str, str]]:
    report = lint_text(lab.context, text, **more)  # type: ignore[arg-type]
    return [(str(p.severity), p.code, text[p.span.start : p.span.end]) for p in report.problems]


def state_of(lab: Lab) -> tuple[object, ...]:
    catalog = lab.context.catalog
    files = sorted(str(p) for p in lab.folder.rglob("*") if "catalog" not in p.name)
    return catalog.newest_event(), [t.id for t in catalog.list()], catalog.tables(), files


def test_each_problem_is_told_at_its_place_and_nothing_is_written(shop: Lab) -> None:
    before = state_of(shop)
    text = SCRIPT.rsplit("\n", 1)[0]
    report = shop.engine.lint(text)
    told = [(str(p.severity), p.code, text[p.span.start : p.span.end]) for p in report.problems]
    errors = [each[1:] for each in told if each[0] == "error"]
    assert errors == [
        ("DT-1003", "'5 min'"),
        ("DT-1102", "kk"),
        ("DT-1105", "CREATE DYNAMIC TABLE there TARGET_LAG = '1 minute' AS SELECT 1 AS one"),
        ("DT-1112", "vv"),
    ]
    warnings = {(code, place) for severity, code, place in told if severity == "warning"}
    query = "SELECT k, rand() AS r FROM orders"
    assert {code for code, place in warnings if place == query} >= {"KEYLESS"}
    assert any("recomputed in full" in p.sentence for p in report.problems)
    assert ("NO_READER", "SELECT v FROM keyed") in warnings
    assert not any(place.endswith("GROUP BY k") for _, place in warnings), "e reads d"
    assert report.unchecked == (
        "e: it reads d, which this text makes",
        "f: the value of :least is not known here",
    )
    assert str(report).startswith("1:")
    assert state_of(shop) == before
    assert shop.engine.lint("SELECT 1").errors == 0
    bound = shop.engine.lint(text.splitlines()[5], {"least": 3})
    assert (bound.problems, bound.unchecked) == ((), ())
    (open_,) = shop.engine.lint(SCRIPT.rsplit("\n", 1)[1]).problems
    assert open_.code == "DT-1001"


@pytest.mark.parametrize(
    ("cell", "code", "place"),
    [
        ("%%dynamic_table x --target-lag '1 minute'\nSELECT kk FROM keyed", "DT-1102", "kk"),
        ("%%dynamic_table x --target_lag 1\nSELECT 1", "DT-1002", "--target_lag"),
        ("%%dynamic_table x --target-lag '1 parsec'\nSELECT 1", "DT-1003", "'1 parsec'"),
        ("%%dt\nSELECT k FROM\n  keyde", "DT-1101", "keyde"),
        ("%dt SELECT 1\n%dt SELECT kk FROM keyed", "DT-1112", "kk"),
        ("%%dt\nSELECT k FROM (keyed", "DT-1001", None),
        ("%%dt\nCREATE VIEW w (a) AS SELECT kk FROM keyed", "DT-1112", "kk"),
        ("%%dt\nCREATE STREAM s ON TABLE ordres", "DT-1101", "ordres"),
        ("%%dt\nCREATE SINK s FROM TABLE ordres INTO 'webhook+https://h/p'", "DT-1101", "ordres"),
    ],
)
def test_a_cell_is_looked_at_as_its_magics_read_it(
    shop: Lab, cell: str, code: str, place: str | None
) -> None:
    """As while it is typed: without rows."""
    (problem,) = found(shop, cell, verify=False)
    assert problem[:2] == ("error", code)
    if place is not None:
        assert problem[2] == place


def test_a_text_that_would_write_is_not_run(shop: Lab) -> None:
    count = shop.rows("orders")
    assert shop.engine.lint("INSERT INTO orders VALUES (9, 9); DELETE FROM orders").errors == 0
    told = found(shop, "%%dynamic_table x\nWITH a AS (SELECT 1) INSERT INTO orders SELECT 1, 2")
    assert [code for severity, code, _ in told if severity == "error"] == ["DT-1001"]
    assert shop.rows("orders") == count


def test_a_script_is_laid_out_or_left_as_it_is(shop: Lab) -> None:
    assert shop.engine.format("select a from t where b") == "select a\nfrom t\nwhere b"
    with pytest.raises(DTError, match="DT-1001"):
        shop.engine.format("select 'a")
