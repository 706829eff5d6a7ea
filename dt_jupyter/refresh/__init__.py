"""One refresh: resolve versions, choose an action, plan its stages, execute, commit, record."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
