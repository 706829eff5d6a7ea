"""Who reads one state of the catalog asks each question once, and sees what it writes itself."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from dt_jupyter.catalog import Catalog, Owner, StageRow
from dt_jupyter.model import Frontier, SchedulingState
from dt_jupyter.sources.publications import Publications
from tests.unit.catalog_lab import Lab, at, name

OTHER = Owner("host-b", 200, "uid-other", "1")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    yield lab
    lab.catalog.close()


@pytest.fixture
def asked(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many transactions the catalog has begun."""
    counts: Counter[str] = Counter()
    begun: Callable[..., Any] = Catalog._entered

    def counted(self: Catalog, *args: Any) -> Connection:
        counts["transactions"] += 1
        found: Connection = begun(self, *args)
        return found

    monkeypatch.setattr(Catalog, "_entered", counted)
    return counts


@contextmanager
def second(lab: Lab) -> Iterator[Catalog]:
    """Another process, a second later: two clocks that stand still would give one time twice."""
    lab.wall.forward(1)
    catalog = lab.open(OTHER)
    try:
        yield catalog
    finally:
        catalog.close()


def read_all(catalog: Catalog, *ids: str) -> list[object]:
    return [
        (catalog.by_id(i), catalog.stages(i), catalog.version_of(i, at(10)), catalog.rights())
        for i in ids
    ]


def test_all_that_is_read_in_it_is_one_transaction(lab: Lab, asked: Counter[str]) -> None:
    lab.make("a", "b", "c")
    ids = ("id-a", "id-b", "id-c")
    for n in "abc":
        lab.refresh(10, dt=n)
    apart = read_all(lab.catalog, *ids)
    asked.clear()
    with lab.catalog.one_state():
        assert read_all(lab.catalog, *ids) == apart
        assert lab.catalog.get_all([name("a"), name("zz")]) == {name("a"): lab.dt("a")}
        assert lab.catalog.publishing() == frozenset()
        with lab.catalog.one_state():  # within another it is the same
            assert lab.catalog.version_of("id-a", at(10)) == 11
    assert asked["transactions"] == 1
    assert lab.catalog.by_id("id-a") is not None
    assert asked["transactions"] == 2


def test_who_asks_of_one_table_reads_the_rows_of_that_alone(lab: Lab, asked: Counter[str]) -> None:
    lab.make("a", "b")
    lab.refresh(10)
    apart = read_all(lab.catalog, "id-a")
    asked.clear()
    statements = Counter[str]()

    def count(_: Any, __: Any, text: str, *___: Any) -> None:
        statements[text.split("FROM")[1].split(maxsplit=1)[0] if "FROM" in text else text] += 1

    event.listen(lab.catalog._engine.engine, "before_cursor_execute", count)
    with lab.catalog.one_state(whole=False):
        for _ in range(2):
            assert read_all(lab.catalog, "id-a") == apart
            assert lab.catalog.get_all([name("a"), name("zz")]) == {name("a"): lab.dt("a")}
            assert lab.catalog.warehouse("DEFAULT") == lab.catalog.warehouse("default")
    event.remove(lab.catalog._engine.engine, "before_cursor_execute", count)
    assert asked["transactions"] == 1
    del statements["BEGIN"]
    assert statements.pop("dynamic_table") == 2  # by its id, and by its name
    assert set(statements.values()) == {1}


def test_work_that_takes_long_reads_what_is_there_then(lab: Lab) -> None:
    lab.make("a")
    with second(lab) as other, lab.catalog.one_state(whole=False):
        before = lab.dt("a")
        with lab.catalog.each_state():
            other.update("id-a", scheduling=SchedulingState.SUSPENDED)
            assert lab.dt("a").scheduling is SchedulingState.SUSPENDED
            other.update("id-a", scheduling=SchedulingState.ACTIVE)
            assert lab.dt("a") == before
        other.update("id-a", comment="seen")
        assert lab.dt("a").comment == "seen"  # the first question after it
        other.update("id-a", comment="not yet")
        assert lab.dt("a").comment == "seen"


def test_what_others_write_meanwhile_is_seen_after_it(lab: Lab) -> None:
    lab.make("a", "b")
    with second(lab) as other:
        with lab.catalog.one_state():
            before = lab.dt("a")
            other.update("id-a", scheduling=SchedulingState.SUSPENDED)
            other.drop(name("b"))
            assert lab.dt("a") == before
            assert lab.catalog.by_id("id-b") in lab.catalog.list()
            lab.catalog.read_anew()
            assert lab.dt("a").scheduling is SchedulingState.SUSPENDED
            assert lab.catalog.get_all([name("b")]) == {}
        lab.wall.forward(1)
        other.update("id-a", scheduling=SchedulingState.ACTIVE)
        assert lab.dt("a").scheduling is SchedulingState.ACTIVE


def test_what_it_writes_itself_is_seen_in_it(lab: Lab) -> None:
    lab.make("a")
    stage = StageRow("id-a", 0, "stage:0", 1, 5, Frontier(at(10), {}), "/lake/stage")
    with lab.catalog.one_state():
        assert lab.catalog.stages("id-a") == ()
        assert lab.catalog.version_of("id-a", at(10)) is None
        lab.finish(lab.begin(10), stages=[stage])
        assert [s.version for s in lab.catalog.stages("id-a")] == [5]
        assert lab.catalog.version_of("id-a", at(10)) == 11
        assert lab.dt("a").data_timestamp == at(10)
        assert lab.catalog.resolve_all(at(10), {"t": lambda: 3}) == {"t": 3}
        assert lab.catalog.resolve_all(at(10), {"t": lambda: 4, "u": lambda: 5}) == {"t": 3, "u": 5}
        lab.catalog.drop(name("a"))
        assert lab.catalog.get_all([name("a")]) == {}
        dropped = lab.catalog.by_id("id-a")
        assert dropped is not None
        assert dropped.dropped is not None


def test_a_version_that_is_expected_is_so_in_it_alone(lab: Lab) -> None:
    lab.make("a")
    with lab.catalog.one_state():
        assert lab.catalog.version_of("id-a", at(10)) is None
        lab.catalog.expect_version("id-a", at(10), 7)
        assert lab.catalog.version_of("id-a", at(10)) == 7
        assert lab.catalog.version_of("id-a", at(11)) is None
        lab.catalog.resolve_all(at(10), {"t": lambda: 3})  # which writes
        assert lab.catalog.version_of("id-a", at(10)) == 7
    assert lab.catalog.version_of("id-a", at(10)) is None


def test_another_thread_reads_what_is_there(lab: Lab) -> None:
    lab.make("a")
    seen: list[object] = []
    with lab.catalog.one_state():
        assert lab.dt("a").scheduling is SchedulingState.ACTIVE
        with second(lab) as other:
            other.update("id-a", scheduling=SchedulingState.SUSPENDED)
        thread = threading.Thread(target=lambda: seen.append(lab.dt("a").scheduling))
        thread.start()
        thread.join()
        assert lab.dt("a").scheduling is SchedulingState.ACTIVE
    assert seen == [SchedulingState.SUSPENDED]


def test_an_error_in_it_ends_it(lab: Lab) -> None:
    lab.make("a")

    def fail() -> None:
        with lab.catalog.one_state():
            lab.dt("a")
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError):
        fail()
    with second(lab) as other:
        other.drop(name("a"))
    assert lab.catalog.get_all([name("a")]) == {}


def test_a_row_that_cannot_be_read_is_told_in_it_too(lab: Lab) -> None:
    lab.make("a", "b")
    lab.run("UPDATE dynamic_table SET definition = '{' WHERE id = 'id-b'")
    with lab.catalog.one_state():
        assert lab.dt("a").id == "id-a"
        with pytest.raises(Exception, match="DT-5112"):
            lab.catalog.get_all([name("b")])
        with pytest.raises(Exception, match="DT-5112"):
            lab.catalog.by_id("id-b")
        assert lab.catalog.get_all([name("a")]).keys() == {name("a")}


def test_who_waits_for_a_publication_in_it_hears_of_its_end(lab: Lab) -> None:
    values = ["'i'", "'BEGIN'", "'/t'", "1", *(["''"] * 4), "1", *(["''"] * 2), "'[]'", "''"]
    lab.run(f"INSERT INTO intent VALUES ({', '.join(values)}, NULL)")
    with lab.catalog.one_state():
        assert lab.catalog.publishing() == {"i"}
        ended = Publications(lab.catalog, finish=lambda: end_publication(lab))
        ended.await_end()
        assert lab.catalog.publishing() == frozenset()


def end_publication(lab: Lab) -> None:
    """As another process does, between two looks of who waits."""
    lab.run("DELETE FROM intent")
