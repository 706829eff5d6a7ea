"""Dynamic tables in the registry."""

from pathlib import Path

import pytest

from dt_jupyter.model import Frontier, Reason, RefreshMode, SchedulingState, TargetLag
from tests.unit.catalog_lab import Lab, at, definition, name, refused, table


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def names(lab: Lab, like: str | None = None) -> list[str]:
    return [str(dt.name) for dt in lab.catalog.list(like)]


def test_every_field_comes_back_as_it_was_given(lab: Lab) -> None:
    full = table(
        "full",
        target_lag=TargetLag(None),
        mode=RefreshMode.FULL,
        scheduling=SchedulingState.SUSPENDED,
        scheduling_reason=Reason("BY_USER", "ALTER … SUSPEND"),
        scheduler_enabled=False,
        sequence=7,
        version=12,
        frontier=Frontier(at(5), {"table-t": 3, "x": 0}),
        error_count=2,
        cluster_by=("a", "b c"),
        retention_days=3,
        alter_sources=False,
        comment="it's «this» 🚆",
        state_format=4,
        needs_reinit=Reason("UPSTREAM_REPLACED", "t is another table."),
    )
    assert lab.catalog.create(full) == full
    lab.catalog.close()
    again = lab.open()
    assert again.get(name("full")) == again.by_id("id-full") == again.require(name("FULL")) == full


def test_those_of_some_names_are_read_at_once(lab: Lab) -> None:
    lab.make("a", "b", "gone")
    lab.catalog.drop(name("gone"))
    wanted = [name("a"), name("gone"), name("never"), name("b")]
    assert lab.catalog.get_all(wanted) == {
        n: lab.catalog.require(n) for n in (wanted[0], wanted[3])
    }
    assert lab.catalog.get_all([]) == {}


def test_half_a_surrogate_pair_is_stored_as_its_escape(lab: Lab) -> None:
    lab.make("a", comment="half \ud83d pair", definition=definition("SELECT '\ud83d' AS a"))
    assert lab.dt().comment == "half \\ud83d pair"
    assert lab.dt().definition.query == "SELECT '\ud83d' AS a"


def test_a_name_is_given_once_whatever_its_case(lab: Lab) -> None:
    lab.make("daily")
    with refused("DT-1105") as problem:
        lab.catalog.create(table("DAILY", id="other"))
    assert "daily" in problem[0].sentence
    assert lab.catalog.by_id("other") is None


def test_unknown_names_are_answered_with_near_ones(lab: Lab) -> None:
    lab.make("daily_delays")
    assert lab.catalog.get(name("daily_delay")) is None
    with refused("DT-1101") as problem:
        lab.catalog.require(name("daily_delay"))
    assert problem[0].hint == "Did you mean daily_delays?"


def test_list_is_by_name_and_like_knows_its_wildcards(lab: Lab) -> None:
    lab.make("b_2", "bx2", "a", "a%c")
    assert names(lab) == ["a", "`a%c`", "b_2", "bx2"]
    assert names(lab, "B_2") == ["b_2", "bx2"]
    assert names(lab, r"b\_2") == ["b_2"]
    assert names(lab, "a%") == ["a", "`a%c`"]
    assert names(lab, r"a\%c") == ["`a%c`"]
    assert names(lab, "zz") == []
    assert names(lab, "a*") == ["a", "`a%c`"]
    assert names(lab, "A|bx*") == ["a", "bx2"]
    assert names(lab, r"a\|bx2|*") == ["a", "`a%c`", "b_2", "bx2"]


def test_update_replaces_fields_and_nothing_else(lab: Lab) -> None:
    lab.make("a")
    after = lab.catalog.update("id-a", comment="new", target_lag=TargetLag(None), error_count=0)
    assert after == table("a", comment="new", target_lag=TargetLag(None))
    assert lab.dt() == after


def test_update_refuses_what_cannot_be(lab: Lab) -> None:
    lab.make("a", "b")
    with refused("DT-1101"):
        lab.catalog.update("nobody", comment="x")
    with refused("DT-1105"):
        lab.catalog.update("id-a", name=name("b"))
    with pytest.raises(TypeError, match="colour"):
        lab.catalog.update("id-a", colour="red")
    with pytest.raises(TypeError, match="id"):
        lab.catalog.update("id-a", id="other")
    assert lab.dt() == table("a")


def test_rename_and_swap(lab: Lab) -> None:
    lab.make("a", "b")
    assert lab.catalog.rename(name("a"), name("c")).id == "id-a"
    with refused("DT-1105"):
        lab.catalog.rename(name("b"), name("c"))
    with refused("DT-1101"):
        lab.catalog.rename(name("a"), name("d"))
    lab.catalog.swap(name("b"), name("c"))
    assert {str(dt.name): dt.id for dt in lab.catalog.list()} == {"b": "id-a", "c": "id-b"}
    lab.catalog.swap(name("b"), name("b"))
    assert lab.catalog.require(name("b")).id == "id-a"


def test_drop_and_undrop_bring_back_the_newest(lab: Lab) -> None:
    lab.make("a", comment="first")
    lab.catalog.drop(name("a"))
    lab.wall.forward(1)
    lab.catalog.create(table("a", id="second"))
    dropped = lab.catalog.drop(name("a")).dropped
    assert dropped is not None
    assert dropped.since(at(1)) == 0
    assert lab.catalog.list() == ()
    assert len(lab.catalog.list(include_dropped=True)) == 2
    assert lab.catalog.undrop(name("a")).id == "second"
    assert lab.catalog.require(name("a")).dropped is None
    with refused("DT-1118") as taken:
        lab.catalog.undrop(name("a"))
    assert "has that name" in taken[0].sentence
    with refused("DT-1118"):
        lab.catalog.undrop(name("never"))
    with refused("DT-1118") as near:
        lab.catalog.undrop(name("aa"))
    assert near[0].hint == "Did you mean a?"
    with refused("DT-1101"):
        lab.catalog.drop(name("never"))


def test_replace_drops_the_old_one_and_undrop_finds_it(lab: Lab) -> None:
    lab.make("a")
    assert lab.catalog.replace(table("b")) is None
    old = lab.catalog.replace(table("a", id="new"))
    assert old is not None
    assert old.id == "id-a"
    assert old.dropped is not None
    assert lab.catalog.require(name("a")).id == "new"
    lab.catalog.rename(name("a"), name("kept"))
    assert lab.catalog.undrop(name("a")).id == "id-a"


def test_purge_leaves_no_row_behind(lab: Lab) -> None:
    before = lab.dump()
    lab.make("a")
    lab.refresh(1)
    lab.begin(2)
    lab.catalog.purge("id-a")
    after = lab.dump()
    assert [key for _, _, key in after.pop("registry_change")] == ['["id-a"]'] * 2
    assert after == {table: rows for table, rows in before.items() if table != "registry_change"}


def test_graph_history_tells_what_was_in_force_when(lab: Lab) -> None:
    lab.make("up", "a", definition=definition("SELECT 1", "up"))
    lab.wall.forward(10)
    lab.catalog.update("id-a", comment="no part of the graph")
    lab.catalog.update("id-a", target_lag=TargetLag(None))
    lab.wall.forward(10)
    lab.catalog.drop(name("a"))
    rows = [row for row in lab.catalog.graph_history() if row.dt_id == "id-a"]
    assert [(r.trigger, r.target_lag.seconds, r.valid_to) for r in rows] == [
        ("ALTER", None, rows[0].valid_to),
        ("CREATE", 60.0, rows[0].valid_from),
    ]
    assert rows[0].valid_from.since(at(0)) == 10
    assert rows[0].valid_to is not None
    assert rows[0].valid_to.since(at(0)) == 20
    assert rows[0].inputs == (("DELTA", name("t")), ("DYNAMIC_TABLE", name("up")))
    assert len(lab.catalog.graph_history(limit=1)) == 1


def test_what_is_listed_again_is_made_again_where_its_row_changed(lab: Lab) -> None:
    lab.make("a", "b", "c")
    first = {str(t.name): t for t in lab.catalog.list()}
    lab.catalog.update(first["b"].id, comment="new")
    lab.catalog.drop(name("c"))
    lab.make("d")
    again = {str(t.name): t for t in lab.catalog.list()}
    assert sorted(again) == ["a", "b", "d"]
    assert again["a"] is first["a"]
    assert again["b"].comment == "new"
    assert again["b"] == lab.catalog.get(name("b"))
    other = lab.open()
    other.update(first["a"].id, comment="by another process")
    assert [t.comment for t in lab.catalog.list()] == ["by another process", "new", None]
