"""Dynamic tables upstream."""

from __future__ import annotations

from tests.upstream_ddl.worlds import (
    ANEW,
    GOES_ON,
    MOVED,
    NO_V,
    SAME,
    TWO_UPSTREAM,
    UPSTREAM,
    WITHOUT,
    Case,
    Chapter,
    alter,
    dynamic_table,
    make,
    new_rows,
    view,
)

_GONE, _LOST, _ABOVE = "DT-2102", "DT-2116", "DT-2110"
_DROP = "DROP DYNAMIC TABLE {w}"
_UNDROP = "UNDROP DYNAMIC TABLE {w}"
_ALTER = "ALTER DYNAMIC TABLE {w}"
_REPLACE, _OR_ALTER = "CREATE OR REPLACE", "CREATE OR ALTER"
_MORE = "SELECT id, v, w, 1 AS n FROM {t}"
_ROWS = "SELECT id, v + 1 AS v, w FROM {t}"
_TYPED = "SELECT id, CAST(v AS BIGINT) AS v, w FROM {t}"
_SCHEDULED = dynamic_table(_REPLACE).replace(" AS ", " INITIALIZE = ON_SCHEDULE AS ", 1)

CHAPTER = Chapter(
    "Dynamic tables upstream",
    "As tables; below one that failed nothing is refreshed at that data timestamp, and it resumes "
    "where it left off once the cause is addressed (3.3.3, 4).",
    (
        Case("DROP", _DROP, _GONE, _GONE, UPSTREAM, rows="", mend=_UNDROP),
        Case("DROP, UNDROP", f"{_DROP}; {_UNDROP}", GOES_ON, GOES_ON, UPSTREAM),
        Case("DROP, recreated", f"{_DROP}; {dynamic_table()}", ANEW, ANEW, UPSTREAM),
        Case("CREATE OR REPLACE", dynamic_table(_REPLACE), ANEW, ANEW, UPSTREAM),
        Case("CREATE OR REPLACE, initialised on schedule", _SCHEDULED, ANEW, ANEW, UPSTREAM),
        Case(
            "CREATE OR REPLACE, a column more",
            dynamic_table(_REPLACE, _MORE),
            ANEW,
            ANEW,
            UPSTREAM,
        ),
        Case(
            "CREATE OR REPLACE, without a used column",
            dynamic_table(_REPLACE, WITHOUT),
            _LOST,
            ANEW,
            UPSTREAM,
            mend=dynamic_table(_REPLACE),
        ),
        Case(
            "CREATE OR ALTER, other rows", dynamic_table(_OR_ALTER, _ROWS), MOVED, MOVED, UPSTREAM
        ),
        Case(
            "CREATE OR ALTER, a column more",
            dynamic_table(_OR_ALTER, _MORE),
            MOVED,
            MOVED,
            UPSTREAM,
        ),
        Case(
            "CREATE OR ALTER, another type", dynamic_table(_OR_ALTER, _TYPED), ANEW, ANEW, UPSTREAM
        ),
        Case(
            "CREATE OR ALTER, without a used column",
            dynamic_table(_OR_ALTER, WITHOUT),
            _LOST,
            ANEW,
            UPSTREAM,
            mend=dynamic_table(_OR_ALTER),
        ),
        Case(
            "RENAME",
            f"{_ALTER} RENAME TO {{x}}",
            _GONE,
            _GONE,
            UPSTREAM,
            rows="",
            mend="ALTER DYNAMIC TABLE {x} RENAME TO {w}",
        ),
        Case("SWAP", f"{_ALTER} SWAP WITH {{x}}", ANEW, ANEW, TWO_UPSTREAM),
        Case("SUSPEND", f"{_ALTER} SUSPEND", GOES_ON, GOES_ON, UPSTREAM),
        Case(
            "becomes a table",
            f"{_DROP}; {make('{w}')}",
            ANEW,
            ANEW,
            UPSTREAM,
            new_rows("{w}"),
        ),
        Case("becomes a view", f"{_DROP}; {view(SAME)}", ANEW, ANEW, UPSTREAM),
        Case(
            "its source dropped",
            "DROP TABLE {t}",
            _ABOVE,
            _ABOVE,
            UPSTREAM,
            rows="",
            mend="UNDROP TABLE {t}",
        ),
        Case(
            "a column of its source dropped",
            alter("DROP COLUMN v"),
            _ABOVE,
            _ABOVE,
            UPSTREAM,
            NO_V,
            mend=alter("ADD COLUMN v INT"),
        ),
        Case("a column added to its source", alter("ADD COLUMN x INT"), GOES_ON, GOES_ON, UPSTREAM),
    ),
)
