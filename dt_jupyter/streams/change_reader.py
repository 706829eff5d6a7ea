"""CHANGES: the difference of a query between two points in time, as rows with their action.

The query's relation is given row ids and differentiated; what is left is to cancel what was
inserted and deleted, and to recognize updates. Where the log alone shows that nothing can cancel,
nothing is looked for. Source: CQ 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dt_jupyter.failures import raised
from dt_jupyter.ivm import (
    Call,
    Expr,
    Filter,
    Project,
    Rel,
    Scan,
    col,
    combines,
    differentiate,
    identified,
    monotone,
    settle_types,
    simplify,
    unstable,
    walk,
)
from dt_jupyter.model import error, quote
from dt_jupyter.model.hidden import COPY, HASH, WEIGHT, hidden
from dt_jupyter.sources import By, told_keys
from dt_jupyter.sql import Renderer, content_hash, exact_text
from dt_jupyter.streams.sides import Side

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TWICE = hidden("twice")

ACTION, ISUPDATE, ROW_ID_COLUMN = "$ACTION", "$ISUPDATE", "$ROW_ID"
_Types = Callable[[Rel], dict[str, str]]


class Shape(StrEnum):
    """The shapes of a change query's plan.  Source: CQ 3.2.3, table 2."""

    EMPTY = "EMPTY"
    ADDED_ONLY = "ADDED_ONLY"
    REMOVED_ONLY = "REMOVED_ONLY"
    MINIMIZE = "MINIMIZE"
    INITIAL_ROWS = "INITIAL_ROWS"


@dataclass(frozen=True)
class ChangeQuery:
    """`text` is one query with the public columns and `$ACTION`, `$ISUPDATE`, `$ROW_ID`; `views`
    are the temporary views that it reads; `notes` are shown to the user."""

    text: str
    shape: Shape
    views: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_updates(self) -> bool:
        """Whether rows may be the halves of one update."""
        return self.shape is Shape.MINIMIZE


def change_query(
    spark: SparkSession, rel: Rel, names: Sequence[str], types: _Types, sides: Mapping[str, Side]
) -> ChangeQuery:
    """The minimum delta of the relation, whose columns are called `names`: at most one row for
    each id and action, none for a row that ends as it began. Raises Refused, DT-3103, DT-3104 and
    DT-3108."""
    return _difference(spark, settle_types(rel, types), names, types, sides)


def _difference(
    spark: SparkSession, rel: Rel, names: Sequence[str], types: _Types, sides: Mapping[str, Side]
) -> ChangeQuery:
    for side in sides.values():
        side.require_readable()
    unstable(rel, types)
    known = types(rel)
    columns = tuple((c, known[c]) for c in rel.columns)
    changed = frozenset(s for s, side in sides.items() if side.changed)
    shape = _shape(rel, sides)
    notes = _untracked(rel, sides)
    made = identified(rel, _key_text(types)) if not notes else None
    delta = differentiate(simplify(made.rel) if made else rel, changed)
    if delta is None:
        return ChangeQuery(_nothing(columns, names), Shape.EMPTY, (), notes)
    rows = Renderer(lambda scan: sides[scan.source].read(spark, scan))(delta)
    if made is None:
        tag = next(s.identity.tag for s in sides.values())
        text = _by_content(rows, columns, names, tag)
    elif shape is Shape.MINIMIZE:
        text = _by_id(rows, columns, names, made.id, _few(rel, sides), _promised(rel, sides))
    else:
        rows = _unique(f"(\n{rows}\n)", columns, made.id, _promised(rel, sides))
        text = _as_they_are(rows, columns, names, made.id)
    views = tuple(v for side in sides.values() for v in side.views)
    return ChangeQuery(text, shape, views, notes)


def append_query(
    spark: SparkSession, rel: Rel, names: Sequence[str], types: _Types, sides: Mapping[str, Side]
) -> ChangeQuery:
    """The rows that the sources' inserts in the interval add, as first inserted, whatever the fate
    of them. DT-3105 where an insert could also take a row away.  Source: CQ 2.2.1."""
    rel = settle_types(rel, types)
    if not monotone(rel):
        raise error("DT-3105")
    for side in sides.values():
        side.inserts_only = True
    return _difference(spark, rel, names, types, sides)


def initial_query(
    spark: SparkSession, rel: Rel, names: Sequence[str], types: _Types, sides: Mapping[str, Side]
) -> ChangeQuery:
    """All rows at the new end, as if they had just been inserted. Raises as `change_query`."""
    rel = settle_types(rel, types)
    for side in sides.values():
        side.whole = True
    unstable(rel, types)
    made = identified(rel, _key_text(types))
    rendered = Renderer(lambda scan: sides[scan.source].read(spark, scan))(simplify(made.rel))
    text = _selected(
        [quote(c) for c in rel.columns], names, "'INSERT'", "FALSE", f"MD5({quote(made.id)})"
    )
    return ChangeQuery(f"{text} FROM (\n{rendered}\n)", Shape.INITIAL_ROWS)


def _untracked(rel: Rel, sides: Mapping[str, Side]) -> tuple[str, ...]:
    """What is to be said of tables whose rows are known by their contents alone; DT-3104 where
    that does not do."""
    names = sorted(s.name for s in sides.values() if s.identity.by is By.CONTENT)
    if names and any(not isinstance(n, Scan | Project | Filter) for n in walk(rel)):
        raise error("DT-3104", name=names[0])
    return tuple(
        f"{name} has no row ids over this interval: rows are identified by their values, and an "
        "update is a DELETE and an INSERT"
        for name in names
    )


def _promised(rel: Rel, sides: Mapping[str, Side]) -> str | None:
    """The declared keys that the ids of a join are made of: its rows join some that no interval
    has, and that may have broken the promise before it. None: nothing was promised, or all was
    read."""
    if not any(map(combines, walk(rel))):
        return None
    declared = {s.name: s.identity for s in sides.values() if s.identity.by is By.KEY}
    return told_keys(declared) if declared else None


def _shape(rel: Rel, sides: Mapping[str, Side]) -> Shape:
    if not any(s.changed for s in sides.values()):
        return Shape.EMPTY
    if monotone(rel) and all(s.adds_only for s in sides.values()):
        return Shape.ADDED_ONLY
    if monotone(rel) and all(s.removes_only for s in sides.values()):
        return Shape.REMOVED_ONLY
    return Shape.MINIMIZE


def _key_text(types: _Types) -> Callable[[Rel, tuple[str, ...]], Expr]:
    def text(rel: Rel, keys: tuple[str, ...]) -> Expr:
        known = types(rel)
        return Call("CONCAT", tuple(exact_text(col(k), known[k], k) for k in keys))

    return text


# -- the last steps -------------------------------------------------------------------------------


def _selected(
    values: Sequence[str], names: Sequence[str], action: str, update: str, row_id: str
) -> str:
    items = [f"{v} AS {quote(n)}" for v, n in zip(values, names, strict=True)]
    items += [f"{action} AS {quote(ACTION)}", f"{update} AS {quote(ISUPDATE)}"]
    return f"SELECT {', '.join([*items, f'{row_id} AS {quote(ROW_ID_COLUMN)}'])}"


def _nothing(columns: Sequence[tuple[str, str]], names: Sequence[str]) -> str:
    values = [f"CAST(NULL AS {t})" for _, t in columns]
    return f"{_selected(values, names, _EMPTY, 'FALSE', _EMPTY)} WHERE FALSE"


_EMPTY = "''"
_SIGN = f"CASE WHEN {WEIGHT} > 0 THEN 'INSERT' ELSE 'DELETE' END"


def _as_they_are(
    rows: str, columns: Sequence[tuple[str, str]], names: Sequence[str], id_: str
) -> str:
    """Rows of which nothing cancels."""
    values = [quote(c) for c, _ in columns]
    return f"{_selected(values, names, _SIGN, 'FALSE', f'MD5({quote(id_)})')} FROM {rows}"


def _unique(rows: str, columns: Sequence[tuple[str, str]], id_: str, promised: str | None) -> str:
    """The rows, which fail where two of one action have one id although a key was `promised`."""
    if promised is None:
        return rows
    example = " || ', ' || ".join(
        f"COALESCE(CAST({quote(c)} AS STRING), 'NULL')" for c, t in columns if _is_shown(t)
    )
    said = raised(promised, f"'two rows have the id of (' || {example or _EMPTY} || ')'")
    twice = f"COUNT(1) OVER (PARTITION BY {quote(id_)}, SIGN({WEIGHT}))"
    checked = f"SELECT *, {twice} AS {_TWICE} FROM {rows}"
    fine = f"CASE WHEN {_TWICE} > 1 THEN CAST({said} AS BOOLEAN) ELSE TRUE END"
    return f"(SELECT * FROM ({checked}) WHERE {fine})"


def _is_shown(type_: str) -> bool:
    return not type_.startswith(("array", "map", "struct", "variant", "binary"))


def _few(rel: Rel, sides: Mapping[str, Side]) -> bool:
    """Whether the change is rows that the driver has: one task takes them without an exchange."""
    unary = all(isinstance(n, Scan | Project | Filter) for n in walk(rel))
    return unary and all(s.local for s in sides.values() if s.changed)


def _hashed(rows: str, columns: Sequence[tuple[str, str]], hint: str = "") -> tuple[str, str]:
    """The rows with the hash of their contents, and the items that one of equal rows has."""
    hashed = ", ".join(f"{h} AS {c}" for h, c in zip(content_hash(columns), HASH, strict=True))
    first = ", ".join(f"FIRST({quote(c)}) AS {quote(c)}" for c, _ in columns)
    return f"(SELECT {hint}*, {hashed} FROM (\n{rows}\n))", first


def _by_id(
    rows: str,
    columns: Sequence[tuple[str, str]],
    names: Sequence[str],
    id_: str,
    few: bool,
    promised: str | None,
) -> str:
    """One row for each id and action: pairs of equal id and contents cancel. A weight other than
    one means that ids were not unique, which is an error and no result."""
    values = [quote(c) for c, _ in columns]
    hashed, first = _hashed(rows, columns, "/*+ COALESCE(1) */ " if few else "")
    said = "RAISE_ERROR('two rows have one $ROW_ID')"
    if promised is not None:
        said = raised(promised, "'two rows, equal in all columns, have one id'")
    weight = (
        f"CASE WHEN ABS(SUM({WEIGHT})) > 1 THEN CAST({said} AS"
        f" BIGINT) ELSE SUM({WEIGHT}) END AS {WEIGHT}"
    )
    kept = (
        f"SELECT {quote(id_)}, {first}, {weight}"
        f" FROM {hashed} GROUP BY {quote(id_)}, {', '.join(HASH)}"
    )
    both = f"COUNT(*) OVER (PARTITION BY {quote(id_)}) > 1"
    outer = _selected(values, names, _SIGN, both, f"MD5({quote(id_)})")
    left = f"(SELECT * FROM ({kept}) WHERE {WEIGHT} <> 0)"
    return f"{outer} FROM {_unique(left, columns, id_, promised)}"


def _by_content(
    rows: str, columns: Sequence[tuple[str, str]], names: Sequence[str], tag: str
) -> str:
    """As many copies of a row as there are more or fewer of it; each copy has an id."""
    values = [quote(c) for c, _ in columns]
    hashed, first = _hashed(rows, columns)
    kept = (
        f"SELECT {', '.join(HASH)}, {first}, SUM({WEIGHT}) AS {WEIGHT}"
        f" FROM {hashed} GROUP BY {', '.join(HASH)}"
        f" HAVING SUM({WEIGHT}) <> 0"
    )
    row_id = f"MD5(CONCAT_WS(':', '{tag}', {', '.join(HASH)}, {COPY}))"
    copies = f"EXPLODE(SEQUENCE(1L, ABS({WEIGHT})))"
    numbered = f"SELECT * FROM ({kept}) k LATERAL VIEW {copies} c AS {COPY}"
    return f"{_selected(values, names, _SIGN, 'FALSE', row_id)} FROM ({numbered})"
