"""Our table functions, and `:parameters`, found in queries with their places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dt_jupyter.model import Name, Span
from dt_jupyter.sql.grammar.options import unknown_option
from dt_jupyter.sql.text.cursor import Cursor
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens

OWN_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "DYNAMIC_TABLES": (),
    "DYNAMIC_TABLE_REFRESH_HISTORY": ("NAME",),
    "DYNAMIC_TABLE_GRAPH_HISTORY": (),
    "SINK_HISTORY": ("NAME",),
    "TASK_HISTORY": ("NAME",),
    "DT_EVENTS": ("NAME",),
}
"""The functions and the names of their arguments, which are strings."""

_RELATION = frozenset({"FROM", "JOIN", "LATERAL"})
_CLOSES = frozenset({TokenKind.WORD, TokenKind.NUMBER, TokenKind.STRING, TokenKind.QUOTED})


@dataclass(frozen=True)
class FunctionCall:
    """A call of one of OWN_FUNCTIONS; `span` covers all of `TABLE(…)`, to be replaced by a name.

    `args` are (NAME, value) pairs in the order of the text.
    """

    name: str
    args: tuple[tuple[str, str], ...] = ()
    span: Span = field(default=Span(0, 0), compare=False)

    def argument(self, name: str) -> str | None:
        return dict(self.args).get(name)


@dataclass(frozen=True)
class Parameter:
    """A `:name` that Spark binds; `span` includes the colon."""

    name: str
    span: Span


def find_functions(text: str) -> tuple[FunctionCall, ...]:
    """The calls in a query, from left to right: TABLE([db.][INFORMATION_SCHEMA.]F(…)), or F(…)
    after FROM or JOIN. DT-1001, DT-1002 for arguments that the function does not have."""
    return calls_in(text, tokens(text))


def find_parameters(text: str) -> tuple[Parameter, ...]:
    """The `:name`s of a query; not those in strings and comments, nor `::`, `a:b`, `label:`."""
    words = tokens(text)
    found = []
    for i, colon in enumerate(words[:-1]):
        word = words[i + 1]
        if not colon.sign(":") or word.kind is not TokenKind.WORD or word.start != colon.end:
            continue
        before = words[i - 1] if i else None
        touches = before is not None and before.end == colon.start
        if touches and before and (before.kind in _CLOSES or before.text in (")", "]", ":")):
            continue
        found.append(Parameter(word.text, Span(colon.start, word.end)))
    return tuple(found)


def replace_spans(text: str, replacements: Iterable[tuple[Span, str]]) -> str:
    """The text with each span replaced; spans do not overlap."""
    for span, new in sorted(replacements, key=lambda pair: pair[0].start, reverse=True):
        text = text[: span.start] + new + text[span.end :]
    return text


def qualified_name(text: str, current_schema: str = "default") -> Name:
    """A name as people write it: `t`, `db.t`, `spark_catalog.db.t`, parts backquoted or not.

    DT-1001 when it is none, DT-1114 when it is reserved.
    """
    cursor = Cursor(text, tokens(text), current_schema)
    name = cursor.name("the name of a table")
    cursor.finish("Write it as table, schema.table or spark_catalog.schema.table.")
    return name


def calls_in(script: str, words: Sequence[Token]) -> tuple[FunctionCall, ...]:
    """`find_functions` for tokens of `script` that are at hand."""
    return tuple(
        call
        for i, word in enumerate(words)
        if word.upper in OWN_FUNCTIONS and (call := _call(script, words, i))
    )


def _call(script: str, words: Sequence[Token], index: int) -> FunctionCall | None:
    """The call whose function's name is words[index], if it is one."""
    if index + 1 >= len(words) or not words[index + 1].sign("("):
        return None
    first = index
    while first > 1 and words[first - 1].sign(".") and words[first - 2].kind in _CLOSES:
        first -= 2
    wrapped = first > 1 and words[first - 1].sign("(") and words[first - 2].upper == "TABLE"
    if not wrapped and not (first > 0 and words[first - 1].upper in _RELATION):
        return None
    cursor = Cursor(script, words, "default")
    cursor.index = index
    name = cursor.next().upper
    args = _arguments(cursor, name)
    if wrapped:
        cursor.expect_sign(")", f"Write TABLE({name}(…)).")
    last = words[cursor.index - 1]
    return FunctionCall(name, args, Span(words[first - 2 if wrapped else first].start, last.end))


def _arguments(cursor: Cursor, function: str) -> tuple[tuple[str, str], ...]:
    known = OWN_FUNCTIONS[function]
    hint = f"Write {function}({', '.join(f'{k} => …' for k in known)})."
    args: dict[str, str] = {}
    cursor.expect_sign("(", hint)
    while not cursor.accept_sign(")"):
        if args:
            cursor.expect_sign(",", hint)
        token = cursor.peek()
        if token.kind is not TokenKind.WORD or not cursor.peek(1).sign("=>"):
            raise cursor.expected("NAME => 'a table'" if known else "')'", hint)
        if token.upper not in known:
            made = unknown_option(token.text, function, known or ["none"])
            raise made.at(cursor.script, token.span)
        if token.upper in args:
            raise cursor.fail(f"{token.upper} is given twice", hint)
        cursor.index += 2
        args[token.upper] = cursor.string("a string", hint)
    return tuple(args.items())
