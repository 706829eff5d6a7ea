"""The order in which a join is gone through, by the sizes of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dt_jupyter.ivm import (
    End,
    Expr,
    Join,
    Project,
    Rel,
    Scan,
    Sizes,
    arranged,
    col,
    equality,
    scans,
)

ROWS = {
    "region": 5,
    "nation": 25,
    "supplier": 10_000,
    "customer": 150_000,
    "orders": 1_500_000,
    "lineitem": 6_000_000,
}
COLUMNS = {
    "region": ("r_key",),
    "nation": ("n_key", "n_region"),
    "supplier": ("s_key", "s_nation"),
    "customer": ("c_key", "c_nation"),
    "orders": ("o_key", "o_customer"),
    "lineitem": ("l_order", "l_supplier"),
}


def scan(table: str) -> Scan:
    return Scan(table, tuple((c, c) for c in COLUMNS[table]))


def equal(a: str, b: str) -> Expr:
    return equality(col(a), col(b))


def sizes(changed: Mapping[str, int | None], types: Mapping[str, str] | None = None) -> Sizes:
    return Sizes(ROWS.__getitem__, changed, lambda s, c: (types or {}).get(c, "bigint"))


LOCAL = Join(
    tuple(map(scan, ("customer", "orders", "lineitem", "supplier", "nation", "region"))),
    (
        equal("c_key", "o_customer"),
        equal("l_order", "o_key"),
        equal("l_supplier", "s_key"),
        equal("c_nation", "s_nation"),
        equal("s_nation", "n_key"),
        equal("n_region", "r_key"),
    ),
)
"""The suppliers of a customer's own nation: a nation has many of both."""


def order(rel: Rel) -> list[str]:
    join = rel.input if isinstance(rel, Project) else rel
    assert isinstance(join, Join)
    return [scans(m)[0].source for m in join.members]


def test_what_is_large_is_read_once() -> None:
    chain = Join(
        tuple(map(scan, ("lineitem", "orders", "customer"))),
        (equal("l_order", "o_key"), equal("o_customer", "c_key")),
    )
    every = {"lineitem": 6_000, "orders": 1_500, "customer": 15}
    found = arranged(chain, sizes(every))
    assert order(found)[-1] == "lineitem"
    assert found.columns == chain.columns


def test_a_pair_of_tables_that_multiplies_does_not_come_first() -> None:
    """Customers meet suppliers by nation only when the orders have chosen both."""
    found = arranged(LOCAL, sizes({"customer": 1_500, "orders": 15_000, "lineitem": 60_000}))
    names = order(found)
    assert names.index("supplier") > names.index("lineitem")
    assert names.index("nation") < names.index("orders")


def test_a_condition_that_others_imply_is_said_where_an_order_needs_it() -> None:
    found = arranged(LOCAL, sizes({"customer": 15}))
    join = found.input if isinstance(found, Project) else found
    assert isinstance(join, Join)
    assert equal("c_nation", "n_key") in join.on


def test_equality_of_columns_of_several_types_is_not_taken_for_transitive() -> None:
    """'01' = 1 and 1 = '1', and yet '01' is not '1'."""
    found = arranged(LOCAL, sizes({"customer": 15}, {"n_key": "string"}))
    join = found.input if isinstance(found, Project) else found
    assert isinstance(join, Join)
    assert set(join.on) == set(LOCAL.on)


def test_a_change_that_multiplies_is_not_taken_for_small() -> None:
    known = sizes({"nation": 1, "customer": 15})
    by_nation = Join((_delta("nation"), scan("customer")), (equal("n_key", "c_nation"),))
    assert known.of_change(by_nation) == 6_000
    of_orders = Join(
        (_delta("nation"), scan("customer"), scan("orders"), scan("lineitem")),
        (equal("n_key", "c_nation"), equal("c_key", "o_customer"), equal("o_key", "l_order")),
    )
    assert known.of_change(of_orders) == 240_000
    assert known.is_small(of_orders)
    assert not sizes({"nation": 3}).is_small(of_orders)
    assert not sizes({"nation": None}).is_small(by_nation)


def _delta(table: str) -> Scan:
    return replace(scan(table), end=End.DELTA)
