"""Row identity: a relation with one more column, equal for the same row at every version.

A source's rows have ids; every operator makes those of its result from those of its inputs, so
that within each snapshot no id is there twice.  Source: CQ 3.2.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations, count, product

from dt_jupyter.ivm.expr import (
    Bracketed,
    Call,
    Cast,
    Expr,
    Infix,
    Literal,
    Postfix,
    Prefix,
    col,
    constant_text,
)
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.refusal import Refusal, refuse
from dt_jupyter.ivm.rel import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
    WindowCall,
)
from dt_jupyter.model.hidden import ROW_ID

"""The column, of type STRING, in which a source has the ids of its rows."""

KeyText = Callable[[Rel, tuple[str, ...]], Expr]
"""An injective text of columns of a relation, NULLs among them."""

Domain = tuple[object, ...]
"""What the ids of a relation are made of; ids of different domains are different."""

_EXPLODES = ("explode", "posexplode")
_NUMBER_OR_TEXT = re.compile(r"-?[0-9.]+\Z|'(?:[^'\\]|'')*'\Z")
_LITERAL = re.compile(r"(0|-?[1-9][0-9]*|'[a-z_]+')\Z")
_CONVERTED = frozenset(
    f"'{w}'" for w in ("t", "true", "y", "yes", "f", "false", "n", "no", "inf", "infinity", "nan")
)
"""Words that a conversion to another type may make equal to others."""
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True)
class Identified:
    """`rel` has the columns of the relation it was made from, and `id` after them."""

    rel: Rel
    id: str
    domains: frozenset[Domain]


def identified(rel: Rel, key_text: KeyText) -> Identified:
    """The relation with the ids of its rows. Raises Refused where they would not be unique."""
    return _Identifier(key_text)(rel)


@dataclass
class _Identifier:
    key_text: KeyText
    numbers: count[int] = field(default_factory=count)
    groups: count[int] = field(default_factory=count)

    def __call__(self, rel: Rel) -> Identified:
        return _RULES[type(rel)](self, rel)

    def new(self) -> str:
        return f"{ROW_ID}_{next(self.numbers)}"

    def added(self, rel: Rel, columns: tuple[str, ...], id_: Expr) -> tuple[Rel, str]:
        """The columns of `rel` and an id computed from what it has."""
        name = self.new()
        return Project(rel, (*((c, col(c)) for c in columns), (name, id_))), name


def _scan(of: _Identifier, rel: Rel) -> Identified:
    assert isinstance(rel, Scan)
    name = of.new()
    made = replace(rel, reads=(*rel.reads, (name, ROW_ID)))
    return Identified(made, name, frozenset({("scan", rel.source)}))


def _rows(of: _Identifier, rel: Rel) -> Identified:
    """Rows that are written in the query are numbered in the order of their contents."""
    assert isinstance(rel, Rows)
    number = f"{ROW_ID}_row_{next(of.numbers)}"
    call = WindowCall(number, Call("ROW_NUMBER", ()), (), "", total=True, settles=False)
    text = Call("CONCAT", (Literal("'v'"), col(number)))
    made, name = of.added(Window(rel, (), (call,)), rel.columns, text)
    return Identified(made, name, frozenset({("rows", next(of.groups))}))


def _passed(of: _Identifier, rel: Rel) -> Identified:
    """σ, τ and ⋉ K keep rows, and their ids."""
    below = of(rel.inputs[0])
    return replace(below, rel=rel.with_inputs((below.rel,)))


def _project(of: _Identifier, rel: Rel) -> Identified:
    assert isinstance(rel, Project)
    below = of(rel.input)
    made = Project(below.rel, (*rel.items, (below.id, col(below.id))))
    return replace(below, rel=made)


def _window(of: _Identifier, rel: Rel) -> Identified:
    assert isinstance(rel, Window)
    below = of(rel.input)
    made = Project(
        replace(rel, input=below.rel), tuple((c, col(c)) for c in (*rel.columns, below.id))
    )
    return replace(below, rel=made)


def _join(of: _Identifier, rel: Rel) -> Identified:
    """The ids of the rows that met."""
    assert isinstance(rel, Join)
    members = [of(m) for m in rel.members]
    parts = [p for m in members for p in (Literal("','"), col(m.id))][1:]
    text = Call("CONCAT", (Literal("'('"), *parts, Literal("')'")))
    made, name = of.added(replace(rel, members=tuple(m.rel for m in members)), rel.columns, text)
    domains = frozenset(("join", *d) for d in product(*(m.domains for m in members)))
    return Identified(made, name, domains)


def _match(of: _Identifier, rel: Rel) -> Identified:
    """Of an outer join both, or the left one alone; of a semi or anti join the left one's."""
    assert isinstance(rel, Match)
    left = of(rel.left)
    if rel.kind is not MatchKind.LEFT:
        return replace(left, rel=replace(rel, left=left.rel))
    right = of(rel.right)
    partner = _or_dash(col(right.id))
    parts = (Literal("'('"), col(left.id), Literal("','"), partner, Literal("')'"))
    text = Call("CONCAT", parts)
    made, name = of.added(replace(rel, left=left.rel, right=right.rel), rel.columns, text)
    domains = frozenset(("left", *d) for d in product(left.domains, right.domains))
    return Identified(made, name, domains)


def _union(of: _Identifier, rel: Rel) -> Identified:
    """The members' own ids, where they cannot meet."""
    assert isinstance(rel, Union)
    members = [of(m) for m in rel.members]
    for (a, own), (b, other) in combinations(zip(rel.members, members, strict=True), 2):
        if own.domains & other.domains and not _exclusive(a, b):
            raise refuse(Refusal.OVERLAPPING_IDS)
    name = of.new()
    made = Union(tuple(m.rel for m in members), (*rel.ids, name))
    return Identified(made, name, frozenset().union(*(m.domains for m in members)))


def _generate(of: _Identifier, rel: Rel) -> Identified:
    """The row's id and the position in what it was exploded from."""
    assert isinstance(rel, Generate)
    generator = rel.generator
    if not isinstance(generator, Call) or generator.function not in _EXPLODES:
        raise refuse(Refusal.LATERAL, what="a row generator without positions")
    below = of(rel.input)
    position, ids = rel.ids[0], rel.ids
    if generator.function != "posexplode":
        position = f"{ROW_ID}_pos_{next(of.numbers)}"
        ids = (position, *rel.ids)
        generator = replace(generator, name="POSEXPLODE")
    place = _or_dash(Cast(col(position), "STRING"))
    text = Call("CONCAT", (col(below.id), Literal("'.'"), place))
    types = rel.types if len(ids) == len(rel.ids) else ("int", *rel.types)
    made, name = of.added(
        replace(rel, input=below.rel, generator=generator, ids=ids, types=types), rel.columns, text
    )
    return Identified(made, name, frozenset(("generate", d) for d in below.domains))


def _or_dash(text: Expr) -> Expr:
    """A text, or a dash in the place of none."""
    return Call("COALESCE", (text, Literal("'-'")))


def _aggregate(of: _Identifier, rel: Rel) -> Identified:
    """The keys of the group, after a number that distinguishes the aggregates of a query."""
    assert isinstance(rel, Aggregate)
    number = next(of.groups)
    keys = of.key_text(rel, rel.keys) if rel.keys else Literal("''")
    text = Call("CONCAT", (Literal(f"'g{number}['"), keys, Literal("']'")))
    made, name = of.added(rel, rel.columns, text)
    return Identified(made, name, frozenset({("group", number)}))


_RULES = PerOperator[Callable[[_Identifier, Rel], Identified]](
    "identified",
    {
        Scan: _scan,
        Rows: _rows,
        Project: _project,
        Filter: _passed,
        Top: _passed,
        Restrict: _passed,
        Join: _join,
        Match: _match,
        Union: _union,
        Generate: _generate,
        Window: _window,
        Aggregate: _aggregate,
    },
)
IDENTIFIED = frozenset(_RULES)


# -- branches of a union --------------------------------------------------------------------------


def _exclusive(a: Rel, b: Rel) -> bool:
    """Whether no row of one source can pass both: they filter it by conditions, at most
    one of them true, or one is the rows with a partner, and the other those without."""
    if _opposite(a, b):
        return True
    mine, theirs = _conditions(a), _conditions(b)
    return (
        mine is not None
        and theirs is not None
        and any(_contradict(p, q) for p, q in product(mine, theirs))
    )


def _opposite(a: Rel, b: Rel) -> bool:
    """Whether one is A ⋉ B and the other A ▷ B, under projections."""
    while isinstance(a, Project):
        a = a.input
    while isinstance(b, Project):
        b = b.input
    return (
        isinstance(a, Match)
        and isinstance(b, Match)
        and {a.kind, b.kind} == {MatchKind.SEMI, MatchKind.ANTI}
        and replace(a, kind=b.kind) == b
    )


def _conditions(rel: Rel) -> frozenset[Expr] | None:
    """The conjuncts over the columns of the one scan below, by the names in the source; None
    where there is more than filters and columns above it."""
    found: list[Expr] = []
    while not isinstance(rel, Scan):
        if isinstance(rel, Filter):
            found += rel.on
        elif not isinstance(rel, Project):
            return None
        else:
            found = [e.replaced(dict(rel.items)) for e in found]
        rel = rel.inputs[0]
    return frozenset(e.renamed(dict(rel.reads)) for e in found)


def _contradict(p: Expr, q: Expr) -> bool:
    """Whether two conditions are never both true."""
    if _negated(p) == q or _negated(q) == p:
        return True
    a, b = _compared(p), _compared(q)
    if a is None or b is None or a[0] != b[0]:
        return _is_null(p, q) or _is_null(q, p)
    if a[1] == b[1] == "=":
        return a[2] != b[2] and a[2].startswith("'") == b[2].startswith("'") and _plain(a[2], b[2])
    return a[2] == b[2] and (
        _OPPOSITE.get(a[1]) == b[1] or {a[1], b[1]} in ({"=", "<"}, {"=", ">"}, {"<", ">"})
    )


def _negated(e: Expr) -> Expr | None:
    """p of NOT p and of NOT (p)."""
    inner = e.value if isinstance(e, Prefix) and e.op == "NOT" else None
    return inner.inner if isinstance(inner, Bracketed) else inner


def _compared(e: Expr) -> tuple[Expr, str, str] | None:
    """What is compared, how, and the number or text that it is compared with."""
    if not isinstance(e, Infix) or e.op not in ("=", *_OPPOSITE) or e.right.columns:
        return None
    text = constant_text(e.right)
    return (e.left, e.op, text) if _NUMBER_OR_TEXT.match(text) else None


def _plain(a: str, b: str) -> bool:
    """Whether literals that are written differently are different: integers, or words that no
    conversion to another type could make equal."""
    words = {a.lower(), b.lower()}
    return len(words - _CONVERTED) == 2 and all(_LITERAL.match(w) for w in words)


def _is_null(p: Expr, q: Expr) -> bool:
    """p is `x IS NULL`, and q is true for no NULL of x."""
    if not isinstance(p, Postfix) or p.op != "IS NULL":
        return False
    compared = _compared(q)
    return (
        _negated(q) == p
        or q == Postfix(p.value, "IS NOT NULL")
        or (compared is not None and compared[0] == p.value)
    )
