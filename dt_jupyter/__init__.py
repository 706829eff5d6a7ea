"""Dynamic Tables, change queries and time travel for PySpark and Delta Lake, in a notebook."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from IPython.core.interactiveshell import InteractiveShell
    from pyspark.sql import SparkSession

    from dt_jupyter.engine import Engine
    from dt_jupyter.model import Tuning as Tuning

__version__ = "0.1.0"
__all__ = [
    "Tuning",
    "connect",
    "load_ipython_extension",
    "save_graph",
    "unload_ipython_extension",
]


def connect(lake: str = "lake", spark: SparkSession | None = None, **options: Any) -> Engine:
    """Open the engine on a lake; see `dt_jupyter.engine.Engine.connect`. One that this process has
    open on that lake with the same options is returned again. Engines on several lakes work side
    by side."""
    from dt_jupyter.engine import connect_once

    engine = connect_once(lake, spark, **options)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        from dt_jupyter.notebook import adopt

        adopt(shell, engine)
    return engine


def save_graph(dt: Engine, file: str | os.PathLike[str]) -> Path:
    """Writes the graph of a lake, with the state of all in it, as one HTML file that needs nothing
    else: definitions, columns, lags and last refreshes, as the engine's role sees them. The file;
    FileExistsError where it is there already."""
    from dt_jupyter.dispatch import write_graph

    return write_graph(dt, file)


def __getattr__(name: str) -> Any:
    """`Tuning`, whose import is not paid for by those who do not ask for it."""
    if name != "Tuning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dt_jupyter.model import Tuning

    return Tuning


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """`%load_ext dt_jupyter`: registers the magics and says what to do next; starts nothing."""
    from dt_jupyter.notebook import load

    load(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """`%unload_ext dt_jupyter`: closes the engine and takes the magics away."""
    from dt_jupyter.notebook import unload

    unload(ipython)
