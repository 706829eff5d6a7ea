"""The statements that keep a stage's backing table: initial contents, change, merge, rescan.

`explain` prints exactly these texts and a refresh runs exactly these texts. A stage's table has
the public columns and hidden ones:
  group: `__dt_k<i>` keys, `__dt_n` row count, `__dt_<aggregate>_…` partial results, `__dt_visible`
  bag:   `__dt_h1`, `__dt_h2` content hash; `__dt_seq`, `__dt_pos` row id (newest copy is largest)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from dt_jupyter.ivm import (
    Aggregate,
    AggregateCall,
    Call,
    Cast,
    End,
    Expr,
    Group,
    Kept,
    Kind,
    Literal,
    Project,
    Rel,
    Stage,
    StageColumn,
    StateColumn,
    at,
    col,
    initial,
    removed,
    restrict,
    weighted,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import (
    COPY,
    COUNT,
    EXISTED,
    GROUP_KEY,
    HASH,
    OP,
    POSITION,
    RANK,
    RESCAN,
    SEQUENCE,
    STORED_ID,
    VISIBLE,
    WEIGHT,
    hidden,
)
from dt_jupyter.sql.emit.hashing import content_hash
from dt_jupyter.sql.emit.render import Renderer

_SAME = hidden("same")
_ROWS = Call("COUNT", (Literal("*"),))
_WEIGHED = Call("COALESCE", (Call("SUM", (col(WEIGHT),)), Literal("0")))


def _list(items: Iterable[str], pad: str = "  ") -> str:
    return f",\n{pad}".join(items)


@dataclass(frozen=True)
class GroupSql:
    """The texts of a stage with an aggregate on top."""

    stage: Stage
    top: Group

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns of the backing table; one row without a key has a constant."""
        return tuple(f"{GROUP_KEY}{i}" for i in range(max(1, len(self.top.keys))))

    @property
    def scalar(self) -> bool:
        """Whether there is one row, always."""
        return not self.top.keys

    @property
    def _key_texts(self) -> tuple[str, ...]:
        return tuple(map(quote, self.top.keys)) or ("CAST(0 AS INT)",)

    def _groups(self, rows: Rel, calls: Iterable[tuple[str, Expr]]) -> Aggregate:
        """One row for each group of the rows, with these aggregates by their ids."""
        made = tuple((i, AggregateCall("", (), text)) for i, text in calls)
        return Aggregate(rows, self.top.keys, made)

    @property
    def states(self) -> tuple[StateColumn, ...]:
        return tuple(s for a in self.top.aggregates if a.kept for s in a.kept.state)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the backing table, in order."""
        hidden = (*self.keys, COUNT, *(s.id for s in self.states))
        visible = (VISIBLE,) if self.top.visible else ()
        return (*hidden, *(n for n, _ in self.stage.outputs), *visible)

    @property
    def state_columns(self) -> tuple[str, ...]:
        """What a merge reads of the table."""
        return (*self.keys, COUNT, *(s.id for s in self.states), *(n for n, _ in self.once))

    @property
    def once(self) -> tuple[tuple[str, StageColumn], ...]:
        """The output columns with the values of functions; a stage of ours has them as they are."""
        names = {e.column: n for n, e in self.stage.outputs if e.column}
        return tuple((names[a.id], a) for a in self.top.once)

    @staticmethod
    def _arguments(a: StageColumn) -> tuple[str, ...]:
        """The columns of a change with the arguments of a function."""
        return tuple(f"{a.id}_{i}" for i in range(len(a.call.args)))

    def computed(self, new: str) -> str:
        """The rows of new groups, of a relation as `merged` gives it, with their values: the only
        statement of a change that calls a function."""
        values = {}
        for name, a in self.once:
            arguments = tuple(map(col, self._arguments(a))) if a.call.text.children else ()
            values[name] = a.call.text.with_children(arguments).sql(quote)
        items = [f"{values[c]} AS {quote(c)}" if c in values else quote(c) for c in self.columns]
        return f"SELECT {_list([*items, OP])}\nFROM {new}"

    def shown(self, sequence: int) -> dict[str, str] | None:
        """The columns of the table that the query's own rows tell, over its outputs; None where
        a key is not among them."""
        outputs = {e.column: quote(n) for n, e in self.stage.outputs if e.column}
        if any(k not in outputs for k in self.top.keys):
            return None
        named = self._key_texts if self.scalar else tuple(outputs[k] for k in self.top.keys)
        found = dict(zip(self.keys, named, strict=True))
        found |= {n: quote(n) for n, _ in self.stage.outputs}
        return found | ({VISIBLE: "TRUE"} if self.top.visible else {})

    def initial(self, render: Renderer) -> str:
        """All rows, from the sources at the new end."""
        return self._finished(render(self.whole(self.stage.input)), ())

    def counted(self, render: Renderer) -> str:
        """Each group with the number of its rows, from the sources at the new end."""
        groups = self._groups(at(self.stage.input, End.NEW), [(COUNT, _ROWS)])
        keys = tuple((c, col(k)) for k, c in zip(self.top.keys, self.keys, strict=True))
        return render(Project(groups, (*keys, (COUNT, col(COUNT)))))

    def derived(self, rows: str) -> str:
        """All rows, from those of another table that has its keys, aggregates and state by id."""
        return self._finished(rows, ())

    def whole(self, rows: Rel) -> Rel:
        """Each group of the rows at the new end with its state."""
        calls = [(COUNT, _ROWS), *((s.id, _zero(s, initial(s))) for s in self.states)]
        calls += [
            (a.own or a.id, a.call.text) for a in self.top.aggregates if a.own or a in self.top.once
        ]
        return self._groups(at(rows, End.NEW), calls)

    def _finished(self, grouped: str, extra: tuple[str, ...], alive: str = "") -> str:
        """From keys, count and state to the columns of the table (and `extra` ones kept).

        Where `alive` does not hold, nothing is computed above the aggregates: `x / count(*)` of
        a group that is gone is no error of the user's.
        """

        def output(e: Expr) -> str:
            text = e.sql(quote)
            return f"CASE WHEN {alive} THEN {text} END" if alive and e.column is None else text

        values = [
            f"{_value(a, a.kept)} AS {quote(a.id)}"
            for a in self.top.aggregates
            if a.kept and a not in self.top.once
        ]
        inner = f"SELECT {_list(['*', *values])}\nFROM (\n{grouped}\n)"
        items = [f"{k} AS {c}" for k, c in zip(self._key_texts, self.keys, strict=True)]
        items += [COUNT, *(quote(s.id) for s in self.states)]
        items += [f"{output(e)} AS {quote(n)}" for n, e in self.stage.outputs]
        if self.top.visible:
            items.append(f"COALESCE({output(self.top.visible)}, FALSE) AS {VISIBLE}")
        return f"SELECT {_list([*items, *extra])}\nFROM (\n{inner}\n)"

    def touched(self, render: Renderer, delta: Rel) -> str:
        """One row for each group that the change touches, with the change of its state."""
        calls = [(COUNT, _WEIGHED), *((s.id, _zero(s, weighted(s))) for s in self.states)]
        calls += [(f"{s.id}_gone", removed(s)) for s in self.states if s.kind is not Kind.SUM]
        calls += [
            (c, Call("ANY_VALUE", (x,)))
            for _, a in self.once
            for x, c in zip(a.call.args, self._arguments(a), strict=True)
        ]
        return render(self._groups(delta, calls))

    def merged(self, touched: str, state: str, *, hint: str = "") -> str:
        """The touched groups' new rows: old state and change in one, with what is to be done.

        `__dt_op` is I, U or D (NULL: nothing), `__dt_rescan` that the sources must be asked;
        `hint` is for the join of both.
        """
        items = [f"t.{quote(k)}" for k in self.top.keys]
        items += [
            f"o.{COUNT} IS NOT NULL AS {EXISTED}",
            f"COALESCE(o.{COUNT}, 0) + t.{COUNT} AS {COUNT}",
        ]
        items += [f"{_merge(s)} AS {quote(s.id)}" for s in self.states]
        arguments = tuple(quote(c) for _, a in self.once for c in self._arguments(a))
        items += [f"o.{quote(n)} AS {quote(a.id)}" for n, a in self.once]
        items += [f"t.{c}" for c in arguments]
        rescan = "TRUE" if self.top.recomputes else " OR ".join(self._reasons) or "FALSE"
        same = " AND ".join(
            [
                f"t.{COUNT} = 0",
                *map(_stays, self.states),
            ]
        )
        there = "TRUE" if self.scalar else f"COALESCE(o.{COUNT}, 0) + t.{COUNT} > 0"
        items += [f"({rescan}) AND {there} AS {RESCAN}", f"NOT ({rescan}) AND {same} AS {_SAME}"]
        on = " AND ".join(
            f"t.{quote(k)} <=> o.{c}" for k, c in zip(self.top.keys, self.keys, strict=False)
        )
        how = f"/*+ {hint}(t) */ " if hint else ""
        sides = f"(\n{touched}\n) t LEFT JOIN {state} o ON {on or 'TRUE'}"
        joined = f"SELECT {how}{_list(items)}\nFROM {sides}"
        alive = f"NOT {RESCAN}" if self.scalar else f"{COUNT} > 0 AND NOT {RESCAN}"
        gone = (
            ""
            if self.scalar
            else (f"WHEN {COUNT} = 0 AND {EXISTED} THEN 'D' WHEN {COUNT} = 0 THEN NULL")
        )
        op = (
            f"CASE WHEN {COUNT} < 0 THEN 'X' {gone} WHEN {_SAME} THEN NULL"
            f" WHEN {EXISTED} THEN 'U' ELSE 'I' END AS {OP}"
        )
        return self._finished(
            self._with_placeholders(joined), (op, RESCAN, EXISTED, *arguments), alive
        )

    @property
    def _reasons(self) -> list[str]:
        """What makes it necessary to ask the sources for a group."""
        outside = {a.kept.outside for a in self.top.aggregates if a.kept}
        reached = [_reached(s) for s in self.states if s.kind is not Kind.SUM]
        return [*reached, *(f"{_merge(s)} <> 0" for s in self.states if s.id in outside)]

    def _with_placeholders(self, joined: str) -> str:
        """Aggregates that are recomputed have no value yet; the rescan gives it."""
        missing = [a for a in self.top.aggregates if a.own]
        if not missing:
            return joined
        nulls = [f"CAST(NULL AS {a.type}) AS {quote(a.own)}" for a in missing]
        return f"SELECT {_list(['*', *nulls])}\nFROM (\n{joined}\n)"

    def rescan(
        self, render: Renderer, keys: str, read: Callable[[Rel], Rel] = lambda rel: rel
    ) -> str:
        """The rows of some groups, computed again from the sources; `keys` is a relation of
        key columns and `__dt_existed`, and `read` has a say in how what they select is read."""
        pairs = tuple(zip(self.top.keys, self.keys, strict=False))
        some = restrict(self.stage.input, keys, pairs) if pairs else self.stage.input
        fresh = self._finished(render(self.whole(read(some))), ())
        on = " AND ".join(f"k.{c} <=> f.{c}" for c in self.keys)
        items = [f"k.{c}" for c in self.keys]
        items += [f"f.{quote(c)}" for c in self.columns if c not in self.keys]
        op = (
            f"CASE WHEN f.{COUNT} IS NOT NULL AND k.{EXISTED} THEN 'U'"
            f" WHEN f.{COUNT} IS NOT NULL THEN 'I' WHEN k.{EXISTED} THEN 'D' END AS {OP}"
        )
        joined = f"{render.keys(keys)} k LEFT JOIN (\n{fresh}\n) f ON {on}"
        return f"SELECT {_list([*items, op])}\nFROM {joined}"


def _value(a: StageColumn, kept: Kept) -> str:
    """An aggregate's value from its state, or the query's own where that has not all."""
    result = kept.result.sql(quote)
    if not kept.outside:
        return result
    return f"CASE WHEN {quote(kept.outside)} = 0 THEN {result} ELSE {quote(a.own)} END"


def _zero(state: StateColumn, value: Expr) -> Expr:
    """A sum over no values is zero here; an extreme stays NULL."""
    if state.kind is not Kind.SUM:
        return value
    return Cast(Call("COALESCE", (value, Literal("0"))), state.type)


def _merge(state: StateColumn) -> str:
    old, new = f"o.{quote(state.id)}", f"t.{quote(state.id)}"
    if state.kind is Kind.SUM:
        return f"CAST(COALESCE({old}, CAST(0 AS {state.type})) + {new} AS {state.type})"
    return f"{'LEAST' if state.kind is Kind.MIN else 'GREATEST'}({old}, {new})"


def _stays(state: StateColumn) -> str:
    """Whether the change leaves a state as it is: a sum of exact numbers by the change alone."""
    old, new = f"o.{quote(state.id)}", f"t.{quote(state.id)}"
    if state.kind is Kind.SUM and state.type.lower().startswith(("bigint", "decimal")):
        return f"{new} = 0 AND {old} IS NOT NULL"
    return f"{_merge(state)} IS NOT DISTINCT FROM {old}"


def _reached(state: StateColumn) -> str:
    """Whether a deleted row may have been the extreme."""
    gone = f"t.{quote(state.id + '_gone')}"
    compare = "<=" if state.kind is Kind.MIN else ">="
    return f"COALESCE({gone} {compare} {_merge(state)}, FALSE)"


@dataclass(frozen=True)
class BagSql:
    """The texts of a stage without a key; `types` are the Spark types of its outputs, `added`
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
    def _hashes(self) -> tuple[str, str]:
        known = dict(zip(self.names, self.types, strict=True))
        first = ((n, t) for n, t in known.items() if n not in self.added)
        return content_hash(first, ((n, known[n]) for n in self.added))

    def _hashed(
        self, rows: str, extra: tuple[str, ...], items: tuple[tuple[str, Expr], ...]
    ) -> str:
        named = [f"{e.sql(quote)} AS {quote(n)}" for n, e in items]
        hashed = [f"{h} AS {c}" for h, c in zip(self._hashes, HASH, strict=True)]
        inner = f"SELECT {_list([*named, *extra])}\nFROM (\n{rows}\n)"
        return f"SELECT {_list(['*', *hashed])}\nFROM (\n{inner}\n)"

    def shown(self, sequence: int) -> dict[str, str]:
        """The columns of the table, over the query's own rows."""
        found = dict(zip(HASH, self._hashes, strict=True)) | {n: quote(n) for n in self.names}
        return found | self._numbers(sequence)

    @staticmethod
    def _numbers(sequence: int) -> dict[str, str]:
        return {
            SEQUENCE: f"CAST({sequence} AS BIGINT)",
            POSITION: "MONOTONICALLY_INCREASING_ID()",
        }

    def initial(self, render: Renderer) -> str:
        """All rows with their hashes, from the sources at the new end."""
        return self._hashed(render(at(self.stage.input, End.NEW)), (), self.stage.outputs)

    def derived(self, rows: str) -> str:
        """All rows, from those of another table that has its columns, and row ids, which stay."""
        items = tuple((n, col(n)) for n in self.names)
        named = self._hashed(rows, STORED_ID, items)
        return f"SELECT {_list(map(quote, self.columns))}\nFROM (\n{named}\n)"

    def numbered(self, rows: str, sequence: int) -> str:
        """Rows with hashes, as rows of the table."""
        items = [f"{text} AS {column}" for column, text in self._numbers(sequence).items()]
        items += [*HASH, *(quote(n) for n in self.names)]
        return f"SELECT {_list(items)}\nFROM (\n{rows}\n)"

    def beside(self, live: str, stored: str, sequence: int, *, has_ids: bool) -> str:
        """New rows with hashes, as rows of the table, and stored ones in its columns, which keep
        their row ids where they have any."""
        if has_ids:
            return f"{self.numbered(live, sequence)}\nUNION ALL\n{self.derived(stored)}"
        hashed = self._hashed(stored, (), tuple((n, col(n)) for n in self.names))
        return self.numbered(f"{live}\nUNION ALL\n{hashed}", sequence)

    def change(self, render: Renderer, delta: Rel, *, consolidate: bool) -> str:
        """The change with hashes and weights; consolidated, each content comes once."""
        hashed = self._hashed(render(delta), (WEIGHT,), self.stage.outputs)
        if not consolidate:
            return hashed
        items = [*HASH, *(f"FIRST({quote(n)}) AS {quote(n)}" for n in self.names)]
        items.append(f"SUM({WEIGHT}) AS {WEIGHT}")
        return (
            f"SELECT {_list(items)}\nFROM (\n{hashed}\n) GROUP BY {', '.join(HASH)}"
            f" HAVING SUM({WEIGHT}) <> 0"
        )

    def copies(self, change: str) -> str:
        """The inserted rows of a consolidated change, as many times as their weight."""
        items = [*HASH, *(quote(n) for n in self.names)]
        repeated = f"EXPLODE(SEQUENCE(CAST(1 AS BIGINT), {WEIGHT}))"
        return (
            f"SELECT {_list(items)}\nFROM (SELECT *, {repeated} AS {COPY} FROM {change}"
            f" WHERE {WEIGHT} > 0)"
        )

    def victims(self, change: str, state: str, *, small: bool) -> str:
        """The row ids that a consolidated change deletes: the newest copies of each content."""
        hint = "/*+ BROADCAST(d) */ " if small else ""
        h1, h2 = HASH
        return (
            f"SELECT {SEQUENCE}, {POSITION}, {h1}, {h2}\nFROM (\n"
            f"SELECT {hint}s.{SEQUENCE}, s.{POSITION}, s.{h1}, s.{h2}, d.{WEIGHT} AS {WEIGHT},\n"
            f"  ROW_NUMBER() OVER (PARTITION BY s.{h1}, s.{h2}"
            f" ORDER BY s.{SEQUENCE} DESC, s.{POSITION} DESC) AS {RANK}\n"
            f"FROM {state} s JOIN (SELECT * FROM {change} WHERE {WEIGHT} < 0) d"
            f" ON s.{h1} = d.{h1} AND s.{h2} = d.{h2}\n) WHERE {RANK} <= -{WEIGHT}"
        )


def stage_sql(
    stage: Stage, types: tuple[str, ...], added: tuple[str, ...] = ()
) -> GroupSql | BagSql:
    """The texts of a stage whose outputs have these Spark types; `added` as of `BagSql`."""
    if isinstance(stage.top, Group):
        return GroupSql(stage, stage.top)
    return BagSql(stage, types, added)
