"""Sessions lent to refreshes: private confs, set anew each time, in a bounded number."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.spark import MEANING, RefreshSessions, count_jobs, meaning, run_cancellable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSI = "spark.sql.ansi.enabled"
ZONE = "spark.sql.session.timeZone"
TXN = "spark.databricks.delta.write.txnAppId"


def test_settings_hold_inside_the_lease_only(spark: SparkSession) -> None:
    before = meaning(spark)
    sessions = RefreshSessions(spark)
    other = "false" if before[ANSI] == "true" else "true"
    with sessions.lease("w", {ANSI: other, ZONE: "Asia/Kathmandu"}) as lent:
        assert lent.sql("SELECT current_timezone() AS zone").collect()[0].zone == "Asia/Kathmandu"
        assert lent.conf.get(ANSI) == other
        assert lent.conf.get("spark.sql.adaptive.enabled") == "false"
        lent.conf.set(TXN, "left behind")
        lent.range(1).createOrReplaceTempView("left_behind")
    assert meaning(spark) == before
    with sessions.lease("w") as again:
        assert again is lent
        assert meaning(again) == before
        assert again.conf.get(TXN, "none") == "none"
        assert not again.catalog.tableExists("left_behind")


def test_the_users_temporary_views_are_not_seen(spark: SparkSession) -> None:
    spark.range(1).createOrReplaceTempView("mine")
    with RefreshSessions(spark).lease("w") as lent:
        assert not lent.catalog.tableExists("mine")
    spark.catalog.dropTempView("mine")


def test_ansi_mode_changes_what_a_query_means(spark: SparkSession) -> None:
    sessions = RefreshSessions(spark)
    with sessions.lease("w", {ANSI: "false"}) as lenient:
        assert lenient.sql("SELECT 1 / 0 AS x").collect()[0].x is None
    with sessions.lease("w", {ANSI: "true"}) as strict, pytest.raises(Exception, match="DIVIDE_BY"):
        strict.sql("SELECT 1 / 0 AS x").collect()


def test_every_meaning_is_a_conf_that_spark_knows(spark: SparkSession) -> None:
    assert set(meaning(spark)) == set(MEANING)
    assert all(spark.conf.isModifiable(key) for key in MEANING)


def test_jobs_run_in_the_pool_of_the_warehouse(spark: SparkSession) -> None:
    context = spark.sparkContext
    with RefreshSessions(spark).lease("night"):
        assert context.getLocalProperty("spark.scheduler.pool") == "night"
    assert context.getLocalProperty("spark.scheduler.pool") is None


def test_a_warm_session_is_there_and_cost_no_job(spark: SparkSession) -> None:
    sessions = RefreshSessions(spark)
    run_cancellable(spark, "warm", "warm", lambda: sessions.warm("w"))
    assert sessions.made == 1
    assert count_jobs(spark, "warm") == 0
    with sessions.lease("w"):
        assert sessions.made == 1


def test_a_warehouse_lends_no_more_than_its_slots(spark: SparkSession) -> None:
    sessions = RefreshSessions(spark, slots=1)
    got = threading.Event()

    def second() -> None:
        with sessions.lease("w"):
            got.set()

    thread = threading.Thread(target=second)
    with sessions.lease("w"), sessions.lease("another warehouse"):
        thread.start()
        assert not got.wait(0.3)
        assert sessions.made == 2
    thread.join()
    assert got.is_set()
    assert sessions.made == 2


def test_a_higher_limit_lets_the_next_one_in(spark: SparkSession) -> None:
    sessions = RefreshSessions(spark, slots=1)
    sessions.limit("w", 2)
    with sessions.lease("w") as first, sessions.lease("w") as second:
        assert first is not second
    sessions.limit("w", 1)
    with sessions.lease("w"):
        assert sessions.made <= 2


def test_a_session_comes_back_after_an_error(spark: SparkSession) -> None:
    sessions = RefreshSessions(spark, slots=1)
    with pytest.raises(RuntimeError), sessions.lease("w"):
        raise RuntimeError
    with sessions.lease("w"):
        assert sessions.made == 1


def test_a_conf_that_spark_refuses_gives_the_session_back(spark: SparkSession) -> None:
    sessions = RefreshSessions(spark, slots=1)
    with pytest.raises(Exception, match="timeZone"), sessions.lease("w", {ZONE: "Nowhere/Land"}):
        pytest.fail("it was lent")
    with sessions.lease("w") as lent:
        assert lent.conf.get(ZONE) == spark.conf.get(ZONE)


def test_closed_sessions_are_not_lent(spark: SparkSession) -> None:
    sessions = RefreshSessions(spark)
    with sessions.lease("w"):
        sessions.close()
    assert sessions.made == 0
    with pytest.raises(DTError, match="DT-5108"), sessions.lease("w"):
        pytest.fail("it was lent")
