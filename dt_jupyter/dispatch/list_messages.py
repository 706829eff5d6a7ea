"""Lists that the engine gives as values (alerts, functions, columns' lineage) as tables of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dt_jupyter.model import Alert, FunctionInfo, count_of
from dt_jupyter.reports import Lineage
from dt_jupyter.wire import Column, ResultMessage, instant

_Row = tuple[str | None, ...]


def lineage_message(found: Lineage) -> ResultMessage:
    """A row for each edge between two columns."""
    rows = [(str(e.source), e.source_column, str(e.target), e.target_column) for e in found.edges]
    unknown = ", ".join(map(str, found.unknown))
    note = f"not understood: {unknown}" if unknown else None
    names = ("source", "source_column", "target", "target_column")
    return _table(f"Lineage of {found.name}", names, rows, note)


def alerts_table(alerts: Sequence[Alert]) -> ResultMessage:
    """A row for each alert."""
    rows = [
        (a.kind.value, a.of, str(a.name), instant(a.since.datetime), a.code, a.message)
        for a in alerts
    ]
    names = ("alert", "of", "name", "since", "code", "message")
    return _table(count_of(len(rows), "alert"), names, rows)


def functions_table(functions: Sequence[FunctionInfo]) -> ResultMessage:
    """A row for each function."""
    rows = [
        (
            f.function.name,
            f.function.kind.lower(),
            f.function.returns,
            ", ".join(f.used_by),
            f.problem,
        )
        for f in functions
    ]
    names = ("name", "kind", "returns", "used_by", "problem")
    return _table(count_of(len(rows), "function"), names, rows)


def list_message(values: tuple[object, ...]) -> ResultMessage | None:
    """Of a tuple of such values; None of any other."""
    alerts = [v for v in values if isinstance(v, Alert)]
    functions = [v for v in values if isinstance(v, FunctionInfo)]
    if not values or len(values) not in (len(alerts), len(functions)):
        return None
    return alerts_table(alerts) if alerts else functions_table(functions)


def _table(
    title: str, names: Sequence[str], rows: Iterable[_Row], note: str | None = None
) -> ResultMessage:
    columns = tuple(Column(name, "string") for name in names)
    return ResultMessage(columns, tuple(rows), title=title, note=note)


__all__ = ["alerts_table", "functions_table", "lineage_message", "list_message"]
