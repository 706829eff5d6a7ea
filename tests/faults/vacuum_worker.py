"""Delta's own VACUUM without retention, beside a lake's engine:
`python -m tests.faults.vacuum_worker FOLDER` runs one for each line that comes in."""

from __future__ import annotations

import sys

from tests.faults.attached import session


def main() -> None:
    spark = session()
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    print("ready", flush=True)
    for _ in sys.stdin:
        spark.sql(f"VACUUM delta.`{sys.argv[1]}` RETAIN 0 HOURS")
        print("done", flush=True)


if __name__ == "__main__":
    main()
