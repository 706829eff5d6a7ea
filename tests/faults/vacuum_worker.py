"""VACUUM without retention, again and again, beside a lake's engine:
`python -m tests.faults.vacuum_worker FOLDER…` until a line comes in."""

from __future__ import annotations

import sys
import threading

from tests.faults.attached import session


def main() -> None:
    spark = session()
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    print("ready", flush=True)
    done = 0
    while not stop.is_set():
        for folder in sys.argv[1:]:
            spark.sql(f"VACUUM delta.`{folder}` RETAIN 0 HOURS")
        done += 1
    print(done, flush=True)


if __name__ == "__main__":
    main()
