"""Runs a notebook, and keeps what it made also when a cell failed. What is kept is signed, so that
JupyterLab trusts it when the same user opens it.

python notebooks/run.py SOURCE TARGET SECONDS     SECONDS for each cell, as dev.py does
"""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.sign import NotebookNotary


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
    return 0


def save_signed(notebook: nbformat.NotebookNode, target: Path) -> None:
    """The signature is of what a reader of the file gets."""
    nbformat.write(notebook, target)
    notary = NotebookNotary()
    with closing(notary.store):
        notary.sign(nbformat.read(target, as_version=4))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
