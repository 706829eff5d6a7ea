"""Digests add up, schemas are compared in words, files are read in parts: no JVM."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter.replay.digest import EMPTY, BagDigest, told
from dt_jupyter.replay.snapshot_rows import parts_of

COLUMNS = (("a", "int"), ("b", "string"))


def test_a_change_moves_a_digest_by_its_own_rows() -> None:
    before, row = BagDigest(2, 5, (1 << 64) - 3), BagDigest(1, 7, 4)
    after = before.plus(row)
    assert after == BagDigest(3, 12, 1)
    assert after.plus(BagDigest(-1, -7 % (1 << 64), -4 % (1 << 64))) == before
    assert before.plus(EMPTY).digest(COLUMNS) == before.digest(COLUMNS)
    digests = {b.digest(c) for b in (before, after, EMPTY) for c in (COLUMNS, COLUMNS[:1])}
    assert len(digests) == 6
    assert {len(d or "") for d in digests} == {32}


def test_there_is_no_digest_without_hashes() -> None:
    assert BagDigest(2, None, None).digest(COLUMNS) is None
    assert EMPTY.plus(BagDigest(2, None, None)) == BagDigest(2, None, None)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (COLUMNS, ""),
        ((*COLUMNS, ("c", "date")), "+c date"),
        (COLUMNS[1:], "−a"),
        ((("a", "bigint"), ("b", "string")), "a int → bigint"),
        ((("b", "string"), ("a", "int")), "reordered: b, a"),
        ((("x", "int"), ("b", "string")), "+x int, −a"),
    ],
)
def test_what_changed_of_a_schema(after: Any, words: str) -> None:
    assert told(after, COLUMNS) == words


def test_neighbours_are_read_together_up_to_a_limit() -> None:
    def file(name: str, size: int) -> dict[str, Any]:
        return {"path": name, "size": size}

    files = [file("a", 4), file("b", 4), file("c", 4), file("d", 20), file("e", 1)]
    names = ["".join(f["path"] for f in p) for p in parts_of(files, 10)]
    assert names == ["ab", "c", "d", "e"]
    same = [file("p=1/x", 1), file("p=2/x", 1)]
    assert [len(p) for p in parts_of(same, 10)] == [1, 1]
    assert list(parts_of([], 10)) == []
