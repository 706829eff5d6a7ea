"""Staging and publishing on logs written by hand: no JVM, as recovery needs none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.lake import TableLog, mark_of
from dt_jupyter.lake.delta_log.actions import commit_name, read_actions
from dt_jupyter.lake.delta_log.active_files import vector_file
from dt_jupyter.lake.delta_log.log_state import row_id_domain, table_state
from dt_jupyter.lake.txn import publish
from dt_jupyter.lake.txn.publish import Conflict, Publication
from dt_jupyter.lake.txn.shadow_log import Staging, relative, stage_log, uri
from tests.unit.delta_logs import add, info, metadata, remove

NOW = 1
"""Before all commits: each is made just after the one before it."""
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
PROTOCOL = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors", "rowTracking"],
    }
}


def write(folder: Path, version: int, *lines: dict[str, Any]) -> None:
    log = folder / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (log / commit_name(version)).write_text(text)


def file(folder: Path, path: str, rows: int = 1, **more: Any) -> dict[str, Any]:
    """The add of a file that is there."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(path)
    made = add(path, rows)["add"]
    return {"add": {**made, **more}}


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    """Two versions of a table in a folder with a space, one of its files with a vector."""
    table = tmp_path / "a table"
    old = file(table, "a.parquet", baseRowId=0)
    write(table, 0, info(), PROTOCOL, metadata(), old, {"domainMetadata": row_id_domain(9)})
    write(
        table,
        1,
        info(),
        remove("a.parquet"),
        file(table, "a.parquet", deletionVector=VECTOR),
        file(table, "p=1%252F2/b.parquet"),
    )
    return TableLog(table)


def staged(log: TableLog, *lines: dict[str, Any], blind: bool = True) -> Staging:
    """The table staged, with one commit more."""
    made = stage_log(log, log.version(), log.path.parent / "copy")
    write(made.folder, made.last + 1, info(isBlindAppend=blind), *lines)
    made.last = made.newest()
    return made


def published(staging: Staging) -> Publication:
    made = publish.publication(staging, {"intent": "i"})
    assert made is not None
    return Publication.of(made.to_json())


def paths(log: TableLog) -> set[str]:
    return {path for path, _ in table_state(log, log.version()).files}


def test_a_copy_has_the_tables_state_by_absolute_paths(log: TableLog) -> None:
    made = stage_log(log, 1, log.path.parent / "copy")
    copy = TableLog(made.folder)
    assert copy.version() == 1
    assert copy.metadata() == log.metadata()
    mine, own = table_state(log, 1), table_state(copy, 1)
    assert (own.protocol, own.row_ids) == (mine.protocol, 9)
    vectors = {a["path"]: a.get("deletionVector") for a in own.files.values()}
    table = uri(log.path)
    name = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert vectors == {
        f"{table}/p=1%252F2/b.parquet": None,
        f"{table}/a.parquet": {**VECTOR, "storageType": "p", "pathOrInlineDv": f"{table}/{name}"},
    }
    assert vector_file(VECTOR) == name
    assert relative(f"file:///{table.removeprefix('file:/')}/x%20y", log.path) == "x%20y"
    assert relative("file:/elsewhere/x", log.path) == "file:/elsewhere/x"


def test_what_is_published_is_in_the_tables_own_terms_and_once(log: TableLog) -> None:
    copy = log.path.parent / "copy"
    gone = table_state(TableLog(stage_log(log, 1, copy).folder), 1).files
    (old,) = (a for a in gone.values() if a.get("deletionVector"))
    new = {**VECTOR, "pathOrInlineDv": "^Bpqwfd)DZ}K{vb[*k^A", "offset": 1}
    (copy / vector_file(new)).write_text("bits")
    write(
        copy,
        2,
        info("DELETE", userMetadata='{"statement": "s1", "user": "me"}'),
        {"remove": old},
        {"add": {**old, "deletionVector": new}},
        file(copy, "new one.parquet", 2, baseRowId=10, defaultRowCommitVersion=2),
        {"domainMetadata": row_id_domain(11)},
    )
    write(copy, 3, info("DELETE"), {"add": {"path": "x", "size": 1, "partitionValues": {}}})
    write(copy, 4, info("DELETE"), {"remove": {"path": "x", "size": 1}})
    staging = stage_log(log, 1, log.path.parent / "again")
    for version in (2, 3, 4):
        (staging.folder / "_delta_log" / commit_name(version)).write_text(
            (copy / "_delta_log" / commit_name(version)).read_text()
        )
    staging.last = staging.newest()
    made = published(Staging(**{**vars(staging), "folder": copy}))
    assert not made.append
    assert publish.published(made, log) is None
    assert publish.publish(made, log, NOW) == publish.publish(made, log, NOW) == 2
    assert log.version() == publish.published(made, log) == 2
    assert paths(log) == {"a.parquet", "p=1%252F2/b.parquet", "new one.parquet"}
    assert table_state(log, 2).row_ids == 11
    actions = list(read_actions(log.path / "_delta_log" / commit_name(2)))
    (removed,) = (b for k, b in actions if k == "remove")
    assert (removed["path"], removed["deletionVector"]) == ("a.parquet", VECTOR)
    assert (log.path / vector_file(new)).read_text() == "bits"
    assert (log.path / "new one.parquet").exists()
    mark = mark_of(log.user_metadata(2))
    assert mark == {"statement": "s1", "user": "me", "statements": ["s1"], "intent": "i"}


def test_what_only_adds_goes_with_what_others_add(log: TableLog) -> None:
    staging = staged(
        log, {"add": {**add("n")["add"], "baseRowId": 10}}, {"domainMetadata": row_id_domain(10)}
    )
    file(staging.folder, "n")
    made = published(staging)
    assert made.append
    write(log.path, 2, info(), file(log.path, "o", 3), {"domainMetadata": row_id_domain(12)})
    assert publish.publish(made, log, NOW) == 3
    state = table_state(log, 3)
    assert (state.files["n", ""]["baseRowId"], state.row_ids) == (13, 13)
    assert state.files["n", ""]["defaultRowCommitVersion"] == 3


@pytest.mark.parametrize(
    ("lines", "blind", "since"),
    [
        ([remove("p=1%252F2/b.parquet")], False, [add("o")]),
        ([add("n")], False, [add("o")]),
        ([add("n")], True, [metadata()]),
        ([add("n")], True, [metadata(id_="another")]),
    ],
)
def test_what_does_not_go_together_is_a_conflict(
    log: TableLog, lines: list[Any], blind: bool, since: list[Any]
) -> None:
    made = published(staged(log, *lines, blind=blind))
    assert publish.check_publication(made, log) == 1
    write(log.path, 2, info(), *since)
    with pytest.raises(Conflict):
        publish.publish(made, log, NOW)
    assert log.version() == 2


def test_a_faster_commit_is_looked_at(log: TableLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one takes the version between the look and the link."""
    staging = staged(log, add("n"))
    file(staging.folder, "n")
    made = published(staging)
    lines = publish._lines

    def late(made: Publication, log: TableLog, version: int, millis: int) -> Any:
        if version == 2:
            write(log.path, 2, info(), add("o"))
        return lines(made, log, version, millis)

    monkeypatch.setattr(publish, "_lines", late)
    assert publish.publish(made, log, NOW) == 3
    assert paths(log) >= {"n", "o"}
    left = [p.name for p in (log.path / "_delta_log").iterdir() if p.suffix == ".tmp"]
    assert left == []


def test_a_copy_goes_back_to_what_counts(log: TableLog) -> None:
    staging = staged(log, add("n"))
    file(staging.folder, "n")
    write(staging.folder, 3, info(), metadata())
    assert publish.refused(staging.actions(3)) == "metaData"
    assert publish.refused(staging.actions(2)) is None
    again = staging.rewound(log.path.parent / "rewound")
    assert TableLog(again.folder).version() == again.newest() == 2
    assert (again.folder / "n").exists()
    assert published(again).files == ["n"]
    assert staging.newest() == 3


def test_nothing_to_publish_is_nothing(log: TableLog) -> None:
    staging = staged(log, add("n"))
    write(staging.folder, 3, info(), remove("n"))
    staging.last = 3
    assert publish.publication(staging, {"intent": "i"}) is None
