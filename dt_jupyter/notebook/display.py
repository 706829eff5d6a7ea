"""The engine's values in a notebook: the last line of a cell is a picture, not a repr."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dt_jupyter.notebook.views import is_live, show_view

if TYPE_CHECKING:
    from IPython.core.formatters import DisplayFormatter
    from IPython.core.interactiveshell import InteractiveShell

    from dt_jupyter.dispatch import Desk
    from dt_jupyter.notebook.session import Notebook
    from dt_jupyter.replay import TableRows
    from dt_jupyter.reports import GraphReport, LagReport
    from dt_jupyter.widgets import Panel, Picture

_Report = TypeVar("_Report", bound="GraphReport | LagReport | TableRows")
_SHOWN = (
    ("dt_jupyter.reports.report_values", "GraphReport"),
    ("dt_jupyter.reports.report_values", "LagReport"),
    ("dt_jupyter.reports.report_values", "FrontierReport"),
    ("dt_jupyter.reports.sink_report", "SinkReport"),
    ("dt_jupyter.reports.profile", "TableProfile"),
    ("dt_jupyter.reports.explanation_values", "Explanation"),
    ("dt_jupyter.reports.explanation_values", "Verification"),
    ("dt_jupyter.reports.explanation_values", "Verifications"),
    ("dt_jupyter.maintenance.upkeep", "Pins"),
    ("dt_jupyter.maintenance.upkeep", "Storage"),
    ("dt_jupyter.reports.health", "HealthReport"),
    ("dt_jupyter.maintenance.upkeep", "Vacuum"),
    ("dt_jupyter.replay.table_diff", "Diff"),
    ("dt_jupyter.replay.live_rows", "TableRows"),
    ("dt_jupyter.replay.query_diff", "QueryDiff"),
    ("dt_jupyter.replay.past_refresh", "RefreshReplay"),
    ("dt_jupyter.engine.created", "Created"),
    ("dt_jupyter.model.records", "RefreshRecord"),
    ("dt_jupyter.model.definition", "DynamicTable"),
    ("dt_jupyter.reports.lineage", "Lineage"),
)
"""Module and name of the types that have a picture; named, so that none is imported here."""


_LIVE = {
    "dt_jupyter.reports.report_values.GraphReport": "graph",
    "dt_jupyter.reports.report_values.LagReport": "lag",
    "dt_jupyter.replay.live_rows.TableRows": "rows",
}
"""The values that have a live view, and its kind."""


def register_formatters(shell: InteractiveShell, notebook: Notebook | None = None) -> None:
    """HTML for a notebook; in a terminal too the text is the picture's. With a notebook some of
    them are live views where the front end shows such."""
    if notebook is not None:
        whole = _formatter(shell).ipython_display_formatter
        for live in _LIVE:
            module, _, name = live.rpartition(".")
            whole.for_type_by_name(module, name, partial(_view, notebook))
    formatters, bundles = _formatter(shell).formatters, _formatter(shell).mimebundle_formatter
    for module, name in _SHOWN:
        bundles.for_type_by_name(module, name, _bundle)
        formatters["text/plain"].for_type_by_name(module, name, _text)
    bundles.for_type(tuple, _list_bundle)
    texts = formatters["text/plain"]
    texts.for_type(tuple, _ListText(texts.for_type(tuple)))


def unregister(shell: InteractiveShell) -> None:
    whole = _formatter(shell).ipython_display_formatter
    for name in _LIVE:
        whole.pop(name, None)
    formatters, bundles = _formatter(shell).formatters, _formatter(shell).mimebundle_formatter
    for module, name in _SHOWN:
        for of in (bundles, formatters["text/plain"]):
            of.pop(f"{module}.{name}", None)
    bundles.pop(tuple, None)
    if isinstance(ours := formatters["text/plain"].for_type(tuple), _ListText):
        formatters["text/plain"].for_type(tuple, ours.before)


def _formatter(shell: InteractiveShell) -> DisplayFormatter:
    found = shell.display_formatter
    assert found is not None
    return found


def picture_or_message(value: object) -> Picture | Panel:
    """What is shown of a value of the engine, or of a message: it has `text` and `html`."""
    from dt_jupyter.dispatch import picture_of

    return picture_of(value)


def _bundle(value: object) -> dict[str, Any]:
    return picture_or_message(value).bundle


def _list_bundle(values: tuple[object, ...]) -> dict[str, Any] | None:
    """Of a tuple of alerts or functions; any other is shown as usual."""
    from dt_jupyter.dispatch import list_message

    message = list_message(values)
    return _bundle(message) if message is not None else None


class _ListText:
    """A tuple of alerts or functions as a table; any other as it was printed before."""

    def __init__(self, before: Any) -> None:
        self.before = before

    def __call__(self, values: tuple[object, ...], printer: Any, cycle: bool) -> None:
        from dt_jupyter.dispatch import list_message

        message = None if cycle else list_message(values)
        if message is None:
            self.before(values, printer, cycle)
        else:
            printer.text(str(picture_or_message(message).text))


def _text(value: object, printer: Any, cycle: bool) -> None:
    printer.text("…" if cycle else str(picture_or_message(value).text))


def _view(notebook: Notebook, value: GraphReport | LagReport | TableRows) -> None:
    """A value at the end of a cell as a live view; where there can be none it is passed to the
    formatters of its kinds."""
    if not is_live(notebook.shell):
        raise NotImplementedError
    shown_live(notebook, value)


def shown_live(notebook: Notebook, value: _Report) -> _Report:
    """Shows a report as its live view, or its picture; gives it back."""
    from dt_jupyter.dispatch import graph_message, lag_message, live_rows_message
    from dt_jupyter.replay import TableRows
    from dt_jupyter.reports import GraphReport

    of = type(value)
    kind = _LIVE[f"{of.__module__}.{of.__name__}"]

    def message(_: Desk) -> dict[str, Any]:
        if isinstance(value, GraphReport):
            return graph_message(value, stages=True).to_json()
        if isinstance(value, TableRows):
            return live_rows_message(value).to_json()
        return lag_message(value).to_json()

    show_view(notebook, kind, picture_or_message(value), message)
    return value


def show_below(value: object) -> None:
    """Below the cell: a message, a value of the engine, or anything that displays itself."""
    from IPython.display import display

    display(shown_value(value))  # type: ignore[no-untyped-call]


def shown_value(value: object) -> object:
    """A value that displays itself, else its picture."""
    own = hasattr(value, "_repr_mimebundle_") or hasattr(value, "_repr_html_")
    return value if own else picture_or_message(value)
