"""Few changes of a keyed table, in this process: what is left of them, and which keys are new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sinks import KIND, ChangeKind

if TYPE_CHECKING:
    import pyarrow as pa


def net_changes(rows: pa.Table) -> pa.Table:
    """Consolidate changes by row: surviving deletes, then inserts, each with its kind instead of
    its weight."""
    import pyarrow as pa

    weights = rows[WEIGHT].to_pylist()
    values = rows.drop_columns(WEIGHT)
    left, first = Counter[str](), dict[str, int]()
    for at, (text, weight) in enumerate(zip(row_texts(values), weights, strict=True)):
        left[text] += weight
        first.setdefault(text, at)
    gone = [first[text] for text, weight in left.items() for _ in range(-weight)]
    come = [first[text] for text, weight in left.items() for _ in range(weight)]
    kinds = [int(ChangeKind.DELETE)] * len(gone) + [int(ChangeKind.INSERT)] * len(come)
    found = values.take(pa.array([*gone, *come], pa.int64()))
    return found.append_column(KIND, pa.array(kinds, pa.int8()))


def row_texts(rows: pa.Table) -> list[str]:
    """A text for each row, that equal rows alone have."""
    return [repr(row) for row in zip(*(c.to_pylist() for c in rows.columns), strict=True)]


def new_keys(changes: pa.Table, key: Sequence[str]) -> pa.Table | None:
    """The keys that are of more rows than before; None where two rows with one key came."""
    import pyarrow as pa

    keys = changes.select(list(key))
    kinds: list[Any] = changes[KIND].to_pylist()
    pairs = list(zip(row_texts(keys), kinds, strict=True))
    come = {text: i for i, (text, kind) in enumerate(pairs) if kind == ChangeKind.INSERT}
    if len(come) < kinds.count(ChangeKind.INSERT):
        return None
    gone = {text for text, kind in pairs if kind == ChangeKind.DELETE}
    return keys.take(pa.array([i for t, i in come.items() if t not in gone], pa.int64()))


def has_twins(rows: pa.Table, key: Sequence[str]) -> bool:
    """Whether two rows have one key."""
    texts = row_texts(rows.select(list(key)))
    return len(set(texts)) < len(texts)


def last_of_keys(steps: Sequence[pa.Table], key: Sequence[str]) -> pa.Table:
    """Of each key the rows of the last step that has it."""
    import pyarrow as pa

    kept: list[pa.Table] = []
    later: set[str] = set()
    for rows in reversed(steps):
        texts = row_texts(rows.select(list(key)))
        kept.append(rows.filter(pa.array([t not in later for t in texts], pa.bool_())))
        later.update(texts)
    return pa.concat_tables(reversed(kept))
