"""Which columns of a query are NULL in all rows that it had, since a source has more columns now,
and when its rows do not follow from those that it had."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dt_jupyter.ivm import (
    End,
    NamedColumns,
    Project,
    Rel,
    Restrict,
    Scan,
    Underivable,
    at,
    find_null_outputs,
    null_before,
    scans,
)
from tests.recorded_plans import RecordedPlans

PLANS = RecordedPlans.of(__file__)
BEFORE = {"o": ("a", "b"), "i": ("a", "d")}
NOW = {"o": ("x", "a", "b"), "i": ("a", "d", "y")}
ADDED = {"o": frozenset({"x"}), "i": frozenset({"y"})}


def bound(text: str, columns: dict[str, tuple[str, ...]]) -> Rel:
    tables = {t: ", ".join(f"{c} INT" for c in names) for t, names in columns.items()}
    return PLANS.relation(text, tables)


def null_columns(text: str) -> tuple[str, ...]:
    return find_null_outputs(named(bound(text, BEFORE)), named(bound(text, NOW)), ADDED)


def named(rel: Rel) -> NamedColumns:
    return NamedColumns(rel, tuple(c.partition("_")[0] for c in rel.columns))


PASSES = {
    "SELECT * FROM o": ("x",),
    "SELECT * FROM o WHERE a > 1": ("x",),
    "SELECT *, a + b AS s FROM o": ("x",),
    "SELECT o.*, d FROM o JOIN i ON o.a = i.a": ("x",),
    "SELECT d, q.* FROM i LEFT JOIN (SELECT * FROM o) q ON q.a = i.a": ("x",),
    "SELECT * FROM o NATURAL JOIN i": ("x", "y"),
    "SELECT * FROM o UNION ALL SELECT * FROM o WHERE a = 1": ("x",),
    "SELECT *, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM o": ("x",),
    "SELECT * FROM o WHERE a IN (SELECT a FROM i)": ("x",),
    "SELECT * FROM o WHERE EXISTS (SELECT * FROM i WHERE i.a = o.a)": ("x",),
    "SELECT o.*, n FROM o JOIN (SELECT a, count(*) AS n FROM i GROUP BY a) k ON k.a = o.a": ("x",),
    "SELECT * FROM o ORDER BY a LIMIT 3": ("x",),
    "SELECT a, sum(b) AS s FROM o GROUP BY a": (),
}


@pytest.mark.parametrize("text", PASSES)
def test_columns_that_pass_through_are_null(text: str) -> None:
    assert null_columns(text) == PASSES[text]


ANEW = {
    "SELECT DISTINCT * FROM o": "computes, compares or orders",
    "SELECT * FROM o EXCEPT SELECT * FROM o WHERE a = 1": "computes, compares or orders",
    "SELECT * FROM o UNION SELECT * FROM o": "computes, compares or orders",
    "SELECT * FROM o UNION ALL SELECT d, a, a FROM i": "with one that",
}


@pytest.mark.parametrize("text", ANEW)
def test_what_reads_a_column_that_was_added_is_computed_again(text: str) -> None:
    new = named(bound(text, NOW))
    with pytest.raises(Underivable, match=ANEW[text]):
        find_null_outputs(new, new, ADDED)


def test_a_natural_join_by_a_column_that_both_sides_have_now_is_another() -> None:
    now = {"o": ("a", "b", "y"), "i": ("a", "d", "y")}
    rels = [bound("SELECT * FROM o NATURAL JOIN i", columns) for columns in (BEFORE, now)]
    added = {"o": frozenset({"y"}), "i": frozenset({"y"})}
    with pytest.raises(Underivable, match="computes, compares or orders"):
        find_null_outputs(*map(named, rels), added)


def test_a_column_that_was_there_is_no_null() -> None:
    """A name that came by another way than from the source's new columns."""
    rels = [bound("SELECT * FROM o", columns) for columns in (BEFORE, NOW)]
    with pytest.raises(Underivable, match="not the same"):
        find_null_outputs(*map(named, rels), {})


def test_the_old_end_of_a_source_has_nulls_for_what_it_lacks() -> None:
    new, old = (at(bound("SELECT * FROM o", NOW), end) for end in (End.NEW, End.OLD))
    assert null_before(new, {"o": {"x": "int"}}) == new
    keyed = Restrict(new, old, (("a_2", "a_2"),))
    assert null_before(keyed, {"o": {"x": "int"}}) == replace(
        keyed, keys=null_before(old, {"o": {"x": "int"}})
    )
    assert null_before(old, {"o": {}}) is old
    filled = null_before(old, {"o": {"x": "int"}})
    (scan,) = scans(filled)
    assert [n for _, n in scan.reads] == ["a", "b"]
    (project,) = (n for n in (filled, *filled.inputs) if isinstance(n, Project) and n.input == scan)
    assert [e.sql(str) for _, e in project.items] == ["CAST(NULL AS int)", "a", "b"]
    assert isinstance(scan, Scan)
