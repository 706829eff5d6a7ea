"""The package on Spark Connect, where there is no SparkContext and no JVM to call.

In a process of its own: a process is either classic or Connect.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.spark import MEANING
from tests.spark.connect_server import ConnectServer

PROGRAM = """
import signal, threading
from dt_jupyter.spark import (
    Cancelled, Pool, RefreshSessions, active_session, cancel, count_jobs, declare_pool,
    is_connect, local_session, meaning, run_cancellable,
)

folder = Path(sys.argv[3])
facts |= {"connect": is_connect(spark), "active": active_session() is not None}
facts["adopted"] = local_session(folder, cores=1, memory="1g") is spark
facts["meaning"] = len(meaning(spark))
sessions = RefreshSessions(spark)
sessions.warm("w")
spark.range(1).createOrReplaceTempView("mine")
with sessions.lease("w", {"spark.sql.ansi.enabled": "false"}) as lent:
    facts["lenient"] = lent.sql("SELECT 1 / 0 AS x").collect()[0].x
    facts["sees mine"] = lent.catalog.tableExists("mine")
    lent.range(1).createOrReplaceTempView("left")
with sessions.lease("w") as lent:
    facts["ansi again"] = lent.conf.get("spark.sql.ansi.enabled")
    facts["sees left"] = lent.catalog.tableExists("left")
lent.client.release_session()  # as the server does with one that is idle for an hour
with sessions.lease("w") as lent:
    facts["another"] = lent.sql("SELECT 1 AS x").collect()[0].x
facts["value"] = run_cancellable(spark, "a", "counts", lambda: spark.range(5).count())
facts["jobs"] = count_jobs(spark, "a")
facts["pool"] = declare_pool(spark, Pool("p"))

def forever(name):
    try:
        query = lambda: spark.range(10**14).selectExpr("sum(id % 7)").collect()
        run_cancellable(spark, name, "for days", query)
    except KeyboardInterrupt as pressed:
        return type(pressed.__cause__).__name__
    except Exception as failure:
        return "OPERATION_CANCELED" in str(failure)

def soon(act):
    threading.Timer(3, act).start()

soon(lambda: signal.raise_signal(signal.SIGINT))
facts["interrupt"] = forever("b")
ended = threading.Event()

def insist():
    while not ended.wait(0.5):
        cancel(spark, "c")

soon(insist)
facts["cancel"] = forever("c")
ended.set()
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_everything_but_job_counts_and_weights_works(
    connect_server: ConnectServer, tmp_path: Path
) -> None:
    assert connect_server.facts(tmp_path, PROGRAM) == {
        "connect": True,
        "active": True,
        "adopted": True,
        "meaning": len(MEANING),
        "lenient": None,
        "sees mine": False,
        "ansi again": "true",
        "sees left": False,
        "another": 1,
        "value": 5,
        "jobs": None,
        "pool": False,
        "interrupt": "Cancelled",
        "cancel": True,
    }


TASK = """
import gc
from dt_jupyter.engine import Engine
from dt_jupyter.engine.task_sessions import TaskSessions

lake = sys.argv[3]
dt = Engine.connect(lake, spark=spark, scheduler=False)
dt.sql(f"CREATE TABLE run (id INT) USING delta LOCATION '{lake}/run'")
dt.sql("CREATE TASK job SCHEDULE = '1 day' AS INSERT INTO run SELECT 7")
dt.sql("EXECUTE TASK job")
idle = [c for o in gc.get_objects() if isinstance(o, TaskSessions) for c in o._idle]
for context in idle:
    context.spark.client.release_session()
dt.sql("EXECUTE TASK job")
facts |= {"closed": len(idle), "runs": spark.table("run").count()}
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_a_task_runs_where_its_session_was_closed(
    connect_server: ConnectServer, tmp_path: Path
) -> None:
    assert connect_server.facts(tmp_path, TASK) == {"closed": 1, "runs": 2}
