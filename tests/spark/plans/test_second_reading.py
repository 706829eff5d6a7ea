"""The second opinion: each text of the corpus read by Spark, its plan written as text, and that
text bound to the algebra, has the rows of the text as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

from dt_jupyter.ivm import SUPPORTED, Refused, settles
from dt_jupyter.model import DTError, quote
from dt_jupyter.plans import NoForm, write_frame_query
from dt_jupyter.spark import builtin_functions
from dt_jupyter.sql.binding.binder import Table, View, bind
from dt_jupyter.sql.emit.render import Renderer
from tests.spark.engine_lab import quick

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]
CORPUS = (Path(__file__).parents[2] / "unit" / "queries.sql").read_text("utf-8").splitlines()
TABLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "t": ("id INT, k STRING, v INT, f INT", (
        "1, 'a', 1, 2", "2, 'a', 1, NULL", "3, 'b', 2, 1", "0, NULL, 3, 1", "2, 'b', NULL, NULL",
        "1, 'a', 1, 2", "NULL, 'c', 0, 3")),
    "u": ("id INT, k STRING, name STRING", (
        "1, 'a', 'a'", "2, 'a', 'b'", "3, NULL, 'c'", "0, 'd', NULL", "2, 'b', 'a'")),
    "w": ("k STRING, x INT, y INT", ("'a', 1, 2", "'b', NULL, 0", "NULL, 3, 3", "'a', 1, 2")),
    "a": ("arr ARRAY<INT>, k STRING", ("array(1, 2), 'a'", "NULL, 'c'", "array(NULL, 3), NULL")),
}  # fmt: skip
VIEWS = {
    "vw": "SELECT k, sum(v) AS s FROM t GROUP BY k",
    "vv": "SELECT * FROM vw WHERE s > 1",
}


@dataclass
class Reading:
    """What became of the texts: those whose plan Spark finds again in the text that was written,
    those without one, those that our reader refuses then, and those with other rows."""

    proved: int = 0
    unwritten: list[str] = field(default_factory=list)
    unbound: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patched, quick(spark, patched):
        for name, (columns, rows) in TABLES.items():
            spark.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
            spark.sql(f"INSERT INTO {name} VALUES {', '.join(f'({r})' for r in rows)}")
        for name, query in VIEWS.items():
            spark.sql(f"CREATE VIEW {name} AS {query}")
        yield spark
        for name in VIEWS:
            spark.sql(f"DROP VIEW {name}")
        for name in TABLES:
            spark.sql(f"DROP TABLE {name}")


def resolve(parts: tuple[str, ...]) -> Table | View:
    name = parts[-1].lower()
    if name in VIEWS:
        return View(VIEWS[name])
    columns = tuple(c.split()[0] for c in TABLES[name][0].split(", "))
    return Table(name, columns)


def test_the_corpus_is_read_by_spark_as_by_our_own_reader(tables: SparkSession) -> None:
    spark, found = tables, Reading()
    builtins = builtin_functions(spark) | SUPPORTED
    for text in CORPUS:
        try:
            frame = spark.sql(text)
        except AnalysisException:
            continue  # a table or a function of the other corpus
        _read(spark, text, frame, builtins, found)
    told = f"{found.proved} proved; no text: {found.unwritten}; refused: {found.unbound}"
    print(told)
    assert not found.other, "\n".join(found.other)
    assert found.proved > len(CORPUS) * 0.8, told


def _read(
    spark: SparkSession, text: str, frame: DataFrame, builtins: frozenset[str], found: Reading
) -> None:
    try:
        written = write_frame_query(spark, frame, builtins)
    except NoForm as e:
        found.unwritten.append(f"{type(e).__name__} {e.what}: {text}")
        return
    found.proved += 1
    try:
        rel = bind(written, resolve, builtins)
    except (Refused, DTError) as e:
        found.unbound.append(f"{getattr(e, 'reason', e)}: {text}")
        return
    if settles(rel):
        return  # the text leaves an order open, which the relation fixes
    inner = Renderer(lambda s: quote(s.source))(rel)
    try:
        own = spark.sql(f"SELECT {', '.join(map(quote, rel.columns))} FROM ({inner}) z")
    except AnalysisException as e:
        found.unbound.append(f"{str(e).splitlines()[0]}: {text}")
        return
    try:
        wanted = _bag(frame)
    except Exception:
        return  # an error of the text itself, as a scalar subquery of two rows
    if _bag(own) != wanted:
        found.other.append(f"{text}\n{written}")


def _bag(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(repr, row)) for row in frame.collect())
