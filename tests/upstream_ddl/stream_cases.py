"""What may happen to what a stream reads, and what the stream then gives: the values that
`tests/spark/streams/test_upstream_of_streams.py` runs and the guide shows.

`{t}` is a table with `id`, `v`, `w`, a struct `s` and a list of structs `l`; `{w}` is a view over
its `id`, `v` and `s.a`; `{d}` a dynamic table over its `id` and `v`; `{u}` is another table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.upstream_ddl.worlds import (
    AWAY,
    BACK,
    GOES_ON,
    alter,
    dynamic_table,
    view,
    with_property,
)

STALE = "DT-3202"
_GONE = "DT-1101"
_LOST = "DT-1112"
COLUMNS = "id INT, v INT, w STRING, s STRUCT<a: INT, b: INT>, l ARRAY<STRUCT<x: INT, k: INT>>"
MADE = (
    f"CREATE TABLE {{t}} ({COLUMNS}) USING delta LOCATION '{{dir}}/{{t}}' TBLPROPERTIES ("
    "'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true'{key})"
)
UNMAPPED = MADE.replace("'delta.columnMapping.mode' = 'name', ", "")
VIEW = "SELECT id, v, s.a AS a FROM {t}"
_OVER = view(VIEW)
_MORE = "INSERT INTO {t} (id, v) VALUES (7, 70); DELETE FROM {t} WHERE id = 3"
_DROPPED = "DROP TABLE {t}"
_NAMES = with_property("delta.columnMapping.mode", "name")
_FEED = "delta.enableChangeDataFeed"
_REPLACE = "CREATE OR REPLACE TABLE {t} USING delta AS SELECT * FROM {t}"


@dataclass(frozen=True)
class StreamCase:
    """`table` and `view` are what comes of a stream on each: a word from above, or a code; "" where
    it is none of the case. `rows` are written after the statement, `renamed` are columns and fields
    that have another name by then, `over` makes `{w}`, `inserted` are the ids that an append-only
    stream gives. `mend` is what makes a stream on the table go on after a code. Where the source
    stays the `same` a stream that has not given its initial rows gives them."""

    what: str
    ddl: str
    table: str = GOES_ON
    view: str = GOES_ON
    rows: str = _MORE
    renamed: Mapping[str, str] = field(default_factory=dict)
    made: str = MADE
    over: str = _OVER
    mend: str = ""
    inserted: tuple[int, ...] | None = (5, 7)
    same: bool = False
    unfed: bool = False


COLUMN_CASES = (
    StreamCase("ADD COLUMN", alter("ADD COLUMN x INT")),
    StreamCase("ADD COLUMN … FIRST", alter("ADD COLUMN x INT FIRST")),
    StreamCase("DROP COLUMN, not used by the view", alter("DROP COLUMN w")),
    StreamCase(
        "DROP COLUMN, used by the view",
        alter("DROP COLUMN v"),
        view=_LOST,
        rows="INSERT INTO {t} (id) VALUES (7); DELETE FROM {t} WHERE id = 3",
    ),
    StreamCase(
        "DROP COLUMN, and added again",
        f"{alter('DROP COLUMN v')}; {alter('ADD COLUMN v INT')}",
        STALE,
        STALE,
        same=True,
    ),
    StreamCase(
        "RENAME COLUMN, not used by the view",
        alter("RENAME COLUMN w TO y"),
        renamed={"w": "y"},
    ),
    StreamCase(
        "RENAME COLUMN, used by the view",
        alter("RENAME COLUMN v TO y"),
        view=_LOST,
        rows="INSERT INTO {t} (id, y) VALUES (7, 70); DELETE FROM {t} WHERE id = 3",
        renamed={"v": "y"},
    ),
    StreamCase(
        "two columns swap names",
        "; ".join(
            alter(f"RENAME COLUMN {a} TO {b}") for a, b in (("v", "y"), ("id", "v"), ("y", "id"))
        ),
        STALE,
        STALE,
        rows="",
        same=True,
    ),
    StreamCase("column moved", alter("ALTER COLUMN v FIRST")),
    StreamCase("column widened", alter("ALTER COLUMN v TYPE BIGINT")),
    StreamCase("key column widened", alter("ALTER COLUMN id TYPE BIGINT")),
    StreamCase(
        "column widened and renamed",
        f"{alter('ALTER COLUMN v TYPE BIGINT')}; {alter('RENAME COLUMN v TO y')}",
        view=_LOST,
        rows="INSERT INTO {t} (id, y) VALUES (7, 70); DELETE FROM {t} WHERE id = 3",
        renamed={"v": "y"},
    ),
    StreamCase("field added to a struct", alter("ADD COLUMN s.c INT")),
    StreamCase("field added to a struct in a list", alter("ADD COLUMN l.element.y INT")),
    StreamCase("field widened", alter("ALTER COLUMN s.a TYPE BIGINT")),
    StreamCase("field dropped that the view does not read", alter("DROP COLUMN s.b")),
    StreamCase("field of a struct in a list dropped", alter("DROP COLUMN l.element.x")),
    StreamCase(
        "field dropped that the view reads",
        alter("DROP COLUMN s.a"),
        view=_LOST,
    ),
    StreamCase(
        "field dropped, and added again",
        f"{alter('DROP COLUMN s.b')}; {alter('ADD COLUMN s.b INT')}",
        STALE,
        STALE,
        same=True,
    ),
    StreamCase(
        "field renamed that the view does not read",
        alter("RENAME COLUMN s.b TO z"),
        renamed={"b": "z"},
    ),
    StreamCase(
        "two fields swap names",
        "; ".join(
            alter(f"RENAME COLUMN s.{a} TO {b}") for a, b in (("a", "z"), ("b", "a"), ("z", "b"))
        ),
        STALE,
        STALE,
        same=True,
    ),
    StreamCase("field moved", alter("ALTER COLUMN s.b FIRST")),
    StreamCase("ADD CONSTRAINT", alter("ADD CONSTRAINT pos CHECK (id > 0)")),
    StreamCase("COMMENT", alter("ALTER COLUMN v COMMENT 'x'")),
    StreamCase(
        "column replaced by one of another type",
        f"> overwrite id, CAST(v AS STRING) AS v, w, s, l; {_OVER}",  # Spark's view has INT
        STALE,
        STALE,
        made=UNMAPPED,
        same=True,
    ),
)
LAYOUT_CASES = (
    StreamCase("column mapping turned on", _NAMES, made=UNMAPPED),
    StreamCase(
        "column mapping turned on, a column renamed",
        f"{_NAMES}; {alter('RENAME COLUMN w TO y')}",
        renamed={"w": "y"},
        made=UNMAPPED,
    ),
    StreamCase("field added without column mapping", alter("ADD COLUMN s.c INT"), made=UNMAPPED),
    StreamCase(
        "column widened without column mapping",
        alter("ALTER COLUMN v TYPE BIGINT"),
        made=UNMAPPED,
    ),
    StreamCase("CLUSTER BY", alter("CLUSTER BY (id)")),
    StreamCase(
        "partitioned otherwise, overwritten",
        "> repartition",
        STALE,
        STALE,
        made=UNMAPPED,
        same=True,
    ),
    StreamCase("change feed turned off", with_property(_FEED, "false"), unfed=True),
    StreamCase(
        "row tracking turned off", with_property("delta.enableRowTracking", "false"), inserted=None
    ),
    StreamCase("deletion vectors turned on", with_property("delta.enableDeletionVectors", "true")),
    StreamCase("OPTIMIZE", "OPTIMIZE {t}"),
    StreamCase("TRUNCATE", "TRUNCATE TABLE {t}"),
    StreamCase(
        "INSERT OVERWRITE",
        "INSERT OVERWRITE {t} (id, v) VALUES (9, 90)",
        inserted=(5, 7, 9),
    ),
    StreamCase("RESTORE, to other rows", "> restore", inserted=None),
)
TABLE_CASES = (
    StreamCase("DROP", _DROPPED, _GONE, _GONE, rows="", mend="UNDROP TABLE {t}"),
    StreamCase("DROP, UNDROP", f"{_DROPPED}; UNDROP TABLE {{t}}"),
    StreamCase("DROP, recreated", f"{_DROPPED}; {MADE}", STALE, STALE),
    StreamCase("CREATE OR REPLACE", _REPLACE, STALE, STALE),
    StreamCase("RENAME", AWAY, _GONE, _GONE, rows="", mend=BACK),
    StreamCase("RENAME, and back", f"{AWAY}; {BACK}"),
    StreamCase(
        "RENAME, another in its place",
        f"{AWAY}; {alter('RENAME TO {t}', '{u}')}",
        STALE,
        STALE,
        rows="",
    ),
    StreamCase(
        "table becomes a view with other rows",
        f"{AWAY}; {view('SELECT * FROM {x} WHERE id > 1', '{t}')}",
        STALE,
        STALE,
        rows="INSERT INTO {x} (id, v) VALUES (7, 70)",
    ),
    StreamCase(
        "table becomes a view over itself",
        f"{AWAY}; {view('SELECT * FROM {x}', '{t}')}",
        STALE,
        STALE,
        rows="INSERT INTO {x} (id, v) VALUES (7, 70)",
    ),
)
_FUNCTION = "CREATE OR REPLACE FUNCTION f{n}(x INT) RETURNS INT RETURN x + "


def _view(query: str, what: str, outcome: str, **more: object) -> StreamCase:
    return StreamCase(what, view(query), "", outcome, **more)  # type: ignore[arg-type]


VIEW_CASES = (
    _view(VIEW, "the same text", GOES_ON),
    _view("SELECT x.id, x.v, x.s.a AS a FROM {t} x /* as before */", "the same meaning", GOES_ON),
    _view(f"{VIEW} WHERE v < 15", "other rows", STALE),
    _view("SELECT id, v + 1 AS v, s.a AS a FROM {t}", "other values", STALE),
    _view("SELECT id, v, s.a AS a, w FROM {t}", "a column more", STALE),
    _view("SELECT id, v FROM {t}", "a column less", STALE),
    _view("SELECT id, s.a AS v, v AS a FROM {t}", "columns swapped", STALE),
    _view("SELECT id, v, s.a AS a FROM {u}", "over another table", STALE),
    _view(f"{VIEW} UNION ALL SELECT id, v, s.a FROM {{u}}", "over one table more", STALE),
    StreamCase("DROP", "DROP VIEW {w}", "", _GONE, rows="", mend=view(VIEW)),
    StreamCase("DROP, made again", f"DROP VIEW {{w}}; {view(VIEW)}", ""),
    StreamCase(
        "becomes a table",
        "DROP VIEW {w}; CREATE TABLE {w} AS SELECT id, v, s.a AS a FROM {t}",
        "",
        STALE,
    ),
    StreamCase(
        "a view below it replaced",
        view("SELECT * FROM {t} WHERE v < 15", "{x}"),
        "",
        STALE,
        over=f"{view('SELECT * FROM {t}', '{x}')}; {view(VIEW.replace('{t}', '{x}'))}",
    ),
    StreamCase(
        "a function that it calls replaced",
        f"{_FUNCTION}2",
        "",
        STALE,
        over=f"{_FUNCTION}1; {view('SELECT id, f{n}(v) AS v, s.a AS a FROM {t}')}",
    ),
    StreamCase(
        "a function that it calls replaced by the same",
        f"{_FUNCTION}1",
        "",
        over=f"{_FUNCTION}1; {view('SELECT id, f{n}(v) AS v, s.a AS a FROM {t}')}",
    ),
    StreamCase(
        "one of two tables left out",
        view(VIEW),
        "",
        STALE,
        over=view(f"{VIEW} UNION ALL SELECT id, v, s.a FROM {{u}}"),
    ),
)
_DT = "SELECT id, v FROM {t}"
_MOVED = f"{_MORE}; > refresh"


def _dynamic(what: str, ddl: str, outcome: str = GOES_ON, rows: str = _MOVED) -> StreamCase:
    over = f"{dynamic_table(query=_DT)}; {dynamic_table(query=_DT, name='{x}')}"
    return StreamCase(what, ddl, "", outcome, rows, over=over, inserted=None)


DYNAMIC_CASES = (
    _dynamic("refreshed", "> refresh"),
    _dynamic("REFRESH FULL", "ALTER DYNAMIC TABLE {w} REFRESH FULL"),
    _dynamic(
        "CREATE OR ALTER, other rows",
        dynamic_table("CREATE OR ALTER", "SELECT id, v + 1 AS v FROM {t}"),
    ),
    _dynamic(
        "CREATE OR ALTER, a column more",
        dynamic_table("CREATE OR ALTER", "SELECT id, v, w FROM {t}"),
    ),
    _dynamic(
        "CREATE OR ALTER, an aggregate",
        dynamic_table("CREATE OR ALTER", "SELECT id, sum(v) AS v FROM {t} GROUP BY id"),
    ),
    _dynamic("CREATE OR REPLACE", dynamic_table("CREATE OR REPLACE", _DT), STALE),
    _dynamic("DROP, UNDROP", "DROP DYNAMIC TABLE {w}; UNDROP DYNAMIC TABLE {w}"),
    _dynamic("SWAP", "ALTER DYNAMIC TABLE {w} SWAP WITH {x}", STALE),
    _dynamic("its source replaced", "CREATE OR REPLACE TABLE {t} AS SELECT * FROM {t}"),
    _dynamic("column of its source widened", alter("ALTER COLUMN v TYPE BIGINT")),
)
