"""What answers a page: requests to the engine, events to messages, values to pictures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
