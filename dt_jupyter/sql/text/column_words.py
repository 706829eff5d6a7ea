"""Which words of an expression may be columns."""

from __future__ import annotations

from itertools import pairwise

from dt_jupyter.sql.text.lex import Token, TokenKind, tokens
from dt_jupyter.sql.text.literals import unquote

_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
_LITERALS = (TokenKind.NUMBER, TokenKind.STRING)
_NONE = Token(TokenKind.END, "", 0, 0)


def column_words(text: str) -> frozenset[str]:
    """The words of an expression that may name columns or fields of them, in lower case, and some
    keywords. Names of functions and types are not among them, nor the units of intervals."""
    words = [_NONE, *tokens(text), _NONE]
    places = zip(pairwise(words), words[2:], strict=False)
    found = (word for (before, word), after in places if _may_be_column(before, word, after))
    return frozenset(
        (unquote(w.text) if w.kind is TokenKind.QUOTED else w.text).lower() for w in found
    )


def _may_be_column(before: Token, word: Token, after: Token) -> bool:
    is_unit = before.kind in _LITERALS or before.upper == "TO"
    is_typed = after.kind is TokenKind.STRING and word.kind is TokenKind.WORD
    return word.kind in _NAMES and not (
        is_unit or is_typed or after.sign("(") or before.upper == "AS"
    )
