"""Functions of the user's in a text: which it calls, and which names are free for them."""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from dt_jupyter.sql.text.lex import TokenKind, tokens

_NAMES = frozenset((TokenKind.WORD, TokenKind.QUOTED))
_MOST_ARGUMENTS = 4


def is_free_function(name: str) -> bool:
    """Whether a call of that name is one of a function that the reader of SQL does not know, with
    any number of arguments: it puts others in a form of its own."""
    try:
        trees = [
            parse_one(f"{name}({', '.join('abcd'[:n])})", dialect="spark")
            for n in range(_MOST_ARGUMENTS + 1)
        ]
    except SqlglotError:
        return False
    return all(isinstance(t, exp.Anonymous) and t.name.lower() == name for t in trees)


def called_functions(text: str) -> frozenset[str]:
    """The names before a bracket, in lower case: of functions, and perhaps of others."""
    words = tokens(text)
    return frozenset(
        word.text.strip("`").lower()
        for word, after in pairwise(words)
        if word.kind in _NAMES and after.sign("(")
    )
