"""Half the table of what may happen upstream, where the lake is opened again before the next
refresh: a file of its own, so that another process plays it."""

from __future__ import annotations

import pytest

from tests.spark.engine_lab import Lab
from tests.upstream_ddl.chapters import CHAPTERS, half
from tests.upstream_ddl.scenes import played, without_schemas
from tests.upstream_ddl.worlds import Chapter

__all__ = ["without_schemas"]


@pytest.mark.nightly
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.title)
def test_what_happens_upstream_before_a_restart(quick_lab: Lab, chapter: Chapter) -> None:
    problems = played(quick_lab, half(chapter, 1), between=True, deep=True, restart=True)
    assert not problems, "\n".join(problems)
