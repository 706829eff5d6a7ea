"""The facade: one method for each thing a user can ask; owns session, lake, catalog, scheduler.

Notebook, script, headless runner and tests use the same `Engine`.
"""

from dt_jupyter.engine.api import Engine
from dt_jupyter.engine.views import Explanation, Verification

__all__ = ["Engine", "Explanation", "Verification"]
