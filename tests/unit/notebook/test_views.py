"""Live views and progress in a cell: where they are shown, and what is left of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output

from dt_jupyter.dispatch.dispatcher import Desk
from dt_jupyter.dispatch.feed import EventFeed
from dt_jupyter.dispatch.live import LiveView
from dt_jupyter.model import Happened, Name, Progress, RefreshTrigger, Timestamp
from dt_jupyter.notebook import views
from dt_jupyter.notebook.progress import progress
from dt_jupyter.notebook.views import CellViews, Static, is_live, show_view
from dt_jupyter.reports.events import Event
from dt_jupyter.widgets import Picture
from dt_jupyter.widgets.running import Running
from dt_jupyter.wire import GraphMessage

EMPTY = Picture(GraphMessage((), ()))
T = Timestamp(1_700_000_000_000_000)


def shell(metadata: Any) -> Any:
    parent = {"metadata": metadata}
    return SimpleNamespace(kernel=SimpleNamespace(comm_manager=object(), get_parent=lambda: parent))


class Shown(list[Any]):
    """What was displayed; each value stands where it was put last."""

    def display(self, value: Any, raw: bool = False, display_id: Any = None) -> Any:
        self.append(value)
        at = len(self) - 1

        def update(value: Any, raw: bool = False) -> None:
            self[at] = value

        return SimpleNamespace(update=update) if display_id else None


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    found = Shown()
    monkeypatch.setattr("IPython.display.display", found.display)
    return found


def test_only_a_front_end_that_names_its_cells_gets_live_views() -> None:
    assert is_live(shell({"cellId": "a"}))
    assert not is_live(shell({}))
    assert not is_live(shell(None))
    assert not is_live(SimpleNamespace())


def test_without_such_a_front_end_the_picture_alone_is_shown(shown: Shown) -> None:
    notebook: Any = SimpleNamespace(shell=shell({}))
    show_view(notebook, "graph", EMPTY, lambda desk: pytest.fail("no view is made"))
    assert shown == [EMPTY]


def test_the_picture_stands_before_the_view(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook: Any = SimpleNamespace(shell=shell({"cellId": "a"}))
    monkeypatch.setattr(views, "_made", lambda *_: "the view")
    show_view(notebook, "graph", EMPTY, lambda desk: {})
    static, view = shown
    assert isinstance(static, Static)
    assert view == "the view"
    bundle = static._repr_mimebundle_()
    assert bundle["text/plain"] == EMPTY.text
    assert "dtj-static" in bundle["text/html"]
    assert EMPTY.svg in bundle["text/html"]


def test_a_view_that_cannot_be_made_is_no_error(
    shown: Shown, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(desk: Desk) -> dict[str, Any]:
        raise RuntimeError("no message")

    notebook: Any = SimpleNamespace(
        shell=shell({"cellId": "a"}), engine=None, workers=None, feed=None
    )
    show_view(notebook, "graph", EMPTY, fail)
    assert shown == [EMPTY]


@pytest.fixture
def view() -> Callable[[EventFeed], LiveView]:
    def make(feed: EventFeed) -> LiveView:
        desk = Desk(lambda: None)
        made = LiveView(
            "graph",
            {"type": "graph"},
            desk,
            feed,
            lambda d, asked, send: send(d.answer_json(asked)),
        )
        made.sent = []  # type: ignore[attr-defined]
        made.send = made.sent.append  # type: ignore[attr-defined, method-assign]
        return made

    return make


def test_a_view_answers_and_hears_from_its_hello_on(view: Callable[[EventFeed], LiveView]) -> None:
    feed = EventFeed(lambda: None)
    one = view(feed)
    one._asked(one, {"id": 3, "ask": "graph"}, [])
    assert [m["message"]["code"] for m in one.sent] == ["DT-5109"]  # type: ignore[attr-defined]
    one._asked(one, {"id": 0, "ask": "hello"}, [])
    feed.engine_changed()
    told = [(m.get("id"), m["message"]["type"]) for m in one.sent[1:]]  # type: ignore[attr-defined]
    assert told == [(None, "hello"), (0, "hello"), (None, "hello")]
    one.close()
    feed.engine_changed()
    assert len(one.sent) == 4  # type: ignore[attr-defined]


def test_of_many_views_the_newest_hear(view: Callable[[EventFeed], LiveView]) -> None:
    feed = EventFeed(lambda: None)
    many = [view(feed) for _ in range(15)]
    for one in many:
        one._asked(one, {"id": 0, "ask": "hello"}, [])
    assert len(feed._listeners) == 12
    assert many[0]._stop is None
    many[0]._asked(many[0], {"id": 0, "ask": "hello"}, [])
    assert many[0]._stop is not None
    for one in many:
        one.close()
    assert feed._listeners == []


def test_where_no_widget_is_shown_a_view_leaves_an_empty_place(
    view: Callable[[EventFeed], LiveView],
) -> None:
    """nbconvert without the widget's state, and JupyterLab where the notebook is not trusted, take
    the HTML: the picture above says it all."""
    one = view(EventFeed(lambda: None))
    bundle = one._repr_mimebundle_()
    assert bundle is not None
    data, _ = bundle
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == one.model_id
    assert data["text/html"] == ""
    assert data["text/plain"].startswith("A live view (graph)")
    assert "object at 0x" not in repr(one)
    one.close()


def test_an_export_shows_the_picture_alone(view: Callable[[EventFeed], LiveView]) -> None:
    one = view(EventFeed(lambda: None))
    bundle = one._repr_mimebundle_()
    assert bundle is not None
    outputs = [
        new_output("display_data", Static(EMPTY)._repr_mimebundle_()),
        new_output("display_data", bundle[0]),
    ]
    notebook = new_notebook(cells=[new_code_cell("%dt graph", outputs=outputs)])
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert re.search(r"<svg[^>]* class=\"dtj\".*nothing yet", page, re.DOTALL)
    assert "LiveView" not in page
    assert "live view" not in page
    one.close()


def test_a_run_of_a_cell_ends_the_views_of_its_run_before(
    view: Callable[[EventFeed], LiveView],
) -> None:
    feed = EventFeed(lambda: None)
    kept = CellViews()

    def run(cell: str, number: str) -> LiveView:
        made = view(feed)
        parent = {"metadata": {"cellId": cell}, "header": {"msg_id": number}}
        at: Any = SimpleNamespace(kernel=SimpleNamespace(get_parent=lambda: parent))
        kept.add(at, made)
        return made

    first, second, elsewhere = run("a", "1"), run("a", "1"), run("b", "2")
    assert [v.comm is None for v in (first, second, elsewhere)] == [False, False, False]
    third = run("a", "3")
    assert [v.comm is None for v in (first, second, elsewhere, third)] == [True, True, False, False]
    fourth = run("a", "4")
    assert [v.comm is None for v in (elsewhere, third, fourth)] == [False, True, False]


# -- progress -------------------------------------------------------------------------------------


class Told:
    """Events that a test tells."""

    def __init__(self) -> None:
        self.listener: Callable[[Event], None] | None = None

    def listen(self, fn: Callable[[Event], None]) -> Callable[[], None]:
        self.listener = fn
        return lambda: None

    def tell(
        self,
        happened: Happened,
        name: str,
        made: Progress | None = None,
        trigger: RefreshTrigger = RefreshTrigger.MANUAL,
    ) -> None:
        record: Any = SimpleNamespace(trigger=trigger)
        assert self.listener is not None
        self.listener(Event(happened, T, name, Name("default", name), record, made))


def test_progress_is_drawn_and_replaced_by_what_came_of_it(shown: Shown) -> None:
    told = Told()
    events: Any = told
    with progress(shell({"cellId": "a"}), events, "Refreshing d") as end:
        told.tell(Happened.STARTED, "up")
        told.tell(Happened.ENDED, "up")
        told.tell(Happened.PROGRESS, "d", Progress(2, 1, 8, 5, 1200))
        told.tell(Happened.STARTED, "other", trigger=RefreshTrigger.SCHEDULED)
        (drawn,) = shown
        assert drawn.text.splitlines() == [
            "Refreshing d …",
            "  up: done",
            "  d: 1 of 2 jobs, 5 of 8 tasks, 1,200 rows",
        ]
        assert "<progress" in drawn.html
        end(EMPTY)
        told.tell(Happened.ENDED, "d")
    assert shown == [EMPTY]


def test_nothing_is_left_where_it_failed(shown: Shown) -> None:
    told = Told()
    events: Any = told

    def fail() -> None:
        with progress(shell({"cellId": "a"}), events, "Refreshing d"):
            told.tell(Happened.STARTED, "d")
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail()
    assert shown == [{"text/plain": "", "text/html": ""}]


def test_elsewhere_there_is_no_progress(shown: Shown) -> None:
    events: Any = None
    with progress(shell({}), events, "d") as end:
        end(EMPTY)
    assert shown == [EMPTY]


def test_names_are_escaped() -> None:
    html = Running("<b>", {"<img src=x>": None}).html
    assert "<img" not in html
    assert "<b>" not in html
