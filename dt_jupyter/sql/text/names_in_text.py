"""What a text says of names beside naming them: `IDENTIFIER('t')`, and the value that SET gives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dt_jupyter.model import DTError, Span, error, quote
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens
from dt_jupyter.sql.text.literals import unquote

_SET = re.compile(r"SET\s+`?(?P<key>[\w.\-]+)`?\s*=\s*(?P<value>.*)", re.IGNORECASE | re.DOTALL)
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)


def set_by(statement: str) -> dict[str, str]:
    """The conf that a SET statement sets, with its value; nothing for another statement."""
    found = _SET.fullmatch(statement.strip())
    return {found["key"]: found["value"].strip()} if found else {}


def resolve_identifiers(
    text: str, values: Mapping[str, Any] = MappingProxyType({}), *, strict: bool = True
) -> str:
    """The text with the name itself in the place of each IDENTIFIER of string literals, and of
    `:parameters` whose `values` are strings.

    DT-1156 for IDENTIFIER of another expression; such ones stay where `strict` is False.
    """
    if "IDENTIFIER" not in text.upper():
        return text
    for span, inner in reversed(list(_calls(tokens(text)))):
        name = _name_of(inner, values)
        if name is not None:
            text = text[: span.start] + name + text[span.end :]
        elif strict:
            given = text[inner[0].start : inner[-1].end] if inner else ""
            raise error("DT-1156", given=given).at(text, span)
    return text


def _calls(words: Sequence[Token]) -> Iterator[tuple[Span, Sequence[Token]]]:
    """Each IDENTIFIER(…), with the words between its brackets."""
    for i, word in enumerate(words[:-1]):
        named = word.upper == "IDENTIFIER" and words[i + 1].sign("(")
        if named and not (i and words[i - 1].sign(".")):
            end = _closing(words, i + 1)
            yield Span(word.start, words[end].end), words[i + 2 : end]


def _closing(words: Sequence[Token], opening: int) -> int:
    depth = 0
    for i in range(opening, len(words)):
        depth += words[i].sign("(") - words[i].sign(")")
        if depth == 0:
            return i
    return len(words) - 1


def _name_of(inner: Sequence[Token], values: Mapping[str, Any]) -> str | None:
    """The quoted name that string literals and parameters, perhaps joined by ||, are the text
    of."""
    texts: list[str] = []
    for before, word in zip((None, *inner), inner, strict=False):
        if before is not None and before.sign(":") and isinstance(values.get(word.text), str):
            texts.append(values[word.text])
        elif word.kind is TokenKind.STRING:
            texts.append(unquote(word.text))
        elif not (word.sign("|") or word.sign(":")):
            return None
    try:
        parts = tokens("".join(texts))
    except DTError:
        return None
    names, dots = parts[::2], parts[1::2]
    if len(names) != len(dots) + 1 or not all(d.sign(".") for d in dots):
        return None
    if not all(n.kind in _NAMES for n in names):
        return None
    return ".".join(quote(unquote(n.text) if n.kind is TokenKind.QUOTED else n.text) for n in names)
