"""Live views below a cell: a static picture, and the widget that takes its place where it can.

They are two outputs. A widget without its model (a notebook that was opened again, a page of
nbconvert) shows an error and no fallback; so the picture precedes it, with a rule of CSS that
hides the one of them that is not to be seen.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from dt_jupyter.dispatch import Desk, LiveView
    from dt_jupyter.notebook.session import Notebook
    from dt_jupyter.widgets import Panel, Picture

_log = logging.getLogger("dt_jupyter.views")
_CHILD = ".jp-OutputArea-child:has(.dtj-static)"
STYLE = (
    "<style>"
    f"{_CHILD}:has(+ .jp-OutputArea-child .dtjw),"
    f"{_CHILD} + .jp-OutputArea-child:has(> .lm-Panel.jp-OutputArea-output):not(:has(.dtjw))"
    "{display:none}</style>"
)
"""The picture goes where a live view (`.dtjw`) is the output after it; that output, where none
came to be in it."""


@dataclass(frozen=True)
class Static:
    """The picture that replaces a view."""

    picture: Picture | Panel

    def __repr__(self) -> str:
        return repr(self.picture)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        html = f'<div class="dtj-static">{STYLE}{self.picture.html}</div>'
        return {"text/plain": str(self.picture.text), "text/html": html}


def is_live(shell: InteractiveShell) -> bool:
    """Whether the cell that runs came from a front end that shows widgets: those report which cell
    it is. nbclient, a terminal and a bare client do not, and get the picture alone."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None or not hasattr(kernel, "comm_manager"):
        return False
    parent = kernel.get_parent()
    metadata = parent.get("metadata") if isinstance(parent, dict) else None
    return isinstance(metadata, dict) and "cellId" in metadata


class CellViews:
    """The live views of each cell: a run of it takes the place of the one before."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[str, list[LiveView]]] = {}

    def add(self, shell: InteractiveShell, view: LiveView) -> None:
        """A view of the cell that runs; those of its last run end, with what they hold."""
        parent = shell.kernel.get_parent()  # type: ignore[attr-defined]
        cell, run = parent["metadata"]["cellId"], parent["header"]["msg_id"]
        last, views = self._of.get(cell, (run, []))
        if last != run:
            for old in views:
                old.close()
            views = []
        self._of[cell] = (run, [*views, view])


def show_view(
    notebook: Notebook,
    kind: str,
    picture: Picture | Panel,
    message: Callable[[Desk], dict[str, Any]],
) -> None:
    """Shows a picture, and the view of `kind` where there can be one; its first message is what
    `message` gives, with the desk that answers the view."""
    from IPython.display import display

    view = _made(notebook, kind, message) if is_live(notebook.shell) else None
    if view is None:
        display(picture)  # type: ignore[no-untyped-call]
        return
    display(Static(picture))  # type: ignore[no-untyped-call]
    display(view)  # type: ignore[no-untyped-call]


def _made(
    notebook: Notebook, kind: str, message: Callable[[Desk], dict[str, Any]]
) -> LiveView | None:
    """The widget; None where it cannot be, which does not make a cell fail."""
    from dt_jupyter.dispatch import Desk

    desk = Desk(lambda: notebook.engine, "Run the cell again.")
    try:
        from dt_jupyter.dispatch import LIVE_SCRIPT, LiveView
        from dt_jupyter.notebook.comms import answer

        if not LIVE_SCRIPT.is_file():
            return None
        workers = notebook.workers
        view = LiveView(
            kind,
            message(desk),
            desk,
            notebook.feed,
            lambda desk, asked, send: answer(desk, workers, asked, send),
        )
        notebook.views.add(notebook.shell, view)
        return view
    except Exception:
        desk.close()
        _log.warning("no live view could be made", exc_info=True)
        return None
