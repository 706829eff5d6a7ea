"""Static pictures of dynamic tables: frozen wire messages in, SVG, HTML and text out.

A message holds all that its picture shows, the same message is drawn the same, every string is
escaped, and nothing is loaded from anywhere. `show(message)` is what a notebook cell returns.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
