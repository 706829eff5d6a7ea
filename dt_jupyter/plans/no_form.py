"""Why a DataFrame has no text: raised while its plan is written."""

from __future__ import annotations

FILES_READ_OTHERWISE = (
    "files of several paths, or read with options or columns of one's own (make a table of them, "
    "CREATE TABLE … USING … OPTIONS (…) LOCATION …, and read that)"
)


class NoForm(Exception):
    """A part of a plan has no form in SQL; `what` names it in plain words."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class PythonFunction(NoForm):
    """A plan calls a function of Python or of the JVM; `what` is its name."""


class ManyRows(NoForm):
    """A plan holds more rows of its own than a text may."""


class NotTheSame(NoForm):
    """Spark plans the text otherwise than the DataFrame."""
