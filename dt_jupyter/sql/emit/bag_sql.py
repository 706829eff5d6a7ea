"""The statements of a stage without a key: its rows are found again by their contents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from dt_jupyter.ivm import (
    Call,
    Cast,
    End,
    Expr,
    Infix,
    Literal,
    Prefix,
    Rel,
    SortOrder,
    Stage,
    at,
    col,
    equality,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import COPY, HASH, POSITION, RANK, SEQUENCE, STORED_ID, WEIGHT
from dt_jupyter.sql.emit.hashing import hash_calls
from dt_jupyter.sql.emit.query import (
    AllColumns,
    Joined,
    Nested,
    Over,
    Query,
    Select,
    SelectItem,
    Table,
    UnionAll,
    hidden_column,
    hidden_item,
    in_order,
    named_item,
    tall_select,
)
from dt_jupyter.sql.emit.render import Renderer

_NOTHING = Literal("0")


@dataclass(frozen=True)
class BagSql:
    """The statements of a stage without a key; `types` are the Spark types of its outputs, `added`
    those of its columns that came later than rows that it has, in that order."""

    stage: Stage
    types: tuple[str, ...]
    added: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(n for n, _ in self.stage.outputs)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*STORED_ID, *HASH, *self.names)

    @cached_property
    def _hashes(self) -> tuple[Expr, Expr]:
        known = dict(zip(self.names, self.types, strict=True))
        first = ((n, t) for n, t in known.items() if n not in self.added)
        return hash_calls(first, ((n, known[n]) for n in self.added))

    def _hashed(
        self, rows: Query, extra: tuple[str, ...], items: tuple[tuple[str, Expr], ...]
    ) -> Query:
        named = [named_item(e, n) for n, e in items]
        inner = tall_select([*named, *self._bare(extra)], Nested(rows))
        hashed = [hidden_item(h, c) for h, c in zip(self._hashes, HASH, strict=True)]
        return tall_select([AllColumns(), *hashed], Nested(inner))

    @staticmethod
    def _bare(names: Iterable[str], relation: str = "") -> list[SelectItem]:
        return [SelectItem(hidden_column(n, relation)) for n in names]

    @property
    def _own(self) -> list[SelectItem]:
        """The hashes and the public columns."""
        return [*self._bare(HASH), *(SelectItem(col(n)) for n in self.names)]

    def shown(self, sequence: int) -> dict[str, str]:
        """The columns of the table, over the query's own rows."""
        hashes = (h.sql(quote) for h in self._hashes)
        found = dict(zip(HASH, hashes, strict=True)) | {n: quote(n) for n in self.names}
        return found | {c: e.sql(quote) for c, e in self._numbers(sequence).items()}

    @staticmethod
    def _numbers(sequence: int) -> dict[str, Expr]:
        return {
            SEQUENCE: Cast(Literal(str(sequence)), "BIGINT"),
            POSITION: Call("MONOTONICALLY_INCREASING_ID", ()),
        }

    def initial(self, render: Renderer) -> Query:
        """All rows with their hashes, from the sources at the new end."""
        return self._hashed(render.query(at(self.stage.input, End.NEW)), (), self.stage.outputs)

    def derived(self, rows: Query) -> Query:
        """All rows, from those of another table that has its columns, and row ids, which stay."""
        named = self._hashed(rows, STORED_ID, self._as_they_are)
        return tall_select((SelectItem(col(c)) for c in self.columns), Nested(named))

    @property
    def _as_they_are(self) -> tuple[tuple[str, Expr], ...]:
        return tuple((n, col(n)) for n in self.names)

    def numbered(self, rows: Query, sequence: int) -> Query:
        """Rows with hashes, as rows of the table."""
        items = [hidden_item(e, c) for c, e in self._numbers(sequence).items()]
        return tall_select([*items, *self._own], Nested(rows))

    def beside(self, live: Query, stored: Query, sequence: int, *, has_ids: bool) -> Query:
        """New rows with hashes, as rows of the table, and stored ones in its columns, which keep
        their row ids where they have any."""
        if has_ids:
            return UnionAll((self.numbered(live, sequence), self.derived(stored)))
        hashed = self._hashed(stored, (), self._as_they_are)
        return self.numbered(UnionAll((live, hashed)), sequence)

    def change(self, render: Renderer, delta: Rel, *, consolidate: bool) -> Query:
        """The change with hashes and weights; consolidated, each content comes once."""
        hashed = self._hashed(render.query(delta), (WEIGHT,), self.stage.outputs)
        if not consolidate:
            return hashed
        total = Call("SUM", (hidden_column(WEIGHT),))
        firsts = (named_item(Call("FIRST", (col(n),)), n) for n in self.names)
        return tall_select(
            [*self._bare(HASH), *firsts, hidden_item(total, WEIGHT)],
            Nested(hashed),
            keys=tuple(map(hidden_column, HASH)),
            having=Infix(total, "<>", _NOTHING),
        )

    def copies(self, change: str) -> Query:
        """The inserted rows of a consolidated change, as many times as their weight."""
        weight = hidden_column(WEIGHT)
        numbers = Call("SEQUENCE", (Cast(Literal("1"), "BIGINT"), weight))
        repeated = hidden_item(Call("EXPLODE", (numbers,)), COPY)
        added = Infix(weight, ">", _NOTHING)
        inner = Select((AllColumns(), repeated), Table(change), added)
        return tall_select(self._own, Nested(inner))

    def victims(self, change: str, state: str, *, small: bool) -> Query:
        """The row ids that a consolidated change deletes: the newest copies of each content."""
        gone = Select((AllColumns(),), Table(change), Infix(hidden_column(WEIGHT), "<", _NOTHING))
        newest = tuple(
            SortOrder(hidden_column(c, "s"), descending=True, nulls_first=False) for c in STORED_ID
        )
        partition = tuple(hidden_column(c, "s") for c in HASH)
        rank = Over(Call("ROW_NUMBER", ()), partition, newest)
        items = self._bare((*STORED_ID, *HASH), "s")
        items.append(hidden_item(hidden_column(WEIGHT, "d"), WEIGHT))
        items.append(hidden_item(rank, RANK))
        on = in_order(tuple(equality(hidden_column(c, "s"), hidden_column(c, "d")) for c in HASH))
        both = Joined(Table(state, "s"), Nested(gone, "d"), "JOIN", on)
        ranked = tall_select(items, both, hint="BROADCAST(d)" if small else "")
        first = Infix(hidden_column(RANK), "<=", Prefix("-", hidden_column(WEIGHT)))
        return tall_select(self._bare((*STORED_ID, *HASH)), Nested(ranked), where=first)
