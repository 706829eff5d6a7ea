"""Nothing but an error of the catalogue reaches a user: `coded` classes see to it.

What the user's own code raises inside of one (the function of `consume`, the block of a
transaction) passes as it is, and so do KeyboardInterrupt and SystemExit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
