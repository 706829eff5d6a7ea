"""Messages between kernel and page, and requests; TypeScript is generated from here."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
