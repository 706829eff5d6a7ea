"""The tables that our pass over tokens finds in a text are those that Spark's parser finds."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from pyspark.errors import PySparkException

from bench.tpch import queries as tpch_queries
from dt_jupyter.model import DTError
from dt_jupyter.sql import NamedTable, named_tables, relations_in
from dt_jupyter.sql.grammar.relation_pass import RelationPass
from tests.spark.definition import test_spark_reading
from tests.spark.definition.tpcds_texts import tpcds_texts
from tests.spark.refresh import test_forms_of_queries, test_operators
from tests.spark.sql.hostile_texts import TEXTS, RandomQueries
from tests.unit.hostile import Hostile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = int(os.environ.get("DT_JUPYTER_CASES", "1500"))
SEED = int(os.environ.get("DT_JUPYTER_SEED", "14"))
LINES = (Path(__file__).parents[2] / "unit" / "queries.sql").read_text("utf-8").splitlines()
CORPORA: dict[str, Iterable[str]] = {
    "queries.sql": [line for line in LINES if line and not line.startswith("--")],
    "operators": test_operators.QUERIES.values(),
    "forms": test_forms_of_queries.QUERIES.values(),
    "tpch": tpch_queries(1.0).values(),
    "spark_reading": [*test_spark_reading.TEXTS.values(), *test_spark_reading.MORE.values()],
    "hostile": TEXTS,
}


class Place(NamedTuple):
    """Offsets in characters, `end` exclusive."""

    start: int
    end: int
    fixed: bool
    parts: tuple[str, ...]


class SparkParser:
    """Spark's own parser, and the relations of its plans."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        thread = jvm.java.lang.Thread.currentThread()
        compiler.setParentClassLoader(thread.getContextClassLoader())
        compiler.cook(Path(__file__).with_name("NamedRelations.java").read_text("utf-8"))
        self._named = compiler.getClassLoader().loadClass("NamedRelations").newInstance()
        self._parser = session._jsparkSession.sessionState().sqlParser()  # type: ignore[attr-defined]

    def tables(self, text: str) -> dict[Place, bool] | None:
        """What it finds, and whether it has an alias; None where it does not take the text."""
        try:
            lines = self._named.of(self._parser.parsePlan(text)).splitlines()
        except PySparkException:
            return None
        return dict(_places(text, lines))


def _places(text: str, lines: list[str]) -> Iterator[tuple[Place, bool]]:
    for line in lines:
        start, stop, fixed, aliased, *parts = line.split("\t")
        if not text[int(start) :].upper().startswith("IDENTIFIER("):
            name = tuple(b64decode(part).decode() for part in parts)
            place = Place(int(start), int(stop) + 1, fixed == "true", name)
            yield place, aliased == "true"


@pytest.fixture(scope="module")
def parser(spark: SparkSession) -> SparkParser:
    return SparkParser(spark)


class TooMuch(Exception):
    """A text passes the limits of what is read."""


def tables_of(text: str) -> tuple[NamedTable, ...]:
    try:
        return named_tables(text)
    except DTError as e:
        if e.code != "DT-1004":
            raise
        raise TooMuch from e


def agree(parser: SparkParser, text: str) -> bool:
    """Whether Spark takes the text; fails where the tables are others."""
    wanted = parser.tables(text)
    if wanted is None:
        return False
    found = {Place(t.span.start, t.span.end, t.fixed, t.parts): t.aliased for t in tables_of(text)}
    assert found.keys() == wanted.keys(), text
    for place, aliased in found.items():
        exact = "|>" not in text and text[place.end :].lstrip()[:1] != ")"
        assert place.fixed or not exact or aliased == wanted[place], (place, text)
    return True


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_tables_of_a_corpus(parser: SparkParser, corpus: str) -> None:
    texts = list(CORPORA[corpus])
    assert sum(agree(parser, text) for text in texts) > len(texts) * 0.9


def test_the_tables_of_tpcds(parser: SparkParser) -> None:
    texts = tpcds_texts().values()
    assert sum(agree(parser, text) for text in texts) == len(texts)


@pytest.mark.nightly
def test_the_tables_of_random_queries(parser: SparkParser) -> None:
    made = RandomQueries(SEED)
    assert sum(agree(parser, made.query()) for _ in range(CASES)) > CASES / 2


def test_the_tables_of_hostile_input(parser: SparkParser) -> None:
    """A text that Spark takes has its tables, or is too much."""
    hostile, taken = Hostile(SEED), 0
    for text in (hostile.query() for _ in range(CASES // 3)):
        if text.startswith("DELETE"):
            continue
        with suppress(TooMuch):
            taken += agree(parser, text)
    assert taken > CASES / 20


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_statement_reads_is_the_same(text: str) -> None:
    """`relations_in` is the same pass, as far as it knows no other time."""
    if not any(word in text.upper() for word in (" AT", "CHANGES", " END", "BEFORE")):
        found = [(t.parts, t.span) for t in named_tables(text)]
        assert [*relations_in(text)] == found


@pytest.mark.parametrize("mutant", ["_common", "_end_common", "_begins_from", "_begins_query"])
def test_a_broken_rule_is_seen(
    parser: SparkParser, mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Common tables that are never seen, never left, or in any case; each FROM a clause."""
    broken: dict[str, Any] = {
        "_common": lambda self, parts: None,
        "_end_common": lambda self, common, parent, index: self._stack[0].ctes.update(
            {common.name: common}
        ),
        "_begins_from": lambda self, index: True,
        "_begins_query": lambda self, opening: False,
    }
    monkeypatch.setattr(RelationPass, mutant, broken[mutant])
    differing = 0
    for text in TEXTS:
        try:
            agree(parser, text)
        except AssertionError:
            differing += 1
    assert differing > 1
