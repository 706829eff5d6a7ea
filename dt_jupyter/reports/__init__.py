"""Values that tell of the graph, lineage, explanations and verifications; no picture."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
