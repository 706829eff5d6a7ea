"""Schemas that take other names, with all that the catalog knows of what they hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dt_jupyter.catalog import Catalog, HeldTable, HoldKind, Owner, SchemaMoves
from dt_jupyter.model import (
    Name,
    Named,
    Right,
    Securable,
    Stream,
    Task,
    TaskRunState,
    TaskTrigger,
)
from tests.unit.catalog_lab import Lab, at, definition, refused, table

SRC, OTHER = Name("a", "src"), Name("b", "src")


def stream(name: Name, source: Name, id_: str) -> Stream:
    return Stream(id_, name, source, "TABLE", {"t": 1}, at(0), at(0), False, False, 0, None)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Two schemas, a and b, with one thing of each kind, and a dropped dynamic table of each."""
    lab = Lab(tmp_path)
    for schema in "ab":
        made = definition(f"SELECT a FROM {schema}.src")
        source = replace(made.sources[0], name=Name(schema, "src"))
        own = replace(made, sources=(source,), current_schema=schema)
        for name in ("live", "gone"):
            named = table(f"{schema}_{name}", definition=own)
            lab.catalog.create(replace(named, name=Name(schema, name)))
        lab.catalog.drop(Name(schema, "gone"))
        lab.catalog.record_table(Name(schema, "src"), f"id-{schema}", f"/lake/{schema}/src")
        lab.catalog.record_view(Name(schema, "v"), f"SELECT a FROM {schema}.src")
        lab.catalog.create_stream(stream(Name(schema, "s"), Name(schema, "src"), f"s-{schema}"))
        body = f"INSERT INTO {schema}.x SELECT a FROM {schema}.s"
        lab.catalog.create_task(Task(f"t-{schema}", Name(schema, "t"), body, schema, at(0), at(0)))
        held = [HeldTable("t", f"{schema}.src", "/lake/p", 0, 1)]
        lab.catalog.hold(schema, HoldKind.PIN, f"{schema}.src", "now", held, name=schema)
        lab.catalog.grant("public", [Right.SELECT], on(schema), "admin")
    return lab


def on(schema: str) -> Securable:
    return Securable.of(Named.TABLE, Name(schema, "src"))


def moves(names: dict[str, str], **more: object) -> SchemaMoves:
    tables = {Name(s, "src"): (f"id-{s}", f"/lake/{s}/src") for s in names}
    views = {Name(s, "v"): f"SELECT a FROM {s}.src" for s in names}
    return SchemaMoves(names, tables, views, **more)  # type: ignore[arg-type]


def known(catalog: Catalog, schema: str, was: str) -> None:
    """All that was in `was` is in `schema`."""
    live = catalog.require(Name(schema, "live"))
    assert live.id == f"id-{was}_live"
    assert live.definition.query == f"SELECT a FROM {schema}.src"
    assert live.definition.sources[0].name == Name(schema, "src")
    assert live.definition.current_schema == schema
    assert [t.path for t in catalog.tables() if t.name.schema == schema] == [f"/lake/{was}/src"]
    assert {v.name.schema: v.text for v in catalog.views()}[schema].endswith(f"{schema}.src")
    found = catalog.stream(Name(schema, "s"))
    assert (found.id, found.source) == (f"s-{was}", Name(schema, "src"))
    task = catalog.task(Name(schema, "t"))
    assert (task.id, task.schema) == (f"t-{was}", schema)
    assert task.body == f"INSERT INTO {schema}.x SELECT a FROM {schema}.s"
    pin = next(h for h in catalog.holds() if h.id == was)
    assert (pin.subject, pin.tables[0].name) == (f"{schema}.src", f"{schema}.src")
    assert on(schema) in {g.on for g in catalog.rights().grants}
    assert catalog.undrop(Name(schema, "gone")).id == f"id-{was}_gone"


def test_what_a_schema_holds_has_its_new_name(lab: Lab) -> None:
    catalog = lab.catalog
    catalog.rename_schemas(moves({"a": "c"}, labels=(("a.x", "c.x.2"),)))
    known(catalog, "c", "a")
    known(catalog, "b", "b")
    assert catalog.get(Name("a", "live")) is None
    assert on("a") not in {g.on for g in catalog.rights().grants}
    assert catalog.labels() == (("a.x", "c.x.2"),)
    catalog.labels_moved()
    assert lab.open().labels() == ()


def test_two_schemas_swap(lab: Lab) -> None:
    for _ in range(3):
        lab.catalog.rename_schemas(moves({"a": "b", "b": "a"}))
    known(lab.catalog, "b", "a")
    known(lab.catalog, "a", "b")


@pytest.mark.of_a_file
def test_a_lost_catalog_has_the_new_names(lab: Lab) -> None:
    lab.catalog.rename_schemas(moves({"a": "c"}))
    lab.catalog.close()
    lab.catalog.path.unlink()
    again = lab.open()
    assert {t.name.schema for t in again.tables()} == {"b", "c"}
    assert {v.name.schema for v in again.views()} == {"b", "c"}
    assert {g.on.schema for g in again.rights().grants if g.on.schema} == {"b", "c"}


def test_it_is_refused_while_a_refresh_runs_and_leaves_what_went_with_a_schema(lab: Lab) -> None:
    attempt = lab.begin(5, dt="a_live")
    before = lab.dump()
    with refused("DT-1152"):
        lab.catalog.rename_schemas(moves({"a": "c"}))
    assert lab.dump() == before
    lab.finish(attempt)
    lab.catalog.rename_schemas(moves({"a": "c"}, apart=frozenset(("id-a_gone",))))
    assert lab.catalog.undrop(Name("a", "gone")).id == "id-a_gone"


def test_it_is_refused_while_a_task_runs_and_a_run_that_waits_has_the_new_names(lab: Lab) -> None:
    """What was read of a run before, or is tried again, is not of another schema's tables after."""
    catalog = lab.catalog
    task = catalog.task(Name("a", "t"))
    (read,) = catalog.begin_task_graph(task, [(task, ())], TaskTrigger.MANUAL, at(60))
    catalog.rename_schemas(moves({"a": "b", "b": "a"}))
    claimed = catalog.claim_task_run(read, 0)
    assert claimed is not None
    assert (claimed.name, claimed.body) == (Name("b", "t"), "INSERT INTO b.x SELECT a FROM b.s")
    before = lab.dump()
    with refused("DT-1152") as problems:
        catalog.rename_schemas(moves({"a": "b", "b": "a"}))
    assert "the task b.t runs" in str(problems[0])
    assert lab.dump() == before
    catalog.finish_task_run(claimed, TaskRunState.FAILED, again=True)
    catalog.rename_schemas(moves({"b": "c"}))
    (again,) = [r for r in catalog.task_runs() if r.state is TaskRunState.SCHEDULED]
    assert (again.name, again.body) == (Name("c", "t"), "INSERT INTO c.x SELECT a FROM c.s")


def test_a_run_of_a_process_that_is_gone_holds_no_schema(lab: Lab) -> None:
    gone = lab.open(Owner("host-a", 200, "uid-2", "1"))
    task = gone.task(Name("a", "t"))
    (run,) = gone.begin_task_graph(task, [(task, ())], TaskTrigger.MANUAL, at(60))
    assert gone.claim_task_run(run, 0)
    with refused("DT-1152"):
        lab.catalog.rename_schemas(moves({"a": "c"}))
    lab.dead.add("uid-2")
    lab.catalog.rename_schemas(moves({"a": "c"}))


def test_a_failure_in_the_middle_leaves_nothing_half_done(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lab.dump()

    def fail(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr("dt_jupyter.catalog.schema_names.mark_rights", fail)
    with pytest.raises(OSError, match="no space"):
        lab.catalog.rename_schemas(moves({"a": "b", "b": "a"}))
    assert lab.dump() == before
