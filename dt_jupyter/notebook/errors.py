"""Errors in a cell: a few lines in place of a trace, the JVM's own a click away.

It works for errors of the catalogue, of Spark and of the lake, whether a magic or a plain cell
raised them; any other is shown as usual.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dt_jupyter.dispatch import error_message
from dt_jupyter.model import DTError, help_command
from dt_jupyter.notebook.display import show_below
from dt_jupyter.notebook.interrupts import was_interrupt
from dt_jupyter.notebook.variables import with_frame_hint
from dt_jupyter.widgets import Folded, error_text
from dt_jupyter.wire import ErrorMessage

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_ASKED_FOR = frozenset({"DT-2106"})
"""What an interrupt comes to."""
_BOLD, _SOFT, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_LATE = (
    ("pyspark.errors", "PySparkException"),
    ("py4j.protocol", "Py4JError"),
    ("dt_jupyter.lake.errors", "LakeError"),
)
_OURS = ("run_line_magic", "run_cell_magic")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in one of our cells, and its outcome."""

    def _render_traceback_(self) -> list[str]:
        return [f"{_BOLD}Interrupted{_OFF}: {self}"]


def show_errors(shell: Any, cancel: Callable[[], None] = lambda: None) -> None:
    """From now on; called again after Spark was imported, since its errors are known only then.

    `cancel` ends the Spark jobs of a cell that was interrupted. A handler that another extension
    has set for errors of theirs is left alone.
    """
    if shell.custom_exceptions and DTError not in shell.custom_exceptions:
        return
    late = (getattr(sys.modules.get(module), name, None) for module, name in _LATE)
    kinds = (DTError, KeyboardInterrupt, *filter(None, late))
    shell.set_custom_exc(kinds, partial(_show, cancel))


def stop_showing_errors(shell: Any) -> None:
    if DTError in shell.custom_exceptions:
        shell.set_custom_exc((), None)


def _show(
    cancel: Callable[[], None],
    shell: Any,
    kind: type[BaseException],
    failure: BaseException,
    trace: TracebackType | None,
    tb_offset: int | None = None,
) -> list[str]:
    """IPython's handler: shows the error, as the other errors of a cell are shown."""
    details = None
    shell._get_exc_info((kind, failure, trace))  # for %debug and sys.last_value
    if isinstance(failure, Interrupted):
        lines = failure._render_traceback_()
    elif was_interrupt(failure):
        cancel()
        lines = _interrupt(shell, kind, failure, trace, tb_offset)
    else:
        message = error_message(with_frame_hint(failure, shell.user_ns))
        details = message.details if hasattr(shell, "kernel") else None
        lines = [*render(message, where(shell, trace)), *page_line(message)]
    failure._render_traceback_ = _Once(failure, lines)  # type: ignore[attr-defined]
    shell._showtraceback(kind, failure, lines)
    if details:
        show_below(Folded("Details", details))  # after its error, which is above it
    return lines


class _Once:
    """IPython formats each error again for its history, which takes seconds for a long trace: it
    gets the short form, and `%tb` afterwards the whole."""

    def __init__(self, failure: BaseException, lines: list[str]) -> None:
        self._failure, self._lines = failure, lines

    def __call__(self) -> list[str]:
        vars(self._failure).pop("_render_traceback_", None)
        return self._lines


def _interrupt(
    shell: InteractiveShell,
    kind: type[BaseException],
    failure: BaseException,
    trace: TracebackType | None,
    tb_offset: int | None,
) -> list[str]:
    modules = (f.f_globals.get("__name__", "") for f, _ in traceback.walk_tb(trace))
    if any(module.startswith(("dt_jupyter.", "py4j.")) for module in modules):
        return Interrupted("the Spark jobs of this cell were cancelled.")._render_traceback_()
    whole: list[str] = shell.InteractiveTB.structured_traceback(
        kind, failure, trace, tb_offset=tb_offset
    )
    return whole


def render(message: ErrorMessage, place: str | None = None) -> list[str]:
    """The lines of an error for a notebook or a terminal: its text, with code and
    carets bold (JupyterLab's ground is red already, and dark in the dark theme)."""
    lines = error_text(message).splitlines()
    code, sign, rest = lines[0].partition(": ")
    shown = [f"{_BOLD}{code}{_OFF}{sign}{rest}"]
    for line in lines[1:]:
        bare = line.replace(" ", "").replace("|", "")
        carets = bool(bare) and set(bare) == {"^"}
        shown.append(f"{_BOLD}{line}{_OFF}" if carets else line)
    return [*shown, f"{_SOFT}{place}{_OFF}"] if place else shown


def page_line(message: ErrorMessage) -> list[str]:
    """What shows the page of its code, for an error of the catalogue that the user did not
    request."""
    if not message.page or message.code in _ASKED_FOR:
        return []
    return [f"{_SOFT}About {message.code}: {help_command(message.code)}{_OFF}"]


def where(shell: InteractiveShell, trace: TracebackType | None) -> str | None:
    """The line of the cell that raised, where it is Python and not one of our magics."""
    cells = getattr(shell.compile, "_filename_map", {})
    found = None
    for frame in traceback.extract_tb(trace):
        if frame.filename in cells or frame.filename.startswith("<ipython-input"):
            found = frame
    if found is None or not found.line or any(name in found.line for name in _OURS):
        return None
    return f"In line {found.lineno} of the cell: {found.line.strip()[:120]}"
