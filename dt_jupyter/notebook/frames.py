"""DataFrames of Spark as a table of their first rows, while the extension is loaded."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from dt_jupyter.notebook.display import picture_or_message
from dt_jupyter.spark import activity

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from pyspark.sql import DataFrame

_FRAME = ("pyspark.sql.dataframe", "DataFrame")
"""The class that those of Spark and of Spark Connect have in common."""
_EAGER = "spark.sql.repl.eagerEval.enabled"
_UNREAD = "A DataFrame whose rows could not be read."


def show_frames(shell: InteractiveShell) -> None:
    """From now on; which session a DataFrame is of does not matter."""
    assert shell.display_formatter is not None
    bundles = shell.display_formatter.mimebundle_formatter
    bundles.for_type_by_name(*_FRAME, partial(_bundle, shell))


def stop_showing_frames(shell: InteractiveShell) -> None:
    assert shell.display_formatter is not None
    shell.display_formatter.mimebundle_formatter.pop(".".join(_FRAME), None)


def _bundle(shell: InteractiveShell, frame: DataFrame) -> dict[str, Any] | None:
    """None where it is shown as usual: a stream has no first rows, and who has set eager
    evaluation has chosen."""
    from dt_jupyter.dispatch import result_message
    from dt_jupyter.engine import read_frame

    try:
        if frame.isStreaming or frame.sparkSession.conf.get(_EAGER, None) is not None:
            return None
        with activity("Reading the first rows"):
            rows = read_frame(frame)
    except Exception as failure:  # IPython shows what a formatter raises with its whole trace
        _show_failure(shell, failure)
        return {"text/plain": _UNREAD}
    return picture_or_message(result_message(rows)).bundle


def _show_failure(shell: Any, failure: Exception) -> None:
    """In the form that errors of cells have."""
    if isinstance(failure, tuple(shell.custom_exceptions)):
        shell.CustomTB(*sys.exc_info())
    else:
        shell.showtraceback()
