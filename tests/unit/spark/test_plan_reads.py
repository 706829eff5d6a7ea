"""What a plan reads, of plans as values: what is asked for, and with whose rights."""

from __future__ import annotations

from typing import Any

from dt_jupyter.model import Name
from dt_jupyter.spark.analysed import reads_any
from dt_jupyter.spark.plan_reads import PlanRead, ReadKind, facts_of

SECRET = PlanRead(ReadKind.TABLE, Name("default", "secret"))


def node(
    kind: str,
    up: int,
    field: str = "",
    flags: tuple[str, ...] = (),
    *,
    acts: bool = False,
    **names: str,
) -> Any:
    return [kind, up, field, {f: n.split(".") for f, n in names.items()}, list(flags), acts]


def table(up: int, name: str = "default.secret", field: str = "") -> Any:
    return node("LogicalRelation", up, field, catalogTable=name)


def reads(*nodes: Any, own: frozenset[str] = frozenset()) -> tuple[PlanRead, ...]:
    return facts_of({"nodes": nodes, "classes": [], "acts": False, "options": []}, own).reads


def test_a_view_holds_what_it_reads_and_the_order_is_that_of_the_text() -> None:
    view = node("View", 1, desc="default.peek")
    found = reads(node("Join", -1), node("Project", 0), view, table(2), table(0, "s.other"))
    peek = PlanRead(ReadKind.VIEW, Name("default", "peek"), (SECRET,))
    assert found == (peek, PlanRead(ReadKind.TABLE, Name("s", "other")))


def test_a_subquery_of_an_expression_is_read() -> None:
    found = reads(node("Filter", -1), node("Project", 0, "condition"), table(1), table(0, "s.t"))
    assert found == (SECRET, PlanRead(ReadKind.TABLE, Name("s", "t")))


def test_a_temporary_view_is_looked_into_unless_it_is_the_engines() -> None:
    view = node("View", -1, flags=("isTempView",), desc=".Placed")
    assert reads(view, table(0)) == (PlanRead(ReadKind.TEMPORARY_VIEW, None, (SECRET,)),)
    own = frozenset({"placed"})
    assert reads(view, table(0), own=own) == (PlanRead(ReadKind.TEMPORARY_VIEW),)
    lasting = node("View", -1, desc="default.Placed")
    assert reads(lasting, table(0), own=own)[0].inner == (SECRET,)


def test_the_target_of_a_write_is_not_read() -> None:
    target, query = table(0, "default.target", "table"), table(0)
    assert reads(node("AppendData", -1), target, query) == (SECRET,)
    assert len(reads(node("Another", -1), target, query)) == 2


def test_files_and_what_is_no_relation() -> None:
    files = PlanRead(ReadKind.FILES)
    assert reads(node("LogicalRelation", -1)) == (files,)
    assert reads(node("LogicalRelation", -1, catalogTable="delta./a/b")) == (files,)
    assert reads(node("OneRowRelation", -1)) == reads(node("SetCommand", -1, acts=True)) == ()
    target = node("NewCommand", -1, acts=True, catalogTable="default.secret")
    assert reads(target) == (SECRET,)


def test_a_leaf_that_is_not_known_is_told() -> None:
    unknown = PlanRead(ReadKind.UNKNOWN)
    for kind in ("NewScan", "Anything", "PythonWorkerLogs"):
        assert reads(node("Join", -1), node(kind, 0), table(0)) == (unknown, SECRET)
    view = node("View", -1, flags=("isTempView",), desc=".v")
    (found,) = reads(view, node("Anything", 0))
    assert reads_any((found,), ReadKind.UNKNOWN)
    assert not reads_any((found,), ReadKind.FILES)


def test_a_deep_plan_needs_no_deep_stack() -> None:
    chain = [node("Project", at - 1) for at in range(20_000)]
    assert reads(*chain, table(len(chain) - 1)) == (SECRET,)


def test_what_a_command_names_and_whether_it_replaces_it() -> None:
    command = node("CreateViewCommand", -1, flags=("replace",), name="default.v")
    facts = facts_of({"nodes": [command], "classes": ["X"], "acts": True, "options": []})
    assert (facts.target, facts.replaces, facts.acts) == (Name("default", "v"), True, True)
    assert (
        facts_of(
            {"nodes": [node("C", -1, name=".v")], "classes": [], "acts": True, "options": []}
        ).target
        is None
    )
