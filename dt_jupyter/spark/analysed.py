"""Statements analysed by Spark before they are run, and what their plans read and write.

Over Spark Connect there is no plan to read: see `modes.is_connect`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Name, quote
from dt_jupyter.spark.compiled_java import compile_java
from dt_jupyter.spark.path_texts import path_of_text, path_of_uri
from dt_jupyter.spark.plan_reads import FILE_SCHEMAS, PlanFacts, PlanRead, ReadKind, facts_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RUN_BY_ANALYSIS = frozenset({"RestoreTableStatement"})
"""What Delta does as it analyses it."""
_EXPLAINS = frozenset({"ExplainCommand", "DescribeQueryCommand", "StreamingExplainCommand"})
_TARGETS = frozenset({"ResolvedTable", "ResolvedIdentifier", "ResolvedPersistentView"})


@dataclass(frozen=True)
class ParsedText:
    """What Spark's parser makes of a text, nothing looked up."""

    text: str
    plan: Any
    facts: PlanFacts

    @property
    def kind(self) -> str:
        return self.facts.root

    @property
    def is_query(self) -> bool:
        """Whether it only reads: nothing runs before its rows are requested."""
        named = self.kind.endswith("Statement") or self.kind.startswith("Describe")
        return not (self.facts.acts or named or self.is_blind)

    @property
    def is_blind(self) -> bool:
        """Whether it runs statements that no plan shows."""
        return not _BLIND.isdisjoint(self.facts.classes)


_BLIND = frozenset({"UnresolvedExecuteImmediate", "ExecuteImmediateQuery", "CompoundBody"})


@dataclass(frozen=True)
class Analysed:
    """A statement's plan. `parsed` is the class of what the parser made of it, `target` what a
    command makes or changes, `path` where that is files by their path; `schema` what it is about
    where that is a schema; `described` the relation whose columns it takes, and the temporary view
    that it is about, as SQL; `runs` whether the plan is the whole statement, as it is run."""

    parsed: str
    facts: PlanFacts
    plan: Any
    target: Name | None = None
    path: str | None = None
    schema: str | None = None
    described: str | None = None
    runs: bool = False


def parse_text(spark: SparkSession, text: str) -> ParsedText:
    plan = _state(spark).sqlParser().parsePlan(text)
    return ParsedText(text, plan, _facts(spark, plan))


def analyse(spark: SparkSession, parsed: ParsedText, own: frozenset[str] = frozenset()) -> Analysed:
    """The plan analysed; of EXPLAIN and DESCRIBE QUERY the query's. It runs nothing."""
    if parsed.kind in _RUN_BY_ANALYSIS:
        return Analysed(parsed.kind, PlanFacts(parsed.kind, (), frozenset()), parsed.plan)
    if parsed.kind in _EXPLAINS:
        told = _explained(parsed)
        inner = ParsedText(parsed.text, told, _facts(spark, told))
        return replace(analyse(spark, inner, own), parsed=parsed.kind, runs=False)
    state = _state(spark)
    mode = getattr(state, "executePlan$default$2")()
    plan = state.executePlan(parsed.plan, mode).analyzed()
    copied = _copied(parsed.plan) if parsed.kind == "CreateTableLike" else None
    found = Analysed(parsed.kind, _facts(spark, plan, own), plan, described=copied, runs=True)
    return found if parsed.is_query else _named(found)


def _copied(plan: Any) -> str:
    """The source of CREATE TABLE … LIKE, which Delta's analysis takes out of the plan."""
    source = plan.source()
    if class_of(source) == "PlanWithUnresolvedIdentifier":
        return f"IDENTIFIER({source.identifierExpr().sql()})"
    parts = source.multipartIdentifier()
    return ".".join(quote(str(parts.apply(i))) for i in range(parts.size()))


def analyse_what_binds(
    spark: SparkSession, parsed: ParsedText, own: frozenset[str] = frozenset()
) -> Analysed:
    """As `analyse`, of a text in which Spark does not find everything: with what it finds."""
    plan = parsed.plan if parsed.kind not in _EXPLAINS else _explained(parsed)
    bound = _state(spark).analyzer().execute(plan)
    return Analysed(parsed.kind, _facts(spark, bound, own), bound)


def _explained(parsed: ParsedText) -> Any:
    return (
        parsed.plan.plan() if parsed.kind == "DescribeQueryCommand" else parsed.plan.logicalPlan()
    )


def run_analysed(spark: SparkSession, parsed: ParsedText, found: Analysed) -> DataFrame:
    """Spark's result: of the very plan that was analysed, which Spark analyses no second time."""
    from pyspark.sql import DataFrame

    if not found.runs:
        return spark.sql(parsed.text)
    session: Any = spark
    return DataFrame(_rows_of(session._jvm)(session._jsparkSession, found.plan), spark)


def of_frame(frame: DataFrame, own: frozenset[str] = frozenset()) -> Analysed:
    """Of a query that is a DataFrame already."""
    plan = frame._jdf.queryExecution().analyzed()
    facts = _facts(frame.sparkSession, plan, own)
    return Analysed(facts.root, facts, plan)


def _facts(spark: SparkSession, plan: Any, own: frozenset[str] = frozenset()) -> PlanFacts:
    session: Any = spark
    survey = compile_java(session._jvm, "PlanSurvey").of(plan)
    return facts_of(json.loads(survey), own)


@lru_cache(maxsize=1)
def _rows_of(jvm: Any) -> Any:
    """What makes a DataFrame of a plan; to find a class by its name takes 1 ms."""
    return jvm.org.apache.spark.sql.classic.Dataset.ofRows


def class_of(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _state(spark: SparkSession) -> Any:
    session: Any = spark
    return session._jsparkSession.sessionState()


# -- what a command is about -----------------------------------------------------------------------


def _named(found: Analysed) -> Analysed:
    if found.facts.target is not None:
        return _with_target(found, [found.facts.target.schema], found.facts.target.table)
    if found.facts.root == "DescribeDeltaHistoryCommand":
        table = found.plan.table().catalogTable()
        if not table.isDefined():
            return replace(found, path=path_of_text(str(found.plan.table().path())))
        identifier = table.get().identifier()
        return _with_target(found, [identifier.database().get()], identifier.table())
    for node in _candidates(found):
        kind = class_of(node)
        if kind in _TARGETS:
            identifier = node.identifier()
            return _with_target(found, list(identifier.namespace()), identifier.name())
        if kind == "DataSourceV2Relation" and node.identifier().isDefined():
            identifier = node.identifier().get()
            return _with_target(found, list(identifier.namespace()), identifier.name())
        if kind == "ResolvedTempView":
            return replace(found, described=quote(str(node.identifier().name())))
        if kind == "ResolvedNamespace":
            parts = node.namespace()
            return replace(found, schema=str(parts.last()).lower() if parts.nonEmpty() else None)
    return found


def _with_target(found: Analysed, namespace: list[str], name: str) -> Analysed:
    schema = (namespace[-1] if namespace else "default").lower()
    if schema in FILE_SCHEMAS:
        return replace(found, path=path_of_text(name))
    return replace(found, target=Name(schema, name))


def _candidates(found: Analysed) -> Iterator[Any]:
    """The nodes that may say what a command is about: its table's field, and its children."""
    if found.facts.root in ("AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic"):
        yield from _unwrapped(found.plan.table())
    if found.facts.root in ("CreateTableAsSelect", "ReplaceTableAsSelect"):
        yield found.plan.name()
    children = found.plan.children()
    for i in range(children.size()):
        yield from _unwrapped(children.apply(i))


def _unwrapped(node: Any) -> Iterator[Any]:
    yield node
    while class_of(node) == "SubqueryAlias":
        node = node.child()
        yield node


_SPECIFIED = frozenset({
    "CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect",
})  # fmt: skip


def locations(parsed: ParsedText) -> list[str]:
    """The folders that it names for a table or a schema."""
    kind, plan = parsed.kind, parsed.plan
    if kind in _SPECIFIED:
        return [*_option(plan.tableSpec().location()), *_path_option(plan.tableSpec())]
    if kind == "CreateNamespace":
        return _option(plan.properties().get("location"))
    if kind in ("SetTableLocation", "SetNamespaceLocation", "SetNamespaceLocationCommand"):
        return [str(plan.location())]
    if kind == "CreateTableLike":
        return [str(plan.location().get())] if _has(plan, "location") else []
    return []


def provider_of(parsed: ParsedText) -> str | None:
    """The format that it makes a table in, where it says one."""
    if parsed.kind not in _SPECIFIED:
        return None
    found = _option(parsed.plan.tableSpec().provider())
    return found[0].lower() if found else None


def conf_of(parsed: ParsedText) -> str | None:
    """The conf that SET reads or sets; None where it is all of them, and for RESET."""
    pair = parsed.plan.kv() if parsed.kind == "SetCommand" else None
    return str(pair.get()._1()) if pair is not None and pair.isDefined() else None


def _has(plan: Any, name: str) -> bool:
    return any(m.getName() == name for m in plan.getClass().getMethods()) and bool(
        getattr(plan, name)().isDefined()
    )


def _option(value: Any) -> list[str]:
    return [str(value.get())] if value.isDefined() else []


def _path_option(spec: Any) -> list[str]:
    """OPTIONS (path = '…')."""
    options = spec.optionExpression().options()
    found = (options.apply(i) for i in range(options.size()))
    return [str(o._2()).strip("'\"") for o in found if str(o._1()).lower() == "path"]


# -- files by their path ---------------------------------------------------------------------------


def reads_any(reads: tuple[PlanRead, ...], kind: ReadKind) -> bool:
    """Whether something of that kind is read, within temporary views too; views of the lake
    aside."""
    return any(
        r.kind is kind or (r.kind is ReadKind.TEMPORARY_VIEW and reads_any(r.inner, kind))
        for r in reads
    )


_WITH_SOURCE = frozenset({"MergeIntoCommand"})
"""Commands that have what they read in a field, and no child."""


def file_paths(plan: Any, own: frozenset[str] = frozenset()) -> list[str]:
    """The paths that a plan reads, views of the lake not looked into; of what has no path, what it
    is."""
    kind = class_of(plan)
    if kind == "View":
        name = str(plan.desc().identifier().table()).lower()
        if not plan.isTempView() or name in own:
            return []
    found = _paths(plan) if kind in ("LogicalRelation", "DataSourceV2Relation") else []
    for below in (plan.children(), plan.innerChildren(), plan.subqueries()):
        for i in range(below.size()):
            found += file_paths(below.apply(i), own)
    for inner in (plan.source(),) if kind in _WITH_SOURCE else ():
        found += file_paths(inner, own)
    return found


def _paths(relation: Any) -> list[str]:
    if class_of(relation) == "DataSourceV2Relation":
        return [] if relation.identifier().isDefined() else [str(relation.table().name())]
    table = relation.catalogTable()
    if table.isDefined() and not _is_path(table.get().identifier()):
        return []
    source = relation.relation()
    if "HadoopFsRelation" not in _ancestry(source):
        return [class_of(source)]
    roots = source.location().rootPaths()
    return [path_of_uri(roots.apply(i).toUri().toString()) for i in range(roots.size())]


def _ancestry(value: Any) -> list[str]:
    """The names of its class and of those above: Delta's relation is of a class without a name."""
    found, kind = [], value.getClass()
    while kind is not None:
        found.append(str(kind.getSimpleName()))
        kind = kind.getSuperclass()
    return found


def _is_path(identifier: Any) -> bool:
    schema = identifier.database()
    return bool(schema.isDefined()) and str(schema.get()).lower() in FILE_SCHEMAS


__all__ = [
    "Analysed",
    "ParsedText",
    "analyse",
    "analyse_what_binds",
    "conf_of",
    "file_paths",
    "locations",
    "of_frame",
    "parse_text",
    "provider_of",
    "reads_any",
    "run_analysed",
]
