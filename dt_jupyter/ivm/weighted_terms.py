"""The terms that a derivative is summed of: relations with a weight column."""

from __future__ import annotations

from dt_jupyter.ivm.expr import Literal, col
from dt_jupyter.ivm.rel import Project, Rel, Union
from dt_jupyter.model.hidden import WEIGHT


def signed(rel: Rel, sign: str) -> Rel:
    """All rows of a relation with one weight."""
    return Project(rel, (*((c, col(c)) for c in rel.columns), (WEIGHT, Literal(sign))))


def in_columns(rel: Rel, columns: tuple[str, ...]) -> Rel:
    return Project(rel, tuple((c, col(c)) for c in columns))


def sum_of(terms: list[Rel], columns: tuple[str, ...]) -> Rel | None:
    """The terms as one relation with these columns, by position; None where there is none."""
    if len(terms) > 1:
        return Union(tuple(terms), columns)
    if not terms:
        return None
    (only,) = terms
    if only.columns == columns:
        return only
    return Project(only, tuple((c, col(o)) for c, o in zip(columns, only.columns, strict=True)))
