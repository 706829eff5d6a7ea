"""Where a text names a common table expression that may read itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dt_jupyter.model import Span
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens
from dt_jupyter.sql.text.literals import unquote


def recursive_tables(text: str) -> Iterator[tuple[str, Span]]:
    """The names that a WITH RECURSIVE gives, the first of each clause surely among them."""
    words = tokens(text)
    for i in range(2, len(words)):
        if _follows(words, i, "WITH", "RECURSIVE") or _is_named_further(words, i):
            name = words[i]
            plain = unquote(name.text) if name.kind is TokenKind.QUOTED else name.text
            yield plain, name.span


def recursive_place(text: str, name: str) -> Span | None:
    """Where the common table `name` of a WITH RECURSIVE is named."""
    named = (span for found, span in recursive_tables(text) if found.lower() == name.lower())
    return next(named, None)


def _is_named_further(words: Sequence[Token], index: int) -> bool:
    """Whether `), name` stands there in a text that has a WITH RECURSIVE before."""
    comma = words[index - 1].sign(",") and words[index - 2].sign(")")
    return comma and any(_follows(words, i, "WITH", "RECURSIVE") for i in range(2, index))


def _follows(words: Sequence[Token], index: int, *before: str) -> bool:
    return tuple(w.upper for w in words[index - len(before) : index]) == before
