"""A process that makes commits to a table, to be killed or raced: path sequence attempt [ids…].

Prints what came of it. With `--barrier FILE` it waits until the file is there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dt_jupyter.lake import Append, CommitRequest, Merge, commit
from tests.unit.delta_logs import rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("sequence", type=int)
    parser.add_argument("attempt")
    parser.add_argument("ids", type=int, nargs="+")
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--barrier", type=Path)
    asked = parser.parse_args()
    if asked.barrier:
        print("ready", flush=True)
        while not asked.barrier.exists():
            pass
    request = CommitRequest(asked.path, "dt:1", asked.sequence, asked.attempt)
    ids, op = asked.ids, "U" * len(asked.ids)
    change = Merge(["id"], rows(*ids, op=op, name="u")) if asked.merge else Append(rows(*ids))
    print(type(commit(request, change)).__name__, flush=True)


if __name__ == "__main__":
    main()
