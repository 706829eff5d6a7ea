"""Streams are cloned, altered, dropped and brought back, and keep their place in the changes."""

from __future__ import annotations

from typing import Any

from dt_jupyter.lake import TableLog
from tests.spark.engine_lab import Lab, refused


def held(lab: Lab, stream: str) -> list[Any]:
    return sorted(r[0] for r in lab.sql(f"SELECT n FROM {stream}"))


def shown(lab: Lab, stream: str, *columns: str) -> tuple[Any, ...]:
    (row,) = lab.engine.sql(f"DESCRIBE STREAM {stream}").select(*columns).collect()
    return tuple(row)


def test_streams_keep_their_place_whatever_is_done_with_them(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("clicks", "n INT", "1")
    lab.sql("CREATE TABLE sums (n INT)")
    lab.sql("CREATE STREAM first_s ON TABLE clicks APPEND_ONLY = TRUE COMMENT = 'a'")
    lab.insert("clicks", "2")
    lab.sql("CREATE STREAM second_s CLONE first_s")
    lab.sql("CREATE STREAM late_s CLONE first_s AT (OFFSET => 0)")
    lab.insert("clicks", "3")
    assert (held(lab, "second_s"), held(lab, "late_s")) == ([2, 3], [3])
    assert shown(lab, "second_s", "MODE", "COMMENT") == ("APPEND_ONLY", "a")
    lab.sql("INSERT INTO sums SELECT n FROM first_s")
    assert (held(lab, "first_s"), held(lab, "second_s")) == ([], [2, 3]), "each for itself"
    with refused("DT-1105"):
        lab.sql("CREATE STREAM second_s CLONE first_s")
    lab.sql("CREATE OR REPLACE STREAM second_s CLONE first_s")
    assert held(lab, "second_s") == []

    ((told,),) = lab.sql("DROP STREAM late_s")
    assert "UNDROP STREAM" in str(told)
    lab.insert("clicks", "4")
    with refused("DT-3201"):
        lab.sql("ALTER STREAM late_s SET COMMENT = 'b'")
    lab.sql("UNDROP STREAM late_s")
    assert held(lab, "late_s") == [3, 4], "where it stood"
    lab.sql("INSERT INTO sums SELECT n FROM late_s")
    assert held(lab, "late_s") == []
    with refused("DT-1118"):
        lab.sql("UNDROP STREAM late_s")
    lab.sql("UNDROP STREAM IF EXISTS late_s; DROP STREAM late_s; CREATE TABLE late_s (n INT)")
    with refused("DT-1105"):
        lab.sql("UNDROP STREAM late_s")
    lab.sql("DROP TABLE late_s; CREATE OR REPLACE TABLE clicks (n INT)")
    with refused("DT-1118") as found:
        lab.sql("UNDROP STREAM late_s")
    assert "replaced" in str(found[0])


def test_a_stream_extends_the_past_of_its_sources_for_as_long_as_it_says(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("views", "n INT", "1")
    lab.sql("CREATE STREAM short_s ON TABLE views MAX_DATA_EXTENSION_TIME_IN_DAYS = 3")
    log = TableLog(lab.context.layout.tables / "views")
    kept = "delta.deletedFileRetentionDuration"
    assert kept not in log.properties(), "a table keeps a week by itself"
    after, told = shown(lab, "short_s", "STALE_AFTER", "MAX_DATA_EXTENSION_TIME_IN_DAYS")
    stream = lab.context.catalog.streams()[-1]
    assert (told, (after - stream.advanced.datetime.replace(tzinfo=None)).days) in ((3, 3), (3, 2))
    assert lab.sql("ALTER STREAM short_s SET MAX_DATA_EXTENSION_TIME_IN_DAYS = 30") == [
        ("Stream short_s altered.\nHistory of views is retained for 30 days.",)
    ]
    assert TableLog(log.path).properties()[kept] == "interval 30 days"
    lab.sql("ALTER STREAM short_s UNSET MAX_DATA_EXTENSION_TIME_IN_DAYS")
    assert shown(lab, "short_s", "MAX_DATA_EXTENSION_TIME_IN_DAYS") == (14,)
    lab.sql("ALTER STREAM short_s SET MAX_DATA_EXTENSION_TIME_IN_DAYS = 0")
    place = lab.context.keeper.places(stream.source)[0]
    holders = [h.holder for h in lab.context.keeper.holds_on(place, lab.context.clock.now())]
    assert "stream short_s" not in holders, "nothing is kept for it"
