"""What may be typed next, from the text of a cell and the names there are: pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from dt_jupyter.sql import (
    CHANGES,
    CHANGES_CELL,
    DT,
    DYNAMIC_TABLE,
    REPLAY,
    SQL,
    TABLE_OPTIONS,
    MagicOption,
    MagicSpec,
)

_CELL = re.compile(r"\s*%%(dt|dynamic_table|changes)(?=\s|\Z)")
_LINE = re.compile(r"(?:^|\s|=)%(dt|dynamic_table|changes|replay)\s")
_WORD = re.compile(r"[\w$`.\-]*\Z")
_NAME = re.compile(r"[\w$`.]*\Z")
_PARAMETER = re.compile(r"(?<![:\w]):(\w*)\Z")
_RELATION = re.compile(
    r"\b(?:from|join|into|update|table|view|using|describe|desc)\s+[\w$`.]*\Z", re.IGNORECASE
)
_DYNAMIC = re.compile(r"\bdynamic\s+table\s+(?:if\s+exists\s+)?[\w$`.]*\Z", re.IGNORECASE)
_SINK = re.compile(
    r"\b(?:alter|drop|describe|desc)\s+sink\s+(?:if\s+exists\s+)?[\w$`.]*\Z", re.IGNORECASE
)
_SINK_CHANGE = re.compile(
    r"\balter\s+sink\s+(?:if\s+exists\s+)?[\w$`.]+\s+(?!set\b)\w*\Z", re.IGNORECASE
)
_SINK_HISTORY = re.compile(r"\bsink_history\s*\(\s*name\s*=>\s*'([\w$`.]*)\Z", re.IGNORECASE)
_TASK = re.compile(
    r"\b(?:alter|drop|describe|desc|execute)\s+task\s+(?:if\s+exists\s+)?[\w$`.]*\Z", re.IGNORECASE
)
_TASK_CHANGE = re.compile(
    r"\balter\s+task\s+(?:if\s+exists\s+)?[\w$`.]+\s+(?!set\b|modify\b|add\b|remove\b)\w*\Z",
    re.IGNORECASE,
)
_TASK_HISTORY = re.compile(r"\btask_history\s*\(\s*name\s*=>\s*'([\w$`.]*)\Z", re.IGNORECASE)
_CLONE = re.compile(r"\b(?:clone|swap\s+with)\s+[\w$`.]*\Z", re.IGNORECASE)
_WAREHOUSE = re.compile(
    r"\b(?:warehouse\s*=?|alter\s+warehouse|drop\s+warehouse)\s*[\w$]*\Z", re.IGNORECASE
)
_OPTION = re.compile(r"\b(\w+)\s*=\s*'?[\w ]*\Z")
_ALIASED = (
    r"([\w$.`]+)(?:\s+(?:as\s+)?(?!on\b|where\b|group\b|join\b|using\b|left\b|right\b|full\b|"
    r"inner\b|cross\b|order\b|having\b|set\b|limit\b|union\b|values\b|select\b)([\w$]+))?"
)
_READ = re.compile(
    rf"\b(?:from\s+(?:dynamic\s+)?table|from|join|into|update|on\s+table)\s+{_ALIASED}",
    re.IGNORECASE,
)
_READ_TOO = re.compile(rf"\s*,\s*{_ALIASED}", re.IGNORECASE)
_LAGS = ("'1 minute'", "'5 minutes'", "'1 hour'", "'1 day'", "DOWNSTREAM")
_CHANGES = ("SUSPEND", "RESUME", "REFRESH", "RESET", "RETRY DEAD LETTERS", "SET")
"""What ALTER SINK does."""
_TASK_CHANGES = (
    "SUSPEND", "RESUME", "EXECUTE", "SET", "UNSET", "MODIFY AS", "MODIFY WHEN", "REMOVE WHEN",
    "ADD AFTER", "REMOVE AFTER",
)  # fmt: skip
OURS = (
    "CREATE DYNAMIC TABLE", "CREATE OR REPLACE DYNAMIC TABLE", "CREATE OR ALTER DYNAMIC TABLE",
    "ALTER DYNAMIC TABLE", "DROP DYNAMIC TABLE", "UNDROP DYNAMIC TABLE", "DESCRIBE DYNAMIC TABLE",
    "SHOW DYNAMIC TABLES", "EXPLAIN DYNAMIC TABLE", "DYNAMIC TABLE", "CREATE WAREHOUSE",
    "ALTER WAREHOUSE", "DROP WAREHOUSE", "SHOW WAREHOUSES", "UNDROP TABLE", "SUSPEND", "RESUME",
    "REFRESH", "RENAME TO", "SWAP WITH", "CLONE", "MAX_CONCURRENCY_LEVEL", "WEIGHT",
    "TABLE(DYNAMIC_TABLES())", "TABLE(DYNAMIC_TABLE_REFRESH_HISTORY())",
    "TABLE(DYNAMIC_TABLE_GRAPH_HISTORY())", "CREATE SINK", "ALTER SINK", "DROP SINK",
    "DESCRIBE SINK", "SHOW SINKS", "SINK", "SINKS", "RESET",
    "TABLE(SINK_HISTORY())", "DELTA_UPDATES", "PARTITIONS",
    "CREATE ROLE", "DROP ROLE", "SHOW ROLES", "USE ROLE",
    "GRANT", "REVOKE", "SHOW GRANTS", "REDUCE", "OPTIONS",
    "CREATE TASK", "ALTER TASK", "EXECUTE TASK", "DROP TASK", "DESCRIBE TASK",
    "SHOW TASKS", "TABLE(TASK_HISTORY())", "TABLE(DT_EVENTS())",
    "SYSTEM$STREAM_HAS_DATA(", "AFTER", "SCHEDULE",
    "CREATE STREAM", "ALTER STREAM", "DROP STREAM", "UNDROP STREAM", "SHOW STREAMS",
    "AUTO_SUSPEND", "AUTO_RESUME", "FROZEN WHERE", "BACKFILL FROM", *TABLE_OPTIONS,
)  # fmt: skip
SPARK = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "JOIN", "LEFT JOIN", "INNER JOIN",
    "FULL JOIN", "CROSS JOIN", "ON", "USING", "UNION ALL", "DISTINCT", "AS", "AND", "OR", "NOT",
    "IN", "IS NULL", "IS NOT NULL", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE", "END",
    "WITH", "LIMIT", "INSERT INTO", "VALUES", "UPDATE", "SET", "DELETE FROM", "MERGE INTO",
    "CREATE TABLE", "CREATE VIEW", "CREATE OR REPLACE", "IF NOT EXISTS", "DROP TABLE", "DESCRIBE",
    "COUNT(", "SUM(", "AVG(", "MIN(", "MAX(", "COUNT_IF(", "COALESCE(", "CAST(", "DATE_TRUNC(",
)  # fmt: skip
_COMMANDS = {spec.name: spec for spec in DT}
_MAGICS = {
    "%dynamic_table": DYNAMIC_TABLE,
    "%%dynamic_table": DYNAMIC_TABLE,
    "%changes": CHANGES,
    "%%changes": CHANGES_CELL,
    "%replay": REPLAY,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may be put in place of the fragment, and what it is."""

    text: str
    kind: str


class _Names(Protocol):
    """The names there are now."""

    def dynamic_tables(self) -> list[Candidate]: ...
    def warehouses(self) -> list[Candidate]: ...
    def sinks(self) -> list[Candidate]: ...
    def tasks(self) -> list[Candidate]: ...
    def tables(self) -> list[Candidate]: ...
    def columns(self, table: str) -> list[Candidate]: ...
    def variables(self) -> list[Candidate]: ...


@dataclass(frozen=True, slots=True)
class _Cell:
    """The cursor in a cell of ours: in the magic's line (`line`: its text from after the name to
    the cursor) or in SQL (`before` and the whole `sql`)."""

    magic: str
    line: str | None
    before: str = ""
    sql: str = ""


def cell_of(text: str, before: str) -> _Cell | None:
    """The position of the cursor after `before` in the cell `text`; None in a cell not of ours."""
    found = _CELL.match(before)
    if found:
        head, newline, body = before[found.end() :].partition("\n")
        magic = "%%" + found[1]
        whole = text[found.end() :].partition("\n")[2]
        return _Cell(magic, None, body, whole) if newline else _headed(magic, head)
    line = before.rpartition("\n")[2]
    inline = _LINE.search(line)
    if inline is None:
        return None
    rest = line[inline.end() :]
    after = text[len(before) :].partition("\n")[0] if text.startswith(before) else ""
    return _Cell("%" + inline[1], rest, rest, rest + after)


def _headed(magic: str, head: str) -> _Cell | None:
    return _Cell(magic, head[1:]) if head else None


def suggest(cell: _Cell, names: _Names) -> tuple[str, list[Candidate]]:
    """The fragment before the cursor that is replaced, and what may replace it, best first."""
    if cell.line is not None and cell.magic != "%dt":
        return _options(_MAGICS.get(cell.magic, SQL), cell.line, names)
    if cell.line is not None:
        return _command(cell, names)
    return _sql(cell.before, cell.sql, names)


# -- the magic's line -----------------------------------------------------------------------------


def _command(cell: _Cell, names: _Names) -> tuple[str, list[Candidate]]:
    """After `%dt`: a command and its arguments, or SQL."""
    line = cell.line or ""
    words = line.split()
    if words and words[0].lower() in _COMMANDS and (len(words) > 1 or line[-1:].isspace()):
        return _options(_COMMANDS[words[0].lower()], line.lstrip()[len(words[0]) :], names)
    if line.rpartition(" ")[2].startswith("-"):
        return _options(SQL, line, names)
    fragment, found = _sql(cell.before, cell.sql, names)
    if len(words) + line[-1:].isspace() <= 1:
        commands = [Candidate(name, "command") for name in _COMMANDS]
        found = [*_starting(fragment, commands), *found]
    return fragment, found


def _options(spec: MagicSpec, line: str, names: _Names) -> tuple[str, list[Candidate]]:
    fragment = _ending(_WORD, line)
    words = line[: len(line) - len(fragment)].replace("=", " ").split()
    option = spec.option(words[-1]) if words else None
    if option is not None and option.metavar is not None:
        return fragment, _starting(fragment, _values(option, names))
    if fragment.startswith("-"):
        return fragment, _starting(fragment, _flags(spec, words))
    given = [
        w for i, w in enumerate(words) if not w.startswith("-") and not _valued(spec, words, i)
    ]
    found: list[Candidate] = []
    if spec.positional in ("NAME", "name") and not given:
        of_all = (CHANGES, REPLAY, _COMMANDS["rows"])
        found = names.tables() if spec in of_all else names.dynamic_tables()
        if spec is _COMMANDS["lag"]:
            found = [*found, *names.sinks()]
    return fragment, _starting(fragment, [*found, *([] if fragment else _flags(spec, words))])


def _valued(spec: MagicSpec, words: Sequence[str], index: int) -> bool:
    before = spec.option(words[index - 1]) if index else None
    return before is not None and before.metavar is not None


def _flags(spec: MagicSpec, words: Sequence[str]) -> list[Candidate]:
    used = {option.flag for word in words if (option := spec.option(word))}
    return [Candidate(o.flag, "option") for o in spec.options if o.flag not in used]


def _values(option: MagicOption, names: _Names) -> list[Candidate]:
    if option.flag == "--warehouse":
        return names.warehouses()
    if option.flag == "--target-lag":
        return [Candidate(lag if lag[0] == "'" else lag.lower(), "value") for lag in _LAGS]
    return [Candidate(value, "value") for value in option.values]


# -- SQL ------------------------------------------------------------------------------------------


def _sql(before: str, sql: str, names: _Names) -> tuple[str, list[Candidate]]:
    statement = before.rpartition(";")[2]
    parameter = _PARAMETER.search(statement)
    if parameter:
        return parameter[1], _starting(parameter[1], names.variables())
    fragment = _ending(_NAME, statement)
    if of_sink := _SINK_HISTORY.search(statement):
        return of_sink[1], _starting(of_sink[1], names.sinks())
    if of_task := _TASK_HISTORY.search(statement):
        return of_task[1], _starting(of_task[1], names.tasks())
    option = _OPTION.search(statement)
    if option and option[1].upper() in TABLE_OPTIONS and not _WAREHOUSE.search(statement):
        values = [Candidate(v, "value") for v in _option_values(option[1].upper())]
        return fragment, _starting(fragment, values)
    if statement.count("'") % 2:
        return "", []
    qualifier, dot, last = fragment.rpartition(".")
    if dot:
        return last, _starting(last, _of(qualifier, sql, names))
    return fragment, _starting(fragment, _words(statement, sql, names))


def _words(statement: str, sql: str, names: _Names) -> list[Candidate]:
    """What may follow the words before, the likeliest first."""
    if _WAREHOUSE.search(statement):
        return names.warehouses()
    if _SINK.search(statement):
        return names.sinks()
    if _SINK_CHANGE.search(statement):
        return [Candidate(word, "keyword") for word in _CHANGES]
    if _TASK.search(statement):
        return names.tasks()
    if _TASK_CHANGE.search(statement):
        return [Candidate(word, "keyword") for word in _TASK_CHANGES]
    if _DYNAMIC.search(statement) or _CLONE.search(statement):
        return names.dynamic_tables()
    ours = [Candidate(word, "keyword") for word in OURS]
    spark = [Candidate(word, "keyword") for word in SPARK]
    if _RELATION.search(statement):
        return [*names.tables(), *ours]
    columns = [c for table in _read(sql).values() for c in names.columns(table)]
    return [*columns, *_aliases(sql), *spark, *ours, *names.tables()]


def _option_values(option: str) -> Iterable[str]:
    if option == "TARGET_LAG":
        return _LAGS
    return TABLE_OPTIONS[option].values


def _of(qualifier: str, sql: str, names: _Names) -> list[Candidate]:
    """The columns of an alias or a table, or the tables of a schema."""
    table = _read(sql).get(qualifier.lower(), qualifier)
    prefix = f"{qualifier.lower()}."
    inside = [
        Candidate(c.text[len(prefix) :], c.kind)
        for c in names.tables()
        if c.text.lower().startswith(prefix)
    ]
    return names.columns(table) or inside


def _read(sql: str) -> dict[str, str]:
    """Alias or name, in lower case, to the table as written."""
    return {(alias or table).lower(): table for table, alias in _reads(sql)}


def _aliases(sql: str) -> list[Candidate]:
    return [Candidate(alias, "alias") for _, alias in _reads(sql) if alias]


def _reads(sql: str) -> Iterator[tuple[str, str]]:
    """The tables that a text reads, each with its alias or ""; those of a list between commas."""
    for first in _READ.finditer(sql):
        found: re.Match[str] | None = first
        while found is not None:
            yield found[1], found[2] or ""
            found = _READ_TOO.match(sql, found.end())


def _ending(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[0] if found else ""


def _starting(fragment: str, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that begin so, each once; keywords in the case that the user types in."""
    low = fragment.lower().lstrip("`")
    lower = bool(fragment) and fragment.islower()
    found: dict[str, Candidate] = {}
    for c in candidates:
        if c.text.lower().startswith(low):
            text = c.text.lower() if c.kind == "keyword" and lower else c.text
            found.setdefault(text, Candidate(text, c.kind))
    return list(found.values())
