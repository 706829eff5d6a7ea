"""The lag sawtooth: its values, its statistics and its picture."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dt_jupyter.model import RefreshAction, RefreshState
from dt_jupyter.widgets import lag_svg, lag_text, sawtooth
from dt_jupyter.widgets.lag import lag_summary
from dt_jupyter.wire import IdleTime, LagMessage, RefreshPoint
from tests.unit.widgets_lab import NOON, Reader, done, failed, lag, later, skipped

SVG = "{http://www.w3.org/2000/svg}"

# t = 0, 48, 96 s; ends at 10, 52, 100: lag 10 → 52, 4 → 52, 4 → …
STEADY = (
    done(0, 2, 10, RefreshAction.REINITIALIZE),
    done(48, 49, 52),
    done(96, 97, 100, RefreshAction.NO_DATA),
)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (9.9, None),  # not initialised yet
        (10, 10),  # its end minus its data timestamp
        (30, 30),  # one second per second
        (51.5, 51.5),  # just before the next end: p + w + d
        (52, 4),  # just after: w + d
        (99.5, 51.5),
        (100, 4),
        (120, 24),
        (120.1, None),  # nothing is known past now
    ],
)
def test_lag_at_an_instant(second: float, expected: float | None) -> None:
    found = sawtooth(lag(*STEADY, until=120)).at(later(second))
    assert found == (None if expected is None else pytest.approx(expected))


def test_peaks_and_lows() -> None:
    teeth = sawtooth(lag(*STEADY, until=120)).teeth
    assert [(t.low, t.peak) for t in teeth] == [(10, 52), (4, 52), (4, 24)]


def test_a_failure_and_a_skip_leave_the_lag_rising() -> None:
    """0: ends 4; 48 fails; 96 is skipped; 144 ends 150: the tooth goes up to 150."""
    saw = sawtooth(lag(done(0, 1, 4), failed(48, 49, 53), skipped(96), done(144, 145, 150)))
    assert [(t.low, t.peak) for t in saw.teeth] == [(4, 150), (6, 6)]
    assert saw.at(later(60)) == 60
    assert saw.worst is not None
    assert saw.worst.peak == 150


def test_statistics_by_hand() -> None:
    """One tooth from 4 to 150 s of lag, target 60: mean 77, within for 56 of 146 s."""
    saw = sawtooth(lag(done(0, 1, 4), done(144, 145, 150)))
    assert saw.mean == pytest.approx(77)
    assert saw.within == pytest.approx(56 / 146)
    assert [t.peak for t in saw.above] == [150]


def test_a_peak_at_the_target_is_within() -> None:
    saw = sawtooth(lag(done(0, 1, 4), until=60))
    assert saw.within == 1
    assert not saw.above


def test_a_tooth_that_begins_above_the_target_is_never_within() -> None:
    saw = sawtooth(lag(done(0, 1, 90), until=100))
    assert saw.within == 0


def test_points_may_come_in_any_order() -> None:
    assert sawtooth(lag(*reversed(STEADY), until=120)) == sawtooth(lag(*STEADY, until=120))


def test_an_older_refresh_that_ends_later_does_not_take_the_table_back() -> None:
    saw = sawtooth(lag(done(48, 49, 52), done(0, 1, 60), until=70))
    assert [(t.low, t.peak) for t in saw.teeth] == [(4, 12), (12, 22)]


def test_downstream_has_no_target() -> None:
    saw = sawtooth(lag(*STEADY, target=None))
    assert saw.within is None
    assert saw.above == ()
    assert lag_summary(lag(*STEADY, target=None)).startswith("target DOWNSTREAM, ")


def test_nothing_succeeded_yet() -> None:
    for message in (lag(), lag(failed(0, 1, 3)), lag(skipped(0))):
        saw = sawtooth(message)
        assert saw.teeth == ()
        assert saw.worst is None
        assert saw.mean is None
        assert saw.within is None
        assert ElementTree.fromstring(lag_svg(message)).tag == f"{SVG}svg"
    assert "no refresh yet" in lag_svg(lag())


def test_the_sentence() -> None:
    message = lag(done(0, 1, 4), failed(48, 49, 53), skipped(96), done(144, 145, 150), until=160)
    assert lag_summary(message) == (
        "target 1 min, now 16 s, worst 2 min 30 s, mean 1 min 13 s, "
        "within target 42.3 % of the time, 4 refreshes, 1 FAILED, 1 SKIPPED"
    )


def points_of(message: LagMessage) -> list[tuple[float, float]]:
    """The corners of the line, in pixels."""
    svg = ElementTree.fromstring(lag_svg(message))
    line = next(p for p in svg.iter(f"{SVG}path") if p.get("class") == "dtj-s-incremental")
    numbers = [float(part) for part in line.attrib["d"].split() if part not in "MLZ"]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_the_line_falls_where_a_refresh_ends_and_rises_evenly_between() -> None:
    corners = points_of(lag(*STEADY, until=120))[:6]
    for rise, fall in ((0, 1), (2, 3), (4, 5)):
        (x0, y0), (x1, y1) = corners[rise], corners[fall]
        slope = (y0 - y1) / (x1 - x0)
        assert slope == pytest.approx(
            (corners[0][1] - corners[1][1]) / (corners[1][0] - corners[0][0]), rel=0.02
        )
    assert corners[1][0] == corners[2][0]
    assert corners[3][0] == corners[4][0]
    assert corners[2][1] > corners[1][1]


def test_each_peak_above_the_target_is_marked_and_the_worst_is_told() -> None:
    message = lag(done(0, 1, 4), done(70, 71, 74), done(144, 145, 150), done(150, 151, 152))
    svg = ElementTree.fromstring(lag_svg(message))
    tips = [
        p
        for p in svg.iter(f"{SVG}path")
        if p.get("class") == "dtj-f-bad" and not p.get("fill-opacity")
    ]
    assert len(tips) == 2 + 1  # and one in the legend
    assert "1 min 20 s" in Reader(lag_svg(message)).texts


def test_the_legend_shows_what_occurs_only() -> None:
    texts = Reader(lag_svg(lag(*STEADY, until=120))).texts
    assert {"NO_DATA", "INCREMENTAL", "REINITIALIZE"} <= set(texts)
    assert not {"FULL", "FAILED", "SKIPPED", "above target"} & set(texts)
    with_trouble = Reader(lag_svg(lag(*STEADY, failed(144, 145, 146), skipped(192)))).texts
    assert {"FAILED", "SKIPPED"} <= set(with_trouble)


def test_each_refresh_has_its_wait_and_run_in_its_tooltip() -> None:
    texts = Reader(lag_svg(lag(done(0, 2, 10)))).texts
    told = "SUCCEEDED INCREMENTAL\ndata timestamp 2013-01-04 12:00:00 UTC\nwaited 2 s\nran 8 s"
    assert told in texts


def test_a_running_refresh_is_in_the_lane() -> None:
    running = RefreshPoint(later(48), RefreshState.EXECUTING, later(49))
    svg = ElementTree.fromstring(lag_svg(lag(done(0, 1, 4), running, until=60)))
    assert [r for r in svg.iter(f"{SVG}rect") if r.get("class") == "dtj-f-run"]


def test_a_skip_is_a_stroke_at_its_data_timestamp_and_no_bar() -> None:
    """From 12:00:01 (start) to 12:01:41: the skip at 12:00:51 stands in the middle."""
    svg = ElementTree.fromstring(lag_svg(lag(done(0, 1, 4), skipped(51), until=101)))
    told = next(
        g for g in svg.iter(f"{SVG}g") if (g.findtext(f"{SVG}title") or "").startswith("SKIP")
    )
    assert [node.tag for node in told] == [f"{SVG}title", f"{SVG}path"]
    stroke = told[1].attrib["d"].split()
    ends = [
        float(x)
        for x in next(p for p in svg.iter(f"{SVG}path") if p.get("class") == "dtj-s-grid")
        .attrib["d"]
        .split()
        if x not in "ML"
    ]
    assert float(stroke[1]) == pytest.approx((ends[0] + ends[2]) / 2)


def test_axes_have_round_ticks() -> None:
    texts = Reader(lag_svg(lag(*STEADY, until=120))).texts
    assert {"0", "15 s", "30 s", "45 s", "1 min"} <= set(texts)
    assert {"12:00:30", "12:01:00", "12:02:00", "2013-01-04", "UTC"} <= set(texts)


def test_midnight_shows_the_new_date() -> None:
    points = tuple(done(3600.0 * h, 3600.0 * h + 1, 3600.0 * h + 5) for h in range(24))
    texts = Reader(lag_svg(lag(*points, target=7200))).texts
    assert {"2013-01-04", "2013-01-05", "00:00"} <= set(texts)


def test_five_hundred_refreshes_are_a_small_and_repeatable_picture() -> None:
    points = tuple(done(48.0 * i, 48.0 * i + 1, 48.0 * i + 5 + i % 3) for i in range(500))
    svg = lag_svg(lag(*points))
    assert svg == lag_svg(lag(*points))
    assert len(svg) < 300_000


def test_text_form() -> None:
    message = lag(done(0, 2, 10), done(48, 49, 52), failed(96, 97, 99), done(144, 145, 150))
    lines = lag_text(message).splitlines()
    assert lines[0] == f"Lag of delays: {lag_summary(message)}"
    assert lines[1] == "peaks ▅█▁"  # 52, 102 and 6 s
    assert lines[2].split() == [
        "DATA",
        "TIMESTAMP",
        "(UTC)",
        "STATE",
        "ACTION",
        "WAITED",
        "RAN",
        "LAG",
        "BEFORE",
        "AFTER",
    ]
    assert lines[5].split() == [
        "2013-01-04",
        "12:00:48",
        "SUCCEEDED",
        "INCREMENTAL",
        "1",
        "s",
        "3",
        "s",
        "52",
        "s",
        "4",
        "s",
    ]
    assert lines[6].split() == ["2013-01-04", "12:01:36", "FAILED", "1", "s", "2", "s", "DT-2105"]
    assert lines[7].endswith("above target")


def test_text_of_many_refreshes_shows_the_last() -> None:
    points = tuple(done(48.0 * i, 48.0 * i + 1, 48.0 * i + 2) for i in range(30))
    lines = lag_text(lag(*points)).splitlines()
    assert "the last 20 of 30 refreshes:" in lines
    assert len(lines) == 3 + 2 + 20


def test_impossible_points_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="an end"):
        RefreshPoint(NOON, RefreshState.SUCCEEDED)
    with pytest.raises(ValueError, match="before it starts"):
        RefreshPoint(NOON, RefreshState.FAILED, later(2), later(1))
    with pytest.raises(ValueError, match="time zone"):
        RefreshPoint(NOON.replace(tzinfo=None), RefreshState.SKIPPED)
    with pytest.raises(ValueError, match="more than zero"):
        lag(target=0)


def test_time_without_a_scheduler_is_shaded_and_no_target_is_missed_in_it() -> None:
    message = lag(done(0, 1, 4), done(144, 145, 150), until=160)
    idle = replace(message, idle=(IdleTime(later(50), later(148)),))
    svg = ElementTree.fromstring(lag_svg(idle))
    (band,) = [g for g in svg.iter(f"{SVG}g") if (t := g.find(f"{SVG}title")) is not None
               and t.text == "no scheduler ran for 1 min 38 s"]  # fmt: skip
    rect = band.find(f"{SVG}rect")
    assert rect is not None
    assert float(rect.attrib["width"]) > 300
    texts = Reader(lag_svg(idle)).texts
    assert "no scheduler" in texts
    assert "above target" in texts  # of the last two seconds, in which one ran again
    assert sawtooth(message).within == pytest.approx(66 / 156)
    assert sawtooth(idle).within == pytest.approx(56 / 58)
    assert "no scheduler for 1 min 38 s" in lag_summary(idle)
