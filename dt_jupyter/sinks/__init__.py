"""Changes delivered to other stores exactly once: the materialization protocol, its runtime, and a
driver for each store.

A `Delivery` is one task of a sink: `Delivery(binding, task, source, CatalogLog(catalog), connect)`,
where `connect` is `connector(address)` of `parse_store_url(url, options)`. `deliver()` gives out
each transaction once the store has it. What is tried again after a failure is `is_transient`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
