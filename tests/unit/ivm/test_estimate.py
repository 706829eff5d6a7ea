"""The rows that EXPLAIN shows are those that the order of a join was chosen by."""

from __future__ import annotations

import pytest

import dt_jupyter.ivm.join_order as join_order
from dt_jupyter.ivm import (
    Bag,
    Filter,
    Join,
    JoinSize,
    Rows,
    Size,
    Sizes,
    Stage,
    arranged,
    col,
    differentiate,
    estimated,
    expr,
    total_size,
)
from dt_jupyter.ivm.explain import tree
from tests.unit.ivm.test_order import LOCAL, ROWS, equal, order, scan, sizes

BY_NATION = Join((scan("customer"), scan("supplier")), (equal("c_nation", "s_nation"),))
CHAIN = Join(
    tuple(map(scan, ("lineitem", "orders", "customer"))),
    (equal("l_order", "o_key"), equal("o_customer", "c_key")),
)
CROSS = Join((scan("nation"), scan("region")), ())
JOINS = {"by nation": BY_NATION, "chain": CHAIN, "local": LOCAL, "cross": CROSS}
CHANGES = (
    {},
    {"customer": 15},
    {"supplier": 3, "customer": 15},
    {"lineitem": 6_000, "orders": 1_500},
    {"nation": 1, "region": 2, "customer": 7},
)


def shown(join: Join, changed: dict[str, int]) -> Size:
    """What EXPLAIN has on the line of a join."""
    facts = {s: Size(n, changed.get(s, 0)) for s, n in ROWS.items()}
    return tree((Stage("stage:0", join, Bag(), ()),), {}, facts)[1].size


def used(join: Join, known: Sizes) -> float:
    """The rows that the ways through the members end at, from whichever they begin."""
    size, many = JoinSize(join, known), range(len(join.members))
    ends = [size.of(i, known.of_table(m)) for i, m in zip(many, join.members, strict=True)]
    assert ends == pytest.approx([ends[0]] * len(ends))
    return ends[0]


def test_a_join_on_what_is_no_key_multiplies() -> None:
    assert shown(BY_NATION, {"customer": 15}) == Size(10_000 * 150_000 / 10_000, 15)
    of_nations = Join(
        (*BY_NATION.members, scan("nation")), (*BY_NATION.on, equal("s_nation", "n_key"))
    )
    assert shown(of_nations, {"nation": 1}).rows == 150_000 * 10_000 / 25
    assert shown(of_nations, {"nation": 1}).changed == 150_000 * 10_000 / 25 / 25


@pytest.mark.parametrize("name", JOINS)
def test_explain_shows_what_the_order_was_chosen_by(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    join, asked = JOINS[name], []

    def recorded(rel: Join, known: Sizes) -> JoinSize:
        asked.append(JoinSize(rel, known))
        return asked[-1]

    monkeypatch.setattr(join_order, "JoinSize", recorded)
    arranged(join, sizes({"customer": 15}))
    assert len(asked) == 1
    facts = shown(join, {"customer": 15})
    assert (asked[0].whole(), asked[0].changed()) == (facts.rows, facts.changed)
    assert facts.rows == pytest.approx(used(join, sizes({})))


@pytest.mark.parametrize("changed", CHANGES, ids=str)
@pytest.mark.parametrize("name", ["by nation", "chain", "cross"])
def test_explain_shows_the_change_that_the_statement_was_made_for(
    name: str, changed: dict[str, int]
) -> None:
    """The derivative's terms are hinted by the size of the change, all of them together. (Of
    columns equal in a ring, as in LOCAL, a term that has not met all of them knows less.)"""
    known, join = sizes(changed), JOINS[name]
    touched = frozenset(changed) & {s.source for s in join.members}  # type: ignore[attr-defined]
    delta = differentiate(join, touched)
    wanted = known.of_change(delta) if delta is not None else 0
    assert shown(join, changed).changed == pytest.approx(wanted)


def test_the_order_does_not_change_what_is_shown() -> None:
    found = arranged(LOCAL, sizes({"customer": 15}))
    (moved,) = found.inputs
    assert isinstance(moved, Join)
    assert order(found) != order(LOCAL)
    facts = {s: Size(n, 15 if s == "customer" else 0) for s, n in ROWS.items()}
    before, after = estimated(LOCAL, facts), estimated(moved, facts)
    assert (after.rows, after.changed) == pytest.approx((before.rows, before.changed))


def test_what_is_not_known_of_one_source_is_not_known_of_the_join() -> None:
    facts = {"customer": Size(150_000, 15), "supplier": Size(None, 0)}
    assert estimated(BY_NATION, facts) == Size()
    facts = {"customer": Size(150_000), "supplier": Size(10_000, 0)}
    assert estimated(BY_NATION, facts) == Size(150_000, None)


def test_members_count_with_all_the_rows_of_their_tables() -> None:
    """As they do for the order: a condition's share is no more than a guess."""
    some = Filter(scan("customer"), (expr("{x} > 1", x=col("c_key")),))
    literal = Rows("(VALUES (1))", ("r",))
    filtered = Join((some, scan("supplier"), literal), BY_NATION.on)
    assert shown(filtered, {"customer": 15}) == shown(BY_NATION, {"customer": 15})


def test_a_total_is_known_where_all_of_it_is() -> None:
    assert total_size([Size(5, 1), Size(7, 0)]) == Size(12, 1)
    assert total_size([Size(5, 1), Size(7)]) == Size(12, None)
    assert total_size([Size(None, 1), Size(7, 2)]) == Size(None, 3)
