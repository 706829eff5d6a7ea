"""What decides the value of a window function, by its name and its frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dt_jupyter.ivm.refusal import Refusal, refuse
from dt_jupyter.ivm.rel import SETTLING, WindowCall
from dt_jupyter.ivm.settled_calls import CallParts, make_call, require_rule

_RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
_BY_ROW = frozenset({"row_number", "ntile", "lag", "lead"})
_PICKED_ROWS = frozenset({"first_value", "first", "last_value", "last", "nth_value", "any_value"})
_ORDERED_THEMSELVES = frozenset({
    "mode", "listagg", "min_by", "max_by", "percentile_cont", "percentile_disc",
})  # fmt: skip
"""Aggregates whose text has an order, so that of a frame they have one value."""
_OF_ALL_ROWS = frozenset({"median", "percentile"})
"""Aggregates of a whole partition: Spark refuses an order and a frame there, and none decides."""
UP_TO_PEERS = ("", "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
_FROM_PEERS = ("RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",)
_ALIKE = "RANGE BETWEEN CURRENT ROW AND CURRENT ROW"
PEER_EDGES = {
    **dict.fromkeys(("last", "last_value"), (*UP_TO_PEERS, _ALIKE)),
    **dict.fromkeys(("first", "first_value", "any_value"), (*_FROM_PEERS, _ALIKE)),
}
"""The frames in which a function gives a row that ties with the current one."""
WHOLE_PARTITION = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def settle_window(
    call: WindowCall, name: str, aggregate: Callable[[], CallParts | None]
) -> WindowCall:
    """A window call as it is written, with what puts rows that tie in an order where they decide.
    `aggregate` has the parts of its function; None if it is not an aggregate. Refused where no
    order settles it."""
    if name in _RANKS:
        return call
    if name in _BY_ROW:
        return replace(call, total=True, settles=True)
    if name in _PICKED_ROWS:
        if call.order and not call.frame.startswith("ROWS"):
            _require_alike(name, call.frame)
        frame = call.frame or ("" if call.order else WHOLE_PARTITION)
        return replace(call, frame=frame, total=True, settles=True)
    parts = aggregate()
    if parts is None:
        raise refuse(Refusal.WINDOW, what=f"{name}()")
    return _settle_aggregate(call, parts)


def _settle_aggregate(call: WindowCall, parts: CallParts) -> WindowCall:
    name, is_open = parts.name, parts.name in SETTLING
    require_rule(name)
    if name in _ORDERED_THEMSELVES and not (name == "listagg" and call.order):
        if len(parts.args) > 2:
            raise refuse(Refusal.WINDOW, what=f"{name}() of several rows")
        return replace(call, function=make_call(parts, call.function, ()).text, settles=is_open)
    if name in _OF_ALL_ROWS:
        return call
    if not call.order and not call.frame:
        return replace(call, frame=WHOLE_PARTITION, total=True, settles=is_open)
    by_row = call.frame.startswith("ROWS")
    if is_open and not by_row:
        raise refuse(Refusal.TIES, what=f"{name}()")
    return replace(call, total=by_row, settles=by_row)


def _require_alike(name: str, frame: str) -> None:
    """Refused where a row of a frame is not the same for all that tie."""
    if not _is_alike_for_peers(name, frame):
        raise refuse(Refusal.TIES, what=f"{name}()")


def _is_alike_for_peers(name: str, frame: str) -> bool:
    """The first row of a frame that begins with the partition is the same for all that tie."""
    first = name in ("first_value", "first", "any_value")
    if first:
        return not frame or "UNBOUNDED PRECEDING" in frame
    if name == "nth_value":
        return "UNBOUNDED PRECEDING" in frame and frame.endswith("UNBOUNDED FOLLOWING")
    return frame.endswith("UNBOUNDED FOLLOWING")
