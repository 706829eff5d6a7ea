"""The lines of our magics, read by the tables of `magic_specs`.

A magic is another spelling of a statement: it gives the same value as the SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from dt_jupyter.model import DTError, Name, Span, did_you_mean, error, parse_time
from dt_jupyter.sql.grammar.functions import qualified_name
from dt_jupyter.sql.grammar.magic_specs import (
    CHANGES,
    CHANGES_CELL,
    DT,
    DYNAMIC_TABLE,
    REPLAY,
    SQL,
    MagicOption,
    MagicSpec,
)
from dt_jupyter.sql.grammar.options import TABLE_OPTIONS, unknown_option
from dt_jupyter.sql.grammar.parse_ours import defining
from dt_jupyter.sql.grammar.statement_values import (
    CreateAction,
    CreateDynamicTable,
    PointKind,
    SchemaMode,
    SparkKind,
    Statement,
    TimePoint,
    Unsupported,
)
from dt_jupyter.sql.text.cursor import Cursor
from dt_jupyter.sql.text.lex import Token
from dt_jupyter.sql.text.literals import literal
from dt_jupyter.sql.text.spark_kind import kind_of
from dt_jupyter.sql.text.split import split
from dt_jupyter.sql.text.token_guard import DEFINITION, SCRIPT, guard_length, guard_tokens

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DynamicTableMagic:
    """What `%%dynamic_table` asks for; `statement` is None only for help.

    The statement's `places` are in the cell, so only its query has one.
    """

    statement: CreateDynamicTable | Unsupported | None
    dry_run: bool = False
    out: str | None = None
    help: bool = False


@dataclass(frozen=True, slots=True)
class DtMagic:
    """What `%dt` asks for: a command of DT with its args ("lake", "remote", "name"), or "sql"."""

    command: str
    args: dict[str, str] = field(default_factory=dict)
    sql: str | None = None
    out: str | None = None
    help: bool = False


@dataclass(frozen=True, slots=True)
class ChangesCommand:
    """What `%changes` and `%%changes` ask for.

    What is watched is a `name` or a `query`, the cell's exact text from character `query_offset`.
    With a `stream` that one is to be made there, with `replace` in the place of the one that is
    there; without one the changes are shown. `at` None is
    the oldest version kept, for a stream now; `end` None is now. All None is for help.
    """

    name: Name | None = None
    query: str | None = None
    stream: Name | None = None
    at: TimePoint | None = None
    end: TimePoint | None = None
    append_only: bool = False
    show_initial_rows: bool = False
    out: str | None = None
    help: bool = False
    query_offset: int = field(default=0, compare=False)
    replace: bool = False


@dataclass(frozen=True, slots=True)
class ReplayCommand:
    """What `%replay` asks for: the snapshot of `at`, None for now; with `to` all from `at`, None
    for the oldest kept, to there. `name` is None only for help."""

    name: Name | None = None
    at: TimePoint | None = None
    to: TimePoint | None = None
    schema_mode: SchemaMode = SchemaMode.SNAPSHOT_TIME
    out: str | None = None
    help: bool = False


_COMMANDS = {spec.name: spec for spec in DT}
_ALSO_SQL = frozenset({"explain", "refresh", "load"})  # EXPLAIN SELECT …, LOAD DATA INPATH …
_SQL_WORDS = frozenset({  # words that begin SQL of a word or two
    "begin", "clear", "commit", "desc", "describe", "from", "list", "reset", "rollback", "select",
    "set", "show", "table", "use", "values",
})  # fmt: skip
_FEW = 2  # words of a line that is rather a mistyped command than SQL
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|`(?:[^`]|``)*`|[^\s'"`]|['"`])+""")
_UNITS = re.compile(r"(second|minute|hour|day)s?\Z", re.IGNORECASE)
_TIMES = frozenset({"--at", "--end", "--to"})
_VERSION = re.compile(r"[0-9]{1,18}\Z")
_AGO = re.compile(
    r"-([0-9]{1,10}(?:\.[0-9]{1,6})?)(?: *(second|minute|hour|day)s?)?\Z", re.IGNORECASE
)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_NO_QUERY = (
    "Write %%dynamic_table with two signs, and its query in the lines below: SELECT …, WITH …, "
    "VALUES … or FROM …."
)
_QUOTED = 2  # shortest quoted word


@dataclass(frozen=True, slots=True)
class _Arg:
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def value(self) -> str:
        """Without the quotes around it; backquotes stay, for they are the name's."""
        text = self.text
        quoted = len(text) >= _QUOTED and text[0] == text[-1] and text[0] in "'\""
        return text[1:-1] if quoted else text


def parse_dynamic_table(line: str, cell: str, current_schema: str = "default") -> DynamicTableMagic:
    """The line after `%%dynamic_table`, and the query in the cell.

    The errors of CREATE DYNAMIC TABLE, placed in the line or in the cell.
    """
    args = _read(DYNAMIC_TABLE, line)
    if "--help" in args:
        return DynamicTableMagic(None, help=True)
    given: dict[str, Any] = {}
    for option in ("TARGET_LAG", "WAREHOUSE", "REFRESH_MODE", "INITIALIZE"):
        arg = args.get("--" + option.lower().replace("_", "-"))
        if arg:
            given[option] = _placed(line, arg, partial(TABLE_OPTIONS[option].parse, arg.value))
    fields = {TABLE_OPTIONS[option].field: value for option, value in given.items()}
    name = args["NAME"]
    fields["name"] = _placed(line, name, lambda: qualified_name(name.value, current_schema))
    fields["action"] = _action(line, args)
    fields["partial"] = True
    if "--no-alter-sources" in args:
        fields["alter_sources"] = False
        given["ALTER_SOURCES"] = False
    statement = _query(cell, fields, frozenset(given), current_schema)
    return DynamicTableMagic(statement, "--dry-run" in args, _variable(line, args))


def parse_dt(line: str, cell: str | None = None) -> DtMagic:
    """The line after `%dt`, or after `%%dt` with its cell: a command of DT, or SQL.

    A first word that SQL knows too (explain, refresh) makes a command only before one name.
    """
    if cell is not None:
        args = _read(SQL, line)
        return DtMagic("sql", _looks(args), cell, _variable(line, args), "--help" in args)
    words = _words(line)
    leading = 0
    while leading < len(words) and (option := SQL.option(words[leading].text)):
        leading += 2 if option.metavar else 1
    spec = _command(words[leading:]) if leading < len(words) else None
    if spec:
        return _run(spec, line, [*words[:leading], *words[leading + 1 :]])
    _reject_typo(line, words[leading:])
    start = words[leading].start if leading < len(words) else len(line)
    args = _read(SQL, line, words[:leading])
    shows = "--help" in args or not words
    return DtMagic("sql", _looks(args), line[start:].strip(), _variable(line, args), shows)


def _looks(args: Mapping[str, _Arg]) -> dict[str, str]:
    """The switches with which a script is looked at, and not run."""
    return {look: "" for look in ("lint", "format") if f"--{look}" in args}


def parse_changes(
    line: str, cell: str | None = None, current_schema: str = "default"
) -> ChangesCommand:
    """The line after `%changes`, or after `%%changes` with its cell; DT-1001 to DT-1004."""
    args = _read(CHANGES if cell is None else CHANGES_CELL, line)
    if "--help" in args:
        return ChangesCommand(help=True)
    name, query, offset, stream = None, None, 0, None
    if cell is None:
        name = _name(line, args["NAME"], current_schema)
    else:
        stream = _name(line, args["stream"], current_schema) if "stream" in args else None
        _check_stream(line, args)
        name, query, offset = _watched(cell, current_schema)
    return ChangesCommand(
        name,
        query,
        stream,
        _time(line, args, "--at"),
        _time(line, args, "--end"),
        "--append-only" in args,
        "--show-initial-rows" in args,
        _variable(line, args),
        query_offset=offset,
        replace="--replace" in args,
    )


def parse_replay(line: str, current_schema: str = "default") -> ReplayCommand:
    """The line after `%replay`; DT-1001 to DT-1003."""
    args = _read(REPLAY, line)
    if "--help" in args:
        return ReplayCommand(help=True)
    at, to = _time(line, args, "--at"), _time(line, args, "--to")
    mode = SchemaMode.SNAPSHOT_TIME
    if "--schema-mode" in args:
        arg = args["--schema-mode"]
        mode = SchemaMode(_placed(line, arg, lambda: _schema_mode(arg.value)))
    name = _name(line, args["NAME"], current_schema)
    return ReplayCommand(name, at, to, mode, _variable(line, args))


def _check_stream(line: str, args: dict[str, _Arg]) -> None:
    if "stream" in args and "--end" in args:
        raise _syntax(CHANGES_CELL, "a stream has no --end", line, args["--end"].span)
    for flag in ("--show-initial-rows", "--replace"):
        if "stream" not in args and flag in args:
            problem = f"{flag} needs the name of a stream"
            raise _syntax(CHANGES_CELL, problem, line, args[flag].span)


def _watched(cell: str, current_schema: str) -> tuple[Name | None, str | None, int]:
    """The name or the query in a cell, and where it begins."""
    words = _only_statement(cell)
    cursor = Cursor(cell, words, current_schema)
    hint = "The cell is a query, or the name of a table, view or dynamic table."
    if not words:
        raise cursor.fail("the cell is empty", hint)
    if all(word.sign(".") for word in words[1::2]):
        name = cursor.name("the name of a table, view or dynamic table")
        cursor.finish(hint)
        return name, None, words[0].start
    if kind_of(words).kind is not SparkKind.QUERY:
        raise cursor.fail(f"{cursor.shown()} does not begin a query", hint)
    guard_tokens(cell, words, DEFINITION)
    return None, cell[words[0].start : words[-1].end], words[0].start


def _name(line: str, arg: _Arg, current_schema: str) -> Name:
    name = _placed(line, arg, lambda: qualified_name(arg.value, current_schema))
    return name


def _schema_mode(text: str) -> str:
    if text.lower() in tuple(SchemaMode):
        return text.lower()
    hint = did_you_mean(text.lower(), [*SchemaMode], "Omit it for the schema at that time.")
    raise error(
        "DT-1003",
        option="--schema-mode",
        value=text,
        hint=hint,
        problem=f"it must be one of {', '.join(SchemaMode)}",
    )


def _time(line: str, args: dict[str, _Arg], flag: str) -> TimePoint | None:
    arg = args.get(flag)
    if arg is None:
        return None
    point = _placed(line, arg, lambda: parse_time_point(flag, arg.value))
    return point


def parse_time_point(flag: str, text: str) -> TimePoint:
    """An ISO time, `now`, a version, seconds or a duration ago with a minus, or `stream:NAME`."""
    if text.lower() == "now":
        return TimePoint(PointKind.OFFSET, "0")
    if text.startswith("stream:"):
        stream = text.removeprefix("stream:")
        qualified_name(stream)
        return TimePoint(PointKind.STREAM, literal(stream))
    if _VERSION.match(text):
        return TimePoint(PointKind.VERSION, text)
    if match := _AGO.match(text):
        seconds = float(match[1]) * _SECONDS.get((match[2] or "second").lower(), 1)
        return TimePoint(PointKind.OFFSET, f"-{int(seconds) if seconds.is_integer() else seconds}")
    try:
        time = parse_time(text)
    except ValueError:
        raise error(
            "DT-1003",
            option=flag,
            value=text or "''",
            problem="it is not a point in time",
            hint="Give 2026-01-31T12:00, now, a version 17, seconds ago -600, '-10 minutes', "
            "or stream:NAME.",
        ) from None
    return TimePoint(PointKind.TIMESTAMP, literal(time.isoformat(sep=" ")))


def _words(line: str) -> list[_Arg]:
    return [_Arg(m[0], m.start(), m.end()) for m in _WORD.finditer(line)]


def _read(spec: MagicSpec, line: str, words: Sequence[_Arg] | None = None) -> dict[str, _Arg]:
    """{long flag or positional: value}; a switch has itself as value. DT-1001, DT-1002."""
    found: dict[str, _Arg] = {}
    rest = list(_split_equals(_words(line) if words is None else words))
    while rest:
        word = rest.pop(0)
        option = spec.option(word.text)
        key = option.flag if option else spec.positional
        if not option and word.text.startswith("-"):
            flags = [o.flag for o in spec.options]
            raise unknown_option(word.text, spec.name, flags).at(line, word.span)
        if key is None or key in found:
            what = f"{word.text} is given twice" if option else f"{word.text} is not expected here"
            raise _syntax(spec, what, line, word.span)
        found[key] = _take(spec, option, word, rest, line) if option else word
    if spec.required and "--help" not in found and spec.positional not in found:
        raise _syntax(spec, f"{spec.positional} is missing", line, Span(len(line), len(line)))
    return found


def _take(spec: MagicSpec, option: MagicOption, word: _Arg, rest: list[_Arg], line: str) -> _Arg:
    if option.metavar is None:
        return word
    if not rest or (rest[0].text.startswith("-") and spec.option(rest[0].text)):
        raise _syntax(spec, f"{word.text} has no value", line, word.span)
    value = rest.pop(0)
    ago = option.flag in _TIMES and value.text.startswith("-")
    if (option.flag == "--target-lag" or ago) and rest and _UNITS.match(rest[0].text):
        unit = rest.pop(0)  # --target-lag 5 minutes, --at -5 minutes, without quotes
        return _Arg(f"{value.text} {unit.text}", value.start, unit.end)
    return value


def _split_equals(words: Sequence[_Arg]) -> list[_Arg]:
    """--flag=value as two words."""
    found: list[_Arg] = []
    for word in words:
        flag, sign, _ = word.text.partition("=")
        if word.text.startswith("--") and sign:
            middle = word.start + len(flag)
            found.append(_Arg(flag, word.start, middle))
            found.append(_Arg(word.text[len(flag) + 1 :], middle + 1, word.end))
        else:
            found.append(word)
    return found


def _command(words: Sequence[_Arg]) -> MagicSpec | None:
    spec = _COMMANDS.get(words[0].text.lower())
    if spec is None or spec.name not in _ALSO_SQL:
        return spec
    plain, skip = 0, False
    for word in _split_equals(words[1:]):
        option = None if skip else spec.option(word.text)
        plain += option is None and not skip
        skip = option is not None and option.metavar is not None
        if option and option.flag == "--help":
            return spec
    return spec if plain <= 1 else None


def _run(spec: MagicSpec, line: str, words: Sequence[_Arg]) -> DtMagic:
    args = _read(spec, line, words)
    named = {
        k.lower().lstrip("-"): arg.value for k, arg in args.items() if k not in ("--help", "--out")
    }
    return DtMagic(spec.name, named, None, _variable(line, args), "--help" in args)


def _reject_typo(line: str, words: Sequence[_Arg]) -> None:
    """DT-1001 for a line of a word or two that is nearly a command: Spark would say less."""
    if not 0 < len(words) <= _FEW or words[0].text.lower().rstrip(";") in _SQL_WORDS:
        return
    close = did_you_mean(words[0].text.lower(), [*_COMMANDS])
    if close:
        raise error("DT-1001", problem=f"Unknown command: {words[0].text}", hint=close).at(
            line, words[0].span
        )


def _action(line: str, args: dict[str, _Arg]) -> CreateAction:
    if "--replace" in args and "--if-not-exists" in args:
        raise _syntax(
            DYNAMIC_TABLE,
            "--replace and --if-not-exists cannot be combined",
            line,
            args["--if-not-exists"].span,
        )
    if "--replace" in args:
        return CreateAction.REPLACE
    return CreateAction.IF_NOT_EXISTS if "--if-not-exists" in args else CreateAction.CREATE


def _query(
    cell: str, fields: dict[str, Any], given: frozenset[str], current_schema: str
) -> CreateDynamicTable | Unsupported:
    """The statement of the cell: one query, with or without a semicolon after it."""
    words = _only_statement(cell)
    cursor = Cursor(cell, words, current_schema)
    if not words:
        raise cursor.fail("the query is missing", _NO_QUERY)
    statement: Statement = defining(cursor, fields, given)
    start = words[0].start
    placed = replace(
        statement, text=cell[start : words[-1].end], offset=start, places=cursor.places
    )
    assert isinstance(placed, CreateDynamicTable | Unsupported)
    return placed


def _only_statement(cell: str) -> tuple[Token, ...]:
    """The words of the one statement in a cell, () for none; DT-1001, DT-1004."""
    guard_length(cell, SCRIPT)
    pieces = [piece for piece in split(cell) if piece.tokens]
    if len(pieces) > 1:
        first = pieces[1].tokens[0]
        raise error(
            "DT-1001",
            problem="the cell has more than one statement",
            hint="Its one statement is the query; use %%dt for a script.",
        ).at(cell, first.span)
    return pieces[0].tokens if pieces else ()


def _variable(line: str, args: dict[str, _Arg]) -> str | None:
    arg = args.get("--out")
    if arg is None:
        return None
    if not arg.value.isidentifier():
        raise error(
            "DT-1003",
            option="-o",
            value=arg.text,
            problem="it is not the name of a variable",
            hint="For example: -o df.",
        ).at(line, arg.span)
    return arg.value


def _placed(line: str, arg: _Arg, make: Callable[[], T]) -> T:
    try:
        return make()
    except DTError as problem:
        raise problem.at(line, arg.span) from None


def _syntax(spec: MagicSpec, problem: str, line: str, span: Span) -> DTError:
    hint = f"Write {spec.synopsis.splitlines()[0]}; -h shows the options."
    return error("DT-1001", problem=problem, hint=hint).at(line, span)
