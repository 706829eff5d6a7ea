"""Windows of time in Spark's plans, which are arithmetic of microseconds there."""

from __future__ import annotations

from dataclasses import dataclass

from dt_jupyter.ivm import Call, Expr, Literal, Refusal, refuse
from dt_jupyter.plans.plan_tree import SparkNode

_MOST = 60
"""Windows that a row falls into: each is an operator."""


@dataclass(frozen=True)
class TimeWindow:
    """window(time, length, slide, start), in microseconds."""

    time: SparkNode
    length: int
    slide: int
    start: int

    @classmethod
    def of(cls, node: SparkNode) -> TimeWindow | None:
        """That of an expression; None where it is another one."""
        if node.kind != "CreateNamedStruct" or len(node.children) != 4:
            return None
        if node.children[1].kind != "KnownNullable":
            return None
        conversion = next(n for n in node.walk() if n.fields.get("toType") == "long")
        rest = next(n for n in node.walk() if n.kind == "Remainder")
        length = node.children[3].child.child.children[1]
        numbers = (length, rest.children[1], rest.child.children[1])
        return cls(conversion.child, *(int(n.fields["value"]) for n in numbers))

    def call(self, time: Expr) -> Expr:
        """As it is written."""
        plain = self.slide == self.length and not self.start
        return _call(time, [self.length] if plain else [self.length, self.slide, self.start])

    def each(self, time: Expr) -> list[Expr]:
        """The windows that a row falls into, as windows that follow each other: a row is
        in one. Refused where the slide does not divide the length, or there are too many."""
        if self.length % self.slide:
            raise refuse(
                Refusal.TIME_WINDOW, what="window() with a slide that does not divide its length"
            )
        if self.length // self.slide > _MOST:
            raise refuse(Refusal.TIME_WINDOW, what=f"window() of more than {_MOST} slides")
        starts = range(self.start, self.start + self.length, self.slide)
        return [_call(time, [self.length, self.length, start]) for start in starts]


def _call(time: Expr, lengths: list[int]) -> Expr:
    return Call("window", (time, *(Literal(f"'{n} microseconds'") for n in lengths)))
