"""A Delta table outside of the lake: `delta:///folder?table=name`.

As a folder of files (`files`), but what is staged is applied by one commit of the table, which has
the transaction's number under an id of the task: a number that the table has is not applied again.
`_manifest.json` says whose the table is; Delta's readers do not read it.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dt_jupyter.lake import commit_name, find_escape, sync
from dt_jupyter.model import error
from dt_jupyter.model.hidden import hidden
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.drivers.file_formats import FORMATS
from dt_jupyter.sinks.drivers.files import FilesStore, Manifest, with_tombstones
from dt_jupyter.sinks.drivers.sql import quoted, same_key
from dt_jupyter.sinks.patterns import TOMBSTONE
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import is_wider
from dt_jupyter.sinks.type_texts import to_type_text

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable

_GONE = hidden("gone")
_LOG = "_delta_log"
_UNSUPPORTED = "nsupported table feature"


class DeltaStore(FilesStore):
    store = "Delta"
    names = NameRules("Delta", 200, '%/\\"*:<>?|')
    columns = NameRules("Delta", 1000, " ,;{}()=")

    def __init__(self, address: StoreAddress) -> None:
        address.require_options("table", "adopt", "timeout")
        if problem := find_escape(address.path):
            raise error("DT-6101", url=str(address), problem=problem, hint="Rename the folder.")
        super().__init__(address)
        self._app, self._number = "", 0

    # -- opening -----------------------------------------------------------------------------------

    def connect(self, message: m.Open) -> None:
        super().connect(message)
        known = m.joined_checkpoints(message.driver_checkpoint)
        self._app = next((each["app"] for each in known if each.get("app")), "")
        self._number = max((each.get("number", 0) for each in known), default=0)
        with self._locked(), self._delta_errors():
            self._follow(self._own_manifest())

    def _adopted(self) -> Manifest:
        """A table that is there, with all columns. DT-6140, DT-6142."""
        from deltalake import DeltaTable

        if not ((self._folder / _LOG).exists() and self._address.flag("adopt")):
            return super()._adopted()
        with self._delta_errors():
            table = DeltaTable(self._folder)
        known = {f.name for f in table.schema().fields}
        wanted = [f.name for f in self._stored_schema()]
        if missing := [name for name in wanted if name not in known]:
            problem = f"it has no column {', '.join(missing)}"
            raise error("DT-6142", target=self._folder, store=self.store, problem=problem)
        if TOMBSTONE in known and TOMBSTONE not in wanted:
            problem = "it has delta updates"
            raise error("DT-6142", target=self._folder, store=self.store, problem=problem)
        self._narrower(table, self._stored_schema())
        columns = {c.name: to_type_text(c.type) for c in self._binding.columns}
        return Manifest(self._sink, columns, self._binding.key, {}, adopted=True)

    def _follow(self, manifest: Manifest) -> None:
        """The table is there, with all columns in their types."""
        from deltalake import DeltaTable, Schema

        schema = self._stored_schema()
        if not (self._folder / _LOG).exists():
            if manifest.ranges:
                problem = "its log is gone"
                raise error("DT-6143", target=self._folder, store=self.store, problem=problem)
            DeltaTable.create(self._folder, schema)
            self._sync_commit(0)
            return
        table = DeltaTable(self._folder)
        known = {f.name for f in table.schema().fields}
        if lost := [n for n in manifest.columns if n not in known and n not in self._added]:
            problem = f"column {lost[0]} is gone"
            raise error("DT-6143", target=self._folder, store=self.store, problem=problem)
        if added := [f for f in Schema.from_arrow(schema).fields if f.name not in known]:
            table.alter.add_columns(added)
            self._sync_commit(table.version())
        self._widen(DeltaTable(self._folder), schema)

    def _widen(self, table: DeltaTable, schema: pa.Schema) -> None:
        """Columns of a narrower type, by one commit of the whole table: delta-rs reads no table
        whose types were widened in place. DT-6142."""
        import pyarrow as pa
        from deltalake import CommitProperties, DeltaTable, QueryBuilder, write_deltalake

        if not (changed := self._narrower(table, schema)):
            return
        before = pa.schema(table.schema().to_arrow())
        fields = [schema.field(f.name) if f.name in changed else f for f in before]
        rows = QueryBuilder().register("t", table).execute("SELECT * FROM t")
        write_deltalake(
            table,
            _cast_batches(pa.RecordBatchReader.from_stream(rows), pa.schema(fields)),
            mode="overwrite",
            schema_mode="overwrite",
            partition_by=table.metadata().partition_columns or None,
            commit_properties=CommitProperties(max_commit_retries=0),
        )
        self._sync_commit(DeltaTable(self._folder).version())

    def _narrower(self, table: DeltaTable, schema: pa.Schema) -> list[str]:
        """The columns whose types are to be widened; DT-6142 for another one."""
        import pyarrow as pa
        from deltalake import Schema

        before = pa.schema(table.schema().to_arrow())
        wanted = {f.name: f.type for f in Schema.from_arrow(schema).fields}
        changed = [f.name for f in table.schema().fields if wanted.get(f.name, f.type) != f.type]
        for name in changed:
            was, now = before.field(name).type, schema.field(name).type
            if not is_wider(was, now):
                problem = f"column {name} was {was} and is {now}"
                raise error("DT-6142", target=self._folder, store=self.store, problem=problem)
        return changed

    def _followed(self, *, fresh: bool) -> Manifest:
        before = self._read_manifest()
        known = before.columns if before is not None else {}
        self._added = {c.name for c in self._binding.columns if c.name not in known}
        return super()._followed(fresh=fresh)

    def _stored_schema(self) -> pa.Schema:
        import pyarrow as pa

        schema = self._binding.schema
        if self._binding.delta_updates:
            schema = schema.append(pa.field(TOMBSTONE, pa.bool_()))
        return schema

    def forget(self, binding: Any, sink: str, *, empty: bool, unmake: bool = False) -> None:
        """A table that was adopted is emptied by a commit, another one goes."""
        from deltalake import DeltaTable

        self._binding, self._sink = binding, sink
        self._folder = Path(self._address.path) / binding.target
        with self._locked():
            manifest = self._read_manifest()
            mine = empty and manifest is not None and manifest.sink == sink
            if mine and manifest is not None and manifest.adopted:
                with self._delta_errors():
                    table = DeltaTable(self._folder)
                    table.delete()
                    self._sync_commit(table.version())
            elif mine:
                shutil.rmtree(self._folder / _LOG, ignore_errors=True)  # no table from here on
                for file in self._folder.glob("*.parquet"):
                    file.unlink()
        super().forget(binding, sink, empty=empty, unmake=unmake)

    # -- a transaction -----------------------------------------------------------------------------

    def _checkpoint(self, staged: str | None) -> m.Checkpoint:
        """An id is of one range of one delivery from the beginning: of tasks that were split each
        continues from its parent's number with a new id, and one that was joined from the
        highest."""
        if staged is not None:
            first = self._app.partition("/")[0] or uuid.uuid4().hex
            self._app, self._number = f"{first}/{self._range}", self._number + 1
        return {"staged": staged, "app": self._app, "number": self._number}

    def _apply_one(self, sealed: m.Checkpoint) -> None:
        staged = self._folder / self.STAGED / sealed["staged"]
        with self._locked():
            manifest = self._own_manifest()
            if staged.exists():
                ranges = tuple(sorted({*manifest.ranges, str(self._range)}))
                self._write_manifest(manifest._replace(ranges=ranges))
                with self._delta_errors():
                    self._commit_once(sorted(staged.iterdir()), sealed["app"], sealed["number"])
            shutil.rmtree(staged, ignore_errors=True)

    def _commit_once(self, parts: list[Path], app: str, number: int) -> None:
        from deltalake import CommitProperties, DeltaTable, Transaction

        table = DeltaTable(self._folder)
        if (table.transaction_version(app) or 0) >= number:
            return
        deleted, stored = self._staged_rows(parts)
        numbered = [Transaction(app, number)]
        once = CommitProperties(max_commit_retries=0, app_transactions=numbered)
        if self._binding.delta_updates:
            self._append(table, with_tombstones(deleted, stored), once)
        else:
            self._merge(table, deleted, stored, once)
        self._sync_commit(DeltaTable(self._folder).version())

    def _staged_rows(self, parts: list[Path]) -> tuple[pa.Table, pa.Table]:
        """Keys to delete, and rows."""
        import pyarrow as pa

        read, binding = FORMATS["parquet"].read, self._binding
        schemas = {"-delete.": binding.key_schema, "-store.": binding.schema}
        deleted, stored = (
            pa.concat_tables(
                [schema.empty_table(), *(read(p, schema) for p in parts if kind in p.name)]
            )
            for kind, schema in schemas.items()
        )
        return deleted, stored

    @staticmethod
    def _append(table: DeltaTable, rows: pa.Table, once: CommitProperties) -> None:
        from deltalake import write_deltalake

        write_deltalake(table, rows, mode="append", commit_properties=once)

    def _merge(
        self, table: DeltaTable, deleted: pa.Table, stored: pa.Table, once: CommitProperties
    ) -> None:
        import pyarrow as pa

        names = self._binding.schema.names
        gone = pa.repeat(True, deleted.num_rows)
        rows = pa.concat_tables(
            [
                deleted.append_column(_GONE, gone),
                stored.append_column(_GONE, pa.repeat(False, stored.num_rows)),
            ],
            promote_options="default",
        ).select([*names, _GONE])
        values = {quoted(n): f"s.{quoted(n)}" for n in names}
        kept = f"NOT s.{quoted(_GONE)}"
        same = same_key("t", "s", self._binding.key)
        merge = table.merge(rows, same, "s", "t", commit_properties=once)
        merge = merge.when_matched_delete(f"s.{quoted(_GONE)}")
        merge = merge.when_matched_update(values, kept)
        merge.when_not_matched_insert(values, kept).execute()

    def _sync_commit(self, version: int) -> None:
        """A commit and its files are durable."""
        log = self._folder / _LOG / commit_name(version)
        actions = map(json.loads, log.read_text("utf-8").splitlines())
        added = [self._folder / unquote(a["add"]["path"]) for a in actions if "add" in a]
        sync([*added, log, log.parent, self._folder])

    # -- loading -----------------------------------------------------------------------------------

    def load_rows(self) -> Iterator[pa.Table]:
        import pyarrow as pa

        keys, self._keys = self._keys, []
        if not keys:
            return
        self._own_manifest()
        with self._delta_errors():
            rows = self._found(pa.concat_tables(keys))
        if rows.num_rows:
            yield rows

    def _found(self, keys: pa.Table) -> pa.Table:
        """By a join with a table of the keys: there is no text that grows with them."""
        import pyarrow as pa
        from deltalake import DeltaTable, QueryBuilder, write_deltalake

        schema = self._binding.schema
        listed = ", ".join(f"t.{quoted(n)}" for n in schema.names)
        same = same_key("t", "k", self._binding.key)
        with TemporaryDirectory(prefix="dt_keys_") as folder:
            write_deltalake(folder, keys)
            tables = QueryBuilder().register("t", DeltaTable(self._folder))
            tables = tables.register("k", DeltaTable(folder))
            found = tables.execute(f"SELECT {listed} FROM t JOIN k ON {same}").read_all()
        return pa.table(found).rename_columns(schema.names).cast(schema)

    @contextmanager
    def _delta_errors(self) -> Iterator[None]:
        from deltalake.exceptions import DeltaError, SchemaMismatchError, TableNotFoundError

        try:
            yield
        except (SchemaMismatchError, TableNotFoundError) as e:
            problem = str(e).partition("\n")[0]
            raise error("DT-6143", target=self._folder, store=self.store, problem=problem) from None
        except DeltaError as e:
            problem = str(e).partition("\n")[0]
            if _UNSUPPORTED in problem:
                hint = "Choose another target."
                raise error("DT-6144", store=self.store, problem=problem, hint=hint) from None
            raise error("DT-6112", store=self.store, problem=problem, hint="") from None


def _cast_batches(rows: pa.RecordBatchReader, schema: pa.Schema) -> pa.RecordBatchReader:
    """As they come, so that no more than a batch is in memory."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(
        schema,
        (
            pa.RecordBatch.from_arrays(
                [c.cast(f.type) for c, f in zip(batch.columns, schema, strict=True)], schema=schema
            )
            for batch in rows
        ),
    )
