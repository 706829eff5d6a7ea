"""The oracle is not vacuous: each rule, broken in a way that one may break it, is caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import dt_jupyter.ivm.derive as derive
from dt_jupyter.ivm import (
    DERIVATIVES,
    OPERATORS,
    WEIGHT,
    Aggregate,
    End,
    Filter,
    Join,
    Project,
    Rel,
    Restrict,
    Scan,
    Union,
    at,
    col,
    differentiate,
    expr,
    restrict,
    simplify,
)
from dt_jupyter.ivm import simplify as _simplify_function
from tests.unit.ivm_lab import World, check_derivative, relations, worlds

HUNT = settings(
    max_examples=200, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
)  # fmt: skip
Changed = frozenset[str]


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
        return derive._sum([t for t in found if t], (*rel.columns, WEIGHT))

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


def restriction_dropped(rel: Rel, changed: Changed) -> Rel | None:
    assert isinstance(rel, Restrict)
    return differentiate(rel.input, changed)


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
}


def test_every_derivative_has_a_mutant() -> None:
    mutated = {kind for kind, _ in RULES.values()}
    # The aggregate's rule is its stage's (test_ivm_groups); a restriction's is below.
    assert mutated == set(OPERATORS) - {Aggregate, Restrict}


def test_the_hunt_finds_nothing_in_rules_that_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """ΔA ⋈ B₁ + A₀ ⋈ ΔB is as good as the rule that is used."""
    monkeypatch.setitem(DERIVATIVES, Join, join_rule(End.OLD, End.NEW))
    assert not caught(check_derivative)


@pytest.mark.parametrize("name", RULES)
def test_a_mutated_derivative_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, rule = RULES[name]
    monkeypatch.setitem(DERIVATIVES, kind, rule)
    assert caught(check_derivative)


def caught(check: Callable[[Rel, World], None]) -> bool:
    """Whether random relations over random bags show a difference."""

    @HUNT
    @given(relations(), worlds())
    def hunt(rel: Rel, w: World) -> None:
        check(rel, w)

    try:
        hunt()
    except AssertionError:
        return True
    return False


def test_a_restriction_that_the_change_ignores_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.unit.ivm_lab import Duck

    @HUNT
    @given(relations(depth=3, scans=3), worlds())
    def hunt(rel: Rel, w: World) -> None:
        duck = Duck(w)
        duck.put_keys(("k0",), [(1,)])
        pushed = restrict(rel, "keys", ((rel.columns[0], "k0"),))
        everything = duck.weights(differentiate(rel, w.changed))
        wanted = {r: n for r, n in everything.items() if r[0] == 1}
        assert duck.weights(differentiate(pushed, w.changed)) == wanted

    monkeypatch.setitem(DERIVATIVES, Restrict, restriction_dropped)
    with pytest.raises(AssertionError):
        hunt()


# -- rewrites -------------------------------------------------------------------------------------


def lose_a_filter(rel: Rel) -> Rel:
    return rel.input if isinstance(rel, Filter) and isinstance(rel.input, Join) else rel


def lose_a_join_condition(rel: Rel) -> Rel:
    return replace(rel, on=rel.on[1:]) if isinstance(rel, Join) else rel


def merge_equal_branches(rel: Rel) -> Rel:
    if not isinstance(rel, Union) or not all(isinstance(m, Scan) for m in rel.members):
        return rel
    first, *_ = rel.members
    return Project(first, tuple((i, col(c)) for i, c in zip(rel.ids, first.columns, strict=True)))


@pytest.mark.parametrize("rule", [lose_a_filter, lose_a_join_condition, merge_equal_branches])
def test_a_rewrite_that_loses_something_is_caught(
    rule: Callable[[Rel], Rel], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    module = sys.modules[_simplify_function.__module__]
    monkeypatch.setattr(module, "PASSES", (rule, *module.PASSES))

    def same(rel: Rel, w: World) -> None:
        from tests.unit.ivm_lab import Duck

        duck = Duck(w)
        assert duck.bag(at(simplify(rel), End.NEW)) == duck.bag(at(rel, End.NEW))

    assert caught(same)
