"""Random expressions of the closed list that is evaluated in the process, over edge values."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass
from decimal import Decimal
from random import Random

import pyarrow as pa

D = Decimal
_LONG = decimal.Context(prec=80)


def digits(precision: int, scale: int) -> Decimal:
    """The largest decimal of a type."""
    return D(10**precision - 1).scaleb(-scale, _LONG)


def least(precision: int, scale: int) -> Decimal:
    """The smallest decimal of a type; a minus would round it."""
    return digits(precision, scale).copy_negate()


def moment(*parts: int) -> datetime.datetime:
    return datetime.datetime(*parts).replace(tzinfo=datetime.UTC)


MOMENTS = (
    (1970, 1, 1), (1969, 12, 31, 23, 59, 59, 999_999), (2024, 3, 31, 1, 30), (1900, 1, 1),
    (1582, 10, 4, 23), (1582, 10, 10, 7, 7), (1500, 2, 28, 23, 1), (1, 1, 1), (9999, 12, 31, 12),
)  # fmt: skip
COLUMNS: dict[str, tuple[str, pa.DataType, list[object]]] = {
    "b": ("boolean", pa.bool_(), [True, False]),
    "t": ("tinyint", pa.int8(), [0, 1, -1, 127, -128, 7]),
    "h": ("smallint", pa.int16(), [0, 3, -3, 32767, -32768]),
    "i": ("int", pa.int32(), [0, 1, -1, 2, 10, 2**31 - 1, -(2**31)]),
    "l": ("bigint", pa.int64(), [0, 1, -7, 12, 2**63 - 1, -(2**63), 2**31]),
    "d": ("decimal(5,2)", pa.decimal128(5, 2),
          [D("0.00"), D("0.05"), D("-0.05"), D("1.50"), D("-999.99"), D("999.99"), D("2.00")]),
    "e": ("decimal(15,2)", pa.decimal128(15, 2),
          [D("0.00"), D("1.00"), D("-3.33"), D("0.01"), digits(15, 2), least(15, 2)]),
    "f": ("decimal(20,6)", pa.decimal128(20, 6),
          [D("0.000000"), D("0.000001"), D("-0.500000"), D("3.141593"), digits(20, 6)]),
    "g": ("decimal(37,4)", pa.decimal128(37, 4),
          [D("0.0000"), D("0.0001"), D("-1.0000"), D("12.3456"), digits(37, 4), least(37, 4)]),
    "m": ("decimal(38,0)", pa.decimal128(38, 0), [D(0), D(1), D(-2), D(3), digits(38, 0)]),
    "s": ("string", pa.string(), ["", "a", "A", "b ", "é", "zz", "PROMO a%", "🦆x", "a\nb", "aé"]),
    "u": ("string", pa.string(), ["a", "B", "PROMO", "", "b", "a%"]),
    "y": ("date", pa.date32(), [datetime.date(*d) for d in (
        (1970, 1, 1), (1969, 12, 31), (2024, 2, 29), (2023, 1, 31), (1582, 10, 10), (1, 1, 1),
        (9999, 12, 31), (1998, 12, 1))]),
    "z": ("date", pa.date32(), [datetime.date(2024, 2, 29), datetime.date(1995, 3, 15)]),
    "v": ("timestamp", pa.timestamp("us", "UTC"), [moment(*m) for m in MOMENTS]),
    "w": ("timestamp", pa.timestamp("us", "UTC"), [moment(2024, 2, 29, 23, 59, 59, 999_999)]),
    "n": ("timestamp_ntz", pa.timestamp("us"), [datetime.datetime(*m) for m in MOMENTS]),
    "o": ("double", pa.float64(), [0.0, -0.0, 1.5, float("inf"), float("nan"), 5e-324]),
    "q": ("double", pa.float64(), [0.1, -0.7, 1 / 3, 1e300, 12345.678, -2.5, 9007199254740993.0]),
    "p": ("float", pa.float32(), [0.0, -0.0, 0.5, float("-inf"), float("nan")]),
    "c": ("binary", pa.binary(), [b"", b"a", b"\x00\xff", "é".encode()]),
}  # fmt: skip
"""Each column's type in Spark's words and in Arrow's, and its values."""
KEYS = ("k", pa.int32())
NUMBERS = ("r", pa.int32())
"""Another one for each row."""
INTEGERS = ("t", "h", "i", "l")
DECIMALS = ("d", "e", "f", "g", "m")
TEXTS, DATES = ("s", "u"), ("y", "z")
DOUBLES = ("o", "q")
MOVED_ALONG = ("p", "c")
"""Of types whose values are not computed with."""


def edge_rows(random: Random, rows: int) -> pa.Table:
    """Rows of random edge values; a fifth of them NULL."""
    arrays = {
        KEYS[0]: pa.array([random.randrange(4) for _ in range(rows)], KEYS[1]),
        NUMBERS[0]: pa.array(range(rows), NUMBERS[1]),
    }
    for name, (_, type_, values) in COLUMNS.items():
        drawn = [None if random.random() < 0.2 else random.choice(values) for _ in range(rows)]
        arrays[name] = pa.array(drawn, type_)
    return pa.table(arrays)


@dataclass
class Expressions:
    """Random expressions; many of them overflow."""

    random: Random

    def any(self, depth: int) -> str:
        of = (self.number, self.condition, self.text, self.date, self.time, self.moved_along,
              self.double)  # fmt: skip
        return self.random.choice(of)(depth)

    def moved_along(self, depth: int) -> str:
        return self.random.choice(MOVED_ALONG)

    def time(self, depth: int) -> str:
        """Those with a zone, or one without."""
        if self.random.randrange(3) == 0:
            return "n"
        return self.choice(self.zoned, depth) if depth else self.zoned(0)

    def zoned(self, depth: int) -> str:
        pick = self.random.choice
        if depth and self.random.randrange(2):
            unit = pick(("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"))
            return f"DATE_TRUNC('{unit}', {self.zoned(0)})"
        return pick(("v", "w", "TO_TIMESTAMP(v)"))

    def double(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick(DOUBLES)
        kind = self.random.randrange(6)
        if kind < 2:
            operator = pick("+-*/")
            other = pick((self.double(depth - 1), self.number(0)))
            return f"({self.double(depth - 1)} {operator} {other})"
        if kind == 2:
            return f"CAST({pick((self.number(depth - 1), 'p'))} AS DOUBLE)"
        if kind == 3:
            return pick(
                (f"(+ {self.double(0)})", f"(- {self.double(0)})", f"ABS({self.double(depth - 1)})")
            )
        if kind == 4:
            return f"({pick(INTEGERS)} / {pick((*INTEGERS, '3'))})"
        return self.choice(self.double, depth)

    def number(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick((*INTEGERS, *DECIMALS, "d", "d", "e", "i", "1", "0", "-1", "7", "2.5",
                         "0.05", "100.00", "3000000000"))  # fmt: skip
        kind = self.random.randrange(16)
        if kind < 4:
            operator = pick(("+", "-", "*", "/", "DIV", "+", "-", "*"))
            return f"({self.number(depth - 1)} {operator} {self.number(depth - 1)})"
        if kind == 4:
            return f"({pick(INTEGERS)} % {pick((*INTEGERS, '3', '-2'))})"
        if kind == 5:
            type_ = pick(("bigint", "int", "decimal(37,2)", "decimal(20,4)", "decimal(10,1)"))
            of = pick((self.number, self.number, self.double, self.condition))
            return f"CAST({of(depth - 1)} AS {type_})"
        if kind == 6:
            return f"(- {self.number(0)})"
        if kind == 7:
            part = pick(("year", "month", "day", "quarter"))
            return pick((f"{part}({self.date(depth - 1)})", f"EXTRACT({part} FROM {pick(DATES)})",
                         f"{part}({self.zoned(0)})"))  # fmt: skip
        if kind == 8:
            return f"{pick(('hour', 'minute', 'second'))}({pick(('n', self.zoned(0)))})"
        if kind == 9:
            return f"DATEDIFF({self.date(0)}, {pick((self.date(0), self.zoned(0), 'n'))})"
        if kind == 10:
            return f"ROUND({pick(DECIMALS)}{pick(('', ', 0', ', 1', ', 3', ', 9'))})"
        if kind == 11:
            return pick((f"ABS({pick(INTEGERS)})", f"LENGTH({self.text(depth - 1)})"))
        return self.choice(self.number, depth)

    def choice(self, of: object, depth: int) -> str:
        assert callable(of)
        a, b = of(depth - 1), of(depth - 1)
        kind = self.random.randrange(7)
        if kind == 6:
            return f"NULLIF({a}, {b})"
        if kind == 0:
            return f"{self.random.choice(('COALESCE', 'NVL'))}({a}, {b})"
        if kind == 1:
            return f"CASE WHEN {self.condition(depth - 1)} THEN {a} ELSE {b} END"
        if kind == 2:
            return f"IF({self.condition(depth - 1)}, {a}, {b})"
        if kind == 3:
            return f"LEAST({a}, {b}, {of(0)})"
        if kind == 4:
            return f"GREATEST({a}, {b})"
        x, y, z = (self.number(0) for _ in range(3))
        return f"CASE {x} WHEN {y} THEN {a} WHEN {z} THEN {b} END"

    def condition(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick(("b", "(d > 0)", "(i IS NULL)", "(s = u)", "TRUE", "(y IS NOT NULL)"))
        kind = self.random.randrange(11)
        of = pick((self.number, self.number, self.text, self.date, self.zoned, self.double))
        if kind < 3:
            operator = pick(("=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM",
                             "IS NOT DISTINCT FROM"))  # fmt: skip
            return f"({of(depth - 1)} {operator} {of(depth - 1)})"
        if kind == 3:
            return (
                f"({self.condition(depth - 1)} {pick(('AND', 'OR'))} {self.condition(depth - 1)})"
            )
        if kind == 4:
            return f"(NOT {self.condition(depth - 1)})"
        if kind == 5:
            return f"({of(depth - 1)} BETWEEN {of(0)} AND {of(0)})"
        if kind == 6:
            return f"({of(0)} {pick(('IN', 'NOT IN'))} ({of(0)}, {of(0)}, {of(0)}))"
        if kind == 7:
            pattern = pick(("PROMO%", "%a", "%a%", "_", "a_", "%", "", "a%é", "%\n%"))
            return f"({self.text(depth - 1)} {pick(('LIKE', 'NOT LIKE'))} '{pattern}')"
        if kind == 8:
            within = pick(("STARTSWITH", "ENDSWITH", "CONTAINS"))
            return f"{within}({self.text(depth - 1)}, {self.text(0)})"
        if kind == 9:
            return f"ISNAN({self.double(depth - 1)})"
        return f"({self.condition(depth - 1)} IS {pick(('TRUE', 'FALSE', 'NOT TRUE', 'NULL'))})"

    def text(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick((*TEXTS, "s", "'a'", "'é'", "''", "'it''s'"))
        kind = self.random.randrange(8)
        if kind == 5:
            return f"{pick(('UPPER', 'LOWER'))}({self.text(depth - 1)})"
        if kind == 6:
            return f"{pick(('TRIM', 'LTRIM', 'RTRIM'))}({self.text(depth - 1)})"
        if kind == 7:
            return f"CAST({pick((*INTEGERS, 'b'))} AS STRING)"
        if kind == 0:
            return f"CONCAT({self.text(depth - 1)}, {pick((self.text(0), *INTEGERS))})"
        if kind == 1:
            return f"({pick((self.text(depth - 1), *INTEGERS))} || {self.text(0)})"
        if kind == 2:
            return f"SUBSTRING({self.text(depth - 1)}, {pick((1, 2, 9))}, {pick((1, 2, 7))})"
        return self.choice(self.text, depth)

    def date(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick((*DATES, "y", "DATE '1995-03-15'", "CAST('1998-12-01' AS DATE)"))
        if self.random.randrange(3) == 0:
            count, unit = pick(("1", "90", "3", "12")), pick(("DAY", "MONTH", "YEAR"))
            return f"({self.date(depth - 1)} {pick('+-')} INTERVAL '{count}' {unit})"
        if self.random.randrange(3) == 0:
            moved = (
                f"{pick(('DATE_ADD', 'DATE_SUB'))}({self.date(depth - 1)}, {pick(('1', '400'))})"
            )
            return pick(
                (moved, f"TO_DATE({pick(('n', self.zoned(0)))})", f"CAST({self.zoned(0)} AS DATE)")
            )
        return self.choice(self.date, depth)

    def hash(self) -> str:
        names = self.random.sample(list(COLUMNS), self.random.randrange(1, 6))
        values = [f"CAST({n} AS BINARY)" if n in TEXTS else n for n in names]
        first = self.random.choice(([], ["'dt'"]))
        return f"XXHASH64({', '.join([*first, *values])})"

    def aggregate(self) -> str:
        kind = self.random.randrange(9)
        if kind == 8:
            return self.average()
        if kind < 3:
            return f"SUM({self.number(2)})"
        if kind == 3:
            return self.random.choice(("COUNT(*)", f"COUNT({self.any(1)})"))
        if kind == 4:
            return f"COUNT(DISTINCT {self.any(1)})"
        if kind == 5:
            return f"COALESCE(SUM({self.number(1)}), 0)"
        return f"{self.random.choice(('MIN', 'MAX'))}({self.any(2)})"

    def average(self) -> str:
        return f"AVG({self.random.choice((*INTEGERS, *DECIMALS, self.number(1)))})"

    def window(self) -> str:
        """A function over a window whose order is that of all rows, or with which ties are told
        the same."""
        pick = self.random.choice
        parts = pick(("k", "s", "k, b", "o", "d", "v"))
        partition = f"PARTITION BY {parts} " if self.random.randrange(5) else ""
        first = pick(("r", "i", "d DESC", "s", "y DESC NULLS LAST", "o", "q DESC", "w", "u"))
        total, tied = f"{partition}ORDER BY {first}, r", f"{partition}ORDER BY {first}"
        frame = pick(("", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
                      "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
                      "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
                      "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"))  # fmt: skip
        kind, of = self.random.randrange(7), self.any(1)
        if kind == 0:
            return f"ROW_NUMBER() OVER ({total})"
        if kind == 1:
            rank = pick(("RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST"))
            return f"{rank}() OVER ({tied})"
        if kind == 2:
            return f"NTILE({pick((1, 3))}) OVER ({total})"
        if kind == 3:
            rest = pick(("", ", 1", ", 3", ", 2, NULL"))
            return f"{pick(('LAG', 'LEAD'))}({of}{rest}) OVER ({total})"
        if kind == 4:
            place = pick(("FIRST_VALUE", "LAST_VALUE", "FIRST", "LAST"))
            return pick((f"{place}({of}) OVER ({total} {frame})",
                         f"NTH_VALUE({of}, 2) OVER ({total} {frame})"))  # fmt: skip
        number = self.number(1)
        function = pick((f"SUM({number})", f"COUNT({of})", "COUNT(*)", f"MIN({of})", f"MAX({of})",
                         self.average()))  # fmt: skip
        if kind == 5:
            return f"{function} OVER ({partition.strip()})"
        return f"{function} OVER ({pick((tied, f'{total} {frame}'))})"
