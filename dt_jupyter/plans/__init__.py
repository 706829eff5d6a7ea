"""From the plan of a DataFrame to a query: a text that Spark plans as it plans the DataFrame."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
