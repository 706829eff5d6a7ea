"""Frames of other libraries, with rows in this process: what they are, and how to store them."""

from __future__ import annotations

from typing import Any

from dt_jupyter.model import DTError, error

_CLASSES = (
    ("pandas", "DataFrame", "{0}"),
    ("polars", "DataFrame", "{0}.to_arrow()"),
    ("polars", "LazyFrame", "{0}.collect().to_arrow()"),
    ("pyarrow", "Table", "{0}"),
    ("geopandas", "GeoDataFrame", "{0}.to_wkb()"),
    ("duckdb", "DuckDBPyRelation", "{0}.fetch_arrow_table()"),
    ("ibis", "Table", "{0}.to_pyarrow()"),
)
"""Library, class, and what Spark takes of one."""
_MAKER = "createDataFrame"


def is_frame(value: Any) -> bool:
    """Whether it is a DataFrame of Spark, of either kind."""
    return any(kind.__name__ == "DataFrame" for kind in type(value).__mro__) and hasattr(
        value, "sparkSession"
    )


def is_local_frame(value: object) -> bool:
    """Whether it is a frame of pandas, Polars, Arrow or the like."""
    return _known(value) is not None


def local_frame_error(value: object, subject: str, name: str) -> DTError:
    """DT-1166 for a frame in the place of a query; `name` is that of the dynamic table."""
    library, kind, _ = _known(value) or ("", type(value).__name__, "")
    hint = f"{storing_line(value, 'frame', f'{name}_rows')} makes a table of it: read that one."
    return error("DT-1166", subject=subject, kind=f"a {kind} of {library}", hint=hint)


def storing_line(value: object, variable: str, table: str) -> str:
    """A line of Python that makes the table out of the frame that the variable holds."""
    known = _known(value)
    taken = (known[2] if known else "{0}").format(variable)
    return f'spark.{_MAKER}({taken}).write.format("delta").saveAsTable("{table}")'


def _known(value: object) -> tuple[str, str, str] | None:
    for kind in type(value).__mro__:
        library = kind.__module__.partition(".")[0]
        for entry in _CLASSES:
            if (library, kind.__name__) == entry[:2]:
                return entry
    return None
