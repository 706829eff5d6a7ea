"""Values are kept in little memory, come back as they were, and take about what was expected."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dt_jupyter.caches.cache_memory import CacheMemory
from dt_jupyter.lake.read.column_memory import pack, packed_type, row_width, unpack
from dt_jupyter.lake.read.file_columns import open_data_file
from dt_jupyter.lake.read.table_files import KnownFiles


@pytest.mark.parametrize(
    ("precision", "scale", "width"),
    [
        (1, 0, 4),
        (9, 2, 4),
        (9, 9, 4),
        (10, 0, 8),
        (15, 2, 8),
        (18, 18, 8),
        (19, 0, 16),
        (38, 6, 16),
    ],
)
def test_decimals_come_back_as_they_were(precision: int, scale: int, width: int) -> None:
    type_, most = pa.decimal128(precision, scale), Decimal((0, (9,) * precision, -scale))
    least = most.copy_negate()
    values = pa.array([most, least, None, Decimal(0), Decimal((0, (1,), -scale))], type_)
    kept = pack(values)
    assert kept.type.bit_width == 8 * width == 8 * (row_width(pa.schema({"n": kept.type})) or 0)
    places = pa.array([4, 0, 2, 1, 0], pa.uint64())
    assert unpack(kept.take(places), type_).equals(values.take(places))
    assert unpack(kept, type_).equals(values)
    assert unpack(kept.slice(0, 0), type_).type == type_


@pytest.mark.parametrize(
    ("ends", "width"),
    [((-(2**31), 2**31 - 1), 4), ((-(2**31) - 1, 0), 8), ((0, 2**31), 8), ((5, None), 4)],
)
def test_integers_come_back_as_they_were(ends: tuple[int, int | None], width: int) -> None:
    values = pa.array([*ends, None, 0], pa.int64())
    kept = pack(values)
    assert kept.type.bit_width == 8 * width
    assert unpack(kept, pa.int64()).equals(values)


@pytest.mark.parametrize(("count", "bits"), [(1, 8), (127, 8), (128, 32)])
def test_texts_come_back_as_they_were(count: int, bits: int) -> None:
    values = pa.array([None, *(f"t{n}" for n in range(count)), "t0"])
    kept = pack(values.dictionary_encode())
    assert kept.type.index_type.bit_width == bits
    assert unpack(kept, pa.string()).equals(values)


@pytest.mark.parametrize("type_", [pa.int64(), pa.string(), pa.date32(), pa.list_(pa.int32())])
def test_others_are_kept_as_they_are(type_: pa.DataType) -> None:
    values = pa.nulls(3, type_)
    assert pack(values) is values
    assert unpack(values, type_) is values
    assert packed_type(type_) == type_


def test_texts_take_about_what_is_expected(tmp_path: Path) -> None:
    rng, count = random.Random(3), 30_000
    columns = {
        "few": [rng.choice(["AIR", "TRUCK", None]) for _ in range(count)],
        "different": [f"comment {n} {rng.random()}" for n in range(count)],
        "repeated": [f"a text of many bytes {rng.randrange(9_000)}" for _ in range(count)],
        "short": [str(n % 10) for n in range(count)],
    }
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=10_000)
    footer = KnownFiles(CacheMemory(1 << 20), lambda path: None)._footer(str(path))
    for name in columns:
        alike = [name] if footer.has_few_values(0, name) else []
        with open_data_file(str(path), footer.metadata, alike) as file:
            kept = sum(file.read_row_group(g, [name])[name].nbytes for g in range(3))
        assert 0.6 * kept < footer.text_bytes(name) < 1.6 * kept, name
    assert footer.text_bytes("later") == 0
