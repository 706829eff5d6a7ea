"""The durable registry: definitions, warehouses, versions, leases, pins, streams and refresh
history.

One SQLite file in the lake, used by several threads and processes at once. Every method of
`Catalog` is one transaction: on the disk when it returns, or without any trace. What is stored here
about a dynamic table's data is a copy; the truth is in that table's own log.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
