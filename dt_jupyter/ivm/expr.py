"""Scalar expressions: a closed set of nodes (`EXPRESSIONS` lists them), printed as Spark SQL.

A column is known by an id that is unique in its definition, so an expression means the same
wherever its columns are in scope; no alias has to be resolved again after a rewrite. A node that
was read has what Spark says of it, also after a rewrite; `expression_types` has the types of all
others. Nothing here recurses: a chain of conditions is a thousand nodes deep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import is_
from typing import Any, ClassVar, Self

from dt_jupyter.model import Span


@dataclass(frozen=True, slots=True)
class ExpressionFacts:
    """What Spark says of an expression: its type as `type_text` has it, whether it may be NULL and
    is deterministic, and its place in the text that Spark read, if it occurs in that itself."""

    type: str
    nullable: bool = True
    deterministic: bool = True
    place: Span | None = None


NO_VALUE = ExpressionFacts("", nullable=False)
"""Of a piece of text without a value: `*`, the condition of FILTER."""


@dataclass(frozen=True, eq=False, repr=False)
class Expr:
    """A node. Two that print the same are equal, however they were made, and whatever `facts` they
    have: None for a node that the engine made, whose type follows from its parts."""

    __match_args__: ClassVar[tuple[str, ...]]
    facts: ExpressionFacts | None = field(default=None, kw_only=True)

    def typed(self, kind: str, *, nullable: bool = True) -> Self:
        """The same, of this type."""
        return self.as_said(ExpressionFacts(kind, nullable))

    def as_said(self, facts: ExpressionFacts | None) -> Self:
        """The same with what Spark says of it."""
        return replace(self, facts=facts)

    @property
    def deterministic(self) -> bool:
        """Whether it has one value for the same columns: what the engine made has."""
        return all(n.facts is None or n.facts.deterministic for n in walk_expression(self))

    @property
    def place(self) -> Span | None:
        """Its place in the text that Spark read; None if it has none."""
        return None if self.facts is None else self.facts.place

    @property
    def printed(self) -> tuple[str | Expr, ...]:
        """Its text, with its children in their places."""
        found: tuple[str | Expr, ...] = _PRINTED[type(self)](self)
        return found

    @property
    def children(self) -> tuple[Expr, ...]:
        return tuple(p for p in self.printed if not isinstance(p, str))

    @property
    def first(self) -> Expr | None:
        """The child that it begins with."""
        start = self.printed[0] if self.printed else ""
        return None if isinstance(start, str) else start

    @property
    def word(self) -> str:
        """What the node does, for a message."""
        text = next((p for p in self.printed if isinstance(p, str)), "").strip(" .")
        name, opening, _ = text.partition("(")
        return f"{name.lower()}()" if opening and name.isidentifier() else name.strip()

    @cached_property
    def _text(self) -> tuple[str, ...]:
        """Text and ids of columns by turns, text first and last."""
        found: list[str] = []
        text = ""
        stack: list[str | Expr] = [self]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                text += part
            elif isinstance(part, Column):
                found += (text, part.id)
                text = ""
            elif (known := part.__dict__.get("_text")) is not None:
                found += (text + known[0], *known[1:]) if len(known) > 1 else ()
                text = found.pop() if len(known) > 1 else text + known[0]
            else:
                stack += part.printed[::-1]
        return (*found, text)

    @cached_property
    def columns(self) -> frozenset[str]:
        return frozenset(self._text[1::2])

    @property
    def column(self) -> str | None:
        """The column's id, where the expression is nothing but a column."""
        return self.id if isinstance(self, Column) else None

    def sql(self, quote: Callable[[str], str]) -> str:
        words = list(self._text)
        words[1::2] = map(quote, words[1::2])
        return "".join(words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sql(str)})"

    def matches(self, other: Expr, same: Callable[[str, str], bool]) -> bool:
        """Whether it is the other one where `same` pairs their columns."""
        mine, theirs = self._text, other._text
        return mine[::2] == theirs[::2] and all(map(same, mine[1::2], theirs[1::2]))

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        """The same with other ones, which are in its fields in the order of the text."""
        rest, names = iter(children), self.__match_args__
        made = type(self)(*(_refilled(getattr(self, name), rest) for name in names))
        facts = self.facts
        if facts is not None and not facts.nullable and _may_be_null(self.children, children):
            facts = replace(facts, nullable=True)
        return made if facts is None else made.as_said(facts)

    def renamed(self, ids: Mapping[str, str]) -> Expr:
        if self.columns.isdisjoint(ids):
            return self
        return self.rewritten(
            lambda e: replace(e, id=ids.get(e.id, e.id)) if isinstance(e, Column) else e
        )

    def replaced(self, values: Mapping[str, Expr]) -> Expr:
        """With expressions for columns, in brackets where something is around them."""

        def closed(e: Expr) -> Expr:
            value = values.get(e.id, e) if isinstance(e, Column) else e
            return value if value.column or value is e else Bracketed(value)

        return values.get(self.id, self) if isinstance(self, Column) else self.rewritten(closed)

    def rewritten(self, rule: Callable[[Expr], Expr]) -> Expr:
        """The rule applied to every node, leaves first."""
        made: dict[int, Expr] = {}
        for node in reversed(list(walk_expression(self))):
            if id(node) not in made:
                children = node.children
                below = tuple(made[id(c)] for c in children)
                same = all(map(is_, below, children))
                made[id(node)] = rule(node if same else node.with_children(below))
        return made[id(self)]


def _may_be_null(before: tuple[Expr, ...], after: tuple[Expr, ...]) -> bool:
    """Whether a child may be NULL in the place of one that Spark took for one that is not."""
    pairs = ((a.facts, b.facts) for a, b in zip(before, after, strict=True))
    return any(a and not a.nullable and (b is None or b.nullable) for a, b in pairs)


def _refilled(value: object, children: Iterator[Expr]) -> object:
    """The value of a field with other children."""
    if isinstance(value, tuple):
        return tuple(_refilled(v, children) for v in value)
    return next(children) if isinstance(value, Expr) else value


@dataclass(frozen=True, eq=False, repr=False)
class Column(Expr):
    """A reference to the column with this id."""

    id: str

    def sql(self, quote: Callable[[str], str]) -> str:
        return quote(self.id)

    @property
    def name(self) -> str:
        """What the id was made of, by `numbered`."""
        return _NUMBER.sub("", self.id)


@dataclass(frozen=True, eq=False, repr=False)
class Literal(Expr):
    """A constant, as Spark SQL has it."""

    text: str


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expr):
    """NAME(a, b): a function, an aggregate, a generator, a user function."""

    name: str
    args: tuple[Expr, ...]
    distinct: bool = False

    @property
    def function(self) -> str:
        """The name in lower case, without quotes."""
        return self.name.strip("`").lower()

    @property
    def word(self) -> str:
        return f"{self.function}()"


@dataclass(frozen=True, eq=False, repr=False)
class Cast(Expr):
    """CAST(value AS type), or TRY_CAST."""

    value: Expr
    type: str
    name: str = "CAST"


@dataclass(frozen=True, eq=False, repr=False)
class Case(Expr):
    """CASE [value] WHEN … THEN … [ELSE otherwise] END."""

    value: Expr | None
    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Infix(Expr):
    """`left op right`; the operator in upper case, with all its words."""

    left: Expr
    op: str
    right: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Prefix(Expr):
    """`NOT value`, `-value`."""

    op: str
    value: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Postfix(Expr):
    """`value IS NULL`, `call IGNORE NULLS`."""

    value: Expr
    op: str


@dataclass(frozen=True, eq=False, repr=False)
class InList(Expr):
    """`value IN (a, b)`."""

    value: Expr
    options: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Between(Expr):
    """`value BETWEEN low AND high`."""

    value: Expr
    low: Expr
    high: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Bracketed(Expr):
    """The brackets that are written."""

    inner: Expr


def without_brackets(e: Expr) -> Expr:
    """What is in the brackets around it."""
    while isinstance(e, Bracketed):
        e = e.inner
    return e


@dataclass(frozen=True, eq=False, repr=False)
class Element(Expr):
    """`value[key]`, of an array or a map."""

    value: Expr
    key: Expr


@dataclass(frozen=True, eq=False, repr=False)
class SortOrder(Expr):
    """A term of ORDER BY; `ascending`: with the word ASC, which says nothing."""

    value: Expr
    descending: bool
    nulls_first: bool
    ascending: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Reference(Expr):
    """A column of a relation in FROM, by the alias of that ("": of the only one) and as its name is
    `written`, with quotes or without: in the statements that we make, where ids say too little."""

    relation: str
    name: str
    written: str


@dataclass(frozen=True, eq=False, repr=False)
class Raw(Expr):
    """Text that the engine made around children, or of a construct that has no node."""

    pieces: tuple[str | Expr, ...]


def _call(e: Call) -> tuple[str | Expr, ...]:
    opening = f"{e.name}(DISTINCT " if e.distinct else f"{e.name}("
    return (opening, *separated(e.args), ")") if e.args else (f"{opening})",)


def _case(e: Case) -> tuple[str | Expr, ...]:
    found: list[str | Expr] = ["CASE WHEN "] if e.value is None else ["CASE ", e.value, " WHEN "]
    for when, then in e.branches:
        found += (when, " THEN ", then, " WHEN ")
    found[-1:] = () if e.otherwise is None else (" ELSE ", e.otherwise)
    return (*found, " END")


def _reference(e: Reference) -> tuple[str | Expr, ...]:
    return (f"{e.relation}.{e.written}" if e.relation else e.written,)


def _prefix(e: Prefix) -> tuple[str | Expr, ...]:
    apart = e.op.isalpha() or (isinstance(e.value, Prefix) and e.op == e.value.op)  # -- comments
    return (f"{e.op} " if apart else e.op, e.value)


def _sort_order(e: SortOrder) -> tuple[str | Expr, ...]:
    words = " DESC" if e.descending else " ASC" if e.ascending else ""
    if e.nulls_first == e.descending:
        words += " NULLS FIRST" if e.nulls_first else " NULLS LAST"
    return (e.value, words) if words else (e.value,)


_PRINTED: dict[type[Expr], Callable[[Any], tuple[str | Expr, ...]]] = {
    Column: lambda e: (),
    Literal: lambda e: (e.text,),
    Call: _call,
    Cast: lambda e: (f"{e.name}(", e.value, f" AS {e.type})"),
    Case: _case,
    Infix: lambda e: (e.left, f" {e.op} ", e.right),
    Prefix: _prefix,
    Postfix: lambda e: (e.value, f" {e.op}"),
    InList: lambda e: (e.value, " IN (", *separated(e.options), ")"),
    Between: lambda e: (e.value, " BETWEEN ", e.low, " AND ", e.high),
    Bracketed: lambda e: ("(", e.inner, ")"),
    Element: lambda e: (e.value, "[", e.key, "]"),
    SortOrder: _sort_order,
    Reference: _reference,
    Raw: lambda e: e.pieces,
}
EXPRESSIONS = tuple(_PRINTED)
NULL = Literal("NULL")
STAR = Raw(("*",), facts=NO_VALUE)


def col(column: str) -> Expr:
    return Column(column)


def numbered(name: str, n: int) -> str:
    """The n-th id of the columns that a query calls so."""
    return name if n == 1 else f"{name}_{n}"


_NUMBER = re.compile(r"(?<=.)_\d+\Z")


def expr(template: str, /, **values: Expr | str) -> Expr:
    """`expr("sum({x})", x=col("a"))`: the template with its fields filled in, as text around
    them; what is asked what it is has to be made of nodes."""
    pieces: list[str | Expr] = []
    rest = template
    while rest:
        text, opening, rest = rest.partition("{")
        if text:
            pieces.append(text)
        if opening:
            field, _, rest = rest.partition("}")
            pieces.append(values[field])
    only = pieces[0] if len(pieces) == 1 else ""
    return Raw(tuple(pieces)) if isinstance(only, str) else only


def separated(parts: tuple[Expr, ...]) -> tuple[str | Expr, ...]:
    """The parts with commas between them."""
    return tuple(p for part in parts for p in (", ", part))[1:]


def constant_text(e: Expr) -> str:
    """The text of a constant, which may have a minus before it; "" of anything else."""
    match e:
        case Literal(text):
            return text
        case Prefix("-", Literal(text)):
            return f"-{text}"
    return ""


def conjunction(conditions: tuple[Expr, ...]) -> Expr | None:
    """All of them; None of none."""
    parts: tuple[Expr, ...] = tuple(map(Bracketed, conditions))
    return reduce(lambda a, b: Infix(a, "AND", b), parts) if parts else None


def equality(a: Expr, b: Expr) -> Expr:
    return Infix(a, "=", b)


def case(when: Expr, then: Expr, otherwise: Expr | None = None) -> Expr:
    """CASE WHEN when THEN then [ELSE otherwise] END."""
    return Case(None, ((when, then),), otherwise)


def chain(e: Expr, operators: frozenset[str]) -> tuple[tuple[str, Expr], ...]:
    """The operands of `a + b - c`, each with the operator before it ("" of the first one); the
    expression itself if it is not a chain of these operators."""
    found: list[tuple[str, Expr]] = []
    while isinstance(e, Infix) and e.op in operators:
        found.append((e.op, e.right))
        e = e.left
    return (("", e), *reversed(found))


def walk_expression(e: Expr) -> Iterator[Expr]:
    """The node and all below it, parents first, in the order of the text."""
    stack = [e]
    while stack:
        node = stack.pop()
        yield node
        stack += node.children[::-1]
