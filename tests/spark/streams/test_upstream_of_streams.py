"""Every change upstream of a stream: it gives exactly the rows that came and went, or says that it
is stale."""

from __future__ import annotations

import os

from tests.spark.engine_lab import Lab
from tests.upstream_ddl.stream_cases import COLUMN_CASES, LAYOUT_CASES, TABLE_CASES, VIEW_CASES
from tests.upstream_ddl.stream_scenes import streams_played

ALL = (*COLUMN_CASES, *LAYOUT_CASES, *TABLE_CASES, *VIEW_CASES)


def test_what_happens_upstream(quick_lab: Lab) -> None:
    part = [c for c in ALL if os.environ.get("ONLY", "") in c.what]
    flip = int(os.environ.get("FLIP", "0"))
    problems = streams_played(quick_lab, [(c, (i + flip) % 2 == 0) for i, c in enumerate(part)])
    assert not problems, "\n".join(problems)
