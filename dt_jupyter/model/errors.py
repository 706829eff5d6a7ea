"""The error catalogue: one entry per code, worded once; an error carries its facts as fields."""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dt_jupyter.model.hidden import HIDDEN
from dt_jupyter.model.time import Timestamp


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
    ("DT-1031", "22023", "{parameter} of {call} must be {expected}, not {given}.", ""),
    ("DT-1032", "22023", "Wrong arguments for {call}: {problem}.",
     "Its arguments: {signature}."),
    ("DT-1033", "22000", "{what} failed: {problem}", "{hint}"),
    ("DT-1101", "42P01", "Table, view or dynamic table {name} does not exist.", "{hint}"),
    ("DT-1102", "42703", "Column {name} does not exist.", "{hint}"),
    ("DT-1103", "42704", "Column {name} is ambiguous.", "Qualify it: {candidates}."),
    ("DT-1104", "42711", "The query has two columns named {name}.", "Give one of them an alias."),
    ("DT-1105", "42P07", "{kind} {name} already exists.",
     "{hint}"),
    ("DT-1106", "42P19", "Dynamic table {name} would read itself: {path}.",
     "Dynamic tables cannot form a cycle."),
    ("DT-1107", "0A000", "{name} cannot be refreshed incrementally: [{reason}] {sentence}",
     "{hint}"),
    ("DT-1108", "42704", "Warehouse {name} does not exist.", "{hint}"),
    ("DT-1109", "42809", "{name} is a {kind}, not a {expected}.", "{hint}"),
    ("DT-1110", "42P01", "Dynamic table {name} reads the temporary view {view}.",
     "Make it a view (CREATE VIEW) or a table: a refresh runs in its own session."),
    ("DT-1111", "42611", "The column list has {given}, but the query has {actual}.",
     "Name every column once, or omit the list."),
    ("DT-1112", "42601", "Spark cannot analyse the query: {problem}.", "{hint}"),
    ("DT-1113", "42883", "Parameter :{name} has no value.",
     "Set the variable {name} in the notebook, or pass it to dt.sql(..., args={{...}})."),
    ("DT-1114", "42939", f"The name {{name}} is reserved: it starts with {HIDDEN}.",
     "Give the column another name."),
    ("DT-1115", "2BP01", "{kind} {name} is still used by {users}.", "{hint}"),
    ("DT-1116", "0A000", "The result of {name} cannot be stored: {problem}.",
     "Cast the column to a type that Delta stores."),
    ("DT-1117", "42704", "Function {name} is not available in a refresh.",
     "{hint}"),
    ("DT-1118", "42704", "{name} cannot be restored: {problem}.", "{hint}"),
    ("DT-1119", "42602", "{name} cannot be the name of a {kind}: {problem}.", "{hint}"),
    ("DT-1121", "40001", "{statement} on {table} conflicts with a concurrent write: {problem}.",
     "Nothing was written. Run it again."),
    ("DT-1123", "0A000", "Dynamic table {name} reads the stream {stream}.",
     "Read {source}, whose changes the stream holds: a refresh reads them automatically. A "
     "statement that writes a table consumes a stream."),
    ("DT-1125", "0A000", "{subject} has no SQL form: there is none of {what}.",
     "Write that part as a table, or the definition as SQL."),
    ("DT-1126", "54000", "{subject} contains {what}.",
     "Write them into a table, and read that."),
    ("DT-1127", "0A000", "{subject} has no SQL form: {what} runs a program.",
     "Use Spark's own functions, or register it by dt.register_udf and call it by its name."),
    ("DT-1128", "0A000", "{subject} has no SQL form: Spark plans its text otherwise.",
     "Give the definition as SQL."),
    ("DT-1129", "22023", "{function} must return a DataFrame, not {given}.", ""),
    ("DT-1130", "42602", "{name} cannot be the name of a function: {problem}.",
     "Choose another word."),
    ("DT-1131", "0A000", "The function {name} cannot be kept with the lake: {problem}.", "{hint}"),
    ("DT-1132", "55000", "The function {name} cannot be called here: {problem}.", "{hint}"),
    ("DT-1133", "22023", "The function {name} cannot be immutable and on change: one has the same "
     "value at any time, the other that of its time.", "Give one of the two."),
    ("DT-1134", "22000", "The function {name} raised {problem}.", "{hint}"),
    ("DT-1135", "0A000", "Schema {name} cannot be cloned: {problem}.", "{hint}"),
    ("DT-1136", "3F000", "Schema {name} does not exist.", "{hint}"),
    ("DT-1137", "0A000", "{statement} is not a definition; a plan is made of those alone.",
     "A plan takes CREATE of schemas, tables, views, dynamic tables, streams, tasks, sinks, "
     "warehouses, roles and SQL functions, GRANT, SUSPEND and RESUME, USE and SET. Run the rest by "
     "dt.sql."),
    ("DT-1138", "40001", "The definitions of the lake have changed since the plan was made.",
     "Make the plan again: dt.plan(script)."),
    ("DT-1139", "42601", "FROZEN WHERE of {name} cannot be kept: {problem}.", "{hint}"),
    ("DT-1140", "0A000",
     "FROZEN WHERE of {name} asks for the time so that a frozen row may not stay frozen.",
     "Compare with the clock so that rows only come to it: day < current_date() - INTERVAL 30 "
     "DAYS. AND, OR and BETWEEN may join such conditions; NOT and = may not."),
    ("DT-1141", "42601", "BACKFILL FROM fills a frozen region, and none is given.",
     "Add FROZEN WHERE (condition): its rows are taken from that table."),
    ("DT-1142", "0A000", "The frozen rows of {name} do not fit the query any more: {problem}.",
     "{hint}"),
    ("DT-1143", "42809", "{table} cannot give the frozen rows of {name}: {problem}.", "{hint}"),
    ("DT-1144", "55000", "The frozen rows of {name} are lost: {problem}.",
     "Nothing was changed. CREATE OR REPLACE … BACKFILL FROM takes them from a copy; ALTER DYNAMIC "
     "TABLE {name} UNSET FROZEN WHERE gives them up and computes all rows."),
    ("DT-1145", "22023", "{file}, of {source}, is not a whole {format} file.",
     "Write it again, or move it away: a file is best written under a hidden name (_x, .x) and "
     "renamed once it is whole."),
    ("DT-1146", "22023", "The files of {source} are not in the folders of its partitions: "
     "{problem}.", "Move the file, or make a table of the folder that it is in."),
    ("DT-1147", "40001", "{file}, of {source}, changes while it is read.",
     "Try again once it is whole. Write files under a hidden name (_x, .x), and rename them then."),
    ("DT-1148", "22018", "The folders of {source} have a value of another type: {problem}.",
     "Move the file, or make a table of the folder whose column is a STRING: CREATE TABLE … "
     "USING … PARTITIONED BY (…) LOCATION …, then MSCK REPAIR TABLE."),
    ("DT-1150", "0A000", "Schema {name} cannot take another name: {problem}.", "{hint}"),
    ("DT-1151", "42939", "Schema {name} keeps its name: {problem}.",
     "Create another schema: CREATE SCHEMA …."),
    ("DT-1152", "55006", "Schema {name} cannot take another name while {work}.",
     "Try again once it is done, or suspend it: ALTER {kind} {object} SUSPEND."),
    ("DT-1153", "55000", "The function {name} of Python is not registered as the script has it.",
     "Run the lines of the script's comment that end with dt.register_udf({name!r}, …), and make "
     "the plan again."),
    ("DT-1154", "42601", "The value of the variable {name} refers to the variable itself.",
     "Give it another value: SET {name} = …."),
    ("DT-1155", "42501", "The value of ${{{name}}} cannot be read here.",
     "It belongs to the process that runs Spark: neither a shared engine nor Spark Connect shows "
     "it. Use SET and the name of the conf, or a parameter."),
    ("DT-1156", "42601", "IDENTIFIER({given}) in a definition is not the text of a name.",
     "Write the name, or IDENTIFIER('schema.name'); a parameter becomes its value."),
    ("DT-1165", "42802", "A row for {table} needs {wanted}, and has {given}.",
     "The columns of {table}: {columns}."),
    ("DT-1166", "0A000", "{subject} is {kind}, and a dynamic table reads tables, whose rows can "
     "change.", "{hint}"),
    # 2xxx refresh
    ("DT-2101", "55000", "Dynamic table {name} is not initialised yet.",
     "Run ALTER DYNAMIC TABLE {name} REFRESH, or wait for its first scheduled refresh."),
    ("DT-2102", "55000", "Source {source} of {name} no longer exists.",
     "Create it again, or UNDROP it: refreshes then resume."),
    ("DT-2103", "55000", "{name} has no version for the data timestamp {timestamp}.",
     "Refresh it to that data timestamp first."),
    ("DT-2104", "55P03", "A refresh of {name} is already running ({owner}).",
     "Wait for it, or see %dt history {name}."),
    ("DT-2105", "22000", "The {work} of {name} failed: {problem}", "{hint}"),
    ("DT-2106", "57014", "The refresh of {name} was cancelled.", "The table is unchanged."),
    ("DT-2107", "XX001", "Validation {check} failed in the refresh of {name}: {facts}.",
     "Nothing was committed. Run %dt verify {name}; a REINITIALIZE repairs it."),
    ("DT-2108", "40001", "Another refresh of {name} was faster (sequence {sequence}).",
     "The other refresh succeeded; this one wrote nothing."),
    ("DT-2109", "22023", "The data timestamp {timestamp} must be after {low}, and at most {high}.",
     "A refresh goes forward in time, but not past now."),
    ("DT-2110", "55000", "Upstream {upstream} of {name} failed at {timestamp}.",
     "See %dt history {upstream}."),
    ("DT-2112", "55000", "Warehouse {name} is suspended.", "Run ALTER WAREHOUSE {name} RESUME."),
    ("DT-2113", "XX001", "{name} was written by something other than a refresh: {facts}.",
     "The next refresh reinitialises it."),
    ("DT-2114", "58030", "{source} cannot be read at version {version}, as {name} needs it: "
     "{problem}.", "{hint}"),
    ("DT-2115", "58030", "The contents of {name} cannot be read: {problem}.",
     "A refresh recomputes them: ALTER DYNAMIC TABLE {name} REFRESH."),
    ("DT-2116", "55000", "Column {column} of {source}, used by {name}, no longer exists.",
     "{hint}"),
    ("DT-2117", "55000", "Source {source} of {name} is a {kind} now, which no dynamic table reads.",
     "Give that name back to a table or a view, or change the query with CREATE OR ALTER."),
    ("DT-2122", "55P03", "A transaction of another process has been committed for over {seconds} "
     "seconds, and is not in all of its tables yet.",
     "Try again; if that process does not respond, end it."),
    # 4xxx time travel and retention
    ("DT-3101", "22023", "The interval of {name} is reversed: it starts at {start}, after {end}.",
     "Swap AT and END."),
    ("DT-3102", "0A000", "The changes of {name} cannot be computed: [{reason}] {sentence}",
     "{hint}"),
    ("DT-3103", "55000", "The changes of {name} cannot be read: {problem}.",
     "Choose a later start."),
    ("DT-3104", "55000", "The rows of {name} have no stable ids over this interval.",
     "Declare a key, TBLPROPERTIES ('dt.primaryKey' = 'id'), or start where row tracking is on."),
    ("DT-3105", "0A000", "APPEND_ONLY needs a query in which inserts only add rows.",
     "Omit APPEND_ONLY, or use no outer joins, aggregates, windows and LIMIT."),
    ("DT-3106", "0A000", "{name} has no versions: {problem}.", "{hint}"),
    ("DT-3107", "0A000", "{what} cannot be used {where}.", "{hint}"),
    ("DT-3108", "23505", "The declared key {keys} is not unique: {example}.",
     "Remove the duplicates, or drop the key: ALTER TABLE … UNSET TBLPROPERTIES "
     "('dt.primaryKey')."),
    ("DT-3201", "42704", "Stream {name} does not exist.", "{hint}"),
    ("DT-3202", "55000", "Stream {name} is stale since {since}: {problem}.",
     "CREATE OR REPLACE STREAM {name}: changes since then are lost."),
    ("DT-3203", "55P03", "Stream {name} is being consumed by {owner}.", "Try again."),
    ("DT-3204", "0A000", "A stream cannot be consumed into {name}: {problem}.", "{hint}"),
    ("DT-3205", "25P01", "{statement} without BEGIN: no transaction is open.",
     "Write BEGIN first."),
    ("DT-3206", "25001", "A transaction is already open (since {since}).",
     "COMMIT or ROLLBACK it first: transactions cannot be nested."),
    ("DT-3207", "25000", "{statement} is not allowed in a transaction: {problem}.",
     "{hint} The transaction is unchanged."),
    ("DT-3208", "40001", "The transaction was rolled back: {name} was changed at the same time "
     "({problem}).", "Nothing was written and no stream advanced. Run the transaction again."),
    ("DT-3209", "40003", "The transaction was committed in part: {published} written; {lost} not "
     "written, since {problem}.",
     "Another program wrote to these tables during the commit. The streams have advanced; the "
     "missing rows are kept as Delta tables in {folder}."),
    ("DT-3210", "25P02", "{statement} was rolled back by another process: it did not respond.",
     "Nothing was written and no stream advanced. Run it again."),
    ("DT-3211", "55006", "Stream {name} belongs to sink {sink}, which delivers its changes.",
     "SELECT reads it without moving it. Create another stream, or DROP SINK {sink} before."),
    ("DT-3301", "42704", "Task {name} does not exist.", "{hint}"),
    ("DT-3302", "42P19", "Task {name} would come after itself: {path}.",
     "Tasks cannot form a cycle: REMOVE AFTER one of them first."),
    ("DT-3303", "42601", "The condition of a task cannot be read: {problem}.",
     "Write WHEN SYSTEM$STREAM_HAS_DATA('s'), with AND, OR, NOT and brackets."),
    ("DT-3304", "0A000", "A task cannot run {statement}: {problem}.", "{hint}"),
    ("DT-3305", "55P03", "Task {name} is already running (since {since}).",
     "Wait for it: SELECT * FROM TABLE(TASK_HISTORY(NAME => '{name}')) says when it ended."),
    ("DT-3306", "55000", "Task {name} failed: {problem}", "{hint}"),
    ("DT-3307", "57P01", "The process that ran task {name} ended.",
     "What it had not committed did not happen; the next run resumes from there."),
    ("DT-3308", "57014", "Task {name} took longer than {limit}, and was cancelled.",
     "Nothing of it was committed. ALTER TASK {name} SET USER_TASK_TIMEOUT_MS = … allows more."),
    ("DT-3309", "55000", "Task {name} cannot be started: {problem}.", "{hint}"),
    ("DT-4101", "22023", "{name} at {point} is not available: the oldest is {oldest}.",
     "Choose a later time or version."),
    ("DT-4102", "22023", "{point} is in the future of {name}.", "Choose a time up to now."),
    ("DT-4103", "22023", "Statement {statement} has no retained commit of {name}.",
     "Use LAST_QUERY_ID() after a statement that changed it, or QUERY_ID of a refresh."),
    ("DT-4104", "55000", "{name} at version {version} is past its retention: {gone} "
     "deleted. The oldest complete version is {oldest}.",
     "Choose that one or a later one; dt.pin(…) protects a version from now on."),
    ("DT-4105", "42846", "Column {column} of {name} was {then} and is {now} now: old values "
     "do not fit the current schema.", "Replay it with schema_mode='snapshot_time'."),
    ("DT-4106", "55000", "{names} have no data timestamp in common: {facts}.",
     "Refresh them to one data timestamp, or query each AT its own time."),
    ("DT-4107", "42704", "Pin {name} {problem}.", "{hint}"),
    ("DT-4108", "55000", "This replay is closed.", "{hint}"),
    ("DT-4109", "55000", "The refresh {refresh} cannot be run again: {problem}.", "{hint}"),
    ("DT-4110", "22007", "The retention of {name} cannot be read: {property} = {value}, {problem}.",
     "Set it as Delta does: ALTER TABLE … SET TBLPROPERTIES ('{property}' = "
     "'interval 30 days'), or pass dt.vacuum(…, retain_hours=720)."),
    ("DT-4111", "55000", "The time asked for is before the retention of {name}, {retention}.",
     "AT (VERSION => …) reads versions that are still there; dt.pin(…) protects one."),
    ("DT-4112", "22023", "No archive has {name} at {point}.", "{hint}"),
    ("DT-4113", "58030", "The archive {folder} cannot be used: {problem}.",
     "Give another folder; dt.archives() shows those that there are."),
    ("DT-4114", "55000", "{kind} {name} is in the lake, but not in this session: {problem}.",
     "UNDROP SCHEMA {schema} restores the names whose data is still there."),
    # 5xxx catalog, leases, set-up
    ("DT-5101", "58030", "The catalog {path} has schema version {found}, not {known}.",
     "Open the lake with the release that wrote it, or with a newer one."),
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
    ("DT-5111", "XX000", "{what} failed unexpectedly: {problem}",
     "This is a bug: please report it, with what you ran and the text under Details "
     "(`details` of the error; for a view, the log of the kernel)."),
    ("DT-5112", "58030", "The {kind} {name} is in quarantine: {problem}.", "{hint}"),
    ("DT-5113", "58030", "The catalog {path} no longer exists: {problem}.",
     "Close this engine, and connect to the lake at its new place."),
    ("DT-5114", "58030", "The lake {path} has no catalog, and the definitions of {tables} "
     "cannot be restored from their logs.",
     "Restore _dt/catalog.sqlite from a backup; or move their folders in _dt/dynamic away and "
     "create them again."),
    ("DT-5115", "22023", "The address of the catalog cannot be used: {problem}.", "{hint}"),
    ("DT-5116", "58030", "The catalog {path} is not this lake's: {problem}.", "{hint}"),
    ("DT-5121", "53100", "The disk is full: {problem}.",
     "Free some space, for example by dt.vacuum(), and run it again: nothing is half written."),
    ("DT-5122", "42501", "Permission was refused: {problem}.",
     "Let the user of this process read and write that file and its folder."),
    ("DT-5123", "53000", "Too many files are open: {problem}.",
     "Raise the limit (ulimit -n) before the kernel starts, or close other engines and replays."),
    ("DT-5124", "57P01", "The Spark session has ended: {problem}.",
     "Connect again (%dt connect, or dt_jupyter.connect(…)): a new session is started. Everything "
     "committed is there."),
    ("DT-5125", "53200", "Spark ran out of memory: {problem}.",
     "Restart the kernel and connect with more, for example memory='4g'; or read less at once."),
    ("DT-5127", "57014", "{what} was cancelled.", "Run it again."),
    ("DT-5128", "58030", "A table cannot be read or written: {problem}.", "{hint}"),
    ("DT-5130", "22023", "Alerts cannot be sent to {what}: {problem}.",
     "Give a function of one argument, or an address as https://host/path."),
    ("DT-5131", "58030", "Metrics cannot be served at {address}: {problem}.",
     "Choose another port, or end what uses that one."),
    ("DT-5132", "58000", "{what} needs a library that is not installed.",
     "Run pip install 'dt-jupyter[{extra}]'."),
    ("DT-5133", "0A000", "{found} is not supported: Spark 4.0, 4.1 or 4.2 and Delta 4.4 are.",
     "Run pip install 'pyspark>=4.0.1,<4.3' 'delta-spark==4.4.0' and restart the kernel; a server "
     "or a cluster needs the same releases."),
    # 52xx roles, rights and shared engines
    ("DT-5201", "42501", "Role {role} has no {right} on {kind} {name}.",
     "Its owner, role {owner}, may run: GRANT {right} ON {word} {name} TO ROLE {role}."),
    ("DT-5202", "42501", "Dynamic table {table} runs with the rights of its owner, role {role}, "
     "which has no {right} on {kind} {name}.",
     "GRANT {right} ON {word} {name} TO ROLE {role}: refreshes then resume."),
    ("DT-5203", "42704", "Role {name} does not exist.", "{hint}"),
    ("DT-5204", "42501", "Role {name} cannot be used: {problem}.", "{hint}"),
    ("DT-5205", "42P19", "Role {role} cannot be granted to role {to}: {problem}.",
     "A role cannot have itself, directly or through others."),
    ("DT-5206", "42809", "There is no right {right} on a {kind}.", "{hint}"),
    ("DT-5207", "42501", "{statement} is not open to role {role}: {problem}.", "{hint}"),
    ("DT-5208", "42501", "Role {role} may not read or write files by their path: {path}.",
     "Name the table or view that they belong to."),
    ("DT-5209", "0A000", "Roles cannot be held over Spark Connect: {problem}.",
     "Use a classic session, or open the lake as admin."),
    ("DT-5211", "42501", "{what} is refused in a shared engine: {problem}.",
     "The operator of the service can do it in an engine that is not shared."),
    # 6xxx sinks
    ("DT-6101", "22023", "The sink URL {url} is not valid: {problem}.", "{hint}"),
    ("DT-6102", "58000", "A sink to {store} needs the package {package}.",
     "Install it: pip install 'dt-jupyter[sinks]'."),
    ("DT-6103", "22023", "The secret {reference} cannot be read: {problem}.", "{hint}"),
    ("DT-6104", "42704", "Sink {name} does not exist.", "{hint}"),
    ("DT-6105", "42611", "Sink {name} has no key: {source} declares none.",
     "Write KEY (column, …) with columns that are never NULL and identify each row."),
    ("DT-6110", "08001", "{store} cannot be reached: {problem}.",
     "Delivery resumes once it answers; nothing is lost."),
    ("DT-6111", "28000", "{store} refused the login.",
     "Check the user and the secret that the sink refers to."),
    ("DT-6112", "58030", "{store} failed: {problem}.", "{hint}"),
    ("DT-6113", "57014", "The sink's store did not answer within {seconds} s.",
     "Delivery is tried again; raise the option timeout if the store is only slow."),
    ("DT-6120", "08P01", "The sink protocol was broken: {problem}.",
     "Nothing of the transaction was committed. The driver, or its version, is at fault."),
    ("DT-6121", "08006", "The driver process ended: {problem}.", "{hint}"),
    ("DT-6122", "40001", "Another process delivers {task} now.",
     "This one committed nothing after that; it stops."),
    ("DT-6123", "55000", "The tasks of the sink are at different points: {range} cannot be "
     "opened over {known}.",
     "Deliver with the earlier number of PARTITIONS until all are up to date, or RESET the sink."),
    ("DT-6130", "23505", "The key {key} of the sink is not unique in its source: {example}.",
     "Nothing was stored. Choose a key that is unique, or REDUCE the other columns."),
    ("DT-6131", "23502", "The key column {column} of the sink has a NULL in its source.",
     "Nothing was stored. Choose another key, or filter the rows without one."),
    ("DT-6132", "0A000", "Column {column} of type {type} cannot be stored in {store}: {problem}.",
     "Cast it in the source, or leave it out."),
    ("DT-6133", "22003", "A value of column {column} cannot be stored: {problem}.",
     "Nothing of the transaction was stored. Change it in the source."),
    ("DT-6134", "42602", "{name} cannot be a name in {store}: {problem}.",
     "Give it another name in the source, or another target."),
    ("DT-6135", "42701", "The names {names} are one name in {store}.",
     "Rename one of the columns in the source."),
    ("DT-6136", "42611", "Column {column} cannot be in the key of a sink: {problem}.",
     "Choose columns that are never NULL and identify each row."),
    ("DT-6137", "42611", "REDUCE ({column} {reduction}) is not possible: {problem}.",
     "Choose another reduction for the column."),
    ("DT-6138", "42703", "Column {column} of the sink cannot be read from its source: {problem}.",
     "Create the sink again with the columns that are there."),
    ("DT-6140", "42P07", "{target} is in {store} already, and is not of this sink.",
     "Choose another target, or take it over with OPTIONS (adopt = TRUE)."),
    ("DT-6141", "55006", "{target} in {store} belongs to another sink, {owner}.",
     "Choose another target, or drop that sink."),
    ("DT-6142", "42804", "{target} in {store} cannot follow its source: {problem}.",
     "The sink waits. RESET it to create the table again, or change the source back."),
    ("DT-6143", "55000", "{target} in {store} was changed by someone else: {problem}.",
     "The sink waits. RESET it to deliver everything again."),
    ("DT-6144", "0A000", "{store} cannot take this sink: {problem}.", "{hint}"),
    ("DT-6145", "08004", "{store} refuses all requests: {answer}.", "{hint}"),
    ("DT-6146", "58000", "The driver of {scheme}:// cannot be used: {problem}.",
     "A package names its driver in the entry point group dt_jupyter.sinks."),
    ("DT-6150", "55000", "Sink {name} cannot continue from its position: {problem}.",
     "ALTER SINK {name} RESET delivers everything again."),
    ("DT-6151", "55000", "The source of sink {name} was replaced: {problem}.",
     "ALTER SINK {name} RESET delivers everything of the new one; DROP SINK ends it."),
    ("DT-6152", "55000", "Sink {name} cannot continue from the offset of stream {stream}: "
     "{problem}.",
     "CREATE OR REPLACE STREAM {stream}, with SHOW_INITIAL_ROWS = TRUE for all rows, and "
     "ALTER SINK {name} RESET."),
)  # fmt: skip


def _worded(template: str, facts: Mapping[str, Any]) -> str:
    """A fact may be a sentence itself, with a full stop before the template's own, or another
    error, whose code is left out: an error has one."""
    return _TWO_STOPS.sub(".", template.format(**{k: _fact(v) for k, v in facts.items()}))


def _fact(value: Any) -> Any:
    if isinstance(value, Timestamp):
        return value.words
    if isinstance(value, str | DTError):
        return _CODE.sub("", str(value))
    return value


_TWO_STOPS = re.compile(r"(?<![.\s])\.\.(?=\s|\Z)")
_CODE = re.compile(r"(?:(?<=: )|\A)\[DT-\d{4}\] ")


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
        return _worded(CATALOGUE[self.code].message, self.facts)

    @property
    def hint(self) -> str:
        """What helps; `also` among the facts is what helps in this case besides, `instead` in the
        place of the catalogue's."""
        instead = self.facts.get("instead")
        hint = instead if instead is not None else _worded(CATALOGUE[self.code].hint, self.facts)
        return " ".join(filter(None, (hint, self.facts.get("also"))))

    def __str__(self) -> str:
        hint = self.hint
        return f"[{self.code}] {self.sentence}" + (f" {hint}" if hint else "")

    def at(self, query: str, span: Span | None) -> DTError:
        """The same error, placed in `query`."""
        return DTError(self.code, self.facts, query, span, self.details)

    def but(self, **facts: Any) -> DTError:
        """The same error with other facts."""
        return DTError(self.code, {**self.facts, **facts}, self.query, self.span, self.details)


def error(code: str, /, **facts: Any) -> DTError:
    """The catalogue's error `code` with its facts; raise the result."""
    return DTError(code, facts)


def read_error(text: str) -> DTError | None:
    """The error whose `str` is `text`, as a history keeps it; None for any other text."""
    found = _CODE.match(text)
    entry = CATALOGUE.get(found[0].strip("[] ")) if found else None
    if found is None or entry is None:
        return None
    said, fields = text[found.end() :], set[str]()
    message, hint = _pattern(entry.message, fields), _pattern(entry.hint, fields)
    hinted, rest = rf"{message}(?<=[.?!]) {hint}", r"(?<=[.?!]) (?P<instead>.*)"
    forms = (hinted, rf"{hinted} (?P<also>.*)", message + rest, message)
    match = next((m for form in forms if (m := re.fullmatch(form, said, re.DOTALL))), None)
    facts = {**dict.fromkeys(entry.fields, ""), **match.groupdict()} if match else None
    return DTError(entry.code, facts) if facts is not None else None


def _pattern(template: str, fields: set[str]) -> str:
    """What finds the facts in a text of a template."""
    found = []
    for literal, name, _, conversion in string.Formatter().parse(template):
        found.append(re.escape(literal))
        if not name:
            continue
        known = name in fields
        found.append(".*?" if conversion else f"(?P={name})" if known else f"(?P<{name}>.*?)")
        fields.update(() if conversion else {name})
    return "".join(found)


def did_you_mean(name: str, known: list[str], otherwise: str = "") -> str:
    """A hint that names the closest of `known`, but not `name` itself, else `otherwise`."""
    names = {k.casefold(): k for k in known if k != name}
    close = [names[k] for k in difflib.get_close_matches(name.casefold(), names, n=2)]
    return f"Did you mean {' or '.join(close)}?" if close else otherwise
