"""A row that cannot be read keeps nobody out: it is told, and can be dropped."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.catalog import HeldTable, HoldKind, Owner, StageRow, schema
from dt_jupyter.model import DTError, Frontier, Intent, Stream, Task, TaskTrigger, Warehouse
from tests.cases import some
from tests.experiments import CATALOG_DAMAGED
from tests.unit.catalog_lab import HERE, Lab, at, name, refused

GARBAGE: tuple[Any, ...] = ("garbage", b"\xff\xfe", "{}", "", "[]", "null", 10**18)
DEAD = Owner("host-a", 7, "uid-dead", "1")
OBJECTS = {
    "dynamic_table": "dynamic table",
    "base_table": "table",
    "base_view": "view",
    "warehouse": "warehouse",
    "stream": "stream",
    "hold": "pin",
    "intent": "consumption",
    "task": "task",
}


def stream(s: str) -> Stream:
    return Stream(f"id-{s}", name(s), name("t"), "TABLE", {"table-t": 1}, at(1), at(0))


def task_of(j: str) -> Task:
    return Task(f"id-{j}", name(j), "DELETE FROM t", "default", at(0), at(0))


@pytest.fixture
def lab(site: Lab) -> Lab:
    return site


@pytest.fixture
def site(tmp_path: Path) -> Lab:
    """Two objects of every kind, what is known of them, and one process that is gone."""
    lab = Lab(tmp_path)
    catalog = lab.catalog
    lab.make("a", "b")
    for dt in ("a", "b"):
        catalog.finish(
            attempt := lab.begin(1, dt=dt),
            _success(attempt),
            frontier=Frontier(at(1), {"t": 1}),
            sequence=1,
            version=1,
            stages=[StageRow(f"id-{dt}", 0, "stage:0", 1, 1, Frontier(at(1), {"t": 1}), "/p")],
        )
    for each in ("x", "y"):
        catalog.record_table(name(f"t_{each}"), f"id-{each}", f"/lake/{each}")
        catalog.record_view(name(f"v_{each}"), "SELECT 1 a")
        catalog.create_warehouse(Warehouse(f"w_{each}"))
        catalog.create_stream(stream(f"s_{each}"))
        task = catalog.create_task(task_of(f"j_{each}"))
        catalog.begin_task_graph(task, [(task, ())], TaskTrigger.MANUAL, at(1))
        held = [HeldTable("table-t", "t", "/lake/t", 1, 1)]
        catalog.hold(f"hold-{each}", HoldKind.PIN, "t", "VERSION 1", held, name=f"p_{each}")
    lab.dead.add(DEAD.uid)
    gone = lab.open(DEAD)
    for each in ("x", "y"):
        intent = Intent(
            f"i-{each}",
            "INSERT",
            f"/lake/{each}",
            1,
            at(1),
            at(1),
            {f"id-s_{each}": {"table-t": 2}},
        )
        gone.begin_intent(intent, [gone.stream(name(f"s_{each}"))])
    lab.begin(2, dt="a")
    return lab


def _success(attempt: Any) -> Any:
    from tests.unit.catalog_lab import success

    return success(attempt)


def everything(lab: Lab) -> dict[str, set[str]]:
    """What one who opens the lake, and looks at all of it, can see."""
    catalog = lab.open()
    catalog.reap()
    seen = {
        "dynamic table": {t.name.table for t in catalog.list()},
        "table": {t.name.table for t in catalog.tables()},
        "view": {v.name.table for v in catalog.views()},
        "warehouse": {w.name for w in catalog.warehouses()},
        "stream": {s.name.table for s in catalog.streams()},
        "pin": {str(h.name) for h in catalog.holds()},
        "task": {t.name.table for t in catalog.tasks()},
        "consumption": {i.id for i in catalog.orphans()},
        "told": {f"{q.kind} {q.name}" for q in catalog.quarantine.all()},
    }
    catalog.history(), catalog.last(), catalog.last_ticks(), catalog.running(), catalog.present()
    catalog.task_runs(), catalog.open_task_runs(), catalog.lost_task_runs(())
    catalog.intents(), catalog.pins(), catalog.hold_ids()
    for dt in ("id-a", "id-b"):
        catalog.stages(dt), catalog.recent(dt), catalog.last_of(dt)
    catalog.close()
    return seen


def corrupt(path: Path, table: str, column: str, value: Any) -> bool:
    """One row of the table with a value that nobody wrote; False where SQLite refuses that."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
            connection.execute(f'DROP TRIGGER "{trigger}"')  # a disk that forgets asks nobody
        connection.execute(
            f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = (SELECT max(rowid) FROM "{table}")',
            (value,),
        )
    except sqlite3.IntegrityError:
        return False
    finally:
        connection.close()
    return True


def test_all_is_seen_and_nothing_told_of_a_sound_catalog(lab: Lab) -> None:
    seen = everything(lab)
    assert seen.pop("told") == set()
    assert seen.pop("warehouse") == {"default", "w_x", "w_y"}
    assert all(len(names) == 2 for names in seen.values()), seen


TABLES = [t.name for t in schema.METADATA.sorted_tables if t.name != "dt_meta"]
"""Without the version of the file, of which DT-5101 and DT-5102 tell."""


@CATALOG_DAMAGED
@pytest.mark.parametrize("table", some(10, TABLES))
def test_any_column_leaves_the_others(lab: Lab, table: str, tmp_path: Path) -> None:
    """Every eighth column, one value for each and another one for the next; all by night."""
    columns = [c.name for c in schema.METADATA.tables[table].columns][::8]
    sweep(lab, table, tmp_path, [(c, GARBAGE[i % 2]) for i, c in enumerate(columns)])


def sweep(lab: Lab, table: str, folder: Path, cases: list[tuple[str, Any]]) -> None:
    """One row of the table is broken, or means something else now; all other objects are there."""
    sound = everything(lab)
    sqlite3.connect(lab.path).backup(sqlite3.connect(folder / "template"))
    template = (folder / "template").read_bytes()
    for number, (column, value) in enumerate(cases):
        lab.path = folder / str(number) / "catalog.sqlite"
        lab.path.parent.mkdir()
        lab.path.write_bytes(template)
        if not corrupt(lab.path, table, column, value):
            continue
        seen = everything(lab)
        for kind, names in sound.items():
            lost = names - seen[kind]
            own = OBJECTS.get(table) == kind
            assert len(lost) <= own, (column, value, kind, lost)
            told = {t for t in seen["told"] if t.startswith(kind)}
            if own and len(seen[kind]) < len(names):
                assert told or column in NOT_OURS, (column, value, seen)


NOT_OURS = frozenset(("dropped", "host", "kind", "uid", "pid", "started", "expires"))
"""Columns by which a row is dropped, or another process's: then it is left alone."""


def broken(lab: Lab, table: str, column: str, value: Any = b"\xff") -> None:
    lab.catalog.close()
    assert corrupt(lab.path, table, column, value)
    lab.catalog = lab.open()


def test_a_dynamic_table_whose_row_is_broken_is_told_refused_and_dropped(lab: Lab) -> None:
    broken(lab, "dynamic_table", "definition", "garbage")
    catalog = lab.catalog
    assert [t.name for t in catalog.list()] == [name("a")]
    (told,) = catalog.quarantine.all()
    assert (told.kind, told.name) == ("dynamic table", "b")
    for use in (
        lambda: catalog.get(name("b")),
        lambda: catalog.get_all([name("a"), name("b")]),
        lambda: catalog.require(name("b")),
        lambda: catalog.rename(name("b"), name("c")),
        lambda: catalog.update("id-b", comment="x"),
        lambda: catalog.by_id("id-b"),
        lambda: catalog.swap(name("a"), name("b")),
    ):
        with refused("DT-5112") as problem:
            use()
        assert "DROP DYNAMIC TABLE b" in str(problem[0])
    assert catalog.drop_broken(name("b"))
    assert catalog.quarantine.all() == ()
    assert catalog.get(name("b")) is None
    lab.make("b2")
    with refused("DT-5112"):
        catalog.undrop(name("b"))
    assert catalog.get(name("b")) is None


def test_a_row_whose_name_is_lost_is_dropped_by_its_id(lab: Lab) -> None:
    broken(lab, "dynamic_table", "table_name", "")
    assert [q.name for q in _looked(lab)] == ["id-b"]
    assert lab.catalog.drop_broken(name("id-b"))
    assert _looked(lab) == []


def _looked(lab: Lab) -> list[Any]:
    lab.catalog.list()
    return list(lab.catalog.quarantine.all())


def test_it_comes_back_once_repaired(lab: Lab) -> None:
    row = lab.dump()["dynamic_table"][1]
    definition = next(v for v in row if isinstance(v, str) and v.startswith('{"query"'))
    broken(lab, "dynamic_table", "definition", "garbage")
    assert len(_looked(lab)) == 1
    assert corrupt(lab.path, "dynamic_table", "definition", definition)
    assert _looked(lab) == []
    assert lab.catalog.get(name("b")) is not None


def test_a_broken_stream_and_one_whose_consumption_is_broken_are_dropped(lab: Lab) -> None:
    broken(lab, "stream", "frontier", "garbage")
    catalog = lab.catalog
    with refused("DT-5112"):
        catalog.stream(name("s_y"))
    catalog.drop_stream(name("s_y"))
    assert [s.name for s in catalog.streams()] == [name("s_x")]
    broken(lab, "intent", "frontiers", "garbage")
    corrupt(lab.path, "intent", "id", "i-x")  # refused: there is one
    catalog = lab.catalog
    assert [i.id for i in catalog.orphans()] == ["i-x"]
    with refused("DT-3203"):
        catalog.drop_stream(name("s_x"))  # its consumption can be settled
    catalog.create_stream(stream("s_y"))
    corrupt(lab.path, "stream", "intent", "i-y")
    catalog.drop_stream(name("s_y"))


def test_a_broken_pin_is_let_go_by_its_name_and_its_id_is_known_until_then(lab: Lab) -> None:
    broken(lab, "hold", "tables", "garbage")
    catalog = lab.catalog
    with refused("DT-5112"):
        catalog.named_hold("p_y")
    assert catalog.hold_ids() == {"hold-x", "hold-y"}
    assert [h.name for h in catalog.holds()] == ["p_x"]
    assert catalog.drop_broken_hold("p_y")
    assert catalog.hold_ids() == {"hold-x"}


def test_a_broken_warehouse_is_dropped_and_default_is_made_again(lab: Lab) -> None:
    broken(lab, "warehouse", "weight", "garbage")
    with refused("DT-5112"):
        lab.catalog.warehouse("w_y")
    lab.catalog.drop_warehouse("w_y")
    connection = sqlite3.connect(lab.path)
    connection.execute("UPDATE warehouse SET weight = 'x' WHERE name = 'default'")
    connection.commit()
    connection.close()
    assert "default" in {w.name for w in lab.catalog.warehouses()}
    lab.catalog.drop_warehouse("default")
    assert lab.catalog.warehouse("default").weight == 1


def test_a_broken_lease_keeps_nobody_out(lab: Lab) -> None:
    lab.begin(3, dt="b")
    broken(lab, "lease", "expires", "garbage")
    lab.catalog.reap()
    lab.begin(4, dt="b")


def test_the_error_of_a_broken_row_is_one_line(lab: Lab) -> None:
    broken(lab, "dynamic_table", "mode", "SOMETIMES")
    with pytest.raises(DTError) as e:
        lab.catalog.require(name("b"))
    assert "\n" not in str(e.value)
    assert "SOMETIMES" in str(e.value)


__all__ = ["HERE"]
