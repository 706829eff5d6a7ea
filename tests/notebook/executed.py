"""Notebooks as they are committed, run from top to bottom, and what each cell shows.

Their claims are `assert`s in the notebooks themselves: one that does not hold fails its cell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import nbformat
import pytest
from nbclient import NotebookClient

from tests.java_options import INTERPRETED, LONG_LIVED

ROOT = Path(__file__).parents[2]
CELL_SECONDS = 1200

Shows = Mapping[str, Sequence[str]]
"""By cell: what the text of its outputs matches, in any order; () for a cell that shows nothing."""


def notebook_at(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: Any) -> dict[str, Any]:
    return {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}


def executed_cells(path: Path, folder: Path) -> dict[str, Any]:
    """The code cells by id, after a run in the folder; a failing cell ends it with an error."""
    notebook = notebook_at(path)
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS, resources={"metadata": {"path": str(folder)}}
    )
    found = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    options = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {LONG_LIVED} {INTERPRETED}"
    client.execute(env={**os.environ, "PYTHONPATH": found, "SPARK_SUBMIT_OPTS": options})
    return code_cells(notebook)


def kinds_of(cell: Any) -> set[str]:
    """Of the outputs that show anything: what showed a cell that ran for long is blank then."""
    return {
        out.output_type
        for out in cell.outputs
        if out.output_type != "display_data" or any(out.data.values())
    }


def text_of(cell: Any) -> str:
    parts = [out.text if "text" in out else out.data["text/plain"] for out in cell.outputs]
    return "\n".join(parts)


def html_of(cell: Any) -> str:
    return "\n".join(out.get("data", {}).get("text/html", "") for out in cell.outputs)


class NotebookTests:
    """What is asserted of every notebook; `executed` is a fixture with its cells after a run.

    `shows` has every code cell, `tables` those that show an HTML table.
    """

    path: ClassVar[Path]
    shows: ClassVar[Shows]
    tables: ClassVar[Sequence[str]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for parameter, cells in (("cell", self.shows), ("table", self.tables)):
            if parameter in metafunc.fixturenames:
                metafunc.parametrize(parameter, cells)

    def test_what_is_committed_is_the_bare_notebook(self) -> None:
        notebook = notebook_at(self.path)
        nbformat.validate(notebook)
        assert notebook.metadata.kernelspec.name == "python3"
        assert {id: (c.outputs, c.execution_count) for id, c in code_cells(notebook).items()} == {
            id: ([], None) for id in self.shows
        }

    def test_cell(self, executed: Mapping[str, Any], cell: str) -> None:
        """It ran in its place, wrote no error, and shows what it is to show."""
        kinds = kinds_of(executed[cell])
        shown = text_of(executed[cell])
        assert executed[cell].execution_count == list(self.shows).index(cell) + 1
        assert kinds <= {"stream", "display_data", "execute_result"}
        said = [out.text for out in executed[cell].outputs if out.get("name") == "stderr"]
        assert not said, said
        assert [wanted for wanted in self.shows[cell] if not re.search(wanted, shown)] == []
        assert bool(kinds) == bool(self.shows[cell])

    def test_table(self, executed: Mapping[str, Any], table: str) -> None:
        assert "<table" in html_of(executed[table])
