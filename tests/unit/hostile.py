"""Hostile input from a seed: names, numbers, texts, points in time, statements and magic lines."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

NAMES = (
    "t", "nowhere", "a.b", "a.b.c", "a.b.c.d", "", " ", ".", "..", "a.", ".a", "`a b`", "`a``b`",
    "`", "``", "`a", '"a"', "'a'", "select", "`../x`", "`/`", "a-b", "1a", "1", "t;", "t--", "t/*",
    "t t", "İ", "ñ", "日本", "`\u202e`", "`\ufeff`", "__dt_x", "`__dt_x`", "$ACTION", "%", "*",
    "t'; DROP TABLE t; --", "a" * 300, "`" + "b" * 70_000 + "`", "a." * 400 + "a", "delta.`/x`",
    "spark_catalog.default.t", "other.default.t", "information_schema.t", "t\n", "\tt", "`t\nu`",
    "default", "null", ":x", "{x}", "$$t$$", "t\\", "\x7f", "\u2028", "COMMON", "TABLE", "-1",
)  # fmt: skip
NUMBERS = (
    "0", "1", "-1", "7", "1.5", "1e400", "-0", "9" * 30, "9" * 5_000, "0x1F", "1_000", "NaN",
    "Infinity", "NULL", "", "''", "'1'", "1 2", "2147483648", "9223372036854775808", "٣",
)  # fmt: skip
TEXTS = (
    "'x'", "''", "''''", "'it''s'", "'\\'", "'\n'", "'" + "x" * 3_000 + "'", "x", "NULL", "5",
    '"x"', "r'x'", "'\\u0000'", "'\x01'", "'<script>'", "$$x$$", "'%'", "'[a-'", "'('", "'\\\\'",
)  # fmt: skip
LAGS = (
    "'5 minutes'", "DOWNSTREAM", "'0 seconds'", "'-1 minutes'", "'1e9 days'", "'soon'", "''",
    "'5 minutes 3 seconds'", "5", "NULL", "'٥ minutes'", "'99999999999999999999 days'", "'5'",
    "'5 parsecs'", "downstream_", "'1.5 hours'",
)  # fmt: skip
WORDS = (
    "AUTO", "FULL", "INCREMENTAL", "ON_CREATE", "ON_SCHEDULE", "ENABLE", "TRUE", "FALSE", "NULL",
    "SOMETIMES", "'AUTO'", "1", "", "auto", "=", "()",
)  # fmt: skip
POINTS = (
    "VERSION => {number}", "TIMESTAMP => {text}", "TIMESTAMP => {number}", "OFFSET => {number}",
    "OFFSET => -{number}", "STATEMENT => {text}", "STREAM => {text}", "COMMON", "TS => {text}",
    "VERSION => (SELECT 1)", "TIMESTAMP => '9999-12-31'", "TIMESTAMP => '0001-01-01'",
    "TIMESTAMP => current_timestamp() + INTERVAL 1 DAY", "VERSION => 1 + {number}", "", "=>",
    "WHENCE => 1", "TIMESTAMP => '+294247-01-10'", "VERSION => :x", "OFFSET => 1 / 0",
)  # fmt: skip
QUERIES = (
    "SELECT * FROM {name}", "SELECT {name} FROM item", "SELECT id FROM item WHERE v > {number}",
    "SELECT {text} AS {name}", "VALUES ({number}), ({text})", "SELECT id, count(*) FROM item "
    "GROUP BY {number}", "SELECT {name}(id) FROM item", "SELECT * FROM item, {name}", "",
    "SELECT id FROM item ORDER BY {number} LIMIT {number}", "WITH {name} AS (SELECT 1) SELECT 2",
    "SELECT id, ID FROM item", "SELECT CAST({text} AS INT) AS x", "SELECT id FROM item AT ({at})",
    "SELECT sum(v) OVER (ORDER BY {number}) FROM item", "FROM item", "TABLE {name}", "SELECT",
    "SELECT * FROM item CHANGES (INFORMATION => {word}) AT ({at}) END ({at})", "SELECT {number}",
    "SELECT explode(array({number})) FROM item", "SELECT * EXCEPT ({name}) FROM item", "(((",
    "SELECT id FROM item UNION ALL SELECT {text} FROM item", "SELECT item.{name}.x FROM item",
    "SELECT id FROM item TABLESAMPLE ({number} PERCENT)", "SELECT * FROM item PIVOT (sum(v) FOR id "
    "IN ({number}, {text}))", "SELECT map({number}, {text}) AS m", "SELECT * FROM range({number})",
    "SELECT :x", "SELECT v::{name} FROM item", "SELECT id FROM item VERSION AS OF {number}",
    "SELECT SYSTEM$STREAM_HAS_DATA({text})", "SELECT LAST_QUERY_ID()", "DELETE FROM item",
)  # fmt: skip
STATEMENTS = (
    "CREATE DYNAMIC TABLE {name} AS {query}",
    "CREATE OR REPLACE DYNAMIC TABLE {name} ({name}, {name}) TARGET_LAG = {lag} AS {query}",
    "CREATE DYNAMIC TABLE IF NOT EXISTS {name} TARGET_LAG = {lag} WAREHOUSE = {name} "
    "REFRESH_MODE = {word} INITIALIZE = {word} AS {query}",
    "CREATE DYNAMIC TABLE {name} DATA_RETENTION_TIME_IN_DAYS = {number} COMMENT = {text} "
    "SCHEDULER = {word} ALTER_SOURCES = {word} CLUSTER BY ({name}) AS {query}",
    "CREATE OR ALTER DYNAMIC TABLE {name} {name} = {text} AS {query}",
    "CREATE DYNAMIC TABLE {name} CLONE {name} AT ({at})",
    "EXPLAIN CREATE DYNAMIC TABLE {name} AS {query}", "EXPLAIN DYNAMIC TABLE {name}",
    "ALTER DYNAMIC TABLE {name} SET TARGET_LAG = {lag}, {name} = {number}",
    "ALTER DYNAMIC TABLE IF EXISTS {name} UNSET {name}", "ALTER DYNAMIC TABLE {name} {word}",
    "ALTER DYNAMIC TABLE {name} RENAME TO {name}", "ALTER DYNAMIC TABLE {name} SWAP WITH {name}",
    "ALTER DYNAMIC TABLE {name} REFRESH", "ALTER DYNAMIC TABLE {name} SUSPEND",
    "DROP DYNAMIC TABLE {name}", "DROP DYNAMIC TABLE IF EXISTS {name}",
    "UNDROP DYNAMIC TABLE {name}", "UNDROP TABLE {name}", "DESCRIBE DYNAMIC TABLE {name}",
    "SHOW DYNAMIC TABLES LIKE {text}", "SHOW STREAMS LIKE {text}", "SHOW WAREHOUSES LIKE {text}",
    "CREATE WAREHOUSE {name} MAX_CONCURRENCY_LEVEL = {number} WEIGHT = {number}",
    "CREATE OR REPLACE WAREHOUSE {name} {name} = {word}",
    "ALTER WAREHOUSE {name} SET WEIGHT = {number}", "ALTER WAREHOUSE {name} {word}",
    "DROP WAREHOUSE {name}", "DROP WAREHOUSE IF EXISTS {name}",
    "CREATE STREAM {name} ON TABLE {name} AT ({at})",
    "CREATE OR REPLACE STREAM {name} ON {word} {name} BEFORE ({at}) APPEND_ONLY = {word} "
    "SHOW_INITIAL_ROWS = {word} COMMENT = {text}",
    "DROP STREAM {name}", "DESCRIBE STREAM {name}", "{query}", "{query} AT ({at})",
    "SELECT * FROM TABLE(DYNAMIC_TABLE_REFRESH_HISTORY(NAME => {text}))",
    "SELECT * FROM TABLE({name}({number}))", "BEGIN; {query}; ROLLBACK", "COMMIT",
    "ROLLBACK {name}", "BEGIN {word}; ROLLBACK", "{word} {name}", "USE {name}", "{text}",
    "INSERT INTO {name} {query}",
    "MERGE INTO {name} USING {name} ON {number} WHEN MATCHED THEN DELETE", "{query}; {query}",
    "UPDATE {name} SET {name} = {number}", "DELETE FROM {name} WHERE v = {text}", "SET {name}",
    "GRANT SELECT ON DYNAMIC TABLE {name} TO ROLE {name}", "CREATE SINK {name}", "USE ROLE {name}",
    "CREATE TASK {name} AS {query}", "EXPLAIN {query}", "CREATE VIEW {name} AS {query}",
)  # fmt: skip
LINES = (
    "{name}", "{name} --target-lag {lag}", "{name} --warehouse {name} --refresh-mode {word}",
    "{name} --at {when} --end {when}", "{name} --to {when} --schema-mode {word}", "-o {name}",
    "--stream {name}", "{name} --append-only --out {name}", "history {name}", "refresh {name}",
    "explain {query}", "connect {name}", "{query}", "--{word} {text}", "-h", "{word} {word} {word}",
    "{name} --replace --if-not-exists", "{name} --dry-run -o {text}", "lag", "verify {text}",
    "{name} --show-initial-rows", "{name} --at={when}", "{name} --target-lag={lag}", "--",
)  # fmt: skip
WHENS = (
    "now", "0", "-5", "-5 minutes", "2026-01-31", "2026-13-01", "stream:s", "stream:", "stream:`",
    "'-1 parsecs'", "9" * 400, "-" + "9" * 400, "-9999999999 days", "", "0001-01-01T00:00+14:00",
    "9999-12-31T23:59:59.999999-14:00", "'", "yesterday", "1e5", "-0.000001", "NaT", "٣",
)  # fmt: skip
_SLOT = re.compile(r"\{(name|number|text|lag|word|at|query|when)\}")
_DEEPEST = 6


class Hostile:
    """Input from one seed; `names` are those of what is there, beside those of NAMES."""

    def __init__(self, seed: int, names: Sequence[str] = ("item",)) -> None:
        self.random = random.Random(seed)
        self._known = tuple(names)

    def statement(self) -> str:
        return self._filled(self.random.choice(STATEMENTS))

    def query(self) -> str:
        return self._filled(self.random.choice(QUERIES))

    def line(self) -> str:
        return self._filled(self.random.choice(LINES))

    def name(self) -> str:
        return self.random.choice(self._known if self.random.random() < 0.6 else NAMES)

    def point(self) -> Any:
        """What `at=` may be given that has one of its types."""
        return self.random.choice((
            None, 0, 1, -1, 2**31, 2**63, 10**30, -(10**30), "now", "2026-01-31", "x", "", "\0",
            "2026-01-31T00:00+25:00", "0001-01-01T00:00+14:00", "9999-12-31T23:59:59", "NaT",
            datetime.min, datetime.max, datetime.min.replace(tzinfo=UTC),
            datetime.max.replace(tzinfo=UTC), datetime(2026, 1, 1), timedelta.min, timedelta.max,
            timedelta(0), timedelta(seconds=-1), timedelta(days=400_000), "9" * 5_000, "current",
        ))  # fmt: skip

    def number(self) -> Any:
        return self.random.choice((
            None, 0, 1, -1, 7, 0.5, -0.5, 1e-300, 1e300, float("nan"), float("inf"),
            -float("inf"), 2**31, 2**63, 10**30, 10**400,
        ))  # fmt: skip

    def text(self) -> str:
        return self.random.choice((*NAMES, *TEXTS, *WHENS, "\0", "\ud800", "x" * 10**5))

    def _filled(self, template: str, depth: int = 0) -> str:
        def fill(slot: re.Match[str]) -> str:
            if slot[1] == "name":
                return self.name()
            found = self.random.choice(_POOLS[slot[1]])
            return self._filled(found, depth + 1) if depth < _DEEPEST else found

        return _SLOT.sub(fill, template)


_POOLS = {
    "number": NUMBERS,
    "text": TEXTS,
    "lag": LAGS,
    "word": WORDS,
    "at": POINTS,
    "query": QUERIES,
    "when": WHENS,
}
