"""What Spark's analysed plans are made of: `python -m bench.plans [CORPUS …] [--classes]`.

Of each corpus of texts: how many Spark analyses, the classes of operators and of expressions in
their plans, of how many texts a relation is read, how many of these are kept incrementally, in how
many stages, and by which codes and sentences the others are refused. The examples are those of
Spark's own documentation of its functions.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

import dt_jupyter
from bench.data import TABLES as OF_TPCH, generate
from bench.tpcds import TABLES, columns
from bench.tpch import queries
from dt_jupyter.definition import CallableFunctions, QueryText, read_document_of, read_meaning
from dt_jupyter.ivm import Refused, compile_stages
from dt_jupyter.model import DTError, Name, Source, SourceKind
from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.spark import builtin_functions
from tests.spark.definition.tpcds_texts import tpcds_texts
from tests.spark.refresh import test_forms_of_queries, test_operators
from tests.spark.refresh.test_oracle_random import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Shape = Mapping[str, str]
"""Types by column."""
_EXAMPLE = re.compile(r"> (SELECT\b.*?);\s*$", re.MULTILINE | re.DOTALL)


def examples(spark: Any) -> dict[str, str]:
    """The texts of Spark's documentation of its functions."""
    known = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.expressions()
    found: dict[str, str] = {}
    for name in sorted(builtin_functions(spark)):
        entry = known.get(name)
        texts = _EXAMPLE.findall(entry.get()._1().getExamples()) if entry.isDefined() else ()
        found |= {f"{name} {i}": text for i, text in enumerate(texts)}
    return found


CORPORA: Mapping[str, Callable[[Any], Mapping[str, str]]] = {
    "tpch": lambda _: queries(1),
    "tpcds": lambda _: tpcds_texts(),
    "operators": lambda _: test_operators.QUERIES | test_forms_of_queries.QUERIES,
    "examples": examples,
}


@dataclass
class Survey:
    """Of a corpus: counts of texts, classes with the number of texts that have each, CPU seconds
    of reading."""

    texts: int = 0
    unknown: int = 0
    """Texts that Spark does not analyse."""
    read: int = 0
    incremental: int = 0
    stages: int = 0
    operators: Counter[str] = field(default_factory=Counter)
    expressions: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def survey(spark: SparkSession, texts: Mapping[str, str], tables: Mapping[str, Shape]) -> Survey:
    found, builtins = Survey(), builtin_functions(spark)
    sources = {
        Name("default", t): Source(Name("default", t), SourceKind.DELTA, t, None) for t in tables
    }
    schemas = {t: schema_of(shape) for t, shape in tables.items()}
    for text in texts.values():
        found.texts += 1
        query = QueryText(text, "default", sources, {})
        begun = time.process_time()
        try:
            document = read_document_of(spark, query, schemas)
        except Refused:
            found.unknown += 1
            continue
        count_classes(found, document)
        try:
            meaning = read_meaning(spark, query, CallableFunctions(builtins, frozenset()), schemas)
            found.read += 1
            shown = tuple(f"c{i}" for i in range(len(meaning.relation.columns)))
            found.stages += len(compile_stages(meaning.relation, shown, meaning.types))
            found.incremental += 1
        except Refused as e:
            found.refused[f"{e.reason.code}: {e.reason.sentence[:60]}"] += 1
        except DTError as e:
            found.refused[e.code] += 1
        found.seconds += time.process_time() - begun
    return found


def count_classes(found: Survey, document: str) -> None:
    nodes = list(read_document(document).everything())
    found.operators.update({node.kind for node in nodes if node.is_plan})
    found.expressions.update({node.kind for node in nodes if not node.is_plan})


def schema_of(shape: Shape) -> StructType:
    return StructType.fromDDL(", ".join(f"{name} {kind}" for name, kind in shape.items()))


def shapes_of(spark: SparkSession, corpus: str, data: Path) -> Mapping[str, Shape]:
    """The columns of a corpus' tables, with their types."""
    if corpus == "tpch":
        generate(data, 0.01)
        read = {t: spark.read.parquet(str(data / f"{t}.parquet")) for t in OF_TPCH}
        return {t: dict(rows.dtypes) for t, rows in read.items()}
    if corpus == "tpcds":
        return {t: columns(t) for t in TABLES}
    return {"p": COLUMNS, "q": COLUMNS, "dim": {"k": "STRING", "name": "STRING"}}


def listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.most_common())


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.plans", description=__doc__)
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", default=list(CORPORA))
    parser.add_argument("--data", help="a folder with TPC-H's tables, as other benches have it")
    parser.add_argument("--classes", action="store_true", help="list the classes")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        dt_jupyter.connect(Path(folder) / "lake", scheduler=False, memory="2g") as dt,
    ):
        spark = dt.spark.newSession()
        print(f"Spark {spark.version}")
        print(
            "| corpus | texts | not analysed | operators | expressions | read | incremental |"
            " stages | CPU ms a text |"
        )
        print("|" + " --- |" * 9)
        every = Survey()
        for name in args.corpora:
            shapes = shapes_of(spark, name, Path(args.data or folder) / "sf0.01")
            found = survey(spark, CORPORA[name](spark), shapes)
            done = found.texts - found.unknown
            print(
                f"| {name} | {found.texts} | {found.unknown} | {len(found.operators)} |"
                f" {len(found.expressions)} | {found.read} | {found.incremental} | {found.stages} |"
                f" {1e3 * found.seconds / max(done, 1):.0f} |",
                flush=True,
            )
            for counts in ("operators", "expressions", "refused"):
                getattr(every, counts).update(getattr(found, counts))
        print(f"\nOperators ({len(every.operators)}): {listed(every.operators)}")
        print(f"\nExpressions: {len(every.expressions)}")
        if args.classes:
            print(listed(every.expressions))
        print("\nRefused:")
        for sentence, count in every.refused.most_common():
            print(f"{count:5} {sentence}")


if __name__ == "__main__":
    main()
