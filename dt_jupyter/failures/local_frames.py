"""Frames of other libraries, whose rows are in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import DTError, error

if TYPE_CHECKING:
    import pyarrow as pa


def _of_pandas(value: Any) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pandas(value, preserve_index=False)


_KINDS: Mapping[tuple[str, str], Callable[[Any], Any]] = {
    ("geopandas", "GeoDataFrame"): lambda v: _of_pandas(v.to_wkb()),
    ("pandas", "DataFrame"): _of_pandas,
    ("polars", "DataFrame"): lambda v: v.to_arrow(),
    ("polars", "LazyFrame"): lambda v: v.collect().to_arrow(),
    ("pyarrow", "Table"): lambda v: v,
    ("duckdb", "DuckDBPyRelation"): lambda v: v.fetch_arrow_table(),
    ("ibis", "Table"): lambda v: v.to_pyarrow(),
}
"""By library and class: what makes a table of Arrow of one."""


def is_frame(value: Any) -> bool:
    """Whether it is a DataFrame of Spark, of either kind."""
    return any(kind.__name__ == "DataFrame" for kind in type(value).__mro__) and hasattr(
        value, "sparkSession"
    )


def is_local_frame(value: object) -> bool:
    """Whether it is a frame of pandas, Polars, Arrow or the like."""
    return _kind(value) is not None


def arrow_of(value: Any) -> pa.Table:
    """The rows of such a frame; those of a dictionary are its values, a column without any value
    is one of texts. DT-1003 for values that Arrow does not take."""
    import pyarrow as pa

    kind = _kind(value)
    assert kind is not None
    try:
        found: pa.Table = _KINDS[kind](value)
        return found.cast(pa.schema([_plain(field) for field in found.schema]))
    except (ValueError, TypeError, NotImplementedError) as e:
        hint = "Give each column values of one type, and a unique name."
        shown = f"a {kind[1]} of {kind[0]}"
        raise error("DT-1003", option="source", value=shown, problem=e, hint=hint) from e


def local_frame_error(value: object, subject: str, name: str) -> DTError:
    """DT-1166 for a frame in the place of a query; `name` is that of the dynamic table."""
    library, kind = _kind(value) or ("Python", type(value).__name__)
    hint = f"{storing_line('frame', f'{name}_rows')} makes a table of it: read that one."
    return error("DT-1166", subject=subject, kind=f"a {kind} of {library}", hint=hint)


def storing_line(variable: str, table: str) -> str:
    """A line of Python that makes the table of the frame that the variable holds."""
    return f'dt.load("{table}", {variable})'


def _plain(field: pa.Field) -> pa.Field:
    import pyarrow as pa

    if pa.types.is_dictionary(field.type):
        return field.with_type(field.type.value_type)
    return field.with_type(pa.string()) if pa.types.is_null(field.type) else field


def _kind(value: object) -> tuple[str, str] | None:
    kinds = ((k.__module__.partition(".")[0], k.__name__) for k in type(value).__mro__)
    return next((kind for kind in kinds if kind in _KINDS), None)
