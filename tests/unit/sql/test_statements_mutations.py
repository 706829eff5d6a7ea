"""Whatever is typed becomes statements, or an error with a place in the text: nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

from hypothesis import given, settings, strategies as st

from dt_jupyter.model import DTError
from dt_jupyter.sql.grammar.magic_options import (
    parse_changes,
    parse_dt,
    parse_dynamic_table,
    parse_replay,
)
from dt_jupyter.sql.grammar.parse import parse_script
from dt_jupyter.sql.grammar.statement_values import CreateDynamicTable, SparkStatement
from dt_jupyter.sql.text.lex import tokens
from dt_jupyter.sql.text.places import underline

VALID = (
    "CREATE OR REPLACE DYNAMIC TABLE db.`a b` (x, y COMMENT 'it''s') TARGET_LAG = '5 minutes' "
    "WAREHOUSE = w REFRESH_MODE = FULL INITIALIZE = ON_CREATE SCHEDULER = ENABLE CLUSTER BY (x, y) "
    "DATA_RETENTION_TIME_IN_DAYS = 7 ALTER_SOURCES = TRUE COMMENT = 'c' AS SELECT 1 AS x, 2 AS y",
    "CREATE DYNAMIC TABLE t CLONE m AT (TIMESTAMP => current_timestamp() - INTERVAL 1 DAY)",
    "ALTER DYNAMIC TABLE IF EXISTS t SET TARGET_LAG = DOWNSTREAM, WAREHOUSE = w",
    "ALTER DYNAMIC TABLE t UNSET COMMENT; ALTER DYNAMIC TABLE t SWAP WITH u",
    "DROP DYNAMIC TABLE IF EXISTS t; UNDROP DYNAMIC TABLE t; SHOW DYNAMIC TABLES LIKE 'a%'",
    "EXPLAIN CREATE DYNAMIC TABLE t AS WITH a AS (SELECT 1) SELECT * FROM a -- end",
    "CREATE WAREHOUSE IF NOT EXISTS w MAX_CONCURRENCY_LEVEL = 2 WEIGHT = 3; SHOW WAREHOUSES",
    "SELECT * FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => 'a'))",
    "BEGIN; FROM a INSERT INTO b SELECT 1 INSERT INTO c SELECT 2; COMMIT",
    "SELECT * FROM t CHANGES (INFORMATION => DEFAULT) AT (VERSION => 1) END (VERSION => 2)",
    "MERGE INTO a USING (SELECT $ACTION FROM b.`c` AT (TS => 'x'), d) CHANGES BEFORE (STREAM => "
    "'s') AS x ON SYSTEM$STREAM_HAS_DATA('s') WHEN MATCHED THEN DELETE; TABLE t AT (COMMON)",
    "CREATE OR REPLACE STREAM s ON DYNAMIC TABLE `a b` BEFORE (STREAM => 'x') APPEND_ONLY = TRUE, "
    "SHOW_INITIAL_ROWS = FALSE COMMENT = 'c'; DESC STREAM s; SHOW STREAMS LIKE 'a'; DROP STREAM s",
    "BEGIN WORK NAME x; INSERT INTO t SELECT 1; ROLLBACK WORK; START TRANSACTION; COMMIT",
    "BEGIN IF a THEN SELECT CASE WHEN 1 THEN 2 END; END IF; END; USE SCHEMA s",
    "MERGE INTO delta.`/x` USING s ON a = b WHEN MATCHED THEN DELETE; ALTER TABLE a RENAME TO b",
)
NOISE = ("'", '"', "`", "(", ")", ";", ",", ".", "=", "=>", "-", "--", "/*", "*/", "\\", "\0", "\n",
         "AS", "AT", "BEGIN", "END", "CASE", "__dt_x", "``", "''", "$$", "$", "é",
         "CHANGES", "(VERSION => 1)", "$ACTION",
         "\ud800", "9" * 5000, "r'", ":", "[", "TABLE", "WITH", "FROM", "INSERT", "İ")  # fmt: skip


def mutated(text: str, rng: random.Random) -> str:
    """The text with up to four words taken out, doubled, swapped, cut or put in."""
    for _ in range(rng.randint(1, 4)):
        try:
            words = tokens(text)
        except DTError:
            words = []
        if not words:
            at = rng.randint(0, len(text))
            text = text[:at] + rng.choice(NOISE) + text[at + rng.randint(0, 2) :]
            continue
        one, two = rng.choice(words), rng.choice(words)
        new = rng.choice(["", one.text * 2, two.text, one.text[1:], rng.choice(NOISE) + one.text])
        text = text[: one.start] + new + text[one.end :]
    return text


def check(error: DTError, *texts: str) -> None:
    assert error.code in {"DT-1001", "DT-1002", "DT-1003", "DT-1004", "DT-1114"}
    shown = {t.encode("utf-8", "replace").decode() for t in texts}  # half a character is a ?
    assert error.query in {*texts, *shown}
    assert error.span is not None
    assert error.span.end <= len(error.query)
    assert "\n" in underline(error.query, error.span)
    assert str(error)


@given(st.sampled_from(VALID), st.randoms(use_true_random=False))
@settings(max_examples=500)
def test_mutations_of_valid_scripts(valid: str, rng: random.Random) -> None:
    script = mutated(valid, rng)
    try:
        statements = parse_script(script)
    except DTError as error:
        check(error, script)
        return
    for statement in statements:
        end = statement.offset + len(statement.text)
        assert script[statement.offset : end] == statement.text
        for span in statement.places.values():
            assert statement.offset <= span.start <= span.end <= end
        if isinstance(statement, CreateDynamicTable):
            assert script[statement.query_offset :].startswith(statement.query)
        if isinstance(statement, SparkStatement):
            ours = (*statement.timed, *statement.has_data, *statement.functions)
            spans = sorted((found.span.start, found.span.end) for found in ours)
            assert all(one[1] <= two[0] for one, two in pairwise(spans))
            assert all(statement.offset <= start < stop <= end for start, stop in spans)


def test_the_scripts_that_are_mutated_are_valid() -> None:
    assert all(parse_script(valid) for valid in VALID)


@given(st.text(), st.text())
def test_any_text(text: str, other: str) -> None:
    for prefix in ("", "CREATE DYNAMIC TABLE ", "ALTER DYNAMIC TABLE t ", "SELECT "):
        try:
            parse_script(prefix + text)
        except DTError as error:
            check(error, prefix + text)
    try:
        parse_dynamic_table(text, other)
    except DTError as error:
        check(error, text, other)
    try:
        parse_dt(text)
    except DTError as error:
        check(error, text)


LINES = ("daily --target-lag '5 minutes' --warehouse W --refresh-mode auto --initialize on_create",
         "`a b`.c --replace --no-alter-sources --dry-run -o df --target-lag=downstream",
         "t --if-not-exists -h", "-o df history daily", "connect lake --remote sc://x", "verify t",
         "t --at -10 minutes --end stream:s --append-only", "s --show-initial-rows --at 2026-01-31",
         "t --at 3 --to 17 --schema-mode current -o df", "explain t -o df",
         "refresh TABLE t", "-o df SELECT 1")  # fmt: skip


@given(st.sampled_from(LINES), st.randoms(use_true_random=False))
@settings(max_examples=500)
def test_mutations_of_magic_lines(line: str, rng: random.Random) -> None:
    words = line.split(" ")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(words))
        words[at] = rng.choice(
            ["", words[at] * 2, rng.choice(words), rng.choice(NOISE), "-o", "=="]
        )
    text = " ".join(words)
    parsers: tuple[Callable[[], object], ...] = (
        lambda: parse_dynamic_table(text, "SELECT 1"),
        lambda: parse_dt(text),
        lambda: parse_changes(text),
        lambda: parse_changes(text, "SELECT 1"),
        lambda: parse_replay(text),
    )
    for parse in parsers:
        try:
            parse()
        except DTError as error:
            check(error, text, "SELECT 1")
