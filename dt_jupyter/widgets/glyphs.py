"""Small marks of SVG: what a state, an action and a kind look like, wherever they are shown.

No mark differs by colour alone: each has its own shape.
"""

from __future__ import annotations

from dt_jupyter.model import RefreshAction, RefreshState
from dt_jupyter.widgets.markup import Markup, element, joined
from dt_jupyter.widgets.theme import paint
from dt_jupyter.wire import NodeKind

STATE_TOKENS = {
    RefreshState.SUCCEEDED: "ok",
    RefreshState.FAILED: "bad",
    RefreshState.UPSTREAM_FAILED: "bad",
    RefreshState.EXECUTING: "run",
    RefreshState.SCHEDULED: "idle",
    RefreshState.SKIPPED: "warn",
    RefreshState.CANCELLED: "idle",
}
ACTION_TOKENS = {
    RefreshAction.NO_DATA: "idle",
    RefreshAction.INCREMENTAL: "incremental",
    RefreshAction.FULL: "full",
    RefreshAction.REINITIALIZE: "reinitialize",
}
_RINGS = {  # the sign inside a ring, as a path about its centre
    RefreshState.UPSTREAM_FAILED: "M0 3V-3M-2.6 -.4L0 -3L2.6 -.4",
    RefreshState.SCHEDULED: "M0 -3V0L2 1.6",
    RefreshState.SKIPPED: "M-3 0H3",
    RefreshState.CANCELLED: "M-4 4L4 -4",
}
_DISCS = {
    RefreshState.SUCCEEDED: "M-3 .2L-.9 2.4L3.1 -2.2",
    RefreshState.FAILED: "M-2.5 -2.5L2.5 2.5M2.5 -2.5L-2.5 2.5",
}
_KINDS = {
    NodeKind.TABLE: "M-6 -5.5H6V5.5H-6ZM-6 -2H6M-6 1.8H6M-1.5 -2V5.5",
    NodeKind.VIEW: "M-7 0Q0 -8.5 7 0Q0 8.5 -7 0ZM-2 0A2 2 0 1 0 2 0A2 2 0 1 0 -2 0Z",
    NodeKind.STREAM: "M-7 -3Q-3.5 -7 0 -3T7 -3M-7 3Q-3.5 -1 0 3T7 3",
    NodeKind.SINK: "M-6 0V6H6V0M0 -6V2M-3 -1L0 2L3 -1",
    NodeKind.TASK: "M-2.5 -5.5L6 0L-2.5 5.5ZM-6 -5.5V5.5",
    NodeKind.STAGE: "M-5 -5H5V5H-5ZM-5 0H5",
}


def state_glyph(state: RefreshState | None, x: float, y: float, token: str | None = None) -> Markup:
    """A disc of 14 pixels about (x, y), in the state's colour unless `token` is given; a dashed
    ring where nothing has run yet."""
    token = token or (STATE_TOKENS[state] if state else "idle")
    if state in _DISCS:
        disc = element("circle", r=7, **paint(fill=token))
        return _at(x, y, disc, _sign(_DISCS[state], "mark", 1.8))
    dashes = None if state else "2.4 2.4"
    ring = element(
        "circle",
        r=6,
        stroke_width=1.8,
        stroke_dasharray=dashes,
        stroke_opacity=0.35 if state is RefreshState.EXECUTING else None,
        **paint(stroke=token),
    )
    path = (
        "M0 -6A6 6 0 1 1 -6 0"
        if state is RefreshState.EXECUTING
        else _RINGS.get(state)
        if state
        else None
    )
    return _at(
        x,
        y,
        ring,
        _sign(path, token, 2 if state is RefreshState.EXECUTING else 1.5) if path else "",
    )


def action_glyph(action: RefreshAction, x: float, y: float, r: float) -> Markup:
    """NO_DATA a ring, INCREMENTAL a disc, FULL a square, REINITIALIZE a diamond."""
    token = ACTION_TOKENS[action]
    if action is RefreshAction.NO_DATA:
        return element(
            "circle", cx=x, cy=y, r=r * 0.9, stroke_width=1.4, **paint(fill="page", stroke=token)
        )
    if action is RefreshAction.INCREMENTAL:
        return element("circle", cx=x, cy=y, r=r, **paint(fill=token))
    if action is RefreshAction.FULL:
        return element(
            "rect", x=x - r * 0.9, y=y - r * 0.9, width=r * 1.8, height=r * 1.8, **paint(fill=token)
        )
    far = r * 1.3
    d = path("M", (x, y - far), "L", (x + far, y), (x, y + far), (x - far, y), "Z")
    return element("path", d=d, **paint(fill=token))


def kind_glyph(kind: NodeKind, x: float, y: float) -> Markup:
    """A small grid for a table, an eye for a view, waves for a stream, a start for a task."""
    return _at(x, y, _sign(_KINDS[kind], "soft", 1.2))


def cross(x: float, y: float, r: float, token: str = "bad") -> Markup:
    """A cross: something failed here."""
    d = path("M", (x - r, y - r), "L", (x + r, y + r), "M", (x + r, y - r), "L", (x - r, y + r))
    return element("path", d=d, stroke_width=1.8, stroke_linecap="round", **paint(stroke=token))


def path(*parts: str | tuple[float, float]) -> str:
    """Path data from commands and points, with two decimals."""
    return " ".join(p if isinstance(p, str) else f"{p[0]:.2f} {p[1]:.2f}" for p in parts)


def _sign(d: str, token: str, width: float) -> Markup:
    return element(
        "path",
        d=d,
        stroke_width=width,
        stroke_linecap="round",
        stroke_linejoin="round",
        **paint(stroke=token),
    )


def _at(x: float, y: float, *parts: str) -> Markup:
    return element("g", joined(*parts), transform=f"translate({x:.2f} {y:.2f})")
