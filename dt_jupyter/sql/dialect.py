"""Spark's SQL as sqlglot reads and writes it, where its own way drops or changes something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import groupconcat_sql
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from dt_jupyter.ivm import SUPPORTED, UNRULED
from dt_jupyter.model import DTError
from dt_jupyter.sql.text.literals import escape_quotes

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


def _with_escaped_quotes(sql: str) -> str:
    """`'it''s'` as `'it\\'s'`, which has as many characters: sqlglot takes it for two texts.
    TokenError for a text that does not end, as of sqlglot itself."""
    try:
        return escape_quotes(sql)
    except DTError as e:
        raise TokenError(str(e)) from None


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


# In some versions of sqlglot classes, in others names of them.
_Parser: Any = Spark.Parser
_Generator: Any = Spark.Generator


def _one_interval(total: exp.Add) -> exp.Interval:
    """`INTERVAL 1 DAY 2 HOURS` as one literal: of the sum that sqlglot makes of it a minus before
    it would subtract the days and add the hours."""
    first, *others = total.flatten()
    parts = [first.text("unit"), *(f"'{o.name}' {o.text('unit')}" for o in others)]
    return exp.Interval(this=first.this, unit=exp.Var(this=" ".join(parts)))


_SHIFTS: tuple[tuple[TokenType, type[exp.Binary]], ...] = (
    (TokenType.LT, exp.BitwiseLeftShift),
    (TokenType.GT, exp.BitwiseRightShift),
)
_BITWISE: tuple[tuple[TokenType, type[exp.Binary]], ...] = (
    (TokenType.AMP, exp.BitwiseAnd),
    (TokenType.CARET, exp.BitwiseXor),
    (TokenType.PIPE, exp.BitwiseOr),
)


class WholeSpark(Spark):
    """Spark with calls and negative numbers whole, with `window` as a name where no WINDOW clause
    begins, with the alias of a sampled subquery, and with times of the day. `||` binds as `+` does,
    and `=` as `<` does: each the term to its left."""

    def tokenize(self, sql: str, *args: Any, **opts: Any) -> list[Any]:
        found = list(super().tokenize(_with_escaped_quotes(sql), *args, **opts))
        kinds = [t.token_type for t in found]
        for i, token in enumerate(found):
            if kinds[i] is TokenType.WINDOW and kinds[i + 2 : i + 3] != [TokenType.ALIAS]:
                token.token_type = TokenType.VAR
        return found

    class Parser(_Parser):  # type: ignore[misc]
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {
            **_Parser.FUNCTIONS,
            **{name: _pick(name, kind) for name, kind in _PICKS.items()},
            "MAX_BY": _whole("MAX_BY", exp.ArgMax),
            "MIN_BY": _whole("MIN_BY", exp.ArgMin),
        }
        TERM: ClassVar[dict[TokenType, type[exp.Expr]]] = {
            **_Parser.TERM,
            TokenType.DPIPE: exp.DPipe,
        }
        COMPARISON: ClassVar[dict[TokenType, type[exp.Expr]]] = {
            **_Parser.COMPARISON,
            **_Parser.EQUALITY,
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

        def _parse_bitwise(self) -> Any:
            """`|` binds less than `^`, that less than `&`, and that less than a shift."""
            return self._parse_level(len(_BITWISE))

        def _parse_level(self, level: int) -> Any:
            if not level:
                return self._parse_shifts()
            sign, kind = _BITWISE[level - 1]
            found = self._parse_level(level - 1)
            while self._match(sign):
                found = self.expression(kind(this=found, expression=self._parse_level(level - 1)))
            return found

        def _parse_shifts(self) -> Any:
            found = self._parse_term()
            while kind := next((k for t, k in _SHIFTS if self._match_pair(t, t)), None):
                found = self.expression(kind(this=found, expression=self._parse_term()))
            return found

        def _parse_interval(self, *args: Any, **opts: Any) -> Any:
            found = super()._parse_interval(*args, **opts)
            return _one_interval(found) if isinstance(found, exp.Add) else found

    class Generator(_Generator):  # type: ignore[misc]
        TYPE_MAPPING: ClassVar[dict[Any, str]] = {
            **_Generator.TYPE_MAPPING,
            exp.DType.TIME: "TIME",
        }
        TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
            **_Generator.TRANSFORMS,
            exp.GroupConcat: lambda self, node: groupconcat_sql(self, node, sep=None),
        }

        def cast_sql(self, node: Any, *args: Any, **opts: Any) -> str:
            """TIME'10:00' is a literal: Spark has no cast for it."""
            if type(node) is exp.Cast and node.is_type(exp.DType.TIME) and node.this.is_string:
                return f"TIME {self.sql(node, 'this')}"
            return str(super().cast_sql(node, *args, **opts))


BY_CLASS = frozenset(name.upper() for name in SUPPORTED | UNRULED.keys()) | {
    "ANY", "SOME", "EVERY", "LOGICAL_OR", "LOGICAL_AND", "STRING_AGG", "GROUPING", "GROUPING_ID",
    "EXPLODE", "EXPLODE_OUTER", "POSEXPLODE", "POSEXPLODE_OUTER", "INLINE", "INLINE_OUTER", "STACK",
    "LAG", "LEAD", "NTILE", "NTH_VALUE", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST",
    "ROW_NUMBER", "EXISTS", "STRUCT", "ARRAY",
}  # fmt: skip
"""The calls of which our rules ask the class, or sqlglot's parser the name: `array(1, 2)[0]`."""
_OF_UNITS = (
    "DATEADD", "DATE_ADD", "TIMESTAMPADD", "DATEDIFF", "DATE_DIFF", "TIMEDIFF", "TIMESTAMPDIFF",
)  # fmt: skip
"""The calls whose first argument of three is a unit: `dateadd(DAY, 1, x)`."""


def _call(name: str) -> Callable[[Sequence[exp.Expr]], exp.Expr]:
    def build(args: Sequence[exp.Expr]) -> exp.Expr:
        given = list(args)
        if name in _OF_UNITS and len(given) == 3 and isinstance(given[0], exp.Column):
            given[0] = exp.Var(this=given[0].name.upper())
        return exp.Anonymous(this=name, expressions=given)

    return build


class SparkAsWritten(WholeSpark):
    """Spark's calls under the names and with the arguments that they are written with. What sqlglot
    makes of them for other dialects loses some (PARSE_JSON, the format of TO_CHAR) and reads others
    as it would be read elsewhere (a column as the unit of DATE_TRUNC)."""

    class Parser(WholeSpark.Parser):
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {
            name: build if name in BY_CLASS else _call(name)
            for name, build in WholeSpark.Parser.FUNCTIONS.items()
        }
