"""Relations made of others, as a query asks for them: joins, marks, set operations."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dt_jupyter.ivm.expr import (
    NO_VALUE,
    NULL,
    STAR,
    Bracketed,
    Call,
    Cast,
    Expr,
    Infix,
    Literal,
    Postfix,
    case,
    col,
    equality,
    numbered,
)
from dt_jupyter.ivm.rel import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Match,
    MatchKind,
    Project,
    Rel,
    Union,
)
from dt_jupyter.model.hidden import is_hidden

TRUE, FALSE = Literal("TRUE"), Literal("FALSE")


_NOT_PLAIN = re.compile(r"\W+")


@dataclass
class Ids:
    """Column ids that are unique in a definition; `taken` has the last number given for a name."""

    taken: dict[str, int] = field(default_factory=dict)

    def new(self, name: str) -> str:
        """One like a name, in characters that every table takes in the names of columns."""
        plain = _NOT_PLAIN.sub("_", name).strip("_")
        base = plain if plain and not is_hidden(plain) else "c"
        n = self.taken.get(base, 0) + 1
        while (found := numbered(base, n)) in self.taken:
            n += 1
        self.taken[base] = n
        self.taken.setdefault(found, 1)
        return found


@dataclass(frozen=True)
class Split:
    """A join condition: equal expressions (left, right), and the rest."""

    pairs: tuple[tuple[Expr, Expr], ...]
    rest: tuple[Expr, ...]


def with_columns(rel: Rel, items: tuple[tuple[str, Expr], ...]) -> Rel:
    """The relation and further columns."""
    return Project(rel, (*((c, col(c)) for c in rel.columns), *items)) if items else rel


def match(ids: Ids, left: Rel, right: Rel, kind: MatchKind, on: Split) -> Rel:
    """A Match whose pairs are columns: what is computed is put below it, and left out above."""
    pairs: list[tuple[str, str]] = []
    more_left: list[tuple[str, Expr]] = []
    more_right: list[tuple[str, Expr]] = []

    def column(e: Expr, more: list[tuple[str, Expr]]) -> str:
        if e.column is not None:
            return e.column
        more.append((ids.new("k"), e))
        return more[-1][0]

    for a, b in on.pairs:
        pairs.append((column(a, more_left), column(b, more_right)))
    made = Match(
        with_columns(left, tuple(more_left)),
        with_columns(right, tuple(more_right)),
        kind,
        tuple(pairs),
        on.rest,
    )
    if not more_left and not (more_right and kind is MatchKind.LEFT):
        return made
    wanted = (*left.columns, *(right.columns if kind is MatchKind.LEFT else ()))
    return Project(made, tuple((c, col(c)) for c in wanted))


def row_count() -> AggregateCall:
    return AggregateCall("count", (), Call("COUNT", (STAR,)))


def ask_for_rows(ids: Ids, rel: Rel) -> tuple[Rel, str]:
    """One row with a column that says whether a relation has rows."""
    count, some = ids.new("n"), ids.new("some")
    one = Aggregate(rel, (), ((count, row_count()),))
    return Project(one, ((some, Infix(col(count), ">", Literal("0"))),)), some


def ask_for_absence(ids: Ids, again: Rel, item: Expr, value: Expr) -> tuple[Rel, Expr]:
    """Of `value IN (a set)`, for a row without a partner in the set: one row of facts about the
    set, and whether IN is FALSE over them, and not NULL: the set is empty, or `value` is not NULL
    and no `item` is. `value` is a column."""
    null = Postfix(item if item.column else Bracketed(item), "IS NULL")
    rows, nulls = ids.new("n"), ids.new("n")
    calls = (
        (rows, row_count()),
        (nulls, AggregateCall("count_if", (null,), Call("COUNT_IF", (null,)))),
    )
    empty, whole = ids.new("empty"), ids.new("whole")
    none = Literal("0")
    facts = tuple((i, equality(col(n), none)) for i, n in ((empty, rows), (whole, nulls)))
    unknown = Infix(Postfix(value, "IS NOT NULL"), "AND", col(whole))
    is_false = Infix(col(empty), "OR", Bracketed(unknown))
    return Project(Aggregate(again, (), calls), facts), is_false


def one_row_each(
    ids: Ids, rel: Rel, keys: tuple[str, ...], items: tuple[str, ...]
) -> tuple[Rel, dict[str, Expr]]:
    """One row for each of the keys, and the value of each item over it; a second row is the error
    that Spark makes of it."""
    rows, values = ids.new("n"), {i: ids.new("m") for i in items}
    largest = (
        (m, AggregateCall("max", (col(i),), Call("MAX", (col(i),)))) for i, m in values.items()
    )
    groups = Aggregate(rel, keys, ((rows, row_count()), *largest))
    message = Literal("'a subquery used as an expression returned more than one row'")
    failure = Call("RAISE_ERROR", (message,))
    several = Infix(col(rows), ">", Literal("1"))
    return groups, {i: case(several, failure, col(m)) for i, m in values.items()}


def mark_partners(ids: Ids, left: Rel, right: Rel, on: Split) -> tuple[Rel, str]:
    """The left side with a column that says whether each row has a partner in the right one. Where
    conditions other than equality decide, partners cannot be made one before a join: the rows with
    one are marked TRUE, and those without FALSE."""
    mark = ids.new("mark")
    if on.rest or not on.pairs:
        sides = tuple(
            with_columns(match(ids, left, right, kind, on), ((mark, said),))
            for kind, said in ((MatchKind.SEMI, TRUE), (MatchKind.ANTI, FALSE))
        )
        return Union(sides, (*left.columns, mark)), mark
    named = tuple((b.column or ids.new("k"), b) for _, b in on.pairs)
    keys = tuple(dict.fromkeys(k for k, _ in named))
    distinct = Aggregate(Project(right, tuple(dict(named).items())), keys, ())
    there = ids.new("there")
    pairs = tuple((a, col(k)) for (a, _), (k, _) in zip(on.pairs, named, strict=True))
    marked = with_columns(distinct, ((there, TRUE),))
    rel = match(ids, left, marked, MatchKind.LEFT, Split(pairs, ()))
    return with_columns(rel, ((mark, Postfix(col(there), "IS NOT NULL")),)), mark


def join_fully(ids: Ids, left: Rel, right: Rel, on: Split) -> tuple[Rel, dict[str, str]]:
    """The full outer join: the left one, and the rows of the right side without a partner; its
    columns by those of the sides."""
    turned = Split(tuple((b, a) for a, b in on.pairs), on.rest)
    inner = match(ids, left, right, MatchKind.LEFT, on)
    alone = match(ids, right, left, MatchKind.ANTI, turned)
    columns = (*left.columns, *right.columns)
    own = frozenset(right.columns)
    nulls = tuple((c, col(c) if c in own else NULL) for c in columns)
    both = tuple(ids.new(c) for c in columns)
    first = Project(inner, tuple((c, col(c)) for c in columns))
    return Union((first, Project(alone, nulls)), both), dict(zip(columns, both, strict=True))


def count_sides(
    ids: Ids, left: Rel, right: Rel, made: tuple[str, ...], *, minus: bool, distinct: bool
) -> Rel:
    """EXCEPT (`minus`) or INTERSECT by how often either side has each row; the columns are
    `made`."""
    mine, theirs = ids.new("l"), ids.new("r")
    sides = [
        with_columns(rel, ((ids.new("l"), Literal(a)), (ids.new("r"), Literal(b))))
        for rel, a, b in ((left, "1", "0"), (right, "0", "1"))
    ]
    union = Union(tuple(sides), (*made, mine, theirs))
    counts = tuple(ids.new(n) for n in ("l", "r"))
    calls = tuple(
        (n, AggregateCall("sum", (col(c),), Call("SUM", (col(c),))))
        for n, c in zip(counts, (mine, theirs), strict=True)
    )
    groups = Aggregate(union, made, calls)
    l, r = (col(c) for c in counts)  # noqa: E741
    kept, none = tuple((i, col(i)) for i in made), Literal("0")
    if distinct:
        condition = Infix(Infix(l, ">", none), "AND", Infix(r, "=" if minus else ">", none))
        return Project(Filter(groups, (condition,)), kept)
    times = Infix(l, "-", r) if minus else Call("LEAST", (l, r))
    some = Filter(groups, (Infix(Bracketed(times), ">", none),))
    copies = Generate(
        some,
        Call("EXPLODE", (Call("SEQUENCE", (Cast(Literal("1"), "BIGINT"), times)),), facts=NO_VALUE),
        (ids.new("copy"),),
        types=("bigint",),
    )
    return Project(copies, kept)
