"""Tables and views that statements of Spark's make: known again later, dropped, brought back."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from dt_jupyter.catalog import CatalogWarning
from dt_jupyter.lake import (
    drop_folder,
    folder_exists,
    is_delta,
    list_folders,
    put_aside,
    register,
    restore_folder,
)
from dt_jupyter.model import DTError, Name, Named, did_you_mean, error, undo
from dt_jupyter.sources import Sources, holder
from dt_jupyter.spark import RelationKind, lookup
from dt_jupyter.sql import SparkKind, SparkStatement

_MADE = (SparkKind.CREATE_TABLE, SparkKind.CREATE_VIEW)
_ALTERED = (SparkKind.ALTER_TABLE, SparkKind.ALTER_VIEW)
_DROPPED = {SparkKind.DROP_TABLE: Named.TABLE, SparkKind.DROP_VIEW: Named.VIEW}


@dataclass(frozen=True)
class LakeTables:
    """Those of the session and of the catalog that `sources` is on."""

    sources: Sources
    known: Callable[[], Mapping[Name, str]]
    """The folders of all tables of the lake, by name."""
    _behind: set[Name] = field(default_factory=set)
    """What later sessions do not know as it stands."""
    _remembering: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, statement: SparkStatement) -> None:
        """What a statement made or dropped, for later sessions. It has happened: where the catalog
        takes nothing now, that is a warning, and it is told after the next statement."""
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
        """By what stands now: others may have followed since."""
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
        """What stands under a name now, where it is another text or place than is recorded."""
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
        """A table in the lake's folder is put aside, so that `undrop` can bring it back; False,
        with nothing done, where it is not one."""
        return self.put_aside(name) is not None

    def put_aside(self, name: Name) -> Path | None:
        """As `drop`; where its folder is then."""
        spark, layout = self.sources.spark, self.sources.layout
        relation = lookup(spark, name)
        if relation is None or relation.provider != "delta" or not relation.location:
            return None
        path = Path(relation.location)
        if layout.tables.resolve() not in path.resolve().parents or not is_delta(path):
            return None
        aside = drop_folder(path, layout.trash, _label(name))
        try:
            self._unregister(name)
        except BaseException as e:
            undo(e, lambda: restore_folder(aside, path))
            raise
        return aside

    def _unregister(self, name: Name) -> None:
        """Known by name no more; its folder has gone before, since Spark would delete it."""
        self.sources.spark.sql(f"DROP TABLE IF EXISTS {name.sql}")
        self.sources.catalog.forget(name)

    def drop_broken(self, statement: SparkStatement) -> str | None:
        """What DROP says of a table or view in quarantine, which Spark does not know: it is put
        aside, or forgotten; None where the name is none of those."""
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
        self._bring_back(name, dropped)

    def restore(self, name: Name, label: str) -> None:
        """The table whose folder was put aside under that label. DT-1118 where it is gone."""
        dropped = self.sources.layout.trash / label
        if not is_delta(dropped):
            raise error("DT-1118", name=name, problem="its files are gone", hint="")
        self._bring_back(name, dropped)

    def _bring_back(self, name: Name, dropped: Path) -> None:
        spark, folder = self.sources.spark, self.sources.layout.free(name)
        restore_folder(dropped, folder)
        try:
            register(spark, name, folder)
            self._record(name, str(folder))
        except BaseException as e:
            undo(e, lambda: restore_folder(folder, dropped), lambda: self._unregister(name))
            raise

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
