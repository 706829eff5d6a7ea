"""Frames that mean what they meant when they were made.

A classic frame is analysed at once. One of Spark Connect is analysed by the server each time that
it is run: the temporary views that its text names, and the confs that it was made under, may be
gone by then.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dt_jupyter.model.hidden import unique_view
from dt_jupyter.spark.modes import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_unused: WeakKeyDictionary[SparkSession, list[str]] = WeakKeyDictionary()
"""Views of a session that no plan of a frame reads any more."""


def analyse_now(frame: DataFrame) -> DataFrame:
    """The same rows, whatever happens to the views and confs that the frame was made with.

    Over Connect it reads a temporary view that holds the analysed plan. The view is dropped, at
    the next call, when neither the frame nor one that was made of it is there any more.
    """
    spark = frame.sparkSession
    if not is_connect(spark):
        return frame
    unused = _unused.setdefault(spark, [])
    while unused:
        spark.catalog.dropTempView(unused.pop())
    view = unique_view("analysed")
    names = frame.columns
    frame.toDF(*map(str, range(len(names)))).createOrReplaceTempView(view)
    read = spark.table(view)
    # Called by the collector, in any thread: it asks the server nothing.
    weakref.finalize(read._plan, unused.append, view)
    return read.toDF(*names)
