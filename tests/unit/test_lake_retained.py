"""Files that VACUUM took are missed before anything is read: logs written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.lake import Unchanged, plan_changes
from dt_jupyter.lake.retained import gone_from_change, gone_from_snapshot
from tests.unit.delta_logs import Written, add, info, metadata, remove

CDC = {"cdc": {"path": "_change_data/c", "size": 7, "partitionValues": {}, "dataChange": False}}


def table(folder: Path, *there: str) -> Written:
    """a and b, of which a is rewritten as c; b and c are compacted into d, and e is added; of all
    these files only those `there` are on the disk."""
    made = Written(folder / "t", metadata(enableChangeDataFeed="true"))
    made.commit(info(), add("a"), add("b%20b"))
    made.commit(info("UPDATE"), remove("a"), add("c"), CDC)
    made.commit(info("OPTIMIZE"), *(remove(f, change=False) for f in ("b%20b", "c")),
                add("d", change=False))  # fmt: skip
    made.commit(info(), add("e"))
    for name in there:
        file = made.path / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
    return made


def told(made: Written, old: int, new: int, **how: Any) -> str | None:
    said = gone_from_change(made.log, plan_changes(made.log, old, new), **how)
    assert said is None or said.startswith("VACUUM removed ")
    return said and said.split()[2].rstrip(",")


@pytest.mark.parametrize(
    ("there", "by_feed", "by_files", "first_images"),
    [
        (("a", "b b", "c", "d", "e", "_change_data/c"), None, None, None),
        (("b b", "c", "d", "e", "_change_data/c"), None, "a", None),
        (("a", "b b", "c", "d", "e"), "_change_data/c", None, None),
        (("a", "b b", "d", "e", "_change_data/c"), None, "c", "c"),
        (("a", "b b", "c", "d", "_change_data/c"), "e", "e", "e"),
    ],
)
def test_what_a_change_is_read_from(
    tmp_path: Path, there: tuple[str, ...], by_feed: str | None, by_files: str | None,
    first_images: str | None,
) -> None:  # fmt: skip
    made = table(tmp_path, *there)
    assert told(made, 1, 4, by_feed=True) == by_feed
    assert told(made, 1, 4, by_feed=False) == by_files
    assert told(made, 1, 4, by_feed=False, first_images=True) == first_images


def test_a_name_in_the_log_is_encoded(tmp_path: Path) -> None:
    made = table(tmp_path, "a", "c", "d", "e")
    assert told(made, 0, 1, by_feed=True) == "b"  # of "b b"
    (made.path / "b b").touch()
    assert told(made, 0, 1, by_feed=True) is None


def test_what_was_compacted_is_missed_in_an_old_snapshot_alone(tmp_path: Path) -> None:
    made = table(tmp_path, "d", "e")
    assert gone_from_change(made.log, Unchanged(), by_feed=False) is None
    assert [bool(gone_from_snapshot(made.log, v)) for v in range(5)] == [
        False, True, True, False, False,
    ]  # fmt: skip
    assert told(made, 3, 4, by_feed=False) is None
