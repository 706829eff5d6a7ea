"""A value in each type that a front end may show."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dt_jupyter.wire import ResultMessage

ROWS_TYPE = "application/vnd.dt-jupyter.rows.v1+json"
"""The type of rows that JupyterLab with our extension shows as a grid; others show the HTML."""


def mime_bundle(text: str, html: str, rows: ResultMessage | None = None) -> dict[str, Any]:
    """Text and HTML, and of rows what a grid is made of."""
    # plain str, so that nothing of ours needs pickling or a special JSON encoder
    whole: dict[str, Any] = {"text/plain": str(text), "text/html": str(html)}
    return whole if rows is None else {ROWS_TYPE: rows.to_json(), **whole}


def chosen_types(
    whole: dict[str, Any], include: Collection[str] | None, exclude: Collection[str] | None
) -> dict[str, Any]:
    """Those of a bundle that are requested."""
    return {
        kind: data
        for kind, data in whole.items()
        if (include is None or kind in include) and kind not in (exclude or ())
    }
