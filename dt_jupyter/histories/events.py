"""What transactions did, in the order in which it happened, and the order of versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from dt_jupyter.model import DTError, error


class Version(NamedTuple):
    """A state of an object, such as a row or a table. What nothing wrote or derived is the state
    before the history."""

    object: str
    number: str

    def __str__(self) -> str:
        return f"{self.object}{self.number}"


@dataclass(frozen=True, slots=True)
class BeginEvent:
    transaction: str


@dataclass(frozen=True, slots=True)
class CommitEvent:
    transaction: str


@dataclass(frozen=True, slots=True)
class AbortEvent:
    transaction: str


@dataclass(frozen=True, slots=True)
class ReadEvent:
    transaction: str
    version: Version


@dataclass(frozen=True, slots=True)
class WriteEvent:
    """Of what a transaction writes several times the last is its final version."""

    transaction: str
    version: Version


@dataclass(frozen=True, slots=True)
class DeriveEvent:
    """A version computed from others alone, as a refresh does."""

    transaction: str
    version: Version
    sources: tuple[Version, ...]


HistoryEvent = BeginEvent | CommitEvent | AbortEvent | ReadEvent | WriteEvent | DeriveEvent
_ENDS = CommitEvent | AbortEvent


@dataclass(frozen=True)
class TransactionHistory:
    """Events, first to last. `order` has versions of objects, first to last, for those that were
    not committed in the order of their writers' commits.

    Where no transaction ends, all have committed, each at its last event; else one without an end
    has aborted. If the beginning of one is not recorded, its snapshot may be of any time before its
    first event.

    Raises DT-1003 for a version that is made twice, or derived from one that is not there yet, for
    a transaction that continues after its end, and for an order that lacks versions or has others.
    """

    events: tuple[HistoryEvent, ...]
    order: Mapping[str, tuple[Version, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ended: set[str] = set()
        made: set[Version] = set()
        for event in self.events:
            if event.transaction in ended:
                raise _invalid(f"T{event.transaction} continues after its end")
            if isinstance(event, _ENDS):
                ended.add(event.transaction)
            elif isinstance(event, WriteEvent | DeriveEvent):
                if event.version in made:
                    raise _invalid(f"{event.version} is made twice")
                made.add(event.version)
            if isinstance(event, DeriveEvent):
                self._require_made(event, made)
        for name, versions in self.order.items():
            known = sorted(v for v in self.final if v.object == name)
            if sorted(v for v in versions if v in self.makers) != known:
                raise _invalid(f"the order of {name} is not one of its committed versions")

    def _require_made(self, event: DeriveEvent, made: set[Version]) -> None:
        """Sources come first: then nothing derives from itself."""
        late = next((s for s in event.sources if s in self.makers and s not in made), None)
        if event.version in event.sources or late is not None:
            late = event.version if late is None else late
            raise _invalid(f"{event.version} is derived from {late}, which is not there yet")

    @cached_property
    def makers(self) -> Mapping[Version, WriteEvent | DeriveEvent]:
        return {e.version: e for e in self.events if isinstance(e, WriteEvent | DeriveEvent)}

    @cached_property
    def first(self) -> Mapping[str, int]:
        """The place of each transaction's first event."""
        return {e.transaction: i for i, e in reversed([*enumerate(self.events)])}

    @cached_property
    def begun(self) -> Mapping[str, int]:
        """The place at which each transaction began, where that is recorded."""
        return {e.transaction: i for i, e in enumerate(self.events) if isinstance(e, BeginEvent)}

    @cached_property
    def committed(self) -> Mapping[str, int]:
        """The place of the end of each transaction that committed."""
        if any(isinstance(e, _ENDS) for e in self.events):
            return {
                e.transaction: i for i, e in enumerate(self.events) if isinstance(e, CommitEvent)
            }
        return {e.transaction: i for i, e in enumerate(self.events)}

    @cached_property
    def last(self) -> Mapping[tuple[str, str], Version]:
        """The last version that each transaction made of each object."""
        return {(m.transaction, v.object): v for v, m in self.makers.items()}

    @cached_property
    def final(self) -> frozenset[Version]:
        """The versions that transactions left when they committed."""
        return frozenset(v for (writer, _), v in self.last.items() if writer in self.committed)

    @cached_property
    def versions(self) -> Mapping[str, tuple[Version, ...]]:
        """The final versions of each object, first to last."""
        found: dict[str, list[Version]] = {}
        committed, makers = self.committed, self.makers
        for version in sorted(self.final, key=lambda v: committed[makers[v].transaction]):
            found.setdefault(version.object, []).append(version)
        return {n: self.order.get(n, tuple(v)) for n, v in found.items()}


def _invalid(problem: str) -> DTError:
    return error("DT-1003", option="history", value="…", problem=problem, hint=_HINT)


_HINT = "Write w1(x1) c1 r2(x1) d3(y3|x1) a2 [x1 << x2]: transaction, then versions."
_VERSION = re.compile(r"([A-Za-z_][\w$]*?)(\d+(?:\.\d+)?)")
_EVENT = re.compile(
    r"(?P<end>[bca])(?P<of>\d+)(?!\w)"
    r"|(?P<kind>[rwd])(?P<by>\d+)\((?P<version>[^()|]*)(?:\|(?P<sources>[^()]*))?\)"
    r"|\[(?P<order>[^\]]*)\]"
    r"|(?P<space>[\s,;]+)"
)
_ENDINGS: Mapping[str, Callable[[str], HistoryEvent]] = {
    "b": BeginEvent,
    "c": CommitEvent,
    "a": AbortEvent,
}


def parse_history(text: str) -> TransactionHistory:
    """The notation of the papers: `w1(x1) c1 r2(x1) d3(y3|x1) a2 [x1 << x2]`, where `x1.2` is
    the second version that a transaction wrote. DT-1003."""
    events: list[HistoryEvent] = []
    order: dict[str, tuple[Version, ...]] = {}
    place = 0
    while place < len(text):
        match = _EVENT.match(text, place)
        if match is None:
            raise _invalid(f"it cannot be read from {text[place : place + 20]!r} on")
        place = match.end()
        if match["end"]:
            events.append(_ENDINGS[match["end"]](match["of"]))
        elif match["kind"]:
            events.append(_event(match))
        elif match["order"]:
            versions = tuple(map(_version, match["order"].split("<<")))
            order[versions[0].object] = versions
    return TransactionHistory(tuple(events), order)


def _event(match: re.Match[str]) -> HistoryEvent:
    version, sources = _version(match["version"]), match["sources"]
    if (match["kind"] == "d") != (sources is not None):
        raise _invalid(f"{match[0]} has {'no sources' if sources is None else 'sources'}")
    if sources is not None:
        found = tuple(map(_version, sources.split(","))) if sources.strip() else ()
        return DeriveEvent(match["by"], version, found)
    return (ReadEvent if match["kind"] == "r" else WriteEvent)(match["by"], version)


def _version(text: str) -> Version:
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        raise _invalid(f"{text.strip()!r} is not a version")
    return Version(match[1], match[2])


def history_of(given: TransactionHistory | str | Iterable[HistoryEvent]) -> TransactionHistory:
    """What a caller gives for a history. DT-1003."""
    if isinstance(given, TransactionHistory):
        return given
    if isinstance(given, str):
        return parse_history(given)
    try:
        events = tuple(given)
    except TypeError:
        raise _invalid(f"{given!r:.40} is not a history") from None
    for each in events:
        if not isinstance(each, HistoryEvent):
            raise _invalid(f"{each!r:.40} is not an event")
    return TransactionHistory(events)
