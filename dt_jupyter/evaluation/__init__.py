"""Small statements of Spark SQL evaluated in this process: a closed list, held against Spark."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
