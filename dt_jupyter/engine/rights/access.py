"""What the session's role may do, asked before anything is done, and who owns what is made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from dt_jupyter.catalog import Catalog, require_role
from dt_jupyter.engine.rights.shared import Shared, refused_place
from dt_jupyter.functions import FUNCTION_HOME, is_registered
from dt_jupyter.model import (
    ADMIN,
    CREATE_RIGHTS,
    DEFAULT_WAREHOUSE,
    Definition,
    DeliveryRecord,
    DTError,
    DynamicTable,
    Name,
    Named,
    Reason,
    RefreshRecord,
    Right,
    RightsBook,
    Securable,
    Sink,
    TaskRun,
    denied,
    error,
    require,
)
from dt_jupyter.sources import UNKNOWN, direct_reads, holder, name_of
from dt_jupyter.spark import (
    FILE_SCHEMAS,
    PlanRead,
    ReadKind,
    RelationKind,
    is_connect,
    lookup,
    of_frame,
)
from dt_jupyter.sql import table_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dt_jupyter.engine.context import EngineState

_UPSTREAM_FAILED = "DT-2110"
_HIDDEN_ERROR = "Its message may show rows: it takes {need} to read it."


@dataclass(frozen=True)
class Access:
    """The rights of one engine's session. `bound` is False for `admin`, who is asked nothing."""

    spark: SparkSession
    catalog: Catalog
    state: EngineState
    shared: Shared | None = None

    @property
    def role(self) -> str:
        return self.state.role

    @property
    def bound(self) -> bool:
        return self.state.role != ADMIN

    @property
    def guarded(self) -> bool:
        """Whether Spark's plans are checked before they run."""
        return self.bound or self.shared is not None

    @property
    def book(self) -> RightsBook:
        return self.catalog.rights()

    # -- roles ------------------------------------------------------------------------------------

    def use(self, role: str) -> None:
        """The session's role from now on. DT-5203; DT-5204 for one that the session was not
        opened for; DT-5209 over Spark Connect."""
        book = self.book
        require_role(book, role)
        if role != ADMIN and is_connect(self.spark):
            raise error("DT-5209", problem="what a query reads is known to the server alone")
        login = self.state.login
        if ADMIN not in book.closure(login) and role not in book.closure(login):
            problem = f"this session was opened as {login}, to which it was not granted"
            hint = f"Role admin may run: GRANT ROLE {role} TO ROLE {login}."
            raise error("DT-5204", name=role, problem=problem, hint=hint)
        self.state.role = role

    def require_admin(self, statement: str) -> None:
        """DT-5207 for a role that is not admin."""
        if self.bound and ADMIN not in self.book.closure(self.role):
            hint = "USE ROLE admin, where the session may."
            problem = "it is open to admin alone"
            raise self.refusal(statement, problem, hint)

    def refusal(self, statement: str, problem: str, hint: str = "") -> DTError:
        """DT-5207."""
        return error("DT-5207", statement=statement, role=self.role, problem=problem, hint=hint)

    # -- rights -----------------------------------------------------------------------------------

    def require(self, right: Right, name: Name) -> None:
        """DT-5201 where the role has not the right on a table, view, dynamic table, stream or sink;
        nothing if there is none of that name, which its look-up will report."""
        if self.bound:
            self.require_as(self.book, self.role, right, name)

    def require_as(self, book: RightsBook, role: str, right: Right, name: Name) -> None:
        on = Securable.of(Named.TABLE, name)
        if book.holds(role, right, on):
            return
        kind = self.kind_of(name)
        if kind is not None:
            require(book, role, right, Securable.of(kind, name))

    def require_whatever(self, right: Right, name: Name) -> None:
        """As `require`, also where nothing has the name any more."""
        if self.bound:
            kind = self.kind_of(name) or Named.TABLE
            require(self.book, self.role, right, Securable.of(kind, name))

    def require_task(self, right: Right, name: Name) -> None:
        """As `require`, of a task."""
        if self.bound and self.catalog.has_task(name):
            require(self.book, self.role, right, Securable.of(Named.TASK, name))

    def may_task(self, right: Right, name: Name) -> bool:
        on = Securable.of(Named.TASK, name)
        return not self.bound or self.book.holds(self.role, right, on)

    def require_warehouse(self, right: Right, name: str) -> None:
        """As `require`; every role may use the warehouse default."""
        if self.bound and (name, right) != (DEFAULT_WAREHOUSE, Right.USAGE):
            require(self.book, self.role, right, Securable.of(Named.WAREHOUSE, name))

    def may_warehouse(self, right: Right, name: str) -> bool:
        on = Securable.of(Named.WAREHOUSE, name)
        return not self.bound or self.book.holds(self.role, right, on)

    def require_create(self, kind: Named, name: Name, *, replaces: bool = False) -> None:
        """DT-5201 for who may not make something of that kind in that schema; nothing where
        something has the name and stays."""
        if self.bound and (replaces or not self._is_there(kind, name)):
            on = Securable.of(Named.SCHEMA, name.schema)
            require(self.book, self.role, CREATE_RIGHTS[kind], on)

    def _is_there(self, kind: Named, name: Name) -> bool:
        if kind is Named.TASK:
            return self.catalog.has_task(name)
        if kind is Named.FUNCTION:
            return self.has_function(name)
        return self.kind_of(name) is not None

    def has_function(self, name: Name) -> bool:
        """Whether the lake keeps a function of that name, or Spark's catalog has one."""
        kept = name.schema == FUNCTION_HOME and is_registered(name.table, self.catalog)
        return kept or self.spark.catalog.functionExists(name.sql)

    def require_owner(self, on: Securable) -> None:
        """DT-5201 for who does not own it; of a role, who is not admin."""
        if on.kind is Named.ROLE:
            self.require_admin("GRANT and REVOKE of roles")
        elif self.bound:
            require(self.book, self.role, Right.OWNERSHIP, on)

    def require_last_owner(self, name: Name, dropped: str | None) -> None:
        """DT-5201 for who did not own the dropped object of that id, which had the name."""
        on = Securable.of(Named.TABLE, name)
        roles = self.book.closure(self.role) if self.bound else frozenset((ADMIN,))
        owner = self.catalog.last_owner(on, dropped) if dropped is not None else None
        if ADMIN not in roles and owner not in roles:
            facts = denied(self.role, Right.OWNERSHIP, on)
            raise error("DT-5201", **facts, owner=owner or ADMIN)

    def object_id(self, name: Name) -> str:
        """A digest that identifies the object with the name among all that ever had it; "" where it
        cannot be brought back once it is dropped, and where nothing has the name."""
        return self.object_ids().get(name, "")

    def object_ids(self) -> dict[Name, str]:
        """As `object_id`, of all; a view is its text."""
        catalog = self.catalog
        tables = {table.name: table.table_id for table in catalog.tables()}
        views = {view.name: _digest([view.text]) for view in catalog.views()}
        dynamic = {table.name: table.id for table in catalog.list()}
        streams = {stream.name: stream.id for stream in catalog.streams()}
        return tables | views | dynamic | streams

    def schema_id(self, schema: str) -> str:
        """A digest that identifies a schema among others of its name: of all that it holds."""
        return _digest(sorted(i for n, i in self.object_ids().items() if n.schema == schema))

    def require_read(self, name: Name, role: str | None = None) -> None:
        """SELECT on what is read by that name, by the session's role; what a view reads is read
        with the rights of its owner. DT-5201, DT-5208 for files by their path."""
        if not self.bound and role is None:
            return
        self._require_read(self.book, role or self.role, name, frozenset())

    def _require_read(self, book: RightsBook, role: str, name: Name, seen: frozenset[Name]) -> None:
        if name.schema in FILE_SCHEMAS:
            raise error("DT-5208", role=role, path=name.table)
        self.require_as(book, role, Right.SELECT, name)
        owner = book.owner(Securable.of(Named.VIEW, name))
        if owner == ADMIN or name in seen or self.catalog.get(name) is not None:
            return
        stream = self.catalog.find_stream(name)
        if stream is not None:
            self._require_read(book, owner, stream.source, seen | {name})
            return
        relation = lookup(self.spark, name)
        if relation is not None and relation.kind is RelationKind.VIEW:
            with suppress(AnalysisException):  # a view that is broken gives no rows
                for read in of_frame(self.spark.table(name.sql)).facts.reads:
                    self.require_plan_read(role, read)

    def require_plan_read(self, role: str, read: PlanRead) -> None:
        """SELECT on what a plan reads by name; what a view reads is read with the rights of its
        owner. DT-5201."""
        book = self.book
        if read.kind is ReadKind.TEMPORARY_VIEW:
            for inner in read.inner:
                self.require_plan_read(role, inner)
        elif read.name is not None:
            on = Securable.of(Named.VIEW, read.name)
            if not book.holds(role, Right.SELECT, on):  # it is there: Spark has bound it
                kind = self.kind_of(read.name) or Named(read.kind.value)
                require(book, role, Right.SELECT, Securable.of(kind, read.name))
            owner = book.owner(on)
            if read.kind is ReadKind.VIEW and owner != ADMIN:
                for inner in read.inner:
                    self.require_plan_read(owner, inner)

    def require_query(self, query: str, schema: str) -> None:
        """`require_read` of all that a query names, temporary views aside; DT-5211 for a path that
        a shared engine does not read."""
        self._require_places(query)
        if not self.bound:
            return
        for parts, *_ in table_places(query):
            self.require_named(parts, schema)

    def _require_places(self, query: str) -> None:
        for parts, *_ in table_places(query) if self.shared is not None else ():
            if len(parts) > 1 and parts[-2].lower() in FILE_SCHEMAS:
                assert self.shared is not None
                if (refused := refused_place(parts[-1], self.shared)) is not None:
                    raise refused

    def require_named(self, parts: tuple[str, ...], schema: str) -> None:
        """`require_read` of a name as it is written, unless it is a temporary view."""
        name = name_of(parts, schema)
        if self.bound and (len(parts) > 1 or not self.is_temporary(name)):
            self.require_read(name)

    def is_temporary(self, name: Name) -> bool:
        relation = lookup(self.spark, name)
        return relation is not None and relation.kind is RelationKind.TEMPORARY_VIEW

    def require_stream(self, name: Name) -> None:
        """SELECT on a stream, and on what it is on."""
        if not self.bound:
            return
        self.require(Right.SELECT, name)
        found = self.catalog.find_stream(name)
        if found is not None:
            self.require_read(found.source)

    def require_definition(self, definition: Definition) -> None:
        """`require_read` of all that a dynamic table's definition names itself."""
        if self.bound:
            for name in direct_reads(definition):
                self.require_read(name)

    def may(self, right: Right, name: Name) -> bool:
        return not self.bound or self.book.holds(self.role, right, Securable.of(Named.TABLE, name))

    def sees(self, name: Name) -> bool:
        """Whether the role has any right on what has the name."""
        return not self.bound or self.book.sees(self.role, Securable.of(Named.TABLE, name))

    def monitors(self, name: Name) -> bool:
        """Whether the role sees the state and the history of it."""
        return self.may(Right.MONITOR, name)

    def sees_warehouse(self, name: str) -> bool:
        on = Securable.of(Named.WAREHOUSE, name)
        return not self.bound or name == DEFAULT_WAREHOUSE or self.book.sees(self.role, on)

    def require_sees(self, name: Name) -> None:
        """DT-5201 for what the role has no right on at all: it wants MONITOR."""
        if not self.sees(name):
            self.require(Right.MONITOR, name)

    def kind_of(self, name: Name) -> Named | None:
        """The kind of what has the name; None where nothing does."""
        if (broken := self.catalog.quarantine.find(name)) is not None:
            return Named(broken.kind) if broken.kind in tuple(Named) else None
        kind = holder(self.catalog, self.spark, name, temporary=False)
        return Named(kind) if kind is not None else None

    # -- what is shown ----------------------------------------------------------------------------

    def redacted(self, record: RefreshRecord) -> RefreshRecord:
        """A record without the text of an error, its own or one further up, for who may not read
        the rows that it may show."""
        return self._redacted(record, {})

    def _redacted(self, record: RefreshRecord, needs: dict[Name, str | None]) -> RefreshRecord:
        """`needs` are the rights that the role lacks, by table, as far as they were looked up."""
        if not self.bound:
            return record
        upstream = tuple(self._redacted(r, needs) for r in record.upstream)
        record = replace(record, upstream=upstream)
        reason = record.reason
        of_upstream = reason is not None and reason.code.startswith("UPSTREAM_")
        if record.error is None and not of_upstream:
            return record
        if record.name not in needs:
            needs[record.name] = self.hides_errors(record.name)
        if (need := needs[record.name]) is None:
            return record
        hidden = self.hidden_error(record.error_code or _UPSTREAM_FAILED, need)
        if reason is not None and of_upstream:
            record = replace(record, reason=Reason(reason.code, hidden))
        return record if record.error is None else replace(record, error=hidden)

    def hides_errors(self, name: Name) -> str | None:
        """The right that the role lacks to see the errors of a dynamic table, which may show
        rows of all that it reads, and of what that reads; None where it lacks none."""
        if not self.may(Right.SELECT, name):
            return f"SELECT on {name}"
        return None if self._may_read_below({name}) else f"SELECT on all that {name} reads"

    def hides_rows_of(self, query: str, schema: str) -> str | None:
        """As `hides_errors`, of a query."""
        with suppress(DTError):  # what is too deep to be read hides them
            names = {name_of(parts, schema) for parts, *_ in table_places(query)}
            if self._may_read_below(names):
                return None
        return "SELECT on all that it reads"

    def _may_read_below(self, names: set[Name]) -> bool:
        waiting, seen = list(names), set(names)
        while waiting and self.bound:
            name = waiting.pop()
            table = self.catalog.get(name)
            if not self._may_read(name) or (table is not None and self._reads_unknown(table)):
                return False
            reads = self._read_by(name) - seen
            seen |= reads
            waiting += reads
        return True

    def _read_by(self, name: Name) -> set[Name]:
        """What a dynamic table and a view read themselves."""
        if (table := self.catalog.get(name)) is not None:
            return set(direct_reads(table.definition))
        relation = lookup(self.spark, name)
        if relation is None or relation.kind is not RelationKind.VIEW:
            return set()
        return {name_of(parts, name.schema) for parts, *_ in table_places(relation.text or "")}

    def _reads_unknown(self, table: DynamicTable) -> bool:
        """Whether only its owner's plan shows what a dynamic table reads, and the role is not the
        owner."""
        unknown = any(s.name == UNKNOWN for s in table.definition.sources)
        return unknown and not self.may(Right.OWNERSHIP, table.name)

    def _may_read(self, name: Name) -> bool:
        try:
            self.require_read(name)
        except DTError:
            return False
        return True

    @staticmethod
    def hidden_error(code: str | None, need: str) -> str:
        """The replacement of an error's text, for a role without the right that it needs."""
        return f"[{code}] {_HIDDEN_ERROR.format(need=need)}"

    def delivery_told(self, record: DeliveryRecord) -> DeliveryRecord:
        """A delivery without its error's text, for who may not read what the sink delivers."""
        if record.error is None or not self.bound:
            return record
        sink = self.catalog.find_sink(record.name)
        if sink is not None and self.may(Right.SELECT, sink.source):
            return record
        return replace(
            record, error=self.hidden_error(record.code, f"SELECT on what {record.name} delivers")
        )

    def sink_told(self, sink: Sink) -> Sink:
        """As `delivery_told`, of why it does not deliver."""
        if sink.problem is None or self.may(Right.SELECT, sink.source):
            return sink
        return replace(sink, problem=self.hidden_error(sink.code, f"SELECT on {sink.source}"))

    def run_told(self, run: TaskRun) -> TaskRun:
        """A run without its error's text, for who does not own the task: it runs by the rights of
        its owner, and what it reads may be rows of others."""
        if run.message is None or run.code is None or self.may_task(Right.OWNERSHIP, run.name):
            return run
        return replace(
            run, message=self.hidden_error(run.code, f"OWNERSHIP of the task {run.name}")
        )

    def told(self, records: Iterable[RefreshRecord]) -> list[RefreshRecord]:
        """Those of what the role monitors, as it may see them."""
        needs: dict[Name, str | None] = {}
        seen = (r for r in records if not self.bound or self.monitors(r.name))
        return [self._redacted(r, needs) for r in seen]

    def discreet(self, failure: DTError) -> DTError:
        """An error without suggestions of names that the role may not see."""
        hint = failure.facts.get("hint")
        if not self.bound or not isinstance(hint, str) or not hint.startswith("Did you mean"):
            return failure
        names = _SUGGESTED.split(hint.removeprefix("Did you mean ").rpartition("?")[0])
        if failure.code not in _NAMES_OBJECTS or all(map(self._sees_text, names)):
            return failure
        facts = {**failure.facts, "hint": ""}
        return DTError(failure.code, facts, failure.query, failure.span, failure.details)

    def _sees_text(self, text: str) -> bool:
        schema, _, table = text.replace("`", "").rpartition(".")
        return bool(table) and self.sees(Name(schema or "default", table))

    # -- objects that are dropped, renamed or created ----------------------------------------------

    def forget_functions(self) -> None:
        """What was granted on functions that are gone is gone too."""
        for on in {g.on for g in self.book.grants if g.on.kind is Named.FUNCTION}:
            if not self.has_function(Name(on.schema, on.name)):
                self.catalog.rights_dropped(on)

    def made(self, on: Securable, owner: str | None) -> None:
        """What was just made is the role's, if it is one's; what was granted on its name before is
        gone."""
        book = self.book
        if any(g.on.key == on.key for g in book.grants):
            self.catalog.rights_dropped(on)
        if owner in book.roles:
            self.catalog.grant(owner, [Right.OWNERSHIP], on, owner)


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


_SUGGESTED = re.compile(r" or ")
_NAMES_OBJECTS = frozenset(("DT-1101", "DT-1108", "DT-2102", "DT-3201", "DT-6104", "DT-1118"))


__all__ = ["Access"]
