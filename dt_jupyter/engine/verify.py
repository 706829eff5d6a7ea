"""Delayed view semantics, checked: the table against the user's own text at its frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.views import Verification
from dt_jupyter.ivm import Refused
from dt_jupyter.lake import snapshot_sql
from dt_jupyter.model import DynamicTable, RefreshMode, error, quote
from dt_jupyter.refresh.compare import difference
from dt_jupyter.refresh.run import Refresher, list_anew
from dt_jupyter.sql.hashing import HASH, content_hash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COMPARED = 20_000
"""Rows of either side that differ exactly and are then compared within a tolerance."""


def verify(spark: SparkSession, refresher: Refresher, table: DynamicTable) -> Verification:
    """Compares all rows by content hash; what differs is compared value by value, floats within
    a relative tolerance of 1e-9. DT-2101 before initialisation."""
    if table.frontier is None or table.version is None:
        raise error("DT-2101", name=table.name)
    path = str(refresher.sources.layout.public(table.id))
    list_anew(spark, table.definition)
    left = refresher.read_text(path, table.version)
    right = _wanted(spark, refresher, table)
    names = [n for n, _, _ in table.definition.columns]
    listed = ", ".join(quote(n) for n in names)
    spark.sql(f"SELECT {listed} FROM {left}").createOrReplaceTempView("__dt_left")
    spark.sql(right).toDF(*names).createOrReplaceTempView("__dt_right")
    try:
        hashes = content_hash((n, t) for n, t, _ in table.definition.columns)
    except Refused as e:
        raise error("DT-1116", name=table.name, problem=e.reason.sentence) from e
    hashed = ", ".join(f"{h} AS {c}" for h, c in zip(hashes, HASH, strict=True))
    h1, h2 = HASH
    count = "\n".join((
        f"SELECT {h1}, {h2}, SUM(n) AS n FROM (",
        f"SELECT {hashed}, 1 AS n FROM __dt_left",
        f"UNION ALL SELECT {hashed}, -1 AS n FROM __dt_right",
        f") GROUP BY {h1}, {h2} HAVING SUM(n) <> 0",
    ))  # fmt: skip
    differing = spark.sql(count).limit(2 * _COMPARED)
    off = [tuple(r) for r in differing.collect()]
    rows = spark.sql("SELECT COUNT(*) FROM __dt_left").collect()[0][0]
    found = _explained(spark, off, hashed, listed) if off else None
    return Verification(table.name, table.frontier.data_timestamp, table.frontier, rows, found)


def _wanted(spark: SparkSession, refresher: Refresher, table: DynamicTable) -> str:
    """The user's text at the frontier; where it leaves an order open, with that order fixed."""
    definition, frontier = table.definition, table.frontier
    assert frontier is not None
    if table.effective_mode is RefreshMode.INCREMENTAL:
        compiled = refresher.compiled(spark, table.id, definition)
        if compiled.settles:
            paths = {s.table_id: str(s.path) for s in definition.sources}
            versions = frontier.versions
            return compiled.text(lambda s: snapshot_sql(paths[s.source], versions[s.source]))
    return refresher.full_text(definition, frontier)


def _explained(
    spark: SparkSession, off: list[tuple[int, ...]], hashed: str, listed: str
) -> str | None:
    """The rows behind hashes that occur more often on one side, compared with tolerance."""
    h1, h2 = HASH
    schema = f"{h1} bigint, {h2} bigint, n bigint"
    spark.createDataFrame(off, schema).createOrReplaceTempView("__dt_off")
    sides = []
    for side, sign in (("__dt_left", ">"), ("__dt_right", "<")):
        text = (
            f"SELECT {listed} FROM (SELECT t.*, ROW_NUMBER() OVER (PARTITION BY t.{h1}, t.{h2}"
            f" ORDER BY t.{h1}) AS __dt_rank, o.n AS __dt_many"
            f" FROM (SELECT *, {hashed} FROM {side}) t"
            f" JOIN __dt_off o ON t.{h1} = o.{h1} AND t.{h2} = o.{h2} AND o.n {sign} 0)"
            f" WHERE __dt_rank <= ABS(__dt_many)"
        )
        sides.append([tuple(r.asDict(recursive=True).values()) for r in spark.sql(text).collect()])
    return difference(sides[0], sides[1])
