"""Dynamic tables over random tables through random changes: each equals its query.

Several batches for each seed, so that a drift of kept state shows; the action is asserted too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from dt_jupyter.model import RefreshRecord, RefreshWay
from dt_jupyter.spark import is_connect
from tests.cases import some
from tests.experiments import RANDOM_LIVES
from tests.spark.engine_lab import Lab, without_check

COLUMNS = {
    "id": "INT", "k": "STRING", "v": "INT", "big": "BIGINT", "x": "DECIMAL(10,2)",
    "wide": "DECIMAL(30,5)", "f": "DOUBLE", "r": "FLOAT", "day": "DATE", "at": "TIMESTAMP",
    "ok": "BOOLEAN", "b": "BINARY", "l": "ARRAY<INT>",
}  # fmt: skip
STRINGS = ["'a'", "'A'", "''", "'it''s'", "'\"q\"'", "'😀'", "'back`tick'", "'a b'"]


def value(type_: str, rng: random.Random) -> str:
    """A literal; about one in six is NULL, and few are different."""
    if rng.random() < 0.17:
        return f"CAST(NULL AS {type_})"
    small = rng.randrange(-2, 4)
    match type_:
        case "INT" | "BIGINT":
            return f"CAST({small} AS {type_})"
        case "STRING":
            return rng.choice(STRINGS)
        case "DOUBLE" | "FLOAT":
            text = rng.choice(["NaN", "-0.0", "0.0", "0.5", "1.25", "-Infinity", str(small)])
            return f"CAST('{text}' AS {type_})"
        case "DATE":
            return f"DATE'2024-02-{27 + rng.randrange(3)}'"
        case "TIMESTAMP":
            return f"TIMESTAMP'2024-02-2{rng.randrange(7, 10)} 1{rng.randrange(3)}:00:00.000001'"
        case "BOOLEAN":
            return rng.choice(["TRUE", "FALSE"])
        case "BINARY":
            return rng.choice(["X'00'", "X''", "X'0A0B'"])
        case "ARRAY<INT>":
            return rng.choice(["array()", "array(1)", "array(1, NULL)"]) if small else "array(2, 3)"
    return f"CAST({small}.{rng.randrange(0, 100, 25)} AS {type_})"


@dataclass
class Tables:
    """Two tables of the same columns and a small one, changed at random."""

    lab: Lab
    rng: random.Random
    done: list[str] = field(default_factory=list)

    def start(self) -> None:
        shape = ", ".join(f"{c} {t}" for c, t in COLUMNS.items())
        for name in ("p", "q"):
            self.lab.sql(f"CREATE TABLE {name} ({shape})")
            self.insert(name, 12)
        self.lab.table("dim", "k STRING, name STRING", "'a', 'Alpha'", "'A', 'Beta'", "'', NULL")

    def run(self, statement: str) -> None:
        self.done.append(statement)
        self.lab.sql(statement)

    def rows(self, count: int) -> str:
        made = [
            "(" + ", ".join(value(t, self.rng) for t in COLUMNS.values()) + ")"
            for _ in range(count)
        ]
        made += self.rng.choices(made, k=count // 4)  # duplicates
        return ", ".join(made)

    def insert(self, name: str, count: int) -> None:
        self.run(f"INSERT INTO {name} VALUES {self.rows(count)}")

    def where(self) -> str:
        return self.rng.choice(
            [
                f"id = {self.rng.randrange(-2, 4)}",
                f"v > {self.rng.randrange(3)}",
                "f = 'NaN'",
                f"k = {self.rng.choice(STRINGS)}",
                "k IS NULL",
                "ok",
                "x > 1.5",
                "f = 0.0",
            ]
        )

    def change(self, name: str) -> None:
        assignments = [
            f"{c} = {value(COLUMNS[c], self.rng)}" for c in self.rng.sample(list(COLUMNS), 2)
        ]
        kind = self.rng.choice(
            ["insert"] * 3
            + ["update"] * 3
            + ["delete"] * 2
            + ["merge"] * 2
            + ["overwrite", "optimize", "there and back"]
        )
        match kind:
            case "insert":
                self.insert(name, self.rng.randrange(1, 6))
            case "update":
                self.run(f"UPDATE {name} SET {', '.join(assignments)} WHERE {self.where()}")
            case "delete":
                self.run(f"DELETE FROM {name} WHERE {self.where()}")
            case "merge":
                self.run(
                    f"MERGE INTO {name} t"
                    f" USING (SELECT {self.rng.randrange(-2, 4)} AS id, 1 AS d) s"
                    f" ON t.id = s.id WHEN MATCHED AND t.v > s.d THEN DELETE"
                    f" WHEN MATCHED THEN UPDATE SET {assignments[0]}"
                    f" WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.d)"
                )
            case "overwrite":
                self.run(f"INSERT OVERWRITE {name} VALUES {self.rows(6)}")
            case "optimize":
                self.run(f"OPTIMIZE {name}")
            case "there and back":
                self.run(f"UPDATE {name} SET v = v + 1 WHERE v < 100")
                self.run(f"UPDATE {name} SET v = v - 1 WHERE v < 101")

    def batch(self) -> None:
        for _ in range(self.rng.randrange(1, 4)):
            self.change(self.rng.choice(["p", "p", "q"]))
        if self.rng.random() < 0.3:
            self.run(f"UPDATE dim SET name = {self.rng.choice(STRINGS)} WHERE k = 'a'")


PREDICATES = ["v > 0", "k IS NOT NULL", "x >= 0.5 OR ok", "f > 0", "NOT (v = 1)",
              "day > DATE'2024-02-27'",
              "k LIKE '%a%'", "v <=> big", "r IS NULL OR r < 1"]  # fmt: skip
SCALARS = ["v + 1", "upper(k)", "x * 2", "coalesce(f, 0)", "CASE WHEN ok THEN v ELSE big END",
           "date_trunc('day', at)", "concat(k, '-', v)", "size(l)", "hex(b)", "-f", "x / 3",
           "wide - x", "try_divide(v, big)"]  # fmt: skip
KEYS = ["k", "v", "f", "day", "ok", "x", "at", "upper(k)", "v % 2", "r", "b", "l"]
STATE = ["count(*)", "count(f)", "sum(v)", "sum(big)", "sum(x)", "avg(v)", "avg(x)", "min(f)",
         "max(f)", "min(k)", "max(day)", "min(x)", "max(at)", "max(wide)", "min(ok)",
         "bool_or(v > 1)", "bool_and(ok)", "count_if(v > 0)", "sum(v) FILTER (WHERE ok)",
         "count(*) FILTER (WHERE f > 0)", "count(v, k)", "sum(wide)", "max(r)", "avg(wide)",
         "sum(CAST(v AS SMALLINT))", "100.0 * count_if(ok) / count(*)"]  # fmt: skip
AGAIN = ["stddev(v)", "avg(f)", "sum(f)", "count(DISTINCT v)", "sum(DISTINCT x)", "var_pop(big)",
         "count(DISTINCT k, v)", "median(v)", "bit_xor(v)", "corr(v, big)",
         "max(v) - min(v)"]  # fmt: skip


def query(rng: random.Random) -> str:
    """A query from a template, with random parts."""
    where = rng.choice(PREDICATES)
    scalars = rng.sample(SCALARS, 3)
    items = ", ".join(f"{s} AS s{i}" for i, s in enumerate(scalars))
    calls = rng.sample(STATE, 4) + rng.sample(AGAIN, rng.randrange(2))
    aggregated = ", ".join(f"{c} AS a{i}" for i, c in enumerate(calls))
    keys = rng.sample(KEYS, rng.choice([1, 1, 2]))
    keyed = ", ".join(f"{k} AS g{i}" for i, k in enumerate(keys))
    by = ", ".join(keys)
    having = rng.choice(["", "", " HAVING count(*) > 1", " HAVING max(v) > 0"])
    return rng.choice(
        [
            f"SELECT id, k, f, l, {items} FROM p WHERE {where}",
            f"SELECT * FROM p WHERE {where} AND {rng.choice(PREDICATES)}",
            "SELECT a.id, a.f, b.v AS w, b.b FROM p a JOIN q b ON a.k = b.k AND a.v IS NOT NULL",
            "SELECT a.id, a.k, b.k AS k2 FROM p a JOIN p b ON a.v = b.big WHERE a.ok",
            "SELECT a.id, d.name, b.x FROM p a JOIN dim d ON a.k = d.k JOIN q b ON b.id = a.id",
            "SELECT a.id, b.id AS id2 FROM p a JOIN q b ON a.v < b.v WHERE a.id > 0 AND b.ok",
            f"SELECT id, v AS n, x FROM p WHERE {where} UNION ALL SELECT id, big, wide FROM q",
            f"SELECT {keyed}, {aggregated} FROM p WHERE {where} GROUP BY {by}{having}",
            f"SELECT {keyed}, {aggregated} FROM p GROUP BY {by}{having}",
            f"SELECT {aggregated}, d.name FROM p JOIN dim d USING (k) GROUP BY d.name",
            f"SELECT DISTINCT {keyed}, f FROM p",
            "SELECT k, f FROM p UNION SELECT k, r FROM q",
            "SELECT n, count(*) AS c, sum(s) AS t FROM (SELECT k, count(*) AS n, sum(v) AS s "
            "FROM p GROUP BY k) GROUP BY n",
            "WITH g AS (SELECT k, max(v) AS m, count(*) AS n FROM p GROUP BY k), "
            "h AS (SELECT * FROM g WHERE n > 1) "
            f"SELECT p.id, h.m, h.n FROM (SELECT * FROM p WHERE {where}) p JOIN h ON p.k = h.k",
            "SELECT DISTINCT n FROM (SELECT k, count(*) AS n FROM p "
            "GROUP BY k HAVING count(*) < 9)",
            "SELECT day, n, w FROM vw WHERE n > 0",
            "SELECT v, count(*) AS c, max(n) AS m FROM (SELECT v, k AS s, 1 AS n FROM p "
            "UNION ALL SELECT big, name, 2 FROM q JOIN dim USING (k)) GROUP BY v",
        ]
    )


OVER = [
    "SELECT a.*, 1 AS one FROM t0 a",
    "SELECT count(*) AS c, hash_of FROM (SELECT xxhash64(*) AS hash_of FROM t1) GROUP BY hash_of",
]
BATCHES = 3


def is_moved_in_process(lab: Lab, record: RefreshRecord) -> bool:
    """Whether a refresh of a lab that is to leave all to Spark changed rows without a job of
    Spark's. Spark Connect counts none."""
    did = record.statistics
    if not lab.is_in_spark or is_connect(lab.spark) or not did.inserted_rows + did.deleted_rows:
        return False
    return record.action == "INCREMENTAL" and did.way is not RefreshWay.SPARK


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    without_check(monkeypatch)
    return


def drive(lab: Lab, seed: int, count: int = 5) -> None:
    """`count` random dynamic tables and two over them, moved through the batches; with an odd seed
    no table is taken for a small one."""
    rng = random.Random(seed)
    if seed % 2:
        lab.context.refresher.small.table_bytes = 0
    tables = Tables(lab, rng)
    tables.start()
    lab.sql("CREATE VIEW vw AS SELECT day, count(*) AS n, sum(x) AS w FROM p GROUP BY day")
    queries = {f"t{i}": query(rng) for i in range(count)}
    queries |= {f"o{i}": text for i, text in enumerate(OVER)}
    for name, text in queries.items():
        made = lab.dynamic_table(name, text)
        if not (name.startswith("o")):
            assert made.effective_mode == "INCREMENTAL", f"{text}: {made.mode_reason}"
    for batch in range(BATCHES):
        tables.batch()
        for name, text in queries.items():
            record = lab.record(name)
            story = f"seed {seed}, {name}: {text}\nafter: {tables.done[-4:]}\n{record}"
            assert record.error is None, story
            wanted = (
                ("INCREMENTAL", "NO_DATA")
                if lab.mode(name) == "INCREMENTAL"
                else ("FULL", "NO_DATA")
            )
            assert record.action in wanted, story
            assert not is_moved_in_process(lab, record), story
            wrong = None if batch == 0 else lab.wrong(name)
            assert wrong is None, f"{wrong}\n{story}"


@RANDOM_LIVES
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", some(1, [1, 101]))
def test_random_tables_queries_and_changes(lab: Lab, seed: int) -> None:
    drive(lab, seed)


LONG = {
    "state": "SELECT k, count(*) AS n, sum(v) AS s, avg(x) AS a, min(day) AS lo, max(v) AS hi "
    "FROM p GROUP BY k",
    "keyless": "SELECT a.id, a.v, b.x, d.name FROM p a JOIN q b ON a.id = b.id "
    "LEFT JOIN dim d ON d.k = a.k WHERE a.v IS NOT NULL",
    "staged": "SELECT n, count(*) AS c, max(s) AS m FROM "
    "(SELECT day, count(*) AS n, sum(x) AS s FROM p GROUP BY day) GROUP BY n",
}


def drift(lab: Lab, batches: int, verified_every: int) -> None:
    tables = Tables(lab, random.Random(20))
    tables.start()
    for name, text in LONG.items():
        assert lab.dynamic_table(name, text).effective_mode == "INCREMENTAL"
    for batch in range(1, batches + 1):
        tables.batch()
        for name in LONG:
            record = lab.record(name)
            assert record.error is None, f"{name}, after {tables.done[-4:]}: {record.error}"
            assert record.action in ("INCREMENTAL", "NO_DATA"), f"{name}: {record}"
            assert not is_moved_in_process(lab, record), f"{name}: {record}"
        if batch % verified_every == 0:
            lab.verified(*LONG)


@RANDOM_LIVES
@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_drift_over_some_batches(quick_lab: Lab) -> None:
    """What one refresh leaves is what the next begins with; forty batches at night."""
    drift(quick_lab, 4, 2)
