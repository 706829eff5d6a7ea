"""What a refresh does after each change upstream: from the values that the tests run."""

from __future__ import annotations

import re

from docs.reference_pages.markdown import code, paragraphs, plain, table
from tests.upstream_ddl.chapters import CHAPTERS
from tests.upstream_ddl.stream_cases import (
    COLUMN_CASES,
    DYNAMIC_CASES,
    LAYOUT_CASES,
    TABLE_CASES,
    VIEW_CASES,
)
from tests.upstream_ddl.worlds import GOES_ON, Case, Chapter

_NAMES = {"t": "item", "u": "other", "w": "seen", "x": "spare", "d": "daily", "dir": "tables"}
_STORED = re.compile(r" USING delta LOCATION '[^']*'| TBLPROPERTIES \([^)]*\)")
_INTRODUCTION = """\
# When something changes upstream

Look up here what happens to a dynamic table, or a stream, when something that it reads is changed.
What is upstream takes precedence: a table can be dropped, replaced or renamed although a dynamic
table reads it. The dynamic table notices it at its next refresh, and continues automatically
wherever it can. Each of these cases is run by a test, over named columns and over `*`, with and
without rows written in between, with another dynamic table above, and after a restart; each time
the contents are compared with what the query gives, or, where the refresh failed, with what they
were.

| word | what the next refresh does |
| --- | --- |
| continues | `NO_DATA` if no rows were written, else `INCREMENTAL` |
| `INCREMENTAL` | follows the rows and columns that the statement itself changed |
| `REINITIALIZE` | recomputes all rows, once: the stored ones may be of other tables or columns |
| a code | fails with it and keeps the old contents; the last column says what repairs it |

**Columns.** For each source it is known which columns a definition uses: `DESCRIBE DYNAMIC TABLE`
lists them (kind `READS`), and `dt.lineage` says what is computed from them. Others may be added
and dropped, and change their types, in a table as in a view. Of a struct the whole is used.

**Columns that are only added** are NULL in the rows that a Delta table has. Where `*` takes them
and they only pass through the query, they are added to the dynamic table, NULL in its rows, and no
row is computed or written again: `INCREMENTAL`, with the reason `COLUMNS_ADDED`. `DISTINCT`,
`UNION`, `EXCEPT`, a `NATURAL` join by such a column, a `LIMIT`, or whatever else computes, compares
or orders by one computes all rows again, and the reason says so (`SCHEMA_EVOLVED`). So does
`RESTORE`, which brings columns back with their values.

**Views** are looked through. Where a view was replaced, what the query means is compared with what
it meant, over the tables as they are: a text that means the same changes nothing.

**Modes.** A table with `REFRESH_MODE = AUTO` over sources that have no incremental form any more
(a partitioned Parquet table in place of Delta, say) is FULL from then on, with the reason; once
they have one again it is checked as at its creation, and incremental again (`INCREMENTAL_AGAIN`).

**What cannot continue says why**: in `SHOW DYNAMIC TABLES` (`SCHEDULING_STATE_REASON`), in
`DESCRIBE`, in the graph and the panel, and in the history, with a row for each data timestamp. The
tables below say it too, with the name and the error of the table where it began: `UPSTREAM_FAILED`
while that one fails, and `SKIPPED` (`UPSTREAM_SUSPENDED`) once five failures in a row have
suspended it."""
_END = """\
"Paper" is what the design follows, with its section. Where it promises recovery without a person,
no case needs one, except for what is gone: a table, or a column that is used.
A suspended table waits for `ALTER DYNAMIC TABLE … RESUME`."""


_STREAMS = """\
## Streams

A stream gives the difference of its source between its offset and now. After each of these
cases a test compares what the stream gives with the rows that were there and that are there, for
tables with a declared key and with row tracking, with changes before the statement and after it;
`APPEND_ONLY` and `SHOW_INITIAL_ROWS` streams continue or fail in the same way, except that an
`APPEND_ONLY` stream by a declared key is stale where the change feed was off: only the feed
distinguishes inserts from updates.

| word | what the stream does |
| --- | --- |
| continues | gives exactly the rows that were inserted and deleted, in the present schema |
| DT-3202 | is stale, says so in `SHOW STREAMS` and when it is read, and gives nothing |
| another code | fails until the source is there again, and then continues |

A stale stream is created again, `SHOW_INITIAL_ROWS = TRUE` gives it all rows to begin with. One
that still has to give its initial rows gives them where its source is the same table or view.

A view that was replaced is compared with what it meant when the stream was created: a text that
means the same continues. `CHANGES` of a view reads both ends by its text of now."""


def upstream_page() -> str:
    return paragraphs(_INTRODUCTION, *map(_chapter, CHAPTERS), _END, _STREAMS, *_stream_tables())


def _stream_tables() -> list[str]:
    head = ("what happens to the table", "stream on the table", "on a view of some columns")
    rows = (
        (plain(c.what), _outcome(c.table), _outcome(c.view))
        for c in (*COLUMN_CASES, *LAYOUT_CASES, *TABLE_CASES)
    )
    found = [table(head, rows)]
    for kind, cases in (("view", VIEW_CASES), ("dynamic table", DYNAMIC_CASES)):
        rows = ((plain(c.what), _outcome(c.view)) for c in cases)
        found.append(table((f"what happens to the {kind}", "stream on it"), rows))
    return found


def _chapter(chapter: Chapter) -> str:
    rows = ((plain(c.what), _outcome(c.named), _outcome(c.star), _mend(c)) for c in chapter.cases)
    head = ("what happens", "over named columns", "over `*`", "repaired by")
    return paragraphs(f"## {chapter.title}", f"Paper: {chapter.paper}", table(head, rows))


def _outcome(outcome: str) -> str:
    if outcome.startswith("DT-"):
        return f"[{outcome}](../reference/errors.md#{outcome.lower()})"
    return outcome if outcome == GOES_ON else code(outcome)


def _mend(case: Case) -> str:
    """The statements, without where the test puts its tables."""
    script = _STORED.sub("", case.mend.format(**_NAMES))
    return ", ".join(code(part.strip()) for part in script.split(";") if part.strip())
