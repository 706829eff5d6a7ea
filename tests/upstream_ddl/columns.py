"""Columns that come, go, move, and change their names and types."""

from __future__ import annotations

from tests.upstream_ddl.worlds import (
    ANEW,
    GOES_ON,
    MAPPED,
    MOVED,
    NESTED,
    NO_V,
    Case,
    Chapter,
    World,
    alter,
    make,
    with_property,
)

_LOST = "DT-2116"
_DROP = alter("DROP COLUMN v")
_RENAMED = tuple(
    alter(f"RENAME COLUMN {a} TO {b}") for a, b in (("v", "y"), ("id", "v"), ("y", "id"))
)
_WIDER = World(MAPPED.made, alter("ADD COLUMN x INT"))
_PARTITIONED = World(f"{MAPPED.made} PARTITIONED BY (w)")
_STRICT = World(make(columns="(id INT NOT NULL, v INT, w STRING)"))
_DEFAULTS = with_property("delta.feature.allowColumnDefaults", "supported")
_COMMENT, _DEFAULT = "ALTER COLUMN v COMMENT 'x'", "ALTER COLUMN w SET DEFAULT 'd'"

CHAPTER = Chapter(
    "Columns",
    "For each source the columns that are used are tracked; a `SELECT *` may have other columns "
    "(5.4).",
    (
        Case("ADD COLUMN", alter("ADD COLUMN x INT"), GOES_ON, MOVED),
        Case("ADD COLUMN … FIRST", alter("ADD COLUMN x INT FIRST"), GOES_ON, MOVED),
        Case(
            "ADD COLUMN, and values for all rows",
            f"{alter('ADD COLUMN x INT')}; UPDATE {{t}} SET x = v",
            MOVED,
            MOVED,
        ),
        Case("rows written with one column more", "> widen", MOVED, MOVED),
        Case("DROP COLUMN, not used", alter("DROP COLUMN w"), GOES_ON, ANEW, MAPPED),
        Case("DROP COLUMN, used", _DROP, _LOST, ANEW, MAPPED, NO_V, mend=alter("ADD COLUMN v INT")),
        Case(
            "DROP COLUMN, used, and added again",
            f"{_DROP}; {alter('ADD COLUMN v INT')}",
            ANEW,
            ANEW,
            MAPPED,
        ),
        Case(
            "DROP COLUMN, used, and added with another type",
            f"{_DROP}; {alter('ADD COLUMN v STRING')}",
            ANEW,
            ANEW,
            MAPPED,
        ),
        Case("RENAME COLUMN, not used", alter("RENAME COLUMN w TO y"), GOES_ON, ANEW, MAPPED),
        Case(
            "RENAME COLUMN, of the partitions, not used",
            alter("RENAME COLUMN w TO y"),
            GOES_ON,
            ANEW,
            _PARTITIONED,
        ),
        Case(
            "RENAME COLUMN, used",
            _RENAMED[0],
            _LOST,
            ANEW,
            MAPPED,
            NO_V,
            mend=alter("RENAME COLUMN y TO v"),
        ),
        Case("two used columns swap names", "; ".join(_RENAMED), ANEW, ANEW, MAPPED),
        Case("column moved", alter("ALTER COLUMN v FIRST"), GOES_ON, ANEW),
        Case("used column widened", alter("ALTER COLUMN v TYPE BIGINT"), ANEW, ANEW, MAPPED),
        Case(
            "column that is not used widened",
            alter("ALTER COLUMN x TYPE BIGINT"),
            GOES_ON,
            ANEW,
            _WIDER,
        ),
        Case("used column narrowed", "> overwrite CAST(v AS SMALLINT) AS v, w", ANEW, ANEW),
        Case("column that is not used narrowed", "> overwrite v, length(w) AS w", MOVED, ANEW),
        Case("DROP NOT NULL", alter("ALTER COLUMN id DROP NOT NULL"), GOES_ON, GOES_ON, _STRICT),
        Case(
            "COMMENT, SET DEFAULT",
            f"{_DEFAULTS}; {alter(_COMMENT)}; {alter(_DEFAULT)}",
            GOES_ON,
            GOES_ON,
        ),
        Case("field added to a used struct", alter("ADD COLUMN s.c INT"), ANEW, ANEW, NESTED),
        Case("field that is not used dropped", alter("DROP COLUMN s.b"), ANEW, ANEW, NESTED),
        Case(
            "used field dropped",
            alter("DROP COLUMN s.a"),
            _LOST,
            ANEW,
            NESTED,
            mend=alter("ADD COLUMN s.a INT"),
        ),
        Case(
            "used field renamed",
            alter("RENAME COLUMN s.a TO z"),
            _LOST,
            ANEW,
            NESTED,
            mend=alter("RENAME COLUMN s.z TO a"),
        ),
        Case("fields of a struct moved", alter("ALTER COLUMN s.b FIRST"), ANEW, ANEW, NESTED),
        Case("used field widened", alter("ALTER COLUMN s.a TYPE BIGINT"), ANEW, ANEW, NESTED),
    ),
)
