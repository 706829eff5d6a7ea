"""Which rows of a new query follow from those of the old one, and why others do not."""

from __future__ import annotations

import pytest

from dt_jupyter.ivm import Derivation, KeyColumns, Underivable, compile_stages, derivation
from dt_jupyter.model import quote
from tests.recorded_plans import RecordedPlans

PLANS = RecordedPlans.of(__file__)
TABLES = {"o": "a INT, b INT, c INT", "i": "a INT, d INT"}


def between(old: str, new: str, *, exact: bool = True) -> Derivation:
    rels = [PLANS.relation(text, TABLES) for text in (old, new)]
    stages = [
        compile_stages(r, tuple(c.partition("_")[0] for c in r.columns), _ints)[-1] for r in rels
    ]
    keys = tuple(f"k{i}" for i in range(len(getattr(stages[0].top, "keys", ()))))
    known = KeyColumns(keys, frozenset(keys if exact else ()))
    return derivation(*rels, *stages, known)


def _ints(rel: object) -> dict[str, str]:
    return dict.fromkeys(rel.columns, "int")  # type: ignore[attr-defined]


def shown(found: Derivation) -> tuple[dict[str, str], list[str]]:
    return {n: e.sql(quote) for n, e in found.columns}, [e.sql(quote) for e in found.where]


BASE = "SELECT a, b + 1 AS x, c FROM o WHERE c > 0"
GROUPED = "SELECT a, b AS k, sum(c) AS s, count(*) AS n FROM o WHERE c > 0 GROUP BY a, b"


@pytest.mark.parametrize(
    ("new", "columns", "where"),
    [
        ("SELECT a, b + 1 AS x FROM o WHERE c > 0", {"a": "`a`", "x": "`x`"}, []),
        ("SELECT c AS z, a AS y FROM o AS p WHERE c > 0", {"z": "`c`", "y": "`a`"}, []),
        ("SELECT a FROM o WHERE c > 0 AND a < 3", {"a": "`a`"}, ["`a` < 3"]),
        ("SELECT a FROM (SELECT * FROM o WHERE c > 0) WHERE c < 9", {"a": "`a`"}, ["`c` < 9"]),
        ("SELECT a + c AS t FROM o WHERE c > 0", {"t": "`a` + `c`"}, []),
        ("SELECT a FROM o WHERE c > 0 AND b + 1 = 2", None, "a condition needs what"),
        ("SELECT a, b FROM o WHERE c > 0", None, "column b needs what the rows do not show"),
        ("SELECT a FROM o", None, "a condition is gone"),
        ("SELECT a FROM o WHERE c > 1", None, "a condition is gone"),
        ("SELECT a FROM i", None, "it reads other rows"),
        ("SELECT o.a FROM o JOIN i ON o.a = i.a WHERE c > 0", None, "it reads other rows"),
        ("SELECT DISTINCT a FROM o WHERE c > 0", None, "groups its rows"),
    ],
)
def test_rows_without_a_key(new: str, columns: dict[str, str] | None, where: object) -> None:
    if columns is None:
        with pytest.raises(Underivable, match=str(where)):
            between(BASE, new)
        return
    assert shown(between(BASE, new)) == (columns, where)


@pytest.mark.parametrize(
    ("new", "missing", "where"),
    [
        ("SELECT b, a FROM o WHERE c > 0 GROUP BY b, a", "", []),
        ("SELECT sum(c) * 2 AS t, a, b FROM o WHERE c > 0 GROUP BY a, b", "", []),
        (f"{GROUPED} HAVING count(*) > 1", "", []),
        ("SELECT a, b, count(*) + 1 AS m, sum(c) s FROM o WHERE c > 0 GROUP BY a, b", "", []),
        ("SELECT a, b, sum(c) s FROM o WHERE c > 0 AND a > 2 GROUP BY a, b", "", ["`k0` > 2"]),
        ("SELECT a, b, min(c) s FROM o WHERE c > 0 GROUP BY a, b", "min() of it is not kept", []),
        ("SELECT a, sum(c) s FROM o WHERE c > 0 GROUP BY a", "it groups by other columns", []),
        ("SELECT a, b, sum(b) s FROM o WHERE c > 0 GROUP BY a, b", "is not kept", []),
        ("SELECT a, b FROM o WHERE c > 0 AND c < 5 GROUP BY a, b", "on grouped rows", []),
        ("SELECT a, b FROM o GROUP BY a, b", "a condition is gone", []),
    ],
)
def test_groups(new: str, missing: str, where: list[str]) -> None:
    if missing:
        with pytest.raises(Underivable, match=missing.replace("(", r"\(").replace(")", r"\)")):
            between(GROUPED, new)
        return
    found = between(GROUPED, new)
    assert shown(found)[1] == where
    assert {e.sql(quote) for _, e in found.columns} >= {"`k0`", "`k1`"}


def test_keys_that_are_equal_and_not_the_same_are_not_filtered() -> None:
    new = "SELECT a, b, sum(c) s FROM o WHERE c > 0 AND a > 2 GROUP BY a, b"
    with pytest.raises(Underivable, match="on grouped rows"):
        between(GROUPED, new, exact=False)


def test_one_row_is_not_filtered() -> None:
    old = "SELECT count(*) AS n FROM o WHERE c > 0"
    assert shown(between(old, "SELECT count(*) + 1 AS m FROM o WHERE c > 0"))[1] == []
    for condition in ("1 = 0", "a > 1"):
        with pytest.raises(Underivable):
            between(old, f"SELECT count(*) AS n FROM o WHERE c > 0 AND {condition}")
