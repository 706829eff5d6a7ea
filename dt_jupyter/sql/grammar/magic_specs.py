"""The magics and their options as data, for the parser, `-h` and completion alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dt_jupyter.sql.grammar.options import STREAM_OPTIONS, TABLE_OPTIONS
from dt_jupyter.sql.grammar.statement_values import SchemaMode


@dataclass(frozen=True, slots=True)
class MagicOption:
    """`flags` are its spellings; `metavar` names its value, None for a switch; `values` are all
    that the value may be, in lower case, () for a free one."""

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    values: tuple[str, ...] = ()
    example: str = ""

    @property
    def flag(self) -> str:
        return self.flags[-1]


@dataclass(frozen=True, slots=True)
class MagicSpec:
    """A magic, or a sub-command of `%dt`: `positional` is the argument's name in `args`, lower
    case when it may be left out."""

    name: str
    synopsis: str
    help: str
    options: tuple[MagicOption, ...]
    positional: str | None = None
    examples: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        return self.positional is not None and self.positional.isupper()

    def option(self, flag: str) -> MagicOption | None:
        return next((o for o in self.options if flag in o.flags), None)


_OUT = MagicOption(("-o", "--out"), "store the result in this variable", "VAR", (), "-o df")
_HELP = MagicOption(("-h", "--help"), "show this help")


def _of(option: str, flag: str, metavar: str, example: str) -> MagicOption:
    spec = TABLE_OPTIONS[option]
    values = tuple(value.lower() for value in spec.values)
    return MagicOption((flag,), spec.help, metavar, values, example)


DYNAMIC_TABLE = MagicSpec(
    "%%dynamic_table",
    "%%dynamic_table NAME [options]\nquery",
    "Creates a dynamic table from the cell's query; run again, alters it as the cell was edited.",
    (
        replace(
            _of("TARGET_LAG", "--target-lag", "LAG", "--target-lag '5 minutes'"),
            values=("downstream",),
        ),
        _of("WAREHOUSE", "--warehouse", "W", "--warehouse default"),
        _of("REFRESH_MODE", "--refresh-mode", "MODE", "--refresh-mode incremental"),
        _of("INITIALIZE", "--initialize", "WHEN", "--initialize on_schedule"),
        MagicOption(
            ("--replace",),
            "drop an existing one and make it again: its versions and streams end with it",
        ),
        MagicOption(("--if-not-exists",), "do nothing if the name exists"),
        MagicOption(("--no-alter-sources",), "do not turn on the change data feed of its sources"),
        MagicOption(("--dry-run",), "show what would be created or changed, and do nothing"),
        _OUT,
        _HELP,
    ),
    "NAME",
    (
        "%%dynamic_table daily --target-lag '5 minutes'\nSELECT day, sum(price) AS total "
        "FROM orders GROUP BY day",
    ),
)
_COMMON = (_OUT, _HELP)
_NAMED = "a dynamic table"
DT: tuple[MagicSpec, ...] = (
    MagicSpec("connect", "%dt connect [LAKE] [--remote URL] [--catalog URL]",
              "Connects to a lake folder.",
              (MagicOption(("--remote",), "use the Spark Connect server at this URL", "URL", (),
                           "--remote sc://localhost"),
               MagicOption(("--catalog",), "keep the lake's catalog in this PostgreSQL database",
                           "URL", (), "--catalog postgresql+psycopg://me@host/lakes"), _HELP),
              "lake", ("%dt connect", "%dt connect my_lake")),
    MagicSpec("graph", "%dt graph [--html FILE]", "Shows the graph of dynamic tables.",
              (MagicOption(("--html",), "write it with the state of all tables as one HTML file",
                           "FILE", (), "--html graph.html"), *_COMMON),
              None, ("%dt graph", "%dt graph --html graph.html")),
    MagicSpec("lag", "%dt lag NAME", f"Shows the lag of {_NAMED}, or of a sink.", _COMMON,
              "NAME", ("%dt lag daily",)),
    MagicSpec("rows", "%dt rows NAME [--limit N] [--chart X,Y]",
              "Shows the rows of a table, and marks what each refresh changes.",
              (MagicOption(("--limit",), "show so many rows (default: 200)", "N", (),
                           "--limit 50"),
               MagicOption(("--chart",), "draw these two columns: across, and up", "X,Y", (),
                           "--chart day,total"), *_COMMON),
              "NAME", ("%dt rows daily", "%dt rows daily --limit 50 --chart day,total")),
    MagicSpec("compare", "%dt compare NAME [--from V] [--to V] | [--with TABLE] | [--definition N]",
              "Compares two versions of a table, two tables, or two definitions of one.",
              (MagicOption(("--from",), "from this version or time (default: the version before)",
                           "V", (), "--from 3"),
               MagicOption(("--to",), "to this version or time (default: now)", "V", (), "--to 7"),
               MagicOption(("--with",), "compare with this table", "TABLE", (), "--with weekly"),
               MagicOption(("--definition",),
                           "compare with this definition of it: before, or its number", "N",
                           ("before",), "--definition before"), *_COMMON),
              "NAME", ("%dt compare orders --from 3 --to 7", "%dt compare daily --with weekly",
                       "%dt compare daily --definition before")),
    MagicSpec("frontiers", "%dt frontiers", "Shows which source versions each table has read.",
              _COMMON),
    MagicSpec("streams", "%dt streams", "Shows the offset of each stream, and what is new for it.",
              _COMMON),
    MagicSpec("history", "%dt history [NAME]", "Shows the refreshes, newest first.", _COMMON,
              "name", ("%dt history", "%dt history daily")),
    MagicSpec("explain", "%dt explain NAME", f"Shows how {_NAMED} is refreshed, and why.",
              _COMMON, "NAME", ("%dt explain daily",)),
    MagicSpec("verify", "%dt verify NAME", f"Compares {_NAMED} with its query.", _COMMON, "NAME",
              ("%dt verify daily",)),
    MagicSpec("status", "%dt status", "Shows the engine, its scheduler and its tables.", _COMMON),
    MagicSpec("health", "%dt health",
              "Shows lag, refreshes and cost of each table over 7 days, the worst first.", _COMMON),
    MagicSpec("why", "%dt why NAME", f"Shows why {_NAMED} is late, and what helps.", _COMMON,
              "NAME", ("%dt why daily",)),
    MagicSpec("refresh", "%dt refresh NAME", f"Refreshes {_NAMED} now.", _COMMON, "NAME",
              ("%dt refresh daily",)),
    MagicSpec("export", "%dt export [FILE]",
              "Writes all definitions as one SQL script, to a new file or below the cell.",
              _COMMON, "file", ("%dt export definitions.sql", "%dt export -o script")),
    MagicSpec("load", "%dt load FILE [AS NAME]",
              "Makes a table of a file, or of the frame that a variable holds.",
              (MagicOption(("AS", "as", "--as"), "its name (default: that of the file)", "NAME", (),
                           "AS orders"), *_COMMON),
              "FILE", ("%dt load data/orders.csv", "%dt load data/2026.parquet AS orders",
                       "%dt load frame AS customers")),
    MagicSpec("lint", "%dt lint FILE",
              "Shows what is wrong with a script; nothing is run. %%dt --lint does it for a cell.",
              _COMMON, "FILE", ("%dt lint definitions.sql",)),
    MagicSpec("format", "%dt format FILE",
              "Shows a script laid out by its clauses. %%dt --format does it in a cell.",
              _COMMON, "FILE", ("%dt format definitions.sql",)),
    MagicSpec("plan", "%dt plan FILE",
              "Shows what a script of definitions would change; nothing is applied.",
              _COMMON, "FILE", ("%dt plan definitions.sql", "%dt plan definitions.sql -o plan")),
    MagicSpec("help", "%dt help [CODE]", "Shows the page of an error's code, or lists the codes.",
              (_HELP,), "code", ("%dt help DT-1101",)),
)  # fmt: skip
_AT = MagicOption(
    ("--at",),
    "start: a time, a version, seconds ago, or stream:NAME",
    "X",
    (),
    "--at 2026-01-31T12:00",
)
_END = MagicOption(("--end",), "end, in the same forms (default: now)", "Y", (), "--end 17")
_APPEND = MagicOption(("--append-only",), "inserted rows only, as first inserted")
CHANGES = MagicSpec(
    "%changes", "%changes NAME [--at X] [--end Y] [--append-only]",
    "Shows the changes of a table, view or dynamic table.",
    (replace(_AT, help=f"{_AT.help} (default: the oldest)"), _END, _APPEND, _OUT,
     _HELP),
    "NAME",
    ("%changes orders --at 3", "%changes orders --at '-10 minutes' --end -60 --append-only",
     "%changes daily --at stream:new_orders"),
)  # fmt: skip
CHANGES_CELL = MagicSpec(
    "%%changes",
    "%%changes [STREAM] [--append-only] [--show-initial-rows] [--replace] [--at X] [--end Y]\n"
    "query, or a name",
    "Creates a stream on the cell's query or name; without STREAM, shows the query's changes.",
    (_APPEND, MagicOption(("--show-initial-rows",), STREAM_OPTIONS["SHOW_INITIAL_ROWS"].help),
     MagicOption(("--replace",), "begin an existing stream again: what it has not given is lost"),
     _AT, _END, _OUT, _HELP),
    "stream",
    ("%%changes big_orders --append-only\nSELECT * FROM orders WHERE price > 100",
     "%%changes new_orders --show-initial-rows --at 3\norders",
     "%%changes --at -3600\nSELECT day, sum(price) AS total FROM orders GROUP BY day"),
)  # fmt: skip
REPLAY = MagicSpec(
    "%replay", "%replay NAME [--at X] [--to Y] [--schema-mode snapshot_time|current]",
    "Shows a table, view or dynamic table as it was; with --to every snapshot until then.",
    (replace(_AT, help=_AT.help.replace("start", "the snapshot, or the first one")),
     MagicOption(("--to",), "the last one: every snapshot from --at, or the oldest", "Y", (),
                 "--to now"),
     MagicOption(("--schema-mode",), "show rows in the schema at that time, or in the current one",
                 "MODE", tuple(SchemaMode), "--schema-mode current"),
     _OUT, _HELP),
    "NAME",
    ("%replay orders --at 2026-01-31", "%replay daily --to now",
     "%replay daily --at 3 --to 17 --schema-mode current",
     "%replay orders --at 3 -o df"),
)  # fmt: skip
SQL = MagicSpec(
    "sql",
    "%dt [-o VAR] statement\n%%dt [-o VAR] [--lint | --format]\nscript",
    "Runs a statement or a script of dynamic tables' SQL and Spark SQL.",
    (MagicOption(("--lint",), "show what is wrong with the script, and run nothing"),
     MagicOption(("--format",), "lay out the script in its cell, and run nothing"), *_COMMON),
    None,
    ("%dt SHOW DYNAMIC TABLES", "%dt -o df SELECT * FROM daily",
     "%%dt --lint\nCREATE DYNAMIC TABLE daily AS SELECT day, sum(price) FROM orders GROUP BY day"),
)  # fmt: skip


def usage(spec: MagicSpec) -> str:
    """The text of `-h`."""
    shown = [(" ".join(filter(None, (", ".join(o.flags), o.metavar))), o) for o in spec.options]
    width = max(len(left) for left, _ in shown)
    lines = [f"{spec.synopsis}\n", spec.help, "", "Options:"]
    for left, option in shown:
        values = f" ({' | '.join(option.values)})" if option.values else ""
        lines.append(f"  {left:<{width}}  {option.help}{values}")
    if spec.examples:
        lines += ["", "Examples:", *("  " + e.replace("\n", "\n  ") for e in spec.examples)]
    return "\n".join(lines)
