"""Clauses that several of our statements share: options, column lists, points in time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from dt_jupyter.model import Name, Span, did_you_mean, error
from dt_jupyter.sql.grammar.options import (
    REDUCTIONS,
    SINK_OPTIONS,
    STREAM_OPTIONS,
    Option,
    unknown_option,
)
from dt_jupyter.sql.grammar.statement_values import (
    CreateAction,
    PointKind,
    Resume,
    Suspend,
    TimePoint,
)
from dt_jupyter.sql.text.cursor import Cursor
from dt_jupyter.sql.text.lex import TokenKind
from dt_jupyter.sql.text.literals import unquote

CLUSTER_BY, FROZEN, BACKFILL = "CLUSTER BY", "FROZEN WHERE", "BACKFILL FROM"
_FROZEN = (("FROZEN", "WHERE"), ("IMMUTABLE", "WHERE"))
_Source = TypeVar("_Source", bound=StrEnum)
_QUERY_STARTS = frozenset({"SELECT", "WITH", "VALUES"})


def if_exists(cursor: Cursor) -> bool:
    return cursor.accept("IF", "EXISTS")


def create_action(cursor: Cursor, before: CreateAction) -> CreateAction:
    """Of CREATE [OR …] x [IF NOT EXISTS], the latter standing here."""
    place = cursor.peek().span
    if not cursor.accept("IF", "NOT", "EXISTS"):
        return before
    if before is not CreateAction.CREATE:
        hint = "Use one of the two."
        raise cursor.fail(f"IF NOT EXISTS and OR {before} cannot be combined", hint, place)
    return CreateAction.IF_NOT_EXISTS


def like(cursor: Cursor, form: str) -> str | None:
    """[LIKE 'pattern'] and the end of the statement."""
    pattern = None
    if cursor.accept("LIKE"):
        cursor.places["pattern"] = cursor.peek().span
        pattern = cursor.string("a pattern in quotes", f"Write {form}.")
    cursor.finish(f"Write {form}.")
    return pattern


def suspension(cursor: Cursor) -> Suspend | Resume | None:
    """SUSPEND or RESUME, if it is here."""
    if cursor.accept("SUSPEND"):
        return Suspend()
    return Resume() if cursor.accept("RESUME") else None


def source_of_changes(cursor: Cursor, kinds: Sequence[_Source], hint: str) -> tuple[_Source, Name]:
    """The kind and the name of what changes are read of; DT-1001 for another kind."""
    kind = next((kind for kind in kinds if cursor.accept(*kind.value.split())), None)
    if kind is None:
        *others, last = (kind.value for kind in kinds)
        raise cursor.expected(f"{', '.join(others)} or {last}", hint)
    return kind, cursor.name(f"the name of the {kind.value.lower()}", "source")


def name_to_drop(cursor: Cursor, what: str, form: str) -> tuple[Name, bool]:
    """[IF EXISTS] name and the end of the statement: the name, and whether it may be missing."""
    exists = if_exists(cursor)
    name = cursor.name(what)
    cursor.finish(f"Write {form}.")
    return name, exists


def name_to_describe(cursor: Cursor, what: str, form: str) -> Name | None:
    """A name and the end of the statement; None where the keyword before is itself the name of a
    table, as in DESCRIBE stream and DESCRIBE stream.t."""
    if cursor.done or cursor.peek().sign("."):
        return None
    name = cursor.name(what)
    cursor.finish(f"Write {form}.")
    return name


def options(
    cursor: Cursor,
    known: Mapping[str, Option],
    until: str | None,
    cluster: bool = False,
    region: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Options in any order up to the keyword `until` or the end: {field: value}; among them the
    clauses of a frozen region that `region` names.

    `places` gets each one's value by its SQL name. DT-1001 for one given twice, DT-1002, DT-1003.
    """
    found: dict[str, Any] = {}
    while not cursor.done and not (until and cursor.at_words(until)):
        if found and cursor.accept_sign(","):
            continue
        if cluster and cursor.at_words("CLUSTER", "BY"):
            _once(cursor, CLUSTER_BY)
            found["cluster_by"] = _cluster_by(cursor)
        elif FROZEN in region and any(cursor.at_words(*words) for words in _FROZEN):
            _once(cursor, FROZEN)
            found["frozen"] = _frozen_where(cursor)
        elif BACKFILL in region and cursor.accept("BACKFILL", "FROM"):
            _once(cursor, BACKFILL)
            found["backfill"] = cursor.name("the table that gives the rows", BACKFILL)
        else:
            option = _option(cursor, known, until, cluster, region)
            found[option.field] = _value(cursor, option)
    return found


def _option(
    cursor: Cursor,
    known: Mapping[str, Option],
    until: str | None,
    cluster: bool,
    lists: tuple[str, ...] = (),
) -> Option:
    token = cursor.peek()
    names = [*lists, *known, CLUSTER_BY] if cluster else [*lists, *known]
    if until and token.upper in _QUERY_STARTS:
        raise cursor.fail(f"{until} is missing before the query", f"Write … {until} {token.text} …")
    if token.kind is not TokenKind.WORD:
        what = f"an option or {until}" if until else "an option"
        raise cursor.expected(what, f"Options are {', '.join(names)}.")
    if token.upper not in known:
        raise unknown_option(token.text, cursor.statement, names).at(cursor.script, token.span)
    _once(cursor, token.upper)
    return known[token.upper]


def unset_options(cursor: Cursor, known: Collection[str]) -> frozenset[str]:
    """UNSET option, …, to the end, as SQL names. DT-1001, DT-1002."""
    names: set[str] = set()
    while not names or cursor.accept_sign(",") or not cursor.done:
        token = cursor.peek()
        if token.kind is not TokenKind.WORD:
            raise cursor.expected("an option", f"Options are {', '.join(known)}.")
        clauses = ((CLUSTER_BY, (("CLUSTER", "BY"),)), (FROZEN, _FROZEN))
        name = next((n for n, w in clauses if any(cursor.at_words(*x) for x in w)), token.upper)
        if name not in known:
            raise unknown_option(token.text, f"{cursor.statement} … UNSET", known).at(
                cursor.script, token.span
            )
        cursor.index += len(name.split())
        names.add(name)
    return frozenset(names)


def one_option(
    cursor: Cursor, known: Mapping[str, Option], until: str | None, clauses: tuple[str, ...]
) -> tuple[str, Any]:
    """The option that stands here, among `clauses` that are none: its field and value."""
    option = _option(cursor, known, until, False, clauses)
    return option.field, _value(cursor, option)


def _once(cursor: Cursor, name: str) -> None:
    if name in cursor.places:
        raise cursor.fail(f"{name} is given twice", "Keep one of the two.")


def _value(cursor: Cursor, option: Option) -> Any:
    cursor.next()
    hint = f"For example: {option.example}."
    if not cursor.accept_sign("=") and not option.text:
        raise cursor.expected(f"'=' after {option.name}", hint)
    start = cursor.peek()
    sign = "-" if cursor.accept_sign("-") else ""
    token = cursor.peek()
    if token.kind in (TokenKind.PUNCT, TokenKind.END) or token.upper == "AS":
        raise cursor.fail(f"{option.name} has no value", hint)
    if option.text and token.kind is not TokenKind.STRING:
        problem = error(
            "DT-1003",
            option=option.name,
            value=token.text,
            problem="it must be a quoted string",
            hint=hint,
        )
        raise problem.at(cursor.script, token.span)
    span = Span(start.start, cursor.next().end)
    cursor.places[option.name] = span
    quoted = token.kind in (TokenKind.STRING, TokenKind.QUOTED)
    text = sign + (unquote(token.text) if quoted else token.text)
    return cursor.placed(span, lambda: option.parse(text))


def _cluster_by(cursor: Cursor) -> tuple[str, ...]:
    """CLUSTER BY (column, …): names as they are, parts of nested ones joined by dots."""
    start = cursor.next().start
    cursor.next()
    hint = "Write CLUSTER BY (column, …)."
    cursor.expect_sign("(", hint)
    columns: list[str] = []
    while True:
        column = cursor.identifier("a column")[0]
        while cursor.accept_sign("."):
            column += "." + cursor.identifier("a field")[0]
        columns.append(column)
        if cursor.accept_sign(")"):
            break
        if not cursor.accept_sign(","):
            raise cursor.expected("',' or ')'", f"{hint} Expressions cannot be clustered by.")
    cursor.places[CLUSTER_BY] = Span(start, cursor.words[cursor.index - 1].end)
    return tuple(columns)


def _frozen_where(cursor: Cursor) -> str:
    """FROZEN WHERE (condition), or IMMUTABLE WHERE: the text of the condition."""
    cursor.index += 2
    hint = "Write FROZEN WHERE (condition)."
    opening = cursor.expect_sign("(", hint)
    depth = 1
    while depth:
        if cursor.done:
            raise cursor.expected("')'", hint)
        token = cursor.next()
        depth += token.sign("(") - token.sign(")")
    text = cursor.script[opening.end : token.start].strip()
    cursor.places[FROZEN] = Span(opening.start, token.end)
    if not text:
        raise cursor.fail("the condition is missing", hint, cursor.places[FROZEN])
    return text


def column_list(cursor: Cursor) -> tuple[tuple[str, str | None], ...]:
    """[(column [COMMENT 'text'], …)] as (name, comment); () when there is none."""
    if not cursor.peek().sign("("):
        return ()
    start = cursor.next().start
    columns: dict[str, tuple[str, str | None]] = {}
    hint = "Write (column, …) or (column COMMENT 'text', …): types come from the query."
    while True:
        name, span = cursor.identifier("a column")
        if name.lower() in columns:
            raise cursor.fail(f"column {name} is listed twice", "Keep one of the two.", span)
        comment = cursor.string("a quoted string", hint) if cursor.accept("COMMENT") else None
        columns[name.lower()] = (name, comment)
        if cursor.accept_sign(")"):
            break
        if not cursor.accept_sign(","):
            raise cursor.expected("COMMENT, ',' or ')'", hint)
    cursor.places["columns"] = Span(start, cursor.words[cursor.index - 1].end)
    return tuple(columns.values())


def stream_clauses(cursor: Cursor) -> dict[str, Any]:
    """[AT|BEFORE (…)] and the options of a stream, in any order, to the end: {field: value}."""
    found: dict[str, Any] = {}
    while not cursor.done:
        if found and cursor.accept_sign(","):
            continue
        start = cursor.peek()
        point = time_point(cursor, common=False)
        if point and "at" in found:
            raise cursor.fail(
                "the stream's start is given twice", "Keep one of the two.", start.span
            )
        if point:
            found["at"] = point
        else:
            option = _option(cursor, STREAM_OPTIONS, None, False)
            found[option.field] = _value(cursor, option)
    return found


def sink_clauses(cursor: Cursor) -> dict[str, Any]:
    """KEY (…), REDUCE (…), OPTIONS (…) and the options of a sink, in any order, to the end:
    {field: value}."""
    found: dict[str, Any] = {}
    while not cursor.done:
        if found and cursor.accept_sign(","):
            continue
        word = cursor.peek().upper
        if word in _SINK_LISTS and cursor.peek(1).sign("("):
            _once(cursor, word)
            start = cursor.next().start
            field, read = _SINK_LISTS[word]
            found[field] = _bracketed(cursor, word, read)
            cursor.places[word] = Span(start, cursor.words[cursor.index - 1].end)
        elif word in _SINK_LISTS:
            cursor.next()
            raise cursor.expected("'('", _SINK_FORMS[word])
        else:
            option = _option(cursor, SINK_OPTIONS, None, False, (*_SINK_LISTS,))
            found[option.field] = _value(cursor, option)
    return found


def _bracketed(
    cursor: Cursor, word: str, read: Callable[[Cursor], tuple[str, Any]]
) -> tuple[Any, ...]:
    """(item, …), each name once."""
    cursor.expect_sign("(", _SINK_FORMS[word])
    found: dict[str, Any] = {}
    while True:
        span = cursor.peek().span
        name, item = read(cursor)
        if name.lower() in found:
            raise cursor.fail(f"{name} is listed twice", "Keep one of the two.", span)
        found[name.lower()] = item
        if cursor.accept_sign(")"):
            return tuple(found.values())
        if not cursor.accept_sign(","):
            raise cursor.expected("',' or ')'", _SINK_FORMS[word])


def _key_item(cursor: Cursor) -> tuple[str, str]:
    name = cursor.identifier("a column of the key")[0]
    return name, name


def _reduce_item(cursor: Cursor) -> tuple[str, tuple[str, str]]:
    name = cursor.identifier("a column")[0]
    strategy = cursor.peek().upper
    if strategy not in REDUCTIONS:
        near = did_you_mean(strategy, list(REDUCTIONS))
        hint = f"Write {', '.join(REDUCTIONS)}. {near}".strip()
        raise cursor.expected("a reduction", hint)
    cursor.next()
    return name, (name, strategy)


def _option_item(cursor: Cursor) -> tuple[str, tuple[str, str]]:
    token = cursor.peek()
    if token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
        raise cursor.expected("an option of the store", _SINK_FORMS["OPTIONS"])
    name = unquote(token.text) if token.kind is TokenKind.QUOTED else token.text
    cursor.next()
    cursor.expect_sign("=", _SINK_FORMS["OPTIONS"])
    value = cursor.peek()
    if value.kind in (TokenKind.PUNCT, TokenKind.END):
        raise cursor.expected("a value", _SINK_FORMS["OPTIONS"])
    cursor.next()
    quoted = value.kind in (TokenKind.STRING, TokenKind.QUOTED)
    return name, (name.lower(), unquote(value.text) if quoted else value.text)


_SINK_LISTS: Mapping[str, tuple[str, Callable[[Cursor], tuple[str, Any]]]] = {
    "KEY": ("key", _key_item),
    "REDUCE": ("reductions", _reduce_item),
    "OPTIONS": ("options", _option_item),
}
_SINK_FORMS = {
    "KEY": "Write KEY (column, …).",
    "REDUCE": "Write REDUCE (column SUM, …).",
    "OPTIONS": "Write OPTIONS (name = 'value', …).",
}


def time_point(
    cursor: Cursor, keywords: tuple[str, ...] = ("AT", "BEFORE"), common: bool = True
) -> TimePoint | None:
    """[AT|BEFORE (kind => expression)], the expression as text; END by its keyword.

    `common` is whether AT (COMMON) and ARCHIVE => TRUE have a meaning there.
    """
    start = cursor.peek()
    if start.upper not in keywords:
        return None
    cursor.next()
    kinds = [kind for kind in PointKind if common or kind is not PointKind.COMMON]
    hint = f"Write {start.upper} (TIMESTAMP => …), (OFFSET => -s), (VERSION => k), …"
    hint = f"{hint} or (COMMON)." if common else f"{hint} or (STREAM => 's')."
    cursor.expect_sign("(", hint)
    keyword = cursor.peek()
    kind = {"TS": "TIMESTAMP"}.get(keyword.upper, keyword.upper)
    if kind not in kinds:
        raise cursor.expected(f"{', '.join(kinds[:-1])} or {kinds[-1]}", hint)
    if kind == PointKind.COMMON and start.upper == "BEFORE":
        raise cursor.fail("there is nothing before COMMON", "Write AT (COMMON).", start.span)
    cursor.next()
    value = "" if kind == PointKind.COMMON else _expression(cursor, hint)
    archive = common and _archive(cursor, hint)
    last = cursor.expect_sign(")", hint)
    cursor.places["end" if start.upper == "END" else "at"] = Span(start.start, last.end)
    return TimePoint(PointKind(kind), value, start.upper == "BEFORE", archive)


def _archive(cursor: Cursor, hint: str) -> bool:
    """[, ARCHIVE => TRUE|FALSE]."""
    if not cursor.peek().sign(","):
        return False
    cursor.next()
    keyword = cursor.next()
    if keyword.upper != "ARCHIVE":
        raise unknown_option(keyword.text, "AT", ["ARCHIVE"]).at(cursor.script, keyword.span)
    cursor.expect_sign("=>", hint)
    value = cursor.next()
    if value.upper not in ("TRUE", "FALSE"):
        raise error(
            "DT-1003",
            option="ARCHIVE",
            value=value.text,
            problem="it must be TRUE or FALSE",
            hint="Write AT (TIMESTAMP => '…', ARCHIVE => TRUE).",
        ).at(cursor.script, value.span)
    return value.upper == "TRUE"


def _expression(cursor: Cursor, hint: str) -> str:
    """The text from `=>` to the bracket that closes around it, or to a comma in that, which is left
    standing."""
    cursor.expect_sign("=>", hint)
    first, depth = cursor.index, 0
    while not cursor.done and not (
        depth == 0 and (cursor.peek().sign(")") or cursor.peek().sign(","))
    ):
        text = cursor.next().text
        depth += (text == "(") - (text == ")")
    if cursor.index == first:
        raise cursor.expected("a value", hint)
    return cursor.script[cursor.words[first].start : cursor.words[cursor.index - 1].end]
