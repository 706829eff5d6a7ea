"""The facade: one method for each thing a user can ask; owns session, lake, catalog, scheduler.

Notebook, script, headless runner and tests use the same `Engine`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
