"""Why a dynamic table is late, and what helps: one pure function for alerts, Details and
`dt.why_late`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dt_jupyter.model import LateCause, Name, Reason, Remedy, RemedyKind, Timestamp
from dt_jupyter.schedule.obstacle import NO_READER
from dt_jupyter.schedule.periods import choose_period
from dt_jupyter.schedule.state import Node, upstream_first

SOURCE_GONE = frozenset(("DT-1101", "DT-2102", "DT-4104"))
"""Codes of a refresh whose source, or the version that it needs, is not there any more."""
_LAGS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400)
_EXPLAIN, _SHOW, _RESUME = RemedyKind.EXPLAIN, RemedyKind.SHOW, RemedyKind.RESUME
_REFRESH = RemedyKind.REFRESH


@dataclass(frozen=True)
class LakeStanding:
    """All that a cause depends on. By id of a dynamic table: `failures` are what the last completed
    refreshes met, `obstacles` what keeps the scheduler from a table, `waits` what its next refresh
    waits for, `names` and `targets` (in seconds, DOWNSTREAM resolved) are theirs. `scheduled`:
    whether a scheduler runs, in any process; `session_end` says why the Spark session is gone."""

    nodes: tuple[Node, ...]
    names: Mapping[str, Name]
    targets: Mapping[str, float]
    failures: Mapping[str, Reason]
    obstacles: Mapping[str, Reason]
    waits: Mapping[str, Reason]
    scheduled: bool
    session_end: str | None
    now: Timestamp

    @cached_property
    def by_id(self) -> dict[str, Node]:
        return {node.id: node for node in self.nodes}

    def is_late(self, node: Node) -> bool:
        """Whether its lag is over what is asked of it."""
        target, since = self.targets.get(node.id), node.data_timestamp
        return target is not None and (since is None or self.now.since(since) > target)


def late_cause(dt_id: str, lake: LakeStanding) -> LateCause | None:
    """What holds a dynamic table back, whether or not it is late already; of what only takes its
    time, it is asked once the table is late. None for a table that is on time, or is not there."""
    node = lake.by_id.get(dt_id)
    if node is None:
        return None
    held = _own(node, lake) or _of_upstream(node, lake) or _unasked(node, lake)
    return held or (_delay(node, lake) if lake.is_late(node) else None)


@dataclass(frozen=True)
class _Problem:
    """What a user has to change at a table; `sentence` follows the table's name."""

    code: str
    sentence: str
    remedies: tuple[Remedy, ...]


def _problem(node: Node, lake: LakeStanding) -> _Problem | None:
    name, failure = str(lake.names[node.id]), lake.failures.get(node.id)
    able = [Remedy(_EXPLAIN, name)] if failure is not None else []
    if node.suspended:
        why = f": {node.suspension}" if node.suspension else "."
        return _Problem("SUSPENDED", f"is suspended{why}", (Remedy(_RESUME, name), *able))
    if failure is not None:
        code = "SOURCE_GONE" if failure.code in SOURCE_GONE else "FAILING"
        told = failure.sentence.removeprefix(f"[{failure.code}] ")
        sentence = f"failed in its last refresh, {failure.code}: {told}"
        return _Problem(code, sentence, (*able, Remedy(_REFRESH, name)))
    if (obstacle := lake.obstacles.get(node.id)) is not None and obstacle.code == _RESTS:
        resume = Remedy(RemedyKind.RESUME_WAREHOUSE, node.warehouse)
        return _Problem(_RESTS, f"waits for warehouse {node.warehouse}, which rests.", (resume,))
    if not node.scheduler_enabled:
        return _Problem("NOT_SCHEDULED", "is refreshed manually only.", (Remedy(_REFRESH, name),))
    return None


_RESTS = "WAREHOUSE_SUSPENDED"


def _own(node: Node, lake: LakeStanding) -> LateCause | None:
    found = _problem(node, lake)
    return LateCause(found.code, f"It {found.sentence}", None, found.remedies) if found else None


def _of_upstream(node: Node, lake: LakeStanding) -> LateCause | None:
    """The first thing, from the sources down, that holds back what it reads."""
    for above in upstream_first(_above(node, lake)):
        if (found := _problem(above, lake)) is not None:
            name = lake.names[above.id]
            how = "which it reads" if above.id in node.upstream else "upstream of it"
            kinds = [replace(r, foreign=True) for r in found.remedies if r.kind is not _REFRESH]
            show = Remedy(_SHOW, str(name), foreign=True)
            there = (show, *kinds) if found.code in _FAILED else (*kinds, show)
            return LateCause(
                f"UPSTREAM_{found.code}", f"{name}, {how}, {found.sentence}", name, there
            )
    return None


_FAILED = ("FAILING", "SOURCE_GONE")


def _above(node: Node, lake: LakeStanding) -> Iterator[Node]:
    """All upstream of it, each once."""
    seen, queue = {node.id}, [*node.upstream]
    for dt_id in queue:  # grows as it is read
        if dt_id not in seen and dt_id in lake.by_id:
            seen.add(dt_id)
            queue += lake.by_id[dt_id].upstream
            yield lake.by_id[dt_id]


def _unasked(node: Node, lake: LakeStanding) -> LateCause | None:
    reason = lake.obstacles.get(node.id)
    if reason is None or reason.code != NO_READER:
        return None
    return _cause(reason.code, reason.sentence, str(lake.names[node.id]), _REFRESH)


def _delay(node: Node, lake: LakeStanding) -> LateCause:
    """Why the refresh of a table that nothing holds back has not come in time."""
    name = str(lake.names[node.id])
    if lake.session_end is not None:
        return _cause("SESSION_ENDED", f"The Spark session has ended: {lake.session_end}.", name)
    if not lake.scheduled:
        sentence = "No scheduler runs: nothing is refreshed automatically."
        start = Remedy(RemedyKind.START_SCHEDULER)
        return LateCause("NO_SCHEDULER", sentence, None, (start, Remedy(_REFRESH, name)))
    return _slow(node, lake) or _waiting(node, lake) or _cause("DUE", _DUE, name, _REFRESH)


_DUE = "Its refresh is due, and has not begun yet."


def _slow(node: Node, lake: LakeStanding) -> LateCause | None:
    """A refresh that takes longer than its target allows, by the scheduler's own reckoning."""
    if node.period is None or node.period.attainable:
        return None
    able = _attainable_lag(node, lake)
    took = f"A refresh takes about {node.duration:,.1f} s" if node.duration else "Its refresh"
    sentence = f"{took}, too long for a lag of {lake.targets[node.id]:,g} s."
    name = str(lake.names[node.id])
    raised = (Remedy(RemedyKind.RAISE_LAG, name, able),) if able and node.target_lag else ()
    return LateCause("TOO_SLOW", sentence, None, raised)


def _attainable_lag(node: Node, lake: LakeStanding) -> float | None:
    """The smallest round target with which the scheduler keeps up, in seconds."""
    above = [u.period.seconds for i in node.upstream if (u := lake.by_id.get(i)) and u.period]
    wait, duration = node.wait or 0.0, node.duration or 0.0
    return next(
        (
            float(lag)
            for lag in _LAGS
            if lag > (node.target_lag or 0.0)
            and choose_period(lag, wait, duration, above).attainable
        ),
        None,
    )


def _waiting(node: Node, lake: LakeStanding) -> LateCause | None:
    """For its own refresh that runs, for one upstream, or for what the scheduler says."""
    name = str(lake.names[node.id])
    if node.running is not None:
        return _cause("RUNNING", "Its refresh runs.", name)
    busy = next((n for n in _above(node, lake) if n.running is not None), None)
    if busy is not None:
        root = lake.names[busy.id]
        sentence = f"The refresh of {root}, upstream of it, runs."
        return LateCause("UPSTREAM_RUNNING", sentence, root, (Remedy(_SHOW, str(root)),))
    wait = lake.waits.get(node.id)
    return _cause(wait.code, wait.sentence, name) if wait is not None else None


def _cause(code: str, sentence: str, name: str, *kinds: RemedyKind) -> LateCause:
    return LateCause(code, sentence, None, tuple(Remedy(kind, name) for kind in kinds))


__all__ = ["SOURCE_GONE", "LakeStanding", "late_cause"]
