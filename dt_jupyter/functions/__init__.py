"""User functions: kept by source text, recreated in any process, known to every session.

What is read from a lake is source text and literals, never a pickle. A function is compiled in its
own namespace, which has the names that it was kept with and no other.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
