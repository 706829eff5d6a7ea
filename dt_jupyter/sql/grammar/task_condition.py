"""The condition of a task: SYSTEM$STREAM_HAS_DATA('s') with AND, OR, NOT and brackets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dt_jupyter.model import DTError, Span, error
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens
from dt_jupyter.sql.text.literals import unquote

HAS_DATA = "SYSTEM$STREAM_HAS_DATA"
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Condition:
    """`operator` is AND, OR or NOT over `operands`; STREAM of the stream `name`, as written; TRUE
    or FALSE."""

    operator: str
    operands: tuple[Condition, ...] = ()
    name: str = ""

    def holds(self, has_data: Callable[[str], bool]) -> bool:
        """Whether it is true where streams hold what `has_data` says; asks for no more of them
        than it needs."""
        match self.operator:
            case "AND":
                return all(o.holds(has_data) for o in self.operands)
            case "OR":
                return any(o.holds(has_data) for o in self.operands)
            case "NOT":
                return not self.operands[0].holds(has_data)
            case "STREAM":
                return has_data(self.name)
        return self.operator == "TRUE"

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that it asks, as written, each once."""
        own = (self.name,) if self.operator == "STREAM" else ()
        return tuple(dict.fromkeys((*own, *(s for o in self.operands for s in o.streams))))


def parse_condition(text: str) -> Condition:
    """DT-3303, placed in the text, for one that is none."""
    return condition_of(text, tokens(text))


def condition_of(script: str, words: Sequence[Token]) -> Condition:
    """As `parse_condition`, of tokens of `script` that are at hand."""
    reader = _Reader(script, words)
    found = reader.any_of(0)
    if reader.index < len(words):
        raise reader.fail("AND or OR is expected")
    return found


class _Reader:
    """Reads from left to right: OR binds less than AND, and that less than NOT."""

    def __init__(self, script: str, words: Sequence[Token]) -> None:
        self.script, self.words, self.index = script, words, 0

    def any_of(self, depth: int) -> Condition:
        return self._joined("OR", self._all_of, depth)

    def _all_of(self, depth: int) -> Condition:
        return self._joined("AND", self._one, depth)

    def _joined(self, word: str, read: Callable[[int], Condition], depth: int) -> Condition:
        found = [read(depth)]
        while self._accept(word):
            found.append(read(depth))
        return found[0] if len(found) == 1 else Condition(word, tuple(found))

    def _one(self, depth: int) -> Condition:
        if depth > _DEEPEST:
            raise self.fail("it is nested too deep")
        if self._accept("NOT"):
            return Condition("NOT", (self._one(depth + 1),))
        for literal in ("TRUE", "FALSE"):
            if self._accept(literal):
                return Condition(literal)
        if self._sign("("):
            found = self.any_of(depth + 1)
            self._expect(")")
            return found
        if not self._accept(HAS_DATA):
            raise self.fail(f"{HAS_DATA}('s') is expected")
        self._expect("(")
        token = self._peek()
        if token is None or token.kind is not TokenKind.STRING:
            raise self.fail("the name of a stream in quotes is expected")
        self.index += 1
        self._expect(")")
        return Condition("STREAM", name=unquote(token.text))

    def _peek(self) -> Token | None:
        return self.words[self.index] if self.index < len(self.words) else None

    def _accept(self, word: str) -> bool:
        token = self._peek()
        found = token is not None and token.upper == word
        self.index += found
        return found

    def _sign(self, sign: str) -> bool:
        token = self._peek()
        found = token is not None and token.sign(sign)
        self.index += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._sign(sign):
            raise self.fail(f"'{sign}' is expected")

    def fail(self, problem: str) -> DTError:
        token = self._peek()
        end = self.words[-1].end if self.words else len(self.script)
        span = Span(end, end) if token is None else token.span
        shown = "the end" if token is None else token.text[:30]
        return error("DT-3303", problem=f"{problem}, not {shown}").at(self.script, span)
