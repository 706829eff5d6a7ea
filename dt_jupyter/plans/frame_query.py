"""A DataFrame as the SQL query that Spark itself plans as it plans the DataFrame."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from dt_jupyter.plans.connect_query import connect_query
from dt_jupyter.plans.expression_reader import called_programs
from dt_jupyter.plans.no_form import NoForm, NotTheSame, PythonFunction
from dt_jupyter.plans.plan_document import read_java_plan
from dt_jupyter.plans.plan_form import same_form
from dt_jupyter.plans.plan_leaves import PlanLeaves
from dt_jupyter.plans.plan_tree import SparkNode
from dt_jupyter.plans.query_sql import FromText, QueryWriter
from dt_jupyter.plans.same_plan import same_plan
from dt_jupyter.spark import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def write_frame_query(
    spark: SparkSession,
    frame: DataFrame,
    builtins: Collection[str],
    standing: Mapping[str, FromText] | None = None,
    functions: Collection[str] = (),
) -> str:
    """The query of a DataFrame. What Spark makes of the text is compared with the DataFrame's own
    plan, so that nothing which the text does not say can pass. `standing` are tables for which
    temporary views stand in it, by the views' names; `functions` are those of the user's that the
    session calls by these names.

    Raises NoForm, or one of its kinds, where there is no such text.
    """
    if is_connect(spark):
        return connect_query(spark, frame, functions)
    session: Any = frame
    original = session._jdf.queryExecution().analyzed()
    plan = read_java_plan(spark, original)
    if any(node.kind == _UPDATE for node in plan.everything()):
        original = _without_updates(session, original)
        plan = read_java_plan(spark, original)
    _require_no_description(plan)
    with PlanLeaves.of(spark, original, standing or {}) as leaves:
        proof = _Proof(spark, plan, leaves, builtins, functions)
        if not proof.holds(plan, original):
            if (another := next(called_programs(plan), None)) is not None:
                raise PythonFunction(another)
            raise NotTheSame("what Spark makes of its SQL")
        return QueryWriter(leaves.stored, builtins, functions=functions).write(plan)


_UPDATE = "UpdateFields"
_REPLACED = "org.apache.spark.sql.catalyst.optimizer.ReplaceUpdateFieldsExpression$"


def _without_updates(frame: Any, plan: Any) -> Any:
    """A plan whose structs with a field more, or less, are written out, as Spark itself does it."""
    from py4j.java_gateway import JavaClass

    rule = JavaClass(_REPLACED, frame.sparkSession._jvm._gateway_client)
    return getattr(rule, "MODULE$").apply(plan)


def _require_no_description(plan: SparkNode) -> None:
    """NoForm for `describe` and `summary`: they write means and deviations as texts, which are
    others where rows are added up in another order."""
    for node in plan.walk():
        generator = node.tree("generator") if node.kind == "Generate" else None
        if generator is None or [n.name for n in node.trees("generatorOutput")] != ["summary"]:
            continue
        if any(n.kind == "Literal" for n in generator.children):
            raise NoForm("describe() and summary() (select the aggregates: df.agg(F.avg(…), …))")


@dataclass(frozen=True)
class _Proof:
    """That Spark plans a text as it plans a DataFrame, part by part where it has no text of an
    operator of its own."""

    spark: SparkSession
    root: SparkNode
    leaves: PlanLeaves
    builtins: Collection[str]
    functions: Collection[str]

    def holds(self, plan: SparkNode, original: Any) -> bool:
        parts: list[tuple[SparkNode, Any]] = []

        def cut(node: SparkNode) -> FromText:
            named, found = self.leaves.cut(self.root, node)
            parts.append((node.child, found.children().apply(0)))
            return named

        writer = QueryWriter(self.leaves.planned, self.builtins, True, cut, self.functions)
        text = writer.write(plan)
        return self._same(original, self._analysed(text)) and all(
            self.holds(*part) for part in parts
        )

    def _same(self, one: Any, other: Any) -> bool:
        """By Spark's rules, else by the forms of both, which do not tell programs apart."""
        if same_plan(self.spark, one, other):
            return True
        programs = next(called_programs(self.root), None)
        return programs is None and same_form(self.spark, one, other)

    def _analysed(self, text: str) -> Any:
        try:
            made: Any = self.spark.sql(text)
        except (PySparkException, Py4JJavaError) as e:  # its analyser fails on some texts
            problem = str(e).strip().splitlines()[0]
            raise NoForm(f"something that Spark does not read again ({problem})") from e
        return made._jdf.queryExecution().analyzed()
