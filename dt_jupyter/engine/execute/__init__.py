"""Runs one statement: a handler for each class of `sql.statements`, and none besides.

A handler is a function of the `Context`, the statement and its `Origin`; it gives rows, or what
was created.
"""

from dt_jupyter.engine.execute.dispatch import HANDLERS, execute
from dt_jupyter.engine.execute.origin import StatementOrigin

__all__ = ["HANDLERS", "StatementOrigin", "execute"]
