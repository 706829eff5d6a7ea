"""What Spark's analysed plans are made of: `python -m bench.plans [CORPUS …] [--classes]`.

Of each corpus of texts: how many Spark analyses, the classes of operators and of expressions in
their plans, of how many texts a query can be written from the plan (so each class in it has a rule
in `dt_jupyter.plans`), and what subqueries are left after Spark's three subquery rules alone. The
examples are those of Spark's own documentation of its functions.
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

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import dt_jupyter
from bench.data import TABLES as OF_TPCH, generate
from bench.tpcds import TABLES, columns
from bench.tpch import queries
from dt_jupyter.model import DTError
from dt_jupyter.plans import NoForm, write_frame_query
from dt_jupyter.plans.plan_document import read_java_plan
from dt_jupyter.spark import builtin_functions
from tests.spark.definition.tpcds_texts import tpcds_texts
from tests.spark.refresh import test_forms_of_queries, test_operators
from tests.spark.refresh.test_oracle_random import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EXAMPLE = re.compile(r"> (SELECT\b.*?);\s*$", re.MULTILINE | re.DOTALL)
_RULES = (
    "catalyst.optimizer.PullupCorrelatedPredicates",
    "catalyst.optimizer.RewritePredicateSubquery",
    "catalyst.optimizer.RewriteCorrelatedScalarSubquery",
)
_SUBQUERIES = frozenset({"ScalarSubquery", "ListQuery", "Exists", "InSubquery", "LateralSubquery"})


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
    """Of a corpus: counts of texts, classes with the number of texts that have each, seconds."""

    texts: int = 0
    refused: int = 0
    written: int = 0
    operators: Counter[str] = field(default_factory=Counter)
    expressions: Counter[str] = field(default_factory=Counter)
    without: Counter[str] = field(default_factory=Counter)
    """What a plan was not written for."""
    left: Counter[str] = field(default_factory=Counter)
    """Subqueries, or failures, after the rules."""
    seconds: float = 0.0


def survey(spark: SparkSession, texts: Mapping[str, str]) -> Survey:
    found, builtins = Survey(), builtin_functions(spark)
    for text in texts.values():
        found.texts += 1
        try:
            frame = spark.sql(text)
            plan = analysed(frame)
        except (PySparkException, Py4JJavaError):
            found.refused += 1
            continue
        nodes = list(read_java_plan(spark, plan).everything())
        found.operators.update({node.kind for node in nodes if node.is_plan})
        found.expressions.update({node.kind for node in nodes if not node.is_plan})
        if any(node.kind in _SUBQUERIES for node in nodes):
            found.left.update(left_after_rules(spark, plan))
        begun = time.process_time()
        try:
            write_frame_query(spark, frame, builtins)
            found.written += 1
        except (NoForm, DTError, PySparkException, Py4JJavaError, RecursionError) as e:
            found.without[str(e).splitlines()[0][:70]] += 1
        found.seconds += time.process_time() - begun
    return found


def analysed(frame: DataFrame) -> Any:
    session: Any = frame
    return session._jdf.queryExecution().analyzed()


def left_after_rules(spark: Any, plan: Any) -> set[str]:
    jvm = spark._jvm
    try:
        for rule in _RULES:
            kind = jvm.java.lang.Class.forName(f"org.apache.spark.sql.{rule}$")
            plan = kind.getField("MODULE$").get(None).apply(plan)
        kinds = {node.kind for node in read_java_plan(spark, plan).everything()}
    except Py4JJavaError as e:
        return {str(e.java_exception).splitlines()[0][:70]}
    return kinds & _SUBQUERIES or {"none"}


def make_tables(spark: SparkSession, corpus: str, data: Path) -> None:
    """Empty ones, in a schema of the corpus: two have a customer."""
    if corpus == "tpch":
        generate(data, 0.01)
        read = {t: spark.read.parquet(str(data / f"{t}.parquet")) for t in OF_TPCH}
        shapes = {t: rows.schema.toDDL() for t, rows in read.items()}
    elif corpus == "tpcds":
        shapes = {t: _ddl(columns(t)) for t in TABLES}
    else:
        shapes = {"p": _ddl(COLUMNS), "q": _ddl(COLUMNS), "dim": "k STRING, name STRING"}
    spark.sql(f"CREATE DATABASE {corpus}_")
    spark.catalog.setCurrentDatabase(f"{corpus}_")
    for name, shape in shapes.items():
        spark.sql(f"CREATE TABLE {name} ({shape}) USING parquet")


def _ddl(types: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in types.items())


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
        print("| corpus | texts | refused | operators | expressions | written | CPU ms a text |")
        print("|" + " --- |" * 7)
        every = Survey()
        for name in args.corpora:
            make_tables(spark, name, Path(args.data or folder) / "sf0.01")
            found = survey(spark, CORPORA[name](spark))
            done = found.texts - found.refused
            print(
                f"| {name} | {found.texts} | {found.refused} | {len(found.operators)} |"
                f" {len(found.expressions)} | {found.written} of {done} |"
                f" {1e3 * found.seconds / max(done, 1):.0f} |",
                flush=True,
            )
            for counts in ("operators", "expressions", "without", "left"):
                getattr(every, counts).update(getattr(found, counts))
        print(f"\nOperators ({len(every.operators)}): {listed(every.operators)}")
        print(f"\nExpressions: {len(every.expressions)}")
        if args.classes:
            print(listed(every.expressions))
        print(f"\nNot written: {listed(every.without)}")
        print(f"\nSubqueries after the rules: {listed(every.left)}")


if __name__ == "__main__":
    main()
