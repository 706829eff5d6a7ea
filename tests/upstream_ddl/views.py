"""Views that are replaced, and what lies below them."""

from __future__ import annotations

from tests.upstream_ddl.worlds import (
    ANEW,
    GOES_ON,
    NO_V,
    OTHER,
    SAME,
    STAR_VIEW,
    VIEW,
    VIEWS,
    WITHOUT,
    Case,
    Chapter,
    alter,
    dynamic_table,
    make,
    new_rows,
    view,
)

_GONE, _LOST = "DT-2102", "DT-2116"
_DROP = "DROP VIEW {w}"
_TO_U = new_rows("{u}")
_TYPED = "SELECT id, CAST(v AS BIGINT) AS v, w FROM {t}"
_OVER_X = view("SELECT * FROM {x}")
_MORE = "SELECT id, v, w, id + 1 AS n FROM {t}"

CHAPTER = Chapter(
    "Views",
    "Objects inside of views are dependencies, tracked with their columns; another text may be "
    "another semantics (5.4).",
    (
        Case("CREATE OR REPLACE, other rows", view(f"{SAME} WHERE id > 1"), ANEW, ANEW, VIEW),
        Case(
            "CREATE OR REPLACE, the same meaning",
            view("SELECT x.id, x.v, x.w FROM {t} x /* as before */"),
            GOES_ON,
            GOES_ON,
            VIEW,
        ),
        Case("CREATE OR REPLACE, a column more", view(_MORE), GOES_ON, ANEW, VIEW),
        Case(
            "CREATE OR REPLACE, without a column that is not used",
            view("SELECT id, v FROM {t}"),
            GOES_ON,
            ANEW,
            VIEW,
        ),
        Case(
            "CREATE OR REPLACE, without a used column",
            view(WITHOUT),
            _LOST,
            ANEW,
            VIEW,
            mend=view(SAME),
        ),
        Case(
            "CREATE OR REPLACE, columns in another order",
            view("SELECT w, v, id FROM {t}"),
            ANEW,
            ANEW,
            VIEW,
        ),
        Case("CREATE OR REPLACE, another type", view(_TYPED), ANEW, ANEW, VIEW),
        Case(
            "ALTER VIEW … AS",
            "ALTER VIEW {w} AS SELECT id, v + 1 AS v, w FROM {t}",
            ANEW,
            ANEW,
            VIEW,
        ),
        Case("DROP", _DROP, _GONE, _GONE, VIEW, rows="", mend=view(SAME)),
        Case("DROP, made again", f"{_DROP}; {view(SAME)}", GOES_ON, GOES_ON, VIEW),
        Case("over another table", view(OTHER), ANEW, ANEW, VIEW, _TO_U),
        Case(
            "over another table, the former dropped",
            f"{view(OTHER)}; DROP TABLE {{t}}",
            ANEW,
            ANEW,
            VIEW,
            _TO_U,
        ),
        Case("over one table more", view(f"{SAME} UNION ALL {OTHER}"), ANEW, ANEW, VIEW, _TO_U),
        Case(
            "becomes a table",
            f"{_DROP}; {make('{w}')}",
            ANEW,
            ANEW,
            VIEW,
            new_rows("{w}"),
        ),
        Case("becomes a dynamic table", f"{_DROP}; {dynamic_table()}", ANEW, ANEW, VIEW),
        Case("over a view over the same", f"{view(SAME, '{x}')}; {_OVER_X}", ANEW, ANEW, VIEW),
        Case(
            "over a dynamic table",
            f"{dynamic_table(name='{x}')}; {_OVER_X}",
            ANEW,
            ANEW,
            VIEW,
        ),
        Case(
            "a view below it replaced",
            view("SELECT id, v + 1 AS v, w FROM {t}", "{x}"),
            ANEW,
            ANEW,
            VIEWS,
        ),
        Case(
            "over the dynamic table that reads it",
            view("SELECT id, v, 'x' AS w FROM {d}"),
            "DT-1106",
            "DT-2110",
            VIEW,
            rows="",
            mend=view(SAME),
        ),
        Case("a view below it has a column more", view(_MORE, "{x}"), GOES_ON, GOES_ON, VIEWS),
        Case(
            "column added below a view over `*`",
            alter("ADD COLUMN x INT"),
            GOES_ON,
            GOES_ON,
            STAR_VIEW,
        ),
        Case(
            "column dropped below it",
            alter("DROP COLUMN v"),
            _LOST,
            _LOST,
            VIEW,
            NO_V,
            mend=alter("ADD COLUMN v INT"),
        ),
        Case(
            "table below it dropped",
            "DROP TABLE {t}",
            _GONE,
            _GONE,
            VIEW,
            rows="",
            mend="UNDROP TABLE {t}",
        ),
        Case("column below it widened", alter("ALTER COLUMN v TYPE BIGINT"), ANEW, ANEW, VIEW),
    ),
)
