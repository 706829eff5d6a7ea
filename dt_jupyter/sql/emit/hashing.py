"""The content hash of a row: 128 bits over exact bytes, as two 64-bit columns.

NULL-safe and type-tagged by position (a mask of NULLs goes in with the values); −0.0 ≠ 0.0 and
'a' ≠ 'A' under any collation, since zeros are hashed with their text and strings as bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dt_jupyter.ivm import (
    Call,
    Case,
    Cast,
    Expr,
    Literal,
    Postfix,
    Raw,
    Refusal,
    case,
    col,
    equality,
    refuse,
)
from dt_jupyter.model import quote

_PLAIN = re.compile(
    r"(boolean|tinyint|smallint|int|bigint|date|timestamp|timestamp_ntz|decimal\(\d+,\d+\))\Z"
)
_TEXT = re.compile(r"(string|char|varchar)\b")


def content_hash(
    columns: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]] = ()
) -> tuple[str, str]:
    """The text of `hash_calls`."""
    one, other = hash_calls(columns, added)
    return one.sql(quote), other.sql(quote)


def hash_calls(
    columns: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]] = ()
) -> tuple[Expr, Expr]:
    """Two expressions over columns (name, type); Refused for a type without one.

    Where all columns of `added` are NULL, the hash is that of a row without them: XXHASH64 skips
    NULLs. So rows that were stored before these columns came keep their hashes.
    """
    values = _hashed(columns, added)
    return Call("XXHASH64", values), Call("XXHASH64", (Literal("'dt'"), *values))


def _hashed(
    columns: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]]
) -> tuple[Expr, ...]:
    """The arguments of the hash: which columns are NULL, and their values."""
    parts, nulls = list[Expr](), list[Expr]()
    for name, type_ in columns:
        x = col(name)
        parts += _value(x, type_, name)
        nulls.append(case(Postfix(x, "IS NULL"), Literal("'1'"), Literal("'0'")))
    mask = Call("CONCAT", tuple(nulls)) if nulls else Literal("''")
    later = [e for i, (name, type_) in enumerate(added) for e in _if_there(i, name, type_)]
    return (mask, *parts, *later)


def _if_there(number: int, name: str, type_: str) -> tuple[Expr, ...]:
    """A column's number and value; NULLs where it is NULL, as text of a nested value is not."""
    there, values = Postfix(col(name), "IS NOT NULL"), _value(col(name), type_, name)
    if isinstance(values[0], Case):
        values = (case(there, values[0]),)
    return (case(there, Literal(f"'{number}'")), *values)


def exact_text(x: Expr, type_: str, name: str) -> Expr:
    """An injective text of a value, NULL and nested ones included; Refused for a type without one.
    Texts of several values may be put one behind the other."""
    return _nested(x, type_.lower(), name, 0)


def _value(x: Expr, type_: str, name: str) -> tuple[Expr, ...]:
    kind = type_.lower()
    if _PLAIN.match(kind) or kind == "binary":
        return (x,)
    if _TEXT.match(kind):
        return (Cast(x, "BINARY"),)
    if kind in ("float", "double"):
        # The texts of other floats differ by Java's release.
        return x, case(equality(x, Cast(Literal("0"), kind)), Cast(x, "STRING"))
    return (_nested(x, kind, name, 0),)


def _nested(x: Expr, kind: str, name: str, depth: int) -> Expr:
    """An injective text of a nested value: lengths before parts, 'N' for NULL."""
    if _PLAIN.match(kind) or kind in ("float", "double"):
        return _framed(Cast(x, "STRING"))
    if _TEXT.match(kind) or kind == "binary":
        return _framed(Call("HEX", (Cast(x, "BINARY"),)))
    if kind.startswith("array<"):
        inner = _nested(Raw((f"x{depth}",)), kind[6:-1], name, depth + 1)
        return _listed(x, Call("TRANSFORM", (x, Raw((f"x{depth} -> ", inner)))))
    if kind.startswith("struct<"):
        fields = (_nested(_field(x, quote(f)), t, name, depth) for f, t in fields_of(kind[7:-1]))
        return _or_null(x, Call("CONCAT", (Literal("'S'"), *fields)))
    if kind.startswith("map<"):
        return _map(x, split_types(kind[4:-1]), name, depth)
    raise refuse(Refusal.TYPE, what=name, type=kind)


def _map(x: Expr, types: list[str], name: str, depth: int) -> Expr:
    both = zip(("key", "value"), types, strict=True)
    parts = (_nested(Raw((f"x{depth}.{part}",)), t, name, depth + 1) for part, t in both)
    entry = Raw((f"x{depth} -> ", Call("CONCAT", tuple(parts))))
    entries = Call("TRANSFORM", (Call("MAP_ENTRIES", (x,)), entry))
    return _listed(x, Call("ARRAY_SORT", (entries,)))


def _field(x: Expr, name: str) -> Expr:
    return Raw((x, f".{name}"))


def _or_null(x: Expr, text: Expr) -> Expr:
    return case(Postfix(x, "IS NULL"), Literal("'N'"), text)


def _listed(x: Expr, items: Expr) -> Expr:
    """The framed items of `x` after their number; NULL is no empty list."""
    joined = Call("ARRAY_JOIN", (items, Literal("''")))
    return _or_null(x, Call("CONCAT", (Call("SIZE", (x,)), Literal("'#'"), joined)))


def _framed(text: Expr) -> Expr:
    framed = Call("CONCAT", (Call("LENGTH", (text,)), Literal("':'"), text))
    return Call("COALESCE", (framed, Literal("'N'")))


def split_types(body: str) -> list[str]:
    """The parts of `int,map<string,int>` between the commas of the top level."""
    parts, depth, start = [], 0, 0
    for i, ch in enumerate(body + ","):
        if ch in "<(":
            depth += 1
        elif ch in ">)":
            depth -= 1
        elif ch == "," and depth == 0:
            parts.append(body[start:i])
            start = i + 1
    return parts


def fields_of(body: str) -> list[tuple[str, str]]:
    """The fields (name, type) of `a:int,b:struct<c:int>`."""
    pairs = (part.partition(":") for part in split_types(body))
    return [(name.strip("`"), type_) for name, _, type_ in pairs]
