"""A few hundred rows of TPC-H's shape, made here, in which each of its queries finds some.

Common values are those that the queries ask for; all else is as in the benchmark: the columns
and types, the keys, a third of the customers without orders, dates in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, TypeVar

from bench.data import store

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine

T = TypeVar("T")
Row = tuple[object, ...]

SCALE = 0.002
"""What Q11's fraction fits."""
COLUMNS = {
    "region": "r_regionkey BIGINT, r_name STRING, r_comment STRING",
    "nation": "n_nationkey BIGINT, n_name STRING, n_regionkey BIGINT, n_comment STRING",
    "supplier": "s_suppkey BIGINT, s_name STRING, s_address STRING, s_nationkey BIGINT, "
    "s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING",
    "part": "p_partkey BIGINT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, "
    "p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING",
    "partsupp": "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, "
    "ps_supplycost DECIMAL(15, 2), ps_comment STRING",
    "customer": "c_custkey BIGINT, c_name STRING, c_address STRING, c_nationkey BIGINT, "
    "c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING",
    "orders": "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus STRING, "
    "o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, "
    "o_shippriority INT, o_comment STRING",
    "lineitem": "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT, "
    "l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), "
    "l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, "
    "l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, "
    "l_comment STRING",
}
_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0),
    ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4),
    ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1),
    ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3),
    ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
_COMMON_NATIONS = (2, 3, 6, 7, 8, 18, 20)
_PARTS = (  # brand, container, type, size, name
    ("Brand#12", "SM BOX", "ECONOMY ANODIZED STEEL", 4, "forest green"),
    ("Brand#23", "MED BOX", "PROMO PLATED BRASS", 9, "green misty"),
    ("Brand#34", "LG CASE", "STANDARD POLISHED BRASS", 15, "azure cyan"),
    ("Brand#45", "JUMBO JAR", "MEDIUM POLISHED TIN", 49, "forest lace"),
    ("Brand#51", "WRAP PACK", "PROMO BURNISHED COPPER", 23, "red green"),
    ("Brand#23", "MED BOX", "ECONOMY ANODIZED STEEL", 3, "forest plum"),
)
_QUARTERS = (
    date(1993, 7, 1), date(1993, 10, 1), date(1994, 1, 1), date(1994, 7, 1), date(1994, 9, 1),
    date(1995, 1, 15), date(1995, 1, 15), date(1995, 6, 15), date(1995, 12, 1), date(1996, 2, 1),
    date(1996, 9, 1), date(1997, 5, 1),
)  # fmt: skip
_NOW = date(1995, 6, 17)
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_INSTRUCTIONS = ("DELIVER IN PERSON", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
_MODES = ("AIR", "AIR REG", "MAIL", "SHIP", "RAIL")
_SUPPLIERS, _PARTS_COUNT, _CUSTOMERS, _ORDERS = 21, 24, 60, 360
_SOLD_BY = 4
"""Suppliers of each part."""


def load(dt: Engine, seed: int = 0) -> None:
    """The eight tables as Delta, the same for the same seed."""
    for table, rows in tables(seed).items():
        store(dt, table, dt.spark.createDataFrame(rows, COLUMNS[table]).coalesce(1))


def tables(seed: int = 0) -> dict[str, list[Row]]:
    """The rows of the eight tables."""
    return _Maker(Random(seed)).tables()


@dataclass
class _Maker:
    rng: Random
    made: dict[str, list[Row]] = field(default_factory=dict)

    def tables(self) -> dict[str, list[Row]]:
        self.made["region"] = [(i, name, "final") for i, name in enumerate(_REGIONS)]
        self.made["nation"] = [(i, n, r, "quick") for i, (n, r) in enumerate(_NATIONS)]
        self.made["supplier"] = [self._supplier(i) for i in range(1, _SUPPLIERS + 1)]
        self.made["part"] = [self._part(i) for i in range(1, _PARTS_COUNT + 1)]
        self.made["partsupp"] = [
            (part, supplier, self.rng.randrange(1, 100), self._money(1, 1000), "even")
            for part in range(1, _PARTS_COUNT + 1)
            for supplier in self._sellers(part)
        ]
        self.made["customer"] = [self._customer(i) for i in range(1, _CUSTOMERS + 1)]
        self.made["orders"], self.made["lineitem"] = [], []
        for i in range(1, _ORDERS + 1):
            self._order(i)
        return self.made

    def _money(self, low: int, high: int) -> Decimal:
        return Decimal(self.rng.randrange(100 * low, 100 * high)) / 100

    def _pick(self, values: Sequence[T]) -> T:
        return self.rng.choice(values)

    def _nation(self, i: int) -> int:
        common = _COMMON_NATIONS[i % len(_COMMON_NATIONS)]
        return common if self.rng.random() < 0.9 else self.rng.randrange(len(_NATIONS))

    def _phone(self, nation: int) -> str:
        return f"{10 + nation}-{self.rng.randrange(100, 1000)}-{self.rng.randrange(100, 1000)}"

    def _sellers(self, part: int) -> list[int]:
        return [1 + (part + n * 5) % _SUPPLIERS for n in range(_SOLD_BY)]

    def _supplier(self, i: int) -> Row:
        nation = self._nation(i)
        comment = "wake Customer bold Complaints" if i % 9 == 0 else "carefully final"
        return (
            i,
            f"Supplier#{i:09}",
            f"street {i}",
            nation,
            self._phone(nation),
            self._money(-999, 9999),
            comment,
        )

    def _part(self, i: int) -> Row:
        brand, container, kind, size, name = _PARTS[i % len(_PARTS)]
        if i % 8 == 3:
            kind, size = "LARGE BRUSHED BRASS", 15
        return (
            i,
            f"{name} {i}",
            f"Manufacturer#{1 + i % 5}",
            brand,
            kind,
            size,
            container,
            self._money(900, 2000),
            "slyly",
        )

    def _customer(self, i: int) -> Row:
        nation = self._nation(i)
        segment = "BUILDING" if i % 2 else self._pick(("MACHINERY", "FURNITURE"))
        return (
            i,
            f"Customer#{i:09}",
            f"road {i}",
            nation,
            self._phone(nation),
            self._money(-999, 9999),
            segment,
            "ironic",
        )

    def _order(self, i: int) -> None:
        day = self._pick(_QUARTERS) + timedelta(self.rng.randrange(75))
        large = i % 12 == 0
        lines = [
            self._line(i, n, day, large) for n in range(1, 8 if large else self.rng.randrange(2, 7))
        ]
        customer = self.rng.randrange(_CUSTOMERS // 3) * 3 + self._pick((1, 2))
        comment = "special packed requests" if i % 5 == 0 else "regular deposits"
        shipped = {line[9] for line in lines}
        status = str(shipped.pop()) if len(shipped) == 1 else "P"
        self.made["orders"].append(
            (
                i,
                customer,
                status,
                self._money(1000, 400_000),
                day,
                self._pick(_PRIORITIES),
                f"Clerk#{i % 7:09}",
                0,
                comment,
            )
        )
        self.made["lineitem"] += lines

    def _line(self, order: int, number: int, day: date, large: bool) -> Row:
        part = self.rng.randrange(1, _PARTS_COUNT + 1)
        quantity = self.rng.randrange(44, 51) if large else self.rng.randrange(1, 31)
        shipped = day + timedelta(self.rng.randrange(1, 60))
        promised = day + timedelta(self.rng.randrange(35, 75))
        received = shipped + timedelta(self.rng.randrange(1, 21))
        past = received <= _NOW
        return (
            order,
            part,
            self._pick(self._sellers(part)),
            number,
            Decimal(quantity),
            quantity * self._money(900, 2000),
            Decimal(self.rng.randrange(11)) / 100,
            Decimal(self.rng.randrange(9)) / 100,
            self._pick("RA") if past else "N",
            "F" if shipped <= _NOW else "O",
            shipped,
            promised,
            received,
            self._pick(_INSTRUCTIONS),
            self._pick(_MODES),
            "furiously",
        )
