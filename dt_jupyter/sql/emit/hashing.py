"""The content hash of a row: 128 bits over exact bytes, as two 64-bit columns.

NULL-safe and type-tagged by position (a mask of NULLs goes in with the values); −0.0 ≠ 0.0 and
'a' ≠ 'A' under any collation, since zeros are hashed with their text and strings as bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dt_jupyter.ivm import Refusal, refuse
from dt_jupyter.model import quote

_PLAIN = re.compile(
    r"(boolean|tinyint|smallint|int|bigint|date|timestamp|timestamp_ntz|decimal\(\d+,\d+\))\Z"
)
_TEXT = re.compile(r"(string|char|varchar)\b")
_NESTED = "CASE WHEN"
"""How the text of a nested value begins, which is not NULL where the value is."""


def content_hash(
    columns: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]] = ()
) -> tuple[str, str]:
    """Two Spark SQL expressions over columns (name, type); Refused for a type without one.

    Where all columns of `added` are NULL, the hash is that of a row without them: XXHASH64 skips
    NULLs. So rows that were stored before these columns came keep their hashes.
    """
    parts, nulls = [], []
    for name, type_ in columns:
        parts.append(_value(quote(name), type_, name))
        nulls.append(f"CASE WHEN {quote(name)} IS NULL THEN '1' ELSE '0' END")
    mask = f"CONCAT({', '.join(nulls)})" if nulls else "''"
    later = [_if_there(i, name, type_) for i, (name, type_) in enumerate(added)]
    body = ", ".join([mask, *parts, *later])
    return f"XXHASH64({body})", f"XXHASH64('dt', {body})"


def _if_there(number: int, name: str, type_: str) -> str:
    """A column's number and value; NULLs where it is NULL."""
    text, there = _value(quote(name), type_, name), f"CASE WHEN {quote(name)} IS NOT NULL THEN"
    if text.startswith(_NESTED):
        text = f"{there} {text} END"
    return f"{there} '{number}' END, {text}"


def exact_text(text: str, type_: str, name: str) -> str:
    """SQL for an injective text of a value, NULL and nested ones included; Refused for a type
    without one. Texts of several values may be put one behind the other."""
    return _nested(text, type_.lower(), name, 0)


def _value(text: str, type_: str, name: str) -> str:
    kind = type_.lower()
    if _PLAIN.match(kind):
        return text
    if _TEXT.match(kind):
        return f"CAST({text} AS BINARY)"
    if kind in ("float", "double"):
        # The texts of other floats differ by Java's release.
        return f"{text}, CASE WHEN {text} = CAST(0 AS {kind}) THEN CAST({text} AS STRING) END"
    if kind == "binary":
        return text
    return _nested(text, kind, name, 0)


def _nested(text: str, kind: str, name: str, depth: int) -> str:
    """An injective text of a nested value: lengths before parts, 'N' for NULL."""
    if _PLAIN.match(kind) or kind in ("float", "double"):
        return _framed(f"CAST({text} AS STRING)")
    if _TEXT.match(kind) or kind == "binary":
        return _framed(f"HEX(CAST({text} AS BINARY))")
    if kind.startswith("array<"):
        x = f"x{depth}"
        inner = _nested(x, kind[6:-1], name, depth + 1)
        return _listed(text, f"TRANSFORM({text}, {x} -> {inner})")
    if kind.startswith("struct<"):
        fields = [_nested(f"{text}.{quote(f)}", t, name, depth) for f, t in fields_of(kind[7:-1])]
        return f"CASE WHEN {text} IS NULL THEN 'N' ELSE CONCAT('S', {', '.join(fields)}) END"
    if kind.startswith("map<"):
        key, value = split_types(kind[4:-1])
        return _map(text, key, value, name, depth)
    raise refuse(Refusal.TYPE, what=name, type=kind)


def _map(text: str, key: str, value: str, name: str, depth: int) -> str:
    x = f"x{depth}"
    entry = (
        f"CONCAT({_nested(f'{x}.key', key, name, depth + 1)}, "
        f"{_nested(f'{x}.value', value, name, depth + 1)})"
    )
    return _listed(text, f"ARRAY_SORT(TRANSFORM(MAP_ENTRIES({text}), {x} -> {entry}))")


def _listed(text: str, items: str) -> str:
    """The framed items of `text` after their number; NULL is no empty list."""
    framed = f"CONCAT(SIZE({text}), '#', ARRAY_JOIN({items}, ''))"
    return f"CASE WHEN {text} IS NULL THEN 'N' ELSE {framed} END"


def _framed(text: str) -> str:
    return f"COALESCE(CONCAT(LENGTH({text}), ':', {text}), 'N')"


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
