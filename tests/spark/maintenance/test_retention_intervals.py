"""How long a table keeps its past: read as Delta reads it, and never guessed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import get_field

from dt_jupyter.lake import TableLog
from dt_jupyter.model import parse_interval
from tests.spark.engine_lab import Lab, refused
from tests.spark.intervals import NO_LENGTH, REFUSED, SPELLINGS

DELETED = "delta.deletedFileRetentionDuration"


def by_spark(jvm: Any, text: str) -> float | None:
    """The seconds that Spark's parser reads, by which Delta does; None where it refuses, and for
    months, which Delta refuses."""
    found = jvm.org.apache.spark.sql.catalyst.util.IntervalUtils.safeStringToInterval(
        jvm.org.apache.spark.unsafe.types.UTF8String.fromString(text)
    )
    if found is None:
        return None
    months, days, micros = (get_field(found, n) for n in ("months", "days", "microseconds"))
    return None if months else float(days * 86_400_000_000 + micros) / 1e6


def ours(text: str) -> float | None:
    try:
        return parse_interval(text)
    except ValueError:
        return None


def some_text(rng: random.Random) -> str:
    words = ["interval", "INTERVAL", "1", "-2", "+ 3", "0.5", ".5", "4.", "day", "Days", "week",
             "hours", "minute", "seconds", "second", "milliseconds", "microsecond", "month",
             "'7'", ",", "-", "", "007"]  # fmt: skip
    return "".join(
        rng.choice(words) + rng.choice([" ", " ", "  ", "\t", ""])
        for _ in range(rng.randrange(1, 7))
    )


def test_the_parser_agrees_with_sparks(shared_lab: Lab) -> None:
    jvm = shared_lab.spark._jvm
    rng = random.Random(5)
    texts = [*SPELLINGS, *NO_LENGTH, *REFUSED, *(some_text(rng) for _ in range(400))]
    read = {text: by_spark(jvm, text) for text in texts}
    assert {text: ours(text) for text in texts} == read
    assert sum(seconds is not None for seconds in read.values()) > len(SPELLINGS)


def set_by_hand(table: Path, value: str) -> None:
    """A property as another writer leaves it, which Delta's own ALTER TABLE refuses."""
    log = TableLog(table)
    version = log.version()
    for at in range(version, -1, -1):
        text = (table / "_delta_log" / f"{at:020}.json").read_text()
        found = [json.loads(line) for line in text.splitlines() if '"metaData"' in line]
        if found:
            break
    made = found[0]
    made["metaData"]["configuration"][DELETED] = value
    info = {
        "commitInfo": {
            "timestamp": log.commit_time(version).micros // 1000 + 1,
            "operation": "SET TBLPROPERTIES",
        }
    }
    lines = "\n".join(json.dumps(line) for line in (info, made))
    (table / "_delta_log" / f"{version + 1:020}.json").write_text(lines + "\n")


@pytest.fixture
def old(quick_lab: Lab) -> Lab:
    """`t` and `u` have files that no newest version needs."""
    for name in "tu":
        quick_lab.table(name, "id INT", "1", "2")
        quick_lab.sql(f"DELETE FROM {name} WHERE id = 1; INSERT OVERWRITE {name} VALUES (3)")
    return quick_lab


def freed(lab: Lab, hours: float, name: str | None = "t") -> int:
    """The files that a vacuum in so many hours would take."""
    known = lab.context.name(name) if name else None
    then = lab.context.clock.now().plus(hours * 3600)
    return lab.context.keeper.vacuum(known, None, then, dry=True).files


def test_a_vacuum_keeps_what_each_spelling_asks_for(old: Lab) -> None:
    assert freed(old, 100) == 0, "seven days, where nothing is said"
    assert freed(old, 200) > 0
    cases = {
        "365 days": 8760,
        "INTERVAL 2 WEEKS": 336,
        "interval 1 week 2 days": 216,
        "interval 1000000 days": 24_000_000,
        "interval 36 HOURS": 36,
    }
    for text, hours in cases.items():
        old.sql(
            f"ALTER TABLE t SET TBLPROPERTIES ('{DELETED}' = '{text}',"
            f" 'delta.logRetentionDuration' = 'interval 1000000 days')"
        )
        assert freed(old, hours - 1) == 0, text
        assert freed(old, hours + 1) > 0 or hours > 1e6, text
    assert str(old.engine.vacuum("t", dry_run=True)).startswith("VACUUM would free")


def test_what_cannot_be_read_is_not_vacuumed(old: Lab) -> None:
    before = sorted(p.name for p in old.context.layout.tables.rglob("*.parquet"))
    for value in ("1 month", "P30D", "-3 days", ""):
        set_by_hand(old.context.layout.tables / "u", value)
        for name in ("u", None):
            with refused("DT-4110") as errors:
                freed(old, 200, name)
            assert errors[0].facts["value"] == repr(value)
            with refused("DT-4110"):
                old.engine.vacuum(name)
    assert sorted(p.name for p in old.context.layout.tables.rglob("*.parquet")) == before
    assert old.engine.vacuum("u", retain_hours=24).files == 0
    with refused("DT-4110"):
        old.sql("CREATE STREAM s ON TABLE u")
    assert old.sql("SHOW STREAMS") == []


def test_a_stream_lengthens_what_is_shorter_and_nothing_else(old: Lab) -> None:
    log = "'delta.logRetentionDuration' = '400 days'"
    old.sql(f"ALTER TABLE t SET TBLPROPERTIES ('{DELETED}' = '365 days', {log})")
    old.sql(f"ALTER TABLE u SET TBLPROPERTIES ('{DELETED}' = 'interval 1 week 30 minutes')")
    old.sql("CREATE STREAM s ON TABLE t; CREATE STREAM p ON TABLE u")
    kept = {n: TableLog(old.context.layout.tables / n).properties()[DELETED] for n in "tu"}
    assert kept == {"t": "365 days", "u": "interval 14 days"}
