"""Rewrites that lose or change rows, each of which the oracle of the algebra catches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

import dt_jupyter.ivm.join_order as order
from dt_jupyter.ivm import (
    End,
    Expr,
    Filter,
    Generate,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Scan,
    Top,
    Union,
    Window,
    col,
    equality,
    simplify as _simplify_function,
)
from tests.unit.ivm_lab import caught, in_order, simplified_is_the_same

SIMPLIFY = sys.modules[_simplify_function.__module__]
Changed = frozenset[str]
Ends = tuple[tuple[End, str], ...]
BOTH: Ends = ((End.NEW, "+1"), (End.OLD, "-1"))


def lose_a_filter(rel: Rel) -> Rel:
    return rel.input if isinstance(rel, Filter) and isinstance(rel.input, Join) else rel


def lose_a_join_condition(rel: Rel) -> Rel:
    return replace(rel, on=rel.on[1:]) if isinstance(rel, Join) else rel


def lose_a_match_condition(rel: Rel) -> Rel:
    return replace(rel, on=()) if isinstance(rel, Match) else rel


def merge_equal_branches(rel: Rel) -> Rel:
    if not isinstance(rel, Union) or not all(isinstance(m, Scan) for m in rel.members):
        return rel
    first, *_ = rel.members
    return Project(first, tuple((i, col(c)) for i, c in zip(rel.ids, first.columns, strict=True)))


def filter_into_the_right_side(rel: Rel) -> Rel:
    """σp(A ⟕ B) is not A ⟕ σp(B)."""
    if not (isinstance(rel, Filter) and isinstance(rel.input, Match)):
        return rel
    right = set(rel.input.right.columns)
    if rel.input.kind is not MatchKind.LEFT or not all(p.columns <= right for p in rel.on):
        return rel
    return replace(rel.input, right=Filter(rel.input.right, rel.on))


def condition_into_the_left_side(rel: Rel) -> Rel:
    """A ⟕p B is not σp(A) ⟕ B; nor is it so for ▷."""
    if not isinstance(rel, Match) or rel.kind is MatchKind.SEMI:
        return rel
    below = tuple(p for p in rel.on if p.columns <= set(rel.left.columns))
    kept = tuple(p for p in rel.on if p not in below)
    return replace(rel, left=Filter(rel.left, below), on=kept) if below else rel


def filter_below(kind: type[Rel]) -> Callable[[Rel], Rel]:
    def rule(rel: Rel) -> Rel:
        if not (isinstance(rel, Filter) and isinstance(rel.input, kind)):
            return rel
        (below,) = rel.input.inputs
        if not all(p.columns <= set(below.columns) for p in rel.on):
            return rel
        return rel.input.with_inputs((Filter(below, rel.on),))

    return rule


REWRITES: dict[str, tuple[str, Callable[[Rel], Rel]]] = {
    "a filter is lost": ("filter join", lose_a_filter),
    "a condition of a join is lost": ("join", lose_a_join_condition),
    "the condition of a match is lost": ("match", lose_a_match_condition),
    "equal branches of a union become one": ("union", merge_equal_branches),
    "a filter goes to the right side of a match": ("filter match", filter_into_the_right_side),
    "a condition of a match goes to its left side": ("match", condition_into_the_left_side),
    "a filter goes below a window": ("filter window", filter_below(Window)),
    "a filter goes below a top": ("filter top", filter_below(Top)),
}


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_that_loses_something_is_caught(name: str) -> None:
    shape, rule = REWRITES[name]

    def patch(m: pytest.MonkeyPatch) -> None:
        m.setattr(SIMPLIFY, "PASSES", (rule, *SIMPLIFY.PASSES))

    assert caught(simplified_is_the_same, patch, settled=True, shape=shape)


def pairs_that_are_used(rel: Rel, used: frozenset[str]) -> Rel:
    if not isinstance(rel, Match):
        return rel
    return replace(rel, pairs=tuple(p for p in rel.pairs if used.intersection(p)))


def partition_that_is_used(rel: Rel, used: frozenset[str]) -> Rel:
    if not isinstance(rel, Window):
        return rel
    return replace(rel, partition=tuple(c for c in rel.partition if c in used))


def order_that_is_used(rel: Rel, used: frozenset[str]) -> Rel:
    if not isinstance(rel, Top):
        return rel
    return replace(rel, order=tuple(e for e in rel.order if e.columns <= used))


def window_order_that_is_used(rel: Rel, used: frozenset[str]) -> Rel:
    if not isinstance(rel, Window):
        return rel
    calls = tuple(
        replace(c, order=tuple(e for e in c.order if e.columns <= used)) for c in rel.calls
    )
    return replace(rel, calls=calls)


def generator_that_is_used(rel: Rel, used: frozenset[str]) -> Rel:
    unused = isinstance(rel, Generate) and not used.intersection(rel.ids)
    return rel.inputs[0] if unused else rel


def match_that_is_used(rel: Rel, used: frozenset[str]) -> Rel:
    unused = isinstance(rel, Match) and not used.intersection(rel.right.columns)
    return rel.inputs[0] if unused else rel


PRUNES: dict[str, tuple[str, Callable[[Rel, frozenset[str]], Rel]]] = {
    "a match forgets pairs that nothing above reads": ("project match", pairs_that_are_used),
    "a match is left out where its right side is not read": ("project match", match_that_is_used),
    "a window forgets a partition that nothing above reads": (
        "project window",
        partition_that_is_used,
    ),
    "a window forgets an order that nothing above reads": (
        "project window",
        window_order_that_is_used,
    ),
    "a top forgets an order that nothing above reads": ("project top", order_that_is_used),
    "a generator is left out where its columns are not read": (
        "project generate",
        generator_that_is_used,
    ),
}


@pytest.mark.parametrize("name", PRUNES)
def test_pruning_that_goes_too_far_is_caught(name: str) -> None:
    shape, forget = PRUNES[name]
    original = dict(SIMPLIFY.PRUNED)

    def prune(rel: Rel, used: frozenset[str]) -> Rel:
        left = forget(rel, used)
        return (original[type(left)] if type(left) is type(rel) else SIMPLIFY.prune)(left, used)

    def patch(m: pytest.MonkeyPatch) -> None:
        for kind in original:
            m.setitem(SIMPLIFY.PRUNED, kind, prune)

    assert caught(simplified_is_the_same, patch, settled=True, shape=shape)


# -- the order of a join's members ----------------------------------------------------------------


def test_an_equality_that_is_not_implied_is_caught() -> None:
    def first_columns(rel: Join, sizes: order.Sizes) -> tuple[Expr, ...]:
        firsts = [col(m.columns[0]) for m in rel.members]
        return tuple(equality(firsts[0], b) for b in firsts[1:])

    assert caught(in_order, lambda m: m.setattr(order, "_implied", first_columns), shape="join")


def test_members_that_leave_their_columns_in_another_order_are_caught() -> None:
    def bare(rel: Rel, columns: tuple[str, ...]) -> Rel:
        return rel

    with pytest.raises(AssertionError):
        caught(in_order, lambda m: m.setattr(order, "_with_columns", bare), shape="join")
