"""The words about a sink, in a graph's card and in its own card."""

from __future__ import annotations

from dt_jupyter.model import SinkState, count_of
from dt_jupyter.widgets.markup import one_line
from dt_jupyter.wire import GraphNode, SinkDelivery, SinkStanding, count, instant

SINK_TOKENS = {
    SinkState.ACTIVE: "ok",
    SinkState.RETRYING: "warn",
    SinkState.SUSPENDED: "warn",
    SinkState.PAUSED: "bad",
}
SINK_BORDERS = {SinkState.RETRYING: "warn", SinkState.PAUSED: "bad"}


def store_text(sink: SinkStanding) -> str:
    """`sqlite → shops`: the store's kind, and the table there."""
    return one_line(f"{sink.scheme} → {sink.target}")


def stored_text(sink: SinkStanding) -> str:
    """What the last delivery stored, in short."""
    return f"{count(sink.last.stored)} stored" if sink.last is not None else ""


def delivery_text(done: SinkDelivery) -> str:
    """The outcome of a delivery, in a sentence."""
    counts = (
        f"{done.loaded:,} loaded", f"{done.stored:,} stored", f"{done.deleted:,} deleted",
        f"{done.bytes:,} B",
    )  # fmt: skip
    retries = f", tried again {count_of(done.retries, 'time')}" if done.retries else ""
    drifted = f", {count_of(done.drifted, 'key')} drifted" if done.drifted else ""
    refused = f", {done.refused:,} refused" if done.refused else ""
    what = " ".join(filter(None, (done.action, done.state)))
    at = instant(done.end or done.start)
    return f"{what} at {at}: {', '.join(counts)}{refused}{drifted}{retries}"


def sink_facts(node: GraphNode) -> list[tuple[str, str]]:
    """The state of a sink, in names and values; what is unknown is left out."""
    sink = node.sink
    if sink is None:
        return []
    newest = f" of {sink.newest}" if sink.newest is not None else ""
    found = [
        ("source", sink.source),
        ("store", sink.address),
        ("target", sink.target),
        ("delivered version", f"{sink.version}{newest}" if sink.version is not None else ""),
        ("behind since", instant(sink.behind_since) if sink.behind_since else ""),
        ("last delivery", delivery_text(sink.last) if sink.last is not None else "none yet"),
        ("dead letters", f"{sink.dead_letters:,}" if sink.dead_letters else ""),
        ("next try", instant(sink.next_try) if sink.next_try else ""),
    ]
    return [(name, value) for name, value in found if value]
