"""When Spark is begun before it is asked for: by a cell that connects at once, unless there is one
or it is switched off."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter import engine
from dt_jupyter.notebook.ahead import SparkAhead


@pytest.mark.parametrize(("variables", "has_spark", "begun"), [
    ({}, False, 1),
    ({"DT_JUPYTER_STANDBY": "spare"}, False, 1),
    ({"DT_JUPYTER_STANDBY": "0"}, False, 0),
    ({"SPARK_REMOTE": "sc://host"}, False, 0),
    ({}, True, 0),
])  # fmt: skip
def test_a_cell_that_connects_begins_it(
    variables: dict[str, str], has_spark: bool, begun: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DT_JUPYTER_STANDBY", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    calls: list[int] = []
    monkeypatch.setattr(engine, "prepare_spark", lambda: calls.append(1), raising=False)
    shell: Any = None
    SparkAhead(shell, lambda: has_spark).hasten()
    assert len(calls) == begun
