"""From names to Delta tables: sources, views, a lake's folders, texts pinned to versions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
