"""Tables that go, come back or are replaced."""

from __future__ import annotations

from tests.upstream_ddl.worlds import (
    ANEW,
    COLUMNS,
    GOES_ON,
    NO_V,
    PAIR,
    SCHEMA,
    Case,
    Chapter,
    alter,
    make,
    new_rows,
)

_GONE = "DT-2102"
_DROP = "DROP TABLE {t}"
_PARQUET = f"{_DROP}; CREATE TABLE {{t}} {COLUMNS} USING parquet"
_REPLACE = "CREATE OR REPLACE TABLE {t}"
_ITEM = "INSERT INTO {x}.item (id, v) VALUES (7, 70)"

CHAPTER = Chapter(
    "Tables that go, come back or are replaced",
    "A refresh below a dropped table fails, and refreshes resume after UNDROP (4). A replaced "
    "table may have made the stored rows wrong: REINITIALIZE (3.3.2).",
    (
        Case("DROP", _DROP, _GONE, _GONE, rows="", mend="UNDROP TABLE {t}"),
        Case("DROP, UNDROP", f"{_DROP}; UNDROP TABLE {{t}}", GOES_ON, GOES_ON),
        Case("DROP, recreated", f"{_DROP}; {make()}", ANEW, ANEW),
        Case(
            "DROP, recreated with other columns",
            f"{_DROP}; {make(columns='(x INT, w STRING, v BIGINT, id INT)')}",
            ANEW,
            ANEW,
        ),
        Case(
            "DROP, recreated without a used column",
            f"{_DROP}; {make(columns='(id INT, w STRING)')}",
            "DT-2116",
            ANEW,
            rows=NO_V,
            mend=alter("ADD COLUMN v INT"),
        ),
        Case("DROP, recreated as Parquet", _PARQUET, ANEW, ANEW, lasts=False),
        Case(
            "DROP, recreated as Parquet, refreshed, then as Delta",
            f"{_PARQUET}; {new_rows()}; > refresh; {new_rows()}; > refresh; {_DROP}; {make()}",
            ANEW,
            ANEW,
        ),
        Case("CREATE OR REPLACE", f"{_REPLACE} {COLUMNS} USING delta", ANEW, ANEW),
        Case(
            "CREATE OR REPLACE, more columns",
            f"{_REPLACE} (x INT, id INT, v INT, w STRING) USING delta",
            ANEW,
            ANEW,
        ),
        Case(
            "CREATE OR REPLACE … AS SELECT from itself",
            f"{_REPLACE} USING delta AS SELECT id, v, w FROM {{t}}",
            ANEW,
            ANEW,
        ),
        Case(
            "DROP, made as a clone of another",
            f"{_DROP}; CREATE TABLE {{t}} SHALLOW CLONE {{u}} LOCATION '{{dir}}/{{t}}_clone'",
            ANEW,
            ANEW,
            PAIR,
        ),
        Case(
            "DROP SCHEMA",
            "DROP SCHEMA {x} CASCADE",
            _GONE,
            _GONE,
            SCHEMA,
            rows="",
            mend=SCHEMA.before,
        ),
        Case(
            "DROP SCHEMA, made again",
            f"DROP SCHEMA {{x}} CASCADE; {SCHEMA.before}",
            ANEW,
            ANEW,
            SCHEMA,
            rows=_ITEM,
        ),
        Case("folder deleted", "> delete", _GONE, _GONE, rows="", mend=f"{_DROP}; {make()}"),
    ),
)
