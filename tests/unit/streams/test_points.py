"""Points of statements, found by the marks of commits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import TableLog, mark_of
from dt_jupyter.model import DTError, Name, Source, SourceKind, Timestamp
from dt_jupyter.sources.points import OLDEST, Moment, Resolver
from tests.unit.delta_logs import PROTOCOL, Written, info, metadata

NOW = Timestamp(10**12)


class NothingResolved:
    """A catalog in which no data timestamp was resolved."""

    @staticmethod
    def resolved_around(table_id: str, t: Timestamp) -> tuple[None, None]:
        return None, None


RESOLVER = Resolver(cast(Catalog, NothingResolved()), NOW)


def commit(mark: Any) -> dict[str, Any]:
    text = mark if isinstance(mark, str) else json.dumps(mark)
    return info() if mark is None else info(userMetadata=text)


def table(folder: Path, name: str, *marks: tuple[int, Any]) -> tuple[Source, TableLog]:
    """A log with commits of these times in milliseconds, with these marks."""
    written = Written(folder / name)
    written.next = 0
    for version, (millis, mark) in enumerate(marks):
        made = () if version else (metadata(id_=name), PROTOCOL)
        written.commit(commit(mark), *made, millis=millis)
    log = TableLog(folder / name)
    return Source(Name("default", name), SourceKind.DELTA, name, str(folder / name)), log


def at(statement: str, *, before: bool = False) -> Moment:
    return Moment(statement=statement, before=before)


def test_one_table_has_it_the_others_stand_at_its_time(tmp_path: Path) -> None:
    a = table(tmp_path, "a", (1_000, None), (2_000, {"statement": "x", "intent": "i"}), (3_000, {}))
    b = table(tmp_path, "b", (500, "release 7"), (1_999, None), (2_000, None), (2_001, None))
    assert RESOLVER.versions([a, b], "v", at("x")) == {"a": 1, "b": 2}
    assert RESOLVER.versions([a, b], "v", at("x", before=True)) == {"a": 0, "b": 1}
    assert RESOLVER.versions([a, b], "v", OLDEST) == {"a": 0, "b": 0}
    for one in ("i", "y", "release 7"):
        with pytest.raises(DTError, match="DT-4103"):
            RESOLVER.versions([a, b], "v", at(one))
    with pytest.raises(DTError, match="DT-4103"):
        RESOLVER.versions([b], "b", at("x"))


def test_a_statement_of_several_commits(tmp_path: Path) -> None:
    mark = {"statement": "x"}
    a = table(tmp_path, "a", (1_000, None), (2_000, mark), (2_100, mark), (3_000, None))
    b = table(tmp_path, "b", (1_500, None), (2_200, mark))
    c = table(tmp_path, "c", (1_000, None), (1_999, None), (2_150, None), (2_300, None))
    assert RESOLVER.versions([a, b, c], "v", at("x")) == {"a": 2, "b": 1, "c": 2}
    assert RESOLVER.versions([a, b, c], "v", at("x", before=True)) == {"a": 0, "b": 0, "c": 1}


def test_a_refresh_is_found_by_its_attempt(tmp_path: Path) -> None:
    a = table(tmp_path, "a", (1_000, None), (2_000, {"attempt": "q", "seq": 1}), (3_000, None))
    assert RESOLVER.versions([a], "a", at("q")) == {"a": 1}


def test_nothing_is_before_the_first_commit(tmp_path: Path) -> None:
    a = table(tmp_path, "a", (1_000, {"statement": "x"}), (2_000, None))
    assert RESOLVER.versions([a], "a", at("x")) == {"a": 0}
    with pytest.raises(DTError, match="DT-4101"):
        RESOLVER.versions([a], "a", at("x", before=True))


@pytest.mark.parametrize("text", [None, "", "release 7", "[1]", '"x"', "{", "7"])
def test_what_is_no_mark_of_ours_reads_as_empty(text: str | None) -> None:
    assert mark_of(text) == {}
