"""The dialect: Spark SQL and the statements about dynamic tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
