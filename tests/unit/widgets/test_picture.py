"""What a notebook, a terminal and a file get; colours that can be read; messages as JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dt_jupyter.model import TargetLag
from dt_jupyter.widgets import graph_dot, graph_text, show
from dt_jupyter.widgets.theme import TOKENS
from dt_jupyter.widgets.typeset import fit, fit_cells, pixels, sparkline, wrap
from dt_jupyter.wire import ErrorMessage, HistoryMessage
from dt_jupyter.wire.units import count, duration, duration_ticks
from tests.unit.widgets_lab import Reader, done, flights, graph, lag, table


def test_a_notebook_gets_html_and_text() -> None:
    bundle = show(flights())._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == graph_text(flights()) == repr(show(flights()))
    assert show(flights()).svg in bundle["text/html"]
    assert type(bundle["text/html"]) is str


def test_include_and_exclude_are_heeded() -> None:
    shown = show(ErrorMessage("DT-1", "x"))
    assert set(shown._repr_mimebundle_(include={"text/html"})) == {"text/html"}
    assert set(shown._repr_mimebundle_(exclude={"text/html"})) == {"text/plain"}


def test_where_svg_and_styles_are_dropped_an_image_and_the_text_are_left() -> None:
    """JupyterLab's sanitiser, on a notebook that is not trusted, drops the elements svg and style
    and keeps `hidden`: the leftovers of the drawing are hidden, the image and the text are not."""
    html = re.sub(r"<style>.*?</style>", "", show(flights()).html, flags=re.DOTALL)
    hidden = re.search(
        r'<div class="dtj-live" hidden="hidden"[^>]*>.*</svg></div>', html, re.DOTALL
    )
    assert hidden
    left = Reader(html.replace(hidden[0], ""))
    assert left.tags == ["div", "div", "img", "details", "summary", "pre"]
    assert left.text == "As text" + graph_text(flights())
    alt = dict(left.attributes)["alt"]
    assert alt == graph_text(flights()).partition("\n")[0]


def test_saving_goes_by_the_suffix(tmp_path: Path) -> None:
    picture = show(flights())
    svg = picture.save(tmp_path / "g.svg").read_text("utf-8")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert picture.save(tmp_path / "g.txt").read_text("utf-8") == picture.text + "\n"
    assert (
        picture.save(tmp_path / "g.dot").read_text("utf-8") == graph_dot(flights()) == picture.dot
    )
    page = picture.save(tmp_path / "g.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert picture.svg in page
    assert show(HistoryMessage(())).save(tmp_path / "h.html").exists()


def test_a_file_of_another_kind_is_refused_and_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.png"):
        show(flights()).save(tmp_path / "g.png")
    with pytest.raises(ValueError, match=r"\.dot"):
        show(lag(done(0, 1, 2))).save(tmp_path / "l.dot")
    assert not list(tmp_path.iterdir())
    assert show(lag()).dot is None


def test_messages_are_json() -> None:
    value = json.loads(json.dumps(graph([table("t"), table("u", target=None)], "t > u").to_json()))
    assert value["type"] == "graph"
    assert value["version"] == 1
    assert value["as_of"] == "2013-01-04T12:00:00Z"
    assert value["edges"] == [{"source": "t", "target": "u"}]
    assert value["nodes"][0]["target_lag"] == 300.0
    assert value["nodes"][1]["target_lag"] == "DOWNSTREAM"
    assert value["nodes"][0]["refresh_mode"] == "INCREMENTAL"
    point = json.loads(json.dumps(lag(done(0, 1, 2)).to_json()))["points"][0]
    assert point["end"] == "2013-01-04T12:00:02Z"
    assert point["action"] == "INCREMENTAL"


def test_nothing_heavy_is_imported() -> None:
    program = (
        "import sys, dt_jupyter.widgets; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    root = Path(__file__).resolve().parents[3]
    out = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    loaded = set(out.stdout.split())
    assert "dt_jupyter" in loaded
    assert not loaded & {"IPython", "pandas", "graphviz", "pyspark", "anywidget", "sqlalchemy"}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    """WCAG 2: from 1 to 21; 4.5 is enough for text, 3 for lines."""
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", ["page", "card", "zebra"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_can_be_read_and_edges_seen(theme: str, ground: str) -> None:
    behind = getattr(TOKENS[ground], theme)
    texts = (
        "ink",
        "soft",
        "ok",
        "bad",
        "warn",
        "run",
        "incremental",
        "full",
        "reinitialize",
        "idle",
    )
    weak = {
        name: round(found, 2)
        for name in texts
        if (found := contrast(getattr(TOKENS[name], theme), behind)) < 4.5
    }
    assert weak == {}
    assert contrast(getattr(TOKENS["edge"], theme), behind) >= 3


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.004, "4 ms"),
        (0.42, "0.42 s"),
        (9.999, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (90, "1 min 30 s"),
        (3599.6, "1 h"),
        (3725, "1 h 2 min"),
        (86400 * 3 + 4 * 3600, "3 d 4 h"),
        (86399, "1 d"),
        (-30, "−30 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (12_345, "12.3k"),
        (999_600, "1M"),
        (336_776, "337k"),
        (10**9, "1G"),
        (123_456_789_012, "123G"),
        (10**16, "10000T"),
        (-5, "−5"),
    ],
)
def test_counts(value: int, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("top", "ticks"),
    [
        (60, (0, 15, 30, 45, 60)),
        (100, (0, 30, 60, 90)),
        (4000, (0, 900, 1800, 2700, 3600)),
        (0.5, (0, 0.1, 0.2, 0.3, 0.4, 0.5)),
        (10 * 86400, (0, 172800, 345600, 518400, 691200, 864000)),
    ],
)
def test_ticks_are_round(top: float, ticks: tuple[float, ...]) -> None:
    assert duration_ticks(top) == pytest.approx(ticks)


@pytest.mark.parametrize("text", ["a name", "WWWWWWWWWW", "日本語のテーブル名", "🚂🚂🚂🚂🚂🚂", ""])
@pytest.mark.parametrize("width", [10, 40, 90, 400])
def test_a_text_fits_or_is_cut_to_fit(text: str, width: float) -> None:
    short = fit(text, width, 12, middle=True)
    assert pixels(short, 12) <= max(width, pixels("…", 12))
    assert short == text or "…" in short
    assert pixels(text, 12) > width or short == text


def test_wrapping_keeps_words_whole() -> None:
    text = "one two three four five six seven"
    lines = wrap(text, pixels("one two three ", 10), 10, 2)
    assert lines[0] == "one two three"
    assert lines[1].endswith("…")
    assert text[14:].startswith(lines[1][:-1])
    assert wrap(text, 1000, 10, 2) == [text]
    assert wrap("", 10, 10, 2) == []


def test_terminal_columns() -> None:
    assert fit_cells("日本語", 5) == "日本…"
    assert fit_cells("abc", 3) == "abc"
    assert sparkline([0, 1, 2, 4]) == "▁▂▄█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def test_a_target_lag_is_told_in_the_wire_as_seconds() -> None:
    assert table("t").target_lag == TargetLag(300.0)
