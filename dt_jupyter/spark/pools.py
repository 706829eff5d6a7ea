"""FAIR scheduler pools: one for each warehouse, with its weight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from dt_jupyter.spark.modes import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POOL_PROPERTY = "spark.scheduler.pool"
SHARE = 8
"""The weight of a pool of weight 1: what weighs less than any warehouse gets an eighth of it."""


@dataclass(frozen=True)
class Pool:
    """A pool and its share of the cores, relative to the other pools that have work."""

    name: str
    weight: int = 1

    def __post_init__(self) -> None:
        if not self.name or self.weight < 1:
            raise ValueError(f"not a pool: {self}")


def allocation_xml(pools: Iterable[Pool]) -> str:
    """The text of a `spark.scheduler.allocation.file` with these pools."""
    rows = (
        f"  <pool name={quoteattr(pool.name)}><schedulingMode>FAIR</schedulingMode>"
        f"<weight>{pool.weight}</weight><minShare>0</minShare></pool>\n"
        for pool in pools
    )
    return f'<?xml version="1.0"?>\n<allocations>\n{"".join(rows)}</allocations>\n'


def weight_in_force(spark: SparkSession, name: str) -> int | None:
    """The weight of a pool that the scheduler knows, else None; always None on Spark Connect."""
    if is_connect(spark):
        return None
    found = _root_pool(spark).getSchedulableByName(name)
    return None if found is None else int(found.weight())


def declare_pool(spark: SparkSession, pool: Pool) -> bool:
    """Make a pool known to a session that runs already; whether its weight is in force.

    A pool keeps the weight that it was made with. Without the FAIR scheduler, and on Spark
    Connect, pools are names only.
    """
    if is_connect(spark) or not _is_fair(spark):
        return False
    if weight_in_force(spark, pool.name) is None:
        context: Any = spark.sparkContext
        scheduler = context._jvm.org.apache.spark.scheduler
        fair = scheduler.SchedulingMode.FAIR()
        _root_pool(spark).addSchedulable(scheduler.Pool(pool.name, fair, 0, pool.weight))
    return weight_in_force(spark, pool.name) == pool.weight


@contextmanager
def in_pool(spark: SparkSession, name: str) -> Iterator[None]:
    """Jobs that this thread starts inside run in the pool `name`."""
    if is_connect(spark):
        yield
        return
    context: Any = spark.sparkContext
    before = context.getLocalProperty(POOL_PROPERTY)
    context.setLocalProperty(POOL_PROPERTY, name)
    try:
        yield
    finally:
        context.setLocalProperty(POOL_PROPERTY, before)


def _is_fair(spark: SparkSession) -> bool:
    return str(spark.sparkContext.getConf().get("spark.scheduler.mode", "FIFO")).upper() == "FAIR"


def _root_pool(spark: SparkSession) -> Any:
    return spark.sparkContext._jsc.sc().taskScheduler().rootPool()
