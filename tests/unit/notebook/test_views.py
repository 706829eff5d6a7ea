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
from dt_jupyter.model import ActivityState, Progress
from dt_jupyter.notebook import views
from dt_jupyter.notebook.magics import read_steps
from dt_jupyter.notebook.progress import BLANK, CellProgress
from dt_jupyter.notebook.views import CellViews, Static, is_live, show_view
from dt_jupyter.spark import Activity, activity, current_activity
from dt_jupyter.widgets import Picture
from dt_jupyter.widgets.running import Running
from dt_jupyter.wire import GraphMessage

EMPTY = Picture(GraphMessage((), ()))


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


def drawing(metadata: Any, *, in_main: bool = True) -> Any:
    return CellProgress(shell(metadata))(Activity("UPDATE o", id="a1", in_main=in_main))


STATE = ActivityState(
    "UPDATE <o>\n SET x = 1",
    12.3,
    Progress(2, 1, 8, 5, 1200),
    (
        ActivityState("Refreshing <up>", 4.0, ended=True),
        ActivityState("CREATE d", 2.0, steps=(ActivityState("Waiting for e", 1.0),)),
    ),
)


def test_progress_is_drawn_in_one_place_and_leaves_nothing(shown: Shown) -> None:
    made = drawing({"cellId": "a"})
    assert shown == []
    made.draw(ActivityState("UPDATE o", 1.0))
    made.draw(STATE)
    (drawn,) = shown
    assert drawn.text.splitlines() == [
        "UPDATE <o> SET x = 1 · 1 of 2 jobs, 5 of 8 tasks, 1,200 rows written · 12 s",
        "  Refreshing <up>: done",
        "  CREATE d › Waiting for e: 2 s",
    ]
    assert re.search(r'<progress value="5" max="8">', drawn.html)
    made.end()
    assert shown == [BLANK]


def test_what_is_over_before_it_is_drawn_makes_no_output(shown: Shown) -> None:
    drawing({"cellId": "a"}).end()
    assert shown == []


def test_elsewhere_there_is_no_progress() -> None:
    """nbclient, papermill and nbconvert name no cell: nothing is left in their notebooks."""
    assert drawing({}) is None
    assert drawing(None) is None


def test_names_are_escaped() -> None:
    html = Running(STATE).html
    assert "<o>" not in html
    assert "<up>" not in html
    assert "&lt;o&gt;" in html


def test_its_button_is_hidden_where_nothing_makes_it_work(shown: Shown) -> None:
    """An export has no class of the extension, and a notebook that is not trusted no style sheet:
    its word is nowhere else."""
    html = str(Running(STATE).html)
    (button,) = re.findall(r'<span class="dtj-stop[^>]*>[^<]*</span>', html)
    assert "></span>" in button
    assert " id=" not in button
    shows = re.findall(r"([^{}]*dtj-stop[^{}]*)\{[^}]*display:inline-block", html)
    assert shows
    assert all("dtj-busy" in one or "dtj-front" in one for one in shows[0].split(","))
    elsewhere = drawing({"cellId": "a"}, in_main=False)
    elsewhere.draw(STATE)
    assert 'id="dtj-stop-a1"' in shown[0].html


def test_a_long_statement_and_many_steps_are_cut() -> None:
    steps = tuple(ActivityState(f"step {i}", 1.0, ended=True) for i in range(20))
    lines = Running(ActivityState("SELECT " + "x, " * 500, 1.0, steps=steps)).text.splitlines()
    assert len(lines) == 7
    assert lines[-1] == "  step 19: done"
    assert len(lines[0]) < 90


def test_a_walk_says_how_far_it_is() -> None:
    class Walk(list[str]):
        def __getitem__(self, place: Any) -> Any:
            made = current_activity()
            assert made is not None
            return made.text

    replay: Any = Walk(["first", "second"])
    with activity("Reading"):
        assert list(read_steps(replay)) == ["Snapshot 1 of 2", "Snapshot 2 of 2"]
