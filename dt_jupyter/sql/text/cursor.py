"""A place in a statement's tokens, and the errors that point there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from dt_jupyter.model import DTError, Name, Span, did_you_mean, error
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.sql.text.lex import Token, TokenKind
from dt_jupyter.sql.text.literals import unquote

T = TypeVar("T")
_KEYWORD = re.compile(r"\b[A-Z_]{2,}\b")
CATALOG = "spark_catalog"
_PARTS = 3  # catalog, schema, table
_SHOWN = 30  # characters of a word in an error
_NOT_A_NAME = frozenset({"AS", "SELECT", "FROM", "WHERE"})  # a name was left out before these


class Cursor:
    """Reads the tokens of one statement from left to right.

    `script` is the whole text, for errors; `statement` how errors name the statement; `places`
    collects the spans of what was read.
    """

    def __init__(self, script: str, words: Sequence[Token], current_schema: str) -> None:
        self.script = script
        self.words = words
        self.current_schema = current_schema
        self.index = 0
        self.statement = "the statement"
        self.places: dict[str, Span] = {}
        at = words[-1].end if words else len(script)
        self._end = Token(TokenKind.END, "", at, at)

    def peek(self, ahead: int = 0) -> Token:
        index = self.index + ahead
        return self.words[index] if index < len(self.words) else self._end

    @property
    def done(self) -> bool:
        return self.index >= len(self.words)

    def next(self) -> Token:
        token = self.peek()
        self.index += 1
        return token

    def at_words(self, *keywords: str) -> bool:
        return all(self.peek(i).upper == keyword for i, keyword in enumerate(keywords))

    def accept(self, *keywords: str) -> bool:
        """Steps over the keywords if they stand here."""
        if not self.at_words(*keywords):
            return False
        self.index += len(keywords)
        return True

    def accept_sign(self, sign: str) -> bool:
        if not self.peek().sign(sign):
            return False
        self.index += 1
        return True

    def expect_sign(self, sign: str, hint: str) -> Token:
        if not self.peek().sign(sign):
            raise self.expected(repr(sign), hint)
        return self.next()

    def finish(self, hint: str) -> None:
        """DT-1001 when something is left."""
        if not self.done:
            raise self.fail(f"{self.shown()} is not expected here", hint)

    def shown(self) -> str:
        token = self.peek()
        if token.kind is TokenKind.END:
            return "the end"
        text = token.text if len(token.text) <= _SHOWN else token.text[: _SHOWN - 1] + "…"
        return repr(text) if "'" not in text else text

    def expected(self, what: str, hint: str) -> DTError:
        """DT-1001 with the keyword of `what` and `hint` that the next word nearly is."""
        word, known = self.peek().upper, _KEYWORD.findall(f"{what} {hint}")
        near = did_you_mean(word, known) if word and word not in known else ""
        return self.fail(f"{what} is expected, not {self.shown()}", f"{near} {hint}".strip())

    def fail(self, problem: str, hint: str, span: Span | None = None) -> DTError:
        """DT-1001 at `span`, else at the next token."""
        return error("DT-1001", problem=problem, hint=hint).at(
            self.script, span or self.peek().span
        )

    def placed(self, span: Span, make: Callable[[], T]) -> T:
        """What `make` gives; an error of it is placed at `span`."""
        try:
            return make()
        except DTError as problem:
            raise problem.at(self.script, span) from None

    def identifier(self, what: str) -> tuple[str, Span]:
        """An identifier, bare or backquoted, and where it stands; DT-1001, DT-1114."""
        token = self.peek()
        hint = f"Give {what}; anything but letters, digits and _ needs `backquotes`."
        bare = token.kind is TokenKind.WORD and "$" not in token.text
        if not bare and token.kind is not TokenKind.QUOTED:
            raise self.expected(what, hint)
        if bare and (token.upper in _NOT_A_NAME or self.peek(1).sign("=")):
            raise self.expected(what, hint)
        value = unquote(token.text) if token.kind is TokenKind.QUOTED else token.text
        if not value or "\0" in value:
            raise self.fail(f"{what} is empty or has a NUL character", hint)
        if is_hidden(value):
            raise error("DT-1114", name=value).at(self.script, token.span)
        after = self.peek(1)
        if bare and after.sign("-") and after.start == token.end:
            raise self.fail(f"{what} has a '-'", hint, Span(token.start, after.end))
        self.index += 1
        return value, token.span

    def name(self, what: str, key: str = "name") -> Name:
        """A name of one, two or three parts; `places[key]` is set.

        DT-1001 for a catalog other than Spark's session catalog.
        """
        part, span = self.identifier(what)
        parts = [part]
        while self.accept_sign("."):
            part, last = self.identifier(f"the next part of {what}")
            parts.append(part)
            span = Span(span.start, last.end)
        self.places[key] = span
        hint = "Write it as table, schema.table or spark_catalog.schema.table."
        if len(parts) > _PARTS:
            raise self.fail(f"{what} has {len(parts)} parts", hint, span)
        if len(parts) == _PARTS and parts[0].lower() != CATALOG:
            raise self.fail(f"{parts[0]} is not Spark's session catalog", hint, span)
        schema = parts[-2] if len(parts) > 1 else self.current_schema
        return Name(schema, parts[-1])

    def string(self, what: str, hint: str) -> str:
        if self.peek().kind is not TokenKind.STRING:
            raise self.expected(what, hint)
        return unquote(self.next().text)
