"""Folders of Parquet, CSV and JSON lines."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dt_jupyter.sinks import Binding, Task, hash_ranges
from dt_jupyter.sinks.drivers.file_formats import FORMATS
from tests.sinks.conformance import Protocol
from tests.sinks.site import Site, Talk, row
from tests.unit.sinks.lab import Change, D, I, Row, binding, refused, summed

LONG, TEXT = pa.int64(), pa.string()


class FilesSite(Site):
    def __init__(self, folder: Path, format_: str) -> None:
        super().__init__()
        self.folder, self.format = folder, format_

    def url(self) -> str:
        return f"file://{self.folder}?format={self.format}"

    def table(self, made: Binding) -> pa.Table:
        place = self.folder / made.target
        if not (place / "_manifest.json").exists():
            return made.schema.empty_table()
        names = json.loads((place / "_manifest.json").read_text())["files"].values()
        parts = [FORMATS[self.format].read(place / name, made.schema) for name in names]
        there = {p.name for p in place.iterdir() if not p.name.startswith(("_", "."))}
        assert there == set(names), "files that nobody needs"
        return pa.concat_tables([made.schema.empty_table(), *parts])

    def rows(self, made: Binding) -> dict[Any, Row]:
        found = self.table(made).to_pylist()
        keys = [tuple(row[k] for k in made.key) for row in found]
        assert len(set(keys)) == len(keys), "a key in two files"
        return dict(zip(keys, found, strict=True))


@pytest.fixture
def format_() -> str:
    return "parquet"


@pytest.fixture
def fresh(tmp_path: Path, format_: str) -> Callable[[], Site]:
    numbers = itertools.count()
    return lambda: FilesSite(tmp_path / str(next(numbers)), format_)


@pytest.fixture
def site(fresh: Callable[[], Site]) -> Site:
    return fresh()


class Files(Protocol):
    FENCED = "DT-6143"
    STRIDE = 11

    def test_a_folder_that_is_not_empty_is_not_ours(self, site: FilesSite) -> None:
        (site.folder / "t").mkdir(parents=True)
        (site.folder / "t" / "mine.txt").write_text("x")
        with refused("DT-6140"):
            site.deliver(summed(), [(I, row(1, 1))])
        assert [p.name for p in (site.folder / "t").iterdir() if p.name != "_lock"] == ["mine.txt"]

    def test_two_sinks_into_one_folder_are_refused(self, site: FilesSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        with refused("DT-6141"):
            site.deliver(summed(), [(I, row(1, 1))], sink="other")

    @pytest.mark.parametrize("gone", ["_manifest.json", "data"])
    def test_what_was_deleted_by_hand_is_told(self, site: FilesSite, gone: str) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        pattern = "[0-9]*-*" if gone == "data" else gone
        (found,) = (site.folder / "t").glob(pattern)
        found.unlink()
        (site.folder / "t" / "other").write_text("x")
        with refused("DT-6143"):
            site.deliver(summed(), [(I, row(1, 1)), (I, row(1, 1))], size=1)

    def test_a_column_that_is_added_and_a_type_that_is_widened_come(self, site: FilesSite) -> None:
        narrow = binding(("k", LONG), ("v", pa.int32()))
        wide = binding(("k", LONG), ("v", LONG), ("w", TEXT))
        site.deliver(narrow, [(I, {"k": 1, "v": 1})])
        big: Row = {"k": 2, "v": 2**40, "w": "x"}
        site.deliver(wide, [(I, {"k": 1}), (I, big)], size=1)
        assert site.rows(wide) == {(1,): {"k": 1, "v": 1, "w": None}, (2,): big}
        with refused("DT-6142"):
            site.deliver(narrow, [])

    def test_delta_updates_are_rows_with_tombstones(self, site: FilesSite) -> None:
        made = summed(delta=True)
        changes: list[Change] = [(I, row(1, v)) for v in (-1, 3, 2, 6, -7, -1)]
        site.deliver(made, [*changes, (D, {"k": 1})], size=3)
        columns = (*((c.name, c.type) for c in made.columns), ("dt_deleted", pa.bool_()))
        found = site.table(binding(*columns)).to_pylist()
        assert [(r["v"], r["dt_deleted"]) for r in found] == [(4, False), (-2, False), (None, True)]

    def test_a_folder_that_cannot_be_made_is_told(self, site: FilesSite) -> None:
        site.folder.write_text("a file is in the way")
        with refused("DT-6110"):
            site.deliver(summed(), [])

    def test_rows_of_which_the_log_knows_nothing_are_not_added_to(self, site: FilesSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        site.log.rows.clear()
        with refused("DT-6143"):
            site.deliver(summed(), [(I, row(1, 1))])

    def test_a_folder_that_was_emptied_is_told(self, site: FilesSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        shutil.rmtree(site.folder)
        with refused("DT-6143"):
            site.deliver(summed(), [(I, row(1, 1)), (I, row(1, 1))], size=1)

    def test_nothing_staged_stays(self, site: FilesSite) -> None:
        site.deliver(summed(), [(I, row(k, 1)) for k in range(40)], size=7)
        assert list((site.folder / "t" / "_staged").iterdir()) == []


class TestParquet(Files):
    pass


class TestCsv(Files):
    REFUSED = frozenset({"nul", "nested nul", "binary", "array", "map", "struct", "nested nan"})
    STRIDE = 40

    @pytest.fixture
    def format_(self) -> str:
        return "csv"


class TestJsonLines(Files):
    STRIDE = 40

    @pytest.fixture
    def format_(self) -> str:
        return "jsonl"


def test_a_format_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with refused("DT-1003"):
        FilesSite(tmp_path, "xml").deliver(summed(), [])


def test_what_was_staged_and_never_committed_goes_when_its_task_opens_again(
    tmp_path: Path,
) -> None:
    """Nobody can commit it any more: whoever staged it is fenced. Another task's stays."""
    site = FilesSite(tmp_path, "parquet")
    for part in hash_ranges(2):
        talk = Talk(site, summed(), Task("s", part))
        talk.flush()
        talk.store(row(1, 5))
        talk.start(1)
        site.driver_checkpoint = {}
    staged = tmp_path / "t" / "_staged"
    assert len(list(staged.iterdir())) == 2
    left, right = hash_ranges(2)
    Talk(site, summed(), Task("s", left)).close()
    (other,) = staged.iterdir()
    assert other.name.startswith(str(right))
    assert site.rows(summed()) == {}
