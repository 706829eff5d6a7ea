"""NOT brought down to the subqueries that it negates, as Spark does before it decides what a NULL
of an IN comes to."""

from __future__ import annotations

from sqlglot import exp


def push_negations(tree: exp.Expr) -> None:
    """NOT (p OR q) becomes NOT p AND NOT q, and NOT NOT p becomes p, where an IN (subquery) is
    part of it; the tree is changed in place."""
    waiting, gone = list(tree.find_all(exp.Not)), set[int]()
    while waiting:
        node = waiting.pop()
        inner = node.this.unnest()
        if id(node) in gone or node.parent is None or not _reads_set(inner):
            continue
        if isinstance(inner, exp.Not):
            node.replace(exp.Paren(this=inner.this))
            gone.add(id(inner))
        elif isinstance(inner, exp.And | exp.Or):
            sides = [exp.Not(this=exp.Paren(this=s)) for s in (inner.this, inner.expression)]
            other = exp.And if isinstance(inner, exp.Or) else exp.Or
            node.replace(exp.Paren(this=other(this=sides[0], expression=sides[1])))
            waiting += sides


def _reads_set(node: exp.Expr) -> bool:
    """Whether connectors lead to an IN (subquery)."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.In) and part.args.get("query"):
            return True
        if isinstance(part, exp.Not | exp.Paren | exp.Connector):
            waiting += part.iter_expressions()
    return False
