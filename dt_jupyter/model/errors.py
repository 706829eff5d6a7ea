"""The error catalogue: one entry per code, worded once; an error carries its facts as fields."""

from __future__ import annotations

import difflib
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dt_jupyter.model.hidden import HIDDEN


@dataclass(frozen=True)
class CatalogueEntry:
    """What the catalogue says of one code; `message` and `hint` are `str.format` templates."""

    code: str
    sqlstate: str
    message: str
    hint: str

    @property
    def fields(self) -> frozenset[str]:
        texts = (self.message, self.hint)
        return frozenset(f for t in texts for _, f, _, _ in string.Formatter().parse(t) if f)


@dataclass(frozen=True)
class Span:
    """A place in a query text: offsets in characters, `start` inclusive, `end` exclusive."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: {self.start}..{self.end}")


def _entries(*rows: tuple[str, str, str, str]) -> dict[str, CatalogueEntry]:
    return {code: CatalogueEntry(code, state, message, hint) for code, state, message, hint in rows}


CATALOGUE: Mapping[str, CatalogueEntry] = _entries(
    # 1xxx statements
    ("DT-1001", "42601", "Syntax error: {problem}.", "{hint}"),
    ("DT-1002", "42601", "Unknown option {option} of {statement}.", "Known options: {known}."),
    ("DT-1003", "42601", "{option} = {value} is not valid: {problem}.", "{hint}"),
    ("DT-1004", "42601", "The query is too {what} ({size}; the limit is {limit}).",
     "Split it into views or several dynamic tables."),
    ("DT-1005", "0A000", "{statement} is not supported by this version.", "{hint}"),
    ("DT-1031", "22023", "{parameter} of {call} is {given}; expected is {expected}.", ""),
    ("DT-1032", "22023", "{call} cannot be called like that: {problem}.",
     "Its arguments are {signature}."),
    ("DT-1033", "22000", "{what} failed while it ran: {problem}", "{hint}"),
    ("DT-1101", "42P01", "Table, view or dynamic table {name} does not exist.", "{hint}"),
    ("DT-1102", "42703", "Column {name} does not exist.", "{hint}"),
    ("DT-1103", "42704", "Column {name} is ambiguous.", "Qualify it: {candidates}."),
    ("DT-1104", "42711", "The query has two columns named {name}.", "Give one of them an alias."),
    ("DT-1105", "42P07", "{kind} {name} exists already.",
     "Use CREATE OR REPLACE, IF NOT EXISTS, or another name."),
    ("DT-1106", "42P19", "Dynamic table {name} would read itself: {path}.",
     "A graph of dynamic tables has no cycles."),
    ("DT-1107", "0A000", "{name} cannot be refreshed incrementally: [{reason}] {sentence}",
     "{hint}"),
    ("DT-1108", "42704", "Warehouse {name} does not exist.", "{hint}"),
    ("DT-1109", "42809", "{name} is a {kind}, not a {expected}.", "{hint}"),
    ("DT-1110", "42P01", "Dynamic table {name} reads the temporary view {view}.",
     "Make it a view (CREATE VIEW) or a table: a refresh runs in a session of its own."),
    ("DT-1111", "42611", "The column list has {given} names, the query has {actual} columns.",
     "Name every column once, or leave the list out."),
    ("DT-1112", "42601", "Spark cannot analyse the query: {problem}", "{hint}"),
    ("DT-1113", "42883", "Parameter :{name} has no value.",
     "Set the variable {name} in the notebook, or pass it to dt.sql(..., args={{...}})."),
    ("DT-1114", "42939", f"The name {{name}} is reserved: it starts with {HIDDEN}.",
     "Give the column another name."),
    ("DT-1115", "2BP01", "{kind} {name} is still used by {users}.", "{hint}"),
    ("DT-1116", "0A000", "The query of {name} has no columns that a table can hold: {problem}.",
     "Cast the column to a type that Delta stores."),
    ("DT-1117", "42704", "The function {name} is not known in a refresh.",
     "Use Spark's own functions: a refresh runs in a session of its own, where those that this "
     "one has registered are not known."),
    ("DT-1118", "42704", "Dynamic table {name} cannot be restored: {problem}.", "{hint}"),
    ("DT-1119", "42602", "{name} cannot be the name of a {kind}: {problem}.", "{hint}"),
    ("DT-1121", "40001", "{statement} on {table} lost against another writer: {problem}.",
     "Nothing of it was written: run it again."),
    # 2xxx refresh
    ("DT-2101", "55000", "Dynamic table {name} is not initialised yet.",
     "Run ALTER DYNAMIC TABLE {name} REFRESH, or wait for its first scheduled refresh."),
    ("DT-2102", "55000", "Source {source} of {name} is gone.",
     "Create it again or UNDROP it: refreshes then go on by themselves."),
    ("DT-2103", "55000", "{name} has no version for the data timestamp {timestamp}.",
     "Refresh it to that data timestamp first."),
    ("DT-2104", "55P03", "A refresh of {name} is running already ({owner}).",
     "Wait for it, or look at %dt history {name}."),
    ("DT-2105", "22000", "The refresh of {name} failed: {problem}", "{hint}"),
    ("DT-2106", "57014", "The refresh of {name} was cancelled.", "The table is as it was."),
    ("DT-2107", "XX001", "Validation {check} failed in the refresh of {name}: {facts}.",
     "Nothing was committed. Run %dt verify {name}; a REINITIALIZE repairs it."),
    ("DT-2108", "40001", "The refresh of {name} lost against another one (sequence {sequence}).",
     "The other refresh stands; nothing of this one is visible."),
    ("DT-2109", "22023", "The data timestamp {timestamp} is not in ({low}, {high}].",
     "A refresh goes forward in time, and not past now."),
    ("DT-2110", "55000", "Upstream {upstream} of {name} failed at {timestamp}.",
     "Look at %dt history {upstream}."),
    ("DT-2112", "55000", "Warehouse {name} is suspended.", "Run ALTER WAREHOUSE {name} RESUME."),
    ("DT-2113", "XX001", "{name} was written by something other than a refresh: {facts}.",
     "Its next refresh reinitialises it."),
    ("DT-2114", "58030", "{source} cannot be read at version {version}, as {name} needs it: "
     "{problem}.", "{hint}"),
    ("DT-2115", "58030", "The contents of {name} cannot be read: {problem}.",
     "Its next refresh computes them anew: ALTER DYNAMIC TABLE {name} REFRESH."),
    ("DT-2116", "55000", "Column {column} of {source}, which {name} uses, is gone.", "{hint}"),
    # 4xxx time travel and retention
    ("DT-3101", "22023", "The interval of {name} is reversed: it starts at {start}, after {end}.",
     "Swap AT and END."),
    ("DT-3102", "0A000", "The changes of {name} cannot be computed: [{reason}] {sentence}",
     "{hint}"),
    ("DT-3103", "55000", "The changes of {name} cannot be read: {problem}.",
     "Choose a later start."),
    ("DT-3104", "55000", "The rows of {name} have no ids over this interval.",
     "Declare a key, TBLPROPERTIES ('dt.primaryKey' = 'id'), or start where row tracking is on."),
    ("DT-3105", "0A000", "APPEND_ONLY needs a query in which inserts only ever add rows.",
     "Leave APPEND_ONLY out: outer joins, aggregates, windows and LIMIT take rows away."),
    ("DT-3106", "0A000", "{name} has no versions: it is not a Delta table.",
     "Convert it to Delta."),
    ("DT-3107", "0A000", "{what} cannot stand {where}.", "{hint}"),
    ("DT-3108", "23505", "The declared key {keys} is not one: {example}.",
     "Make its rows unique, or take the promise back: ALTER TABLE … UNSET TBLPROPERTIES "
     "('dt.primaryKey')."),
    ("DT-3201", "42704", "Stream {name} does not exist.", "{hint}"),
    ("DT-3202", "55000", "Stream {name} is stale since {since}: {problem}.",
     "CREATE OR REPLACE STREAM {name}: what lies between is lost."),
    ("DT-3203", "55P03", "Stream {name} is being consumed by {owner}.", "Try again."),
    ("DT-3204", "0A000", "A stream cannot be consumed into {name}: {problem}.", "{hint}"),
    ("DT-3205", "25P01", "{statement} without BEGIN: no transaction is open.",
     "Write BEGIN first."),
    ("DT-3206", "25001", "A transaction is open already (since {since}).",
     "COMMIT or ROLLBACK it first: transactions do not nest."),
    ("DT-3207", "25000", "{statement} cannot stand in a transaction: {problem}.",
     "{hint} The transaction is as it was before."),
    ("DT-3208", "40001", "The transaction was rolled back: {name} does not go with it any more "
     "({problem}).", "Nothing was published and no stream moved: run the transaction again."),
    ("DT-3209", "40003", "The transaction is half done: published were {published}; not published "
     "were {lost}, since {problem}.",
     "Something wrote past the catalog while it was published. Its streams have moved; what is "
     "missing is kept as Delta tables in {folder}."),
    ("DT-3210", "25P02", "{statement} was given up by another process, which did not hear of it.",
     "It has written nothing, and its streams stand where they stood: run it again."),
    ("DT-4101", "22023", "{name} at {point} is out of reach: the oldest is {oldest}.",
     "Choose a later time or version."),
    ("DT-4102", "22023", "{point} lies in the future of {name}.", "Choose a time up to now."),
    ("DT-4103", "22023", "Statement {statement} made no commit of {name} that is retained.",
     "Take LAST_QUERY_ID() after a statement that changed it, or QUERY_ID of a refresh."),
    ("DT-4104", "55000", "{name} at version {version} is past its retention: {gone} of its files "
     "are gone. The oldest version that is whole is {oldest}.",
     "Choose that one or a later one; dt.pin(…) keeps a version from now on."),
    ("DT-4105", "42846", "Column {column} of {name} was {then} then and is {now} now: its old "
     "values have no form in the schema of now.", "Replay it with schema_mode='snapshot_time'."),
    ("DT-4106", "55000", "{names} have no data timestamp in common: {facts}.",
     "Refresh them to one data timestamp, or query each AT a time of its own."),
    ("DT-4107", "42704", "Pin {name} {problem}.", "{hint}"),
    ("DT-4108", "55000", "This replay is closed.", "{hint}"),
    ("DT-4109", "55000", "The refresh {refresh} cannot be run again: {problem}.", "{hint}"),
    ("DT-4110", "22007", "How long {name} keeps its past cannot be read: {property} = {value}, "
     "{problem}.", "Set it as Delta reads it, as in ALTER TABLE … SET TBLPROPERTIES ('{property}' "
     "= 'interval 30 days'); dt.vacuum(…, retain_hours=720) says it for once."),
    ("DT-4111", "55000", "{name} is asked for as of a time before its retention of {retention}.",
     "AT (VERSION => …) reads what is still there, and dt.pin(…) keeps it."),
    # 5xxx catalog, leases, set-up
    ("DT-5101", "58030", "The catalog {path} has schema version {found}, not {known}.",
     "Open the lake with the release that wrote it, or a newer one."),
    ("DT-5102", "58030", "The catalog {path} cannot be opened: {problem}.", "{hint}"),
    ("DT-5103", "58030", "The lake {path} cannot be used: {problem}.", "{hint}"),
    ("DT-5104", "58000", "No Java 17 or newer was found.",
     "Install one (for example: pip install 'dt-jupyter[java]'), or set JAVA_HOME."),
    ("DT-5105", "58000", "Spark did not start: {problem}", "{hint}"),
    ("DT-5106", "58000", "This Spark session does not know Delta Lake: {problem}.", "{hint}"),
    ("DT-5107", "55P03", "{name} is locked by {owner}.", "Wait for it, or end that process."),
    ("DT-5108", "08003", "The engine on {path} is closed.", "Connect again: %dt connect {path}."),
    ("DT-5109", "08003", "No lake is connected in this notebook.",
     "Run %dt connect, or dt = dt_jupyter.connect('lake')."),
    ("DT-5110", "22023", "The request cannot be read: {problem}.",
     "Reload the page, and restart the kernel: one of them may be of another release."),
    ("DT-5111", "XX000", "{what} failed in a way that was not foreseen: {problem}",
     "That is a defect: please report it, with what you ran and the text under Details "
     "(`details` of the error; for a view, the log of the kernel)."),
    ("DT-5112", "58030", "The {kind} {name} is in quarantine: {problem}.", "{hint}"),
    ("DT-5113", "58030", "The catalog {path} is gone: {problem}.",
     "Close this engine, and connect to the lake where it is now."),
    ("DT-5114", "58030", "The lake {path} has no catalog, and {count} dynamic tables whose logs do "
     "not say what they compute: {tables}.",
     "Put _dt/catalog.sqlite back from a copy; or move their folders in _dt/dynamic away and "
     "create them again."),
    ("DT-5121", "53100", "The disk is full: {problem}.",
     "Free some space, as with dt.vacuum(), and run it again: nothing is half written."),
    ("DT-5122", "42501", "Permission was refused: {problem}.",
     "Give the user of this process the right to read and write that file and its folder."),
    ("DT-5123", "53000", "Too many files are open: {problem}.",
     "Raise the limit (ulimit -n) before the kernel starts, or close other engines and replays."),
    ("DT-5124", "57P01", "The Spark session is gone: {problem}.",
     "Restart the kernel and connect again: the lake stands at its last commit."),
    ("DT-5125", "53200", "Spark ran out of memory: {problem}.",
     "Restart the kernel and connect with more, as in memory='4g', or ask for less at once."),
    ("DT-5127", "57014", "{what} was cancelled.", "Run it again."),
    ("DT-5128", "58030", "A table cannot be read or written: {problem}.", "{hint}"),
)  # fmt: skip


@dataclass(eq=False)
class DTError(Exception):
    """An error of the catalogue.

    `facts` fill the templates; `query` and `span` say where; `details` holds what is one click
    away (a JVM trace), and is never part of the message.
    """

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    query: str | None = None
    span: Span | None = None
    details: str | None = None

    def __post_init__(self) -> None:
        entry = CATALOGUE[self.code]
        missing = entry.fields - self.facts.keys()
        if missing:
            raise ValueError(f"{self.code} lacks {sorted(missing)}")
        Exception.__init__(self, str(self))

    @property
    def sqlstate(self) -> str:
        return CATALOGUE[self.code].sqlstate

    @property
    def sentence(self) -> str:
        return CATALOGUE[self.code].message.format(**self.facts)

    @property
    def hint(self) -> str:
        return CATALOGUE[self.code].hint.format(**self.facts)

    def __str__(self) -> str:
        hint = self.hint
        return f"[{self.code}] {self.sentence}" + (f" {hint}" if hint else "")

    def at(self, query: str, span: Span | None) -> DTError:
        """The same error, placed in `query`."""
        return DTError(self.code, self.facts, query, span, self.details)


def error(code: str, /, **facts: Any) -> DTError:
    """The catalogue's error `code` with its facts; raise the result."""
    return DTError(code, facts)


def did_you_mean(name: str, known: list[str], otherwise: str = "") -> str:
    """A hint that names the closest of `known`, but not `name` itself, else `otherwise`."""
    names = {k.casefold(): k for k in known if k != name}
    close = [names[k] for k in difflib.get_close_matches(name.casefold(), names, n=2)]
    return f"Did you mean {' or '.join(close)}?" if close else otherwise
