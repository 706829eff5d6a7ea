"""Changes between two points in time, of tables, dynamic tables and views."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
