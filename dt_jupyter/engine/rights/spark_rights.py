"""The rights that a statement of Spark's needs, by its analysed plan: whatever its text looks like,
what it reads and what it changes are what Spark has bound.

What a command needs in addition to what it reads is in the closed table of `commands`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.rights.commands import (
    COMMAND_WRITES,
    COMMANDS,
    CommandNeed,
    command_need,
)
from dt_jupyter.engine.rights.concealment import concealed, hidden_from
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
from dt_jupyter.failures import catalogued
from dt_jupyter.model import ADMIN, DTError, DynamicTable, Name, Named, Right, Securable, error
from dt_jupyter.sources import CopiedTables, Layout
from dt_jupyter.spark import (
    FILE_SCHEMAS,
    Analysed,
    FunctionCommand,
    ParsedText,
    ReadKind,
    analyse,
    analyse_what_binds,
    code_frame,
    conf_of,
    described_function,
    file_paths,
    function_command,
    locations,
    of_frame,
    parse_text,
    path_of_text,
    provider_of,
    qualify_text,
    reads_any,
    rows_frame,
    run_analysed,
    storage_of,
    text_of_path,
    type_text,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CLAUSES = {
    "DeltaMergeIntoMatchedDeleteClause": Right.DELETE,
    "DeltaMergeIntoNotMatchedBySourceDeleteClause": Right.DELETE,
    "DeltaMergeIntoMatchedUpdateClause": Right.UPDATE,
    "DeltaMergeIntoNotMatchedBySourceUpdateClause": Right.UPDATE,
    "DeltaMergeIntoNotMatchedInsertClause": Right.INSERT,
}
_TEMPORARY = frozenset({"CreateViewCommand", "CreateTempViewUsing"})
"""They are in no schema where they name none: Spark has put one where they are."""
_SETTINGS = frozenset({"SetCommand", "ResetCommand"})
_UNTOLD = frozenset({"CloneTableStatement"})
"""Commands whose plan does not show what they read."""
_LAKE_FORMATS = FILE_SCHEMAS - {"binaryfile"}


@dataclass(frozen=True)
class PlacedByEngine:
    """What the engine put into a statement: temporary views, and its folders. `targets` are
    those that the text names, for what Spark's plan does not show."""

    views: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    targets: tuple[Name, ...] = ()
    reads_only: bool = False

    @property
    def as_told(self) -> frozenset[str]:
        """The folders as a plan of Spark's is read to name them."""
        return frozenset(path_of_text(text_of_path(path)) for path in self.paths)


_UNKNOWN_PATH = "its plan does not show what it reads"
_NOTHING_PLACED = PlacedByEngine(reads_only=True)


@dataclass(frozen=True)
class SparkRights:
    """Checks the plans of one engine's session, on the lake of `layout`."""

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
        hidden = hidden_from(access, found.facts.reads)
        frame = self._run(parsed, found, hidden)
        if command is not None and makes:
            on = Securable.of(Named.FUNCTION, self._functions.name_of(command))
            access.made(on, access.role if access.bound else None)
        lists = access.bound and COMMANDS.get(found.facts.root) is CommandNeed.LISTS
        shown = self._listed(frame) if lists else frame
        return code_frame(shown, lambda e: self._worded(e, hidden))

    def _run(self, parsed: ParsedText, found: Analysed, hidden: str | None) -> DataFrame:
        try:
            return run_analysed(self.access.spark, parsed, found)
        except Exception as e:
            if hidden is None:
                raise
            failure = self._worded(e, hidden)
        raise failure  # outside: it has no context, which would show values

    def _worded(self, failure: Exception, hidden: str | None) -> DTError:
        """An error of the catalogue, without values that the role may not read."""
        made = concealed(self.access, catalogued(failure, "The statement"), hidden)
        made.__cause__ = failure if hidden is None else None
        return made

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
        what Spark does not analyse is left to the session that runs it, which fails on it too."""
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
        checked too."""
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
        if parsed.kind in _SETTINGS and (refused := refused_conf(conf_of(parsed))) is not None:
            raise refused
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
        """A role may not create a table in the folder of another role: DT-5208."""
        if role != ADMIN and self._of_the_lake(path):
            raise error("DT-5208", role=role, path=path)

    # -- what is read and changed -----------------------------------------------------------------

    def _require(self, found: Analysed, placed: PlacedByEngine, role: str, *, query: bool) -> None:
        facts = found.facts
        if self.access.shared is not None:
            refused = refused_code(facts.classes) or refused_option(facts.options)
            if refused is not None:
                raise refused
        if role != ADMIN and reads_any(facts.reads, ReadKind.UNKNOWN):
            raise error("DT-5208", role=role, path=_UNKNOWN_PATH)
        if reads_any(facts.reads, ReadKind.FILES):
            paths = file_paths(found.plan, placed.views)
            if not paths and role != ADMIN:
                raise error("DT-5208", role=role, path=_UNKNOWN_PATH)
            self._require_paths([p for p in paths if p not in placed.as_told], role)
        for read in facts.reads if role != ADMIN else ():
            self.access.require_plan_read(role, read)
        if query:
            return
        if found.described is not None:
            self._require_described(found.described, placed, role)
        if (command := function_command(found)) is not None:
            self._require_function(command)
        elif self.access.bound:
            self._require_command(found, placed)

    def _require_described(self, relation: str, placed: PlacedByEngine, role: str) -> None:
        """SELECT on what CREATE TABLE … LIKE takes columns and properties from, and on what a
        temporary view reads."""
        spark = self.access.spark
        found = analyse(spark, parse_text(spark, f"TABLE {relation}"), placed.views)
        self._require(found, placed, role, query=True)

    def _require_function(self, command: FunctionCommand) -> None:
        """A function runs with the rights of its caller; a role that creates it may run it too."""
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
        """Where the lake is on other storage, and the tables that it knows there."""
        paths = [t.path for t in self.access.catalog.tables()]
        places = [self.copies.place_of(p) for p in paths if self.copies.holds(p)]
        return [self.layout.place, *places] if self.layout.place else places

    def _require_command(self, found: Analysed, placed: PlacedByEngine) -> None:
        access, need = self.access, command_need(found.parsed, found.facts.root)
        if found.parsed in _UNTOLD:
            raise access.refusal("CLONE of a table", "what it reads is not in its plan")
        if found.path is not None and found.path not in placed.as_told:
            raise error("DT-5208", role=access.role, path=found.path)
        if need in (CommandNeed.OPEN, CommandNeed.LISTS):
            return
        if need is CommandNeed.SEES:
            self._functions.require_described(described_function(found))
        elif need is CommandNeed.ADMIN:
            access.require_admin(_called(found.parsed))
        elif found.path is None and not (_is_temporary(found) and found.target is None):
            self._require_targets(found, need, placed.targets)

    def _require_targets(self, found: Analysed, need: CommandNeed, named: tuple[Name, ...]) -> None:
        access = self.access
        targets = (found.target,) if found.target is not None else named
        rights = _rights_for(found, need)
        if need is CommandNeed.MAKES:
            kind = Named.VIEW if found.facts.root == "CreateViewCommand" else Named.TABLE
            for target in targets:
                access.require_create(kind, target, replaces=bool(rights))
        elif not targets and found.schema is not None:
            access.require_owner(Securable.of(Named.SCHEMA, found.schema))
        elif not targets and found.described is None:
            hint = "Write one statement for each table."
            raise access.refusal(_called(found.parsed), "its effect is not known by name", hint)
        for target in targets:
            for right in rights:
                access.require(right, target)

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


def _is_temporary(found: Analysed) -> bool:
    return found.facts.root in _TEMPORARY


def _rights_for(found: Analysed, need: CommandNeed) -> tuple[Right, ...]:
    root, classes = found.facts.root, found.facts.classes
    if root == "MergeIntoCommand":
        return tuple(dict.fromkeys(r for c, r in _CLAUSES.items() if c in classes))
    if need is CommandNeed.WRITES:
        return COMMAND_WRITES[root]
    if need is CommandNeed.READS:
        return (Right.SELECT,)
    replaces = root.startswith("Replace") or found.facts.replaces
    return (Right.OWNERSHIP,) if need is CommandNeed.OWNS or replaces else ()


_CALLED = {
    "CompoundBody": "BEGIN … END",
    "UnresolvedExecuteImmediate": "EXECUTE IMMEDIATE",
    "ExecuteImmediateQuery": "EXECUTE IMMEDIATE",
}
_WORD = re.compile(r"[A-Z][a-z0-9]*")


def _called(kind: str) -> str:
    """A statement by the class that the parser makes of it: ANALYZE TABLES of AnalyzeTables."""
    words = _WORD.findall(kind.removesuffix("Command").removesuffix("Command$"))
    return _CALLED.get(kind) or " ".join(words).upper() or kind


__all__ = ["PlacedByEngine", "SparkRights"]
