"""CHANGES over random intervals of random histories: against the two snapshots and their row ids.

The history writes, overwrites, merges, restores, compacts and changes the schema of a table. What
a change must be is computed from both snapshots, in the columns of the end: where rows have ids,
from the rows of each id.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.lake import TableLog
from dt_jupyter.spark.relations import lookup
from tests.cases import some
from tests.spark.engine_lab import Lab, refused

SEEDS = range(int(os.environ.get("DT_JUPYTER_SEEDS", "3")))
"""The seed chooses the kind of table too."""
STEPS, INTERVALS = 8, 3
Row = tuple[Any, ...]
Change = tuple[str, str, bool]
"""The contents of a row as a text (NaN equals itself there, and −0.0 is not 0.0), its action, and
whether it is of an update."""

VALUES = {
    "STRING": ("'a'", "'A'", "''", "NULL"),
    "DOUBLE": ("0.0D", "-0.0D", "1.5D", "double('NaN')", "NULL"),
    "INT": ("0", "1", "NULL"),
}


@dataclass(frozen=True)
class Kind:
    """A table by its properties, and by what its rows are told apart (None: their contents)."""

    name: str
    properties: Mapping[str, str]
    id: str | None
    mapped: bool = False


TRACKED = {"delta.enableRowTracking": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}
KEYED = {"dt.primaryKey": "id"}
KINDS = (
    Kind("tracked, mapped", TRACKED | MAPPED, "_metadata.row_id", mapped=True),
    Kind("keyed, mapped, no vectors", KEYED | MAPPED | {"delta.enableDeletionVectors": "false"},
         "id", mapped=True),
    Kind("contents", {}, None),
    Kind("keyed, no feed", KEYED | {"delta.enableChangeDataFeed": "false"}, "id"),
    Kind("tracked", TRACKED, "_metadata.row_id"),
    Kind("contents, mapped, no vectors", MAPPED | {"delta.enableDeletionVectors": "false"}, None,
         mapped=True),
)  # fmt: skip
TYPES = {"string": "STRING", "double": "DOUBLE", "integer": "INT"}


@dataclass(frozen=True)
class Snapshot:
    """The rows of a version, each with its id, and each column, by what it is known by for ever,
    with its name and type."""

    columns: Mapping[Any, tuple[str, str]]
    rows: Sequence[tuple[Row, Any]]

    def shown_as(self, end: Snapshot) -> list[tuple[Row, Any]]:
        """In the columns of another version: older rows lack what came later."""
        place = {c: i for i, c in enumerate(self.columns)}
        return [
            (tuple(r[place[c]] if c in place else None for c in end.columns), i)
            for r, i in self.rows
        ]


@dataclass
class History:
    """A table `t` and what is done to it at random; `told` is all of it."""

    lab: Lab
    rng: random.Random
    kind: Kind
    told: list[str] = field(default_factory=list)
    fresh: int = 0
    kept: dict[int, Snapshot] = field(default_factory=dict)

    def run(self, sql: str) -> None:
        self.told.append(sql)
        self.lab.sql(sql)
        version = self.log.version()
        if version not in self.kept:
            query = f"SELECT *, {self.kind.id or 'NULL'} AS __id FROM t"
            rows = [tuple(r) for r in self.lab.spark.sql(query).collect()]
            self.kept[version] = Snapshot(self._schema(version), [(r[:-1], r[-1]) for r in rows])

    def start(self) -> None:
        pairs = ", ".join(f"'{k}' = '{v}'" for k, v in self.kind.properties.items())
        properties = f"TBLPROPERTIES ({pairs})" if pairs else ""
        self.run(f"CREATE TABLE t (id INT, k STRING, x DOUBLE) {properties}")
        self.run(f"INSERT INTO t VALUES {self.rows(6)}")

    @property
    def columns(self) -> dict[str, str]:
        """The names and types of the table as it is."""
        return {n: TYPES[t] for n, t in self._schema(self.log.version()).values()}

    def value(self, type_: str) -> str:
        return self.rng.choice(VALUES[type_])

    def rows(self, count: int, ids: Sequence[int] | None = None) -> str:
        """Rows with ids that no row has had, or with `ids`."""
        if ids is None:
            ids = range(self.fresh, self.fresh + count)
            self.fresh += count
        others = [t for n, t in self.columns.items() if n != "id"]
        return ", ".join(f"({', '.join([str(i), *map(self.value, others)])})" for i in ids)

    def step(self) -> None:
        shaping = ["add"] + (["rename", "rename", "drop"] if self.kind.mapped else [])
        getattr(self, "_" + self.rng.choice([
            "insert", "insert", "insert_duplicates", "update", "update", "there_and_back",
            "delete", "delete_all_of_a_file", "merge", "merge", "overwrite", "replace_where",
            "optimize", "restore", "restore", self.rng.choice(shaping), self.rng.choice(shaping),
        ]))()  # fmt: skip

    def _some(self) -> str:
        return f"id % {self.rng.randint(2, 4)} = {self.rng.randint(0, 1)}"

    def _other(self) -> tuple[str, str]:
        return self.rng.choice([(n, t) for n, t in self.columns.items() if n != "id"])

    def _insert(self) -> None:
        self.run(f"INSERT INTO t VALUES {self.rows(4)}")

    def _insert_duplicates(self) -> None:
        if self.kind.id == "id":
            return self._insert()
        return self.run(f"INSERT INTO t SELECT * FROM t WHERE {self._some()}")

    def _update(self) -> None:
        name, type_ = self._other()
        self.run(f"UPDATE t SET {name} = {self.value(type_)} WHERE {self._some()}")

    def _there_and_back(self) -> None:
        self.run("UPDATE t SET id = id + 1000")
        self.run("UPDATE t SET id = id - 1000")

    def _delete(self) -> None:
        self.run(f"DELETE FROM t WHERE {self._some()}")

    def _delete_all_of_a_file(self) -> None:
        first = self.fresh
        self._insert()
        self.run(f"DELETE FROM t WHERE id >= {first}")

    def _merge(self) -> None:
        name, type_ = self._other()
        rest = ", ".join(f"{self.value(t)} AS {n}" for n, t in self.columns.items() if n != "id")
        shift = self.rng.choice([0, 1, 3])
        source = f"SELECT DISTINCT id + {shift} AS id, {rest} FROM t WHERE {self._some()}"
        gone = f"WHEN MATCHED AND t.{name} <=> s.{name} THEN DELETE "
        self.run(
            f"MERGE INTO t USING ({source}) s ON t.id = s.id {self.rng.choice(['', gone])}"
            f"WHEN MATCHED THEN UPDATE SET {name} = {self.value(type_)} "
            "WHEN NOT MATCHED THEN INSERT *"
        )
        self.fresh += shift

    def _overwrite(self) -> None:
        """With some of the rows as they are, or others of the same ids."""
        names = ", ".join(f"{n}" for n in self.columns if n != "id")
        kept = self.rng.choice(
            [
                f"SELECT * FROM t WHERE {self._some()}",
                f"SELECT id, {names} FROM t WHERE id < 4",
                f"VALUES {self.rows(3, range(3))}",
                f"VALUES {self.rows(3)}",
            ]
        )
        self.run(f"INSERT OVERWRITE t {kept}")

    def _replace_where(self) -> None:
        self.run(f"INSERT INTO t REPLACE WHERE id < 3 VALUES {self.rows(2, (0, 2))}")

    def _optimize(self) -> None:
        self.run(self.rng.choice(["OPTIMIZE t", "OPTIMIZE t ZORDER BY (id)"]))

    def _restore(self) -> None:
        self.run(f"RESTORE TABLE t TO VERSION AS OF {self.rng.randint(1, self.log.version())}")

    def _add(self) -> None:
        free = [n for n in ("m", "n", "k", "x") if n not in self.columns]
        name, type_ = self.rng.choice(free or ["o"]), self.rng.choice(list(VALUES))
        if name not in self.columns:
            self.run(f"ALTER TABLE t ADD COLUMN {name} {type_}")
            self.run(f"UPDATE t SET {name} = {self.value(type_)} WHERE {self._some()}")

    def _rename(self) -> None:
        name, _ = self._other()
        self.run(f"ALTER TABLE t RENAME COLUMN {name} TO {name[0]}{len(self.told)}")

    def _drop(self) -> None:
        if len(self.columns) > 2:
            self.run(f"ALTER TABLE t DROP COLUMN {self._other()[0]}")
        else:
            self._add()

    # -- what is known of it ----------------------------------------------------------------------

    @cached_property
    def log(self) -> TableLog:
        relation = lookup(self.lab.spark, self.lab.context.name("t"))
        assert relation is not None
        assert relation.location is not None
        return TableLog(Path(relation.location))

    def _schema(self, version: int) -> dict[Any, tuple[str, str]]:
        key = "delta.columnMapping.id"
        fields = self.log.metadata(version).fields
        return {f["metadata"].get(key, f["name"]): (f["name"], f["type"]) for f in fields}

    def touched(self, old: int, new: int) -> set[str]:
        """The names of columns that were dropped or renamed on the way."""
        found = set()
        for version in range(old + 1, new + 1):
            before, after = self._schema(version - 1), self._schema(version)
            found |= {n for c, (n, _) in before.items() if after.get(c, ("", ""))[0] != n}
        return found

    def names(self, version: int) -> list[str]:
        return [n for n, _ in self.kept[version].columns.values()]

    def ends(self, old: int, new: int) -> tuple[list[tuple[Row, Any]], list[tuple[Row, Any]]]:
        """The rows at both ends, in the columns of the new one."""
        return self.kept[old].shown_as(self.kept[new]), list(self.kept[new].rows)


def texts(rows: Iterable[tuple[Row, Any]]) -> list[tuple[str, Any]]:
    return [(repr(r), i) for r, i in rows]


def by_content(old: Sequence[tuple[str, Any]], new: Sequence[tuple[str, Any]]) -> Counter[Change]:
    """What came and went of equal rows, counted."""
    before, after = Counter(t for t, _ in old), Counter(t for t, _ in new)
    gone, come = before - after, after - before
    return Counter(
        {(t, "DELETE", False): n for t, n in gone.items()}
        | {(t, "INSERT", False): n for t, n in come.items()}
    )


def by_id(
    old: Sequence[tuple[str, Any]], new: Sequence[tuple[str, Any]]
) -> dict[tuple[Any, str], Change]:
    """For each id and action the row that it is of."""
    before, after = ({i: t for t, i in rows} for rows in (old, new))
    assert len(before) == len(old)
    assert len(after) == len(new)
    found: dict[tuple[Any, str], Change] = {}
    for i in before.keys() | after.keys():
        if before.get(i) == after.get(i):
            continue
        both = i in before and i in after
        for rows, action in ((before, "DELETE"), (after, "INSERT")):
            if i in rows:
                found[i, action] = rows[i], action, both
    return found


def check(history: History, old: int, new: int, known: dict[Any, str]) -> None:
    """The changes between two versions are what the snapshots say, or are refused where a name
    that the end has stood for something else on the way; `known` are the ids of rows so far."""
    story = "\n".join([f"{history.kind.name}, ({old}, {new}]:", *history.told])
    if history.touched(old, new).intersection(history.names(new)):
        with refused("DT-3103"):
            history.lab.engine.changes("t", old, new)
        return
    found = history.lab.engine.changes("t", old, new).collect()
    before, after = map(texts, history.ends(old, new))
    changes = [(repr(tuple(r)[:-3]), r["$ACTION"], r["$ISUPDATE"]) for r in found]
    unique = {(r["$ROW_ID"], r["$ACTION"]) for r in found}
    assert len(unique) == len(found), story
    if history.kind.id is None:
        assert Counter(changes) == by_content(before, after), story
        return
    expected = by_id(before, after)
    assert sorted(changes) == sorted(expected.values()), story
    same_id(found, expected, known, story)


def same_id(
    found: Sequence[Any],
    expected: Mapping[tuple[Any, str], Change],
    known: dict[Any, str],
    story: str,
) -> None:
    """Each row has one `$ROW_ID`, over all intervals, and no two rows have the same; rows that are
    alike but for their ids cannot be told apart here, and are left out."""
    alike = Counter(expected.values())
    ids = {c: i for (i, _), c in expected.items() if alike[c] == 1}
    for row in found:
        change = repr(tuple(row)[:-3]), row["$ACTION"], row["$ISUPDATE"]
        if change in ids:
            assert known.setdefault(ids[change], row["$ROW_ID"]) == row["$ROW_ID"], story
    assert len(set(known.values())) == len(known), story


QUERIES = (
    "SELECT a.id, a.{c}, b.id AS other FROM t a LEFT JOIN t b ON b.id = a.id + 1",
    "SELECT id % 3 AS part, count(*) AS n, count({c}) AS m FROM t GROUP BY id % 3",
    "SELECT id, {c} FROM t WHERE {c} IS NOT NULL",
    "SELECT a.id, b.{c} FROM t a JOIN t b ON b.id = a.id AND a.{c} <=> b.{c}",
    "SELECT id, {c} FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.id = a.id + 2)",
)


def check_query(history: History, old: int, new: int) -> None:
    """The changes of a query lead from its old rows to its new ones, and nothing is there twice."""
    name = history.rng.choice([n for n in history.names(new) if n != "id"])
    choice = history.rng.choice(QUERIES[2:3] if history.kind.id is None else QUERIES)
    query = choice.format(c=name)
    story = "\n".join([f"{history.kind.name}, ({old}, {new}] of {query}:", *history.told])
    if name in history.touched(old, new):
        with refused("DT-3103"):
            history.lab.engine.query_changes(query, old, new)
        return
    shape = ", ".join(f"{n} {TYPES[t]}" for n, t in history.kept[new].columns.values())
    text = re.sub(r"\b(FROM|JOIN) t\b", r"\1 rows_of_then", query)
    ends = []
    for rows in history.ends(old, new):
        then = history.lab.spark.createDataFrame([r for r, _ in rows], shape)
        then.createOrReplaceTempView("rows_of_then")
        ends.append(Counter(repr(tuple(r)) for r in history.lab.spark.sql(text).collect()))
    found = history.lab.engine.query_changes(query, old, new).frame.collect()
    weights: Counter[str] = Counter()
    for row in found:
        weights[repr(tuple(row)[:-3])] += 1 if row["$ACTION"] == "INSERT" else -1
    expected = {r: ends[1][r] - ends[0][r] for r in ends[0] | ends[1] if ends[0][r] != ends[1][r]}
    assert {r: n for r, n in weights.items() if n} == expected, story
    images = [(r["$ROW_ID"], r["$ACTION"], repr(tuple(r)[:-3])) for r in found]
    assert len({i[:2] for i in images}) == len(images), story
    assert len({(i, t) for i, _, t in images}) == len(images), story


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", some(1, SEEDS))
def test_changes_over_random_intervals_of_random_histories(quick_lab: Lab, seed: int) -> None:
    kind = KINDS[seed % len(KINDS)]
    history = History(quick_lab, random.Random(seed), kind)
    history.start()
    for _ in range(STEPS):
        history.step()
    known: dict[Any, str] = {}
    for _ in range(INTERVALS):
        old, new = sorted(history.rng.sample(sorted(history.kept), k=2))
        check(history, old, new, known)
    check_query(history, old, new)
