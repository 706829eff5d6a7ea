"""Deletion vectors as they are written are those that are read; what is broken is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dt_jupyter.lake.delta_log.deletion_vectors import read_places, write_places
from dt_jupyter.lake.errors import LogBroken, NotSupported

RANDOM = np.random.default_rng(3)
VECTORS = [
    np.array([], np.int64),
    np.array([0], np.int64),
    np.arange(5, 9_000, dtype=np.int64),
    np.array([1, 65_535, 65_536, 2**32 - 1, 2**32, 2**33 + 7], np.int64),
    np.unique(RANDOM.integers(0, 500_000, 3_000)),
    np.unique(RANDOM.integers(0, 200_000, 150_000)),
]


def test_each_of_a_file_comes_back(tmp_path: Path) -> None:
    told = write_places(tmp_path, VECTORS)
    assert [d["cardinality"] for d in told] == [len(v) for v in VECTORS]
    assert len({d["pathOrInlineDv"] for d in told}) == 1
    read = [read_places(tmp_path, json.loads(json.dumps(d))) for d in told]
    assert [r.tolist() for r in read] == [v.tolist() for v in VECTORS]


def test_one_in_the_log_itself() -> None:
    """As the protocol's own example of a vector that lies in the log."""
    inline = {
        "storageType": "i",
        "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "sizeInBytes": 44,
        "cardinality": 6,
    }
    assert read_places(Path("/nowhere"), inline).tolist() == [3, 4, 7, 11, 18, 29]


@pytest.fixture
def told(tmp_path: Path) -> dict[str, Any]:
    (found,) = write_places(tmp_path, [np.arange(0, 1_000, 3, dtype=np.int64)])
    return found


def break_file(folder: Path, place: int, value: bytes) -> None:
    (file,) = folder.glob("*.bin")
    data = bytearray(file.read_bytes())
    data[place : place + len(value)] = value
    file.write_bytes(data)


@pytest.mark.parametrize(("place", "problem"), [(2, "length"), (60, "checksum")])
def test_a_file_that_was_changed(
    tmp_path: Path, told: dict[str, Any], place: int, problem: str
) -> None:
    break_file(tmp_path, place, b"\x7f\x7f")
    with pytest.raises(LogBroken, match=problem):
        read_places(tmp_path, told)


def test_a_file_that_was_cut(tmp_path: Path, told: dict[str, Any]) -> None:
    (file,) = tmp_path.glob("*.bin")
    file.write_bytes(file.read_bytes()[:-2])
    with pytest.raises(LogBroken, match="too short"):
        read_places(tmp_path, told)


def test_a_file_that_is_gone(tmp_path: Path, told: dict[str, Any]) -> None:
    (file,) = tmp_path.glob("*.bin")
    file.unlink()
    with pytest.raises(FileNotFoundError):
        read_places(tmp_path, told)


def test_other_rows_than_the_log_tells(tmp_path: Path, told: dict[str, Any]) -> None:
    with pytest.raises(LogBroken, match="holds 334 rows"):
        read_places(tmp_path, {**told, "cardinality": 335})


def test_another_format() -> None:
    text = "^Bg8^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": 44, "cardinality": 6}
    with pytest.raises(NotSupported):
        read_places(Path("/nowhere"), vector)
