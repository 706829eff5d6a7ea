"""The graph of dynamic tables as SVG: cards with state, mode, action and lag, joined by curves."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from dt_jupyter.model import RefreshMode, RefreshState, SinkState, count_of
from dt_jupyter.widgets.canvas import canvas, group, label
from dt_jupyter.widgets.glyphs import (
    STATE_TOKENS,
    action_glyph,
    kind_glyph,
    path,
    state_glyph,
)
from dt_jupyter.widgets.layout import Box, GraphLayout, Placed, Route, layered
from dt_jupyter.widgets.markup import Markup, element, joined, one_line
from dt_jupyter.widgets.sink_words import (
    SINK_BORDERS,
    SINK_TOKENS,
    sink_facts,
    store_text,
    stored_text,
)
from dt_jupyter.widgets.task_words import task_facts, tick_text, written_text
from dt_jupyter.widgets.theme import fill, paint
from dt_jupyter.widgets.typeset import pixels, wrap
from dt_jupyter.wire import GraphMessage, GraphNode, NodeKind, count, duration, instant

Direction = Literal["right", "down"]
COMPACT_FROM = 25  # nodes
_MARGIN, _HEADER, _LEGEND, _LEAST_WIDTH, _COMFORTABLE = 16.0, 52.0, 34.0, 460.0, 1240.0
_ARROW = 7.0
_NOTE = 10.5  # pixels of its type
_WIDEST_PILL = 0.6  # of a card
_BROKEN = (RefreshState.FAILED, RefreshState.UPSTREAM_FAILED)
NOT_REFRESHED = "NOT REFRESHED"
"""What is said of a table that nothing refreshes, though nothing has failed."""
_RUN = (NodeKind.DYNAMIC_TABLE, NodeKind.TASK)
"""What has a state of a last run."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Sizes of the cards, in pixels: with all lines, or with two for a large graph."""

    compact: bool

    @property
    def width(self) -> float:
        return 196 if self.compact else 252

    def height(self, node: GraphNode) -> float:
        if self.compact:
            return 52 if _has_standing(node) else 32
        if not _has_standing(node):
            return 50
        return 86 + 14 * len(_note(node, self.width - 24)[0])


def graph_svg(message: GraphMessage, direction: Direction | None = None) -> str:
    """The graph as one SVG. `direction` is where edges go; by default the picture goes right, and
    down where that would be too wide."""
    look = _Look(len(message.nodes) >= COMPACT_FROM)
    plan = _plan(message, look, direction)
    width = max(plan.width + 2 * _MARGIN, _LEAST_WIDTH)
    height = plan.height + _HEADER + _LEGEND + _MARGIN
    nodes = {node.name: node for node in message.nodes}
    rightward = _is_rightward(plan, direction)
    drawing = element(
        "g",
        *(_edge(route, nodes, rightward) for route in plan.routes),
        *(_card(nodes[box.name], box, look) for box in plan.boxes),
        transform=f"translate({_MARGIN:.2f} {_HEADER:.2f})",
    )
    return canvas(
        width,
        height,
        "Dynamic tables",
        summary(message),
        _header(message, width),
        drawing,
        _legend(message, width, height - _LEGEND / 2),
    )


def plan_graph(message: GraphMessage, direction: Direction | None = None) -> GraphLayout:
    """Where `graph_svg` puts cards and edges, without margins."""
    return _plan(message, _Look(len(message.nodes) >= COMPACT_FROM), direction)


def summary(message: GraphMessage) -> str:
    """The graph in a sentence: how many of what, and what needs a look."""
    kinds = Counter(node.kind for node in message.nodes)
    parts = [
        count_of(kinds[kind], word)
        for kind, word in (
            (NodeKind.DYNAMIC_TABLE, "dynamic table"),
            (NodeKind.TABLE, "table"),
            (NodeKind.VIEW, "view"),
            (NodeKind.STREAM, "stream"),
            (NodeKind.SINK, "sink"),
            (NodeKind.TASK, "task"),
        )
        if kinds[kind]
    ]
    states = Counter(n.state for n in message.nodes if n.kind in _RUN and not is_quiet(n))
    told = (
        RefreshState.FAILED,
        RefreshState.UPSTREAM_FAILED,
        RefreshState.EXECUTING,
        RefreshState.SKIPPED,
    )
    parts += [f"{states[s]} {s}" for s in told if states[s]]
    sinks = Counter(n.sink.state for n in message.nodes if n.sink is not None)
    parts += [f"{sinks[s]} {s}" for s in (SinkState.RETRYING, SinkState.PAUSED) if sinks[s]]
    suspended = sum(node.suspended for node in message.nodes)
    late = sum(is_late(node) for node in message.nodes)
    idle = sum(is_idle(node) for node in message.nodes)
    parts += [f"{suspended} SUSPENDED"] if suspended else []
    parts += [f"{late} above target lag"] if late else []
    parts += [f"{idle} {NOT_REFRESHED}"] if idle else []
    return ", ".join(parts) or "nothing yet"


def is_idle(node: GraphNode) -> bool:
    """Whether nothing refreshes it, though it was not suspended and nothing failed."""
    return node.held_back is not None and not node.suspended and node.running is None


def is_quiet(node: GraphNode) -> bool:
    """Whether it is a task whose last run had nothing to do."""
    return node.task is not None and node.task.last is not None and node.task.last.quiet


def is_late(node: GraphNode) -> bool:
    """Whether the lag is above the target now."""
    target = node.target_lag.seconds if node.target_lag else None
    return node.lag_seconds is not None and target is not None and node.lag_seconds > target


def _has_standing(node: GraphNode) -> bool:
    """Whether there is a state to show: of a dynamic table, of a sink and of a task."""
    return node.kind is NodeKind.DYNAMIC_TABLE or node.sink is not None or node.task is not None


def mode_text(node: GraphNode) -> str:
    """`AUTO → INCREMENTAL`, or the mode that was requested; of a sink `sqlite → shops`, of a task
    when it runs."""
    if node.sink is not None:
        return store_text(node.sink)
    if node.task is not None:
        return one_line(node.task.runs_when)
    if node.refresh_mode is None:
        return node.declared_mode or ""
    automatic = node.declared_mode is RefreshMode.AUTO is not node.refresh_mode
    return f"AUTO → {node.refresh_mode}" if automatic else str(node.refresh_mode)


def kind_text(node: GraphNode) -> str:
    """What it is; of files, how many of which folder."""
    return one_line(node.files) if node.files else node.kind.replace("_", " ")


def facts(node: GraphNode) -> str:
    """All that is known of a node, a line each; the card's tooltip."""
    lines = [f"{node.name} ({kind_text(node)})"]
    if node.sink is not None:
        lines += [f"state: {node.sink.state}"]
        lines += [f"{name}: {value}" for name, value in sink_facts(node)]
    elif node.task is not None:
        lines += [f"{name}: {value}" for name, value in task_facts(node.task)]
    else:
        lines += [f"mode: {mode_text(node)}"] if mode_text(node) else []
    lines += [f"why: {node.mode_reason}"] if node.mode_reason else []
    scheduled = node.scheduling_state if node.task is None else None
    lines += [f"scheduling: {scheduled}"] if scheduled else []
    last = " ".join(filter(None, (node.state, node.action))) if node.task is None else ""
    lines += [f"last refresh: {last}"] if last else []
    lines += [f"lag: {lag_words(node)}"] if lag_words(node) else []
    lines += [f"data timestamp: {instant(node.data_timestamp)}"] if node.data_timestamp else []
    lines += [f"rows: {node.rows:,}"] if node.rows is not None else []
    lines += [f"standing: {node.held_back}"] if node.held_back else []
    lines += [f"error: {node.error}"] if node.error and not node.held_back else []
    return "\n".join(lines)


def _plan(message: GraphMessage, look: _Look, direction: Direction | None) -> GraphLayout:
    boxes = [Box(node.name, look.width, look.height(node)) for node in message.nodes]
    edges = [(edge.source, edge.target) for edge in message.edges]
    gaps = (48.0, 12.0) if look.compact else (64.0, 20.0)
    right = layered(boxes, edges, rightward=True, between_layers=gaps[0], between_boxes=gaps[1])
    if direction == "right" or (direction is None and right.width <= _COMFORTABLE):
        return right
    down = layered(boxes, edges, rightward=False, between_layers=gaps[0], between_boxes=gaps[1])
    return down if direction == "down" or down.width < right.width else right


def _is_rightward(plan: GraphLayout, direction: Direction | None) -> bool:
    if direction is not None or not plan.routes:
        return direction != "down"
    boxes = {box.name: box for box in plan.boxes}
    route = plan.routes[0]
    source = boxes[route.source]
    return abs(route.points[0][0] - (source.x + source.width)) < 0.01


def _header(message: GraphMessage, width: float) -> Markup:
    as_of = f"as of {instant(message.as_of)}" if message.as_of else ""
    room = width - 2 * _MARGIN - 120
    return joined(
        label("Dynamic tables", _MARGIN, 21, size=14, bold=True),
        label(as_of, width - _MARGIN, 21, token="soft", anchor="end", width=room),
        label(summary(message), _MARGIN, 38, token="soft", width=width - 2 * _MARGIN),
    )


def _legend(message: GraphMessage, width: float, y: float) -> Markup:
    """The states that occur, with their signs."""
    tables = [n for n in message.nodes if n.kind in _RUN]
    states = [s for s in STATE_TOKENS if any(n.state is s for n in tables)]
    parts, x = [], _MARGIN + 7
    for state in states:
        parts += [state_glyph(state, x, y), label(state, x + 12, y + 4, size=10, token="soft")]
        x += 28 + pixels(state, 10)
        if x > width - 110:
            break
    return joined(*parts)


def _edge(route: Route, nodes: dict[str, GraphNode], rightward: bool) -> Markup:
    source, target = nodes[route.source], nodes[route.target]
    token, dashes = "edge", None
    if target.state is RefreshState.UPSTREAM_FAILED and source.state in _BROKEN:
        token, dashes = "bad", "5 4"
    elif target.state is RefreshState.EXECUTING:
        token = "run"
    tip_x, tip_y = route.points[-1]
    back = (tip_x - _ARROW, tip_y) if rightward else (tip_x, tip_y - _ARROW)
    wing = (0.0, 3.6) if rightward else (3.6, 0.0)
    head = path(
        "M",
        (tip_x, tip_y),
        "L",
        (back[0] - wing[0], back[1] - wing[1]),
        (back[0] + wing[0], back[1] + wing[1]),
        "Z",
    )
    line = _curve([*route.points[:-1], back], rightward)
    return group(
        element("path", d=line, stroke_width=1.5, stroke_dasharray=dashes, **paint(stroke=token)),
        element("path", d=head, **fill(token)),
        tooltip=f"{route.source} → {route.target}",
    )


def _curve(points: list[tuple[float, float]], rightward: bool) -> str:
    """Smooth between the layers, straight past them."""
    parts: list[str | tuple[float, float]] = ["M", points[0]]
    for i, (one, two) in enumerate(itertools.pairwise(points)):
        if i % 2:
            parts += ["L", two]
        elif rightward:
            middle = (one[0] + two[0]) / 2
            parts += ["C", (middle, one[1]), (middle, two[1]), two]
        else:
            middle = (one[1] + two[1]) / 2
            parts += ["C", (one[0], middle), (two[0], middle), two]
    return path(*parts)


def _card(node: GraphNode, box: Placed, look: _Look) -> Markup:
    own, stroke = _has_standing(node), _border(node)
    frame = element(
        "rect",
        x=0,
        y=0,
        width=box.width,
        height=box.height,
        rx=8 if own else 4,
        stroke_width=1.6 if stroke != "line" else 1,
        stroke_dasharray="5 4" if node.suspended or node.kind is NodeKind.VIEW else None,
        **paint(fill="card", stroke=stroke),
    )
    inside = _table_lines(node, box, look) if own else _source_lines(node, box, look)
    return group(
        frame, inside, tooltip=facts(node), transform=f"translate({box.x:.2f} {box.y:.2f})"
    )


def _border(node: GraphNode) -> str:
    """The colour of what needs a look, or runs."""
    if node.sink is not None:
        return SINK_BORDERS.get(node.sink.state, "line")
    if is_idle(node):
        return "warn"
    loud = (*_BROKEN, RefreshState.EXECUTING)
    own = node.kind in _RUN
    return STATE_TOKENS[node.state] if own and node.state in loud else "line"


def _sign_of(node: GraphNode, x: float, y: float) -> Markup:
    if node.sink is not None:
        return kind_glyph(node.kind, x, y)
    shown = RefreshState.SKIPPED if is_idle(node) else node.state
    return state_glyph(shown, x, y, "idle" if is_quiet(node) else None)


def _source_lines(node: GraphNode, box: Placed, look: _Look) -> Markup:
    rows = f" · {_rows(node.rows)}" if node.rows is not None else ""
    if look.compact:
        return joined(
            kind_glyph(node.kind, 17, box.height / 2),
            label(node.name, 32, box.height / 2 + 4, width=box.width - 42, middle=True),
        )
    return joined(
        kind_glyph(node.kind, 19, 19),
        label(node.name, 34, 23, size=13, width=box.width - 46, middle=True),
        label(f"{kind_text(node)}{rows}", 34, 39, size=10.5, token="soft", width=box.width - 46),
    )


def _table_lines(node: GraphNode, box: Placed, look: _Look) -> Markup:
    if look.compact:
        return joined(
            _sign_of(node, 17, 17),
            label(node.name, 30, 21, size=12, bold=True, width=box.width - 40, middle=True),
            _second_line(node, box, 37, 9),
            _lag_bar(node, box, 43, 3),
        )
    lines, token = _note(node, box.width - 24)
    return joined(
        _sign_of(node, 19, 19),
        label(node.name, 34, 23.5, size=13, bold=True, width=box.width - 46, middle=True),
        _second_line(node, box, 43, 10),
        _lag_line(node, box, 64),
        _lag_bar(node, box, 70, 4),
        *(label(line, 12, 91 + 14 * i, size=_NOTE, token=token) for i, line in enumerate(lines)),
    )


def _second_line(node: GraphNode, box: Placed, y: float, size: float) -> Markup:
    """Mode on the left as a pill; on the right what was done last, or what holds it up."""
    words = mode_text(node)
    words = words.lower() if node.kind is NodeKind.DYNAMIC_TABLE else words
    if size < 10:
        words = words.replace("incremental", "incr.")
    token = "full" if node.refresh_mode is RefreshMode.FULL else "incremental"
    width = min(pixels(words, size) + 12, box.width * _WIDEST_PILL)
    pill = joined(
        element("rect", x=12, y=y - size - 1.5, width=width, height=size + 6, rx=(size + 6) / 2,
                fill_opacity=0.13, **fill(token)),
        label(words, 12 + width / 2, y, size=size, token=token, anchor="middle",
              width=width - 10),
    ) if words else Markup("")  # fmt: skip
    return joined(pill, _outcome(node, box.width - 12, y, size, box.width - 32 - width))


def _outcome(node: GraphNode, right: float, y: float, size: float, room: float) -> Markup:
    if node.sink is not None:
        state = node.sink.state
        token = SINK_TOKENS[state]
        return label(state, right, y, size=size, token=token, bold=True, anchor="end", width=room)
    if node.suspended:
        return label(
            "SUSPENDED", right, y, size=size, token="warn", bold=True, anchor="end", width=room
        )
    if is_idle(node):
        return label(
            NOT_REFRESHED, right, y, size=size, token="warn", bold=True, anchor="end", width=room
        )
    if node.state is RefreshState.SUCCEEDED and node.action:
        edge = right - 11
        shown = label(node.action, edge, y, size=size, token="soft", anchor="end", width=room - 11)
        return joined(shown, action_glyph(node.action, right - 4, y - size * 0.36, 3.6))
    token = STATE_TOKENS[node.state] if node.state and not is_quiet(node) else "soft"
    text = node.state or ("not run yet" if node.task is not None else "not initialised")
    return label(text, right, y, size=size, token=token, bold=True, anchor="end", width=room)


def target_text(node: GraphNode) -> str:
    """The target lag in words; empty where there is none."""
    if node.target_lag is None:
        return ""
    seconds = node.target_lag.seconds
    return "DOWNSTREAM" if seconds is None else duration(seconds)


def lag_words(node: GraphNode) -> str:
    """`42 s of 5 min`; the target alone as long as there is no lag."""
    target = target_text(node)
    if node.lag_seconds is None:
        return f"target {target}" if target else ""
    now = duration(node.lag_seconds)
    return (
        f"{now} · downstream" if target == "DOWNSTREAM" else f"{now} of {target}" if target else now
    )


def _lag_line(node: GraphNode, box: Placed, y: float) -> Markup:
    text = lag_words(node)
    rows = stored_text(node.sink) if node.sink is not None else _known_rows(node)
    lag = f"lag {text}" if node.lag_seconds is not None else text
    if node.task is not None:
        lag, rows = tick_text(node.task), written_text(node.task)
    room = box.width - 32 - pixels(rows, 10.5)
    return joined(
        label(lag, 12, y, size=10.5, token="bad" if is_late(node) else "soft", width=room),
        label(rows, box.width - 12, y, size=10.5, token="soft", anchor="end"),
    )


def _lag_bar(node: GraphNode, box: Placed, y: float, height: float) -> Markup:
    """The lag as a share of the target: full when it is reached, red beyond."""
    whole = box.width - 24
    track = element("rect", x=12, y=y, width=whole, height=height, rx=height / 2, **fill("grid"))
    target = node.target_lag.seconds if node.target_lag else None
    if target is None or node.lag_seconds is None:
        return track if target is not None else Markup("")
    share = max(node.lag_seconds / target, 0.0)
    token = "bad" if share > 1 else "warn" if share > 0.85 else "ok"
    width = max(whole * min(share, 1.0), height)
    return joined(
        track, element("rect", x=12, y=y, width=width, height=height, rx=height / 2, **fill(token))
    )


def _note(node: GraphNode, width: float) -> tuple[list[str], str]:
    """What a reader must know besides, in two lines at most, and its colour: the error, else why
    it is FULL."""
    if node.held_back:
        return wrap(one_line(node.held_back), width, _NOTE, 2), "warn"
    if node.error:
        return wrap(one_line(node.error), width, _NOTE, 2), "bad"
    if node.refresh_mode is RefreshMode.FULL and node.mode_reason:
        return wrap(one_line(node.mode_reason), width, _NOTE, 2), "soft"
    return [], "soft"


def _known_rows(node: GraphNode) -> str:
    return _rows(node.rows) if node.rows is not None else ""


def _rows(number: int) -> str:
    return f"{count(number)} {'row' if number == 1 else 'rows'}"
