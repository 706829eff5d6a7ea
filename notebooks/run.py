"""Runs a notebook, and keeps what it made also when a cell failed. What is kept is signed, so that
JupyterLab trusts it when the same user opens it. At the end a table tells which cells took long.

python notebooks/run.py SOURCE TARGET SECONDS     SECONDS for each cell, as dev.py does
"""

from __future__ import annotations

import sys
from contextlib import closing
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.sign import NotebookNotary

LONG_SECONDS = 5.0


def main(source: Path, target: Path, seconds: int) -> int:
    """The exit status: 1 if a cell failed. Cells run in the folder of `target`."""
    notebook = nbformat.read(source, as_version=4)
    cells = sum(cell.cell_type == "code" for cell in notebook.cells)
    done = count(1)

    def tell(**executed: Any) -> None:
        print(f"  cell {next(done)} of {cells}", flush=True)

    client = NotebookClient(
        notebook,
        timeout=seconds,
        resources={"metadata": {"path": str(target.parent)}},
        coalesce_streams=True,
        on_cell_executed=tell,
    )
    try:
        client.execute()
    except CellExecutionError as failure:
        print(failure, file=sys.stderr)
        return 1
    finally:
        save_signed(notebook, target)
        print(long_cells(notebook), flush=True)
    return 0


def long_cells(notebook: nbformat.NotebookNode) -> str:
    """A line for each cell that took long, the longest first, and one for all cells together."""
    took = {cell.id: seconds_of(cell) for cell in notebook.cells if cell.cell_type == "code"}
    longest = sorted(took.items(), key=lambda of: -of[1])
    rows = [*((id, s) for id, s in longest if s > LONG_SECONDS), ("all cells", sum(took.values()))]
    return "\n".join(f"  {seconds:6.1f} s  {name}" for name, seconds in rows)


def seconds_of(cell: nbformat.NotebookNode) -> float:
    """How long the kernel worked at it; 0 where it was not run to its end."""
    times = cell.metadata.get("execution", {})
    begun, ended = (times.get(name) for name in ("iopub.execute_input", "shell.execute_reply"))
    if begun is None or ended is None:
        return 0.0
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()


def save_signed(notebook: nbformat.NotebookNode, target: Path) -> None:
    """The signature is of what a reader of the file gets."""
    nbformat.write(notebook, target)
    notary = NotebookNotary()
    with closing(notary.store):
        notary.sign(nbformat.read(target, as_version=4))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
