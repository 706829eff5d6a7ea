"""The lag sawtooth as SVG and as text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dt_jupyter.model import RefreshAction, RefreshState, count_of
from dt_jupyter.widgets.canvas import canvas, group, label
from dt_jupyter.widgets.glyphs import ACTION_TOKENS, STATE_TOKENS, action_glyph, cross, path
from dt_jupyter.widgets.markup import Markup, element, joined, one_line
from dt_jupyter.widgets.sawtooth_points import LagSawtooth, LagTooth, sawtooth
from dt_jupyter.widgets.theme import fill, paint
from dt_jupyter.widgets.typeset import aligned, pixels, sparkline
from dt_jupyter.wire import (
    LagMessage,
    RefreshPoint,
    duration,
    duration_ticks,
    instant,
    instant_ticks,
)

_WIDTH, HEIGHT = 900.0, 344.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, 828.0, 62.0, 240.0
_LANE, _LANE_HEIGHT, _TICKS, _LEGEND = 250.0, 14.0, 282.0, 328.0
_MARKS_UPTO = 160  # refreshes; beyond, the line alone shows more than its marks
_TEXT_ROWS, _SPARK = 20, 60
_FAILURES = (RefreshState.FAILED, RefreshState.UPSTREAM_FAILED, RefreshState.CANCELLED)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Instants and lags to pixels."""

    start: datetime
    seconds: float
    top: float

    def x(self, at: datetime) -> float:
        return _LEFT + (at - self.start).total_seconds() / self.seconds * (_RIGHT - _LEFT)

    def y(self, lag: float) -> float:
        return _BOTTOM - lag / self.top * (_BOTTOM - _TOP)

    def point(self, at: datetime, lag: float) -> tuple[float, float]:
        return self.x(at), self.y(lag)


def lag_svg(message: LagMessage) -> str:
    """Lag over time against the target, with each refresh's wait and run in a lane below."""
    saw = sawtooth(message)
    title = f"Lag of {one_line(message.name)}"
    scale = _scale(message, saw)
    if scale is None:
        nothing = label(
            "no refresh yet", _WIDTH / 2, _TOP + 20, size=13, token="soft", anchor="middle"
        )
        return canvas(_WIDTH, 130, title, lag_summary(message), _title(message), nothing)
    parts = (_title(message), _idle(saw, scale), _axes(scale), _target(saw, scale),
             _line(saw, scale), _peaks(saw, scale), _marks(message, saw, scale),
             _lane(message, scale), _legend(message, saw))  # fmt: skip
    return canvas(_WIDTH, HEIGHT, title, lag_summary(message), *parts)


def lag_summary(message: LagMessage) -> str:
    """The sawtooth in a sentence: target, worst and mean lag, share of time within the target."""
    saw = sawtooth(message)
    parts = ["target DOWNSTREAM" if saw.target is None else f"target {duration(saw.target)}"]
    if saw.worst and saw.mean is not None:
        parts += [
            f"now {duration(saw.teeth[-1].peak)}",
            f"worst {duration(saw.worst.peak)}",
            f"mean {duration(saw.mean)}",
        ]
    if saw.within is not None:
        parts.append(f"within target {_percent(saw.within)} of the time")
    if idle := sum((end - start).total_seconds() for start, end in saw.idle):
        parts.append(f"no scheduler for {duration(idle)}")
    states = Counter(point.state for point in message.points)
    parts.append(count_of(len(message.points), "refresh"))
    parts += [f"{states[s]} {s}" for s in (*_FAILURES, RefreshState.SKIPPED) if states[s]]
    return ", ".join(parts)


def _percent(share: float) -> str:
    """Never 100 % when it is not, nor 0 %."""
    percent = 100 * share
    if 0 < percent < 0.1 or 99.9 < percent < 100:
        return "< 0.1 %" if percent < 1 else "> 99.9 %"
    return f"{percent:.1f}".removesuffix(".0") + " %"


def _scale(message: LagMessage, saw: LagSawtooth) -> _Scale | None:
    shown = [at for p in message.points for at in (p.start or p.data_timestamp, p.end) if at]
    if not shown:
        return None
    start = min(shown)
    end = max([*shown, *filter(None, [message.as_of]), start + timedelta(seconds=1)])
    peak = saw.worst.peak if saw.worst else 0.0
    top = max(peak * 1.12, (saw.target or 0.0) * 1.2, 1.0)
    return _Scale(start, (end - start).total_seconds(), top)


def _title(message: LagMessage) -> Markup:
    return joined(
        label(f"Lag of {message.name}", 16, 22, size=14, bold=True, width=_WIDTH - 32, middle=True),
        label(lag_summary(message), 16, 40, token="soft", width=_WIDTH - 32),
    )


def _idle(saw: LagSawtooth, scale: _Scale) -> Markup:
    """The times in which no scheduler ran, shaded from top to bottom."""
    bands: list[str] = []
    for start, end in saw.idle:
        low, high = max(scale.x(start), _LEFT), min(scale.x(end), _RIGHT)
        if low < high:
            tooltip = f"no scheduler ran for {duration((end - start).total_seconds())}"
            bands.append(group(_shade(low, _TOP, high - low, _LANE - _TOP), tooltip=tooltip))
    return joined(*bands)


def _shade(x: float, y: float, width: float, height: float) -> Markup:
    return element("rect", x=x, y=y, width=width, height=height, fill_opacity=0.14, **fill("idle"))


def _axes(scale: _Scale) -> Markup:
    parts: list[str] = []
    for lag in duration_ticks(scale.top):
        y = scale.y(lag)
        parts += [
            element(
                "path",
                d=path("M", (_LEFT, y), "L", (_RIGHT, y)),
                stroke_width=1,
                **paint(stroke="grid"),
            ),
            label(
                duration(lag) if lag else "0",
                _LEFT - 8,
                y + 3.5,
                size=10.5,
                token="soft",
                anchor="end",
            ),
        ]
    end = scale.start + timedelta(seconds=scale.seconds)
    day = ""
    foot = _LANE + _LANE_HEIGHT + 4
    for at, text in instant_ticks(scale.start, end):
        x = scale.x(at)
        parts += [
            element(
                "path",
                d=path("M", (x, foot), "L", (x, foot + 4)),
                stroke_width=1,
                **paint(stroke="line"),
            ),
            label(text, x, _TICKS, size=10.5, token="soft", anchor="middle"),
        ]
        if (date := f"{at:%Y-%m-%d}") not in (day, text):
            parts.append(label(date, x, _TICKS + 14, size=10.5, token="soft", anchor="middle"))
            day = date
    base = path("M", (_LEFT, foot), "L", (_RIGHT, foot))
    parts += [
        element("path", d=base, stroke_width=1, **paint(stroke="line")),
        label("UTC", 16, _TICKS, size=10.5, token="soft"),
        label("refreshes", _LEFT - 8, _LANE + 11, size=10.5, token="soft", anchor="end"),
    ]
    return joined(*parts)


def _target(saw: LagSawtooth, scale: _Scale) -> Markup:
    if saw.target is None:
        return Markup("")
    y = scale.y(saw.target)
    line = path("M", (_LEFT, y), "L", (_RIGHT, y))
    return joined(
        element("path", d=line, stroke_width=1.5, stroke_dasharray="6 4", **paint(stroke="warn")),
        label("target", _RIGHT + 6, y - 2, size=10.5, token="warn", bold=True),
        label(
            duration(saw.target),
            _RIGHT + 6,
            y + 11,
            size=10.5,
            token="warn",
            width=_WIDTH - _RIGHT - 8,
        ),
    )


def _line(saw: LagSawtooth, scale: _Scale) -> Markup:
    """The area and its edge, and in red what is above the target."""
    if not saw.teeth:
        return Markup("")
    corners = [
        p for t in saw.teeth for p in (scale.point(t.start, t.low), scale.point(t.end, t.peak))
    ]
    first, last = (scale.x(saw.teeth[0].start), _BOTTOM), (scale.x(saw.teeth[-1].end), _BOTTOM)
    thick = 1.6 if len(saw.teeth) <= _MARKS_UPTO else 0.9
    area = element(
        "path",
        d=path("M", first, "L", *corners, last, "Z"),
        fill_opacity=0.1,
        **fill("incremental"),
    )
    edge = element(
        "path",
        d=path("M", corners[0], "L", *corners[1:], corners[-1]),
        stroke_width=thick,
        stroke_opacity=1 if thick > 1 else 0.6,
        stroke_linejoin="round",
        **paint(stroke="incremental"),
    )
    return joined(area, edge, *(_excess(tooth, saw.target, scale) for tooth in saw.above))


def _excess(tooth: LagTooth, target: float | None, scale: _Scale) -> Markup:
    """The part of a tooth that is above the target, as a red wedge."""
    base = max(tooth.low, target or 0.0)
    crossed = tooth.data_timestamp + timedelta(seconds=base)
    wedge = path(
        "M",
        scale.point(crossed, target or 0.0),
        "L",
        scale.point(crossed, base),
        scale.point(tooth.end, tooth.peak),
        scale.point(tooth.end, target or 0.0),
        "Z",
    )
    rise = path("M", scale.point(crossed, base), "L", scale.point(tooth.end, tooth.peak))
    return joined(
        element("path", d=wedge, fill_opacity=0.25, **fill("bad")),
        element("path", d=rise, stroke_width=2, **paint(stroke="bad")),
    )


def _peaks(saw: LagSawtooth, scale: _Scale) -> Markup:
    """A red tip on each peak above the target, and in words how high the worst one is."""
    parts: list[str] = []
    crowded = len(saw.teeth) > _MARKS_UPTO
    worst = max(saw.above, key=lambda tooth: tooth.peak, default=None)
    for tooth in saw.above:
        if crowded and tooth is not worst:
            continue
        x, y = scale.point(tooth.end, tooth.peak)
        parts.append(
            element(
                "path",
                d=path("M", (x, y - 3), "L", (x - 4, y - 10), (x + 4, y - 10), "Z"),
                **fill("bad"),
            )
        )
    if worst:
        x, y = scale.point(worst.end, worst.peak)
        text = duration(worst.peak)
        right = x + 8 + pixels(text, 10.5) < _RIGHT
        beside, anchor = (x + 8, None) if right else (x - 8, "end")
        parts.append(label(text, beside, y - 4, size=10.5, token="bad", bold=True, anchor=anchor))
    return joined(*parts)


def _marks(message: LagMessage, saw: LagSawtooth, scale: _Scale) -> Markup:
    """On the line: each refresh's action where the lag fell, and a cross where one failed."""
    r = min(4.0, max(1.6, 0.28 * (_RIGHT - _LEFT) / max(len(message.points), 1)))
    parts: list[str] = []
    if len(message.points) <= _MARKS_UPTO:
        for tooth in saw.teeth:
            x, y = scale.point(tooth.start, tooth.low)
            action = tooth.refresh.action
            if action:
                parts.append(group(action_glyph(action, x, y, r), tooltip=_told(tooth.refresh)))
        for point in message.points:
            if point.state in _FAILURES and point.end:
                lag = saw.at(point.end)
                y = scale.y(lag if lag is not None else 0.0)
                mark = cross(scale.x(point.end), y, max(r, 3.2), STATE_TOKENS[point.state])
                parts.append(group(mark, tooltip=_told(point)))
    return joined(*parts)


def _lane(message: LagMessage, scale: _Scale) -> Markup:
    """Below the line: for each refresh a thin bar while it waits and a thick one while it runs;
    skips as short strokes, failures as crosses."""
    crowded = len(message.points) > _MARKS_UPTO
    return joined(*(_lane_mark(point, scale, crowded) for point in message.points))


def _lane_mark(point: RefreshPoint, scale: _Scale, crowded: bool) -> Markup:
    middle = _LANE + _LANE_HEIGHT / 2
    begin = point.start or point.data_timestamp
    if point.skipped:
        x = max(scale.x(begin), _LEFT)
        mark = element(
            "path",
            d=path("M", (x, _LANE + 2), "L", (x, _LANE + _LANE_HEIGHT - 2)),
            stroke_width=1.2 if crowded else 2,
            **paint(stroke="warn"),
        )
        return group(mark, tooltip=_told(point))
    end = point.end or scale.start + timedelta(seconds=scale.seconds)
    token = (
        ACTION_TOKENS[point.action]
        if point.action and point.succeeded
        else STATE_TOKENS[point.state]
    )
    low, high = scale.x(begin), scale.x(end)
    hollow = point.succeeded and point.action is RefreshAction.NO_DATA
    bar = element(
        "rect",
        x=low,
        y=_LANE + 2,
        width=max(high - low, 1.2 if crowded else 2.4),
        height=_LANE_HEIGHT - 4,
        fill_opacity=0.35 if hollow else None,
        **fill(token),
    )
    wait_from = max(scale.x(point.data_timestamp), _LEFT)
    wait = (
        element(
            "path",
            d=path("M", (wait_from, middle), "L", (low, middle)),
            stroke_width=1.2,
            **paint(stroke=token),
        )
        if low - wait_from > 1
        else ""
    )
    failed = (
        cross((low + high) / 2, middle, 3.6, token)
        if point.state in _FAILURES and not crowded
        else ""
    )
    if failed:
        bar = Markup("")
    return group(wait, bar, failed, tooltip=_told(point))


def _told(point: RefreshPoint) -> str:
    """A refresh in a few lines; its tooltip."""
    lines = [
        " ".join(filter(None, (point.state, point.action))),
        f"data timestamp {instant(point.data_timestamp)}",
    ]
    if point.start:
        lines.append(f"waited {duration((point.start - point.data_timestamp).total_seconds())}")
    if point.start and point.end:
        lines.append(f"ran {duration((point.end - point.start).total_seconds())}")
    return "\n".join([*lines, *filter(None, [point.detail])])


def _legend(message: LagMessage, saw: LagSawtooth) -> Markup:
    """What occurs in the picture, and only that."""
    parts: list[str] = []
    x, y = _LEFT + 4, _LEGEND - 4
    for action in (
        a for a in RefreshAction if any(p.succeeded and p.action is a for p in message.points)
    ):
        parts += [
            action_glyph(action, x, y, 4),
            label(action, x + 9, y + 3.5, size=10.5, token="soft"),
        ]
        x += 30 + pixels(action, 10.5)
    for state in (s for s in _FAILURES if any(p.state is s for p in message.points)):
        parts += [
            cross(x, y, 3.6, STATE_TOKENS[state]),
            label(state, x + 9, y + 3.5, size=10.5, token="soft"),
        ]
        x += 30 + pixels(state, 10.5)
    if any(p.skipped for p in message.points):
        stroke = element(
            "path", d=path("M", (x, y - 5), "L", (x, y + 5)), stroke_width=2, **paint(stroke="warn")
        )
        parts += [stroke, label("SKIPPED", x + 7, y + 3.5, size=10.5, token="soft")]
        x += 28 + pixels("SKIPPED", 10.5)
    if saw.above:
        tip = path("M", (x, y + 4), "L", (x - 4, y - 4), (x + 4, y - 4), "Z")
        parts += [
            element("path", d=tip, **fill("bad")),
            label("above target", x + 9, y + 3.5, size=10.5, token="soft"),
        ]
        x += 30 + pixels("above target", 10.5)
    if saw.idle:
        parts += [
            _shade(x - 5, y - 5, 10, 10),
            label("no scheduler", x + 9, y + 3.5, size=10.5, token="soft"),
        ]
    return joined(*parts)


def lag_text(message: LagMessage) -> str:
    """The summary, a sparkline of the peaks, and the last refreshes, a line each."""
    saw = sawtooth(message)
    lines = [f"Lag of {one_line(message.name)}: {lag_summary(message)}"]
    if saw.teeth:
        lines.append(f"peaks {sparkline([t.peak for t in saw.teeth[-_SPARK:]])}")
    shown = message.points[-_TEXT_ROWS:]
    if len(shown) < len(message.points):
        lines.append(f"the last {len(shown)} of {count_of(len(message.points), 'refresh')}:")
    before = {
        id(t.refresh): previous.peak for previous, t in zip(saw.teeth, saw.teeth[1:], strict=False)
    }
    after = {id(t.refresh): t.low for t in saw.teeth}
    rows = [_text_row(p, before.get(id(p)), after.get(id(p)), saw.target) for p in shown]
    header = ("DATA TIMESTAMP (UTC)", "STATE", "ACTION", "WAITED", "RAN", "LAG BEFORE", "AFTER", "")
    lines += aligned(header, rows, right=frozenset({3, 4, 5, 6})) if rows else []
    return "\n".join(lines)


def _text_row(
    point: RefreshPoint, before: float | None, after: float | None, target: float | None
) -> tuple[str, ...]:
    waited = (point.start - point.data_timestamp).total_seconds() if point.start else None
    ran = (point.end - point.start).total_seconds() if point.start and point.end else None
    late = before is not None and target is not None and before > target
    note = " ".join(filter(None, ("above target" if late else "", point.detail)))
    at = f"{point.data_timestamp.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    return (
        at,
        point.state,
        point.action or "",
        *_words(waited, ran, before, after),
        one_line(note),
    )


def _words(*values: float | None) -> tuple[str, ...]:
    return tuple("" if value is None else duration(value) for value in values)
