"""Every block of README, guide and how-to, run in order on a real lake, with what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from dt_jupyter.notebook import adopt, load, unload
from tests.doc_pages import ROOT, RUN, blocks, run
from tests.spark.engine_lab import Lab

PAGES = [page for page in RUN if any(b.language in ("sql", "python") for b in blocks(page))]


@pytest.fixture
def shell(quick_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A notebook's shell with the lab's engine as `dt`, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    made = InteractiveShell(colors="nocolor")
    made.history_manager.enabled = False
    load(made)
    made.user_ns |= {"dt": quick_lab.engine, "spark": quick_lab.spark}
    adopt(made, quick_lab.engine)
    yield made
    unload(made)
    assert not [t for t in quick_lab.spark.sparkContext.getJobTags() if t.startswith("cell:")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(shell: Any, page: Path) -> None:
    for block in blocks(page):
        run(shell, block)
