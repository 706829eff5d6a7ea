"""The tables of TPC-H as Delta, and changes of a given share of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine import Engine

TABLES = ("region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem")
MIXES = ("insert", "mixed", "recent", "line_inserts", "lines")
"""What `change` knows: the first three change orders with their lineitems, the others lineitem."""
NEWEST = 20
"""One in so many orders is recent, by its date."""
RARE = 10
"""One in so many as of the orders is changed in a table other than orders and lineitem."""
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
    command = [tool, "parquet", "-s", f"{scale:g}", f"--tables={','.join(TABLES)}"]
    subprocess.run([*command, f"--output-dir={folder}"], check=True, stdout=subprocess.DEVNULL)


def load(dt: Engine, folder: Path, *, vectors: bool = False) -> None:
    """The Parquet files as Delta tables; without deletion vectors an update writes files anew."""
    for table in TABLES:
        rows = dt.spark.read.parquet(str(folder / f"{table}.parquet"))
        store(dt, table, rows, vectors=vectors)


def store(dt: Engine, table: str, rows: DataFrame, *, vectors: bool = False) -> None:
    """A Delta table of the rows, with the change feed on from the start."""
    rows.createOrReplaceTempView("raw")
    kept = " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')" if vectors else ""
    dt.sql(f"CREATE TABLE {table}{kept} AS SELECT * FROM raw")
    dt.spark.catalog.dropTempView("raw")


def change(dt: Engine, share: float, mix: str, salt: int) -> None:
    """Changes `share` of orders with their lineitems, or of lineitem alone, chosen by `salt`.

    `insert` and `line_inserts` only insert; `mixed` and `lines` are a third each of inserts,
    deletes and updates. `mixed` also updates a few customers, parts, suppliers and partsupps;
    `recent` is a third each too, all of it among the newest orders.
    """
    part = max(1, round(1 / share))
    match mix:
        case "insert":
            _insert_orders(dt, _chosen("o_orderkey", salt, part), salt)
        case "mixed":
            _refresh_stream(dt, part, salt)
        case "recent":
            _change_recent(dt, max(1, part // NEWEST), salt)
        case "lines" | "line_inserts":
            _change_lines(dt, part, salt, only_inserts=mix == "line_inserts")
        case _:
            raise ValueError(f"no mix {mix!r}; there are {', '.join(MIXES)}")


def number(salt: int, below: int, *keys: str) -> str:
    """SQL for a number from 0 to `below` − 1, as good as random but the same at every run."""
    return f"pmod(xxhash64({', '.join(keys)}, {salt}), {below})"


def _chosen(key: str, salt: int, part: int) -> str:
    return f"{number(salt, part, key)} = 0"


def _third(key: str, salt: int, which: int, part: int) -> str:
    return f"{_chosen(key, salt, part)} AND {number(salt + 1, 3, key)} = {which}"


def _refresh_stream(dt: Engine, part: int, salt: int) -> None:
    """As the refresh functions RF1 and RF2 do, with updates besides."""
    _insert_orders(dt, _third("o_orderkey", salt, 0, part), salt)
    for table, key in (("lineitem", "l_orderkey"), ("orders", "o_orderkey")):
        dt.sql(f"DELETE FROM {table} WHERE {_third(key, salt, 1, part)}")
    for table, key, columns in (
        ("lineitem", "l_orderkey", _moved_lines(salt)),
        ("orders", "o_orderkey", _moved_orders(salt)),
    ):
        dt.sql(f"UPDATE {table} SET {_listed(columns)} WHERE {_third(key, salt, 2, part)}")
    for table, keys, columns in _others(salt):
        few = f"{number(salt, part * RARE, *keys)} = 0"
        dt.sql(f"UPDATE {table} SET {_listed(columns)} WHERE {few}")


def _change_recent(dt: Engine, part: int, salt: int) -> None:
    """Orders of the newest dates and their lineitems: new ones like them, some gone, some other."""
    share = f"PERCENTILE(DATEDIFF(o_orderdate, DATE'1970-01-01'), {1 - 1 / NEWEST})"
    since = dt.spark.sql(f"SELECT CAST({share} AS INT) FROM orders").collect()[0][0]
    recent = f"o_orderdate >= DATE_ADD(DATE'1970-01-01', {since})"
    for table, key, columns in (
        ("lineitem", "l_orderkey", _moved_lines(salt)),
        ("orders", "o_orderkey", _moved_orders(salt)),
    ):
        for third, action in ((1, "DELETE"), (2, f"UPDATE SET {_listed(columns)}")):
            chosen = f"{recent} AND {_third('o_orderkey', salt, third, part)}"
            keys = f"SELECT o_orderkey AS chosen_key FROM orders WHERE {chosen}"
            dt.sql(f"MERGE INTO {table} USING ({keys}) ON {key} = chosen_key "
                   f"WHEN MATCHED THEN {action}")  # fmt: skip
    _insert_orders(dt, f"{recent} AND {_third('o_orderkey', salt, 0, part)}", salt)


def _insert_orders(dt: Engine, chosen: str, salt: int) -> None:
    """The chosen orders and their lineitems again, under keys that were never used, for other
    customers, with other quantities and prices."""
    last = dt.spark.sql("SELECT MAX(o_orderkey) FROM orders").collect()[0][0]
    customers = dt.spark.sql("SELECT MAX(c_custkey) FROM customer").collect()[0][0]
    picked = (
        f"SELECT o_orderkey AS old_key, {last} + ROW_NUMBER() OVER (ORDER BY o_orderkey) AS new_key"
        f" FROM orders WHERE {chosen} AND o_orderkey <= {last}"
    )
    order = {
        "o_orderkey": "new_key",
        "o_custkey": f"1 + {number(salt, customers, 'new_key')}",
        "o_totalprice": _priced("o_totalprice", salt, "new_key"),
    }
    quantity = f"(1 + {number(salt, 50, 'new_key', 'l_linenumber')})"
    line = {
        "l_orderkey": "new_key",
        "l_quantity": f"CAST({quantity} AS DECIMAL(15, 2))",
        "l_extendedprice": f"CAST(l_extendedprice / l_quantity * {quantity} AS DECIMAL(15, 2))",
    }
    for table, key, instead in (("lineitem", "l_orderkey", line), ("orders", "o_orderkey", order)):
        names = dt.spark.table(table).columns
        items = ", ".join(f"{instead.get(n, n)} AS {n}" for n in names)
        dt.sql(
            f"INSERT INTO {table} SELECT {items} FROM {table} JOIN ({picked}) ON {key} = old_key"
        )


def _moved_lines(salt: int) -> dict[str, str]:
    keys = ("l_orderkey", "l_linenumber")
    late = f"CASE WHEN {number(salt + 4, 3, *keys)} = 0 THEN {{n}} ELSE 0 END"
    return {
        "l_quantity": f"CAST(1 + {number(salt + 2, 50, *keys)} AS DECIMAL(15, 2))",
        "l_extendedprice": _priced("l_extendedprice", salt + 3, *keys),
        "l_shipdate": f"DATE_ADD(l_shipdate, {late.format(n=7)})",
        "l_receiptdate": f"DATE_ADD(l_receiptdate, {late.format(n=14)})",
    }


def _moved_orders(salt: int) -> dict[str, str]:
    status, priority = (number(salt + n, 5, "o_orderkey") for n in (2, 3))
    return {
        "o_totalprice": _priced("o_totalprice", salt + 4, "o_orderkey"),
        "o_orderstatus": f"CASE {status} WHEN 0 THEN 'F' WHEN 1 THEN 'P' ELSE o_orderstatus END",
        "o_orderpriority": f"ELT(1 + {priority}, '1-URGENT', '2-HIGH', '3-MEDIUM', "
        "'4-NOT SPECIFIED', '5-LOW')",
    }


def _others(salt: int) -> list[tuple[str, tuple[str, ...], dict[str, str]]]:
    """Table, key and assignments of the tables that change rarely."""
    customer, part, supplier = ("c_custkey",), ("p_partkey",), ("s_suppkey",)
    partsupp = ("ps_partkey", "ps_suppkey")
    return [
        ("customer", customer, {"c_acctbal": _priced("c_acctbal", salt, *customer)}),
        ("part", part, {
            "p_size": f"CAST(1 + {number(salt + 2, 50, *part)} AS INT)",
            "p_retailprice": _priced("p_retailprice", salt, *part),
        }),
        ("supplier", supplier, {
            "s_acctbal": _priced("s_acctbal", salt, *supplier),
            "s_address": f"CONCAT('moved ', {number(salt, 10_000, *supplier)})",
        }),
        ("partsupp", partsupp, {
            "ps_supplycost": _priced("ps_supplycost", salt, *partsupp),
            "ps_availqty": f"CAST(1 + {number(salt + 2, 9_999, *partsupp)} AS INT)",
        }),
    ]  # fmt: skip


def _priced(column: str, salt: int, *keys: str) -> str:
    """The column's amount, up to a tenth less or more."""
    factor = f"(0.9 + {number(salt, 2001, *keys)} / 10000)"
    return f"CAST({column} * {factor} AS DECIMAL(15, 2))"


def _listed(columns: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in columns.items())


def _change_lines(dt: Engine, part: int, salt: int, *, only_inserts: bool) -> None:
    chosen = f"pmod(xxhash64(l_orderkey, l_linenumber, {salt}), {part}) = 0"
    third = f"pmod(xxhash64(l_linenumber, l_orderkey, {salt + 1}), 3)"
    columns = dt.spark.table("lineitem").columns
    other = f"CAST(l_linenumber + {10 + salt % 1000} AS INT) AS l_linenumber"
    shifted = ", ".join(other if c == "l_linenumber" else c for c in columns)
    some = chosen if only_inserts else f"{chosen} AND {third} = 0"
    dt.sql(f"INSERT INTO lineitem SELECT {shifted} FROM lineitem WHERE {some}")
    if not only_inserts:
        dt.sql(f"UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE {chosen} AND {third} = 1")
        dt.sql(f"DELETE FROM lineitem WHERE {chosen} AND {third} = 2")
