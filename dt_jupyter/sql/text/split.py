"""Scripts into statements, at the semicolons that separate statements."""

from __future__ import annotations

from dataclasses import dataclass, field

from dt_jupyter.sql.text.lex import Token, TokenKind, tokens

_NO_BLOCK = frozenset({"TRANSACTION", "WORK", "NAME"})  # BEGIN … of a transaction
_BLOCK_ENDS = frozenset({"IF", "WHILE", "LOOP", "REPEAT", "FOR"})  # END IF and the like
_OPERAND_FOLLOWS = frozenset({"SELECT", "WHERE", "BY", "AND", "OR", "ON", "NOT", "IN", "AS"})


@dataclass(frozen=True)
class Piece:
    """A statement's part of a script, text[start:end], comments and space around it included.

    `tokens` are its words, with offsets in the script; there are none in an empty piece.
    """

    text: str
    start: int
    end: int
    tokens: tuple[Token, ...] = field(default=(), repr=False, compare=False)


def split(text: str) -> tuple[Piece, ...]:
    """The pieces of a script between its semicolons; `";".join` of their texts is the script.

    Semicolons in strings, names, comments, and in a BEGIN … END block of Spark's SQL scripting
    separate nothing. DT-1001 for a string or comment that does not end.
    """
    words = tokens(text)
    pieces: list[Piece] = []
    first, start = 0, 0
    while first < len(words):
        last = _statement_end(words, first)
        end = words[last].start if last < len(words) else len(text)
        pieces.append(Piece(text[start:end], start, end, tuple(words[first:last])))
        if last == len(words):
            return tuple(pieces)
        first, start = last + 1, end + 1
    return (*pieces, Piece(text[start:], start, len(text)))


def opens_block(words: list[Token] | tuple[Token, ...], first: int) -> bool:
    """Whether a BEGIN … END block of SQL scripting starts at `words[first]`."""
    label = first + 2 < len(words) and words[first + 1].sign(":")
    begin = first + 2 if label else first
    if words[begin].upper != "BEGIN" or begin + 1 >= len(words):
        return False
    return not words[begin + 1].sign(";") and words[begin + 1].upper not in _NO_BLOCK


def _statement_end(words: list[Token], first: int) -> int:
    """The index of the semicolon that ends the statement at `first`, or len(words)."""
    depth, block = 0, _block_start(words, first)
    for index in range(first, len(words)):
        word = words[index]
        if block is not None and index >= block:
            depth += _step(words, index, block)
        if depth <= 0 and word.sign(";"):
            return index
    return len(words)


def _block_start(words: list[Token], first: int) -> int | None:
    """Where the block of a statement begins: a script's is the statement, a task's stands after
    AS."""
    if opens_block(words, first):
        return first
    start = [word.upper for word in words[first : first + 4]]
    if start[:2] != ["ALTER", "TASK"] and not (start[:1] == ["CREATE"] and "TASK" in start[1:]):
        return None
    for index in range(first, len(words) - 1):
        if words[index].sign(";"):
            return None
        if words[index].upper == "AS":
            return index + 1 if opens_block(words, index + 1) else None
    return None


def _step(words: list[Token], index: int, first: int) -> int:
    """How a word of a block changes its depth: BEGIN and CASE open, END closes.

    The other constructs (IF, LOOP, …) need no count: they close with END IF, END LOOP, ….
    """
    keyword = words[index].upper
    if keyword not in ("BEGIN", "CASE", "END"):
        return 0
    before = words[index - 1] if index > first else Token(TokenKind.PUNCT, ";", 0, 0)
    if keyword == "END":
        after = words[index + 1].upper if index + 1 < len(words) else ""
        return 0 if after in _BLOCK_ENDS or _wants_operand(before, ")];") else -1
    if keyword == "CASE":
        return 0 if before.upper == "END" or before.sign(".") else 1
    return 0 if _wants_operand(before, ";:") else 1


def _wants_operand(before: Token, closed: str) -> bool:
    """After such a word `begin` and `end` are columns, not keywords."""
    if before.kind is TokenKind.PUNCT:
        return before.text not in closed
    return before.upper in _OPERAND_FOLLOWS
