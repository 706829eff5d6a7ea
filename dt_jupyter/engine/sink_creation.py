"""Sinks made from Python: the statement that CREATE SINK would be."""

from __future__ import annotations

from collections.abc import Mapping

from dt_jupyter.engine.context import Context
from dt_jupyter.engine.rights.lives import followed
from dt_jupyter.engine.rights.needs import require_statement
from dt_jupyter.failures import within
from dt_jupyter.model import Name, TargetLag, did_you_mean, error
from dt_jupyter.sql import REDUCTIONS, SinkSource, statement_values as S

_MOST_PARTITIONS = 64


def create_sink(
    context: Context,
    name: str | Name,
    source: str | Name,
    url: str,
    key: tuple[str, ...],
    delta_updates: bool,
    target_lag: TargetLag,
    warehouse: str,
    reductions: Mapping[str, str],
    partitions: int,
    options: Mapping[str, str],
) -> str:
    """As `Engine.create_sink`."""
    within("partitions", partitions, 1, _MOST_PARTITIONS)
    known = context.name(source)
    statement = S.CreateSink(
        context.name(name),
        _kind(context, known),
        known,
        url,
        key,
        delta_updates,
        target_lag,
        warehouse.lower(),
        tuple((column, _strategy(column, given)) for column, given in reductions.items()),
        partitions,
        tuple((option.lower(), value) for option, value in options.items()),
    )
    require_statement(context.access, statement)
    with followed(context.access, context.log, statement):
        return "\n".join(context.sinks.create(statement))


def _kind(context: Context, source: Name) -> SinkSource:
    """A view is refused as the table that it is not."""
    found = context.sinks.kind_of(source)
    return SinkSource(found) if found in list(SinkSource) else SinkSource.TABLE


def _strategy(column: str, given: str) -> str:
    word = str(given).upper()
    if word not in REDUCTIONS:
        hint = did_you_mean(word, list(REDUCTIONS))
        problem = f"it is not one of {', '.join(REDUCTIONS)}"
        raise error("DT-1003", option=f"reduce[{column}]", value=given, problem=problem, hint=hint)
    return word
