"""What a statement has that is not evaluated here."""

from __future__ import annotations


class LeftOut(Exception):
    """The statement is Spark's; `what` says why, in a noun phrase."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
