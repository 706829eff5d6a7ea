"""A process that makes commits to a table, to be killed or raced: path sequence attempt [ids…].

Prints what came of it. With `--barrier FILE` it waits until the file is there; with `--spark` its
rows are Spark's, whose folder of scratch that is.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from dt_jupyter.lake import Append, CommitRequest, Merge, commit
from dt_jupyter.spark import local_session
from tests.unit.delta_logs import rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("sequence", type=int)
    parser.add_argument("attempt")
    parser.add_argument("ids", type=int, nargs="+")
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--barrier", type=Path)
    parser.add_argument("--spark", type=Path)
    asked = parser.parse_args()
    if asked.barrier:
        print("ready", flush=True)
        while not asked.barrier.exists():
            pass
    request = CommitRequest(asked.path, "dt:1", asked.sequence, asked.attempt)
    ids, op = asked.ids, "U" * len(asked.ids)
    change = Merge(["id"], rows(*ids, op=op, name="u")) if asked.merge else Append(rows(*ids))
    if asked.spark is None:
        print(type(commit(request, change)).__name__, flush=True)
        return
    spark = local_session(asked.spark, cores=1, memory="1g")
    change = replace(change, rows=spark.createDataFrame(change.rows.to_pandas()))
    print(type(commit(request, change, spark=spark, writer="spark-files")).__name__, flush=True)


if __name__ == "__main__":
    main()
