"""What is ours in a statement of Spark's: streams, other times, our functions, put in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dt_jupyter.engine.evaluate import points, run_spark
from dt_jupyter.engine.execute.names_read import require_names_read
from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.engine.rights.spark_rights import PlacedByEngine
from dt_jupyter.model import Span, error
from dt_jupyter.model.hidden import hidden
from dt_jupyter.spark import analyse_now, bind_parameters, path_of_text
from dt_jupyter.sql import (
    as_merge,
    patterns_for_spark,
    quote_change_columns,
    replace_spans,
    statement_values as S,
    unnamed_items,
    without_job,
)
from dt_jupyter.streams import CONSUMERS, ChangePlans, FoundStream, Replaced, explains, in_place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context

_VIEWS = frozenset({S.SparkKind.CREATE_VIEW, S.SparkKind.ALTER_VIEW})
_CHOOSING = frozenset({S.SparkKind.DELETE, S.SparkKind.UPDATE})


def run_in_place(
    context: Context, statement: S.SparkStatement, origin: StatementOrigin
) -> DataFrame:
    """Spark's result, with relations of other times and streams as views of what they hold."""
    schema, script = context.schema(), origin.script
    streams = context.streams.found_in(statement, schema)
    require_names_read(context, statement, streams, origin)
    plans, past = ChangePlans(), context.travel.past(context.changes)
    at = points(context, origin.args)
    with in_place(statement, script, past, schema, at, plans.add) as timed:

        def run(replaced: Replaced) -> DataFrame:
            return _run(context, statement, origin, [*timed, *replaced])

        if explains(statement.text):
            return _explain(context, streams, script, plans, run)
        if context.transactions.current is not None:
            return context.transactions.run(statement, streams, script, schema, run)
        if streams and statement.kind is S.SparkKind.CREATE_VIEW:
            hint = "Consume it into a table."
            made = error("DT-3107", what="A stream", where="in a view", hint=hint)
            raise made.at(script, streams[0].span)
        if streams and statement.kind in CONSUMERS:
            return context.streams.consume(statement, streams, script, schema, run)
        with context.streams.in_place(streams, script) as (replaced, _):
            return context.travel.labelled(run(replaced), statement, schema, past.reads)


def _explain(
    context: Context,
    streams: Sequence[FoundStream],
    script: str,
    plans: ChangePlans,
    run: Callable[[Replaced], DataFrame],
) -> DataFrame:
    """Spark's plan, after the plans of the changes that it reads."""
    with context.streams.in_place(
        streams, script, lambda s: plans.add_stream(s, context.streams.rows(s))
    ) as (replaced, _):
        plan = "\n".join(str(line) for (line,) in run(replaced).collect())
    return context.tables.frame([(plans.before(plan),)], "plan string")


def _run(
    context: Context, statement: S.SparkStatement, origin: StatementOrigin, replaced: Replaced
) -> DataFrame:
    text = _text(context, statement, replaced)
    if statement.kind in _VIEWS and origin.args:  # Spark keeps no parameters in a view
        text = bind_parameters(text, origin.args)
    placed = _placed_in(statement, replaced)
    merge = as_merge(text) if statement.kind in _CHOOSING else None
    if merge is not None:
        return run_spark(context, merge, origin.args, placed).select("num_affected_rows")
    frame = run_spark(context, text, origin.args, placed)
    reads_views = statement.kind is S.SparkKind.QUERY and bool(placed.views)
    return analyse_now(frame) if reads_views else frame


def _placed_in(statement: S.SparkStatement, replaced: Replaced) -> PlacedByEngine:
    """What the engine put into a statement, by which its plan differs from the user's text."""
    values = [value.partition(" AS ")[0] for _, value in replaced]
    functions = [function_view(i) for i in range(len(statement.functions))]
    paths = [v.removeprefix("DELETE FROM ") for v in values]
    return PlacedByEngine(
        frozenset((*values, *functions)),
        frozenset(_folder_in(p) for p in paths if p.startswith("delta.")),
        statement.targets,
        statement.kind is S.SparkKind.QUERY,
    )


def _folder_in(relation: str) -> str:
    """Of a table by its path."""
    return path_of_text(relation.partition(".")[2].strip("`"))


def _text(context: Context, statement: S.SparkStatement, placed: Replaced) -> str:
    """The statement's text with all that is ours replaced; `placed` are its relations."""
    replaced = [*placed, *_functions(context, statement), *_has_data(context, statement)]
    start = statement.offset
    own = [(Span(s.start - start, s.end - start), v) for s, v in replaced]
    named = [*_names(statement, own), *patterns_for_spark(statement.text)]
    if not own and not named:
        return statement.text
    text = replace_spans(statement.text, [*own, *named])
    if len(statement.has_data) == len(replaced) == 1:
        text = without_job(text)
    return quote_change_columns(text) if placed else text


def function_view(number: int) -> str:
    return hidden(f"function_{number}")


def _functions(context: Context, statement: S.SparkStatement) -> Replaced:
    """Our table functions as views of what they give."""
    replaced = []
    for i, call in enumerate(statement.functions):
        view = function_view(i)
        _rows_of(context, call.name, dict(call.args)).createOrReplaceTempView(view)
        replaced.append((call.span, view))
    return replaced


def _rows_of(context: Context, function: str, args: Mapping[str, str]) -> DataFrame:
    if function == "DYNAMIC_TABLES":
        return context.tables.dynamic_tables()
    if function == "DYNAMIC_TABLE_GRAPH_HISTORY":
        return context.tables.graph_history()
    chosen = {k.upper(): v for k, v in args.items()}.get("NAME")
    name = context.name(chosen.strip("'\"")) if chosen else None
    if function == "SINK_HISTORY":
        return context.sink_tables.history(name)
    if function == "TASK_HISTORY":
        return context.task_tables.history(name)
    if function == "DT_EVENTS":
        return context.event_tables.events(name)
    return context.tables.history(name)


def _has_data(context: Context, statement: S.SparkStatement) -> Replaced:
    """SYSTEM$STREAM_HAS_DATA as TRUE or FALSE."""
    for has in statement.has_data:
        context.access.require_stream(context.name(has.stream))
    return [
        (has.span, str(context.streams.has_data(context.name(has.stream))).upper())
        for has in statement.has_data
    ]


def _names(statement: S.SparkStatement, replaced: Replaced) -> Replaced:
    """Names for the columns of a result that our functions compute, except for those in a text that
    is replaced as a whole."""
    if statement.kind is not S.SparkKind.QUERY:
        return []
    return [
        (place, name)
        for place, name in unnamed_items(statement.text)
        if not any(span.start < place.start < span.end for span, _ in replaced)
    ]
