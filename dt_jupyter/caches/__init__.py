"""What stays in memory of a process: caches that have one number of bytes together.

Values that were used least recently go first, and all of them where memory is short.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
