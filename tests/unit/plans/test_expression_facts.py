"""What Spark says of expressions: each node of each relation that is read has a type, also after
the rewrites, and types are those of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from dt_jupyter.ivm import (
    ColumnType,
    Expr,
    Group,
    Refused,
    Rel,
    RelationTypes,
    Restrict,
    Rows,
    Scan,
    Stage,
    Untyped,
    compile_stages,
    differentiate,
    key_relations,
    type_expression,
    walk,
    walk_expression,
)
from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.plans.plan_facts import plan_columns
from dt_jupyter.plans.plan_source import PlanSource
from dt_jupyter.plans.relation_reader import RelationReader
from dt_jupyter.sql import deep
from tests.recorded_plans import (
    FOLDER,
    RecordedPlan,
    column_names,
    read_store,
    spark_functions,
)

STORES = sorted(FOLDER.glob("*.xz"))
LARGE = "monsters"
"""Of the store whose plans are too large for all of their derivatives."""
OWN = frozenset({"f", "g", "h"})


def reader(plan: RecordedPlan) -> RelationReader:
    tables = {n: PlanSource(n, column_names(ddl)) for n, ddl in plan.tables.items()}
    return RelationReader(tables, spark_functions(), OWN)


def read(plan: RecordedPlan) -> tuple[Rel, RelationTypes] | None:
    """The relation of a plan, and the types of what it consists of; None of one that is refused."""
    made = reader(plan)
    try:
        return deep(lambda: made.read(read_document(plan.document))), made.types
    except Refused:
        return None


def expressions(value: object) -> Iterator[Expr]:
    """Those of a node itself, not of its inputs."""
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from expressions(part)
    elif is_dataclass(value) and not isinstance(value, Rel):
        yield from expressions(tuple(getattr(value, f.name) for f in fields(value)))


def untyped(rel: Rel, types: RelationTypes) -> Iterator[str]:
    """What has no type, in a relation and in those of the keys that restrict it."""
    for node in (n for r in (rel, *key_relations(rel)) for n in walk(r)):
        below = types.below(node)
        own = tuple(getattr(node, f.name) for f in fields(node))
        for part in (p for e in expressions(own) for p in walk_expression(e)):
            try:
                type_expression(part, below)
            except Untyped as e:
                yield f"{part!r}: {e}"
        assert types.of(node).keys() >= set(node.columns)


@pytest.mark.parametrize("store", STORES, ids=lambda s: s.stem)
def test_each_expression_that_is_read_has_a_type_and_columns_have_those_of_spark(
    store: Path,
) -> None:
    read_any = False
    for plan in read_store(store).values():
        found = read(plan)
        if found is None:
            continue
        rel, types = found
        if LARGE not in store.stem:
            assert list(untyped(rel, types)) == [], plan.text
        columns = plan_columns(read_document(plan.document))
        made = deep(partial(types.of, rel))
        assert [made[c].type for c in rel.columns] == [c.type_text for c in columns], plan.text
        read_any = True
    assert read_any


def stage_columns(stage: Stage, types: RelationTypes) -> dict[str, ColumnType]:
    """The public columns of a stage's table."""
    known = types.of(stage.input)
    if isinstance(stage.top, Group):
        own = {a.id: ColumnType(a.type) for a in stage.top.aggregates}
        known = {k: known[k] for k in stage.top.keys} | own
    return {n: type_expression(e, known) for n, e in stage.outputs}


def cut(rel: Rel, names: tuple[str, ...], types: RelationTypes) -> tuple[Stage, ...]:
    """The stages of a relation; none of one that is refused, or where Spark has to say which type
    two keys have together."""
    try:
        return compile_stages(rel, names, lambda r: {c: types.of(r)[c].type for c in r.columns})
    except Refused:
        return ()
    except Untyped as e:
        if " and " in str(e):
            return ()
        raise


def staged(rel: Rel, types: RelationTypes) -> Iterator[str]:
    """What has no type in the stages of a relation and in their derivatives."""
    sources: dict[str, Mapping[str, ColumnType]] = {}
    for node in walk(rel):
        if isinstance(node, Scan):
            known = types.of(replace(node))
            named = {n: known[i] for i, n in node.reads}
            sources[node.source] = {**sources.get(node.source, {}), **named}
    over = RelationTypes(sources.__getitem__)
    names = tuple(f"c{i}" for i in range(len(rel.columns)))
    for stage in cut(rel, names, over):
        yield from untyped(stage.input, over)
        sources[stage.id] = stage_columns(stage, over)
        delta = differentiate(stage.input, frozenset(stage.sources))
        if delta is not None:
            over.of(delta)


@pytest.mark.parametrize("store", [s for s in STORES if LARGE not in s.stem], ids=lambda s: s.stem)
def test_stages_and_derivatives_have_types(store: Path) -> None:
    for plan in read_store(store).values():
        found = read(plan)
        if found is None:
            continue
        assert list(staged(*found)) == [], plan.text


def test_what_is_read_is_deterministic_but_for_the_users_functions() -> None:
    for plan in read_store(STORES[0]).values():
        rel, _ = read(plan) or (Rows("", ()), None)
        for node in walk(rel):
            own = tuple(getattr(node, f.name) for f in fields(node))
            assert all(e.deterministic for e in expressions(own)), plan.text


def test_a_refusal_of_a_call_has_its_place_in_the_text() -> None:
    pieces = set[str]()
    for plan in (p for s in STORES if LARGE not in s.stem for p in read_store(s).values()):
        try:
            deep(partial(reader(plan).read, read_document(plan.document)))
        except Refused as e:
            pieces |= {plan.text[e.place.start : e.place.end]} if e.place else set()
    assert pieces >= {
        "rand()", "uuid()", "current_date()", "input_file_name()", "shuffle(array(v, f))",
        "reflect('java.lang.System', 'nanoTime')", "aes_encrypt(k, 'abcdefghijklmnop')",
        "CAST('now' AS TIMESTAMP)", "(SELECT array(1))", "sql_keywords()", "hll_sketch_agg(v)",
        "percentile_approx(v, 0.5)", "collect_list(v) OVER (PARTITION BY k ORDER BY v)",
    }  # fmt: skip


def test_the_restriction_of_a_change_is_typed_too() -> None:
    """`untyped` looks at the relations of keys."""
    rel = Restrict(Rows("x", ("a",), ("int",)), Rows("y", ("b",)), (("a", "b"),))
    with pytest.raises(Untyped, match="the columns b"):
        list(untyped(rel, RelationTypes({}.__getitem__)))
