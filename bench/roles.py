"""What a role adds to a statement: the same text in turns with a role and without.

    python -m bench.roles [--times N]

1,000 tables have grants and 50 roles, each with the one before, have them. Medians in ms.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from dt_jupyter.engine import Engine
from dt_jupyter.model import Name, Named, Right, Securable

MADE = """
CREATE TABLE t (id INT, word STRING); CREATE TABLE u (id INT);
CREATE VIEW v AS SELECT * FROM t;
GRANT SELECT ON TABLE t TO ROLE r0; GRANT SELECT ON VIEW v TO ROLE r0;
GRANT SELECT ON TABLE u TO ROLE r0; GRANT INSERT ON TABLE u TO ROLE r0
"""
TEXTS = {
    "a table": "SELECT * FROM t",
    "a view, a join, two subqueries": (
        "SELECT id, (SELECT max(word) FROM v) AS w FROM u JOIN t USING (id)"
        " WHERE EXISTS (SELECT 1 FROM t WHERE word LIKE 'h%')"
    ),
    "INSERT": "INSERT INTO u VALUES (1)",
    "SHOW TABLES": "SHOW TABLES",
}


def granted(dt: Engine) -> None:
    catalog = dt.context.catalog
    for i in range(50):
        catalog.create_role(f"r{i}")
        if i:
            on = Securable.of(Named.ROLE, f"r{i - 1}")
            catalog.grant(f"r{i}", [Right.USAGE], on, "admin")
    for i in range(1_000):
        on = Securable.of(Named.TABLE, Name("default", f"t{i}"))
        catalog.grant(f"r{i % 50}", [Right.SELECT], on, "admin")


def timed(dt: Engine, role: str, text: str) -> float:
    dt.context.state.role = role
    begun = time.perf_counter()
    dt.sql(text)
    return (time.perf_counter() - begun) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.roles", description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    count = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        dt = Engine.connect(Path(folder) / "lake", scheduler=False)
        granted(dt)
        dt.sql(MADE)
        print(f"the first text of all: {timed(dt, 'r49', 'SELECT id FROM v'):.0f} ms")
        print("| statement | without a role | more with one |\n| --- | --- | --- |")
        for said, text in TEXTS.items():
            turns = [(timed(dt, "admin", text), timed(dt, "r49", text)) for _ in range(count + 20)]
            more = statistics.median(bound - free for free, bound in turns[20:])
            free = statistics.median(free for free, _ in turns[20:])
            print(f"| {said} | {free:.1f} | {more:+.2f} |")
        dt.close()


if __name__ == "__main__":
    main()
