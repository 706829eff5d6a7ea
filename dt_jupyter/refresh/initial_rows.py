"""All rows of a stage evaluated in this process: a statement of Spark's over a few million rows
costs more to plan, to compile and to write than the rows themselves."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from dt_jupyter.lake import NotSupported, SmallTables, table_refusal
from dt_jupyter.refresh.inputs import Reading
from dt_jupyter.refresh.stage_texts import make_renderer
from dt_jupyter.refresh.stage_way import WholeFacts, are_few_rows, decide_whole
from dt_jupyter.refresh.view_shapes import ViewShapes
from dt_jupyter.spark import check_cancelled, make_cancel_check, read_evaluation_session
from dt_jupyter.sql import GroupSql

if TYPE_CHECKING:
    import pyarrow as pa

    from dt_jupyter.refresh.stage_run import StageRun

_PATIENCE_SECONDS = 20.0
"""What takes longer than this is started again by Spark, on all cores."""


def are_few(run: StageRun) -> bool:
    """Whether all rows of what a stage reads are few enough to be in memory: some of them alone are
    slower for Spark to read than their files."""
    if not are_few_rows([run.logs[r.source].size().rows for r in run.step.reads], run.tuning):
        return False
    return all(
        r.new is not None
        and run.tables.rows(run.logs[r.source], r.new, tuple(sorted(r.columns or ()))) is not None
        for r in run.step.reads
    )


def initial_rows(run: StageRun, *, new_schema: bool) -> pa.Table | None:
    """All rows of a stage as those of its table; None: they are Spark's."""
    sql = run.compiled.sql
    if run.region is not None:
        return None
    if run.reading.tables is not None:
        rows = run.reading.views.evaluate(sql.initial(run.reading.renderer()))
    else:
        rows = None if new_schema else _evaluated(run)
    return rows if rows is None or isinstance(sql, GroupSql) else run.as_rows(rows, sql)


def _evaluated(run: StageRun) -> pa.Table | None:
    """The rows of the initial statement over whole tables, where delta-rs writes them too."""
    most, sql = run.tuning.evaluated_bytes, run.compiled.sql
    facts = WholeFacts((), table_refusal(run.target) or "")
    if not decide_whole(facts, run.tuning).is_here:
        return None
    tables = SmallTables(most, file_bytes=4 * most, kept_bytes=most)
    facts = replace(facts, sizes=_expected_bytes(run, tables))
    if not decide_whole(facts, run.tuning).is_here:
        return None
    if not decide_whole(replace(facts, left_out=_find_left_out(run)), run.tuning).is_here:
        return None
    reading = _reading(run, tables)
    query = sql.initial(reading.renderer())
    if not reading.all_local:
        return None
    is_cancelled, end = make_cancel_check(), monotonic() + _PATIENCE_SECONDS
    rows = reading.views.evaluate_whole(query, most, lambda: is_cancelled() or monotonic() > end)
    check_cancelled()
    run.reading.local_rows += reading.local_rows if rows is not None else 0
    return rows


def _expected_bytes(run: StageRun, tables: SmallTables) -> list[int | None]:
    """The memory of the columns of each relation that a stage reads; None where it is unknown."""
    return [
        None
        if r.new is None
        else tables.expected_bytes(run.logs[r.source], r.new, tuple(sorted(r.columns or ())))
        for r in run.step.reads
    ]


def _find_left_out(run: StageRun) -> str:
    """What of the statement is Spark's alone, found out before a row is read; empty for nothing."""
    shapes = ViewShapes(run.logs, read_evaluation_session(run.spark), run.evaluator)
    render = make_renderer(shapes.place, run.reading.reads, run.reading.sizes)
    try:
        return shapes.find_left_out(run.compiled.sql.initial(render))
    except NotSupported as e:
        return e.sentence


def _reading(run: StageRun, tables: SmallTables) -> Reading:
    return Reading(run.spark, run.reading.reads, run.logs, tables, run.evaluator)
