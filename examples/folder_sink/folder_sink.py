"""A sink driver in a package of its own: `folder:///path`, with a JSON file for each key.

    CREATE SINK s FROM TABLE t INTO 'folder:///var/rows' KEY (id)

A folder has no transactions. The recovery log says how far the source was read, and a row that
comes twice after a failure is written twice: the same file with the same content. So `REDUCE (n
SUM)` is refused, unless OPTIONS (at_least_once = TRUE) accepts that a row counts twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

from dt_jupyter.sinks.json_values import from_json_values, to_json_values
from dt_jupyter.sinks.patterns import LogNonTransactional, require_known_types
from dt_jupyter.sinks.store_names import NameRules

_NAMES = NameRules("a folder", 200, "/\\")


class FolderStore(LogNonTransactional):
    store = "a folder"

    def __init__(self, address):
        address.require_options("table", "at_least_once")
        self.at_least_once = address.flag("at_least_once")
        self._root = Path(address.path)
        self._keys = []

    def connect(self, message):
        self._binding = message.binding
        require_known_types(message.binding, self.store)
        _NAMES.require(message.binding.target)
        self._folder = self._root / message.binding.target
        self._folder.mkdir(parents=True, exist_ok=True)

    def stage_rows(self, rows, delete):
        """A row is in the folder when this returns; `finish` makes it durable."""
        columns = [to_json_values(column) for column in rows.columns]
        for values in zip(*columns, strict=True):
            row = dict(zip(rows.column_names, values, strict=True))
            file = self._file(row)
            if delete:
                file.unlink(missing_ok=True)
            else:
                draft = file.with_suffix(".tmp")
                draft.write_text(json.dumps(row), "utf-8")
                os.replace(draft, file)

    def finish(self):
        os.sync()

    def stage_keys(self, keys):
        self._keys.append(keys)

    def load_rows(self):
        import pyarrow as pa

        keys, self._keys = self._keys, []
        names = self._binding.key
        found = [
            json.loads(file.read_text("utf-8"))
            for part in keys
            for values in zip(*(to_json_values(part[n]) for n in names), strict=True)
            if (file := self._file(dict(zip(names, values, strict=True)))).exists()
        ]
        if found:
            columns = [from_json_values([r[f.name] for r in found], f.type)
                       for f in self._binding.schema]  # fmt: skip
            yield pa.Table.from_arrays(columns, schema=self._binding.schema)

    def _file(self, row):
        key = json.dumps([row[name] for name in self._binding.key])
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def forget(self, binding, sink, *, empty, unmake=False):
        if empty:
            shutil.rmtree(self._root / binding.target, ignore_errors=True)

    def close(self):
        self._keys = []
