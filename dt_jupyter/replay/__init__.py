"""Pinned, repeatable reads of any snapshot, in the schema of then or of now.

What is read is resolved once, to a version of each table; the same versions give the same rows in
the same order, and a digest that says so, in every process.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
