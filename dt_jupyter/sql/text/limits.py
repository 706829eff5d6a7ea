"""What is too much to be kept incrementally: SELECTs, operators, and aliases of aliases.

A text passes `guard` by its length; what it comes to once views, common tables and aliases are
put in their places may still be any number of times as much.
"""

from __future__ import annotations

from sqlglot import exp

from dt_jupyter.ivm import Refusal, Refused, Rel, refuse
from dt_jupyter.model import error

MOST_RELATIONS = 5_000
"""Spark's analysis puts each common table where it is read, and takes minutes for more."""
MOST_SELECTS = 500
MOST_NODES = 2_000
DEEPEST = 150
"""Operators below each other: what renders and rewrites them is recursive."""

_LARGE = "it comes to more than"
_MOST_GROWN = 20_000
_MOST_WRITTEN = 200_000
_LONG_CHAIN = 50


def too_many(count: int, most: int, what: str) -> Refused | None:
    """The refusal, where there are more than `most`."""
    if count <= most:
        return None
    return refuse(Refusal.EXPRESSION, what=f"{_LARGE} {most:,} {what}")


def is_large(refused: Refused) -> bool:
    """Whether it is the refusal of what is too much."""
    return dict(refused.facts).get("what", "").startswith(_LARGE)


def require_few_relations(tree: exp.Expr) -> None:
    """DT-1004 where the common tables of a parsed query come to more than MOST_RELATIONS: twenty
    that each read the one before twice are a million."""
    if _count_relations(tree) > MOST_RELATIONS:
        size = f"more than {MOST_RELATIONS:,} tables once common tables are put in their places"
        raise error("DT-1004", what="wide", size=size, limit=f"{MOST_RELATIONS:,}")


def _count_relations(tree: exp.Expr) -> int:
    """The tables of a text, those of a common table as often as that is read."""
    homes: dict[int, list[exp.Table]] = {}  # by identity: equal common tables are several
    for table in tree.find_all(exp.Table):
        homes.setdefault(id(table.find_ancestor(exp.CTE)), []).append(table)
    counts: dict[int, int] = {}

    def count(home: exp.Expr | None) -> int:
        if id(home) not in counts:
            counts[id(home)] = 1  # of one that reads itself, while it is counted
            counts[id(home)] = sum(map(weight, homes.get(id(home), ())))
        return counts[id(home)]

    def weight(table: exp.Table) -> int:
        common = None if table.db else _find_common(table)
        return 1 if common is None else count(common)

    return count(None)


def _find_common(table: exp.Table) -> exp.CTE | None:
    """The common table of that name that is the nearest around it."""
    name, query = table.name.lower(), table.find_ancestor(exp.Query)
    while query is not None:
        for common in query.ctes:
            if common.alias.lower() == name:
                return common
        query = query.find_ancestor(exp.Query)
    return None


def refuse_large_text(tree: exp.Expr) -> None:
    """Raises where a parsed query has too many SELECTs, or aliases that grow when put in place."""
    selects = list(tree.find_all(exp.Select))
    grown = sum(map(_grown, selects))
    for problem in (
        too_many(len(selects), MOST_SELECTS, "SELECTs"),
        too_many(grown, _MOST_GROWN, "words, aliases of aliases put in their places"),
        too_many(_written(tree), _MOST_WRITTEN, "words in functions of functions"),
    ):
        if problem:
            raise problem


def is_plain(node: exp.Expr) -> bool:
    """What only puts conditions together, and calls no function by a name."""
    return isinstance(node, exp.Connector | exp.Not | exp.Paren | exp.Case | exp.If)


def _written(tree: exp.Expr) -> int:
    """How many nodes are written out where each function is, to know it by its name."""
    total = 0
    stack = [(tree, 0)]
    while stack:
        node, functions = stack.pop()
        functions += isinstance(node, exp.Func) and not is_plain(node)
        total += functions
        stack += [(n, functions) for n in node.iter_expressions()]
    return total


def balance(tree: exp.Expr) -> None:
    """Makes a long chain of AND or OR a tree as deep as its logarithm, in the same order: what is
    asked of every column of a chain, from below upwards, would take its square."""
    for node in list(tree.find_all(exp.And, exp.Or)):
        if type(node.parent) is type(node):
            continue
        terms = _terms(node)
        if len(terms) > _LONG_CHAIN:
            half = len(terms) // 2
            node.set("this", _balanced(type(node), terms[:half]))
            node.set("expression", _balanced(type(node), terms[half:]))


def _terms(node: exp.Connector) -> list[exp.Expr]:
    """What a chain of one connector connects, in order."""
    terms: list[exp.Expr] = []
    stack: list[exp.Expr] = [node]
    while stack:
        last = stack.pop()
        if type(last) is type(node):
            stack += [last.args["expression"], last.args["this"]]
        else:
            terms.append(last)
    return terms


def _balanced(kind: type[exp.Connector], terms: list[exp.Expr]) -> exp.Expr:
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return kind(this=_balanced(kind, terms[:half]), expression=_balanced(kind, terms[half:]))


def _grown(select: exp.Select) -> int:
    """By how many nodes the items grow where they take in the aliases of items before them."""
    sizes: dict[str, int] = {}
    grown = 0
    for item in select.expressions:
        own = whole = 0
        for node in item.unalias().walk(prune=lambda n: isinstance(n, exp.Query)):
            own += 1
            alias = isinstance(node, exp.Column) and not node.table
            whole += sizes.get(node.name.lower(), 1) if alias else 1
        grown += whole - own
        if isinstance(item, exp.Alias):
            sizes[item.alias.lower()] = whole
    return grown


def refuse_large(rel: Rel) -> None:
    """Raises where a relation has too many operators, or too many below each other."""
    size, depth = _measured(rel, {})
    for problem in (
        too_many(size, MOST_NODES, "operators"),
        too_many(depth, DEEPEST, "operators below each other"),
    ):
        if problem:
            raise problem


def _measured(rel: Rel, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Operators and depth; a part that is used several times counts as often, measured once."""
    if id(rel) not in known:
        below = [_measured(i, known) for i in rel.inputs]
        size = 1 + sum(s for s, _ in below)
        known[id(rel)] = size, 1 + max((d for _, d in below), default=0)
    return known[id(rel)]
