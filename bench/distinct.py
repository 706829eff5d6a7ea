"""`python -m bench.distinct --rows 3000000 --changed 5000`: counts of distinct values, as dynamic
tables over events of twenty days. Round after round new events of one day come and half as many go
from all days; the third round's refresh beside its query computed by Spark into nothing, in turns.
Each table is verified at the end."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import dt_jupyter
from bench.meters import Meters, Reading
from dt_jupyter.engine import Engine
from dt_jupyter.model import RefreshRecord

TABLES = {
    "users of a day": "SELECT day, COUNT(DISTINCT u) AS n FROM events GROUP BY day",
    "beside other calls": "SELECT day, COUNT(*) AS c, SUM(amount) AS s, COUNT(DISTINCT u) AS n "
    "FROM events GROUP BY day",
    "of two columns": "SELECT day, COUNT(*) AS c, COUNT(DISTINCT u) AS n, COUNT(DISTINCT p) AS m "
    "FROM events GROUP BY day",
    "of small groups": "SELECT u, COUNT(DISTINCT p) AS n FROM events GROUP BY u",
    "of all rows": "SELECT COUNT(*) AS c, COUNT(DISTINCT u) AS n FROM events",
}
ROUNDS = 3
DAYS = 20


def insert(dt: Engine, first: int, count: int, day: str, users: int) -> None:
    dt.sql(
        f"INSERT INTO events SELECT id, {day}, pmod(hash(id), {users}), pmod(hash(id, 1), 1000), "
        f"CAST(pmod(hash(id, 2), 10000) / 100 AS DECIMAL(10, 2)) "
        f"FROM range({first}, {first + count})"
    )


def change(dt: Engine, number: int, rows: int, changed: int) -> None:
    insert(dt, rows + number * changed, changed, str(DAYS), rows // 5)
    dt.sql(f"DELETE FROM events WHERE id % {2 * rows // changed} = {number}")


def refresh(dt: Engine, meters: Meters, name: str) -> tuple[Reading, str]:
    """What it took, and what it did: Spark jobs, rows changed, rows read."""
    records: list[RefreshRecord] = []
    took = meters.measure(lambda: records.append(dt.refresh(name)))
    (record,) = records
    found = record.statistics
    if record.action != "INCREMENTAL" or found is None:
        raise SystemExit(f"{name}: {record.action} {record.error}")
    return took, f"{found.spark_jobs} | {found.changed_rows:,} | {found.rows_read:,}"


def line(shape: str, made: Reading, query: Reading, did: str) -> str:
    ratios = f"{query.wall / made.wall:.1f}×, {query.cpu / made.cpu:.1f}×"
    return f"| {shape} | {made.wall:.2f}, {query.wall:.2f} | {ratios} | {did} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.distinct", description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--changed", type=int, default=5_000, help="rows that come in a round")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        with dt_jupyter.connect(str(lake), scheduler=False, memory="4g") as dt:
            meters = Meters(dt.spark)
            dt.sql("CREATE TABLE events (id BIGINT, day INT, u INT, p INT, amount DECIMAL(10, 2))")
            day = f"CAST(id DIV {args.rows // DAYS} AS INT)"
            insert(dt, 0, args.rows, day, args.rows // 5)
            names = {shape: f"d{i}" for i, shape in enumerate(TABLES)}
            for shape, name in names.items():
                dt.sql(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = '1 day' "
                       f"REFRESH_MODE = INCREMENTAL AS {TABLES[shape]}")  # fmt: skip
            print("| shape | refresh, query: s | wall, CPU | jobs | rows changed | rows read |")
            print("| --- | --- | --- | --- | --- | --- |")
            for number in range(ROUNDS):
                change(dt, number, args.rows, args.changed)
                for shape, name in names.items():
                    made, did = refresh(dt, meters, name)
                    if number == ROUNDS - 1:
                        frame = dt.spark.sql(TABLES[shape])
                        write = frame.write.format("noop").mode("overwrite")
                        print(line(shape, made, meters.measure(write.save), did), flush=True)
            for shape, name in names.items():
                print(f"{shape}: {dt.verify(name)}")


if __name__ == "__main__":
    main()
