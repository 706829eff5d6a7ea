"""Calls of the user's functions, each computed once for its arguments, whatever number of rows has
them.

A call becomes a separate relation: a row for each list of arguments that there is, found by a
hash of their exact bytes, with the value. It is kept as a stage, which calls the function for new
arguments alone; what was above the call is joined to it. So an insert calls the function if its
arguments are new, a delete never does, and an update only if it brings new arguments.

The value of a function that is computed on change belongs to a row instead: there is one for each
row of the call's input, found by a hash of all of it that the query reads. Rows that are
equal in that cannot be distinguished, and have one value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import combinations, count

from dt_jupyter.ivm import (
    ON_CHANGE,
    ONCE,
    Aggregate,
    AggregateCall,
    Call,
    Expr,
    Filter,
    Generate,
    Join,
    Literal,
    Match,
    PerOperator,
    Project,
    Refusal,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    TypesOf,
    Union,
    Window,
    col,
    equality,
    equivalent,
    innermost_calls,
    prune,
    refuse,
    rewrite,
    walk,
    with_results,
)
from dt_jupyter.model.hidden import hidden
from dt_jupyter.sql import called_functions, hash_calls


def compute_once(
    rel: Rel, names: frozenset[str], types: TypesOf, on_change: frozenset[str] = frozenset()
) -> Rel:
    """The relation with the calls of the functions `names` looked up; the same where it calls none.
    The values of those that are `on_change` too belong to rows.

    Refused if a call is between the sides of an outer join, an argument has a type without
    an exact hash, or two places would have different values for the same rows.
    """
    if not names:
        return rel
    if names & on_change:
        _require_one_place(rel, names & on_change)
        rel = prune(rel, frozenset(rel.columns))
    return rewrite(rel, _Once(names, types, on_change).node)


def _require_one_place(rel: Rel, on_change: frozenset[str]) -> None:
    """A part of the query that occurs in it twice, as a common table does, has one value for each
    row, and would get two."""
    calling = [(n, c) for n in walk(rel) if (c := _called(n, on_change))]
    for (a, calls), (b, _) in combinations(calling, 2):
        if a is b or equivalent(a, b):
            raise refuse(Refusal.TWO_PLACES, what=f"{calls[0].word}")


def _called(rel: Rel, names: frozenset[str]) -> list[Call]:
    own = [getattr(rel, f.name) for f in fields(rel)]
    return [c for e in _expressions(own) for c in innermost_calls(e, names)]


def _expressions(value: object) -> Iterator[Expr]:
    """Those of a node itself, not of its inputs."""
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _expressions(part)
    elif is_dataclass(value) and not isinstance(value, Rel):
        yield from _expressions([getattr(value, f.name) for f in fields(value)])


_Values = dict[Call, str]
"""The column with the value of each call."""


@dataclass
class _Once:
    names: frozenset[str]
    types: TypesOf
    on_change: frozenset[str] = frozenset()
    numbers: count[int] = field(default_factory=lambda: count(1))
    hidden: dict[int, tuple[Rel, Rel, _Values]] = field(default_factory=dict)
    """For a relation by its identity: itself, what it hides, and the values among that."""

    def node(self, rel: Rel) -> Rel:
        """The node with its own calls looked up; its columns stay."""
        return _LOOKED_UP[type(rel)](self, rel)

    def as_it_is(self, rel: Rel) -> Rel:
        """It has no expressions."""
        return rel

    def rows(self, rel: Rel) -> Rel:
        assert isinstance(rel, Rows)
        if called_functions(rel.text) & self.names:
            raise refuse(Refusal.EXPRESSION, what="VALUES call a function of yours")
        return rel

    def project(self, rel: Rel) -> Rel:
        assert isinstance(rel, Project)
        below, found, _ = self._below(rel.input, [e for _, e in rel.items])
        return Project(below, tuple(zip((i for i, _ in rel.items), found, strict=True)))

    def filter(self, rel: Rel) -> Rel:
        assert isinstance(rel, Filter)
        below, found, values = self._below(rel.input, rel.on)
        return self._shown(Filter(below, tuple(found)), rel, values)

    def generate(self, rel: Rel) -> Rel:
        assert isinstance(rel, Generate)
        below, (generator,), values = self._below(rel.input, [rel.generator])
        return self._shown(replace(rel, input=below, generator=generator), rel, values)

    def top(self, rel: Rel) -> Rel:
        assert isinstance(rel, Top)
        below, found, values = self._below(rel.input, rel.order)
        return self._shown(replace(rel, input=below, order=tuple(found)), rel, values)

    def aggregate(self, rel: Rel) -> Rel:
        assert isinstance(rel, Aggregate)
        texts = [e for _, c in rel.calls for e in (*c.args, c.text)]
        below, found, _ = self._below(rel.input, texts)
        rest, calls = iter(found), []
        for i, call in rel.calls:
            args = tuple(next(rest) for _ in call.args)
            calls.append((i, replace(call, args=args, text=next(rest))))
        return Aggregate(below, rel.keys, tuple(calls))

    def window(self, rel: Rel) -> Rel:
        assert isinstance(rel, Window)
        texts = [e for c in rel.calls for e in (c.function, *c.order)]
        below, found, values = self._below(rel.input, texts)
        rest, calls = iter(found), []
        for call in rel.calls:
            function, order = next(rest), tuple(next(rest) for _ in call.order)
            calls.append(replace(call, function=function, order=order))
        return self._shown(Window(below, rel.partition, tuple(calls)), rel, values)

    def join(self, rel: Rel) -> Rel:
        """A call over one member is looked up there, one over several above them."""
        assert isinstance(rel, Join)
        members, on, values = list(rel.members), list(rel.on), _Values()
        for i, member in enumerate(members):
            members[i], on, own = self._below(member, on, within=frozenset(member.columns))
            values |= own
        over = tuple(e for e in on if self._calls(e))
        joined = Join(tuple(members), tuple(e for e in on if e not in over))
        shown = self._shown(joined, rel, values)
        return self.filter(Filter(shown, over)) if over else shown

    def match(self, rel: Rel) -> Rel:
        assert isinstance(rel, Match)
        left, on, values = self._below(rel.left, rel.on, within=frozenset(rel.left.columns))
        right, on, _ = self._below(rel.right, on, within=frozenset(rel.right.columns))
        if any(map(self._calls, on)):
            what = "a function of yours over both sides of an outer join, EXISTS or IN"
            raise refuse(Refusal.EXPRESSION, what=what)
        return self._shown(replace(rel, left=left, right=right, on=tuple(on)), rel, values)

    def _calls(self, e: Expr) -> tuple[Call, ...]:
        return innermost_calls(e, self.names)

    def _below(
        self, rel: Rel, texts: Sequence[Expr], within: frozenset[str] | None = None
    ) -> tuple[Rel, list[Expr], _Values]:
        """The relation with the values of the calls in `texts` as further columns, the texts over
        them, and which columns they are; only those of the columns `within`, where given."""
        row = rel.columns
        _, rel, values = self.hidden.get(id(rel), (rel, rel, {}))
        found, values = list(texts), dict(values)
        while calls := [c for c in self._of(found) if within is None or c.columns <= within]:
            for call in calls:
                if call not in values:
                    rel, values[call] = self._looked_up(rel, call, row)
            here = {c: values[c] for c in calls}
            found = [with_results(e, here) for e in found]
            within = within and within | frozenset(here.values())
        return rel, found, values

    def _shown(self, made: Rel, as_: Rel, values: _Values) -> Rel:
        """With the columns of the node that it replaces; the values of calls are found again by
        what is above it."""
        if made.columns == as_.columns:
            return made
        shown = Project(made, _columns(as_))
        self.hidden[id(shown)] = (shown, made, values)
        return shown

    def _of(self, texts: Iterable[Expr]) -> list[Call]:
        return list(dict.fromkeys(c for e in texts for c in self._calls(e)))

    def _looked_up(self, rel: Rel, call: Call, row: Sequence[str]) -> tuple[Rel, str]:
        """The relation joined to the values of a call; the column of the value. `row` are the
        columns that say which row it is, where the value belongs to one."""
        n = next(self.numbers)
        of_row = call.name in self.on_change

        def name(part: str) -> str:
            return hidden(f"f{n}_{part}")

        args = tuple((name(f"a{i}"), a) for i, a in enumerate(call.args or (Literal("0"),)))
        given = Project(rel, (*_columns(rel), *args))
        types = self.types(given)
        ids = [i for i, _ in args]
        by = row if of_row else ids
        hashes = hash_calls((i, types[i]) for i in by)
        mine, keys = (name("h1"), name("h2")), (name("k1"), name("k2"))
        rows = Project(given, (*_columns(given), *zip(mine, hashes, strict=True)))
        renamed = [(k, col(m)) for k, m in zip(keys, mine, strict=True)]
        inner = tuple(name(f"x{i}") for i in range(len(ids)))
        renamed += [(x, col(i)) for x, i in zip(inner, ids, strict=True)]
        value = _value(call, inner, of_row=of_row)
        values = Aggregate(Project(rows, tuple(renamed)), keys, ((name("v"), value),))
        on = tuple(equality(col(m), col(k)) for m, k in zip(mine, keys, strict=True))
        kept = (*_columns(rel), (name("v"), col(name("v"))))
        return Project(Join((rows, values), on), kept), name("v")


_LOOKED_UP = PerOperator[Callable[[_Once, Rel], Rel]](
    "calls looked up",
    dict.fromkeys((Scan, Union, Restrict), _Once.as_it_is)
    | {
        Rows: _Once.rows,
        Project: _Once.project,
        Filter: _Once.filter,
        Join: _Once.join,
        Match: _Once.match,
        Generate: _Once.generate,
        Window: _Once.window,
        Top: _Once.top,
        Aggregate: _Once.aggregate,
    },
)


def _value(call: Call, args: tuple[str, ...], *, of_row: bool) -> AggregateCall:
    """All rows of a group have the same arguments: any of them gives the value."""
    columns = tuple(map(col, args))
    firsts = tuple(Call("ANY_VALUE", (c,)) for c in columns) if call.args else ()
    return AggregateCall(ON_CHANGE if of_row else ONCE, columns, replace(call, args=firsts))


def _columns(rel: Rel) -> tuple[tuple[str, Expr], ...]:
    return tuple((c, col(c)) for c in rel.columns)
