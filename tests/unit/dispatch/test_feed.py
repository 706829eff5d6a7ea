"""What a page hears of an engine that is being opened."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter.dispatch.feed import EventFeed
from dt_jupyter.notebook.session import Notebook


def test_who_listens_hears_that_an_engine_is_being_opened() -> None:
    starting = True
    heard: list[dict[str, Any]] = []
    feed = EventFeed(lambda: None, lambda: starting)
    feed.listen(heard.append)
    starting = False
    feed.engine_changed()
    assert [(m["lake"], m["starting"]) for m in heard] == [(None, True), (None, False)]


def test_a_connect_that_fails_is_over() -> None:
    heard: list[dict[str, Any]] = []
    notebook = Notebook.__new__(Notebook)
    notebook.starting, notebook._engine = False, None
    notebook.feed = EventFeed(lambda: None, lambda: notebook.starting)
    notebook.feed.listen(heard.append)
    with pytest.raises(KeyboardInterrupt), notebook._announce_start():
        raise KeyboardInterrupt
    assert [m["starting"] for m in heard] == [False, True, False]
    with notebook._announce_start():
        assert heard[-1]["starting"]
    assert not notebook.starting
