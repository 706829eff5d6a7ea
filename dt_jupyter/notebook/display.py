"""The engine's values in a notebook: the last line of a cell is a picture, not a repr."""

from __future__ import annotations

from functools import partial
from typing import Any

from dt_jupyter.notebook.views import is_live, show_view

_SHOWN = (
    ("dt_jupyter.reports.report_values", "GraphReport"),
    ("dt_jupyter.reports.report_values", "LagReport"),
    ("dt_jupyter.reports.report_values", "FrontierReport"),
    ("dt_jupyter.reports.explanation_values", "Explanation"),
    ("dt_jupyter.reports.explanation_values", "Verification"),
    ("dt_jupyter.reports.explanation_values", "Verifications"),
    ("dt_jupyter.maintenance.upkeep", "Pins"),
    ("dt_jupyter.maintenance.upkeep", "Storage"),
    ("dt_jupyter.maintenance.upkeep", "Vacuum"),
    ("dt_jupyter.replay.table_diff", "Diff"),
    ("dt_jupyter.replay.past_refresh", "RefreshReplay"),
    ("dt_jupyter.engine.create", "Created"),
    ("dt_jupyter.model.records", "RefreshRecord"),
)
"""Module and name of the types that have a picture; named, so that none is imported here."""


_LIVE = {"GraphReport": "graph", "LagReport": "lag"}
"""The values that have a live view, and its kind."""


def register_formatters(shell: Any, notebook: Any = None) -> None:
    """HTML for a notebook; in a terminal too the text is the picture's. With a notebook some of
    them are live views where the front end shows such."""
    if notebook is not None:
        whole = shell.display_formatter.ipython_display_formatter
        for name in _LIVE:
            whole.for_type_by_name(
                "dt_jupyter.reports.report_values", name, partial(_view, notebook)
            )
    formatters = shell.display_formatter.formatters
    for module, name in _SHOWN:
        formatters["text/html"].for_type_by_name(module, name, _html)
        formatters["text/plain"].for_type_by_name(module, name, _text)


def unregister(shell: Any) -> None:
    whole = shell.display_formatter.ipython_display_formatter
    for name in _LIVE:
        whole.pop(f"dt_jupyter.reports.report_values.{name}", None)
    formatters = shell.display_formatter.formatters
    for module, name in _SHOWN:
        for kind in ("text/html", "text/plain"):
            formatters[kind].pop(f"{module}.{name}", None)


def picture_or_message(value: Any) -> Any:
    """What is shown of a value of the engine, or of a message: it has `text` and `html`."""
    from dt_jupyter.dispatch import picture_of

    return picture_of(value)


def _html(value: Any) -> str:
    return str(picture_or_message(value).html)


def _text(value: Any, printer: Any, cycle: bool) -> None:
    printer.text("…" if cycle else str(picture_or_message(value).text))


def _view(notebook: Any, value: Any) -> None:
    """A value at the end of a cell as a live view; where there can be none it goes on to the
    formatters of its kinds."""
    if not is_live(notebook.shell):
        raise NotImplementedError
    shown_live(notebook, value)


def shown_live(notebook: Any, value: Any) -> Any:
    """Shows a report as its live view, or its picture; gives it back."""
    from dt_jupyter.dispatch import graph_message, lag_message

    kind = _LIVE[type(value).__name__]

    def message(_: Any) -> dict[str, Any]:
        if kind == "graph":
            return graph_message(value, stages=True).to_json()
        return lag_message(value).to_json()

    show_view(notebook, kind, picture_or_message(value), message)
    return value


def show_below(value: Any) -> None:
    """Below the cell: a message, a value of the engine, or anything with a picture of its own."""
    from IPython.display import display

    own = hasattr(value, "_repr_mimebundle_")
    display(value if own else picture_or_message(value))  # type: ignore[no-untyped-call]
