"""Declared keys of changes that this process reads: which ones Spark is not asked about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from dt_jupyter.lake import SmallTables, open_log, plan_changes
from dt_jupyter.refresh.source_keys import _Keys

SHAPE = pa.schema([("id", pa.int64()), ("part", pa.string()), ("x", pa.float64())])
FEED = {"delta.enableChangeDataFeed": "true"}


class AskedSpark(Exception):
    pass


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*args: Any) -> None:
        raise AskedSpark

    monkeypatch.setattr(_Keys, "_require", asked)
    monkeypatch.setattr(_Keys, "_require_came", asked)


def rows(*some: tuple[int | None, str]) -> pa.Table:
    columns = [[i for i, _ in some], [p for _, p in some], [float(i or 0) for i, _ in some]]
    return pa.table([pa.array(c, t) for c, t in zip(columns, SHAPE.types, strict=True)], SHAPE)


def insert(*some: tuple[int | None, str]) -> Callable[[str], None]:
    return lambda path: write_deltalake(path, rows(*some), mode="append")


def delete(where: str) -> Callable[[str], None]:
    return lambda path: cast(None, DeltaTable(path).delete(where))


CHANGES: list[tuple[list[Callable[[str], None]], bool]] = [
    ([insert((3, "a"))], True),
    ([insert((1, "c"))], True),
    ([insert((1, "a"))], False),
    ([insert((3, "a"), (3, "a"))], False),
    ([insert((3, "a")), insert((3, "a"))], False),
    ([insert((3, "a")), delete("id = 3"), insert((3, "a"))], True),
    ([delete("id = 1")], True),
    ([delete("id = 1"), insert((1, "a"))], True),
    ([insert((1, "a")), delete("id = 1 AND x = 1")], True),
    ([insert((None, "n"))], False),
    ([insert((None, "m"))], True),
]


@pytest.mark.parametrize("key", [("id", "part"), ("part", "id")])
@pytest.mark.parametrize(("changes", "sure"), CHANGES, ids=map(str, range(len(CHANGES))))
def test_a_change_of_few_rows(
    tmp_path: Path, key: tuple[str, ...], changes: list[Callable[[str], None]], *, sure: bool
) -> None:
    path = str(tmp_path / "t")
    first = rows((1, "a"), (1, "b"), (2, "a"), (None, "n"))
    write_deltalake(path, first, configuration=FEED)
    for change in changes:
        change(path)
    log = open_log(path)
    plan, spark = plan_changes(log, 0, log.version()), cast(Any, None)
    for seen in (plan, None):
        keys = _Keys(log, log.version(), "id", key, "t", seen)
        if sure:
            keys.require_unique(spark, SmallTables())
        else:
            with pytest.raises(AskedSpark):
                keys.require_unique(spark, SmallTables())
