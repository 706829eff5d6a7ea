"""Tables and views that statements of Spark's make: known again later, dropped, brought back."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dt_jupyter.catalog import CatalogWarning
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.lake import (
    ask_again,
    drop_folder,
    folder_exists,
    free_label,
    is_delta,
    list_folders,
    put_aside,
    register,
    remove_folder,
    restore_folder,
)
from dt_jupyter.model import DTError, Name, Named, did_you_mean, error
from dt_jupyter.sources import Sources, holder
from dt_jupyter.spark import RelationKind, lookup
from dt_jupyter.sql import SparkKind, SparkStatement
from dt_jupyter.streams import StatementLog, StatementRecord

_MADE = (SparkKind.CREATE_TABLE, SparkKind.CREATE_VIEW)
_ALTERED = (SparkKind.ALTER_TABLE, SparkKind.ALTER_VIEW)
_DROPPED = {SparkKind.DROP_TABLE: Named.TABLE, SparkKind.DROP_VIEW: Named.VIEW}


@dataclass(frozen=True)
class LakeTables:
    """Those of the session and of the catalog that `sources` is on."""

    sources: Sources
    known: Callable[[], Mapping[Name, str]]
    """The folders of all tables of the lake, by name."""
    log: StatementLog
    _behind: set[Name] = field(default_factory=set)
    """What later sessions do not know in its present state."""
    _remembering: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, statement: SparkStatement) -> None:
        """What a statement made or dropped, for later sessions. It has happened: where the catalog
        cannot be written, that is a warning, and it is recorded after the next statement."""
        with self._remembering:
            for name in tuple(self._behind):
                with suppress(DTError):
                    self._catch_up(name)
                    self._behind.discard(name)
            try:
                self._follow(statement)
            except DTError as e:
                names = (statement.target, statement.new_name)
                self._behind.update(name for name in names if name is not None)
                told = f"{statement.target} is as the statement left it, but later sessions do not"
                told = f"{told} know that until another statement has run: {e}"
                warnings.warn(told, CatalogWarning, stacklevel=2)

    def _catch_up(self, name: Name) -> None:
        """By the present state: others may have followed since."""
        if lookup(self.sources.spark, name, temporary=False) is None:
            self.sources.catalog.forget(name)
        else:
            self._remember(name)

    def _follow(self, statement: SparkStatement) -> None:
        name, kind = statement.target, statement.kind
        if name is None or statement.temporary:
            return
        if kind in _MADE:
            self._remember(name)
        elif kind in _DROPPED:
            self.sources.catalog.forget(name)
        elif kind in _ALTERED and name in self._recorded():
            if statement.new_name is not None:
                self.sources.catalog.forget(name)
            self._remember(statement.new_name or name)

    def _remember(self, name: Name) -> None:
        """What has a name now, where it is another text or place than is recorded."""
        relation = lookup(self.sources.spark, name, temporary=False)
        if relation is None:
            return
        known, catalog = self._recorded().get(name), self.sources.catalog
        if relation.kind is RelationKind.VIEW and relation.text not in (None, known):
            catalog.record_view(name, relation.text or "")
        elif relation.provider == "delta" and relation.location:
            folder = self.sources.folder_of(relation.location)
            if folder is not None:
                self._record(name, folder)

    def _recorded(self) -> Mapping[Name, str]:
        """The tables and views that later sessions know, by path and text."""
        catalog = self.sources.catalog
        tables = {table.name: table.path for table in catalog.tables()}
        return tables | {view.name: view.text for view in catalog.views()}

    def drop(self, name: Name) -> bool:
        """Moves a table of the lake's folder to the trash, so that `undrop` can restore it; False,
        with nothing done, where it is not one."""
        if self._own_folder(name) is None:
            return False
        with self.log.begin(f"DROP TABLE {name}") as record:
            return self.put_aside(name, record) is not None

    def put_aside(self, name: Name, record: StatementRecord) -> str | None:
        """As `drop`, a step of a statement; the label under which its folder is then."""
        path = self._own_folder(name)
        if path is None:
            return None
        label = free_label(self.sources.layout.trash, _label(name))
        place = self._place(name, path)
        record.will(StepKind.TABLE_ASIDE, **place, label=label)
        aside = drop_folder(path, self.sources.layout.trash, label).name
        if aside != label:  # another process was faster
            record.will(StepKind.TABLE_ASIDE, **place, label=aside)
        self._unregister(name)
        return aside

    def _own_folder(self, name: Name) -> Path | None:
        """Of a Delta table in the lake's folder."""
        relation, tables = lookup(self.sources.spark, name), self.sources.layout.tables
        if relation is None or relation.provider != "delta" or not relation.location:
            return None
        path = Path(relation.location)
        inside = tables.resolve() in path.resolve().parents
        return path if inside and is_delta(path) else None

    def _place(self, name: Name, path: Path) -> dict[str, Any]:
        table_id = self.sources.logs[str(path)].table_id()
        return {"name": [name.schema, name.table], "path": str(path), "table_id": table_id}

    def return_aside(self, facts: Mapping[str, Any]) -> None:
        """Undoes `put_aside`."""
        name, path = Name(*facts["name"]), Path(facts["path"])
        aside = self.sources.layout.trash / facts["label"]
        if self._holds(aside, facts):
            restore_folder(aside, path)
        if self._holds(path, facts):
            self._know(name, path)

    def _holds(self, path: Path, facts: Mapping[str, Any]) -> bool:
        """Whether the table is there."""
        ask_again()
        return is_delta(path) and self.sources.logs[str(path)].table_id() == facts["table_id"]

    def _know(self, name: Name, path: Path) -> None:
        """By name, here and later."""
        register(self.sources.spark, name, path)
        self._record(name, str(path))
        self.sources.catalog.quarantine.lift(Named.TABLE, name)

    def _unregister(self, name: Name) -> None:
        """Known by name no more; its folder has gone before, since Spark would delete it."""
        self.sources.spark.sql(f"DROP TABLE IF EXISTS {name.sql}")
        self.sources.catalog.forget(name)

    def drop_broken(self, statement: SparkStatement) -> str | None:
        """What DROP says of a table or view in quarantine, which Spark does not know: it is moved
        to the trash, or forgotten; None where the name is none of those."""
        name, catalog = statement.target, self.sources.catalog
        kind = _DROPPED.get(statement.kind)
        found = catalog.quarantine.find(name, kind) if kind is not None else None
        if name is None or found is None or lookup(self.sources.spark, name) is not None:
            return None
        tables, layout = self.known(), self.sources.layout
        path = Path(tables[name]) if kind == Named.TABLE and name in tables else None
        inside = path is not None and layout.tables.resolve() in path.resolve().parents
        if path is not None and inside and folder_exists(path):
            put_aside(path, layout.trash, _label(name))
        catalog.forget(name)
        catalog.quarantine.lift(found.kind, name)
        return f"{found.kind.capitalize()} {name} is out of quarantine, and dropped."

    def undrop(self, name: Name, allow: Callable[[str], None] = lambda table_id: None) -> None:
        """The last dropped table of that name is back, unless `allow` refuses its id. DT-1118
        where there is none, or the name is taken."""
        dropped = self._dropped(_label(name))
        if dropped is None:
            hint = did_you_mean(str(name), self._dropped_names())
            problem = "nothing of that name was dropped"
            raise error("DT-1118", name=name, problem=problem, hint=hint)
        allow(self.sources.logs[str(dropped)].table_id())
        if holder(self.sources.catalog, self.sources.spark, name) is not None:
            raise error("DT-1118", name=name, problem="the name is taken", hint="Rename the other.")
        with self.log.begin(f"UNDROP TABLE {name}") as record:
            self._bring_back(name, dropped, record)

    def restore(self, name: Name, label: str, record: StatementRecord) -> None:
        """The table whose folder was moved to the trash under that label. DT-1118 where it is
        gone."""
        dropped = self.sources.layout.trash / label
        if not is_delta(dropped):
            raise error("DT-1118", name=name, problem="its files are gone", hint="")
        self._bring_back(name, dropped, record)

    def _bring_back(self, name: Name, dropped: Path, record: StatementRecord) -> None:
        folder = self.sources.layout.free(name)
        record.will(
            StepKind.TABLE_BACK,
            **{**self._place(name, dropped), "path": str(folder)},
            label=dropped.name,
        )
        restore_folder(dropped, folder)
        self._know(name, folder)

    def put_back(self, facts: Mapping[str, Any]) -> None:
        """Undoes `restore` and `undrop`."""
        name, path = Name(*facts["name"]), Path(facts["path"])
        if self._holds(path, facts):
            drop_folder(path, self.sources.layout.trash, facts["label"])
        if self.known_path(name) in (None, str(path)):
            self._unregister(name)

    @contextmanager
    def renaming(self, statement: SparkStatement) -> Iterator[None]:
        """Spark moves the folder of a table with its name: the catalog follows, whatever happens
        in between."""
        old, new = statement.target, statement.new_name
        path = self.known_path(old) if old is not None else None
        renamed = statement.kind is SparkKind.ALTER_TABLE and new is not None
        if not renamed or old is None or new is None or path is None or not is_delta(path):
            yield
            return
        place = {**self._place(old, Path(path)), "new": [new.schema, new.table]}
        with self.log.begin(f"ALTER TABLE {old} RENAME TO {new}") as record:
            record.decide(StepKind.TABLE_RENAMED, **place)
            yield

    def follow_rename(self, facts: Mapping[str, Any]) -> None:
        """The catalog has the new name where Spark has it: the table's folder moves with it, or
        stays where a LOCATION was given, which the session alone knows."""
        old, new = Name(*facts["name"]), Name(*facts["new"])
        path = Path(facts["path"])
        moved = Path(self.known().get(new, path))
        if self._holds(path, facts) and self._lies_at(new, path):
            moved = path
        elif self._holds(path, facts) or not self._holds(moved, facts):
            return
        self.sources.catalog.forget(old)
        self._record(new, str(moved))

    def _lies_at(self, name: Name, path: Path) -> bool:
        """Whether the session knows a table of that name there."""
        relation = lookup(self.sources.spark, name, temporary=False)
        place = relation.location if relation is not None else None
        return place is not None and self.sources.folder_of(place) == str(path)

    def unmake(self, facts: Mapping[str, Any]) -> None:
        """Undoes a table that was made in a separate folder."""
        name, path = Name(*facts["name"]), Path(facts["path"])
        if self.known_path(name) in (None, str(path)):
            self._unregister(name)
        if not is_delta(path) or self._holds(path, facts):
            remove_folder(path)

    def known_path(self, name: Name) -> str | None:
        """Where later sessions find the table."""
        return next((t.path for t in self.sources.catalog.tables() if t.name == name), None)

    def _dropped(self, label: str) -> Path | None:
        trash = self.sources.layout.trash
        named = {p: time for p, time in list_folders(trash) if p.name.startswith(label)}
        own = [p for p in named if p.name == label or p.name.removeprefix(f"{label}.").isdigit()]
        return max(own, key=lambda p: named[p], default=None)

    def _dropped_names(self) -> list[str]:
        """Those that UNDROP takes, as they are shown."""
        trash = self.sources.layout.trash
        parts = {_NUMBER.sub("", p.name).partition(".")[::2] for p, _ in list_folders(trash)}
        return [str(Name(*pair)) for pair in sorted(parts) if all(pair)]

    def _record(self, name: Name, path: str) -> None:
        table_id = self.sources.logs[path].table_id()
        self.sources.catalog.record_table(name, table_id, path)


_NUMBER = re.compile(r"\.\d+\Z")


def _label(name: Name) -> str:
    """What the folder of a dropped table is called."""
    return f"{name.schema}.{name.table}"
