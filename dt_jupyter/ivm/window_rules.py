"""What decides the value of a window function, by its name and its frame."""

from __future__ import annotations

RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
BY_ROW = frozenset({"row_number", "ntile", "lag", "lead"})
PICKED_ROWS = frozenset({"first_value", "first", "last_value", "last", "nth_value", "any_value"})
ORDERED_THEMSELVES = frozenset({
    "mode", "listagg", "min_by", "max_by", "percentile_cont", "percentile_disc",
})  # fmt: skip
"""Aggregates whose text has an order, so that of a frame they have one value."""
OF_ALL_ROWS = frozenset({"median", "percentile"})
"""Aggregates of a whole partition: Spark refuses an order and a frame there, and none decides."""
UP_TO_PEERS = ("", "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
_FROM_PEERS = ("RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",)
_ALIKE = "RANGE BETWEEN CURRENT ROW AND CURRENT ROW"
PEER_EDGES = {
    **dict.fromkeys(("last", "last_value"), (*UP_TO_PEERS, _ALIKE)),
    **dict.fromkeys(("first", "first_value", "any_value"), (*_FROM_PEERS, _ALIKE)),
}
"""The frames of which a function gives a row among those that tie with the current one."""
WHOLE_PARTITION = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def is_alike_for_peers(name: str, frame: str) -> bool:
    """The first row of a frame that begins with the partition is the same for all that tie."""
    first = name in ("first_value", "first", "any_value")
    if first:
        return not frame or "UNBOUNDED PRECEDING" in frame
    if name == "nth_value":
        return "UNBOUNDED PRECEDING" in frame and frame.endswith("UNBOUNDED FOLLOWING")
    return frame.endswith("UNBOUNDED FOLLOWING")
