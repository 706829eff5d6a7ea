"""Recorded plans are what Spark gives now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.plans.plan_document import digest_document
from tests.recorded_plans import FOLDER, Recorder, read_store, spark_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("store", sorted(FOLDER.glob("*.xz")), ids=lambda path: path.stem)
def test_a_recorded_plan_is_that_of_spark(spark: SparkSession, store: Path) -> None:
    recorder = Recorder(spark)
    plans = read_store(store)
    assert plans
    for plan in plans.values():
        made = recorder.record(plan)
        assert digest_document(made.document) == digest_document(plan.document), plan.text[:300]


def test_the_functions_are_those_of_spark(spark: SparkSession) -> None:
    assert set(Recorder(spark).functions()) == spark_functions()
