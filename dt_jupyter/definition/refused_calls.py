"""Refusals of calls in the words of the user who registered the function."""

from __future__ import annotations

from dt_jupyter.catalog import Catalog
from dt_jupyter.functions import is_registered
from dt_jupyter.ivm import Refusal, Refused


def of_registered(refused: Refused, catalog: Catalog) -> Refused:
    """The refusal of a function that is not built in, where it is the user's."""
    called = dict(refused.facts).get("what", "").removesuffix("()")
    if refused.refusal is Refusal.UNKNOWN_FUNCTION and is_registered(called, catalog):
        return Refused(Refusal.NOT_IMMUTABLE, (("what", f"{called}()"),), refused.place)
    return refused
