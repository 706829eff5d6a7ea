"""Spark: a session that knows Delta, private sessions for refreshes, pools, cancellable jobs.

Runs on classic Spark and on Spark Connect. Nothing here is imported, and no JVM is started,
before a session is requested.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
