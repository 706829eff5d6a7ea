"""Results of functions of texts are cached by the bytes that they take."""

from __future__ import annotations

import pytest

from dt_jupyter.caches import ENTRY_BYTES, CacheMemory, cache_memory, text_cache


def test_results_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: False)
    memory, called = CacheMemory(3 * (ENTRY_BYTES + 10 * 10)), []

    @text_cache("tests", 10, memory=memory)
    def double(text: str, times: int = 2) -> str | None:
        called.append(text)
        return text * times or None

    texts = [f"text {n:5}" for n in range(5)]
    for text in (*texts, texts[4], texts[3], texts[2]):
        assert double(text) == text * 2
    assert called == texts
    assert double(texts[0], 3) == texts[0] * 3
    assert double(texts[0], times=3) == texts[0] * 3
    assert memory.bytes <= memory.most_bytes
    called.clear()
    assert (double(""), double("")) == (None, None)
    assert called == [""]  # nothing is a result, too


def test_an_error_is_not_cached() -> None:
    called = []

    @text_cache("errors", 1, memory=CacheMemory(1_000))
    def fail(text: str) -> None:
        called.append(text)
        raise ValueError(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="wrong"):
            fail("wrong")
    assert called == ["wrong", "wrong"]
