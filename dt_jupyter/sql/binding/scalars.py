"""Scalar expressions of Spark SQL as `Expr`, and what in them forbids an incremental refresh."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from sqlglot import exp

from dt_jupyter.ivm import (
    Bracketed,
    Call,
    Case,
    Cast,
    Column,
    Element,
    Expr,
    Infix,
    Literal,
    NamedValue,
    Postfix,
    Prefix,
    Raw,
    Refusal,
    SortOrder,
    refuse,
)
from dt_jupyter.sql.dialect import WholeSpark, is_known_function

_COLUMN, _BEGIN, _END = "\ue000", "\ue001", "\ue002"
"""Private use: around column ids, and where a node begins and ends, while sqlglot writes it."""
_MARKS = frozenset((_COLUMN, _BEGIN, _END))
_PIECES = re.compile(
    f"([^{_COLUMN}{_BEGIN}{_END}]+)|{_COLUMN}(.*?){_COLUMN}"
    f"|{_BEGIN}(.*?){_BEGIN}|{_END}(.*?){_END}",
    re.DOTALL,
)
_NEGATIVE = re.compile(f"(?:{_BEGIN}\\d+{_BEGIN})*-")
_TEXT = (exp.DataType, exp.DataTypeParam, exp.Distinct, exp.Where, exp.Order)
"""Parts of the text of the node around them."""
Lookup = Callable[[exp.Column], str]

NON_DETERMINISTIC = frozenset({
    "rand", "randn", "random", "uuid", "shuffle", "monotonically_increasing_id", "randstr",
    "uniform", "spark_partition_id", "input_file_name", "input_file_block_start",
    "input_file_block_length", "java_method", "reflect", "try_reflect", "aes_encrypt",
    "raise_error",
})  # fmt: skip
CONTEXT_FUNCTIONS = frozenset({
    "current_timestamp", "current_date", "current_time", "now", "curdate", "localtimestamp",
    "current_user", "user", "session_user", "current_catalog", "current_database",
    "current_schema", "current_timezone", "unix_timestamp_now", "version", "current_path",
})  # fmt: skip
_UNSUPPORTED: tuple[tuple[type[exp.Expr], Refusal, str], ...] = (
    (exp.Window, Refusal.WINDOW, ""),
    (exp.Subquery, Refusal.SUBQUERY, "a subquery in this place"),
    (exp.Exists, Refusal.SUBQUERY, "EXISTS in this place"),
    (exp.Select, Refusal.SUBQUERY, "a subquery in this place"),
    (exp.SetOperation, Refusal.SUBQUERY, "a subquery in this place"),
    (exp.Explode, Refusal.LATERAL, "a row generator (explode)"),
    (exp.Posexplode, Refusal.LATERAL, "a row generator (posexplode)"),
    (exp.Inline, Refusal.LATERAL, "a row generator (inline)"),
    (exp.QueryTransform, Refusal.EXPRESSION, "TRANSFORM … USING runs a program"),
    (exp.Parameter, Refusal.EXPRESSION, "a parameter was not bound"),
    (exp.Placeholder, Refusal.EXPRESSION, "a parameter was not bound"),
)


def function_name(node: exp.Expr) -> str:
    """The Spark name of a function call, in lower case."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    text: str = node.sql(dialect=WholeSpark)
    return text.partition("(")[0].strip().lower()


def check_scalar(node: exp.Expr, builtins: frozenset[str]) -> None:
    """Raises Refused where the expression is not a deterministic scalar of the row."""
    for n in node.walk():
        for kind, refusal, what in _UNSUPPORTED:
            if isinstance(n, kind) and not (isinstance(n, exp.Exists) and _is_lambda(n)):
                raise refuse(refusal, what=what or function_name(n.this))
        if isinstance(n, exp.In) and n.args.get("query"):
            raise refuse(Refusal.SUBQUERY, what="IN (subquery) in this place")
        if isinstance(n, exp.Star) and not isinstance(n.parent, exp.Count):
            raise refuse(
                Refusal.EXPRESSION, what="a function of * reads whatever columns there are"
            )
        if isinstance(n, exp.Func):
            _check_function(n, builtins)
        if isinstance(n, exp.Cast) and _is_special_time(n):
            raise refuse(Refusal.CONTEXT_FUNCTION, what=n.this.sql(dialect=WholeSpark))


def _is_lambda(node: exp.Exists) -> bool:
    return isinstance(node.args.get("expression"), exp.Lambda)


def _check_function(node: exp.Func, builtins: frozenset[str]) -> None:
    name = function_name(node)
    timed = isinstance(node, exp.UnixSeconds) or name == "unix_timestamp"
    if name in CONTEXT_FUNCTIONS or (timed and next(node.iter_expressions(), None) is None):
        raise refuse(Refusal.CONTEXT_FUNCTION, what=f"{name}()")
    if name == "session_window":
        raise refuse(Refusal.SESSION_WINDOW)
    if name == "window":
        raise refuse(Refusal.TIME_WINDOW, what="window() in this place")
    if name in NON_DETERMINISTIC:
        raise refuse(Refusal.NON_DETERMINISTIC, what=f"{name}()")
    if isinstance(node, exp.Anonymous) and name not in builtins and not is_known_function(name):
        raise refuse(Refusal.UNKNOWN_FUNCTION, what=f"{name}()")


def _is_special_time(node: exp.Cast) -> bool:
    literal = node.this
    return (
        isinstance(literal, exp.Literal)
        and bool(literal.is_string)
        and literal.this.strip().lower() in ("now", "today", "tomorrow", "yesterday")
    )


def scalar(node: exp.Expr, lookup: Lookup, known: Mapping[exp.Expr, str]) -> Expr:
    """The expression with its columns looked up; a subtree in `known` is a column already."""

    def place(n: exp.Expr) -> exp.Expr:
        if known and n in known:
            return exp.Var(this=f"{_COLUMN}{known[n]}{_COLUMN}")
        if isinstance(n, exp.Column) and not isinstance(n.this, exp.Star):
            return exp.Var(this=f"{_COLUMN}{lookup(n)}{_COLUMN}")
        return n

    return _Writer(dialect=WholeSpark, comments=False).tree(node.transform(place))


class _Writer(WholeSpark.Generator):
    """Writes a tree with marks around each node, and makes nodes of the text between them: so each
    prints as sqlglot writes it."""

    def tree(self, node: exp.Expr) -> Expr:
        self.nodes: list[exp.Expr] = []
        open_: list[list[str | Expr]] = [[]]
        for text, column, begun, ended in _PIECES.findall(self.generate(node, copy=False)):
            if begun:
                open_.append([])
            elif ended:
                pieces = tuple(open_.pop())
                open_[-1].append(_node(self.nodes[int(ended)], pieces))
            else:
                open_[-1].append(text or Column(column))
        return _raw(tuple(open_[0]))

    def sql(self, expression: Any, key: str | None = None, comment: bool = True) -> str:
        text: str = super().sql(expression, key, comment)
        if key or not isinstance(expression, exp.Expr) or not _is_node(expression):
            return text
        if isinstance(expression, exp.Literal) and not _MARKS.isdisjoint(text):
            raise refuse(Refusal.EXPRESSION, what="a literal with a character of private use")
        self.nodes.append(expression)
        n = len(self.nodes) - 1
        return f"{_BEGIN}{n}{_BEGIN}{text}{_END}{n}{_END}"

    def neg_sql(self, expression: exp.Neg) -> str:
        """`--` begins a comment."""
        text = self.sql(expression, "this")
        return f"- {text}" if _NEGATIVE.match(text) else f"-{text}"


def _is_node(n: exp.Expr) -> bool:
    if isinstance(n, exp.Identifier):  # a variable of a lambda that is an argument
        return n.arg_key == "expressions" and isinstance(n.parent, exp.Anonymous)
    if isinstance(n, exp.Var):
        return not str(n.this).startswith(_COLUMN)
    return not isinstance(n, _TEXT) and not isinstance(n.parent, exp.DataTypeParam)


def _node(n: exp.Expr, pieces: tuple[str | Expr, ...]) -> Expr:
    """The node for one of sqlglot's, if it prints as that was written."""
    made = _made(n, pieces)
    if made is not None and (made.is_printed_as(pieces) or isinstance(n, exp.Binary)):
        return made
    if isinstance(n, exp.Anonymous) and not is_known_function(n.name):
        raise refuse(Refusal.EXPRESSION, what=f"the call {Raw(pieces).sql(str)[:60]}")
    return _raw(pieces)


def _raw(pieces: tuple[str | Expr, ...]) -> Expr:
    only = pieces[0] if len(pieces) == 1 else ""
    return only if isinstance(only, Expr) else Raw(pieces)


def _made(n: exp.Expr, pieces: tuple[str | Expr, ...]) -> Expr | None:
    match n, pieces:
        case exp.Literal() | exp.Boolean() | exp.Null(), (str() as text,):
            return Literal(text)
        case exp.Paren(), (_, Expr() as inner, _):
            return Bracketed(inner)
        case exp.Unary(), (str() as op, Expr() as value):
            return Prefix(op.strip(), value)
        case exp.Ordered(), (Expr() as value, *_):
            desc = n.args.get("desc")
            return SortOrder(value, bool(desc), bool(n.args.get("nulls_first")), desc is False)
        case exp.Cast(), (str() as name, Expr() as value, str() as type_):
            return Cast(value, type_[len(" AS ") : -1], name[:-1])
        case exp.Bracket(), (Expr() as value, _, Expr() as key, _):
            return Element(value, key)
        case exp.PropertyEQ() | exp.Alias(), (Expr() as value, str() as name):
            return NamedValue(value, name[len(" AS ") :])
        case exp.Is(), (Expr() as value, str() as op, Literal(text="NULL")):
            return Postfix(value, f"{op.strip()} NULL")
        case exp.IgnoreNulls() | exp.RespectNulls(), (Expr() as value, str() as words):
            return Postfix(value, words.strip())
        case exp.Binary(), _:
            return _operation(pieces)
        case exp.Case(), _:
            return _case(n, tuple(p for p in pieces if isinstance(p, Expr)))
        case exp.Func(), (str() as name, *_):
            args = tuple(p for p in pieces if isinstance(p, Expr))
            return Call(name.partition("(")[0], args, name.endswith("(DISTINCT "))
    return None


def _operation(pieces: tuple[str | Expr, ...]) -> Expr | None:
    """`a + b + c`, which sqlglot writes at once, as it does `a AND b OR c`."""
    signs = [p for p in pieces[1::2] if isinstance(p, str) and p[0] == p[-1] == " "]
    values = [p for p in pieces[::2] if isinstance(p, Expr)]
    if len(values) != len(signs) + 1 or len(values) + len(signs) != len(pieces):
        return None
    sides, between = values[:1], list[str]()
    for sign, value in zip(map(str.strip, signs), values[1:], strict=True):
        if sign == "AND" and " OR " in signs:
            sides[-1] = Infix(sides[-1], sign, value)
        else:
            sides.append(value)
            between.append(sign)
    op = between[0] if len(set(between)) == 1 else ""
    return reduce(lambda a, b: Infix(a, op, b), sides) if op else None


def _case(n: exp.Case, parts: tuple[Expr, ...]) -> Expr | None:
    first, branches = int(n.this is not None), len(n.args["ifs"])
    last = first + 2 * branches
    if len(parts) != last + (n.args.get("default") is not None):
        return None
    pairs = tuple(zip(parts[first:last:2], parts[first + 1 : last : 2], strict=True))
    return Case(parts[0] if first else None, pairs, parts[last] if len(parts) > last else None)
