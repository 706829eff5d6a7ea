"""Whether an expression turns nearly equal floats into nearly equal values.

A floating aggregate that is computed again may differ in its last bits. What only moves by as much
may depend on it; what decides by it (a comparison, a rounding, a cast to an integer) may come to
another value. A form that is not listed here decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dt_jupyter.ivm.expr import Col, Expr

CONTINUOUS = frozenset({
    "ABS", "ASINH", "ATAN", "CBRT", "COS", "COSH", "DEGREES", "DOUBLE", "EXP", "EXPM1", "FLOAT",
    "LN", "LOG", "LOG10", "LOG1P", "LOG2", "NEGATIVE", "POSITIVE", "RADIANS", "SIN", "SINH", "SQRT",
    "TAN", "TANH",
})  # fmt: skip
"""Functions of one number. A test moves the argument of each by 1e-12 and compares the values."""
_OF_SEVERAL = frozenset({
    "ARRAY", "GREATEST", "HYPOT", "LEAST", "NAMED_STRUCT", "TRY_ADD", "TRY_MULTIPLY",
    "TRY_SUBTRACT",
})  # fmt: skip
_BY_FIRST = frozenset({"POW", "POWER", "TRY_DIVIDE"})
"""Functions of two numbers that move with their first alone: a second one decides."""
_FIRST_NOT_NULL = frozenset({"COALESCE", "IFNULL", "NVL"})
_FLOATS = frozenset({"DOUBLE", "FLOAT", "REAL"})
_OPERATORS = frozenset("+-*/.")
_CONNECTORS = frozenset({"AND", "OR", "NOT"})
_KEYWORDS = _CONNECTORS | {"IS", "IN", "LIKE", "BETWEEN", "WHEN", "THEN", "ELSE", "CASE", "DIV"}
_WORDS = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\w*|[\w$]+"""
    r"""|<=>|<>|[<>!=]=|\|\||->|::|[^\s\w]""",
    re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "CASE": "END"}


@dataclass(frozen=True)
class _Group:
    """What stands in brackets, or from CASE to END: `name` is the function's, "" of plain brackets,
    `args` are the parts between commas."""

    name: str
    args: tuple[tuple[_Item, ...], ...]


_Item = str | Col | _Group
_Items = Sequence[_Item]


def decider_in(e: Expr, unstable: frozenset[str]) -> str | None:
    """What in an expression decides by columns that are equal only within a tolerance; None where
    it moves by no more than they do."""
    return _Judge(unstable).value(_nested(e))


def only_null_tests(e: Expr, unstable: frozenset[str]) -> bool:
    """Whether an expression depends on those columns only by whether they are NULL."""
    return _Judge(unstable).condition(_nested(e)) is None


# -- the text as a tree ----------------------------------------------------------------------------


def _words(e: Expr) -> Iterator[str | Col]:
    for part in e.parts:
        if isinstance(part, Col):
            yield part
        else:
            yield from _WORDS.findall(part)


def _nested(e: Expr) -> _Items:
    items, _ = _read(list(_words(e)), 0, "")
    return items[0]


def _read(words: Sequence[str | Col], at: int, end: str) -> tuple[list[list[_Item]], int]:
    """The parts up to the closing word, and where they end."""
    args: list[list[_Item]] = [[]]
    while at < len(words):
        word = words[at]
        upper = word.upper() if isinstance(word, str) else ""
        if end and upper == end:
            return args, at
        if upper in _CLOSING:
            inner, at = _read(words, at + 1, _CLOSING[upper])
            name = upper if upper != "(" else _called(args[-1])
            args[-1].append(_Group(name, tuple(map(tuple, inner))))
        elif upper == "," and end:
            args.append([])
        else:
            args[-1].append(word)
        at += 1
    return args, at


def _called(before: list[_Item]) -> str:
    """The function whose name stands before a bracket, which is taken from there."""
    last = before[-1] if before else None
    is_name = isinstance(last, str) and re.fullmatch(r"`?\w+`?", last) is not None
    if not isinstance(last, str) or not is_name or last.upper() in _KEYWORDS:
        return ""
    before.pop()
    return last.strip("`").upper()


# -- what decides ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Judge:
    """By the columns that are `unstable`: each method gives the name of what decides."""

    unstable: frozenset[str]

    def reads(self, items: _Items) -> bool:
        return any(
            i.id in self.unstable
            if isinstance(i, Col)
            else isinstance(i, _Group) and any(map(self.reads, i.args))
            for i in items
        )

    def value(self, items: _Items) -> str | None:
        if not self.reads(items):
            return None
        for item in items:
            if isinstance(item, _Group):
                found = self.group(item)
            else:
                plain = isinstance(item, Col) or item in _OPERATORS or _is_constant(item)
                found = None if plain else str(item)
            if found is not None:
                return None if found == "IS" and self.condition(items) is None else found
        return None

    def group(self, group: _Group) -> str | None:
        rule = _RULES.get(group.name)
        if rule is not None:
            return rule(self, group)
        if group.name in CONTINUOUS | _OF_SEVERAL or not group.name:
            return self.first(map(self.value, group.args))
        return self.decides(group)

    def decides(self, group: _Group) -> str | None:
        named = f"{group.name.lower()}()" if group.name.isidentifier() else group.name
        return named if any(map(self.reads, group.args)) else None

    @staticmethod
    def first(found: Iterator[str | None]) -> str | None:
        return next((f for f in found if f is not None), None)

    def condition(self, items: _Items) -> str | None:
        return self.first(map(self.test, _split(items, _CONNECTORS)))

    def test(self, items: _Items) -> str | None:
        """A part of a condition: it may ask whether a value is NULL."""
        if not self.reads(items):
            return None
        words = [i.upper() if isinstance(i, str) else "" for i in items]
        if words[-2:] == ["IS", "NULL"] or words[-3:] == ["IS", "NOT", "NULL"]:
            return self.nullness(items[: words.index("IS")])
        only = items[0] if len(items) == 1 else None
        if isinstance(only, _Group) and not only.name and len(only.args) == 1:
            return self.condition(only.args[0])
        return next((str(i) for i in items if isinstance(i, str)), "a condition")

    def nullness(self, items: _Items) -> str | None:
        """Where whether a value is NULL is decided by more than whether the columns are."""
        for before, item in zip(("", *items), items, strict=False):
            if before == "/" and self.reads([item]):
                return "/"
            named = isinstance(item, _Group) and bool(item.name)
            if named and self.reads([item]):
                assert isinstance(item, _Group)
                return self.decides(item)
            if isinstance(item, _Group) and (found := self.nullness(item.args[0])):
                return found
        return self.value(items)

    def coalesce(self, group: _Group) -> str | None:
        return self.first(
            f
            for i, a in enumerate(group.args)
            for f in (self.value(a), self.nullness(a) if i < len(group.args) - 1 else None)
        )

    def by_first(self, group: _Group) -> str | None:
        first, *others = group.args
        return self.decides(group) if any(map(self.reads, others)) else self.value(first)

    def struct(self, group: _Group) -> str | None:
        """STRUCT(value AS name, …)."""
        return self.first(self.value(_without_name(a)) for a in group.args)

    def chosen(self, group: _Group) -> str | None:
        """IF, or NVL2: the first argument decides."""
        first, *others = group.args
        asked = self.condition(first) if group.name == "IF" else self.nullness(first)
        return self.first(iter([asked, *map(self.value, others)]))

    def cast(self, group: _Group) -> str | None:
        (items, *_) = group.args
        at = next((i for i, w in enumerate(items) if isinstance(w, str) and w.upper() == "AS"), 0)
        kind = items[at + 1] if at + 1 < len(items) else ""
        is_float = isinstance(kind, str) and kind.upper() in _FLOATS and at + 2 == len(items)
        return self.value(items[:at]) if is_float else self.decides(group)

    def case(self, group: _Group) -> str | None:
        """CASE [value] WHEN … THEN … ELSE … END; the text has no comma outside of brackets."""
        found = []
        word, simple = "CASE", False
        for part in _parts(group.args[0]):
            if part.word == "CASE":
                simple = bool(part.items)
            word = part.word
            if word == "WHEN" and not simple:
                found.append(self.condition(part.items))
            elif word in ("CASE", "WHEN"):
                found.append("CASE" if self.reads(part.items) else None)
            else:
                found.append(self.value(part.items))
        return self.first(iter(found))


_RULES: dict[str, Callable[[_Judge, _Group], str | None]] = {
    **dict.fromkeys(_FIRST_NOT_NULL, _Judge.coalesce),
    **dict.fromkeys(_BY_FIRST, _Judge.by_first),
    "IF": _Judge.chosen, "NVL2": _Judge.chosen,
    "STRUCT": _Judge.struct, "CAST": _Judge.cast, "TRY_CAST": _Judge.cast, "CASE": _Judge.case,
}  # fmt: skip


@dataclass(frozen=True)
class _Part:
    """What follows one of the words of a CASE."""

    word: str
    items: tuple[_Item, ...]


def _parts(items: _Items) -> list[_Part]:
    found, word, own = [], "CASE", list[_Item]()
    for item in items:
        if isinstance(item, str) and item.upper() in ("WHEN", "THEN", "ELSE"):
            found.append(_Part(word, tuple(own)))
            word, own = item.upper(), []
        else:
            own.append(item)
    return [*found, _Part(word, tuple(own))]


def _split(items: _Items, words: frozenset[str]) -> list[list[_Item]]:
    """The parts between the words; `IS NOT NULL` is one part."""
    parts: list[list[_Item]] = [[]]
    for item in items:
        upper = item.upper() if isinstance(item, str) else ""
        if upper in words and not (upper == "NOT" and parts[-1] and _is(parts[-1][-1])):
            parts.append([])
        else:
            parts[-1].append(item)
    return [p for p in parts if p]


def _is(item: _Item) -> bool:
    return isinstance(item, str) and item.upper() == "IS"


def _without_name(items: _Items) -> _Items:
    named = len(items) > 2 and isinstance(items[-2], str) and items[-2].upper() == "AS"
    return items[:-2] if named else items


def _is_constant(word: _Item) -> bool:
    """A literal: a number, a text, or one of the words that are values."""
    assert isinstance(word, str)
    return word[0] in "'\"" or word[0].isdigit() or word.upper() in ("NULL", "TRUE", "FALSE")
