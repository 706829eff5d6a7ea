"""What was computed of texts, by the bytes that it takes and not by the number of texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from dt_jupyter.caches.cache_memory import Cache, CacheMemory

TEXT_MEMORY = CacheMemory(16 << 20)
"""For the functions of this process that engines share."""
_P = ParamSpec("_P")
_T = TypeVar("_T")


def text_cache(
    kind: str,
    bytes_per_character: int,
    most_bytes: int = 4 << 20,
    memory: CacheMemory = TEXT_MEMORY,
) -> Callable[
    [Callable[Concatenate[str, _P], _T]],
    Callable[Concatenate[str, _P], _T],
]:
    """Caches a function of a text, and of more that has a hash, in `most_bytes`. The size of a
    result, with its text, is given in bytes for a character: measure it."""

    def decorate(
        call: Callable[Concatenate[str, _P], _T],
    ) -> Callable[Concatenate[str, _P], _T]:
        cache: Cache[tuple[object, ...], tuple[_T]] = Cache(memory, kind, most_bytes)

        @wraps(call)
        def cached(text: str, /, *more: _P.args, **named: _P.kwargs) -> _T:
            key = (text, *more, *named.items())
            found = cache.get(key)
            if found is None:
                found = (call(text, *more, **named),)
                cache.put(key, found, bytes_per_character * len(text))
            return found[0]

        return cached

    return decorate
