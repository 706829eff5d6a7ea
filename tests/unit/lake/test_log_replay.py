"""The replay of a log: its checkpoints, what is odd or broken in them, and the commits since."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from dt_jupyter.lake import LogBroken, VersionGone
from dt_jupyter.lake.delta_log.active_files import LiveFiles
from dt_jupyter.lake.delta_log.log_state import table_state
from tests.unit.delta_logs import PROTOCOL, Written, add, info, metadata, remove, txn


def paths(table: Written, version: int) -> list[str]:
    """As both views have them."""
    live = sorted(a["path"] for a in LiveFiles(table.path).at(version))
    assert sorted(p for p, _ in table_state(table.log, version).files) == live
    return live


@pytest.fixture
def table(tmp_path: Path) -> Written:
    """Version 1 has file a, version 2 b and c."""
    made = Written(tmp_path / "t")
    made.commit(info(), add("a"))
    made.commit(info(), add("b"), add("c"), remove("a"))
    return made


def checkpoint(table: Written, version: int, *actions: Any) -> Path:
    """A V2 checkpoint in JSON; the commits that it stands for are gone."""
    file = table.dir / f"{version:020d}.checkpoint.{'0' * 8}-0000-0000-0000-{'0' * 12}.json"
    file.write_text("\n".join(json.dumps(a) for a in actions))
    for v in range(version + 1):
        table.file(v).unlink()
    return file


def test_actions_of_a_commit_have_no_order(table: Written) -> None:
    version = table.commit(info(), add("b", dv=1), remove("b"), remove("c"))
    assert paths(table, version) == ["b"]
    assert [vector for _, vector in table_state(table.log, version).files] == ["uv1@1"]


def test_a_checkpoint_that_cannot_be_read_is_a_broken_log(table: Written) -> None:
    DeltaTable(table.path, version=2).create_checkpoint()
    (file,) = table.dir.glob("*.checkpoint.parquet")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(LogBroken, match="cannot be read"):
        LiveFiles(table.path).at(2)
    with pytest.raises(LogBroken, match="cannot be read"):
        table_state(table.log, 2)


@pytest.mark.parametrize("named", ["name", "encoded", "uri"])
def test_sidecars_are_found_however_they_are_named(table: Written, named: str) -> None:
    table.commit(info(), add("d"))
    folder = table.dir / "_sidecars"
    folder.mkdir()
    file = folder / ("one file.parquet" if named == "encoded" else "one.parquet")
    body = add("b")["add"] | {"partitionValues": [("p", "1")]}
    type_ = pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", pa.map_(pa.string(), pa.string())),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("stats", pa.string()),
        ]
    )
    pq.write_table(pa.table({"add": pa.array([body], type_)}), file)
    path = {"name": file.name, "encoded": "one%20file.parquet", "uri": file.as_uri()}[named]
    top = ({"checkpointMetadata": {"version": 2}}, metadata(), PROTOCOL, txn("me", 4))
    checkpoint(table, 2, *top, {"sidecar": {"path": path, "sizeInBytes": 1}})
    assert paths(table, 3) == ["b", "d"]
    state = table_state(table.log, 3)
    assert state.files["b", ""]["partitionValues"] == {"p": "1"}
    assert state.files["b", ""]["stats"] == body["stats"]
    assert table.log.last_transaction("me") == 4


def test_a_vector_without_an_offset_is_the_same_in_a_checkpoint(table: Written) -> None:
    bodies = [add("d", dv=7)["add"], add("e", dv=8)["add"]]
    del bodies[0]["deletionVector"]["offset"]
    for body in bodies:
        del body["partitionValues"]
    table.commit(info())
    pq.write_table(pa.table({"add": bodies}), table.dir / f"{3:020d}.checkpoint.parquet")
    assert paths(table, 3) == ["d", "e"]
    assert paths(table, table.commit(info(), {"remove": bodies[0]})) == ["e"]


def test_a_domain_that_was_removed_is_gone(table: Written) -> None:
    table.commit(
        info(), {"domainMetadata": {"domain": "d", "configuration": "1", "removed": False}}
    )
    table.commit(info(), {"domainMetadata": {"domain": "d", "configuration": "", "removed": True}})
    assert table_state(table.log, 3).domains["d"]["configuration"] == "1"
    assert table_state(table.log, 4).domains == {}


def test_a_commit_that_is_missing_is_a_version_that_is_gone(table: Written) -> None:
    table.commit(info(), add("d"))
    assert table.log.version() == 3
    table.file(1).unlink()
    for read in (LiveFiles(table.path).at, lambda v: table_state(table.log, v)):
        with pytest.raises(VersionGone):
            read(2)
