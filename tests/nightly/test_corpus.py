"""A corpus of thousands of texts: each is read from Spark's plan and has the rows that Spark gives
it, over tables that random changes leave in several states. `test_kept_corpus.py` keeps them.

The texts of expressions are columns of a few queries: what is asked of each is its own column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from dt_jupyter.ivm import Refused
from dt_jupyter.model import Name, Source, SourceKind
from dt_jupyter.spark import arrow_frame, confs
from tests.spark.evaluation.random_statements import COLUMNS, Expressions, edge_rows
from tests.spark.refresh import test_oracle_random as random_tables
from tests.spark.sql.test_reading import read_and_written

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

ROWS, STATES = 40, 3
SCALARS, AGGREGATES, WINDOWS = 160, 50, 50
"""Texts of each seed."""
SEEDS, ANSI_SEEDS = range(24), range(100, 104)
"""With ANSI off, by which most texts have values, and on, by which many fail and are left out."""
QUERIES = 40
"""Whole queries of each of `QUERY_SEEDS`."""
QUERY_SEEDS = range(8)
GROUPED = " GROUP BY k"
OF_ANY_ORDER = re.compile(r"\bAVG\(.*\bl\b")
"""Spark adds BIGINTs near the ends of their range as doubles, in whichever order the rows come."""
TYPES = {"k": "int", "r": "int", **{n: kind for n, (kind, _, _) in COLUMNS.items()}}
QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
}


def source(name: str) -> Source:
    return Source(Name("default", name), SourceKind.DELTA, name, None)


def changed(rows: pa.Table, random: Random) -> pa.Table:
    """After some rows were deleted, doubled, updated and inserted."""
    kept = [i for i in range(rows.num_rows) if random.random() < 0.7]
    doubled = random.choices(kept, k=4)
    other = edge_rows(random, rows.num_rows)
    updated = rows.take(kept[:6])
    for name in random.sample(list(COLUMNS), 3):
        place = updated.schema.get_field_index(name)
        updated = updated.set_column(place, name, other[name].slice(0, updated.num_rows))
    made = pa.concat_tables([updated, rows.take(kept[6:]), rows.take(doubled), other.slice(0, 10)])
    return made.set_column(
        made.schema.get_field_index("r"), "r", pa.array(range(made.num_rows), pa.int32())
    )


def states(seed: int) -> Iterator[pa.Table]:
    random = Random(f"states {seed}")
    rows = edge_rows(random, ROWS)
    for _ in range(STATES):
        yield rows
        rows = changed(rows, random)


def schema() -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromDDL(", ".join(f"{n} {t}" for n, t in TYPES.items()))


def drawn(seed: int) -> list[tuple[str, list[str]]]:
    """The texts of a seed, with what stands behind FROM."""
    made = Expressions(Random(f"corpus {seed}"))

    def several(draw: Callable[[], str], count: int) -> list[str]:
        drawn = dict.fromkeys(draw() for _ in range(count))
        return [text for text in drawn if not OF_ANY_ORDER.search(text)]

    scalars = several(lambda: made.any(made.random.randrange(1, 4)), SCALARS)
    return [
        ("", scalars),
        (GROUPED, several(made.aggregate, AGGREGATES)),
        ("", several(made.window, WINDOWS)),
    ]


def selected(items: Sequence[str], rest: str) -> str:
    listed = ", ".join(f"{e} AS c{i}" for i, e in enumerate(items))
    return f"SELECT k, {listed} FROM a{rest}"


def answered(spark: SparkSession, items: Sequence[str], rest: str) -> list[str]:
    """The texts of which Spark computes the values, without those that fail in all states."""
    try:
        spark.sql(selected(items, rest)).toArrow()
        return list(items)
    except PySparkException:
        if len(items) == 1:
            return []
    half = len(items) // 2
    return [*answered(spark, items[:half], rest), *answered(spark, items[half:], rest)]


def bag(frame: DataFrame) -> Counter[str]:
    """The rows, with times as numbers, since Python has no year 10000, and floating-point numbers
    by their first digits and without the sign of zero: both depend on the order of the rows."""
    columns = []
    for column in frame.toArrow().columns:
        is_time = pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)
        values = column.cast(f"int{column.type.bit_width}") if is_time else column
        columns.append([plain(v) for v in values.to_pylist()])
    return Counter(map(repr, zip(*columns, strict=True)))


def plain(value: object) -> str:
    return f"{value + 0.0:.9g}" if isinstance(value, float) else repr(value)


def read_items(
    spark: SparkSession, items: Sequence[str], rest: str
) -> Iterator[tuple[int, str, str]]:
    """The items that have a form in the algebra, in as few texts as there can be: how many they
    are, the text of them, and that of its relation."""
    text = selected(items, rest)
    try:
        yield len(items), text, read_and_written(spark, text, {"a": source("a")})
    except Refused:
        half = len(items) // 2
        if half:
            yield from read_items(spark, items[:half], rest)
            yield from read_items(spark, items[half:], rest)


def difference(spark: SparkSession, text: str, written: str) -> str | None:
    """How the rows or the types of a text and of its relation differ."""
    one, other = spark.sql(text), spark.sql(written)
    kinds = [[f.dataType for f in frame.schema] for frame in (one, other)]
    if kinds[0] != kinds[1]:
        at = next(i for i, pair in enumerate(zip(*kinds, strict=True)) if pair[0] != pair[1])
        return f"column {at}: {kinds[1][at]} for {kinds[0][at]}"
    wanted, found = bag(one), bag(other)
    if wanted == found:
        return None
    return f"{list((found - wanted).items())[:2]} for {list((wanted - found).items())[:2]}"


@pytest.fixture
def corpus(spark: SparkSession) -> Iterator[SparkSession]:
    with confs(spark, QUICK):
        yield spark
    for name in ("a", "p", "q", "dim", "vw"):
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize(
    ("seed", "ansi"), [*((s, "false") for s in SEEDS), *((s, "true") for s in ANSI_SEEDS)]
)
def test_expressions_have_the_rows_of_their_texts(
    corpus: SparkSession, seed: int, ansi: str, record_property: Callable[[str, object], None]
) -> None:
    corpus.conf.set("spark.sql.ansi.enabled", ansi)
    tables = list(states(seed))
    arrow_frame(corpus, pa.concat_tables(tables), schema()).createOrReplaceTempView("a")
    known = [(rest, answered(corpus, items, rest)) for rest, items in drawn(seed)]
    written = [found for rest, items in known for found in read_items(corpus, items, rest)]
    for rows in tables:
        arrow_frame(corpus, rows, schema()).createOrReplaceTempView("a")
        for _, text, other in written:
            assert difference(corpus, text, other) is None, text
    count = sum(n for n, _, _ in written)
    assert count > 0.9 * sum(len(items) for _, items in known)
    record_property("texts", count)


def fill(spark: SparkSession, random: Random) -> None:
    """The tables of the random queries, as views."""
    for name in ("p", "q"):
        rows = [
            ", ".join(random_tables.value(t, random) for t in random_tables.COLUMNS.values())
            for _ in range(14)
        ]
        listed = ", ".join(f"({row})" for row in [*rows, *rows[:3]])
        names = ", ".join(random_tables.COLUMNS)
        spark.sql(
            f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM VALUES {listed} AS t({names})"
        )
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW dim AS SELECT * FROM VALUES ('a', 'Alpha'), ('A', 'Beta'), "
        "('', NULL) AS t(k, name)"
    )
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW vw AS "
        "SELECT day, count(*) AS n, sum(x) AS w FROM p GROUP BY day"
    )


def has_rows(spark: SparkSession, text: str) -> bool:
    """Whether Spark computes it over these rows."""
    try:
        spark.sql(text).toArrow()
    except PySparkException:
        return False
    return True


@pytest.mark.parametrize("seed", QUERY_SEEDS)
def test_queries_have_the_rows_of_their_texts(
    corpus: SparkSession, seed: int, record_property: Callable[[str, object], None]
) -> None:
    random = Random(f"queries {seed}")
    drawn_texts = dict.fromkeys(random_tables.query(random) for _ in range(QUERIES))
    fill(corpus, random)
    texts = [text for text in drawn_texts if has_rows(corpus, text)]
    tables = {name: source(name) for name in ("p", "q", "dim", "vw")}
    written = {text: read_and_written(corpus, text, tables) for text in texts}
    for _ in range(STATES):
        for text, other in written.items():
            wrong = difference(corpus, text, other)
            assert wrong is None, f"{wrong}\n{text}"
        fill(corpus, random)
    record_property("texts", len(written))
