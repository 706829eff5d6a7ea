"""The facade: one method for each thing a user can ask; owns session, lake, catalog, scheduler.

Notebook, script, headless runner and tests use the same `Engine`.
"""

from dt_jupyter.engine.core import Engine
from dt_jupyter.reports.explanation_values import Explanation, Verification

__all__ = ["Engine", "Explanation", "Verification"]
