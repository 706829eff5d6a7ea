"""Spark's SQL as sqlglot reads it, where its own reading drops an argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.spark import Spark

_PICKS = {
    "ANY_VALUE": exp.AnyValue,
    "FIRST": exp.First,
    "FIRST_VALUE": exp.FirstValue,
    "LAST": exp.Last,
    "LAST_VALUE": exp.LastValue,
}


def _pick(name: str, kind: type[exp.Func]) -> Callable[[Sequence[exp.Expr]], exp.Expr]:
    """A second argument says whether NULLs are passed over."""

    def build(args: Sequence[exp.Expr]) -> exp.Expr:
        call = kind(this=args[0]) if args else exp.Anonymous(this=name, expressions=[])
        if len(args) < 2:
            return call
        if len(args) > 2 or not isinstance(args[1], exp.Boolean):
            return exp.Anonymous(this=name, expressions=list(args))
        return exp.IgnoreNulls(this=call) if args[1].this else exp.RespectNulls(this=call)

    return build


def _whole(name: str, kind: type[exp.Func]) -> Callable[[Sequence[exp.Expr]], exp.Expr]:
    """A third argument says how often a row counts, or how many are taken."""

    def build(args: Sequence[exp.Expr]) -> exp.Expr:
        if len(args) != 2:
            return exp.Anonymous(this=name, expressions=list(args))
        return kind.from_arg_list(list(args))

    return build


class _Percentile:
    """In the place of the class of a call, for a parser that makes a call of a class."""

    from_arg_list = staticmethod(_whole("PERCENTILE", exp.Quantile))


_SUFFIXED = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.BIGINT)


def _negative(parser: Any) -> Any:
    """`-128Y` is one literal: 128 is none of its type."""
    follows = parser._curr is not None and parser._curr.token_type is TokenType.NUMBER
    made = _Parser.UNARY_PARSERS[TokenType.DASH](parser)
    cast = made.this if follows and isinstance(made, exp.Neg) else None
    if not (isinstance(cast, exp.TryCast) and isinstance(cast.this, exp.Literal)):
        return made
    if cast.this.is_string or not cast.is_type(*_SUFFIXED):
        return made
    cast.set("this", exp.Neg(this=cast.this))
    return cast


_Parser: Any = Spark.Parser  # in some versions of sqlglot a class, in others a name of one


class WholeSpark(Spark):
    """Spark with calls and negative numbers whole, with `window` as a name where no WINDOW clause
    begins, and with the alias of a sampled subquery."""

    def tokenize(self, sql: str, *args: Any, **opts: Any) -> list[Any]:
        tokens = list(super().tokenize(sql, *args, **opts))
        kinds = [t.token_type for t in tokens]
        for i, token in enumerate(tokens):
            if kinds[i] is TokenType.WINDOW and kinds[i + 2 : i + 3] != [TokenType.ALIAS]:
                token.token_type = TokenType.VAR
        return tokens

    class Parser(_Parser):  # type: ignore[misc]
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {
            **_Parser.FUNCTIONS,
            **{name: _pick(name, kind) for name, kind in _PICKS.items()},
            "MAX_BY": _whole("MAX_BY", exp.ArgMax),
            "MIN_BY": _whole("MIN_BY", exp.ArgMin),
        }
        UNARY_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
            **_Parser.UNARY_PARSERS,
            TokenType.DASH: _negative,
        }
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            **{k: v for k, v in _Parser.FUNCTION_PARSERS.items() if k not in ("MAX_BY", "MIN_BY")},
            "PERCENTILE": lambda self: self._parse_distinct_arg_function(_Percentile),
        }

        def _parse_subquery(self, this: Any, parse_alias: bool = True) -> Any:
            """A name that stands behind a sample is read too."""
            found = super()._parse_subquery(this, parse_alias)
            if found is not None and parse_alias and found.args.get("sample") and not found.alias:
                found.set("alias", self._parse_table_alias())
            return found
