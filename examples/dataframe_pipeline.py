"""A pipeline of dynamic tables defined by DataFrames: `python dataframe_pipeline.py [LAKE]`.

Run it again on the same lake: the tables are there, and only what is new is computed.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, Window, functions as F

import dt_jupyter
from dt_jupyter.engine import Engine


def main(lake: str) -> None:
    with dt_jupyter.connect(lake) as dt:
        dt.sql("CREATE TABLE IF NOT EXISTS visits (person INT, page STRING, at TIMESTAMP)")
        define(dt)
        dt.sql("INSERT INTO visits VALUES (1, 'home', now()), (2, 'home', now())")
        for name in ("hourly", "last_page"):
            print(dt.refresh(name))
        dt.sql("SELECT * FROM last_page ORDER BY person").show()


def define(dt: Engine) -> None:
    visits = dt.spark.table("visits")

    @dt.dynamic_table("hourly", target_lag="1 minute", or_alter=True)
    def hourly() -> DataFrame:
        hour = F.date_trunc("hour", "at").alias("hour")
        return visits.groupBy(hour, "page").agg(F.count("*").alias("visits"))

    newest = Window.partitionBy("person").orderBy(F.desc("at"), "page")
    numbered = visits.withColumn("n", F.row_number().over(newest))
    last = numbered.where("n = 1").select("person", "page")
    dt.create("last_page", last, target_lag="1 minute", or_alter=True)
    print(hourly.status)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "lake")
