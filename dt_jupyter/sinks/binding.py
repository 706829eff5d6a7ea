"""What a sink delivers and to which part of the keys: values that both sides agree on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

from dt_jupyter.model import did_you_mean, error
from dt_jupyter.sinks.reductions import ReduceRule, Strategy, require_applicable

if TYPE_CHECKING:
    import pyarrow as pa

LAST_HASH = 0xFFFF_FFFF


@dataclass(frozen=True)
class SinkColumn:
    """A column by its name and Arrow type; a `collated` string has another equality than the
    store's."""

    name: str
    type: pa.DataType
    collated: bool = False


@dataclass(frozen=True)
class Binding:
    """A target of the store and the rows that go there.

    `columns` are all columns, those of `key` among them; `rules` the reductions of the others,
    the last write wins where there is none. With `check_drift` a mirror's rows are loaded and
    compared with what the source says they were.

    Raises DT-6136 for a key that cannot be one, DT-6137 for a rule that its column cannot have.
    """

    target: str
    columns: tuple[SinkColumn, ...]
    key: tuple[str, ...]
    rules: Mapping[str, ReduceRule] = field(default_factory=dict)
    delta_updates: bool = False
    check_drift: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", MappingProxyType(dict(self.rules)))
        types = {c.name: c.type for c in self.columns}
        if not self.key:
            raise _no_key("", "it has no columns")
        for name in self.key:
            _require_key(name, types, self)
        for name, rule in self.rules.items():
            if name not in types or name in self.key:
                why = "it is part of the key" if name in types else "there is no such column"
                raise error("DT-6137", reduction=rule.strategy, column=name, problem=why)
            require_applicable(name, rule, types[name])

    @property
    def mirrors(self) -> bool:
        """Whether a key is one row of the source: the store needs no Load to follow it."""
        return not self.rules

    @property
    def schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([(c.name, c.type) for c in self.columns])

    @property
    def key_schema(self) -> pa.Schema:
        import pyarrow as pa

        types = {c.name: c.type for c in self.columns}
        return pa.schema([(name, types[name]) for name in self.key])

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are not of the key."""
        return tuple(c.name for c in self.columns if c.name not in self.key)

    def rule(self, column: str) -> ReduceRule:
        return self.rules.get(column, ReduceRule(Strategy.LAST_WRITE_WINS))


def _require_key(name: str, types: Mapping[str, pa.DataType], binding: Binding) -> None:
    import pyarrow.types as t

    if name not in types:
        raise _no_key(name, f"there is no such column. {did_you_mean(name, list(types))}".strip())
    if binding.key.count(name) > 1:
        raise _no_key(name, "it is named twice")
    kind = types[name]
    if any(c.name == name and c.collated for c in binding.columns):
        raise _no_key(name, "a collated string is equal to other texts in Spark alone")
    if t.is_floating(kind) or t.is_nested(kind) or t.is_null(kind):
        raise _no_key(name, f"values of type {kind} have no one equality in all stores")


def _no_key(name: str, problem: str) -> Exception:
    return error("DT-6136", column=name, problem=problem)


@dataclass(frozen=True, order=True)
class HashRange:
    """Hashes of keys, both ends inclusive: the part of a sink that one task delivers."""

    begin: int = 0
    end: int = LAST_HASH

    def __post_init__(self) -> None:
        if not 0 <= self.begin <= self.end <= LAST_HASH:
            raise ValueError(f"not a range of hashes: {self.begin}..{self.end}")

    @property
    def whole(self) -> bool:
        return (self.begin, self.end) == (0, LAST_HASH)

    def overlaps(self, other: HashRange) -> bool:
        return self.begin <= other.end and other.begin <= self.end

    def __str__(self) -> str:
        return f"{self.begin:08x}-{self.end:08x}"

    def __contains__(self, other: HashRange) -> bool:
        return self.begin <= other.begin and other.end <= self.end

    @classmethod
    def parse_first(cls, text: str) -> HashRange:
        """What `str` gave, at the beginning of a text whose parts are divided by `-`."""
        return cls.parse("-".join(text.split("-")[:2]))

    @classmethod
    def parse(cls, text: str) -> HashRange:
        """What `str` gave."""
        begin, end = text.split("-")
        return cls(int(begin, 16), int(end, 16))


def hash_ranges(count: int) -> tuple[HashRange, ...]:
    """The whole in `count` parts that differ by one hash at most."""
    edges = [(LAST_HASH + 1) * i // count for i in range(count + 1)]
    return tuple(HashRange(a, b - 1) for a, b in pairwise(edges))


@dataclass(frozen=True)
class Task:
    """One split of a sink: `sink` is its id."""

    sink: str
    range: HashRange = field(default_factory=HashRange)

    def __str__(self) -> str:
        return self.sink if self.range.whole else f"{self.sink}[{self.range}]"
