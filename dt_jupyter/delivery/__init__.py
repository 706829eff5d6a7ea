"""Sinks at work: the changes of their sources as the runtime of `sinks` reads them, deliveries with
their history, and the threads that deliver within a target lag."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
