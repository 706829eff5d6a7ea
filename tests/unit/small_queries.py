"""Queries over a few tables, each in a line of a file."""

from __future__ import annotations

from pathlib import Path

TABLES = {
    "t": "id INT, k STRING, v INT, f INT",
    "u": "id INT, k STRING, name STRING",
    "w": "k STRING, x INT, y INT",
    "a": "arr ARRAY<INT>, k STRING",
    "dt": "k STRING, n INT",
    "odd t": '`a b` INT, `c``d` INT, `e.f` INT, `select` INT, `ünï` INT, `q"t` INT',
}
VIEWS = {
    "vw": "SELECT k, sum(v) AS s FROM t GROUP BY k",
    "vv": "SELECT * FROM vw WHERE s > 1",
}


def texts(name: str) -> list[str]:
    """The lines of `queries.sql`, of `read_by_plan.sql` (what DuckDB does not read alike), or of
    `refused.sql`."""
    return (Path(__file__).parent / name).read_text("utf-8").splitlines()
