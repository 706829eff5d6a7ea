"""All cases, in the order in which they are shown."""

from __future__ import annotations

from tests.upstream_ddl import columns, dynamic_tables, layout, renamed, replaced, views
from tests.upstream_ddl.worlds import Case, Chapter

CHAPTERS = (
    replaced.CHAPTER,
    renamed.CHAPTER,
    columns.CHAPTER,
    layout.CHAPTER,
    views.CHAPTER,
    dynamic_tables.CHAPTER,
)
_AT_EACH_CHANGE = (
    (replaced, "DROP, recreated as Parquet, refreshed, then as Delta"),
    (renamed, "table becomes a view"),
    (renamed, "a temporary view of the same name"),
    (columns, "two used columns swap names"),
    (columns, "rows written with one column more"),
    (views, "CREATE OR REPLACE, the same meaning"),
    (views, "CREATE OR REPLACE, without a used column"),
    (views, "over another table, the former dropped"),
)


def half(chapter: Chapter, number: int) -> list[Case]:
    """Every other case of a chapter, from the first or the second one."""
    return list(chapter.cases[number::2])


def at_each_change() -> list[Case]:
    """Those that run at each change; the others run by night."""
    return [
        next(c for c in of.CHAPTER.cases if c.what == what)  # type: ignore[attr-defined]
        for of, what in _AT_EACH_CHANGE
    ]
