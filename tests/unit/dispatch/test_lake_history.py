"""The lakes that a user opened last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dt_jupyter.dispatch.feed import hello
from dt_jupyter.dispatch.lake_history import MOST_LAKES, recent_lakes, record_lake


def lake(folder: Path, name: str) -> Path:
    made = folder / name
    (made / "_dt").mkdir(parents=True)
    return made


def test_the_newest_comes_first_once_and_the_list_is_short(tmp_path: Path) -> None:
    state, lakes = tmp_path / "state", [lake(tmp_path, f"lake-{i}") for i in range(MOST_LAKES + 3)]
    for each in [*lakes, lakes[5]]:
        record_lake(each, state)
    newest = [lakes[5], *reversed([each for each in lakes if each != lakes[5]])][:MOST_LAKES]
    assert recent_lakes(state) == tuple(map(str, newest))
    assert [file.name for file in state.iterdir()] == ["recent_lakes.json"]


def test_a_lake_that_is_gone_is_not_offered(tmp_path: Path) -> None:
    record_lake(lake(tmp_path, "here"), tmp_path)
    record_lake(tmp_path / "gone", tmp_path)
    assert recent_lakes(tmp_path) == (str(tmp_path / "here"),)


@pytest.mark.parametrize("text", ["", "{", '{"a": 1}', '[1, null, "\\u0000"]', "[" * 70_000])
def test_a_file_of_something_else_is_no_list(tmp_path: Path, text: str) -> None:
    (tmp_path / "recent_lakes.json").write_text(text)
    assert recent_lakes(tmp_path) == ()
    record_lake(lake(tmp_path, "a"), tmp_path)
    assert json.loads((tmp_path / "recent_lakes.json").read_text()) == [str(tmp_path / "a")]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    record_lake(lake(tmp_path, "a"), tmp_path / "file" / "below")


def test_a_kernel_without_an_engine_offers_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    record_lake(lake(tmp_path, "a"))
    assert hello(None).recent == (str(tmp_path / "a"),)
    assert hello(None, starting=True).recent == ()
