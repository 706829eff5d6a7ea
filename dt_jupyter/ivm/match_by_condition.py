"""The change of ⟕, ⋉ and ▷ whose condition equates no columns: a range, an inequality, TRUE."""

from __future__ import annotations

from dataclasses import replace

from dt_jupyter.ivm.expr import NULL, col
from dt_jupyter.ivm.rel import End, Filter, Join, Match, MatchKind, Project, Rel, at
from dt_jupyter.ivm.weighted_terms import in_columns, signed
from dt_jupyter.model.hidden import WEIGHT


def terms_by_condition(
    rel: Match, left: Rel | None, right: Rel | None, old: Rel, values: Rel
) -> list[Rel]:
    """What Δ(A θ B) is the sum of: `left` is ΔA, `right` ΔB, `old` is A₀, and `values` has at
    least the values of ΔB that θ reads.

    There are no keys to look partners up by, and a row may have most of B as partners. So those
    are not recomputed: of ⟕ the pairs with changed rows of B are a separate term, as in an
    inner join, and only whether a touched row has a partner is asked at both ends.
    """
    columns = (*rel.columns, WEIGHT)
    terms: list[Rel] = []
    if left is not None:
        moved = replace(rel, left=left, right=at(rel.right, End.NEW))
        terms.append(in_columns(moved, columns))
    if right is None:
        return terms
    if rel.kind is MatchKind.LEFT:
        terms.append(in_columns(Join((right, old), rel.on), columns))
    touched = _touched(rel, old, values)
    for end, sign in ((End.NEW, "+1"), (End.OLD, "-1")):
        terms.append(signed(_judged(rel, touched, at(rel.right, end)), sign))
    return terms


def _touched(rel: Match, old: Rel, values: Rel) -> Rel:
    """The rows of A₀ with a partner among the changed rows; where θ does not read those, all for
    which it is true."""
    if any(c in rel.right.columns for p in rel.on for c in p.columns):
        return Match(old, values, MatchKind.SEMI, (), rel.on)
    return Filter(old, rel.on) if rel.on else old


def _judged(rel: Match, touched: Rel, right: Rel) -> Rel:
    """The rows that are in the result by whether they have a partner; of ⟕ those without one."""
    if rel.kind is not MatchKind.LEFT:
        return replace(rel, left=touched, right=right)
    alone = replace(rel, left=touched, right=right, kind=MatchKind.ANTI)
    own = frozenset(rel.left.columns)
    return Project(alone, tuple((c, col(c) if c in own else NULL) for c in rel.columns))
