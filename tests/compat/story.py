"""The story that is tried with each combination of versions: a notebook in a real kernel, from
`%load_ext` to a verified incremental refresh, with a live view below its cells.

    python story.py FOLDER

Runs with the Python that has the package installed; needs nothing else. FOLDER gets
`story.ipynb` with all outputs and `story.html`. Prints the versions as one line of JSON; what is
not as it should be is an AssertionError.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

PACKAGES = (
    "dt-jupyter", "pyspark", "delta-spark", "deltalake", "pandas", "pyarrow", "ipython",
    "ipykernel", "ipywidgets", "anywidget", "jupyterlab", "sqlglot", "SQLAlchemy",
)  # fmt: skip
CELL_SECONDS = 600
CELLS = {
    "load": ("%load_ext dt_jupyter", "Next: %dt connect"),
    "connect": ("%dt connect lake", "Connected"),
    "tables": (
        "%%dt\nCREATE TABLE orders (id INT, item STRING, amount INT);\n"
        "INSERT INTO orders VALUES (1, 'rug', 10), (2, 'car', 20), (3, 'rug', 30);\n"
        "CREATE TABLE items (item STRING, kind STRING);\n"
        "INSERT INTO items VALUES ('rug', 'home'), ('car', 'street')",
        "INSERT items: 2 rows",
    ),
    "dynamic table": (
        "%%dynamic_table totals --target-lag '1 hour'\n"
        "SELECT kind, count(*) AS n, sum(amount) AS amount\n"
        "FROM orders JOIN items USING (item) GROUP BY kind",
        "AUTO → INCREMENTAL",
    ),
    "change": ("%%dt\nINSERT INTO orders VALUES (4, 'car', 5)", "INSERT orders: 1 row"),
    "refresh": ("%dt refresh totals", "INCREMENTAL"),
    "rows": ("print(sorted(map(tuple, spark.table('totals').collect())))",
             "[('home', 2, 40), ('street', 2, 25)]"),
    "Python in Spark": (
        "from pyspark.sql.functions import udf\n"
        "spark.table('orders').select(udf(lambda n: n + 1, 'int')('amount')).collect()", "=11)"
    ),
    "pandas": ("print(spark.table('totals').toPandas()['n'].sum())", "4"),
    "graph": ("%dt graph", "totals"),
    "lag": ("%dt lag totals", "totals"),
    "changes": ("%changes orders --at 1", "car"),
    "replay": ("%replay totals --to now", "totals"),
    "verify": ("%dt verify totals", "equals its query"),
    "Java": ("print(spark._jvm.System.getProperty('java.version'))", ""),
}  # fmt: skip
"""By name: a cell, and what its output holds."""
LIVE = ("graph", "lag", "replay")


class Client(NotebookClient):
    """Says which cell it runs, as JupyterLab does, so that the kernel shows widgets."""

    async def async_execute_cell(self, cell: Any, cell_index: int, **rest: Any) -> Any:
        session = self.kc.session
        make = type(session).msg

        def made(kind: str, content: Any = None, parent: Any = None, **more: Any) -> Any:
            if kind == "execute_request":
                more["metadata"] = {"cellId": cell.id}
            return make(session, kind, content, parent, **more)

        session.msg = made
        return await super().async_execute_cell(cell, cell_index, **rest)


def main(folder: Path) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source, _ in CELLS.values()]
    )
    resources = {"metadata": {"path": str(folder)}}
    client = Client(notebook, timeout=CELL_SECONDS, resources=resources, coalesce_streams=True)
    try:
        client.execute()
    finally:
        nbformat.write(notebook, folder / "story.ipynb")
    shown = dict(zip(CELLS, map(text_of, notebook.cells), strict=True))
    for name, (_, held) in CELLS.items():
        assert held in shown[name], f"{name}: {held!r} is not in\n{shown[name]}"
        assert "Traceback" not in shown[name], f"{name}:\n{shown[name]}"
        assert "Warning" not in shown[name], f"{name}:\n{shown[name]}"
    for name, cell in zip(CELLS, notebook.cells, strict=True):
        assert (name in LIVE) == has_widget(cell), f"{name}: a live view here, and not there"
    (folder / "story.html").write_text(HTMLExporter().from_notebook_node(notebook)[0], "utf-8")
    versions = {name: version(name) for name in PACKAGES}
    print(json.dumps({"Python": sys.version.split()[0], "Java": shown["Java"].strip(), **versions}))


def text_of(cell: Any) -> str:
    """Streams, text/plain and errors of a cell, in their order."""
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain") or str(output)
        for output in cell.outputs
    )


def has_widget(cell: Any) -> bool:
    kind = "application/vnd.jupyter.widget-view+json"
    return any(kind in output.get("data", {}) for output in cell.outputs)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
