"""One commit for all that a transaction did to a table, whatever kind of table it is."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from dt_jupyter.lake import TableLog
from dt_jupyter.lake.delta_log.actions import read_actions
from dt_jupyter.lake.delta_log.log_state import table_state
from tests.spark.engine_lab import Lab
from tests.spark.lake_tables import difference

FEED, VECTORS = "delta.enableChangeDataFeed", "delta.enableDeletionVectors"
TRACKED, TIMES = "delta.enableRowTracking", "delta.enableInCommitTimestamps"
MAPPED = "delta.columnMapping.mode"
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "vectors, feed, row ids": ("", {FEED: "true", VECTORS: "true", TRACKED: "true"}),
    "rewritten, feed, mapped, partitioned": (
        "PARTITIONED BY (g)",
        {FEED: "true", VECTORS: "false", MAPPED: "name", TIMES: "true"},
    ),
    "vectors, no feed, row ids, clustered": (
        "CLUSTER BY (id)",
        {FEED: "false", VECTORS: "true", TRACKED: "true"},
    ),
}
BEFORE = [(1, "a b", 10), (2, "a b", 20), (3, None, 30), (4, "c", 40), (5, "c", 50)]
STATEMENTS = (
    "INSERT INTO t VALUES (6, 'new/one', named_struct('v', 60)), (7, NULL, named_struct('v', 70))",
    "UPDATE t SET s = named_struct('v', t.s.v + 1) WHERE id IN (2, 6)",
    "DELETE FROM t WHERE id IN (3, 4)",
    "MERGE INTO t USING (SELECT explode(array(5, 7, 8)) AS i) m ON t.id = m.i "
    "WHEN MATCHED AND i = 7 THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET s = named_struct('v', t.s.v + 100) "
    "WHEN NOT MATCHED THEN INSERT (id, g, s) VALUES (i, 'c', named_struct('v', 80))",
)
AFTER = [(1, "a b", 10), (2, "a b", 21), (5, "c", 150), (6, "new/one", 61), (8, "c", 80)]


def made(lab: Lab, more: str, properties: dict[str, str]) -> TableLog:
    """The table `t` with the rows of BEFORE in two files, one row of each gone since."""
    pairs = ", ".join(f"'{k}' = '{v}'" for k, v in properties.items())
    folder = lab.context.layout.tables / "a t"
    lab.sql(
        f"CREATE TABLE t (id INT, g STRING, s STRUCT<v: INT>) USING delta {more} "
        f"LOCATION '{folder}' TBLPROPERTIES ({pairs})"
    )
    for rows in (BEFORE[:3], BEFORE[3:]):
        values = [(i, g, f"named_struct('v', {v})") for i, g, v in rows]
        values.append((90 + len(rows), "gone", "NULL"))
        texts = (f"({i}, {'NULL' if g is None else repr(g)}, {s})" for i, g, s in values)
        lab.sql(f"INSERT INTO t SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(texts)}")
    lab.sql("DELETE FROM t WHERE id > 90")
    return TableLog(folder)


def rows(lab: Lab, version: int | None = None, ids: bool = False) -> list[tuple[Any, ...]]:
    of = "" if version is None else f" VERSION AS OF {version}"
    more = ", _metadata.row_id" if ids else ""
    found = lab.spark.sql(f"SELECT id, g, s.v{more} FROM t{of}")
    return sorted((tuple(r) for r in found.collect()), key=repr)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_a_table_written_several_times_gets_one_commit(quick_lab: Lab, kind: str) -> None:
    more, properties = KINDS[kind]
    log = made(quick_lab, more, properties)
    before, tracked = log.version(), TRACKED in properties
    ids = {r[0]: r[-1] for r in rows(quick_lab, ids=True)} if tracked else {}
    quick_lab.sql("BEGIN")
    for statement in STATEMENTS:
        quick_lab.sql(statement)
    assert rows(quick_lab) == BEFORE
    quick_lab.sql("COMMIT")
    assert log.version() == before + 1
    assert rows(quick_lab) == AFTER
    assert rows(quick_lab, before) == BEFORE

    changed = difference(Counter(map(repr, BEFORE)), Counter(map(repr, AFTER)))
    found = quick_lab.sql(f"SELECT id, g, s.v, $ACTION FROM t CHANGES AT (VERSION => {before})")
    own: Counter[str] = Counter()
    for *values, action in found:
        own[repr(tuple(values))] += 1 if action == "INSERT" else -1
    assert own == changed
    if properties[FEED] == "true":
        feed = quick_lab.spark.sql(
            f"SELECT id, g, s.v, _change_type FROM table_changes('t', {before + 1})"
        ).collect()
        weighed = Counter(
            {repr(tuple(r)[:3]): 1 if r[3] in ("insert", "update_postimage") else -1 for r in feed}
        )
        assert weighed == changed
        assert len(feed) == len(changed), "what came and went again is not in the feed"
    if tracked:
        now = {r[0]: r[-1] for r in rows(quick_lab, ids=True)}
        assert {i: now[i] for i in (1, 2, 5)} == {i: ids[i] for i in (1, 2, 5)}
        assert len(set(now.values())) == len(AFTER)
        mark = table_state(log, log.version()).row_ids
        assert mark is not None
        assert max(now.values()) <= mark

    quick_lab.sql("UPDATE t SET g = 'z' WHERE id IN (1, 6); DELETE FROM t WHERE id = 2")
    quick_lab.sql("INSERT INTO t VALUES (9, 'c', NULL)")
    last = [(1, "z", 10), (5, "c", 150), (6, "z", 61), (8, "c", 80), (9, "c", None)]
    assert rows(quick_lab) == last
    if tracked:
        assert len({r[-1] for r in rows(quick_lab, ids=True)}) == len(last)
    history = quick_lab.spark.sql("DESCRIBE HISTORY t").collect()
    assert history[3]["operation"] == "TRANSACTION"


def test_one_statement_is_published_as_delta_wrote_it(quick_lab: Lab) -> None:
    log = made(quick_lab, "", {FEED: "true", VECTORS: "true"})
    before = log.version()
    quick_lab.sql("BEGIN; TRUNCATE TABLE t; ROLLBACK; BEGIN")
    quick_lab.sql(STATEMENTS[1])
    quick_lab.sql("UPDATE t SET g = 'none' WHERE id = 77; COMMIT")
    (commit,) = log.commits(before, log.version())
    assert commit.operation == "UPDATE"
    assert commit.metrics["numUpdatedRows"] == "1"
    assert commit.cdc_files
    assert commit.time > log.commit_time(before)
    file = log.path / "_delta_log" / f"{before + 1:020d}.json"
    kinds = Counter(kind for kind, _ in read_actions(file))
    assert kinds["remove"] == kinds["commitInfo"] == 1
    mark = json.loads(commit.user_metadata or "")
    (stated,) = quick_lab.sql(
        f"SELECT count(*) FROM t CHANGES AT (STATEMENT => '{mark['statements'][0]}')"
    )
    assert stated == (0,)
    feed = quick_lab.spark.sql(f"SELECT _change_type FROM table_changes('t', {before + 1})")
    assert sorted(r[0] for r in feed.collect()) == ["update_postimage", "update_preimage"]
