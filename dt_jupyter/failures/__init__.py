"""Nothing but an error of the catalogue reaches a user: `coded` classes see to it.

What the user's own code raises inside of one (the function of `consume`, the block of a
transaction) passes as it is, and so do KeyboardInterrupt and SystemExit.
"""

from dt_jupyter.failures.arguments import LARGEST_INT, within
from dt_jupyter.failures.boundary import FromUser, coded
from dt_jupyter.failures.signs import causes, environment_error, java_causes
from dt_jupyter.failures.words import UNFORESEEN, catalogued, details_of, first_line, spoken

__all__ = [
    "LARGEST_INT", "UNFORESEEN", "FromUser", "catalogued", "causes", "coded", "details_of",
    "environment_error", "first_line", "java_causes", "spoken", "within",
]  # fmt: skip
