"""A plan of Spark's: operators and expressions with their fields, each once however often it is
reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dt_jupyter.ivm import ExpressionFacts, Refused
from dt_jupyter.model import Span
from dt_jupyter.plans.no_form import NoForm


@dataclass(frozen=True)
class TextSpan:
    """Where something stands in the text of a query, or of the view `view`: line from 1, column
    from 0, the first and the last character from 0."""

    line: int
    column: int
    start: int
    stop: int
    view: str | None = None


@dataclass(frozen=True)
class Unknown:
    """A value of a field that a document does not say: its class, and what Java writes of it."""

    kind: str
    text: str = ""


@dataclass(frozen=True, eq=False)
class SparkNode:
    """An operator or an expression: the name of the class that Spark has of it, its fields by name,
    and its children in order.

    A field holds plain values, nodes, types as Spark writes them in JSON, lists and dicts of these:
    `{"class": name, …}` is one of several words, or a structure; `{"id": number}` names a column.
    `type`, `nullable` and `deterministic` are None for operators, and where an expression is no
    value; `type_text` is the type as `type_text` has it.
    """

    kind: str
    fields: dict[str, Any]
    children: tuple[SparkNode, ...]
    package: str = ""
    is_plan: bool = False
    type: Any = None
    nullable: bool | None = None
    deterministic: bool | None = None
    origin: TextSpan | None = None
    type_text: str = ""

    @property
    def child(self) -> SparkNode:
        """The first child. NoForm where there is none."""
        if not self.children:
            raise NoForm(f"what is below {self.kind}")
        return self.children[0]

    @property
    def id(self) -> int:
        """Of what names a column: the number by which Spark tells it from all others. NoForm where
        there is none."""
        return int(self._of_column("exprId")["id"])

    @property
    def name(self) -> str:
        return str(self._of_column("name"))

    def _of_column(self, field: str) -> Any:
        """What a column says of itself; of a column of the query around, what that one says."""
        inner = self.tree("e") if self.kind == "OuterReference" else self
        if inner is None or field not in inner.fields:
            raise NoForm(f"a column that is {self.kind}")
        return inner.fields[field]

    @property
    def unknown(self) -> tuple[str, ...]:
        """The fields that hold something Unknown."""
        return tuple(name for name, value in self.fields.items() if _is_unknown(value))

    def tree(self, field: str) -> SparkNode | None:
        """The expression or plan in a field; None where it is empty."""
        value = self.fields.get(field)
        return value if isinstance(value, SparkNode) else None

    def trees(self, field: str) -> tuple[SparkNode, ...]:
        """The expressions in a field that holds several."""
        return tuple(self.fields[field] or ())

    def word(self, field: str) -> str:
        """What a field says that is one of a few, as the kind of a join."""
        value = self.fields.get(field)
        return str(value.get("class", "")) if isinstance(value, dict) else ""

    @property
    def eval_mode(self) -> str:
        """What an expression does where it has no value: ANSI (it fails), TRY or LEGACY (NULL); ""
        of one that has no such mode."""
        context = self.fields.get("evalContext", self.fields)
        mode = context.get("evalMode") if isinstance(context, dict) else None
        return str(mode["class"]) if mode else ""

    def walk(self) -> Iterator[SparkNode]:
        """This and all that is below it by children, each once; not what stands in other fields."""
        return self.everything(lambda node: False)

    def everything(
        self, reads_fields: Callable[[SparkNode], bool] = lambda node: True
    ) -> Iterator[SparkNode]:
        """This and all that is below it by children or in any field, each once; only the children
        of a node whose fields are not to be read."""
        waiting, seen = [self], set[int]()
        while waiting:
            node = waiting.pop()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                inner = nodes_in(node.fields) if reads_fields(node) else ()
                waiting += reversed((*node.children, *inner))


def find_origin(node: SparkNode) -> Span | None:
    """Where an expression stands in the text of the query itself; None where it does not."""
    origin = node.origin
    return Span(origin.start, origin.stop + 1) if origin and origin.view is None else None


@contextmanager
def place_refusals(node: SparkNode) -> Iterator[None]:
    """A refusal within is one of this expression, unless it is one of a part of it."""
    try:
        yield
    except Refused as e:
        e.place = e.place or find_origin(node)
        raise


def read_facts(node: SparkNode) -> ExpressionFacts | None:
    """What a plan says of an expression; None of a node without a value, as of a relation."""
    if not node.type_text:
        return None
    determined = node.deterministic is not False
    return ExpressionFacts(
        node.type_text, node.nullable is not False, determined, find_origin(node)
    )


def nodes_in(value: Any) -> Iterator[SparkNode]:
    """The nodes that a value of a field consists of, not what is below them."""
    if isinstance(value, SparkNode):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from nodes_in(part)


def _is_unknown(value: Any) -> bool:
    if isinstance(value, list | dict):
        return any(map(_is_unknown, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Unknown)
