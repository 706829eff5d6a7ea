"""What a transaction staged for a table, published in one commit of the table's own log.

The commit is written without Spark, so that it needs no session, recovery included: one file of the
log, put in place by a link that fails where another commit was faster. Its metadata carries the
mark of the transaction, by which later readers see that it is there.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dt_jupyter.lake.delta_log.actions import NetFiles, commit_name, read_actions
from dt_jupyter.lake.delta_log.active_files import vector_file
from dt_jupyter.lake.delta_log.commit_tags import mark_of
from dt_jupyter.lake.delta_log.log_state import (
    ROW_TRACKING,
    Action,
    high_water_mark,
    row_id_domain,
    table_state,
)
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.disk import sync
from dt_jupyter.lake.errors import LakeError, TableGone
from dt_jupyter.lake.storage.mounts import find_mounted, find_place
from dt_jupyter.lake.storage.questions import ask_again
from dt_jupyter.lake.storage.table_place import TablePlace, table_place
from dt_jupyter.lake.txn.shadow_log import Staging

IN_COMMIT_TIMES = "delta.enableInCommitTimestamps"
_SCHEMA = ("metaData", "protocol")
_PASSED = frozenset(("add", "remove", "cdc", "commitInfo"))
_PRESERVED = "delta.rowTracking.preserved"


class Conflict(LakeError):
    """The table was written since in a way that what is staged does not go with. Facts: path."""

    code = "CONFLICT"


@dataclass(frozen=True)
class Publication:
    """One commit to come: `actions` on the table at `path`, on its `version` or a later one that
    goes with it; `files` are brought from `folder`. Both ways JSON.

    `append`: it only adds rows and read nothing of the table, so that others may have added some
    before. `row_ids` is the highest row id that it gives out; None where rows are not tracked.
    """

    path: str
    table_id: str
    version: int
    folder: str
    append: bool
    info: Mapping[str, Any]
    actions: Sequence[Mapping[str, Any]]
    files: Sequence[str]
    row_ids: int | None = None
    in_commit_times: bool = False
    mark: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def placed(self, place: Callable[[str], str]) -> Publication:
        """The same one, its paths as `place` gives them."""
        return replace(self, path=place(self.path), folder=place(self.folder))

    @classmethod
    def of(cls, text: str) -> Publication:
        return cls(**json.loads(text))


# -- what there is to publish ----------------------------------------------------------------------


def refused(actions: Iterable[tuple[str, Any]]) -> str | None:
    """The kind of action in a staged commit that no transaction publishes; None for none."""
    for kind, body in actions:
        if kind not in _PASSED and not (
            kind == "domainMetadata" and body["domain"] == ROW_TRACKING
        ):
            return kind
    return None


def data_commits(staging: Staging) -> list[int]:
    """The versions of the copy that brought or took rows."""
    wanted = {"add", "remove"}
    return [
        v
        for v in range(staging.version + 1, staging.last + 1)
        if any(kind in wanted for kind, _ in staging.actions(v))
    ]


def loses_changes(staging: Staging) -> bool:
    """Whether several commits, some with files of changes, are to become one: the feed reads a
    commit's files of changes and then nothing else of it."""
    versions = data_commits(staging) if staging.metadata.feed else []
    kinds = (kind for v in versions for kind, _ in staging.actions(v))
    return len(versions) > 1 and "cdc" in kinds


def publication(
    staging: Staging, mark: Mapping[str, Any], changes: Sequence[Action] | None = None
) -> Publication | None:
    """The one commit that all staged ones make; None if they change nothing.

    `changes` are the files of changes to give it, instead of those of the staged commits.
    """
    net = NetFiles()
    infos: list[Mapping[str, Any]] = []
    cdc: list[Action] = []
    row_ids = staging.row_ids
    for version in data_commits(staging):
        for kind, body in staging.actions(version):
            if kind in ("add", "remove"):
                net.take(kind, body)
            elif kind == "cdc":
                cdc.append(body)
            elif kind == "commitInfo":
                infos.append(body)
            elif kind == "domainMetadata":
                row_ids = high_water_mark(body)
    cdc = list(cdc if changes is None else changes)
    if not (net.came or net.went or cdc):
        return None
    old_paths = {path for path, _ in staging.files}
    actions: list[Mapping[str, Any]] = [{"remove": r} for r in net.went.values()]
    actions += [{"add": a} for a in net.came.values()]
    actions += [{"cdc": c} for c in cdc]
    files = [a["path"] for a in net.came.values() if a["path"] not in old_paths]
    files += [c["path"] for c in cdc]
    known = {own["pathOrInlineDv"] for own in staging.vectors.values()}
    vectors = (a["deletionVector"] for a in net.came.values() if a.get("deletionVector"))
    fresh = dict.fromkeys(
        vector_file(v)
        for v in vectors
        if v["storageType"] == "u" and v["pathOrInlineDv"] not in known
    )
    blind = all(i.get("isBlindAppend") for i in infos) and not net.went and not cdc
    return Publication(
        str(staging.table),
        staging.metadata.id,
        staging.version,
        str(staging.folder),
        blind,
        _info(infos, blind),
        actions,
        [*map(unquote, files), *fresh],
        row_ids,
        staging.metadata.configuration.get(IN_COMMIT_TIMES, "").lower() == "true",
        _mark(infos, mark),
    )


def _mark(infos: Sequence[Mapping[str, Any]], mark: Mapping[str, Any]) -> dict[str, Any]:
    """Of the whole: the ids of all statements are in it."""
    own = [mark_of(info.get("userMetadata")) for info in infos]
    ids = [m["statement"] for m in own if "statement" in m]
    return {**{k: v for m in own for k, v in m.items()}, "statements": ids, **mark}


def _info(infos: Sequence[Mapping[str, Any]], blind: bool) -> dict[str, Any]:
    one = infos[0] if len(infos) == 1 else {}
    info = {
        "operation": one.get("operation", "TRANSACTION"),
        "operationParameters": one.get("operationParameters", {"statements": str(len(infos))}),
        "isolationLevel": "Serializable",
        "isBlindAppend": blind,
        "operationMetrics": one.get("operationMetrics", {}),
        "engineInfo": infos[0].get("engineInfo", ""),
    }
    if all((i.get("tags") or {}).get(_PRESERVED) == "true" for i in infos):
        info["tags"] = {_PRESERVED: "true"}
    return info


def make_staged_durable(made: Publication) -> None:
    """fsync what is to be published: its files are on the disk before anything says so. Of other
    storage, what it has acknowledged is durable."""
    if find_mounted(made.folder) is None:
        sync(Path(made.folder) / name for name in made.files)


# -- publishing ------------------------------------------------------------------------------------


def published(made: Publication, log: TableLog) -> int | None:
    """The version of the table that this publication is; None where it is not there yet."""
    for version in range(log.version(), max(made.version, log.oldest() - 1), -1):
        found = mark_of(log.user_metadata(version))
        if found.get("intent") == made.mark["intent"]:
            return version
    return None


def check_publication(made: Publication, log: TableLog) -> int:
    """The version to publish on. Raises Conflict."""
    try:
        newest = log.version()
        replaced = newest < made.version or log.table_id() != made.table_id
    except TableGone:
        raise Conflict(f"{made.path} no longer exists", path=made.path) from None
    if replaced:
        raise Conflict(f"{made.path} was replaced", path=made.path)
    for version in range(made.version + 1, newest + 1):
        wanted = frozenset(("add", "remove", *_SCHEMA))
        kinds = {k for k, _ in read_actions(log.path / "_delta_log" / commit_name(version), wanted)}
        if kinds.intersection(_SCHEMA) or (kinds and not made.append):
            raise Conflict(f"version {version} was written since", path=made.path, version=version)
    return newest


def publication_millis(made: Iterable[tuple[Publication, TableLog]]) -> int:
    """The one time of all commits of a transaction, after now and after those before them; that of
    the ones that are there already, where a process died between them."""
    latest = time.time_ns() // 1_000_000
    for each, log in made:
        there = published(each, log)
        if there is not None:
            return log.commit_time(there).micros // 1000
        latest = max(latest, log.commit_time(log.version()).micros // 1000)
    return latest + 1


def publish(made: Publication, log: TableLog, millis: int) -> int:
    """Commits what is staged, once however often it is called; the version that it is. The commit
    is of the time `millis`, or just after the one before it.

    The caller holds the table's lock. Raises Conflict; what is staged is then still there.
    """
    place = table_place(log.path)
    while True:
        ask_again()
        found = published(made, log)
        if found is not None:
            return found
        try:
            version = check_publication(made, log) + 1
        except Conflict:
            _give_back(made, log)
            raise
        place.take_from(Path(made.folder), made.files)
        try:
            _put(place, made, log, version, millis)
        except FileExistsError:  # another commit was faster
            continue
        place.settle(made.files, version)
        ask_again()
        log.version()
        place.add_checksum(log, version)
        return version


def _give_back(made: Publication, log: TableLog) -> None:
    """What an earlier try has moved into the table is where it was staged."""
    if find_mounted(made.folder) is not None and find_place(log.path) is not None:
        with suppress(FileNotFoundError):
            table_place(Path(made.folder)).take_from(log.path, made.files)


def _put(place: TablePlace, made: Publication, log: TableLog, version: int, millis: int) -> None:
    millis = max(millis, log.commit_time(version - 1).micros // 1000 + 1)
    place.put_commit(version, _lines(made, log, version, millis), millis)


def _lines(made: Publication, log: TableLog, version: int, millis: int) -> list[dict[str, Any]]:
    info: dict[str, Any] = {
        "timestamp": millis,
        **made.info,
        "readVersion": version - 1,
        "txnId": str(uuid.uuid4()),
        "userMetadata": json.dumps(dict(made.mark)),
    }
    if made.in_commit_times:
        info = {"inCommitTimestamp": millis, **info}
    actions = [dict(a) for a in made.actions]
    row_ids = made.row_ids
    if row_ids is not None:
        if version - 1 > made.version and made.append:
            row_ids = _numbered(actions, _last_row_id(log, version - 1))
        _versioned(actions, made, version)
        actions.append({"domainMetadata": row_id_domain(row_ids)})
    return [{"commitInfo": info}, *actions]


def _last_row_id(log: TableLog, version: int) -> int:
    found = table_state(log, version).row_ids
    return -1 if found is None else found


def _numbered(actions: list[dict[str, Any]], mark: int) -> int:
    """New ids for the rows of all added files, after those that others gave out; the last one."""
    for action in actions:
        add = action["add"]
        action["add"] = {**add, "baseRowId": mark + 1}
        mark += int(json.loads(add["stats"])["numRecords"])
    return mark


def _versioned(actions: list[dict[str, Any]], made: Publication, version: int) -> None:
    """New files are of this version; an old one with another deletion vector keeps its age."""
    fresh = set(made.files)
    for action in actions:
        add = action.get("add")
        if add is not None and unquote(add["path"]) in fresh:
            action["add"] = {**add, "defaultRowCommitVersion": version}
