"""A notebook's Spark session that has no Delta, was stopped or has died; two lakes side by side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.notebook.conftest import Kernel, start_kernel

PLAIN = """
from pyspark.sql import SparkSession
import dt_jupyter
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "1g").config("spark.sql.session.timeZone", "Asia/Tokyo")
    .getOrCreate())
"""


@pytest.fixture(scope="module")
def own_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel that starts with a plain session of the user's."""
    with start_kernel(tmp_path_factory.mktemp("sessions")) as kernel:
        kernel.run(PLAIN).ok  # noqa: B018
        kernel.run("%load_ext dt_jupyter").ok  # noqa: B018
        yield kernel


def test_a_session_without_delta_that_is_unused_is_replaced(own_kernel: Kernel) -> None:
    own_kernel.run("frame = spark.range(3)").ok  # noqa: B018
    refused = own_kernel.run("%dt connect a").told
    assert "DT-5106" in refused
    assert "spark.stop()" in refused
    own_kernel.run("del frame").ok  # noqa: B018
    reply = own_kernel.run("%dt connect a").ok
    assert "had no Delta Lake and had run nothing: it was replaced" in reply.text
    assert "Connected: " in reply.text
    assert own_kernel.value("spark.conf.get('spark.sql.session.timeZone')") == "'Asia/Tokyo'"
    made = own_kernel.run(
        "%%dt\nCREATE TABLE orders (id INT); INSERT INTO orders VALUES (1);"
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' AS SELECT id FROM orders"
    )
    assert made.error is None
    assert own_kernel.value("spark.table('d').count()") == "1"


def test_connect_after_stop_opens_the_lake_on_a_new_session(own_kernel: Kernel) -> None:
    own_kernel.run("before = dt\nspark.stop()").ok  # noqa: B018
    reply = own_kernel.run("%dt connect").ok
    assert "The Spark session of" in reply.text
    assert "has ended: it was stopped." in reply.text
    assert "Connected already" not in reply.text
    assert "1 dynamic table," in reply.text
    assert own_kernel.value("(before is dt, before.context.state.closed)") == "(False, True)"
    own_kernel.run("%%dt\nINSERT INTO orders VALUES (2)").ok  # noqa: B018
    assert "INCREMENTAL" in own_kernel.value("str(dt.refresh('d').action)")


@pytest.mark.nightly
def test_a_jvm_that_was_killed_is_replaced_by_the_next_magic(own_kernel: Kernel) -> None:
    own_kernel.run("java = spark.sparkContext._gateway.proc\njava.kill()\ncode = java.wait()").ok  # noqa: B018
    reply = own_kernel.run("%dt SELECT count(*) AS n FROM d").ok
    assert "its JVM ended with exit code -9" in reply.text
    assert "Connected: " in reply.text
    assert own_kernel.value("spark.table('d').count()") == "2"


def test_two_lakes_work_side_by_side(own_kernel: Kernel) -> None:
    own_kernel.run("first = dt").ok  # noqa: B018
    reply = own_kernel.run("d2 = dt_jupyter.connect('b')").ok
    assert "The magics stay on" in reply.text
    assert own_kernel.value("(dt is first, dt.context.state.closed)") == "(True, False)"
    made = own_kernel.run(
        "d2.sql('''CREATE TABLE orders (id INT); INSERT INTO orders VALUES (7);"
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' AS SELECT id + 1 AS id FROM orders''')"
    )
    assert made.error is None
    own_kernel.run("%%dt\nINSERT INTO orders VALUES (3)").ok  # noqa: B018
    own_kernel.run("d2.sql('INSERT INTO orders VALUES (8)')").ok  # noqa: B018
    actions = "(str(dt.refresh('d').action), str(d2.refresh('d').action))"
    assert own_kernel.value(actions) == "('INCREMENTAL', 'INCREMENTAL')"
    rows = "sorted(r.id for r in {}.sql('SELECT id FROM d').collect())"
    assert own_kernel.value(rows.format("dt")) == "[1, 2, 3]"
    assert own_kernel.value(rows.format("d2")) == "[8, 9]"
    running = "(dt.status()['scheduler'], d2.status()['scheduler'])"
    assert own_kernel.value(running) == "('running', 'running')"
    same = own_kernel.run("with dt_jupyter.connect('a') as same: print(same is dt)").ok
    assert "Connected already" in same.text
    assert "True" in same.text
    assert own_kernel.value("dt.context.state.closed") == "False"
    assert "Connected: " in own_kernel.run("%dt connect b").ok.text
    assert own_kernel.value("(dt is d2, first.context.state.closed)") == "(True, False)"
    own_kernel.run("d2.close()").ok  # noqa: B018
    assert own_kernel.value("str(first.refresh('d').state)") == "'SUCCEEDED'"
