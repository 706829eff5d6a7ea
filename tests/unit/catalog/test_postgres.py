"""A catalog in PostgreSQL: taken over from the file, found by who does not name it, and what a
server can do that a file cannot: be away, refuse, stand still."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

from dt_jupyter.catalog import Catalog, CatalogPlace, Owner, Pulse, find_database, read_place
from dt_jupyter.catalog.postgres import PostgresSchema, parse_catalog_url
from dt_jupyter.model import Clock
from tests.experiments import CLOCK
from tests.sinks.servers import PostgresServer
from tests.unit.catalog_lab import HERE, MANUAL, Lab, at, name, refused, table

OTHER = Owner("host-b", 7, "uid-other", "9")


@pytest.fixture
def lab(tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setattr(Lab, "server", postgres)
    return Lab(tmp_path)


def reopened(lab: Lab, url: str | None = None) -> Catalog:
    """By someone who does not say where the catalog is."""
    database = find_database(lab.path, url)
    return Catalog(lab.path, Clock(lab.wall), OTHER, database=database)


# -- where it is -----------------------------------------------------------------------------------


def test_who_does_not_name_it_finds_it(lab: Lab) -> None:
    lab.make("a")
    assert [t.name for t in reopened(lab).list()] == [name("a")]
    assert not lab.path.exists()
    place = read_place(lab.path.parent)
    assert place is not None
    assert place.url == lab.catalog.place


def test_no_password_is_written_or_shown(lab: Lab, postgres: PostgresServer) -> None:
    first = reopened(lab, postgres.url.replace("postgres@", "postgres:s3cret@"))
    assert "s3cret" not in first.place + repr(first._database)
    catalog = reopened(lab, f"{postgres.url}?password=s3cret&application_name=mine")
    assert "application_name=mine" in catalog.place
    told = (lab.path.parent / "catalog.json").read_text() + catalog.place
    assert "s3cret" not in told


def test_each_lake_has_a_schema_of_its_own(lab: Lab, tmp_path: Path) -> None:
    lab.make("a")
    other = Lab(tmp_path / "other")
    other.make("b")
    assert [str(t.name) for t in lab.catalog.list()] == ["a"]
    assert [str(t.name) for t in other.catalog.list()] == ["b"]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("lake.db", "it is not a URL"),
        ("mysql://h/d", "mysql is not supported"),
        ("sqlite:///x", "sqlite is not supported"),
        ("postgresql+asyncpg://h/d", "postgresql+asyncpg is not supported"),
        ("postgresql://h", "it names no database"),
        ("", "it is not a URL"),
    ],
)
def test_an_address_that_no_catalog_can_be_at_is_refused(
    tmp_path: Path, url: str, problem: str
) -> None:
    with refused("DT-5115") as caught:
        find_database(tmp_path / "_dt" / "catalog.sqlite", url)
    assert problem in str(caught[0])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '{"id": "a"}',
        "\x00",
        '{"id": "public; DROP TABLE x", "url": ""}',
        '{"id": 1, "url": ""}',
    ],
)
def test_a_place_that_cannot_be_read_is_told(lab: Lab, text: str) -> None:
    (lab.path.parent / "catalog.json").write_text(text)
    with refused("DT-5102") as caught:
        reopened(lab)
    assert "catalog.json" in str(caught[0])


def test_another_server_is_refused(lab: Lab, postgres: PostgresServer) -> None:
    lab.make("a")
    postgres.run("CREATE DATABASE elsewhere")
    with refused("DT-5116") as caught:
        reopened(lab, postgres.url.removesuffix("postgres") + "elsewhere")
    assert lab.catalog.place in str(caught[0])
    assert [str(t.name) for t in reopened(lab).list()] == ["a"]


def test_a_copied_lake_does_not_share_the_catalog_and_a_moved_one_has_it(
    lab: Lab, tmp_path: Path, postgres: PostgresServer
) -> None:
    lab.make("a")
    lab.catalog.close()
    shutil.copytree(lab.path.parent, tmp_path / "copy" / "_dt")
    copy = tmp_path / "copy" / "_dt" / lab.path.name
    with refused("DT-5116") as caught:
        Catalog(copy, Clock(), OTHER, database=find_database(copy))
    assert "is a copy of" in str(caught[0])
    copy.with_name("catalog.json").unlink()
    own = Catalog(
        copy, Clock(), OTHER, database=find_database(copy, str(Lab.server and Lab.server.url))
    )
    assert [str(t.name) for t in own.list()] == ["a"]  # from the registry's log
    own.drop(name("a"))
    (tmp_path / "moved").mkdir()
    lab.path.parent.rename(tmp_path / "moved" / "_dt")
    moved = tmp_path / "moved" / "_dt" / lab.path.name
    assert len(Catalog(moved, Clock(), OTHER, database=find_database(moved)).list()) == 1


# -- taken over ------------------------------------------------------------------------------------


@pytest.fixture
def filed(tmp_path: Path) -> Lab:
    """A lake whose catalog is a file, with rows of many kinds."""
    lab = Lab(tmp_path)
    lab.make("a", "b")
    lab.refresh(10)
    lab.fail(20)
    lab.begin(30, dt="b")
    lab.catalog.drop(name("b"))
    lab.catalog.record_view(name("v"), "SELECT 1")
    return lab


def take_over(lab: Lab, server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lab, "server", server)
    lab.catalog = lab.open()


def test_all_rows_are_taken_over(
    filed: Lab, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = filed.dump()
    filed.catalog.close()
    take_over(filed, postgres, monkeypatch)
    after = filed.dump()
    for rows in (before, after):
        rows["dt_meta"] = [row for row in rows["dt_meta"] if row[0] == "schema_version"]
    assert {n: len(r) for n, r in after.items()} == {n: len(r) for n, r in before.items()}
    assert after == before
    assert not filed.path.exists()
    assert Path(f"{filed.path}.moved").exists()
    assert filed.catalog.rebuilt is None
    filed.refresh(40)
    newest = filed.catalog.history(name("a"))[0]
    assert newest.data_timestamp == at(40)


def test_who_has_the_file_open_is_told_and_loses_nothing(
    filed: Lab, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = filed.catalog
    take_over(filed, postgres, monkeypatch)
    for use in (lambda: old.create(table("late")), old.list):
        with refused("DT-5113") as caught:
            use()
        assert "it was moved to postgresql" in str(caught[0])
    assert not filed.path.exists()
    assert [str(t.name) for t in filed.catalog.list()] == ["a"]


def test_a_writer_that_waits_for_the_file_writes_into_none(
    filed: Lab, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the copy and the new name nobody writes what would be lost."""
    from dt_jupyter.catalog import postgres as module

    old, outcomes = filed.catalog, list[str]()

    def write() -> None:
        try:
            old.create(table("late"))
            outcomes.append("written")
        except Exception as e:
            outcomes.append(getattr(e, "code", repr(e)))

    writer, copy = threading.Thread(target=write), module.copy_rows

    def copy_slowly(*connections: object) -> None:
        copy(*connections)  # type: ignore[arg-type]
        writer.start()
        writer.join(0.5)

    monkeypatch.setattr(module, "copy_rows", copy_slowly)
    take_over(filed, postgres, monkeypatch)
    writer.join()
    assert outcomes == ["DT-5113"]
    assert [str(t.name) for t in filed.catalog.list()] == ["a"]


@pytest.mark.parametrize("when", ["copied", "told"])
def test_a_take_over_that_ended_midway_is_done_again(
    filed: Lab, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    from dt_jupyter.catalog import postgres as module

    before = filed.dump()
    with monkeypatch.context() as broken:
        if when == "copied":
            broken.setattr(module, "write_place", _first_alone(module.write_place))
        else:
            broken.setattr("dt_jupyter.catalog.sqlite.set_aside", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            take_over(filed, postgres, broken)
    if when == "copied":
        assert [str(t.name) for t in filed.catalog.list()] == ["a"]  # the file is in force
        filed.catalog.create(table("c"))
        before = filed.dump()
    else:
        with refused("DT-5113"):
            filed.catalog.create(table("c"))
    take_over(filed, postgres, monkeypatch)
    assert not filed.path.exists()
    assert len(filed.dump()["dynamic_table"]) == len(before["dynamic_table"])
    assert filed.dump()["history"] == before["history"]


def _first_alone(write: object) -> object:
    calls = list[int]()

    def once(folder: Path, place: CatalogPlace) -> None:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        write(folder, place)  # type: ignore[operator]

    return once


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_lost_schema_is_rebuilt_from_the_lake(lab: Lab, postgres: PostgresServer) -> None:
    lab.make("a")
    place = read_place(lab.path.parent)
    assert place is not None
    lab.catalog.close()
    postgres.run(f"DROP SCHEMA dt_{place.id} CASCADE")
    with refused("DT-5116") as caught:
        reopened(lab)
    assert f"its schema dt_{place.id} is gone" in str(caught[0])
    (lab.path.parent / "catalog.json").unlink()
    again = reopened(lab, postgres.url)
    assert "dynamic tables a" in str(again.rebuilt)
    assert [str(t.name) for t in again.list()] == ["a"]


def hears(pulse: Pulse) -> bool:
    """What was committed is heard of within moments."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if pulse.beats():
            return True
        time.sleep(0.01)
    return False


# -- the server ------------------------------------------------------------------------------------


def test_a_server_that_was_restarted_is_used_again(lab: Lab, postgres: PostgresServer) -> None:
    lab.make("a")
    pulse = lab.catalog.pulse()
    postgres.restart()
    lab.make("b")
    assert [str(t.name) for t in lab.catalog.list()] == ["a", "b"]
    assert hears(pulse)
    assert not pulse.beats()
    lab.make("c")
    assert hears(pulse)
    pulse.close()


def test_a_server_that_is_away_is_told_and_found_again(
    lab: Lab, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dt_jupyter.catalog.postgres._PATIENCE", 0.0)
    lab.make("a")
    pulse = lab.catalog.pulse()
    postgres.stop()
    try:
        for use in (lambda: lab.make("b"), lab.catalog.list, lambda: reopened(lab)):
            with refused("DT-5102") as caught:
                use()
            assert "nothing is lost" in str(caught[0])
        assert not pulse.beats()
    finally:
        postgres.start()
    lab.make("b")
    assert len(lab.catalog.list()) == 2
    assert hears(pulse)
    pulse.close()


def test_a_connection_that_is_lost_midway_leaves_nothing(
    lab: Lab, postgres: PostgresServer
) -> None:
    lab.make("a")
    with refused("DT-5102"), lab.catalog._write() as connection:
        connection.exec_driver_sql("UPDATE dynamic_table SET comment = 'half'")
        postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'dt_jupyter' AND pid <> pg_backend_pid()"
        )
        connection.exec_driver_sql("UPDATE dynamic_table SET comment = 'whole'")
    assert lab.dt().comment is None
    lab.make("b")


def test_a_pulse_hears_of_commits_and_not_of_reads_or_rollbacks(lab: Lab) -> None:
    pulse, other = lab.catalog.pulse(), reopened(lab)
    pulse.beats()
    assert not pulse.beats()
    other.create(table("a"))
    assert hears(pulse)
    other.list()
    with refused("DT-1105"):
        other.create(table("a"))
    assert not pulse.beats()
    pulse.close()


def test_writers_wait_for_each_other_and_readers_for_nobody(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dt_jupyter.catalog.postgres.LOCK_SECONDS", 1)
    other = reopened(lab)
    with lab.catalog._write() as connection:
        connection.exec_driver_sql("UPDATE warehouse SET weight = 5")
        assert [w.weight for w in other.warehouses()] == [1]
        with refused("DT-5107"):
            other.create(table("a"))
    assert [w.weight for w in other.warehouses()] == [5]
    other.create(table("a"))


def test_a_reader_sees_one_snapshot(lab: Lab) -> None:
    lab.make("a")
    with lab.catalog._read() as connection:
        count = "SELECT count(*) FROM dynamic_table"
        assert connection.exec_driver_sql(count).scalar() == 1
        reopened(lab).create(table("b"))
        assert connection.exec_driver_sql(count).scalar() == 1


def test_many_processes_number_the_history_without_a_gap(lab: Lab) -> None:
    lab.make("a")
    catalogs = [reopened(lab) for _ in range(4)]

    def work(catalog: Catalog) -> None:
        for number in range(15):
            catalog.create(table(f"{id(catalog)}_{number}"))

    threads = [threading.Thread(target=work, args=(c,)) for c in catalogs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stamps = [stamp for (stamp,) in lab.run("SELECT stamp FROM registry_change ORDER BY 1")]
    assert stamps == list(range(1, len(stamps) + 1))
    assert len(lab.catalog.list()) == 61


def test_a_user_without_the_right_to_make_a_schema_is_told_which(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    postgres.run("CREATE ROLE guest LOGIN")
    path = tmp_path / "_dt" / "catalog.sqlite"
    url = postgres.url.replace("postgres@", "guest@")
    with refused("DT-5102") as caught:
        Catalog(path, Clock(), HERE, database=find_database(path, url))
    assert "GRANT CREATE ON DATABASE" in str(caught[0])
    assert read_place(path.parent) == CatalogPlace(read_place(path.parent).id)  # type: ignore[union-attr]


def test_a_wrong_password_is_told_and_not_shown(tmp_path: Path, postgres: PostgresServer) -> None:
    postgres.run("CREATE ROLE locked LOGIN PASSWORD 'right'")
    path = tmp_path / "_dt" / "catalog.sqlite"
    url = postgres.url.replace("postgres@", "locked:wr0ng@")
    with refused("DT-5102") as caught:
        Catalog(path, Clock(), HERE, database=find_database(path, url))
    assert "PGPASSWORD" in str(caught[0])
    assert "wr0ng" not in str(caught[0])


@CLOCK
@pytest.mark.parametrize("hours", [-2, 2])
def test_leases_run_out_by_the_servers_clock(
    lab: Lab, postgres: PostgresServer, hours: int
) -> None:
    """The clock of one machine is hours off: what it takes others do not take from it before its
    time, and may take after."""
    off = hours * 3_600_000_000
    database = PostgresSchema(
        parse_catalog_url(postgres.url), lab.path, lambda: time.time_ns() // 1000 + off
    )
    wrong = Catalog(lab.path, Clock(lambda: lab.wall() + off), OTHER, database=database)
    lab.make("a")
    data_time = at(abs(hours) * 3600 + 1)
    wrong.begin("id-a", MANUAL, data_time, "theirs", ttl=30)
    lab.wall.forward(20)
    with refused("DT-2104"):
        lab.catalog.begin("id-a", MANUAL, data_time, "mine", ttl=30)
    assert [lease.attempt for lease in lab.catalog.running()] == ["theirs"]
    assert lab.catalog.reap() == ()
    lab.wall.forward(11)
    assert lab.catalog.begin("id-a", MANUAL, data_time, "mine", ttl=30).abandoned == "theirs"
    with refused("DT-2104"):
        wrong.begin("id-a", MANUAL, data_time, "again", ttl=30)


def test_texts_are_ordered_by_their_bytes(lab: Lab) -> None:
    """As SQLite does, whatever the server's language."""
    lab.make("b", "a", "z", "_", "ä")
    assert [str(t.name).strip("`") for t in lab.catalog.list()] == ["_", "a", "b", "z", "ä"]


def test_what_is_not_known_to_be_plain_in_an_address_is_stored_and_shown_nowhere() -> None:
    query = "sslmode=require&sslpassword=s3cret&scram_client_key=s3cret&new=s3cret"
    url = parse_catalog_url(f"postgresql+psycopg://u:s3cret@h/db?{query}")
    found = PostgresSchema(url, Path("catalog.db"))
    assert found.place == "postgresql+psycopg://u@h/db?sslmode=require"
    assert "s3cret" not in repr(found)
