"""What needs attention: alerts, found by the process that checks, and sent to their subscribers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
