"""TPC-H tables as Delta, and changes of a given share of `lineitem`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine

TABLES = ("lineitem", "orders", "customer")
VIEWS = {
    "filter": "SELECT l_orderkey, l_linenumber, l_partkey, l_quantity, l_shipdate "
    "FROM lineitem WHERE l_quantity > 45",
    "aggregate": "SELECT l_returnflag, l_linestatus, COUNT(*) AS lines, "
    "SUM(l_quantity) AS quantity, SUM(l_extendedprice * (1 - l_discount)) AS revenue, "
    "AVG(l_discount) AS discount FROM lineitem GROUP BY l_returnflag, l_linestatus",
    "extremes": "SELECT l_returnflag, MIN(l_shipdate) AS earliest, MAX(l_shipdate) AS latest "
    "FROM lineitem GROUP BY l_returnflag",
    "by_supplier": "SELECT l_suppkey, COUNT(*) AS lines, SUM(l_extendedprice) AS price, "
    "AVG(l_quantity) AS quantity FROM lineitem GROUP BY l_suppkey",
    "join": "SELECT l_orderkey, l_linenumber, o_orderdate, o_orderpriority, l_extendedprice "
    "FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE l_shipmode = 'AIR'",
    "join_aggregate": "SELECT c_mktsegment, o_orderdate, COUNT(*) AS lines, "
    "SUM(l_extendedprice) AS price FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
    "JOIN customer ON o_custkey = c_custkey GROUP BY c_mktsegment, o_orderdate",
}


def generate(folder: Path, scale: float) -> None:
    """Parquet files by tpchgen-cli, once for each scale."""
    if all((folder / f"{t}.parquet").exists() for t in TABLES):
        return
    folder.mkdir(parents=True, exist_ok=True)
    tool = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent)) or "tpchgen-cli"
    tables = ",".join(TABLES)
    command = [tool, "parquet", "-s", f"{scale:g}", f"--tables={tables}"]
    subprocess.run([*command, f"--output-dir={folder}"], check=True, stdout=subprocess.DEVNULL)


def load(dt: Engine, folder: Path) -> None:
    """The Parquet files as Delta tables with the change feed on from the start."""
    for table in TABLES:
        dt.spark.read.parquet(str(folder / f"{table}.parquet")).createOrReplaceTempView("raw")
        dt.sql(f"CREATE TABLE {table} AS SELECT * FROM raw")


def change(dt: Engine, share: float, mix: str, salt: int) -> None:
    """Changes `share` of lineitem: only inserts, or a third each of inserts, updates, deletes."""
    part = max(1, round(1 / share))
    chosen = f"pmod(xxhash64(l_orderkey, l_linenumber, {salt}), {part}) = 0"
    third = f"pmod(xxhash64(l_linenumber, l_orderkey, {salt + 1}), 3)"
    columns = dt.spark.table("lineitem").columns
    other = f"CAST(l_linenumber + {10 + salt % 1000} AS INT) AS l_linenumber"
    shifted = ", ".join(other if c == "l_linenumber" else c for c in columns)
    some = chosen if mix == "insert" else f"{chosen} AND {third} = 0"
    dt.sql(f"INSERT INTO lineitem SELECT {shifted} FROM lineitem WHERE {some}")
    if mix == "mixed":
        dt.sql(f"UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE {chosen} AND {third} = 1")
        dt.sql(f"DELETE FROM lineitem WHERE {chosen} AND {third} = 2")
