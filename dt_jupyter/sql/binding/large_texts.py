"""What is too much in a parsed text: SELECTs, aliases of aliases, long chains of conditions."""

from __future__ import annotations

from sqlglot import exp

from dt_jupyter.sql.text.limits import MOST_SELECTS, too_many

_MOST_GROWN = 20_000
_MOST_WRITTEN = 200_000
_LONG_CHAIN = 50


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
