"""A lab with a table of orders, and words for its sinks."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from tests.spark.engine_lab import Lab


class Shop:
    """A lab with a table of orders, and the file that its sinks deliver to."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.file = lab, folder / "app.db"
        self.url = f"sqlite://{self.file}"
        self.sql = lab.sql

    def create(
        self, name: str = "s", clauses: str = "KEY (id)", source: str = "TABLE orders"
    ) -> None:
        self.sql(f"CREATE SINK {name} FROM {source} INTO '{self.url}' {clauses}")

    def stored(self, target: str = "orders") -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.file) as connection:
            rows = connection.execute(f"SELECT * FROM {target}").fetchall()
        return sorted(rows, key=lambda row: [(v is not None, v) for v in row])

    def deliver(self, name: str = "s") -> tuple[Any, ...]:
        """Action, rows stored and rows deleted of a delivery."""
        self.sql(f"ALTER SINK {name} REFRESH")
        return self.history(name)[0]

    def history(self, name: str = "s") -> list[tuple[Any, ...]]:
        return self.sql(
            "SELECT DELIVERY_ACTION, ROWS_STORED, ROWS_DELETED "
            f"FROM TABLE(SINK_HISTORY(NAME => '{name}'))"
        )

    def transactions(self, name: str = "s") -> Any:
        """Those of the last delivery."""
        history = f"TABLE(SINK_HISTORY(NAME => '{name}'))"
        return self.sql(f"SELECT TRANSACTIONS FROM {history} LIMIT 1")[0][0]

    def state(self, name: str = "s") -> tuple[Any, ...]:
        row = self.lab.engine.sql(f"DESCRIBE SINK {name}").collect()[0]
        return row["STATE"], row["STATE_CODE"]
