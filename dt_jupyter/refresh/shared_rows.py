"""Rows that several terms of a change read, computed once in Spark.

The change of a join is needed for the rows of the change above it, and for the keys that those
touch: it is one relation, and both read it. And each term restricts the other tables to keys:
orders as they are now for the customers that changed, and again for those with changed orders. Of
each version of a table the rows with any of these keys are selected by one scan. A condition on the
table is then evaluated for these rows alone; else Spark evaluates it for all rows before it looks
for keys.

Spark caches what is shared as the first statement reads it: no job is run for it alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.ivm import End, Filter, Rel, Restrict, Scan, rewrite, scans, walk, with_keys
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import WEIGHT, hidden
from dt_jupyter.refresh.semijoin_reduction import is_nothing
from dt_jupyter.sql import Query

if TYPE_CHECKING:
    from dt_jupyter.refresh.inputs import Reading

_Keys = tuple[str, tuple[str, ...]]
"""A relation of keys, and its columns."""
_Restricted = tuple[Scan, tuple[str, ...]]
"""A scan, and its columns that keys are compared with."""


@dataclass
class SharedRows:
    """Of the relations of one stage's change. `hold` gives the view of a statement's rows, which
    Spark caches; without it nothing is shared."""

    reading: Reading
    hold: Callable[[Query], str] | None
    _changes: frozenset[Rel] = frozenset()
    _views: dict[Rel, Scan] = field(default_factory=dict)

    def find_changes(self, relations: Sequence[Rel]) -> None:
        """Relations of changes that read a large table and are needed more than once."""
        reads = {scan for relation in relations for scan in scans(relation)}
        if self.hold is None or not any(map(self.reading.is_shared, reads)):
            return
        times = Counter(
            node
            for relation in relations
            for node in walk(relation)
            if WEIGHT in node.columns and any(map(self.reading.is_shared, scans(node)))
        )
        self._changes = frozenset(node for node, n in times.items() if n > 1)

    def prepare(self, relation: Rel, names: Mapping[Rel, str]) -> Rel:
        """The relation as it is rendered: of its keys `names` are computed."""
        rel = self.reading.prepared(with_keys(self._with_views(relation, names), names))
        return rel if self.hold is None or is_nothing(rel) else self._with_selections(rel)

    # -- changes ----------------------------------------------------------------------------------

    def _with_views(self, rel: Rel, names: Mapping[Rel, str]) -> Rel:
        if rel in self._changes:
            return self._view_of(rel, names)
        return self._inputs_with_views(rel, names) if self._changes else rel

    def _inputs_with_views(self, rel: Rel, names: Mapping[Rel, str]) -> Rel:
        return rel.with_inputs(tuple(self._with_views(i, names) for i in rel.inputs))

    def _view_of(self, change: Rel, names: Mapping[Rel, str]) -> Scan:
        if change not in self._views:
            inputs = self._inputs_with_views(change, names)
            rows = self._with_selections(self.reading.prepared(with_keys(inputs, names)))
            self._views[change] = self.reading.add_view(change, self._held(rows))
        return self._views[change]

    def _held(self, rel: Rel) -> str:
        assert self.hold is not None
        return self.hold(self.reading.renderer().query(rel))

    # -- selections -------------------------------------------------------------------------------

    def _with_selections(self, rel: Rel) -> Rel:
        """Restrictions of large tables as scans of what is selected of them, where a table is
        restricted more than once or has a condition."""
        keys: dict[_Restricted, dict[_Keys, None]] = {}
        times: Counter[_Restricted] = Counter()
        for what, by, has_condition in _restrictions(rel):
            if self.reading.is_shared(what[0]):
                keys.setdefault(what, {})[by] = None
                times[what] += 2 if has_condition else 1
        chosen = {
            what: self.reading.add_view(what[0], self._held(self._restrict(what, tuple(by))))
            for what, by in keys.items()
            if times[what] > 1
        }

        def replace_one(node: Rel) -> Rel:
            found = _restriction(node)
            if found is None or found[0] not in chosen:
                return node
            what, rows = found[0], chosen[found[0]]
            return rows if len(keys[what]) == 1 else node.with_inputs((rows,))

        return rewrite(rel, replace_one) if chosen else rel

    def _restrict(self, what: _Restricted, keys: tuple[_Keys, ...]) -> Rel:
        scan, columns = what
        (name, names), *others = keys
        if others:
            names = tuple(hidden(f"key_{i}") for i in range(len(columns)))
            name = self.reading.add_keys(" UNION ALL ".join(_named(k, names) for k in keys))
        return Restrict(scan, name, tuple(zip(columns, names, strict=True)))


def _named(keys: _Keys, names: Sequence[str]) -> str:
    pairs = zip(keys[1], names, strict=True)
    return f"SELECT {', '.join(f'{quote(c)} AS {n}' for c, n in pairs)} FROM {keys[0]}"


def _restriction(rel: Rel) -> tuple[_Restricted, _Keys] | None:
    """What is restricted, and by which keys; None for another relation than a snapshot of a table
    that is restricted by keys which are computed."""
    if not (isinstance(rel, Restrict) and isinstance(rel.keys, str) and rel.on):
        return None
    if not isinstance(rel.input, Scan) or rel.input.end is End.DELTA:
        return None
    columns, names = zip(*sorted(rel.on), strict=True)
    return (rel.input, columns), (rel.keys, names)


def _restrictions(rel: Rel) -> Iterator[tuple[_Restricted, _Keys, bool]]:
    """Of each restriction also whether a condition leaves out some of its rows."""
    with_condition = {id(n.input) for n in walk(rel) if isinstance(n, Filter)}
    for node in walk(rel):
        found = _restriction(node)
        if found is not None:
            yield *found, id(node) in with_condition
