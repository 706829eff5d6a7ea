"""Delta tables: what changed and when (no Spark job), snapshots, change relations, commits.

Reads go through the log first; a commit happens exactly once, and says which writer did it and
why. Errors are `LakeError`s with a code; the refresh engine words them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
