"""Every block of README, guide and how-to, run in order on a real lake, with what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from dt_jupyter.notebook import adopt, load, unload
from tests.cases import nightly
from tests.doc_pages import ROOT, RUN, blocks, run
from tests.spark.engine_lab import Lab
from tests.spark.viewfs import linked

HDFS = "hdfs://namenode:8020"
PAGES = [page for page in RUN if any(b.language in ("sql", "python") for b in blocks(page))]
EACH_TIME = frozenset(("README.md", "quickstart.md"))
"""What most people copy from; the other pages are run nightly."""


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


@pytest.fixture
def storage(quick_lab: Lab, tmp_path: Path) -> Iterator[str]:
    """What stands for the pages' HDFS, with the table that one of them reads."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with linked(quick_lab.spark, folder) as url:
        rows = quick_lab.spark.sql("SELECT DATE'2026-01-01' AS day, 2.5 AS price")
        rows.write.format("delta").save(f"{url}/shop/orders")
        yield url


@pytest.mark.parametrize(
    "page",
    [page if page.name in EACH_TIME else nightly(page) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_blocks_run(shell: Any, page: Path, request: pytest.FixtureRequest) -> None:
    for block in blocks(page):
        text = block.text
        if HDFS in text:
            text = text.replace(HDFS, request.getfixturevalue("storage"))
        run(shell, replace(block, text=text))
