"""Answers of Spark's analyser: used for the same question in the same session, asked otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import types as kinds
from pyspark.sql.types import StructField, StructType

from dt_jupyter.catalog import StoredPlan
from dt_jupyter.definition.query_meaning import public_schema
from dt_jupyter.definition.spark_answers import (
    MORE,
    NO_PLAN,
    OTHER_QUERY,
    OTHER_SESSION,
    AnswerKeys,
    SparkAnswers,
)
from dt_jupyter.ivm import Refused
from dt_jupyter.lake import spark_schema
from dt_jupyter.plans import read_document, relation_of_plan
from dt_jupyter.plans.plan_source import PlanSource
from tests.recorded_plans import FOLDER, column_names, read_store, spark_functions
from tests.unit.catalog_lab import Lab

KEYS = AnswerKeys("query", "session")
DOCUMENT = '{"version": 1, "types": [], "nodes": []}'


def never() -> str:
    raise AssertionError("Spark was asked")


def answered() -> StoredPlan:
    answers = SparkAnswers(lambda: None)
    answers.use_keys(lambda: KEYS)
    assert answers.document(lambda: DOCUMENT) == DOCUMENT
    assert answers.document_of("other", lambda: "its plan") == "its plan"
    assert answers.problem == NO_PLAN
    made = answers.to_stored()
    assert made is not None
    return made


def test_what_is_stored_is_not_asked() -> None:
    answers = SparkAnswers(answered)
    answers.use_keys(lambda: KEYS)
    assert answers.document(never) == DOCUMENT
    assert answers.document_of("other", never) == "its plan"
    assert answers.problem == ""
    assert answers.document_of("third", lambda: "third plan") == "third plan"
    assert answers.problem == MORE
    made = answers.to_stored()
    assert made is not None
    assert set(made.answers.values()) == {DOCUMENT, "its plan", "third plan"}


@pytest.mark.parametrize(
    ("keys", "why", "any_session"),
    [
        (AnswerKeys("another", "session"), OTHER_QUERY, False),
        (AnswerKeys("another", "session"), OTHER_QUERY, True),
        (AnswerKeys("query", "another"), OTHER_SESSION, False),
    ],
)
def test_what_is_stored_of_others_is_asked_and_replaced(
    keys: AnswerKeys, why: str, any_session: bool
) -> None:
    answers = SparkAnswers(answered, any_session)
    answers.use_keys(lambda: keys)
    other = DOCUMENT.replace("1", "2")
    assert answers.document(lambda: other) == other
    assert answers.problem == why
    made = answers.to_stored()
    assert made is not None
    assert (made.query_key, made.session_key) == (keys.query, keys.session)
    assert set(made.answers.values()) == {other}


def test_who_looks_takes_the_plan_of_any_session() -> None:
    answers = SparkAnswers(answered, any_session=True)
    answers.use_keys(lambda: AnswerKeys("query", "another"))
    assert answers.document(never) == DOCUMENT
    assert answers.problem == ""


def test_a_failure_is_not_stored() -> None:
    answers = SparkAnswers(lambda: None)
    answers.use_keys(lambda: KEYS)
    with pytest.raises(AssertionError, match="Spark was asked"):
        answers.document(never)
    assert answers.to_stored() is None
    assert answers.document(lambda: DOCUMENT) == DOCUMENT


def test_answers_that_are_not_to_be_stored_need_no_keys() -> None:
    answers = SparkAnswers()
    answers.use_keys(cast(Any, never))
    assert answers.document(lambda: DOCUMENT) == DOCUMENT
    assert answers.to_stored() is None


@dataclass
class FakeSpark:
    """Gives a schema to any text."""

    schema: StructType

    def sql(self, text: str) -> FakeSpark:
        return self


TYPES = [
    kinds.NullType(), kinds.BinaryType(), kinds.TimestampNTZType(), kinds.DecimalType(38, 2),
    kinds.StringType("UTF8_LCASE"), kinds.VarcharType(4), kinds.CharType(3), kinds.VariantType(),
    kinds.DayTimeIntervalType(0, 2), kinds.YearMonthIntervalType(0, 1),
    kinds.CalendarIntervalType(),
    kinds.ArrayType(kinds.StringType("UTF8_LCASE"), False),
    kinds.MapType(kinds.StringType(), kinds.ArrayType(kinds.LongType())),
    StructType([StructField("ä b", kinds.DateType(), False, {"comment": "c"})]),
]  # fmt: skip


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_columns_of_each_type_are_stored(kind: kinds.DataType) -> None:
    schema = StructType([StructField("k", kind, False), StructField("ä.b", kind, True, {"m": 1})])
    answers = SparkAnswers(lambda: replace(answered(), answers=given))
    given: dict[str, str] = {}
    answers.use_keys(lambda: KEYS)
    assert answers.schema(cast(Any, FakeSpark(schema)), "SELECT") == schema
    given |= answers._given
    again = SparkAnswers(lambda: replace(answered(), answers=given))
    again.use_keys(lambda: KEYS)
    found = again.schema(cast(Any, None), "SELECT")
    assert found == schema
    assert [f.metadata for f in found] == [f.metadata for f in schema]


def test_a_schema_that_its_json_does_not_tell_is_not_stored() -> None:
    folded = kinds.ArrayType(kinds.StringType("UTF8_LCASE"))
    schema = StructType([StructField("", folded)])
    answers = SparkAnswers(lambda: None)
    answers.use_keys(lambda: KEYS)
    answers.document(lambda: DOCUMENT)
    assert answers.schema(cast(Any, FakeSpark(schema)), "SELECT") == schema
    made = answers.to_stored()
    assert made is not None
    assert set(made.answers.values()) == {DOCUMENT}


@pytest.mark.parametrize("kind", [k for k in TYPES if "har" not in type(k).__name__], ids=str)
def test_columns_by_the_log_are_those_that_spark_reads(kind: kinds.DataType) -> None:
    """Spark says which may be NULL and has comments; the reader of logs has not."""
    char = {"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}
    schema = StructType(
        [
            StructField("k", kind, False, {"comment": "the key"}),
            StructField("c", kinds.StringType(), True, char),
            StructField("__dt_row_id", kinds.StringType()),
        ]
    )
    by_log = spark_schema(schema.jsonValue()["fields"], declared=True)
    assert public_schema(by_log).json() == public_schema(schema).json()
    assert public_schema(schema).names == ["k", "c"]
    assert public_schema(schema)["c"].metadata == char


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.xz")), ids=lambda p: p.stem)
def test_relations_of_stored_documents_are_those_of_the_documents(
    path: Path, tmp_path: Path
) -> None:
    lab, plans = Lab(tmp_path), [*read_store(path).values()][::40]
    lab.make("a")
    for plan in plans:
        answers = {"query": plan.document}
        lab.catalog.store_plan("id-a", StoredPlan("q", "s", "d", answers))
        found = lab.catalog.stored_plan("id-a")
        assert found is not None
        assert found.answers["query"] == plan.document
        tables = {n: PlanSource(n, column_names(ddl)) for n, ddl in plan.tables.items()}
        outcome = read_outcome(found.answers["query"], tables)
        assert outcome == read_outcome(plan.document, tables)


def read_outcome(document: str, tables: dict[str, PlanSource]) -> object:
    try:
        return relation_of_plan(read_document(document), tables, spark_functions())
    except Refused as e:
        return str(e)
