"""All rows of a stage evaluated in this process: a statement of Spark's over a few million rows
costs more to plan, to compile and to write than the rows themselves."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from dt_jupyter.lake import NotSupported, SmallTables, table_refusal
from dt_jupyter.refresh.inputs import Reading
from dt_jupyter.spark import check_cancelled, make_cancel_check
from dt_jupyter.sql import GroupSql

if TYPE_CHECKING:
    import pyarrow as pa

    from dt_jupyter.refresh.stage_run import StageRun

_PATIENCE_SECONDS = 20.0
"""What takes longer than so many seconds is begun anew by Spark, on all cores."""


def are_few(run: StageRun) -> bool:
    """Whether all rows of what a stage reads are few enough to be at hand: some of them alone are
    slower for Spark to read than their files."""
    tables, most = run.tables, run.tuning.evaluated_rows
    if tables is None:
        return False
    counts = [run.logs[r.source].size().rows for r in run.step.reads]
    if None in counts or sum(n or 0 for n in counts) >= max(most, run.tuning.interpreted_rows):
        return False
    return all(
        r.new is not None
        and tables.rows(run.logs[r.source], r.new, tuple(sorted(r.columns or ()))) is not None
        for r in run.step.reads
    )


def initial_rows(run: StageRun, *, new_schema: bool) -> pa.Table | None:
    """All rows of a stage as those of its table; None: they are Spark's."""
    sql = run.compiled.sql
    if run.region is not None or run.evaluator is None:
        return None
    if run.reading.tables is not None:
        rows = run.reading.views.evaluate(sql.initial(run.reading.renderer()))
    else:
        rows = None if new_schema else _evaluated(run)
    return rows if rows is None or isinstance(sql, GroupSql) else run.as_rows(rows, sql)


def _evaluated(run: StageRun) -> pa.Table | None:
    """The rows of the initial statement over whole tables, where delta-rs writes them too."""
    most, sql = run.tuning.evaluated_bytes, run.compiled.sql
    if run.tuning.evaluated_rows == 1 or table_refusal(run.target) is not None:
        return None
    tables = SmallTables(most, file_bytes=4 * most, kept_bytes=most)
    sizes = [
        None if r.new is None else tables.expected_bytes(
            run.logs[r.source], r.new, tuple(sorted(r.columns or ()))
        )
        for r in run.step.reads
    ]  # fmt: skip
    if None in sizes or sum(n or 0 for n in sizes) >= most or not _is_translated(run):
        return None
    reading = _reading(run, tables)
    text = sql.initial(reading.renderer())
    if not reading.all_local:
        return None
    is_cancelled, end = make_cancel_check(), monotonic() + _PATIENCE_SECONDS
    rows = reading.views.evaluate_whole(text, most, lambda: is_cancelled() or monotonic() > end)
    check_cancelled()
    run.reading.local_rows += reading.local_rows if rows is not None else 0
    return rows


def _is_translated(run: StageRun) -> bool:
    """Whether the statement is none of Spark's alone: found out before a row is read."""
    imagined = _reading(run, None, imagines=True)
    try:
        text = run.compiled.sql.initial(imagined.renderer())
        return imagined.views.imagine("", text) is None
    except NotSupported:
        return False


def _reading(run: StageRun, tables: SmallTables | None, *, imagines: bool = False) -> Reading:
    reads = {r.source: r for r in run.step.reads}
    return Reading(
        run.spark,
        reads,
        run.logs,
        tables,
        runs=not imagines,
        evaluator=run.evaluator,
        imagines=imagines,
    )
