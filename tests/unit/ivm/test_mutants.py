"""The oracle is not vacuous: each rule, broken in a way that one may break it, is caught."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

import dt_jupyter.ivm.derive as derive
import dt_jupyter.ivm.match_by_condition as by_condition
from dt_jupyter.ivm import (
    DERIVATIVES,
    OPERATORS,
    Aggregate,
    End,
    Filter,
    Generate,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
    at,
    col,
    differentiate,
    expr,
    restrict,
    simplify as _simplify_function,
)
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sql import Query, TextQuery
from dt_jupyter.sql.emit import render
from dt_jupyter.sql.emit.query import query_text
from tests.unit.ivm_lab import Law, caught, derivative, restricted

SIMPLIFY = sys.modules[_simplify_function.__module__]
Changed = frozenset[str]
Ends = tuple[tuple[End, str], ...]
BOTH: Ends = ((End.NEW, "+1"), (End.OLD, "-1"))


def inserted(delta: Rel) -> Rel:
    return Filter(delta, (expr("{w} > 0", w=col(WEIGHT)),))


# -- derivatives ----------------------------------------------------------------------------------


def term(rel: Join, i: int, changed: Changed, before: End, after: End, sign: int = 1) -> Rel | None:
    delta = differentiate(rel.members[i], changed)
    if delta is None:
        return None
    others = [at(m, before) for m in rel.members[:i]] + [at(m, after) for m in rel.members[i + 1 :]]
    joined = Join((delta, *others), rel.on)
    weight = col(WEIGHT) if sign > 0 else expr("-{w}", w=col(WEIGHT))
    return Project(joined, (*((c, col(c)) for c in rel.columns), (WEIGHT, weight)))


def join_rule(before: End, after: End, *, drop_last: bool = False, sign: int = 1) -> derive.Rule:
    def rule(rel: Rel, changed: Changed) -> Rel | None:
        assert isinstance(rel, Join)
        upto = len(rel.members) - (1 if drop_last else 0)
        found = [term(rel, i, changed, before, after, sign) for i in range(upto)]
        return derive.sum_of([t for t in found if t], (*rel.columns, WEIGHT))

    return rule


def join_without_its_condition(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Join)
    return derive._join(replace(rel, on=rel.on[1:]), changed)


def scan_that_forgets(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Scan)
    return derive._scan(rel, changed - {"t"})


def filter_dropped(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Filter)
    return differentiate(rel.input, changed)


def filter_of_one_conjunct(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Filter)
    delta = differentiate(rel.input, changed)
    return delta and Filter(delta, rel.on[:1])


def projection_that_only_inserts(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Project)
    delta = differentiate(rel.input, changed)
    return delta and Project(delta, (*rel.items, (WEIGHT, expr("ABS({w})", w=col(WEIGHT)))))


def union_without_its_last_branch(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Union)
    return derive._union(replace(rel, members=rel.members[:-1]), changed)


def union_in_another_order(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Union)
    delta = derive._union(rel, changed)
    if delta is None or len(rel.ids) < 2:
        return delta
    swapped = (rel.ids[1], rel.ids[0], *rel.ids[2:])
    items = [(i, col(o)) for i, o in zip(rel.ids, swapped, strict=True)]
    return Project(delta, (*items, (WEIGHT, col(WEIGHT))))


def rows_come_anew(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Rows)
    return Project(rel, (*((c, col(c)) for c in rel.columns), (WEIGHT, expr("+1"))))


def generator_without_outer(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Generate)
    return derive._generate(replace(rel, outer=False), changed)


def generator_that_only_inserts(rel: Rel, changed: Changed) -> Rel | None:
    delta = derive._generate(rel, changed)
    return delta and projection_that_only_inserts_of(delta, rel.columns)


def projection_that_only_inserts_of(delta: Rel, columns: tuple[str, ...]) -> Rel:
    return Project(delta, (*((c, col(c)) for c in columns), (WEIGHT, expr("+1"))))


@dataclass(frozen=True)
class MatchRule:
    """The rule of a match with parts left out or taken for others."""

    left: bool = True
    right: bool = True
    partners: End = End.NEW
    kept: End = End.OLD
    ends: Ends = BOTH
    conditions: bool = True
    keys: str = "right"
    keys_of: Callable[[Rel], Rel] = lambda delta: delta
    restricts_kept: bool = True
    restricts_right: bool = True

    def __call__(self, rel: Rel, changed: Changed) -> Rel | None:
        assert isinstance(rel, Match)
        columns = (*rel.columns, WEIGHT)
        own, theirs = tuple(a for a, _ in rel.pairs), tuple(b for _, b in rel.pairs)
        mine, other = differentiate(rel.left, changed), differentiate(rel.right, changed)
        terms: list[Rel] = []
        if mine is not None and self.left:
            partners = derive._of_keys(at(rel.right, self.partners), theirs, mine, own)
            terms.append(derive.in_columns(replace(rel, left=mine, right=partners), columns))
        if other is not None and self.right:
            found, names = self.keys_of(other), theirs
            if self.keys == "left" and mine is not None:
                found, names = mine, own
            kept, on = at(rel.left, self.kept), rel.on if self.conditions else ()
            if self.restricts_kept:
                kept = derive._of_keys(kept, own, found, names)
            for end, sign in self.ends:
                right = at(rel.right, end)
                if self.restricts_right:
                    right = derive._of_keys(right, theirs, found, names)
                moved = replace(rel, left=kept, right=right, on=on)
                terms.append(derive.signed(moved, sign))
        return derive.sum_of(terms, columns)


def match_as_if_bilinear(rel: Rel, changed: Changed) -> Rel | None:
    """The rows with a partner among the changed ones, as for an inner join."""
    assert isinstance(rel, Match)
    rule = MatchRule(right=False)
    first, delta = rule(rel, changed), differentiate(rel.right, changed)
    if delta is None:
        return first
    right = Project(delta, tuple((c, col(c)) for c in rel.right.columns))
    second = derive.signed(replace(rel, left=at(rel.left, End.OLD), right=right), "+1")
    return derive.sum_of([t for t in (first, second) if t], (*rel.columns, WEIGHT))


@dataclass(frozen=True)
class WindowRule:
    """The rule of a window with other partitions than the touched ones, or without an end."""

    ends: Ends = BOTH
    by: Callable[[Window], tuple[str, ...]] = lambda rel: rel.partition
    keys_of: Callable[[Rel], Rel] = lambda delta: delta

    def __call__(self, rel: Rel, changed: Changed) -> Rel | None:
        assert isinstance(rel, Window)
        delta = differentiate(rel.input, changed)
        if delta is None:
            return None
        by, found = self.by(rel), self.keys_of(delta)
        terms = [
            derive.signed(
                replace(rel, input=derive._of_keys(at(rel.input, end), by, found, by)), sign
            )
            for end, sign in self.ends
        ]
        return derive.sum_of(terms, (*rel.columns, WEIGHT))


def top_rule(ends: Ends) -> derive.Rule:
    def rule(rel: Rel, changed: Changed) -> Rel | None:
        assert isinstance(rel, Top)
        if differentiate(rel.input, changed) is None:
            return None
        terms = [derive.signed(replace(rel, input=at(rel.input, e)), s) for e, s in ends]
        return derive.sum_of(terms, (*rel.columns, WEIGHT))

    return rule


def top_of_the_change(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Top)
    delta = differentiate(rel.input, changed)
    return delta and replace(rel, input=delta)


RULES: dict[str, tuple[type[Rel], derive.Rule]] = {
    "join reads the new side after the change": (Join, join_rule(End.NEW, End.NEW)),
    "join reads the old side before the change": (Join, join_rule(End.OLD, End.OLD)),
    "join forgets its last term": (Join, join_rule(End.NEW, End.OLD, drop_last=True)),
    "join negates": (Join, join_rule(End.NEW, End.OLD, sign=-1)),
    "join loses a condition": (Join, join_without_its_condition),
    "scan forgets a source": (Scan, scan_that_forgets),
    "filter is dropped": (Filter, filter_dropped),
    "filter keeps one conjunct": (Filter, filter_of_one_conjunct),
    "projection turns deletes into inserts": (Project, projection_that_only_inserts),
    "union drops a branch": (Union, union_without_its_last_branch),
    "union mixes up its columns": (Union, union_in_another_order),
    "rows come anew": (Rows, rows_come_anew),
    "generator loses OUTER": (Generate, generator_without_outer),
    "generator turns deletes into inserts": (Generate, generator_that_only_inserts),
    "match forgets the change of its right side": (Match, MatchRule(right=False)),
    "match forgets the change of its left side": (Match, MatchRule(left=False)),
    "match looks for partners at the old end": (Match, MatchRule(partners=End.OLD)),
    "match keeps the new left side": (Match, MatchRule(kept=End.NEW)),
    "match forgets the old end": (Match, MatchRule(ends=BOTH[:1])),
    "match forgets the new end": (Match, MatchRule(ends=BOTH[1:])),
    "match loses its further conditions": (Match, MatchRule(conditions=False)),
    "match takes the keys of the other change": (Match, MatchRule(keys="left")),
    "match forgets the keys of deletes": (Match, MatchRule(keys_of=inserted)),
    "match is taken for an inner join": (Match, match_as_if_bilinear),
    "window forgets the old end": (Window, WindowRule(BOTH[:1])),
    "window forgets the new end": (Window, WindowRule(BOTH[1:])),
    "window recomputes changed rows only": (Window, WindowRule(by=lambda w: w.input.columns)),
    "window takes another column for its partition": (
        Window,
        WindowRule(by=lambda w: w.input.columns[:1]),
    ),
    "window forgets the partitions of deletes": (Window, WindowRule(keys_of=inserted)),
    "top forgets the old end": (Top, top_rule(BOTH[:1])),
    "top forgets the new end": (Top, top_rule(BOTH[1:])),
    "top takes the first of the change": (Top, top_of_the_change),
}


def test_every_derivative_has_a_mutant() -> None:
    mutated = {kind for kind, _ in RULES.values()}
    # The aggregate's rule is its stage's (test_groups); a restriction's is below.
    assert mutated == set(OPERATORS) - {Aggregate, Restrict}


@pytest.mark.parametrize("name", RULES)
def test_a_mutated_derivative_is_caught(name: str) -> None:
    kind, rule = RULES[name]
    assert caught(derivative, lambda m: m.setitem(DERIVATIVES, kind, rule))


ALTERNATIVES: dict[type[Rel], tuple[derive.Rule, ...]] = {
    Join: (join_rule(End.OLD, End.NEW),),
    Match: (MatchRule(), MatchRule(restricts_kept=False), MatchRule(restricts_right=False)),
    Window: (WindowRule(), WindowRule(by=lambda w: w.partition[1:])),
    Top: (top_rule(BOTH),),
}
"""Other rules that hold: ΔA ⋈ B₁ + A₀ ⋈ ΔB, and what restricts to more than what is touched."""


@pytest.mark.parametrize("place", range(3))
def test_the_search_finds_nothing_in_rules_that_hold(place: int) -> None:
    def patch(m: pytest.MonkeyPatch) -> None:
        for kind, rules in ALTERNATIVES.items():
            m.setitem(DERIVATIVES, kind, rules[place % len(rules)])

    assert not caught(derivative, patch, seeds=100)


# -- matches without equal columns ----------------------------------------------------------------

Terms = Callable[[Match, Rel | None, Rel | None, Rel, Rel], list[Rel]]
TERMS: Terms = by_condition.terms_by_condition


def without_pairs_that_meet(
    rel: Match, left: Rel | None, right: Rel | None, *more: Rel
) -> list[Rel]:
    return [t for t in TERMS(rel, left, right, *more) if not isinstance(t.inputs[0], Join)]


def without_an_end(place: int) -> Terms:
    def terms(rel: Match, left: Rel | None, right: Rel | None, *more: Rel) -> list[Rel]:
        found = TERMS(rel, left, right, *more)
        return found if right is None else [t for t in found if t is not found[place]]

    return terms


def touched_at_the_new_end(
    rel: Match, left: Rel | None, right: Rel | None, *more: Rel
) -> list[Rel]:
    return TERMS(rel, left, right, at(rel.left, End.NEW), more[1])


def without_the_left_change(
    rel: Match, left: Rel | None, right: Rel | None, *more: Rel
) -> list[Rel]:
    return TERMS(rel, None, right, *more)


CONDITIONAL: dict[str, Terms] = {
    "the pairs with changed rows are left out": without_pairs_that_meet,
    "the old end is left out": without_an_end(-1),
    "the new end is left out": without_an_end(-2),
    "the left side is read at its new end": touched_at_the_new_end,
    "the change of the left side is left out": without_the_left_change,
}


@pytest.mark.parametrize("name", CONDITIONAL)
def test_a_mutated_match_by_a_condition_is_caught(name: str) -> None:
    wrong = CONDITIONAL[name]
    assert caught(
        derivative, lambda m: m.setattr(derive, "terms_by_condition", wrong), shape="match"
    )


def test_rows_that_lose_a_partner_by_a_condition_are_touched() -> None:
    held = derive._holding

    def of_inserts(rel: Rel, keys: frozenset[str], nulls: bool) -> Rel:
        return held(inserted(rel) if WEIGHT in rel.columns else rel, keys, nulls)

    assert caught(derivative, lambda m: m.setattr(derive, "_holding", of_inserts), shape="match")


# -- restrictions ---------------------------------------------------------------------------------

Keys = str | Rel
On = tuple[tuple[str, str], ...]
Pushed = tuple[Rel, bool] | None


def restriction_dropped(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Restrict)
    return differentiate(rel.input, changed)


def test_a_restriction_that_the_change_ignores_is_caught() -> None:
    assert caught(restricted, lambda m: m.setitem(DERIVATIVES, Restrict, restriction_dropped))


@pytest.mark.parametrize("law", [derivative, restricted])
def test_keys_whose_nulls_match_nothing_are_caught(law: Law) -> None:
    def rendered(r: render.Renderer, rel: Rel) -> Query:
        text = query_text(render._restrict(r, rel), r.quote)
        return TextQuery(text.replace(" <=> ", " = "))

    assert caught(law, lambda m: m.setitem(render._RENDER, Restrict, rendered))


def right_column_into_the_right_side(rel: Rel, keys: Keys, on: On) -> Pushed:
    assert isinstance(rel, Match)
    own = tuple((a, b) for a, b in on if a in rel.right.columns)
    if rel.kind is not MatchKind.LEFT or not own:
        return derive._pushed_match(rel, keys, on)
    return replace(rel, right=restrict(rel.right, keys, own)), False


def right_column_for_its_left_partner(rel: Rel, keys: Keys, on: On) -> Pushed:
    """Taken for equal although the one is NULL where the row has no partner."""
    assert isinstance(rel, Match)
    same = {b: a for a, b in rel.pairs}
    own = tuple((same.get(a, a), b) for a, b in on if same.get(a, a) in rel.left.columns)
    return (replace(rel, left=restrict(rel.left, keys, own)), False) if own else None


def left_side_for_the_whole(rel: Rel, keys: Keys, on: On) -> Pushed:
    assert isinstance(rel, Match)
    found = derive._pushed_match(rel, keys, on)
    return found and (found[0], True)


def partner_of_another_pair(rel: Rel, keys: Keys, on: On) -> Pushed:
    assert isinstance(rel, Match)
    pairs = tuple((a, rel.pairs[i - 1][1]) for i, (a, _) in enumerate(rel.pairs))
    found = derive._pushed_match(replace(rel, pairs=pairs), keys, on)
    if found is None:
        return None
    assert isinstance(found[0], Match)
    return replace(found[0], pairs=rel.pairs), found[1]


def any_column_into_a_window(rel: Rel, keys: Keys, on: On) -> Pushed:
    assert isinstance(rel, Window)
    own = tuple((a, b) for a, b in on if a in rel.input.columns)
    return (replace(rel, input=restrict(rel.input, keys, own)), False) if own else None


def below_the_top(rel: Rel, keys: Keys, on: On) -> Pushed:
    assert isinstance(rel, Top)
    return replace(rel, input=restrict(rel.input, keys, on)), True


def one_member_for_the_whole(rel: Rel, keys: Keys, on: On) -> Pushed:
    assert isinstance(rel, Join)
    return derive._pushed_join(rel, keys, on)[0], True  # type: ignore[index]


def first_branch_only(rel: Rel, keys: Keys, on: On) -> Pushed:
    assert isinstance(rel, Union)
    first, *rest = rel.members
    own = tuple((first.columns[rel.ids.index(a)], b) for a, b in on)
    return replace(rel, members=(restrict(first, keys, own), *rest)), True


PUSHES: dict[str, tuple[str, Callable[[Rel, Keys, On], Pushed]]] = {
    "match restricts its right side by a column that it may make NULL": (
        "match",
        right_column_into_the_right_side,
    ),
    "match takes a right column for the left one": ("match", right_column_for_its_left_partner),
    "match takes the left side for the whole": ("match", left_side_for_the_whole),
    "match mixes up its pairs": ("match", partner_of_another_pair),
    "window is restricted by a column of no partition": ("window", any_column_into_a_window),
    "top is restricted below": ("top", below_the_top),
    "join takes one member for the whole": ("join", one_member_for_the_whole),
    "union restricts its first branch": ("union", first_branch_only),
}


@pytest.mark.parametrize("name", PUSHES)
def test_a_restriction_pushed_too_far_is_caught(name: str) -> None:
    kind, push = PUSHES[name]
    original = derive._pushed

    def pushed(rel: Rel, keys: Keys, on: On) -> Pushed:
        mutated = type(rel).__name__.lower() == kind
        return push(rel, keys, on) if mutated else original(rel, keys, on)

    assert caught(restricted, lambda m: m.setattr(derive, "_pushed", pushed), shape=kind)


# -- keys that a change touches -------------------------------------------------------------------

Holding = Callable[[Rel, frozenset[str], bool], Rel]


def without_nulls(held: Holding) -> Holding:
    """NULLs of an outer join are a partition too, and what is computed of them is a key."""
    return lambda rel, keys, nulls: held(rel, keys, False)


def of_the_first_member(held: Holding) -> Holding:
    def holding(rel: Rel, keys: frozenset[str], nulls: bool) -> Rel:
        if isinstance(rel, Union):
            rel = Union((rel.members[0],), rel.ids)
        return held(rel, keys, nulls)

    return holding


def of_nothing(held: Holding) -> Holding:
    """The values that no operator below has to compute are left out."""

    def holding(rel: Rel, keys: frozenset[str], nulls: bool) -> Rel:
        found = held(rel, keys, nulls)
        return Filter(found, (expr("FALSE"),)) if isinstance(found, Match | Scan) else found

    return holding


@pytest.mark.parametrize(
    ("mutated", "shape"),
    [(without_nulls, "window match"), (of_the_first_member, "match"), (of_nothing, "match")],
)
def test_keys_of_less_than_the_change_are_caught(
    mutated: Callable[[Holding], Holding], shape: str
) -> None:
    wrong = mutated(derive._holding)
    assert caught(derivative, lambda m: m.setattr(derive, "_holding", wrong), shape=shape)
