"""`BEGIN statement; statement; END`: the body of a task that is one transaction."""

from __future__ import annotations

from dt_jupyter.sql.text.lex import tokens


def block_script(text: str) -> str | None:
    """The statements of a block, each at its place in `text`: blanks in the place of BEGIN, and
    nothing in that of END. None where the text is no block."""
    words = tokens(text)
    if not words or (words[0].upper, words[-1].upper) != ("BEGIN", "END"):
        return None
    start = words[0].end
    return " " * start + text[start : words[-1].start]
