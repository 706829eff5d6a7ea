"""The rights that a statement of Spark's needs, by its analysed plan: whatever its text looks like,
what it reads and what it changes are what Spark has bound.

The tables of commands are closed: of one that is not in them OWNERSHIP of its target is needed, and
without a target it is open to admin alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.rights.function_rights import FunctionRights
from dt_jupyter.engine.rights.shared import (
    Shared,
    are_nested,
    real_paths,
    refused_code,
    refused_conf,
    refused_option,
    refused_place,
)
from dt_jupyter.model import ADMIN, DTError, DynamicTable, Name, Named, Right, Securable, error
from dt_jupyter.sources import CopiedTables, Layout
from dt_jupyter.spark import (
    FILE_SCHEMAS,
    Analysed,
    FunctionCommand,
    ParsedText,
    analyse,
    analyse_what_binds,
    conf_of,
    file_paths,
    function_command,
    has_files,
    locations,
    of_frame,
    parse_text,
    path_of_text,
    provider_of,
    qualify_text,
    rows_frame,
    run_analysed,
    storage_of,
    text_of_path,
    type_text,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WRITES: Mapping[str, tuple[Right, ...]] = {
    "AppendData": (Right.INSERT,),
    "OverwriteByExpression": (Right.INSERT, Right.DELETE),
    "OverwritePartitionsDynamic": (Right.INSERT, Right.DELETE),
    "InsertIntoHadoopFsRelationCommand": (Right.INSERT, Right.DELETE),
    "InsertIntoDataSourceCommand": (Right.INSERT, Right.DELETE),
    "DeleteCommand": (Right.DELETE,),
    "UpdateCommand": (Right.UPDATE,),
    "MergeIntoCommand": (),
    "TruncateDeltaTableCommand": (Right.DELETE,),
    "TruncateTableCommand": (Right.DELETE,),
}
_CLAUSES = {
    "DeltaMergeIntoMatchedDeleteClause": Right.DELETE,
    "DeltaMergeIntoNotMatchedBySourceDeleteClause": Right.DELETE,
    "DeltaMergeIntoMatchedUpdateClause": Right.UPDATE,
    "DeltaMergeIntoNotMatchedBySourceUpdateClause": Right.UPDATE,
    "DeltaMergeIntoNotMatchedInsertClause": Right.INSERT,
}
_TELLS = frozenset({
    "DescribeRelation", "DescribeTableCommand", "DescribeColumn", "DescribeColumnCommand",
    "DescribeDeltaHistoryCommand", "DescribeDeltaDetailCommand", "ShowDeltaTableColumnsCommand",
    "ShowColumns", "ShowColumnsCommand", "ShowTableProperties", "ShowTablePropertiesCommand",
    "ShowCreateTable", "ShowCreateTableCommand", "ShowDeltaPartitionsCommand", "ShowPartitions",
    "RefreshTable", "RefreshTableCommand",
})  # fmt: skip
"""What says of a table what its rows say, or nearly: SELECT."""
_MAKES = frozenset({
    "CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect",
    "CreateDataSourceTableCommand", "CreateDataSourceTableAsSelectCommand", "CreateTableLike",
    "CreateTableLikeCommand", "CreateViewCommand", "CreateTempViewUsing",
})  # fmt: skip
_TEMPORARY = frozenset({"CreateViewCommand", "CreateTempViewUsing"})
"""They are in no schema where they name none: Spark has put one where they are."""
_LISTS = frozenset({"ShowTables", "ShowTablesCommand", "ShowViews", "ShowViewsCommand"})
_OPEN = frozenset({
    "SetCommand", "ResetCommand", "SetCatalogAndNamespace", "SetNamespaceCommand",
    "ShowNamespaces", "ShowNamespacesCommand", "ShowFunctions", "ShowFunctionsCommand",
    "ShowCatalogs", "ShowCatalogsCommand", "ShowCurrentNamespaceCommand", "CreateNamespace",
    "DescribeFunctionCommand", "CacheTable", "CacheTableAsSelect",
    "ExplainCommand", "CreateVariable", "SetVariable",
})  # fmt: skip
_UNTOLD = frozenset({"CloneTableStatement"})
"""Commands whose plan does not tell what they read."""
_LAKE_FORMATS = FILE_SCHEMAS - {"binaryfile"}


@dataclass(frozen=True)
class PlacedByEngine:
    """What the engine put into a statement: temporary views, and folders of its own. `targets` are
    those that the text names, for what Spark's plan does not tell."""

    views: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    targets: tuple[Name, ...] = ()
    reads_only: bool = False

    @property
    def as_told(self) -> frozenset[str]:
        """The folders as a plan of Spark's is read to name them."""
        return frozenset(path_of_text(text_of_path(path)) for path in self.paths)


_NOTHING_PLACED = PlacedByEngine(reads_only=True)


@dataclass(frozen=True)
class SparkRights:
    """Looks at the plans of one engine's session, on the lake of `layout`."""

    access: Access
    layout: Layout
    copies: CopiedTables

    def run(self, text: str, placed: PlacedByEngine) -> DataFrame:
        """Spark's result of a text that it may run: DT-5201, DT-5207, DT-5208, DT-5211. Nothing has
        been run when one of them is raised."""
        spark, access = self.access.spark, self.access
        parsed, found = self._judged(spark, text, placed, access.role)
        command = function_command(found)
        makes = command is not None and self._functions.is_new(command)
        frame = run_analysed(spark, parsed, found)
        if command is not None and makes:
            access.made(Named.FUNCTION, self._functions.name_of(command))
        lists = access.bound and found.facts.root in _LISTS
        return self._listed(frame) if lists else frame

    def require_frame(self, frame: DataFrame) -> None:
        """What a DataFrame reads: DT-5201, DT-5208, DT-5211."""
        self._require(of_frame(frame), PlacedByEngine(), self.access.role, query=True)

    def judge(
        self,
        spark: SparkSession,
        text: str,
        role: str | None = None,
        placed: PlacedByEngine = _NOTHING_PLACED,
    ) -> None:
        """As `run`, of a text that a session is to run later, by a role (None: the session's);
        what Spark does not analyse is left to whoever runs it, who fails on it too."""
        with suppress(PySparkException):
            self._judged(spark, text, placed, self.access.role if role is None else role)

    def require_owner(self, spark: SparkSession, table: DynamicTable) -> None:
        """DT-5202 where the owner of a dynamic table may not run its query as it is now."""
        owner = self.access.book.owner_of(Named.DYNAMIC_TABLE, table.name)
        if owner == ADMIN:
            return
        try:
            self.judge(spark, table.definition.query, owner)
        except DTError as e:
            if e.code != "DT-5201":
                raise
            facts = {k: v for k, v in e.facts.items() if k != "owner"}
            raise error("DT-5202", table=table.name, **facts) from e

    def _judged(
        self, spark: SparkSession, text: str, placed: PlacedByEngine, role: str
    ) -> tuple[ParsedText, Analysed]:
        """What Spark says of what is wrong in a text names columns of what it has found: that is
        asked for too."""
        parsed = parse_text(spark, text)
        self._require_parsed(parsed)
        query = placed.reads_only and parsed.is_query
        try:
            found = analyse(spark, parsed, placed.views)
        except PySparkException:
            bound = analyse_what_binds(spark, parsed, placed.views)
            self._require(bound, placed, role, query=True)
            raise
        self._require(found, placed, role, query=query)
        return parsed, found

    @property
    def _functions(self) -> FunctionRights:
        return FunctionRights(self.access)

    # -- whatever the role ------------------------------------------------------------------------

    def _require_parsed(self, parsed: ParsedText) -> None:
        shared = self.access.shared
        if parsed.is_blind:
            problem = "what it runs is not known before"
            if shared is not None:
                raise error("DT-5211", what=_called(parsed.kind), problem=problem)
            raise self.access.refusal(_called(parsed.kind), problem, "Write the statement itself.")
        if shared is not None:
            self._require_shared(parsed, shared)
        for path in self._locations(parsed):
            self._require_place(path, self.access.role)

    def _require_shared(self, parsed: ParsedText, shared: Shared) -> None:
        if parsed.kind in ("SetCommand", "ResetCommand"):
            conf = conf_of(parsed) if parsed.kind == "SetCommand" else None
            if (conf is None or conf[1]) and (e := refused_conf(conf[0] if conf else None)):
                raise e
        provider = provider_of(parsed)
        if provider is not None and provider not in _LAKE_FORMATS:
            raise error("DT-5211", what=f"USING {provider}", problem="it reads another system")
        if (refused := refused_option(parsed.facts.options)) is not None:
            raise refused
        for path in self._locations(parsed):
            if (refused := refused_place(path, shared)) is not None:
                raise refused

    def _locations(self, parsed: ParsedText) -> list[str]:
        return [qualify_text(self.access.spark, path) for path in locations(parsed)]

    def _require_place(self, path: str, role: str) -> None:
        """A table that somebody makes lies in no other's folder: DT-5208."""
        if role != ADMIN and self._of_the_lake(path):
            raise error("DT-5208", role=role, path=path)

    # -- what is read and changed -----------------------------------------------------------------

    def _require(self, found: Analysed, placed: PlacedByEngine, role: str, *, query: bool) -> None:
        facts = found.facts
        if self.access.shared is not None:
            refused = refused_code(facts.classes) or refused_option(facts.options)
            if refused is not None:
                raise refused
        if has_files(facts.reads):
            known = placed.as_told
            paths = [p for p in file_paths(found.plan, placed.views) if p not in known]
            self._require_paths(paths, role)
        for read in facts.reads if role != ADMIN else ():
            self.access.require_plan_read(role, read)
        if query:
            return
        if (command := function_command(found)) is not None:
            self._require_function(command)
        elif self.access.bound:
            self._require_command(found, placed)

    def _require_function(self, command: FunctionCommand) -> None:
        """A function runs with the rights of whoever calls it; who makes it may run it too."""
        self._functions.require(command)
        if command.body:
            self.judge(self.access.spark, command.body)

    def _require_paths(self, paths: Iterable[str], role: str) -> None:
        shared = self.access.shared
        for path in paths:
            if shared is not None and (refused := refused_place(path, shared)) is not None:
                raise refused
            self._require_place(path, role)

    def _of_the_lake(self, path: str) -> bool:
        """Whether a path leads into the lake, or to a table that the lake knows elsewhere."""
        if storage_of(path):
            return any(are_nested(path, place) for place in self._places_elsewhere())
        reals = real_paths(path if "/" in path else str(Path.cwd() / path))
        known = [Path(t.path) for t in self.access.catalog.tables()] if reals else []
        return any(
            real.is_relative_to(f) or f.is_relative_to(real)
            for f in (self.layout.lake.resolve(), *(k.resolve() for k in known))
            for real in reals
        )

    def _places_elsewhere(self) -> list[str]:
        """Where the lake lies on other storage, and the tables that it knows there."""
        paths = [t.path for t in self.access.catalog.tables()]
        places = [self.copies.place_of(p) for p in paths if self.copies.holds(p)]
        return [self.layout.place, *places] if self.layout.place else places

    def _require_command(self, found: Analysed, placed: PlacedByEngine) -> None:
        root, access = found.facts.root, self.access
        if found.parsed in _UNTOLD:
            raise access.refusal("CLONE of a table", "what it reads is not in its plan")
        if found.path is not None and found.path not in placed.as_told:
            raise error("DT-5208", role=access.role, path=found.path)
        if root in _OPEN or root in _LISTS or found.parsed in _OPEN or found.path is not None:
            return
        targets = (found.target,) if found.target is not None else placed.targets
        rights = self._rights_for(found)
        if root in _TEMPORARY and found.target is None:
            return
        if root in _MAKES:
            for target in targets:
                kind = Named.VIEW if root == "CreateViewCommand" else Named.TABLE
                access.require_create(kind, target, replaces=bool(rights))
        if not targets and found.schema is not None and not found.facts.classes & _WRITES.keys():
            access.require_owner(Securable.of(Named.SCHEMA, found.schema))
        elif targets and (root in _WRITES or not found.facts.classes & _WRITES.keys()):
            for target in targets:
                for right in rights:
                    access.require(right, target)
        elif root not in _MAKES:
            hint = "Write one statement for each table."
            raise access.refusal(found.parsed, "its effect is not known by name", hint)

    @staticmethod
    def _rights_for(found: Analysed) -> tuple[Right, ...]:
        root, classes = found.facts.root, found.facts.classes
        if root == "MergeIntoCommand":
            return tuple(dict.fromkeys(r for c, r in _CLAUSES.items() if c in classes))
        if root in _WRITES:
            return _WRITES[root]
        if root in _TELLS:
            return (Right.SELECT,)
        if root in _MAKES:
            replaces = root.startswith("Replace") or found.facts.replaces
            return (Right.OWNERSHIP,) if replaces else ()
        return (Right.OWNERSHIP,)

    def _listed(self, frame: DataFrame) -> DataFrame:
        """The rows of SHOW TABLES of what the role sees."""
        rows = [tuple(r) for r in frame.collect() if self._shows(r)]
        schema = ", ".join(f"`{f.name}` {type_text(f.dataType)}" for f in frame.schema)
        return rows_frame(self.access.spark, rows, schema)

    def _shows(self, row: Any) -> bool:
        fields = row.asDict()
        name = fields.get("tableName") or fields.get("viewName")
        if fields.get("isTemporary") or not name:
            return True
        return self.access.sees(Name(fields.get("namespace") or "default", name))


_CALLED = {"CompoundBody": "BEGIN … END"}


def _called(kind: str) -> str:
    return _CALLED.get(kind, "EXECUTE IMMEDIATE")


__all__ = ["PlacedByEngine", "SparkRights"]
