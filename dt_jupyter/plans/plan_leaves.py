"""What a plan of classic Spark reads, which its document does not have: asked of the plan
itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import quote
from dt_jupyter.model.hidden import unique_view
from dt_jupyter.plans.local_rows_sql import MOST_LOCAL_ROWS, values_sql
from dt_jupyter.plans.no_form import FILES_READ_OTHERWISE, ManyRows, NoForm
from dt_jupyter.plans.plan_tree import SparkNode
from dt_jupyter.plans.query_sql import FromText, catalog_text
from dt_jupyter.spark import GLOB, collect_arrow, frame_of_plan, path_of_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS = frozenset({"LogicalRDD", "LocalRelation"})
_DELTA, _FILES, _LISTED = "TahoeLogFileIndex", "HadoopFsRelation", "InMemoryFileIndex"


@dataclass
class PlanLeaves:
    """The leaves of a plan by the number of their first column; `views` are the temporary views
    that stand for rows at hand while plans are compared, `standing` what others stand for, by
    name."""

    spark: SparkSession
    plan: Any
    leaves: dict[int, Any]
    standing: Mapping[str, FromText]
    views: dict[int, str] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def of(
        cls, spark: SparkSession, plan: Any, standing: Mapping[str, FromText]
    ) -> Iterator[PlanLeaves]:
        found = plan.collectLeaves()
        known = {}
        for i in range(found.size()):
            output = found.apply(i).output()
            if output.nonEmpty():
                known[output.head().exprId().id()] = found.apply(i)
        made = cls(spark, plan, known, standing)
        try:
            yield made
        finally:
            for view in made.views.values():
                spark.catalog.dropTempView(view)

    def stored(self, node: SparkNode) -> FromText | None:
        """A leaf in the text that is kept; None for a temporary view that stands for nothing."""
        if node.kind == "View":
            return self.standing.get(_view_name(node))
        if node.kind in _ROWS:
            frame = self._frame(node)
            rows = collect_arrow(frame.limit(MOST_LOCAL_ROWS + 1)).to_pylist()
            if len(rows) > MOST_LOCAL_ROWS:
                raise ManyRows(f"more than {MOST_LOCAL_ROWS:,} rows")
            return FromText(values_sql(rows, frame.schema), "rows", bare=True)
        return self._relation(node)

    def planned(self, node: SparkNode) -> FromText | None:
        """A leaf in the text whose plan is compared."""
        if node.kind == "View":
            found = self.standing.get(_view_name(node))
            return FromText(quote(_view_name(node)), found.name) if found is not None else None
        if node.kind not in _ROWS:
            found = self._relation(node)
            if node.kind != "LogicalRelation" or _files_text(self._leaf(node)) is None:
                return found
            self._require_same_columns(node, found)
        (first, *_) = node.trees("output")
        if first.id not in self.views:
            self.views[first.id] = self._view(self._frame(node))
        return FromText(quote(self.views[first.id]), "rows")

    def _require_same_columns(self, node: SparkNode, files: FromText | None) -> None:
        """That a text reads files as the DataFrame does: their relations differ in the options
        by which the path was given, so that the plans cannot tell."""
        text = files.text if files is not None else ""
        if self.spark.sql(f"SELECT * FROM {text}").schema != self._frame(node).schema:
            raise NoForm(FILES_READ_OTHERWISE)

    def cut(self, root: SparkNode, node: SparkNode) -> tuple[FromText, Any]:
        """An operator as a relation to read, and Spark's own plan of it."""
        plan = self.plan
        for step in _path(root, node):
            plan = plan.children().apply(step)
        self.views[-len(self.views) - 1] = view = self._view(frame_of_plan(plan, self.spark))
        return FromText(quote(view), "rows"), plan

    def _view(self, frame: DataFrame) -> str:
        view = unique_view("frame")
        frame.createOrReplaceTempView(view)
        return view

    def _frame(self, node: SparkNode) -> DataFrame:
        leaf = self._leaf(node)
        if leaf is None:
            raise NoForm("a subquery over rows at hand")
        return frame_of_plan(leaf, self.spark)

    def _leaf(self, node: SparkNode) -> Any:
        (first, *_) = node.trees("output") or (None,)
        return self.leaves.get(first.id) if first is not None else None

    def _relation(self, node: SparkNode) -> FromText | None:
        if node.fields.get("isStreaming"):
            raise NoForm("a streaming source")
        if node.kind == "Range":
            facts = node.fields
            bounds = f"{facts['start']}, {facts['end']}, {facts['step']}"
            slices = facts.get("numSlices")
            return FromText(f"range({bounds}{f', {slices}' if slices else ''})", "range")
        if node.kind != "LogicalRelation":
            return None
        table = node.fields.get("catalogTable")
        leaf = self._leaf(node)
        location = _delta_location(leaf)
        found = catalog_text(table["identifier"]) if table else None
        if location is None:
            return found or _files_text(leaf)
        if found is None:
            path = path_of_uri(location.path().toUri().toString())
            found = FromText(f"delta.{quote(path)}", path.rstrip("/").rpartition("/")[2])
        if location.isTimeTravelQuery():
            version = location.getSnapshot().version()
            return FromText(f"{found.text} VERSION AS OF {version}", found.name)
        return found


def _view_name(view: SparkNode) -> str:
    return str(view.fields["desc"]["identifier"]["table"])


def _delta_location(leaf: Any) -> Any:
    """Where a Delta table lies, as Delta has it; None of anything else."""
    location = _location(leaf)
    return location if location and location.getClass().getSimpleName() == _DELTA else None


def _is_table(leaf: Any) -> bool:
    return bool(leaf.catalogTable().isDefined()) if _location(leaf) is not None else False


def _location(leaf: Any) -> Any:
    """What lists the files of a relation; None where it has none."""
    if leaf is None or leaf.getClass().getSimpleName() != "LogicalRelation":
        return None
    relation = leaf.relation()
    kind = relation.getClass()
    if _FILES not in (kind.getSimpleName(), kind.getSuperclass().getSimpleName()):
        return None
    return relation.location()


def _files_text(leaf: Any) -> FromText | None:
    """Files that were read by a path, as a text reads them by that path; None of a table."""
    location = None if leaf is None or _is_table(leaf) else _location(leaf)
    if location is None or location.getClass().getSimpleName() != _LISTED:
        return None
    options = leaf.relation().options()
    given = options.get("path")
    roots = location.rootPaths()
    if not given.isDefined() or options.size() > 1:
        raise NoForm(FILES_READ_OTHERWISE)
    if GLOB & set(given.get()):
        path, name = given.get(), "files"
    elif roots.size() == 1:
        path = path_of_uri(roots.head().toUri().toString())
        name = path.rstrip("/").rpartition("/")[2]
    else:
        raise NoForm(FILES_READ_OTHERWISE)
    text = f"{leaf.relation().fileFormat().shortName()}.{quote(path)}"
    return FromText(text, name)


def _path(root: SparkNode, node: SparkNode) -> tuple[int, ...]:
    """The way from a plan to one of its operators, by the places of children."""
    stack: list[tuple[SparkNode, tuple[int, ...]]] = [(root, ())]
    while stack:
        found, path = stack.pop()
        if found is node:
            return path
        stack += [(child, (*path, i)) for i, child in enumerate(found.children)]
    raise NoForm(f"a subquery with {node.kind}")
