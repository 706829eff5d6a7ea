"""Which functions a text calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dt_jupyter.sql.text.lex import Token, TokenKind, tokens

_NAMES = frozenset((TokenKind.WORD, TokenKind.QUOTED))


def called_functions(text: str) -> frozenset[str]:
    """The names before a bracket, in lower case: of functions, and perhaps of others."""
    words = tokens(text)
    found = [i for i, (w, after) in enumerate(pairwise(words)) if _is_name(w, after)]
    names = {i: words[i].text.strip("`").lower() for i in found}
    return frozenset(n for i, n in names.items() if n != "identifier" or _is_called(words, i + 1))


def _is_name(word: Token, after: Token) -> bool:
    return word.kind in _NAMES and after.sign("(")


def _is_called(words: Sequence[Token], opening: int) -> bool:
    """Whether another bracket follows the one that opens there: IDENTIFIER('f')(x)."""
    depth = 0
    for i in range(opening, len(words) - 1):
        depth += words[i].sign("(") - words[i].sign(")")
        if not depth:
            return words[i + 1].sign("(")
    return False
