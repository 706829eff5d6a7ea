"""Hashes of a view's rows, computed before the statement that asks for them: their arguments, of
a wide table thousands, are then not in its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dt_jupyter.evaluation import exact
from dt_jupyter.evaluation.expressions import (
    HashedPart,
    HashPart,
    Scalars,
    ScopeColumn,
    Value,
    ViewColumn,
    ViewHash,
)
from dt_jupyter.evaluation.kinds import BIGINT, STRING
from dt_jupyter.evaluation.literals import constant_string
from dt_jupyter.ivm import Call, Case, Cast, Column, Expr, Infix, Literal, Postfix, Reference

if TYPE_CHECKING:
    import pyarrow as pa


def hash_of_view(s: Scalars, args: Sequence[Expr]) -> Value | None:
    """A call of XXHASH64 as a further column of a view; None where it is of anything but columns
    of one view in the forms of a content hash."""
    if s.hashes is None:
        return None
    literal = constant_string(args[0])
    if literal is not None:
        args = args[1:]
    parts, places = list[HashPart](), dict[tuple[str, str], ViewColumn]()
    for arg in args:
        found = _part_of(s, arg)
        if found is None:
            return None
        part, read = found
        parts.append(part)
        places |= {(p.view, p.alias): p for p in read}
    if len(places) != 1:
        return None
    ((view, alias),) = places
    place = ViewColumn(view, alias, s.hashes.name(ViewHash(view, literal, tuple(parts))))
    return Value(place.sql, BIGINT, place=place)


def _part_of(s: Scalars, node: Expr) -> tuple[HashPart, list[ViewColumn]] | None:
    columns: list[Expr | None]
    match node:
        case Column() | Reference():
            what, columns = HashedPart.VALUES, [node]
        case Cast(inner, type_) if type_.upper() == "BINARY":
            what, columns = HashedPart.VALUES, [inner]
        case Call(args=asked) if node.function == "concat":
            what, columns = HashedPart.NULLS, [_asked_for_null(e) for e in asked]
        case Case():
            what, columns = HashedPart.ZEROS, [_asked_for_zero(node)]
        case _:
            return None
    found = [_own_column(s, c) for c in columns]
    own = [c for c in found if c is not None and c.kind is not None and _is_own(c)]
    if len(own) < len(found) or not own:
        return None
    kind, places = own[0].kind, [c.place for c in own if c.place is not None]
    assert kind is not None
    if isinstance(node, Cast) and kind != STRING:
        return None
    if what is HashedPart.ZEROS and not kind.is_float:
        return None
    return HashPart(what, tuple(p.column for p in places), kind), places


def _own_column(s: Scalars, node: Expr | None) -> ScopeColumn | None:
    match node:
        case Column(id=name):
            found = s.find(name, "")
        case Reference(relation, name):
            found = s.find(name, relation)
        case _:
            return None
    return found[0] if len(found) == 1 else None


def _is_own(column: ScopeColumn) -> bool:
    """Of no row a hash is not NULL."""
    return column.place is not None and not column.place.optional


def _asked_for_null(node: Expr) -> Expr | None:
    """x of `CASE WHEN x IS NULL THEN '1' ELSE '0' END`."""
    match node:
        case Case(None, ((Postfix(asked, "IS NULL"), Literal("'1'")),), Literal("'0'")):
            return asked
    return None


def _asked_for_zero(node: Expr) -> Expr | None:
    """x of `CASE WHEN x = CAST(0 AS DOUBLE) THEN CAST(x AS STRING) END`, and of FLOAT."""
    match node:
        case Case(
            None, ((Infix(asked, "=", Cast(Literal("0"), zero)), Cast(told, "STRING")),), None
        ) if zero.upper() in ("DOUBLE", "FLOAT") and told == asked:
            return asked
    return None


# -- their values ----------------------------------------------------------------------------------


def compute_hashes(wanted: Mapping[ViewHash, str], rows: pa.Table) -> dict[str, pa.Array]:
    """By name the hashes of a view's rows, whose columns have the names of places; those that
    differ by their literals alone go over the columns together."""
    alike: dict[tuple[HashPart, ...], list[ViewHash]] = {}
    for of in wanted:
        alike.setdefault(of.parts, []).append(of)
    found = dict[str, "pa.Array"]()
    for parts, hashes in alike.items():
        begun = exact.begin_hashes([h.literal for h in hashes], rows.num_rows)
        kinds = [p.kind if p.what is HashedPart.VALUES else STRING for p in parts]
        values = exact.row_hashes(kinds, (_values(p, rows) for p in parts), begun)
        found |= {wanted[h]: v for h, v in zip(hashes, values, strict=True)}
    return found


def _values(part: HashPart, rows: pa.Table) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if part.what is HashedPart.NULLS:
        return _null_masks([rows[c] for c in part.columns], rows.num_rows)
    values = rows[part.columns[0]].cast(part.kind.arrow)
    if part.what is HashedPart.VALUES:
        return values
    zeros = pc.if_else(pc.equal(values, pa.scalar(0, values.type)), values, None)
    return exact.zero_text(zeros)


def _null_masks(columns: Sequence[pa.ChunkedArray], rows: int) -> pa.Array:
    """A text of each row, with a 1 for each column that is NULL there, else a 0."""
    import numpy as np
    import pyarrow as pa

    masks = np.full((rows, len(columns)), ord("0"), np.uint8)
    for i, column in enumerate(columns):
        if column.null_count:
            masks[:, i] += column.is_null().to_numpy()
    return pa.array([m.tobytes().decode() for m in masks], pa.string())
