"""Changes between two points in time; streams, whose offset moves with what consumed them; and
transactions over several tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
