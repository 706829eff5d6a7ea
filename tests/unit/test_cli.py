"""The command line, as far as it goes without Spark."""

from __future__ import annotations

import pytest

from dt_jupyter.cli import main


@pytest.mark.parametrize(
    "line", [[], ["lake"], ["lake", "fly"], ["lake", "refresh"], ["lake", "sql"]]
)
def test_a_line_that_makes_no_sense_is_2(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for command in ("run", "sql", "status", "history", "refresh", "verify", "explain"):
        assert f"    {command} " in text
