"""Expressions of texts, without Spark, for tests of expressions."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp, parse_one

from dt_jupyter.ivm import (
    Between,
    Bracketed,
    Call,
    Case,
    Cast,
    Column,
    Element,
    Expr,
    Infix,
    InList,
    Literal,
    Postfix,
    Prefix,
    Raw,
    SortOrder,
)
from dt_jupyter.sql.dialect import SparkAsWritten, WholeSpark

_SIGNS: Mapping[type[exp.Expr], str] = {
    exp.And: "AND", exp.Or: "OR", exp.EQ: "=", exp.NEQ: "<>", exp.NullSafeEQ: "<=>", exp.GT: ">",
    exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.Add: "+", exp.Sub: "-", exp.Mul: "*",
    exp.Div: "/", exp.IntDiv: "DIV", exp.Mod: "%", exp.DPipe: "||", exp.Like: "LIKE",
}  # fmt: skip
_MARK = "\ue000"


def read(text: str, **ids: str) -> Expr:
    """The expression over columns by their names, or by the ids that are given for these."""
    return _expression(parse_one(text, read=SparkAsWritten), ids)


def read_term(text: str) -> Expr:
    """A term of ORDER BY."""
    query = parse_one(f"SELECT 1 ORDER BY {text}", read=SparkAsWritten)
    return _expression(query.args["order"].expressions[0], {})


def _expression(node: exp.Expr, ids: Mapping[str, str]) -> Expr:
    def of(inner: exp.Expr) -> Expr:
        return _expression(inner, ids)

    match node:
        case exp.Column():
            return Column(ids.get(node.name, node.name))
        case exp.Literal() | exp.Boolean() | exp.Null():
            return Literal(node.sql(WholeSpark))
        case exp.Paren():
            return Bracketed(of(node.this))
        case exp.Not(this=exp.Is() as inner):
            return Postfix(of(inner.this), "IS NOT NULL")
        case exp.Not():
            return Prefix("NOT", of(node.this))
        case exp.Neg():
            return Prefix("-", of(node.this))
        case exp.Is():
            return Postfix(of(node.this), "IS NULL")
        case exp.Cast():
            word = node.sql(WholeSpark).partition("(")[0]
            return Cast(of(node.this), node.to.sql(WholeSpark), word)
        case exp.Ordered():
            desc = node.args.get("desc")
            first = bool(node.args.get("nulls_first"))
            return SortOrder(of(node.this), bool(desc), first, desc is False)
        case exp.Case():
            given = [node.this] if node.this is not None else []
            pairs = tuple((of(i.this), of(i.args["true"])) for i in node.args["ifs"])
            default = node.args.get("default")
            return Case(of(given[0]) if given else None, pairs, of(default) if default else None)
        case exp.Bracket(expressions=[key]):
            return Element(of(node.this), of(key))
        case exp.In(expressions=[_, *_] as options):
            return InList(of(node.this), tuple(map(of, options)))
        case exp.Between():
            return Between(of(node.this), of(node.args["low"]), of(node.args["high"]))
        case exp.Binary() if type(node) in _SIGNS:
            return Infix(of(node.this), _SIGNS[type(node)], of(node.expression))
        case exp.Anonymous() if not node.find(exp.Lambda):
            return Call(node.name.upper(), tuple(map(of, node.expressions)))
        case exp.Func() if not node.find(exp.Lambda) and not isinstance(node, exp.Predicate):
            name = node.sql(WholeSpark).partition("(")[0]
            return Call(name, tuple(map(of, node.iter_expressions())))
    return _text(node, ids)


def _text(node: exp.Expr, ids: Mapping[str, str]) -> Expr:
    """Another form, as its text between its columns and calls."""
    kept: list[Expr] = []

    def mark(inner: exp.Expr) -> exp.Expr:
        whole = isinstance(inner, exp.Column | exp.Func | exp.Literal) and inner is not node
        if not whole or inner.find(exp.Lambda):
            return inner
        kept.append(_expression(inner, ids))
        return exp.Var(this=f"{_MARK}{len(kept) - 1}{_MARK}")

    pieces = node.transform(mark).sql(WholeSpark).split(_MARK)
    return Raw(tuple(kept[int(p)] if i % 2 else p for i, p in enumerate(pieces) if p))
