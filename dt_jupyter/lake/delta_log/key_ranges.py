"""The range of a merge's keys: literals that let a writer skip files it need not look into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.paths import sql_string
from dt_jupyter.lake.write.commit_values import Merge
from dt_jupyter.model.hidden import OP

if TYPE_CHECKING:
    import pyarrow as pa

_SLACK = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The rows that a merge may match have `column` in [low, high], or NULL if `nulls`."""

    column: str
    low: Any
    high: Any
    nulls: bool
    dialect: str

    def sql(self, alias: str, quoted: Callable[[str], str]) -> str:
        name = f"{alias}.{quoted(self.column)}"
        low, high = (_literal(v, self.dialect) for v in (self.low, self.high))
        inside = f"({name} >= {low} AND {name} <= {high})"
        return f"({name} IS NULL OR {inside})" if self.nulls else inside


def key_range(change: Merge, dialect: str) -> KeyRange | None:
    """The range of the first key that has one; None: the rows are not Arrow, or no key is of a
    type whose file statistics can be trusted (integers, strings, dates, timestamps)."""
    import pyarrow as pa

    if not isinstance(change.rows, pa.Table):
        return None
    looked_up = lookups(change.rows)
    for key in change.keys:
        if looked_up.num_rows and _ranged(looked_up.schema.field(key).type):
            found = value_range(looked_up[key])
            if found is not None:
                return KeyRange(key, *found, dialect)
    return None


def lookups(rows: pa.Table) -> pa.Table:
    """The rows that look for a stored one: all but the inserts."""
    import pyarrow.compute as pc

    return rows.filter(pc.not_equal(rows[OP], "I"))


def _ranged(type_: pa.DataType) -> bool:
    from pyarrow import types as t

    known = (t.is_integer, t.is_string, t.is_large_string, t.is_date, t.is_timestamp)
    return any(is_(type_) for is_ in known)


def value_range(values: pa.ChunkedArray) -> tuple[Any, Any, bool] | None:
    """The least and the greatest value, and whether one is NULL; None where file statistics do
    not have such values, or there is none."""
    import pyarrow.compute as pc

    try:
        bounds = pc.min_max(values).as_py()
    except (ValueError, OverflowError):  # a time that Python's calendar does not hold
        return None
    found = logged_range(bounds["min"], bounds["max"])
    return None if found is None else (*found, values.null_count > 0)


def logged_range(low: Any, high: Any) -> tuple[Any, Any] | None:
    """A range of values that holds those of a file whose statistics in the log have `low` and
    `high`; None where they do not have such values."""
    if low is None or _far(low) or _far(high):
        return None
    if isinstance(low, datetime):  # file statistics hold timestamps cut to milliseconds
        return low - _SLACK, high + _SLACK
    return low, high


def _far(value: object) -> bool:
    """Near the ends of Python's calendar, and outside the years that all writers agree on."""
    return isinstance(value, date) and not 1900 <= value.year <= 2200


def _literal(value: object, dialect: str) -> str:
    if isinstance(value, datetime):
        return _timestamp(value, dialect)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    return sql_string(text) if dialect == "spark" else "'" + text.replace("'", "''") + "'"


def _timestamp(value: datetime, dialect: str) -> str:
    zoned = value.tzinfo is not None
    text = (value.astimezone(UTC).replace(tzinfo=None) if zoned else value).isoformat(" ")
    if dialect == "spark":
        return f"TIMESTAMP '{text}+00:00'" if zoned else f"TIMESTAMP_NTZ '{text}'"
    zone = ', Some("UTC")' if zoned else ", None"
    return f"arrow_cast('{text}', 'Timestamp(Microsecond{zone})')"
