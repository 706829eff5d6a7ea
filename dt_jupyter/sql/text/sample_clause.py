"""Where the TABLESAMPLE of a relation ends: an alias stands behind it."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.sql.text.lex import Token, tokens

_SAMPLE = "TABLESAMPLE"


def after_sample(text: str, end: int) -> int:
    """The offset after the TABLESAMPLE that follows at `end`; `end` where there is none."""
    if _SAMPLE not in text[end:].upper():
        return end
    words = tokens(text, end)
    if words[0].upper != _SAMPLE:
        return end
    last = _closing(words, 1)
    if last + 1 < len(words) and words[last + 1].upper == "REPEATABLE":
        last = _closing(words, last + 2)
    return words[last].end


def _closing(words: Sequence[Token], opening: int) -> int:
    """The index of the bracket that closes the one there; of the last word where none does."""
    depth = 0
    for i in range(opening, len(words)):
        depth += words[i].sign("(") - words[i].sign(")")
        if depth == 0:
            return i
    return len(words) - 1
