"""What runs for a cell, shown below it while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dt_jupyter.model import ActivityState
from dt_jupyter.notebook.views import is_live

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from dt_jupyter.spark import Activity

BLANK = {"text/plain": "", "text/html": ""}


class Handle(Protocol):
    """IPython's handle of an output that can be drawn again."""

    def update(self, obj: Any, *, raw: bool = False) -> None: ...


class CellProgress:
    """Draws the activities of a shell's cells. Without a front end that shows it: nothing, so that
    nothing of it is left in a notebook that a program runs."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def __call__(self, made: Activity) -> _CellDrawing | None:
        return _CellDrawing(made) if is_live(self._shell) else None


class _CellDrawing:
    """One output of a cell. The thread that the activity is of can stop it only from the kernel's
    main thread; elsewhere its button names it."""

    def __init__(self, made: Activity) -> None:
        self._stop_id = None if made.in_main else made.id
        self._handle: Handle | None = None

    def draw(self, state: ActivityState) -> None:
        from IPython.display import display

        from dt_jupyter.widgets import Running

        shown = Running(state, self._stop_id)
        if self._handle is None:
            self._handle = display(shown, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(shown)

    def end(self) -> None:
        if self._handle is not None:
            self._handle.update(BLANK, raw=True)
