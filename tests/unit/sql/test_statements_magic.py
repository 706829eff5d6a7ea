"""Magic lines: another spelling of the same statements, and help from the same table."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dt_jupyter.model import DTError, Name
from dt_jupyter.sql.grammar.magic_options import (
    ChangesCommand,
    DtMagic,
    ReplayCommand,
    _read,
    parse_changes,
    parse_dt,
    parse_dynamic_table,
    parse_replay,
)
from dt_jupyter.sql.grammar.magic_specs import (
    CHANGES,
    CHANGES_CELL,
    DT,
    DYNAMIC_TABLE,
    REPLAY,
    SQL,
    MagicSpec,
    usage,
)
from dt_jupyter.sql.grammar.options import (
    STREAM_OPTIONS,
    TABLE_OPTIONS,
    WAREHOUSE_OPTIONS,
    Option,
    unknown_option,
)
from dt_jupyter.sql.grammar.parse import parse_statement
from dt_jupyter.sql.grammar.statement_values import (
    CreateDynamicTable,
    PointKind,
    SchemaMode,
    TimePoint,
    Unsupported,
)

QUERY = "SELECT day, sum(price) AS total\nFROM orders GROUP BY day"


@pytest.mark.parametrize(
    ("line", "sql"),
    [
        ("daily", "CREATE DYNAMIC TABLE daily AS"),
        ("db.`a b`", "CREATE DYNAMIC TABLE db.`a b` AS"),
        ("t --target-lag '5 minutes'", "CREATE DYNAMIC TABLE t TARGET_LAG = '5 minutes' AS"),
        ('--target-lag "5 minutes" t', "CREATE DYNAMIC TABLE t TARGET_LAG = '5 minutes' AS"),
        ("t --target-lag 5 minutes", "CREATE DYNAMIC TABLE t TARGET_LAG = '5 minutes' AS"),
        ("t --target-lag='5 minutes'", "CREATE DYNAMIC TABLE t TARGET_LAG = '5 minutes' AS"),
        ("t --target-lag downstream", "CREATE DYNAMIC TABLE t TARGET_LAG = DOWNSTREAM AS"),
        (
            "t --warehouse W --refresh-mode incremental --initialize on_schedule",
            "CREATE DYNAMIC TABLE t WAREHOUSE = W REFRESH_MODE = INCREMENTAL "
            "INITIALIZE = ON_SCHEDULE AS",
        ),
        ("t --replace", "CREATE OR REPLACE DYNAMIC TABLE t AS"),
        ("t --if-not-exists", "CREATE DYNAMIC TABLE IF NOT EXISTS t AS"),
        ("t --no-alter-sources", "CREATE DYNAMIC TABLE t ALTER_SOURCES = FALSE AS"),
    ],
)
@pytest.mark.parametrize("end", ["", ";", " -- done\n", ";\n\n"])
def test_one_door(line: str, sql: str, end: str) -> None:
    magic = parse_dynamic_table(line, QUERY + end)
    statement = parse_statement(f"{sql} {QUERY}")
    assert magic.statement == statement
    assert isinstance(magic.statement, CreateDynamicTable)
    assert isinstance(statement, CreateDynamicTable)
    assert magic.statement.given == statement.given
    assert not magic.dry_run
    assert magic.out is None


def test_the_rest_of_the_line() -> None:
    magic = parse_dynamic_table("--dry-run -o df t", "\n -- why\n SELECT 1", "sales")
    assert magic.dry_run
    assert magic.out == "df"
    assert isinstance(magic.statement, CreateDynamicTable)
    assert magic.statement.name == Name("sales", "t")
    assert magic.statement.query_offset == len("\n -- why\n ")
    helped = parse_dynamic_table("-h", "")
    assert helped.help
    assert helped.statement is None
    assert isinstance(
        parse_dynamic_table("t", "SELECT * FROM u AT (VERSION => 1)").statement, Unsupported
    )


@pytest.mark.parametrize(
    ("line", "cell", "code", "place"),
    [
        ("", QUERY, "DT-1001", ""),
        ("t u", QUERY, "DT-1001", "u"),
        ("a-b", QUERY, "DT-1001", "a-b"),
        ("t --warehouse", QUERY, "DT-1001", "--warehouse"),
        ("t --warehouse --replace", QUERY, "DT-1001", "--warehouse"),
        ("t --replace --if-not-exists", QUERY, "DT-1001", "--if-not-exists"),
        ("t --replace --replace", QUERY, "DT-1001", "--replace"),
        ("t --wharehouse w", QUERY, "DT-1002", "--wharehouse"),
        ("t --target-lag '5 eons'", QUERY, "DT-1003", "'5 eons'"),
        ("t --refresh-mode=ful", QUERY, "DT-1003", "ful"),
        ("t -o 1x", QUERY, "DT-1003", "1x"),
        ("__dt_t", QUERY, "DT-1114", "__dt_t"),
        ("t", "", "DT-1001", ""),
        ("t", "SELECT 1; SELECT 2", "DT-1001", "SELECT"),
        ("t", "DELETE FROM u", "DT-1001", "DELETE"),
        ("t", "SELECT 'a", "DT-1001", "'a"),
        ("t", "SELECT " + "(" * 300, "DT-1004", "("),
    ],
)
def test_bad_lines_and_cells(line: str, cell: str, code: str, place: str) -> None:
    with pytest.raises(DTError) as caught:
        parse_dynamic_table(line, cell)
    found = caught.value
    assert found.code == code
    assert found.query in (line, cell)
    assert found.span is not None
    assert found.query[found.span.start : found.span.end] == place


@pytest.mark.parametrize(
    ("spec", "typed", "flag"),
    [
        (CHANGES, "--from", "--at"), (CHANGES, "--since", "--at"), (CHANGES, "--to", "--end"),
        (CHANGES, "--until", "--end"), (REPLAY, "--until", "--to"), (REPLAY, "--start", "--at"),
        (DYNAMIC_TABLE, "--lag", "--target-lag"), (DYNAMIC_TABLE, "--every", "--target-lag"),
        (DYNAMIC_TABLE, "--mode", "--refresh-mode"), (DYNAMIC_TABLE, "--dry", "--dry-run"),
        (DYNAMIC_TABLE, "--overwrite", "--replace"),
    ],
)  # fmt: skip
def test_a_word_that_means_an_option_suggests_it(spec: MagicSpec, typed: str, flag: str) -> None:
    with pytest.raises(DTError) as caught:
        _read(spec, f"x {typed} 3")
    assert caught.value.hint.startswith(f"Known options: {flag} (did you mean this?)")


def test_a_file_is_loaded_by_its_name_or_under_another() -> None:
    assert parse_dt("load data/o.csv").args == {"file": "data/o.csv"}
    for form in ("AS orders", "as orders", "--as orders", "--as=orders"):
        asked = parse_dt(f"load 'my data/o.csv' {form} -o t")
        assert (asked.command, asked.out) == ("load", "t")
        assert asked.args == {"file": "my data/o.csv", "as": "orders"}
    hive = "LOAD DATA LOCAL INPATH 'x' INTO TABLE t"
    assert (parse_dt(hive).command, parse_dt(hive).sql) == ("sql", hive)


def test_the_option_that_was_meant() -> None:
    with pytest.raises(DTError, match=r"Known options: --warehouse \(did you mean this\?\)"):
        parse_dynamic_table("t --wharehouse w", QUERY)


@pytest.mark.parametrize(
    ("line", "magic"),
    [
        ("connect", DtMagic("connect")),
        ("connect lake", DtMagic("connect", {"lake": "lake"})),
        (
            "connect 'my lake' --remote sc://x",
            DtMagic("connect", {"lake": "my lake", "remote": "sc://x"}),
        ),
        (
            "connect lake --catalog postgresql://h/d",
            DtMagic("connect", {"lake": "lake", "catalog": "postgresql://h/d"}),
        ),
        ("graph", DtMagic("graph")),
        ("GRAPH -o g", DtMagic("graph", out="g")),
        ("-o g graph", DtMagic("graph", out="g")),
        ("lag daily", DtMagic("lag", {"name": "daily"})),
        ("lag -h", DtMagic("lag", help=True)),
        ("frontiers", DtMagic("frontiers")),
        ("history", DtMagic("history")),
        ("history db.`a b`", DtMagic("history", {"name": "db.`a b`"})),
        ("explain daily -o df", DtMagic("explain", {"name": "daily"}, out="df")),
        ("verify daily", DtMagic("verify", {"name": "daily"})),
        ("status", DtMagic("status")),
        ("refresh daily", DtMagic("refresh", {"name": "daily"})),
        ("explain -h", DtMagic("explain", help=True)),
        ("EXPLAIN SELECT 1", DtMagic("sql", sql="EXPLAIN SELECT 1")),
        ("EXPLAIN DYNAMIC TABLE t", DtMagic("sql", sql="EXPLAIN DYNAMIC TABLE t")),
        ("refresh TABLE t", DtMagic("sql", sql="refresh TABLE t")),
        ("SHOW DYNAMIC TABLES", DtMagic("sql", sql="SHOW DYNAMIC TABLES")),
        ("-o df SELECT '-h'  AS a", DtMagic("sql", sql="SELECT '-h'  AS a", out="df")),
        ("COMMIT", DtMagic("sql", sql="COMMIT")),
        ("", DtMagic("sql", sql="", help=True)),
        ("-h", DtMagic("sql", sql="", help=True)),
    ],
)
def test_dt(line: str, magic: DtMagic) -> None:
    assert parse_dt(line) == magic


def test_dt_of_a_cell() -> None:
    assert parse_dt("-o df", "SELECT 1;\n") == DtMagic("sql", sql="SELECT 1;\n", out="df")
    assert parse_dt("", "x") == DtMagic("sql", sql="x")
    with pytest.raises(DTError, match="not expected here"):
        parse_dt("graph", "SELECT 1")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("grpah", "DT-1001"),
        ("histroy daily", "DT-1001"),
        ("lag", "DT-1001"),
        ("lag a b", "DT-1001"),
        ("graph x", "DT-1001"),
        ("graph --deep", "DT-1002"),
        ("connect --remote", "DT-1001"),
        ("-o", "DT-1001"),
    ],
)
def test_bad_dt_lines(line: str, code: str) -> None:
    with pytest.raises(DTError) as caught:
        parse_dt(line)
    assert caught.value.code == code
    assert caught.value.query == line


@pytest.mark.parametrize("spec", [DYNAMIC_TABLE, SQL, CHANGES, CHANGES_CELL, REPLAY, *DT])
def test_help_names_every_option_and_shows_an_example(spec: object) -> None:
    assert isinstance(spec, type(SQL))
    text = usage(spec)
    assert spec.synopsis in text
    for option in spec.options:
        assert ", ".join(option.flags) in text
        assert option.help in text
        assert all(value in text for value in option.values)
    for example in spec.examples:
        assert example.splitlines()[0] in text


def test_the_examples_are_understood() -> None:
    for spec in DT:
        for example in spec.examples:
            assert parse_dt(example.removeprefix("%dt ")).command == spec.name
    for example in SQL.examples:
        assert parse_dt(example.removeprefix("%dt ")).command == "sql"
    for example in DYNAMIC_TABLE.examples:
        line, _, cell = example.removeprefix("%%dynamic_table ").partition("\n")
        assert parse_dynamic_table(line, cell).statement
    for option in DYNAMIC_TABLE.options:
        if option.example:
            parse_dynamic_table(f"t {option.example}", QUERY)
    for example in CHANGES.examples:
        assert parse_changes(example.removeprefix("%changes ")).name
    for example in CHANGES_CELL.examples:
        line, _, cell = example.removeprefix("%%changes ").partition("\n")
        assert parse_changes(line, cell).name or parse_changes(line, cell).query
    for example in REPLAY.examples:
        assert parse_replay(example.removeprefix("%replay ")).name
    for option in (*CHANGES.options, *REPLAY.options):
        parse = parse_changes if option in CHANGES.options else parse_replay
        parse(f"t {option.example or option.flag}")


ORDERS = Name("default", "orders")
S = Name("default", "s")
V3 = TimePoint(PointKind.VERSION, "3")


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("orders", ChangesCommand(ORDERS)),
        (
            "--append-only db.`a b` -o df",
            ChangesCommand(Name("db", "a b"), append_only=True, out="df"),
        ),
        (
            "orders --at 3 --end=17",
            ChangesCommand(ORDERS, at=V3, end=TimePoint(PointKind.VERSION, "17")),
        ),
        ("-h", ChangesCommand(help=True)),
    ],
)
def test_changes(line: str, command: ChangesCommand) -> None:
    assert parse_changes(line) == command


@pytest.mark.parametrize(
    ("line", "cell", "command"),
    [
        ("s", "orders\n", ChangesCommand(ORDERS, stream=S)),
        ("s --at stream:db.o --append-only --show-initial-rows", " -- why\n db . `a b` ;",
         ChangesCommand(Name("db", "a b"), None, S, TimePoint(PointKind.STREAM, "'db.o'"), None,
                        True, True)),
        ("S", QUERY + ";\n", ChangesCommand(query=QUERY, stream=S)),
        ("", "TABLE orders", ChangesCommand(query="TABLE orders")),
        ("--at 3 --end -60 -o df", f"\n{QUERY} -- end",
         ChangesCommand(query=QUERY, at=V3, end=TimePoint(PointKind.OFFSET, "-60"), out="df")),
        ("", "values", ChangesCommand(Name("default", "values"))),
        ("-h", "", ChangesCommand(help=True)),
    ],
)  # fmt: skip
def test_changes_of_a_cell(line: str, cell: str, command: ChangesCommand) -> None:
    found = parse_changes(line, cell)
    assert found == command
    if found.query:
        assert cell[found.query_offset :].startswith(found.query)


def test_names_are_of_the_current_schema() -> None:
    assert parse_changes("t", None, "sales").name == Name("sales", "t")
    found = parse_changes("s", "t", "sales")
    assert (found.stream, found.name) == (Name("sales", "s"), Name("sales", "t"))
    assert parse_replay("t", "sales").name == Name("sales", "t")


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("orders", ReplayCommand(ORDERS)),
        ("orders --at 3", ReplayCommand(ORDERS, V3)),
        (
            "orders --at 3 --to '-10 minutes' --schema-mode CURRENT -o rows",
            ReplayCommand(
                ORDERS, V3, TimePoint(PointKind.OFFSET, "-600"), SchemaMode.CURRENT, "rows"
            ),
        ),
        ("orders --to 3 --schema-mode=snapshot_time", ReplayCommand(ORDERS, None, V3)),
        ("-h", ReplayCommand(help=True)),
    ],
)
def test_replay(line: str, command: ReplayCommand) -> None:
    assert parse_replay(line) == command


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("0", "VERSION", "0"),
        ("2026-01-31", "TIMESTAMP", "'2026-01-31 00:00:00'"),
        ("2026-01-31T12:00", "TIMESTAMP", "'2026-01-31 12:00:00'"),
        ("'2026-01-31 12:00:00.5'", "TIMESTAMP", "'2026-01-31 12:00:00.500000'"),
        ("2026-01-31T12:00:00Z", "TIMESTAMP", "'2026-01-31 12:00:00+00:00'"),
        ("2026-01-31T12:00:00-03:30", "TIMESTAMP", "'2026-01-31 12:00:00-03:30'"),
        ("now", "OFFSET", "0"),
        ("-600", "OFFSET", "-600"),
        ("-0.5", "OFFSET", "-0.5"),
        ("-10 minutes", "OFFSET", "-600"),
        ("'-1.5 Hours'", "OFFSET", "-5400"),
        ("-1day", "OFFSET", "-86400"),
        ("stream:s", "STREAM", "'s'"),
        ("stream:db.`it's`", "STREAM", "'db.`it\\'s`'"),
    ],
)
def test_points_in_time(text: str, kind: str, value: str) -> None:
    point = TimePoint(PointKind(kind), value)
    assert parse_replay(f"--at {text} t").at == point
    assert parse_changes(f"t --end {text}").end == point


@pytest.mark.parametrize(
    ("line", "cell", "code", "place"),
    [
        ("", None, "DT-1001", ""),
        ("t u", None, "DT-1001", "u"),
        ("t --show-initial-rows", None, "DT-1002", "--show-initial-rows"),
        ("t --at", None, "DT-1001", "--at"),
        ("t --at --append-only", None, "DT-1001", "--at"),
        ("t --at 1 --at 2", None, "DT-1001", "--at"),
        ("t --at yesterday", None, "DT-1003", "yesterday"),
        ("t --at ''", None, "DT-1003", "''"),
        ("t --at 1.5", None, "DT-1003", "1.5"),
        ("t --at +5", None, "DT-1003", "+5"),
        ("t --at -10m", None, "DT-1003", "-10m"),
        ("t --at ９", None, "DT-1003", "９"),
        (f"t --at {'9' * 5000}", None, "DT-1003", "9" * 5000),
        ("t --end 2026-13-01", None, "DT-1003", "2026-13-01"),
        ("t --at stream:", None, "DT-1001", "stream:"),
        ("t --at 'stream:a b'", None, "DT-1001", "'stream:a b'"),
        ("a-b", None, "DT-1001", "a-b"),
        ("__dt_t", None, "DT-1114", "__dt_t"),
        ("t -o 1x", None, "DT-1003", "1x"),
        ("s --end 3", "t", "DT-1001", "3"),
        ("--show-initial-rows", "t", "DT-1001", "--show-initial-rows"),
        ("s", "", "DT-1001", ""),
        ("s", "DELETE FROM t", "DT-1001", "DELETE"),
        ("s", "t u", "DT-1001", "t"),
        ("s", "a.", "DT-1001", ""),
        ("s", "SELECT 1; SELECT 2", "DT-1001", "SELECT"),
        ("s", "SELECT " + "(" * 300, "DT-1004", "("),
        ("s", "__dt_t", "DT-1114", "__dt_t"),
    ],
)
def test_bad_changes(line: str, cell: str | None, code: str, place: str) -> None:
    with pytest.raises(DTError) as caught:
        parse_changes(line, cell)
    found = caught.value
    assert found.code == code
    assert found.query in (line, cell)
    assert found.span is not None
    assert found.query[found.span.start : found.span.end] == place
    assert found.hint


@pytest.mark.parametrize(
    ("line", "code", "place"),
    [
        ("", "DT-1001", ""),
        ("t --end 3", "DT-1002", "--end"),
        ("t --to soon", "DT-1003", "soon"),
        ("t --schema-mode curent", "DT-1003", "curent"),
        ("t --schema-mode", "DT-1001", "--schema-mode"),
    ],
)
def test_bad_replays(line: str, code: str, place: str) -> None:
    with pytest.raises(DTError) as caught:
        parse_replay(line)
    found = caught.value
    assert found.code == code
    assert found.query == line
    assert found.span is not None
    assert line[found.span.start : found.span.end] == place


def misspelled(flag: str) -> list[str]:
    """A flag as people get it wrong: without its dashes, with others, in capitals, two swapped."""
    bare = flag[2:]
    swapped = bare[:1] + bare[2] + bare[1] + bare[3:]
    typed = ["--" + bare.replace("-", ""), "--" + bare.replace("-", "_"), "--" + bare.upper()]
    return [t for t in [*typed, "--" + swapped] if t != flag]


FLAGS = [
    (spec, option.flag, typed)
    for spec in (DYNAMIC_TABLE, CHANGES, CHANGES_CELL, REPLAY, SQL, *DT)
    for option in spec.options
    if len(option.flag) > len("--out")
    for typed in misspelled(option.flag)
]


@pytest.mark.parametrize(("spec", "flag", "typed"), FLAGS)
def test_every_option_is_suggested_by_nearness(spec: MagicSpec, flag: str, typed: str) -> None:
    with pytest.raises(DTError) as caught:
        _read(spec, f"{typed} x")
    assert f"Known options: {flag} (did you mean this?)" in caught.value.hint


@pytest.mark.parametrize("table", [TABLE_OPTIONS, WAREHOUSE_OPTIONS, STREAM_OPTIONS])
def test_every_option_of_sql_is_suggested_by_nearness(table: Mapping[str, Option]) -> None:
    for name in table:
        for typed in (name.replace("_", ""), name.replace("_", "-"), name[:-1], name.lower()[1:]):
            if typed != name:
                hint = unknown_option(typed, "CREATE", table).hint
                assert hint.startswith(f"Known options: {name} (did you mean this?)"), typed
