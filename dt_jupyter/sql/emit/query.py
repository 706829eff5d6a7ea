"""Queries as trees: what relations and the statements over state are printed from, and what is
asked whether it can be evaluated without Spark (`QUERIES` and `FROM_NODES` list the nodes)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

from dt_jupyter.ivm import Expr, Infix, Reference
from dt_jupyter.model import quote

Quote = Callable[[str], str]


@dataclass(frozen=True, eq=False)
class Query:
    """Rows with named columns."""

    @cached_property
    def sql(self) -> str:
        """The text that Spark is given."""
        return query_text(self, quote)

    def __str__(self) -> str:
        return self.sql


@dataclass(frozen=True)
class AllColumns:
    """`*` of all relations, or of the one with this alias."""

    relation: str = ""


@dataclass(frozen=True)
class Over:
    """A window function: its call, the columns of its partition, the terms of its order, and its
    frame as SQL has it."""

    function: Expr
    partition: tuple[Expr, ...]
    order: tuple[Expr, ...]
    frame: str = ""


@dataclass(frozen=True)
class SelectItem:
    """A column of a result, and its name where that is not the column's own, as it is `written`."""

    value: Expr | Over
    name: str = ""
    written: str = ""


@dataclass(frozen=True)
class Table:
    """A view's name, or another relation as text with unknown content. `columns` are the
    names that its alias gives to its columns."""

    text: str
    alias: str = ""
    columns: tuple[str, ...] = ()

    @property
    def view(self) -> str:
        """The name of the view; "" of another relation."""
        text = self.text
        if text[:1] == "`" == text[-1:] and "`" not in text[1:-1].replace("``", ""):
            return text[1:-1].replace("``", "`")
        return text if text.isidentifier() else ""


@dataclass(frozen=True)
class Nested:
    """A query in brackets."""

    query: Query
    alias: str = ""


@dataclass(frozen=True)
class Joined:
    """Two relations; `how` is the word between them, a comma or a kind of JOIN."""

    left: FromNode
    right: FromNode
    how: str = ","
    on: Expr | None = None


@dataclass(frozen=True)
class Generated:
    """A relation with the rows that a generator makes of each of its rows, as columns `ids`."""

    input: FromNode
    generator: Expr
    ids: tuple[str, ...]
    outer: bool


FromNode = Table | Nested | Joined | Generated
FROM_NODES = (Table, Nested, Joined, Generated)


@dataclass(frozen=True, eq=False)
class TextQuery(Query):
    """A query as text, which is not analysed."""

    text: str


@dataclass(frozen=True, eq=False)
class Select(Query):
    """SELECT; `order` is that of the rows that `limit` and `skip` choose from. `tall`: an item on
    each line, as statements over state are laid out."""

    items: tuple[SelectItem | AllColumns, ...]
    source: FromNode
    where: Expr | None = None
    keys: tuple[Expr, ...] = ()
    having: Expr | None = None
    order: tuple[Expr, ...] = ()
    limit: int | None = None
    skip: int = 0
    hint: str = ""
    tall: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, eq=False)
class UnionAll(Query):
    """UNION ALL, by position; the columns have the names of the first member's."""

    members: tuple[Query, ...]


def in_order(conditions: tuple[Expr, ...]) -> Expr | None:
    """All of them, without brackets around each; None of none."""
    return reduce(lambda a, b: Infix(a, "AND", b), conditions) if conditions else None


def hidden_column(name: str, relation: str = "") -> Reference:
    """A hidden column of a statement of ours, whose name needs no quotes."""
    return Reference(relation, name, name)


def quoted_column(name: str, relation: str = "") -> Reference:
    return Reference(relation, name, quote(name))


def named_item(value: Expr, name: str) -> SelectItem:
    return SelectItem(value, name, quote(name))


def hidden_item(value: Expr | Over, name: str) -> SelectItem:
    """Under a hidden name, which needs no quotes."""
    return SelectItem(value, name, name)


def tall_select(items: Iterable[SelectItem | AllColumns], source: FromNode, **more: Any) -> Select:
    """As statements over state are laid out."""
    return Select(tuple(items), source, tall=True, **more)


def tables_in(query: Query) -> Iterator[Table]:
    """The views, and other relations as text, that a query reads."""
    waiting: list[Query | FromNode] = [query]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Table):
            yield node
        else:
            waiting += _BELOW[type(node)](node)


_BELOW: dict[type, Callable[[Any], tuple[Query | FromNode, ...]]] = {
    TextQuery: lambda n: (Table(f"({n.text})"),),
    Select: lambda n: (n.source,),
    UnionAll: lambda n: n.members,
    Nested: lambda n: (n.query,),
    Joined: lambda n: (n.left, n.right),
    Generated: lambda n: (n.input,),
}

# -- Spark SQL -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Printer:
    """At a depth of brackets, each two spaces further in; those of tall queries are not."""

    quote: Quote
    depth: int = 0
    tall: bool = False

    @property
    def pad(self) -> str:
        return "  " * self.depth

    def __call__(self, query: Query) -> str:
        return _QUERY_TEXT[type(query)](self, query)

    def nested(self, query: Query) -> str:
        if self.tall:
            return f"(\n{self(query)}\n)"
        inner = replace(self, depth=self.depth + 1)
        return f"(\n{inner.pad}{inner(query)}\n{self.pad})"

    def relation(self, relation: FromNode) -> str:
        return _RELATION_TEXT[type(relation)](self, relation)

    def item(self, item: SelectItem | AllColumns) -> str:
        if isinstance(item, AllColumns):
            return f"{item.relation}.*" if item.relation else "*"
        value = item.value
        text = value.sql(self.quote) if isinstance(value, Expr) else self.over(value)
        return f"{text} AS {item.written}" if item.name else text

    def listed(self, terms: tuple[Expr, ...]) -> str:
        return ", ".join(e.sql(self.quote) for e in terms)

    def over(self, over: Over) -> str:
        parts = [f"PARTITION BY {self.listed(over.partition)}"] if over.partition else []
        parts += [f"ORDER BY {self.listed(over.order)}"] if over.order else []
        parts += [over.frame] if over.frame else []
        return f"{over.function.sql(self.quote)} OVER ({' '.join(parts)})"


def _select(p: _Printer, query: Select) -> str:
    p = replace(p, tall=query.tall)
    apart, before_from = (",\n  ", "\n") if query.tall else (", ", " ")
    hint = f"/*+ {query.hint} */ " if query.hint else ""
    text = f"SELECT {hint}{apart.join(map(p.item, query.items))}{before_from}FROM "
    text += p.relation(query.source)
    if query.where is not None:
        lines = query.tall or (isinstance(query.source, Joined) and query.source.how == ",")
        text += (f"\n{p.pad}" if lines else " ") + f"WHERE {query.where.sql(p.quote)}"
    text += f" GROUP BY {p.listed(query.keys)}" if query.keys else ""
    text += f" HAVING {query.having.sql(p.quote)}" if query.having is not None else ""
    text += f" ORDER BY {p.listed(query.order)}" if query.order else ""
    text += f" LIMIT {query.limit}" if query.limit is not None else ""
    return text + (f" OFFSET {query.skip}" if query.skip else "")


def _union(p: _Printer, query: UnionAll) -> str:
    return f"\n{p.pad}UNION ALL\n{p.pad}".join(map(p, query.members))


def _aliased(text: str, alias: str) -> str:
    return f"{text} {alias}" if alias else text


def _table(p: _Printer, table: Table) -> str:
    columns = f"({', '.join(map(p.quote, table.columns))})" if table.columns else ""
    return _aliased(table.text, table.alias + columns)


def _joined(p: _Printer, join: Joined) -> str:
    left, right = p.relation(join.left), p.relation(join.right)
    if join.how == ",":
        return f"{left}, {right}"
    on = f" ON {join.on.sql(p.quote)}" if join.on is not None else ""
    return f"{left} {join.how} {right}{on}"


def _generated(p: _Printer, generated: Generated) -> str:
    outer = "OUTER " if generated.outer else ""
    rows = f"{outer}{generated.generator.sql(p.quote)}"
    names = ", ".join(map(p.quote, generated.ids))
    return f"{p.relation(generated.input)} LATERAL VIEW {rows} e AS {names}"


_RELATION_TEXT: dict[type, Callable[[_Printer, Any], str]] = {
    Table: _table,
    Nested: lambda p, nested: _aliased(p.nested(nested.query), nested.alias),
    Joined: _joined,
    Generated: _generated,
}
_QUERY_TEXT: dict[type[Query], Callable[[_Printer, Any], str]] = {
    TextQuery: lambda p, query: query.text,
    Select: _select,
    UnionAll: _union,
}
QUERIES = tuple(_QUERY_TEXT)


def query_text(query: Query, quote: Quote) -> str:
    """A query as Spark SQL, its names in these quotes."""
    return _Printer(quote)(query)
