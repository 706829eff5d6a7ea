"""The promise of a declared key: at either end of an interval one row has it.

It is the user's, and is checked over the rows that are read: those of a change once inserted and
deleted copies have cancelled, in the order of the commits where that is known. The driver only
acquits; what it does not is for Spark to decide, which also names an example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dt_jupyter.failures import broken_key, sql_text
from dt_jupyter.ivm import Refused
from dt_jupyter.model import count_of, quote
from dt_jupyter.model.hidden import HASH, WEIGHT, hidden
from dt_jupyter.sources.row_identity import By, Identity, told_apart
from dt_jupyter.sql import content_hash

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from dt_jupyter.lake import TableLog

_KEY, _AT, _TEXT = hidden("key"), hidden("at"), hidden("text")

_Columns = Sequence[tuple[str, str]]


def find_declared_key(log: TableLog, version: int) -> tuple[str, ...]:
    """The columns that `dt.primaryKey` declares, else none."""
    by, key = told_apart(log, version, version, log.metadata(version).columns)
    return tuple(key) if by is By.KEY else ()


def require_key(
    spark: SparkSession,
    rows: str,
    name: str,
    identity: Identity,
    columns: _Columns,
    version: str = "0L",
) -> None:
    """DT-3108 where a key of the relation `rows`, which has a weight, has two rows at once;
    `columns` are what its rows are compared by, `version` is its column of the commit."""
    text = _broken(rows, identity, columns, version)
    for row in spark.sql(text).collect():
        raise broken_key(told_keys({name: identity}), f"{row[0]} has {count_of(row[1], 'row')}")


def told_keys(declared: Mapping[str, Identity]) -> str:
    """`id of people`, with the columns of each table's key."""
    return ", or ".join(f"{', '.join(i.names)} of {name}" for name, i in declared.items())


def _broken(rows: str, identity: Identity, columns: _Columns, version: str) -> str:
    """A key and how many rows it has at once, of one that has several.

    Per commit a key is inserted and deleted once at most; added up over the commits, from whatever
    it had before, it is there or not: two sums that differ by more than one are of two rows.
    """
    known = _comparable(columns)
    hashed = [f"{h} AS {c}" for h, c in zip(content_hash(known), HASH, strict=True)]
    example = " || ', ' || ".join(
        f"{sql_text(n)} || ' = ' || COALESCE(CAST({quote(n)} AS STRING), 'NULL')"
        for n in identity.names
    )
    net = (
        f"SELECT {_KEY}, {_AT}, FIRST({_TEXT}) AS {_TEXT}, SUM({WEIGHT}) AS {WEIGHT} FROM "
        f"(SELECT {identity.text} AS {_KEY}, {version} AS {_AT}, {example} AS {_TEXT}, "
        f"{', '.join([*hashed, WEIGHT])} FROM {rows})"
        f" GROUP BY {_KEY}, {_AT}, {', '.join(HASH)} HAVING SUM({WEIGHT}) <> 0"
    )
    commits = (
        f"SELECT {_KEY}, {_AT}, FIRST({_TEXT}) AS {_TEXT},"
        f" SUM(GREATEST({WEIGHT}, 0L)) AS came, SUM(GREATEST(-{WEIGHT}, 0L)) AS gone"
        f" FROM ({net}) GROUP BY {_KEY}, {_AT}"
    )
    sums = (
        f"SELECT *, SUM(came - gone) OVER (PARTITION BY {_KEY} ORDER BY {_AT}) AS s"
        f" FROM ({commits})"
    )
    most = "GREATEST(MAX(came), MAX(gone), GREATEST(MAX(s), 0L) - LEAST(MIN(s), 0L))"
    return (
        f"SELECT FIRST({_TEXT}) AS example, {most} AS n FROM ({sums}) GROUP BY {_KEY}"
        f" HAVING {most} > 1 ORDER BY example LIMIT 1"
    )


def _comparable(columns: _Columns) -> list[tuple[str, str]]:
    """Those whose type has a hash: rows that differ in others alone cancel here, and no key is
    blamed for them."""
    found = []
    for column in columns:
        try:
            content_hash([column])
        except Refused:
            continue
        found.append(column)
    return found


# -- by the driver --------------------------------------------------------------------------------


def surely_unique(rows: pa.Table, keys: Sequence[str]) -> bool:
    """Whether each key comes once at most and goes once at most, once equal rows have cancelled.
    False is not a verdict: nested columns are not compared here."""
    import pyarrow as pa

    exact = _exact(rows)
    if any(pa.types.is_nested(exact.schema.field(k).type) for k in keys):
        return False
    if _once(exact, keys):
        return True
    if any(pa.types.is_nested(f.type) for f in exact.schema):
        return False
    return _once(_cancelled(exact), keys)


def _exact(rows: pa.Table) -> pa.Table:
    """Floats by their bits: −0.0 is not 0.0, and NaN is NaN."""
    import pyarrow as pa

    for i, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            bits = pa.int32() if field.type.bit_width == 32 else pa.int64()
            viewed = pa.chunked_array([c.view(bits) for c in rows.column(i).chunks], bits)
            rows = rows.set_column(i, field.name, viewed)
    return rows


def _cancelled(rows: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    others = [n for n in rows.column_names if n != WEIGHT]
    summed = rows.group_by(others).aggregate([(WEIGHT, "sum")])
    left = summed.filter(pc.not_equal(summed[f"{WEIGHT}_sum"], 0))
    return left.rename_columns([*others, WEIGHT]).select(rows.column_names)


def _once(rows: pa.Table, keys: Sequence[str]) -> bool:
    import pyarrow.compute as pc

    if rows.num_rows and pc.max(pc.abs(rows[WEIGHT])).as_py() > 1:
        return False
    counted = rows.group_by([*keys, WEIGHT]).aggregate([([], "count_all")])
    return bool(counted.num_rows == rows.num_rows)
