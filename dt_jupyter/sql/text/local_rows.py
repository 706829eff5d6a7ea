"""A SELECT of one truth as a local row: Spark runs a job for a SELECT without FROM."""

from __future__ import annotations

import re

from dt_jupyter.model import quote

_ONE_TRUTH = re.compile(
    r"\s*SELECT\s+(TRUE|FALSE)(?:\s+AS\s+(\w+|`(?:[^`]|``)+`))?\s*;?\s*\Z", re.IGNORECASE
)


def without_job(text: str) -> str:
    """The same row and column, for which no job runs; any other text as it is."""
    match = _ONE_TRUTH.match(text)
    if match is None:
        return text
    value, name = match.groups()
    alias = name if name and name.startswith("`") else quote(name or value.lower())
    return f"SELECT * FROM VALUES ({value}) AS has_data({alias})"
