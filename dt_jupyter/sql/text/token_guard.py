"""Limits of what a recursive parser may see (fault 21: bombs), counted in one linear pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dt_jupyter.model import DTError, Span, error
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens


@dataclass(frozen=True, slots=True)
class Limits:
    """Characters; levels of brackets, CASE, generic types and unary signs; set operations,
    AND/OR, operators in one chain (a + b + …, a.b.c…), and digits of a number, which Python too
    converts to some length only."""

    characters: int = 1_000_000
    levels: int = 250
    set_operations: int = 5_000
    conditions: int = 5_000
    chain: int = 1_000
    digits: int = 1_000


DEFINITION = Limits(conditions=1_000, chain=400)
"""An expression of some hundred levels more than that ends the JVM: Spark's tasks read expressions
by recursion, and a stack that overflows in a task is fatal to the process."""
SCRIPT = Limits(characters=2_000_000, digits=2_000_000)  # Spark's own statements may carry data

SET_OPERATIONS = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})
_CONNECTORS = frozenset({"AND", "OR"})
_UNARY = frozenset({"-", "+", "~", "!"})
_GENERIC = frozenset({"ARRAY", "MAP", "STRUCT"})


def guard(text: str, limits: Limits = DEFINITION) -> None:
    """DT-1004 for a text that is too long, too deeply nested or too wide for a parser."""
    guard_length(text, limits)
    guard_tokens(text, tokens(text), limits)


def guard_length(text: str, limits: Limits) -> None:
    if len(text) > limits.characters:
        raise _too("long", f"{len(text):,} characters", limits.characters).at(text, Span(0, 0))


def guard_tokens(text: str, words: Iterable[Token], limits: Limits) -> None:
    """The same for tokens of `text` that are at hand; the length is not looked at."""
    count = _Count(limits)
    for word in words:
        problem = count.add(word)
        if problem:
            raise problem.at(text, word.span)


class _Count:
    """What has been seen so far; `add` answers with the first limit that a word breaks."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.cases = self.types = self.unary = self.sets = self.conditions = 0
        self.chains = [0]  # operators of the chain in progress, per open bracket
        self.before: Token | None = None

    def add(self, word: Token) -> DTError | None:
        if word.kind is TokenKind.WORD:
            self._keyword(word.upper)
        elif word.kind is TokenKind.PUNCT:
            self._sign(word.text)
        else:
            self.unary = 0
        self._chain(word)
        self.before = word
        if word.kind is TokenKind.NUMBER and len(word.text) > self.limits.digits:
            return _wide("digits in a number", self.limits.digits)
        return self._broken()

    def _keyword(self, keyword: str) -> None:
        self.unary = self.unary + 1 if keyword == "NOT" else 0
        if keyword == "CASE":
            self.cases += 1
        elif keyword == "END":
            self.cases = max(0, self.cases - 1)
        elif keyword in _CONNECTORS:
            self.conditions += 1
        elif keyword in SET_OPERATIONS:
            self.sets += 1

    def _sign(self, sign: str) -> None:
        self.unary = self.unary + 1 if sign in _UNARY else 0
        if sign == "<" and self.before and self.before.upper in _GENERIC:
            self.types += 1
        elif sign == ">":
            self.types = max(0, self.types - 1)

    def _chain(self, word: Token) -> None:
        if word.kind is not TokenKind.PUNCT:
            before = self.before
            if before and (before.kind is not TokenKind.PUNCT or before.text in ")]}"):
                self.chains[-1] = 0  # two operands side by side: another clause begins
        elif word.text in "([{":
            if word.text == "[":
                self.chains[-1] += 1
            self.chains.append(0)
        elif word.text in ")]}":
            if len(self.chains) > 1:
                self.chains.pop()
        elif word.text in (",", ";"):
            self.chains[-1] = 0
        else:
            self.chains[-1] += 1

    def _broken(self) -> DTError | None:
        limits = self.limits
        levels = limits.levels
        if len(self.chains) - 1 + self.cases + self.types > levels or self.unary > levels:
            return _too("deeply nested", f"more than {levels:,} levels", levels)
        if self.sets > limits.set_operations:
            return _wide("set operations", limits.set_operations)
        if self.conditions > limits.conditions:
            return _wide("conditions", limits.conditions)
        if self.chains[-1] > limits.chain:
            return _wide("operators in one expression", limits.chain)
        return None


def _wide(what: str, limit: int) -> DTError:
    return _too("wide", f"more than {limit:,} {what}", limit)


def _too(what: str, size: str, limit: int) -> DTError:
    return error("DT-1004", what=what, size=size, limit=f"{limit:,}")
