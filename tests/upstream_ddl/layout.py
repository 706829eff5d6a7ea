"""Rows that go back or are written as a whole; how they are stored."""

from __future__ import annotations

from tests.upstream_ddl.worlds import (
    ANEW,
    GOES_ON,
    MAPPED,
    MOVED,
    SAME,
    Case,
    Chapter,
    World,
    alter,
    with_property,
)

_FEED = "delta.enableChangeDataFeed"
_OFF, _ON = with_property(_FEED, "false"), with_property(_FEED, "true")
_TRACKING = "delta.enableRowTracking"
_NAMES = with_property("delta.columnMapping.mode", "name")
_LESS = "DELETE FROM {t} WHERE id = 1"
_BOTH = f"{_LESS}; INSERT INTO {{t}} (id) VALUES (7)"
_MORE = World(before="INSERT INTO {t} VALUES (4, 40, 'd')")
_WIDER = World(MAPPED.made, alter("ADD COLUMN x INT"))
_RESTORE = "RESTORE TABLE {t} TO VERSION AS OF 1"

CHAPTER = Chapter(
    "Rows and layout",
    "Only the rows count: the interval between two frontiers says which changed (5.3).",
    (
        Case("RESTORE, to other rows", _RESTORE, MOVED, MOVED, _MORE),
        Case("RESTORE, to other columns", _RESTORE, GOES_ON, ANEW, _WIDER),
        Case("TRUNCATE", "TRUNCATE TABLE {t}", MOVED, MOVED),
        Case("INSERT OVERWRITE", "INSERT OVERWRITE {t} VALUES (9, 90, 'z')", MOVED, MOVED),
        Case(
            "INSERT OVERWRITE with the same rows",
            "INSERT OVERWRITE {t} SELECT * FROM {t}",
            MOVED,
            MOVED,
        ),
        Case("OPTIMIZE, REORG", "OPTIMIZE {t}; REORG TABLE {t} APPLY (PURGE)", GOES_ON, GOES_ON),
        Case(
            "partitioned otherwise, replaced",
            f"CREATE OR REPLACE TABLE {{t}} USING delta PARTITIONED BY (v) AS {SAME}",
            ANEW,
            ANEW,
        ),
        Case("partitioned otherwise, overwritten", "> repartition", ANEW, ANEW),
        Case("CLUSTER BY", alter("CLUSTER BY (id)"), GOES_ON, GOES_ON),
        Case("change feed turned off", _OFF, GOES_ON, GOES_ON, rows=_BOTH),
        Case("change feed off, rows deleted, and on", f"{_OFF}; {_LESS}; {_ON}", MOVED, MOVED),
        Case("row tracking turned on", with_property(_TRACKING, "true"), GOES_ON, GOES_ON),
        Case(
            "row tracking turned off",
            with_property(_TRACKING, "false"),
            GOES_ON,
            GOES_ON,
            World(before=with_property(_TRACKING, "true")),
        ),
        Case(
            "deletion vectors turned on",
            with_property("delta.enableDeletionVectors", "true"),
            GOES_ON,
            GOES_ON,
            rows=_BOTH,
        ),
        Case(
            "table properties",
            with_property("delta.logRetentionDuration", "interval 20 days"),
            GOES_ON,
            GOES_ON,
        ),
        Case("column mapping turned on", _NAMES, GOES_ON, GOES_ON),
        Case(
            "column mapping turned on, a column renamed",
            f"{_NAMES}; {alter('RENAME COLUMN w TO y')}",
            GOES_ON,
            ANEW,
        ),
        Case("ADD CONSTRAINT", alter("ADD CONSTRAINT pos CHECK (id > 0)"), GOES_ON, GOES_ON),
    ),
)
