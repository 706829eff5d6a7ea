"""Names that stand for something else, and tables that lie elsewhere."""

from __future__ import annotations

from tests.upstream_ddl.worlds import (
    ANEW,
    AWAY,
    BACK,
    GOES_ON,
    JOINED,
    PAIR,
    Case,
    Chapter,
    World,
    alter,
    dynamic_table,
    new_rows,
    view,
)

_GONE = "DT-2102"
_U_TO_T = alter("RENAME TO {t}", "{u}")
_SWAP = f"{AWAY}; {_U_TO_T}; {alter('RENAME TO {u}', '{x}')}"
_VIEW = f"{AWAY}; {view('SELECT * FROM {x}', '{t}')}"

CHAPTER = Chapter(
    "Names and places",
    "What is upstream takes precedence, and dynamic tables recover automatically (4).",
    (
        Case("RENAME", AWAY, _GONE, _GONE, rows="", mend=BACK),
        Case("RENAME, and back", f"{AWAY}; {BACK}", GOES_ON, GOES_ON),
        Case("RENAME, another in its place", f"{AWAY}; {_U_TO_T}", ANEW, ANEW, PAIR),
        Case("swapped with another table", _SWAP, ANEW, ANEW, PAIR),
        Case("two sources swapped", _SWAP, ANEW, ANEW, JOINED),
        Case("folder moved, and the table registered there", "> move", GOES_ON, GOES_ON),
        Case(
            "SET LOCATION to another table",
            alter("SET LOCATION '{dir}/{u}'"),
            ANEW,
            ANEW,
            PAIR,
        ),
        Case("table becomes a view", _VIEW, ANEW, ANEW, rows=new_rows("{x}")),
        Case(
            "table becomes a view, and a table again",
            f"{_VIEW}; DROP VIEW {{t}}; {BACK}",
            GOES_ON,
            GOES_ON,
        ),
        Case(
            "table becomes a dynamic table",
            f"{AWAY}; {dynamic_table(query='SELECT * FROM {x}', name='{t}')}",
            ANEW,
            ANEW,
            rows=new_rows("{x}"),
        ),
        Case(
            "table becomes a stream",
            f"{AWAY}; CREATE STREAM {{t}} ON TABLE {{x}}",
            "DT-2117",
            "DT-2117",
            rows="",
            mend=f"DROP STREAM {{t}}; {BACK}",
        ),
        Case(
            "a temporary view of the same name",
            "CREATE TEMPORARY VIEW {t} AS SELECT 1 AS id, 2 AS v",
            GOES_ON,
            GOES_ON,
            rows=new_rows("default.{t}"),
        ),
        Case(
            "a stream and a sink on it too",
            "CREATE STREAM {x} ON TABLE {t}; > sink",
            GOES_ON,
            GOES_ON,
            World(before="DELETE FROM {t} WHERE id = 2"),
        ),
    ),
)
