"""Which guarantees of isolation a recorded history of transactions kept, derivations included.

Source: Adya, Liskov and O'Neil, Generalized Isolation Level Definitions (2000); the paper on
Dynamic Tables, section 4.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
