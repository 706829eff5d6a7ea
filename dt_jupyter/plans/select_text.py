"""One SELECT of a text that is being written: what it reads, keeps and shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dt_jupyter.model import quote


@dataclass(frozen=True)
class Item:
    """A column: Spark's number of it, its name, and its text in this SELECT; `plain` where that
    is a column of what stands in FROM."""

    id: int
    name: str
    text: str
    plain: bool = True


@dataclass(frozen=True)
class SelectText:
    """`source` is the text after FROM ("" for one row), `items` the columns in order.

    `shown`: the items are more than those of the source. `grouped`, `windowed`: what stands above
    cannot be put into the same SELECT. `joined`: the source is of several members.
    `whole` is the text of something that is no SELECT, as a union.
    """

    source: str
    items: tuple[Item, ...]
    where: tuple[str, ...] = ()
    group: str = ""
    order: str = ""
    limit: str = ""
    offset: str = ""
    head: str = ""
    shown: bool = False
    grouped: bool = False
    windowed: bool = False
    joined: bool = False
    whole: str = ""

    @property
    def columns(self) -> Mapping[int, str]:
        """The text of each column by its number."""
        return {i.id: i.text for i in reversed(self.items)}

    @property
    def done(self) -> bool:
        """Whether nothing more can be put into it."""
        return bool(self.order) or self._cut

    @property
    def only_ordered(self) -> bool:
        """Whether nothing but its order ends it: what it shows may still be less."""
        return bool(self.order) and not self._cut

    @property
    def _cut(self) -> bool:
        """Whether it ends by more than an order."""
        return bool(self.limit or self.offset or self.head or self.whole or self.grouped)

    @property
    def bare(self) -> bool:
        """Whether it is only what stands in FROM."""
        return not (self.done or self.where or self.shown or self.windowed)

    def takes(self, read: Iterable[int]) -> bool:
        """Whether expressions over these columns can stand in it."""
        plain = {i.id for i in self.items if i.plain}
        return not self.done and plain.issuperset(read)

    def with_items(self, items: Iterable[Item]) -> SelectText:
        return replace(self, items=tuple(items), shown=True)

    def sql(self, names: tuple[str, ...] | None = None) -> str:
        """The text, its columns under `names`."""
        if self.whole:
            return self.whole
        listed = [_item(i, n) for i, n in zip(self.items, names or self.names, strict=True)]
        clauses = [f"SELECT {self.head}{', '.join(listed)}"]
        if self.source:
            clauses.append(f"FROM {self.source}")
        if self.where:
            clauses.append(f"WHERE {' AND '.join(self.where)}")
        tail = (self.group, self.order, self.limit, self.offset)
        return "\n".join((*clauses, *filter(None, tail)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, each once."""
        return unique_names(i.name for i in self.items)


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names that differ whatever their case: a second `id` is `id_2`."""
    taken: set[str] = set()
    found = []
    for name in names:
        made, number = name or "column", 2
        while made.lower() in taken:
            made, number = f"{name or 'column'}_{number}", number + 1
        taken.add(made.lower())
        found.append(made)
    return tuple(found)


def _item(item: Item, name: str) -> str:
    quoted = quote(name)
    return (
        item.text if item.plain and item.text.endswith(f".{quoted}") else f"{item.text} AS {quoted}"
    )
