"""What needs somebody: alerts, found by whichever process looks, and told to who asked for them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
