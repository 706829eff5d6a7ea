"""Rows that are joined and filtered, as values in which neither has an order: Spark joins tables in
the order that it finds best, and tests rows where it comes by what they are tested for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Form = str
"""The digest of an operator or an expression with all that is below it."""


def digest(*parts: Any) -> Form:
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()


@dataclass(frozen=True)
class _Block:
    members: tuple[Form, ...]
    tests: frozenset[Form] = frozenset()

    def rows(self) -> Form:
        if len(self.members) == 1 and not self.tests:
            return self.members[0]
        return digest("Block", sorted(self.members), sorted(self.tests))


@dataclass
class JoinBlocks:
    """What rows consist of, by their form; and which columns are those of the other side wherever
    that has any."""

    blocks: dict[Form, _Block] = field(default_factory=dict)
    matched: set[tuple[Form, Form]] = field(default_factory=set)

    def keep(self, rows: Form, tests: Iterable[Form]) -> Form:
        """The rows that pass the tests. A semi-join is a test of its left side."""
        found = self._of(rows)
        return self._made(_Block(found.members, found.tests.union(tests)))

    def join(self, left: Form, right: Form, tests: Iterable[Form]) -> Form:
        """The pairs of rows that pass the tests."""
        one, two = self._of(left), self._of(right)
        members = (*one.members, *two.members)
        return self._made(_Block(members, one.tests.union(two.tests, tests)))

    def _of(self, rows: Form) -> _Block:
        return self.blocks.get(rows, _Block((rows,)))

    def _made(self, block: _Block) -> Form:
        rows = block.rows()
        self.blocks[rows] = block
        return rows
