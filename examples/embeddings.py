"""Vectors of texts, by a small model in plain Python: computed again for changed rows only.

    python examples/embeddings.py [LAKE]

`main` runs on any engine, and says how often the model was called.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WIDTH = 32


def model(calls: str) -> Any:
    """The model, which adds a letter to the file `calls` whenever it is called."""

    def embed(text: str | None) -> list[float] | None:
        import hashlib
        import math

        with open(calls, "a") as log:
            log.write("x")
        if text is None:
            return None
        found = [0.0] * WIDTH
        for word in text.lower().split():
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            found[digest[0] % WIDTH] += 1.0 if digest[1] % 2 else -1.0
        length = math.sqrt(sum(x * x for x in found)) or 1.0
        return [x / length for x in found]

    return embed


STEPS = (
    ("INSERT INTO note VALUES (4, 'boats on the lake', 0), (5, 'the first lake', 0)", 2),
    ("INSERT INTO note VALUES (6, 'boats on the lake', 0)", 0),
    ("UPDATE note SET seen = seen + 1 WHERE id < 4", 0),
    ("UPDATE note SET body = 'a quiet lake' WHERE id = 2", 1),
    ("DELETE FROM note WHERE id IN (1, 5)", 0),
)
"""A change, and how many texts it brings that were not there before."""


def main(dt: Any, calls: Path) -> Iterator[tuple[str, int, int]]:
    """Each step, the calls that it needs, and those that were made."""
    dt.register_udf("embed", model(str(calls)), returns="array<double>", immutable=True)
    dt.sql("CREATE TABLE note (id INT, body STRING, seen INT) USING delta")
    dt.sql("INSERT INTO note VALUES (1, 'boats', 0), (2, 'a lake', 0), (3, NULL, 0)")
    dt.sql("CREATE DYNAMIC TABLE embedding AS SELECT id, seen, embed(body) AS vector FROM note")
    yield "CREATE DYNAMIC TABLE embedding", 3, made(calls)
    for statement, needed in STEPS:
        dt.sql(statement)
        dt.refresh("embedding")
        yield statement, needed, made(calls)


def made(calls: Path) -> int:
    """How many calls there were since it was asked last."""
    found = len(calls.read_text()) if calls.exists() else 0
    calls.unlink(missing_ok=True)
    return found


if __name__ == "__main__":
    import dt_jupyter

    with tempfile.TemporaryDirectory() as folder:
        lake = sys.argv[1] if len(sys.argv) > 1 else f"{folder}/lake"
        with dt_jupyter.connect(lake, scheduler=False) as engine:
            for step, needed, counted in main(engine, Path(folder) / "calls"):
                print(f"{counted} of {needed} calls: {step}")
                assert counted == needed
