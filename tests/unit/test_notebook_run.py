"""notebooks/run.py: what it writes is trusted by the JupyterLab of the same user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook

from tests.cases import some

ROOT = Path(__file__).parents[2]
SHOWS = "from IPython.display import HTML\nHTML('<svg></svg>')"


@pytest.mark.parametrize(("sources", "status"), some(1, [((SHOWS, "1 / 0"), 1), ((SHOWS,), 0)]))
def test_what_was_run_is_signed(tmp_path: Path, sources: tuple[str, ...], status: int) -> None:
    source, target = tmp_path / "source.ipynb", tmp_path / "target.ipynb"
    cells = [new_code_cell("import time; time.sleep(5.1)", id="slow")]
    cells += [new_code_cell(each, id=f"quick-{i}") for i, each in enumerate(sources)]
    nbformat.write(new_notebook(cells=cells), source)
    data = tmp_path / "data"
    ran = subprocess.run(
        [sys.executable, ROOT / "notebooks" / "run.py", source, target, "60"],
        env={**os.environ, "JUPYTER_DATA_DIR": str(data), "IPYTHONDIR": str(tmp_path / "ipython")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == status, ran.stderr
    assert re.search(r"^ +[\d.]+ s  slow$", ran.stdout, re.MULTILINE)
    assert re.search(r"^ +[\d.]+ s  all cells$", ran.stdout, re.MULTILINE)
    assert "quick" not in ran.stdout
    written = nbformat.read(target, as_version=4)
    assert written.cells[1].outputs[0].data["text/html"] == "<svg></svg>"
    notary = NotebookNotary(data_dir=str(data))
    with closing(notary.store):
        assert notary.check_signature(written)
        assert not notary.check_signature(nbformat.read(source, as_version=4))
        written.cells[1].outputs[0].data["text/html"] = "<script></script>"
        assert not notary.check_signature(written)
