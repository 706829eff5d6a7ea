"""Files as sources over Spark Connect, where the server says what a pattern names, and where the
partitions of a table are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.connect_server import ConnectServer

PROGRAM = """
import json
from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError

lake, sql = sys.argv[3], spark.sql
data = Path(lake).parent / "da ta%20ü"
dt = Engine.connect(lake, spark=spark, scheduler=False)

def line(file, id_):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"id": id_}))

sql(f"CREATE TABLE days (id BIGINT, day DATE, `k x` STRING) USING json "
    f"PARTITIONED BY (day, `k x`) LOCATION '{data}/days'")
sql("INSERT INTO days VALUES (1, DATE'2024-01-01', 'a/b%'), (1, NULL, NULL), (1, NULL, NULL)")
line(data / "m-1" / "x% [1].json", 1)
made = {
    "by_day": "SELECT `k x` AS k, day, id FROM days",
    "monthly": f"SELECT id, count(*) AS n FROM (SELECT id FROM json.`{data}/m-*` UNION ALL "
               f"SELECT id FROM json.`{data}/[mn]-*/*.json`) GROUP BY id",
}
for name, text in made.items():
    dt.create(name, text, target_lag="1 hour")
facts["modes"] = [dt.table(name).effective_mode.value for name in made]

def look(step, *verified):
    done = [dt.refresh(name) for name in made]
    facts[step] = [r.error_code or r.action.value for r in done]
    facts[step] += [dt.verify(name).equal for name in verified]
    return [str(r.error) for r in done]

look("nothing")
sql("INSERT INTO days VALUES (2, DATE'2024-01-02', 'é x'), (3, DATE'2024-01-01', 'a/b%')")
line(data / "m-ü 2" / "1.json", 1)
line(data / "m-ü 2" / "_2.json", 99)
line(data / "m-ü 2" / "below" / "1.json", 99)
look("new")
sql("CACHE TABLE days")
line(data / "days" / "day=2024-01-03" / "k x=z" / "1.json", 4)
look("unknown")
sql("ALTER TABLE days ADD PARTITION (day = '2024-01-03', `k x` = 'z')")
sql("ALTER TABLE days ADD PARTITION (day = '2024-01-04', `k x` = 'none')")
look("added", "by_day", "monthly")
sql("UNCACHE TABLE days")
sql("ALTER TABLE days DROP PARTITION (day = '2024-01-01', `k x` = 'a/b%')")
line(data / "m-1" / "x% [1].json", 12345)
look("gone", "by_day", "monthly")
place = f"LOCATION '{data}/days/day=2024-01-03'"
sql(f"ALTER TABLE days ADD PARTITION (day = '2025-01-01', `k x` = 'e') {place}")
line(data / "m-1" / "k=1" / "1.json", 1)
day, month = look("refused")
facts["told"] = ["day=2024-01-03" in day, "k=1/1.json" in month]
sql("DROP TABLE days")
data.rename(data.with_name("gone"))
look("lost")
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_tables_with_partitions_and_patterns_are_followed(
    connect_server: ConnectServer, tmp_path: Path
) -> None:
    assert connect_server.facts(tmp_path, PROGRAM) == {
        "modes": ["INCREMENTAL", "INCREMENTAL"],
        "nothing": ["NO_DATA", "NO_DATA"],
        "new": ["INCREMENTAL", "INCREMENTAL"],
        "unknown": ["NO_DATA", "NO_DATA"],
        "added": ["INCREMENTAL", "NO_DATA", True, True],
        "gone": ["REINITIALIZE", "REINITIALIZE", True, True],
        "refused": ["DT-1146", "DT-1146"],
        "told": [True, True],
        "lost": ["DT-2102", "DT-2102"],
    }
