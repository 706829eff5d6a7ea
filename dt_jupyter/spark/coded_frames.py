"""Frames whose actions raise errors in the words of who made them, not in Spark's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ACTIONS = (
    "collect", "count", "first", "foreach", "foreachPartition", "head", "isEmpty", "show", "tail",
    "take", "toArrow", "toLocalIterator", "toPandas",
)  # fmt: skip
_CODED = "CodedFrame"
FailureWords = Callable[[Exception], Exception]


def code_frame(frame: DataFrame, words: FailureWords) -> DataFrame:
    """The same frame, whose own actions raise what `words` makes of a failure. Frames that are
    derived from it are Spark's."""
    coded: Any = frame
    plain: Any = type(frame)
    coded.__class__ = plain if plain.__name__ == _CODED else _coded_class(plain)
    coded._words = words
    return frame


def failure_in(frame: DataFrame, failure: Exception) -> Exception | None:
    """What the actions of a frame would raise of a failure; None for a frame of Spark's own."""
    words: FailureWords | None = getattr(frame, "_words", None)
    return words(failure) if words is not None else None


@lru_cache(maxsize=4)
def _coded_class(plain: Any) -> Any:
    acting = {name: _acting(getattr(plain, name)) for name in _ACTIONS}
    return type(_CODED, (plain,), acting)


def _acting(action: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(action)
    def act(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            found = action(self, *args, **kwargs)
            return _each(self, found) if action.__name__ == "toLocalIterator" else found
        except Exception as e:
            failure = self._words(e)
        raise failure  # outside: an error that hides values has no context

    return act


def _each(frame: Any, rows: Iterator[Any]) -> Iterator[Any]:
    """Rows as they come, while their jobs run."""
    try:
        yield from rows
        return
    except Exception as e:
        failure = frame._words(e)
    raise failure


__all__ = ["code_frame", "failure_in"]
