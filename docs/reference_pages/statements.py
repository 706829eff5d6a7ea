"""Statements, magics and the command line: their forms, options and examples."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from docs.reference_pages.markdown import block, code, paragraphs, table
from dt_jupyter import cli
from dt_jupyter.model import DTError
from dt_jupyter.sql.grammar.functions import OWN_FUNCTIONS
from dt_jupyter.sql.grammar.magic_specs import (
    CHANGES,
    CHANGES_CELL,
    DT,
    DYNAMIC_TABLE,
    REPLAY,
    SQL,
    usage,
)
from dt_jupyter.sql.grammar.options import (
    SINK_OPTIONS,
    STREAM_OPTIONS,
    TABLE_OPTIONS,
    TASK_OPTIONS,
    WAREHOUSE_OPTIONS,
    Option,
)
from dt_jupyter.sql.grammar.parse import parse_script
from dt_jupyter.sql.grammar.parse_ours import _PARSERS
from dt_jupyter.sql.grammar.statement_values import PointKind, SparkStatement
from dt_jupyter.sql.grammar.unsupported import _LEADING


@dataclass(frozen=True)
class Form:
    """A statement: its grammar, what it does, and an example that is parsed when this page is
    made. `words` are those that the parser knows it by."""

    words: str
    grammar: str
    does: str
    example: str


_POINT = "{AT | BEFORE} (…)"
FORMS: tuple[Form, ...] = (
    Form("CREATE DYNAMIC TABLE",
         "CREATE [OR REPLACE | OR ALTER] DYNAMIC TABLE [IF NOT EXISTS] n\n"
         "  [(column [COMMENT 'c'], …)] [option …] [CLUSTER BY (column, …)]\n"
         "  [FROZEN WHERE (condition) [BACKFILL FROM t]] AS query",
         "Registers a query, checks it, and fills the table. OR ALTER keeps the table and changes "
         "what has changed. No refresh changes the rows of a frozen region; `BACKFILL FROM` "
         "takes the first of them from a table. IMMUTABLE WHERE is another word for it.",
         "CREATE DYNAMIC TABLE daily TARGET_LAG = '5 minutes' AS SELECT day, count(*) AS n FROM "
         "orders GROUP BY day"),
    Form("CREATE DYNAMIC TABLE",
         "CREATE [OR REPLACE] DYNAMIC TABLE [IF NOT EXISTS] n CLONE m\n"
         f"  [{_POINT}] [TARGET_LAG = …] [WAREHOUSE = …]",
         "Another dynamic table with the definition, the rows and the state of `m`, as of a point. "
         "It shares the files of `m`; no row is computed.",
         "CREATE DYNAMIC TABLE copy CLONE daily AT (OFFSET => -3600)"),
    Form("CREATE SCHEMA",
         f"CREATE SCHEMA [IF NOT EXISTS] b CLONE a [{_POINT}]",
         "Another schema with the tables, views, dynamic tables and streams of `a`, over the same "
         "files. What reads within `a` reads the clones, all else stays. Sinks and tasks "
         "are not cloned; streams begin at the newest version.",
         "CREATE SCHEMA trial CLONE shop AT (OFFSET => -3600)"),
    Form("ALTER SCHEMA", "ALTER SCHEMA a {RENAME TO b | SWAP WITH b}",
         "The tables, views, dynamic tables, streams, sinks and tasks of a schema, its grants and "
         "what UNDROP can bring back, under the schema's new name. What reads within the schema "
         "reads it on; what names it from elsewhere follows the name. No file moves.",
         "ALTER SCHEMA trial RENAME TO shop_2026"),
    Form("UNDROP SCHEMA", "UNDROP SCHEMA s",
         "Brings back the schema of that name that DROP SCHEMA … CASCADE dropped last, with its "
         "tables in the lake's folder, views, dynamic tables and streams. Sinks and tasks stay "
         "dropped.",
         "UNDROP SCHEMA trial"),
    Form("ALTER DYNAMIC TABLE",
         "ALTER DYNAMIC TABLE [IF EXISTS] n\n"
         "  {SET option … | UNSET option, … | SUSPEND | RESUME | REFRESH [FULL] [NOWAIT] | "
         "RENAME TO m | SWAP WITH m\n   | CLUSTER BY (column, …) | DROP CLUSTERING KEY\n"
         "   | SET FROZEN WHERE (condition) | UNSET FROZEN WHERE}",
         "Makes one change. REFRESH brings it, and all upstream, to now; FULL recomputes all rows. "
         "A refresh that runs is waited for; with NOWAIT it is an error.",
         "ALTER DYNAMIC TABLE daily SET TARGET_LAG = '1 hour'"),
    Form("DROP DYNAMIC TABLE", "DROP DYNAMIC TABLE [IF EXISTS] n",
         "Takes it away; UNDROP brings it back.", "DROP DYNAMIC TABLE IF EXISTS daily"),
    Form("UNDROP DYNAMIC TABLE", "UNDROP DYNAMIC TABLE [IF EXISTS] n",
         "Brings back the one of that name that was dropped last.", "UNDROP DYNAMIC TABLE daily"),
    Form("UNDROP TABLE", "UNDROP TABLE n", "The same for a table that the engine dropped.",
         "UNDROP TABLE orders"),
    Form("DESCRIBE DYNAMIC TABLE", "DESCRIBE DYNAMIC TABLE n",
         "Its columns, what it reads and which columns of it, and why it is not refreshed where it "
         "is not.", "DESC DYNAMIC TABLE daily"),
    Form("SHOW DYNAMIC TABLES", "SHOW DYNAMIC TABLES [LIKE 'pattern']",
         "A row for each, with mode, reason and lag.", "SHOW DYNAMIC TABLES LIKE 'd%'"),
    Form("EXPLAIN DYNAMIC TABLE", "EXPLAIN {DYNAMIC TABLE n | CREATE DYNAMIC TABLE … AS query}",
         "The tree of operators with their rules, and the statements of the next refresh; of a "
         "CREATE, what it would decide.", "EXPLAIN DYNAMIC TABLE daily"),
    Form("CREATE WAREHOUSE", "CREATE [OR REPLACE] WAREHOUSE [IF NOT EXISTS] w [option …]",
         "A FAIR pool of Spark's with a limit of refreshes at once.",
         "CREATE WAREHOUSE reports MAX_CONCURRENCY_LEVEL = 2 WEIGHT = 3"),
    Form("ALTER WAREHOUSE",
         "ALTER WAREHOUSE [IF EXISTS] w {SUSPEND | RESUME | SET option …}",
         "Suspended, its dynamic tables wait, and say so.", "ALTER WAREHOUSE reports SUSPEND"),
    Form("DROP WAREHOUSE", "DROP WAREHOUSE [IF EXISTS] w", "Refused while something uses it.",
         "DROP WAREHOUSE reports"),
    Form("SHOW WAREHOUSES", "SHOW WAREHOUSES [LIKE 'pattern']", "A row for each.",
         "SHOW WAREHOUSES"),
    Form("CREATE STREAM",
         "CREATE [OR REPLACE] STREAM [IF NOT EXISTS] s ON {TABLE | VIEW | DYNAMIC TABLE} n\n"
         f"  [{_POINT}] [option …]",
         "A bookmark in the changes of `n`.", "CREATE STREAM s ON TABLE orders APPEND_ONLY = TRUE"),
    Form("CREATE STREAM", f"CREATE [OR REPLACE] STREAM [IF NOT EXISTS] s CLONE t [{_POINT}]",
         "Another stream at the offset of `t`, or at a point.", "CREATE STREAM s CLONE t"),
    Form("ALTER STREAM", "ALTER STREAM [IF EXISTS] s {SET option … | UNSET option, …}",
         "`COMMENT` and `MAX_DATA_EXTENSION_TIME_IN_DAYS`.",
         "ALTER STREAM s SET MAX_DATA_EXTENSION_TIME_IN_DAYS = 30"),
    Form("DROP STREAM", "DROP STREAM [IF EXISTS] s", "Takes it away; UNDROP brings it back.",
         "DROP STREAM s"),
    Form("UNDROP STREAM", "UNDROP STREAM [IF EXISTS] s",
         "Brings back the one of that name that was dropped last, at its offset, as long as its "
         "sources keep what it has not consumed.", "UNDROP STREAM s"),
    Form("DESCRIBE STREAM", "DESCRIBE STREAM s", "As SHOW STREAMS, of one.", "DESCRIBE STREAM s"),
    Form("SHOW STREAMS", "SHOW STREAMS [LIKE 'pattern']",
         "A row for each, and whether it can still be read.", "SHOW STREAMS"),
    Form("CREATE SINK",
         "CREATE SINK [IF NOT EXISTS] s FROM {TABLE | DYNAMIC TABLE | STREAM} n INTO 'url'\n"
         "  [KEY (column, …)] [REDUCE (column strategy, …)] [OPTIONS (name = 'value', …)] "
         "[option …]",
         "Delivers the rows of `n`, and from then on its changes, to a store, each once.",
         "CREATE SINK s FROM TABLE orders INTO 'sqlite:///var/app.db' KEY (id) "
         "TARGET_LAG = '1 minute'"),
    Form("ALTER SINK",
         "ALTER SINK [IF EXISTS] s {SUSPEND | RESUME | REFRESH | RESET | "
         "RETRY DEAD LETTERS | SET option …}",
         "REFRESH delivers now. RETRY DEAD LETTERS sends again what the store "
         "refused. RESET delivers all rows again, into an emptied target; of a stream what it "
         "holds.",
         "ALTER SINK s REFRESH"),
    Form("DROP SINK", "DROP SINK [IF EXISTS] s",
         "Ends it; what it delivered stays in the store.", "DROP SINK IF EXISTS s"),
    Form("DESCRIBE SINK", "DESCRIBE SINK s", "As SHOW SINKS, of one.", "DESCRIBE SINK s"),
    Form("SHOW SINKS", "SHOW SINKS [LIKE 'pattern']",
         "A row for each: its state, and why it does not deliver.", "SHOW SINKS"),
    Form("CREATE TASK",
         "CREATE [OR REPLACE] TASK [IF NOT EXISTS] t [option …]\n"
         "  [SCHEDULE = '{k minutes | USING CRON minute hour day month weekday zone}' | "
         "AFTER t1, …]\n"
         "  [WHEN condition] AS {statement | BEGIN statement; … END}",
         "A statement that runs by the clock, or after other tasks. It is created suspended. "
         "The statements of a block are one transaction.",
         "CREATE TASK load SCHEDULE = '5 minutes' WHEN SYSTEM$STREAM_HAS_DATA('s') AS INSERT INTO "
         "copy SELECT id FROM s"),
    Form("ALTER TASK",
         "ALTER TASK [IF EXISTS] t {SUSPEND | RESUME | EXECUTE | SET option … | UNSET option, …\n"
         "  | MODIFY AS {statement | BEGIN … END} | MODIFY WHEN condition | REMOVE WHEN\n"
         "  | ADD AFTER t1, … | REMOVE AFTER t1, …}",
         "Makes one change. RESUME starts it: durations count from then.",
         "ALTER TASK load RESUME"),
    Form("EXECUTE TASK", "EXECUTE TASK t",
         "Runs it and what comes after it now, started or not, and waits for the end.",
         "EXECUTE TASK load"),
    Form("DROP TASK", "DROP TASK [IF EXISTS] t",
         "Those that come after it do no more. Its history stays.", "DROP TASK load"),
    Form("DESCRIBE TASK", "DESCRIBE TASK t", "As SHOW TASKS, of one.", "DESCRIBE TASK load"),
    Form("SHOW TASKS", "SHOW TASKS [LIKE 'pattern']",
         "A row for each: when it runs next, and what keeps it from running.", "SHOW TASKS"),
    Form("CREATE ROLE", "CREATE ROLE [IF NOT EXISTS] r [COMMENT = '…']",
         "A role without rights; `admin`, who may do all, and `public`, which every role has, are "
         "always there.", "CREATE ROLE analyst"),
    Form("DROP ROLE", "DROP ROLE [IF EXISTS] r", "Refused while it owns something.",
         "DROP ROLE analyst"),
    Form("SHOW ROLES", "SHOW ROLES [LIKE 'pattern']", "A row for each.", "SHOW ROLES"),
    Form("USE ROLE", "USE ROLE r", "The session's role from now on; CURRENT_ROLE() returns it.",
         "USE ROLE analyst"),
    Form("GRANT",
         "GRANT {right, … | ALL} ON {TABLE | VIEW | DYNAMIC TABLE | STREAM | SINK | TASK | "
         "WAREHOUSE | SCHEMA} n TO ROLE r\nGRANT ROLE a TO ROLE b",
         "On a schema: on all in it, today and later; and `CREATE TABLE`, `CREATE VIEW`, `CREATE "
         "DYNAMIC TABLE`, `CREATE STREAM`, `CREATE SINK`, `CREATE TASK`, or `CREATE` for all of "
         "them. OWNERSHIP passes from the owner before.",
         "GRANT CREATE DYNAMIC TABLE, CREATE STREAM ON SCHEMA reports TO ROLE analyst"),
    Form("REVOKE", "REVOKE {right, … | ALL} ON kind n FROM ROLE r\nREVOKE ROLE a FROM ROLE b",
         "Takes it back.", "REVOKE SELECT ON DYNAMIC TABLE daily FROM ROLE analyst"),
    Form("SHOW GRANTS", "SHOW GRANTS [ON kind n | TO ROLE r]", "Who has which right.",
         "SHOW GRANTS TO ROLE analyst"),
    Form("BEGIN", "BEGIN [TRANSACTION | WORK] [NAME x]",
         "Opens a transaction; START TRANSACTION does too.", "BEGIN"),
    Form("START TRANSACTION", "START TRANSACTION [NAME x]", "", "START TRANSACTION"),
    Form("COMMIT", "COMMIT [WORK]", "All that was written since BEGIN, or nothing.", "COMMIT"),
    Form("ROLLBACK", "ROLLBACK [WORK]", "Everything is as it was at BEGIN.", "ROLLBACK"),
)  # fmt: skip
READS: tuple[Form, ...] = (
    Form("", "SELECT … FROM {table | view | dynamic table} {AT | BEFORE} (point)",
         "The rows as of a point.", "SELECT * FROM orders AT (VERSION => 3)"),
    Form("", "SELECT … FROM {table | view | dynamic table | (query)}\n"
             "  CHANGES [(INFORMATION => DEFAULT | APPEND_ONLY | REDO)]\n"
             "  [{AT | BEFORE} (point)] [END (point)]",
         "What was inserted and deleted in between, with `$ACTION`, `$ISUPDATE`, `$ROW_ID`.",
         "SELECT * FROM orders CHANGES (INFORMATION => DEFAULT) AT (VERSION => 3) "
             "END (VERSION => 7)"),
    Form("", "SELECT … FROM s",
         "What a stream holds. INSERT, MERGE, UPDATE, DELETE and CREATE TABLE … AS that read it "
         "move it.", "INSERT INTO copy SELECT id FROM s"),
)  # fmt: skip
_ALIASES = {
    "ALTER DATABASE": "ALTER SCHEMA",
    "ALTER NAMESPACE": "ALTER SCHEMA",
    "UNDROP DATABASE": "UNDROP SCHEMA",
    "DESC DYNAMIC TABLE": "DESCRIBE DYNAMIC TABLE",
    "DESC STREAM": "DESCRIBE STREAM",
    "DESC SINK": "DESCRIBE SINK",
    "DESC TASK": "DESCRIBE TASK",
}
_MISTAKES = frozenset({"UNDROP", "REFRESH DYNAMIC TABLE"})
"""Words that the parser knows to say what was meant."""


def statements_page() -> str:
    require_all_forms()
    return paragraphs(
        "# Statements",
        "All other text goes to Spark as it is: tables are made, loaded and changed by ordinary "
        "Spark SQL or DataFrames. Names are `table` or `schema.table`.",
        *(_form(form, FORMS) for form in FORMS),
        "## Options of dynamic tables",
        _options(TABLE_OPTIONS),
        "Those marked *fixed* are settled when the table is created: `CREATE OR ALTER` changes "
        "them. `CLUSTER BY (column, …)` is one of them.",
        "## Options of warehouses",
        _options(WAREHOUSE_OPTIONS),
        "## Options of streams",
        _options(STREAM_OPTIONS),
        "## Options of sinks",
        _options(SINK_OPTIONS),
        "## Options of tasks",
        _options(TASK_OPTIONS),
        "## Reading the past, changes and streams",
        *(_form(form, READS) for form in READS),
        "## Points in time",
        _points(),
        "## Table functions",
        _functions(),
        "## Refused by name",
        "Words of Snowflake's that have no meaning here (DT-1005).",
        table(
            ("statement", "instead"),
            dict.fromkeys((code(what), hint) for _, what, hint in _LEADING),
        ),
    )


def require_all_forms() -> None:
    """Raises where the parser knows a statement without a form, or an example is none."""
    known = {form.words for form in FORMS}
    parsed = {" ".join(words) for words, _ in _PARSERS} - _MISTAKES
    if missing := {_ALIASES.get(words, words) for words in parsed} - known:
        raise LookupError(f"statements without a form: {sorted(missing)}")
    for form in (*FORMS, *READS):
        try:
            (found,) = parse_script(form.example)
        except DTError as problem:
            raise LookupError(f"{form.example} is not an example: {problem}") from problem
        if form.words and isinstance(found, SparkStatement):
            raise LookupError(f"{form.example} is a statement of Spark's")


def _form(form: Form, forms: tuple[Form, ...]) -> str:
    """With a title, where it is the first of its words."""
    first = next(f for f in forms if f.words == form.words)
    title = f"## {form.words}" if form.words and form is first else ""
    return paragraphs(title, block(form.grammar), form.does, block(form.example, "sql"))


def _options(known: dict[str, Option]) -> str:
    rows = (
        (
            code(o.name),
            o.help + (" (*fixed*)" if o.fixed else ""),
            ", ".join(map(code, o.values)),
            code(o.example),
        )
        for o in known.values()
    )
    return table(("option", "says", "values", "example"), rows)


_KINDS = {
    PointKind.TIMESTAMP: ("the state that was current then; of a dynamic table its newest data "
                          "timestamp up to then", "AT (TIMESTAMP => '2026-01-31 12:00:00')"),
    PointKind.OFFSET: ("a number of seconds ago", "AT (OFFSET => -600)"),
    PointKind.VERSION: ("a version of its Delta log; of a dynamic table, of that table's log",
                        "AT (VERSION => 3)"),
    PointKind.STATEMENT: ("what a statement of that id wrote; `LAST_QUERY_ID()` is the last one",
                          "BEFORE (STATEMENT => LAST_QUERY_ID())"),
    PointKind.STREAM: ("the offset of a stream", "AT (STREAM => 's')"),
    PointKind.COMMON: ("the greatest data timestamp that all dynamic tables of the query have",
                       "AT (COMMON)"),
}  # fmt: skip


def _points() -> str:
    rows = ((code(kind.value), *_KINDS[kind][:1], code(_KINDS[kind][1])) for kind in PointKind)
    return paragraphs(
        table(("kind", "is", "example"), rows),
        "`AT` is up to and with the point, `BEFORE` what was there before it. `END` follows "
        "`CHANGES` and takes the same. In Python `at=` takes a datetime or ISO text, an int (a "
        "version), or a timedelta (a distance from now).",
    )


def _functions() -> str:
    rows = [
        (code(f"TABLE({name}({', '.join(f'[{a} => …]' for a in args)}))"), _SHOWS[name])
        for name, args in OWN_FUNCTIONS.items()
    ]
    scalar = [
        (
            code("SYSTEM$STREAM_HAS_DATA('s')"),
            "whether a stream holds anything; reads only logs",
        ),
        (code("LAST_QUERY_ID()"), "the id of the last statement that wrote rows"),
    ]
    return table(("function", "gives"), [*rows, *scalar])


_SHOWS = {
    "DYNAMIC_TABLES": "one row for each dynamic table ([columns](history.md#dynamic_tables))",
    "DYNAMIC_TABLE_REFRESH_HISTORY": "one row for each refresh "
    "([columns](history.md#dynamic_table_refresh_history))",
    "DYNAMIC_TABLE_GRAPH_HISTORY": "what each was, and read, from when to when "
    "([columns](history.md#dynamic_table_graph_history))",
    "SINK_HISTORY": "the outcome of each delivery, newest first "
    "([columns](history.md#sink_history))",
    "TASK_HISTORY": "one row for each attempt of a run, newest first "
    "([columns](history.md#task_history))",
    "DT_EVENTS": "what happened in the lake, newest first ([columns](history.md#dt_events))",
}


def magics_page() -> str:
    specs = (DYNAMIC_TABLE, CHANGES, CHANGES_CELL, REPLAY, SQL, *DT)
    parts = (
        paragraphs(f"## `{spec.synopsis.splitlines()[0].split(' [')[0]}`", block(usage(spec)))
        for spec in specs
    )
    return paragraphs(
        "# Magics",
        "`%load_ext dt_jupyter` registers them; this is what `-h` prints for each. `:name` in SQL "
        "is a variable of the notebook, bound by Spark and never spliced into the text.",
        *parts,
    )


def command_line_page() -> str:
    parser = cli._parser()
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    helps = {choice.dest: choice.help for choice in commands._choices_actions}
    rows = (
        (
            code(" ".join([name, *(_argument(a) for a in sub._actions if not a.option_strings)])),
            helps[name],
        )
        for name, sub in commands.choices.items()
    )
    options = _flags(parser)
    return paragraphs(
        "# Command line",
        "`python -m dt_jupyter LAKE COMMAND`, or `dt-jupyter LAKE COMMAND`.",
        table(("command", "does"), rows),
        table(("option", "says"), options),
        "Options of `run`:",
        table(("option", "says"), _flags(commands.choices["run"])),
        block(cli._EPILOG),
        (cli.__doc__ or "").partition("\n\n")[2],
    )


def _flags(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    return [(code(a.option_strings[-1]), a.help or "") for a in parser._actions if a.option_strings]


def _argument(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    return f"[{name}]" if action.nargs == "?" else name
