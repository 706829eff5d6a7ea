"""Scalar expressions of Spark SQL as `Expr`, and what in them forbids an incremental refresh."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from dt_jupyter.ivm import Between, Closing, Col, Expr, Opening, Refusal, refuse
from dt_jupyter.sql.binding.dialect import WholeSpark, is_known_function

_MARK = "\ue000"  # private use: stands around column ids while sqlglot writes the text
_CALL, _NEXT, _END = "\ue001", "\ue002", "\ue003"  # the same for calls that are none of Spark's
_PIECES = re.compile(f"{_MARK}(.*?){_MARK}|{_CALL}(.*?){_CALL}|({_NEXT})|({_END})")
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
    bare = isinstance(node, exp.UnixSeconds) or (name == "unix_timestamp" and not _arguments(node))
    if name in CONTEXT_FUNCTIONS or (bare and not _arguments(node)):
        raise refuse(Refusal.CONTEXT_FUNCTION, what=f"{name}()")
    if name == "session_window":
        raise refuse(Refusal.SESSION_WINDOW)
    if name == "window":
        raise refuse(Refusal.TIME_WINDOW, what="window() in this place")
    if name in NON_DETERMINISTIC:
        raise refuse(Refusal.NON_DETERMINISTIC, what=f"{name}()")
    if isinstance(node, exp.Anonymous) and name not in builtins and not is_known_function(name):
        raise refuse(Refusal.UNKNOWN_FUNCTION, what=f"{name}()")


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    for value in node.args.values():
        found += [
            v for v in (value if isinstance(value, list) else [value]) if isinstance(v, exp.Expr)
        ]
    return found


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
        if n in known:
            return exp.Var(this=f"{_MARK}{known[n]}{_MARK}")
        if isinstance(n, exp.Column) and not isinstance(n.this, exp.Star):
            return exp.Var(this=f"{_MARK}{lookup(n)}{_MARK}")
        if isinstance(n, exp.Anonymous) and not is_known_function(n.name):
            name = n.sql(dialect=WholeSpark).partition("(")[0]
            args = _NEXT.join(written(a) for a in n.expressions)
            return exp.Var(this=f"{_CALL}{name}{_CALL}{args}{_END}")
        return n

    def written(n: exp.Expr) -> str:
        text: str = n.copy().transform(place).sql(dialect=WholeSpark)
        return text

    return Expr(tuple(_parts(written(node))))


def _parts(text: str) -> Iterator[str | Col]:
    end = 0
    for match in _PIECES.finditer(text):
        if match.start() > end:
            yield text[end : match.start()]
        end = match.end()
        column, name, between, _ = match.groups()
        if column is not None:
            yield Col(column)
        elif name is not None:
            yield Opening(f"{name}(")
        else:
            yield Between(", ") if between else Closing(")")
    if end < len(text):
        yield text[end:]
