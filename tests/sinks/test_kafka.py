"""The Kafka driver, against a broker of its own. A reader that reads what is committed, and adds up
the updates, has what the changes come to: each once."""

from __future__ import annotations

import gc
import itertools
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    ConfigResource,
    ListOffsetsResultInfo,
    NewPartitions,
    NewTopic,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from dt_jupyter.model import DTError
from dt_jupyter.sinks import (
    Binding,
    Task,
    is_transient,
    messages as m,
    open_driver,
    parse_store_url,
)
from dt_jupyter.sinks.drivers.kafka import KafkaStore
from dt_jupyter.sinks.drivers.kafka_cluster import KafkaCluster
from dt_jupyter.sinks.json_values import from_json_values
from dt_jupyter.sinks.reductions import reduce_values
from tests.sinks.conformance import Conformance
from tests.sinks.kafka_server import KafkaServer
from tests.sinks.killed_delivery import run
from tests.sinks.servers import free_port
from tests.sinks.site import Site, Talk, deliver_while_disturbed, row
from tests.sinks.test_killed import kill_at
from tests.sinks.values import NAMES
from tests.unit.sinks.lab import (
    LEFT,
    RIGHT,
    Change,
    D,
    I,
    ListSource,
    Row,
    binding,
    deliver,
    events,
    oracle,
    refused,
    summed,
)

NUMBERS = itertools.count(1)
TASKS = Path("/proc/self/task")
MADE = summed(delta=True)
PLAIN = binding(("k", pa.int64()), ("v", pa.int64()), delta=True)


class KafkaSite(Site):
    """A topic of its own; "" for one that is called as the target."""

    delta = True

    def __init__(self, server: KafkaServer) -> None:
        super().__init__()
        self.server, self.port = server, server.port
        self.topic = f"t{next(NUMBERS)}"

    def url(self) -> str:
        return f"kafka://127.0.0.1:{self.port}/{self.topic}"

    def messages(self) -> list[tuple[Any, Any]]:
        return self.server.messages(self.topic)

    def mend(self, failure: DTError) -> bool:
        """A broker of 4.3 that is killed right after a commit may forget to tell its topics."""
        undecided = "neither committed nor aborted" in str(failure)
        return undecided and self.server.end_hanging() != []

    def rows(self, made: Binding) -> dict[Any, Row]:
        found: dict[Any, Row] = {}
        for key, value in self.server.messages(self.topic or made.target):
            where = tuple(plain(made, key)[name] for name in made.key)
            if value is None:
                found.pop(where, None)
                continue
            now = plain(made, value)
            if (before := found.get(where)) is not None:
                now |= {n: reduce_values(made.rule(n), before[n], now[n]) for n in made.values}
            found[where] = now
        return found


def plain(made: Binding, document: Row) -> Row:
    types = {column.name: column.type for column in made.columns}
    return {n: from_json_values([v], types[n])[0].as_py() for n, v in document.items()}


@pytest.fixture
def server(kafka: KafkaServer) -> KafkaServer:
    return kafka


@pytest.fixture
def fresh(server: KafkaServer) -> Callable[[], Site]:
    return lambda: KafkaSite(server)


@pytest.fixture
def site(fresh: Callable[[], Site]) -> Site:
    return fresh()


class TestKafka(Conformance):
    DELTA = True
    STRIDE = 29
    BY_NIGHT = frozenset(
        (
            "test_a_value_comes_back_or_is_refused_by_a_code",
            "test_a_name_is_that_name_or_refused_by_a_code",
            "test_a_target_is_that_name_or_refused_by_a_code",
            "test_tasks_split_and_join",
            "test_twenty_thousand_rows_are_one_transaction",
            "test_a_reader_adds_up_the_same_after_kills_of_who_delivers",
            "test_a_transaction_that_lasts_too_long_is_delivered_again",
            "test_a_partition_that_gets_another_leader_is_asked_again",
            "test_the_broker_is_killed_in_the_middle_of_commits",
            "test_a_broker_that_hangs_or_restarts_in_a_transaction",
            "test_one_that_is_closed_leaves_no_threads",
        )
    )
    """What takes seconds, or waits for clocks of the broker's."""

    @pytest.mark.parametrize("name", list(NAMES))
    def test_a_target_is_that_name_or_refused_by_a_code(self, site: Site, name: str) -> None:
        assert isinstance(site, KafkaSite)
        site.topic = ""
        super().test_a_target_is_that_name_or_refused_by_a_code(site, name)

    # -- what a reader sees ------------------------------------------------------------------------

    def test_updates_of_what_is_reduced_and_tombstones(self, site: KafkaSite) -> None:
        changes: list[Change] = [(I, row(1, v)) for v in (-1, 3, 2, 6, -7, -1)]
        changes += [(D, {"k": 1}), (I, row(1, 5))]
        site.deliver(MADE, changes, size=3)
        key = {"k": 1}
        assert site.messages() == [
            (key, row(1, 4)), (key, row(1, -2)), (key, None), (key, row(1, 5))
        ]  # fmt: skip

    def test_a_row_that_replaces_another_is_one_message(self, site: KafkaSite) -> None:
        changes: list[Change] = [(I, {"k": 1, "v": 1}), (I, {"k": 2, "v": 2})]
        changes += [(D, {"k": 1}), (I, {"k": 1, "v": 9}), (D, {"k": 2})]
        site.deliver(PLAIN, changes, size=3)
        site.deliver(PLAIN, changes, size=3)
        found = [(key["k"], value and value["v"]) for key, value in site.messages()]
        assert sorted(found[:2]) == [(1, 1), (2, 2)] or found[0] == (2, 2)
        assert found[-2:] in ([(1, 9), (2, None)], [(2, None), (1, 9)])

    def test_a_key_of_text_is_the_same_bytes_each_time(self, site: KafkaSite) -> None:
        made = binding(("k", pa.string()), ("v", pa.int64()), delta=True)
        site.deliver(made, [(I, {"k": 'é"\\\n🚆', "v": 1}), (D, {"k": 'é"\\\n🚆'})], size=1)
        assert site.messages() == [({"k": "é\"\\\n🚆"}, {"k": "é\"\\\n🚆", "v": 1}),
                                   ({"k": "é\"\\\n🚆"}, None)]  # fmt: skip

    def test_a_key_keeps_to_one_partition_of_many(self, site: KafkaSite) -> None:
        changes = events(7, 80, keys=20)
        site.deliver(MADE, changes, size=30, options={"partitions": "3", "replication": "1"})
        found = site.server.admin.list_topics(timeout=10).topics[site.topic]
        assert len(found.partitions) == 3
        assert site.rows(MADE) == oracle(MADE, changes)

    def test_twenty_thousand_rows_are_one_transaction(self, site: KafkaSite) -> None:
        changes: list[Change] = [(I, {"k": k, "v": k}) for k in range(20_000)]
        source = ListSource(PLAIN, changes, len(changes), len(changes))
        (done,) = deliver(PLAIN, source, site.log, site.driver)
        assert done.stored == 20_000
        assert site.rows(PLAIN) == oracle(PLAIN, changes)

    def test_rows_that_are_not_reduced_are_kept_by_key(self, site: KafkaSite) -> None:
        site.deliver(PLAIN, [(I, {"k": 1, "v": 1})])
        assert policy(site) == {"compact", "delete"}
        other = KafkaSite(site.server)
        other.deliver(MADE, [(I, row(1, 1))])
        assert policy(other) == {"delete"}

    # -- whose the topic is ------------------------------------------------------------------------

    def test_a_topic_that_is_there_is_not_ours(self, site: KafkaSite) -> None:
        make_topic(site)
        with refused("DT-6140"):
            site.deliver(MADE, [(I, row(1, 1))])
        site.deliver(MADE, [(I, row(1, 1))], options={"adopt": "true"})
        site.deliver(MADE, [(I, row(1, 1)), (I, row(1, 2))], size=1)
        assert site.rows(MADE) == {(1,): row(1, 3)}

    def test_two_sinks_into_one_topic_are_refused(self, site: KafkaSite) -> None:
        site.deliver(MADE, [(I, row(1, 1))])
        with refused("DT-6141"):
            site.deliver(MADE, [], sink="other")

    @pytest.mark.parametrize(("other", "after"), [("other", "DT-6141"), ("s", "")])
    def test_of_two_that_open_a_new_topic_at_once_one_has_it(
        self, site: KafkaSite, monkeypatch: pytest.MonkeyPatch, other: str, after: str
    ) -> None:
        real, came = KafkaStore._make_checkpoints, list[str]()

        def interrupted(self: KafkaStore) -> None:
            if not came:
                came.append(other)
                site.deliver(MADE, [(I, row(1, 1))], sink=other)
            real(self)

        monkeypatch.setattr(KafkaStore, "_make_checkpoints", interrupted)
        with refused("DT-6122"):
            site.deliver(MADE, [(I, row(1, 1))])
        if after:
            with refused(after):
                site.deliver(MADE, [(I, row(1, 1))])
        else:
            site.deliver(MADE, [(I, row(1, 1))])
        assert site.rows(MADE) == {(1,): row(1, 1)}

    def test_what_is_compacted_takes_no_sums(self, site: KafkaSite) -> None:
        make_topic(site, **{"cleanup.policy": "compact"})
        with refused("DT-6142"):
            site.deliver(MADE, [(I, row(1, 1))], options={"adopt": "true"})
        site.deliver(PLAIN, [(I, {"k": 1, "v": 1})], options={"adopt": "true"})
        driver = site.driver()
        with refused("DT-6144"):
            driver.forget(PLAIN, "s", empty=True)
        driver.close()
        site.deliver(PLAIN, [(I, {"k": 1, "v": 1}), (I, {"k": 2, "v": 2})], size=1)
        assert len(site.rows(PLAIN)) == 2

    def test_another_key_makes_the_sink_wait(self, site: KafkaSite) -> None:
        site.deliver(PLAIN, [(I, {"k": 1, "v": 1})])
        made = binding(("k", pa.int64()), ("v", pa.int64()), key=("v",), delta=True)
        with refused("DT-6142"):
            site.deliver(made, [])

    def test_a_topic_that_is_deleted_is_told(self, site: KafkaSite) -> None:
        site.deliver(MADE, [(I, row(1, 1))])
        site.server.admin.delete_topics([site.topic])[site.topic].result()
        with refused("DT-6143"):
            site.deliver(MADE, [(I, row(1, 1)), (I, row(1, 1))], size=1)
        make_topic(site)
        with refused("DT-6143"):
            site.deliver(MADE, [(I, row(1, 1)), (I, row(1, 1))], size=1)
        self.forget(site, empty=True)
        site.deliver(MADE, [(I, row(1, 5))])
        assert site.rows(MADE) == {(1,): row(1, 5)}

    def test_a_topic_deleted_while_it_is_delivered_to_is_told(self, site: KafkaSite) -> None:
        talk = Talk(site, MADE)
        talk.flush()
        talk.store(row(1, 1))
        site.server.admin.delete_topics([site.topic])[site.topic].result()
        talk.send(m.StartCommit({"at": 1}))
        with refused("DT-6143"):
            talk.hear(m.StartedCommit)
        talk.close()

    def test_checkpoints_that_are_deleted_are_told(self, site: KafkaSite) -> None:
        """Nothing is added up twice, not where the topic may be taken over either."""
        site.deliver(MADE, [(I, row(1, 1))])
        lost = f"{site.topic}.dt-checkpoints"
        site.server.admin.delete_topics([lost])[lost].result()
        for options in ({}, {"adopt": "true"}):
            with refused("DT-6143" if options else "DT-6140"):
                site.deliver(MADE, [(I, row(1, 1))], options=options)
        assert site.rows(MADE) == {(1,): row(1, 1)}

    def test_partitions_that_are_added_are_told(self, site: KafkaSite) -> None:
        site.deliver(MADE, [(I, row(1, 1))])
        more = NewPartitions(site.topic, 4)
        site.server.admin.create_partitions([more])[site.topic].result()
        with refused("DT-6143"):
            site.deliver(MADE, [(I, row(1, 1)), (I, row(1, 1))], size=1)

    def test_a_reset_that_was_not_finished_is_told_and_can_be(
        self, site: KafkaSite, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any) -> None:
            raise KeyboardInterrupt

        site.deliver(MADE, [(I, row(1, 1))])
        with monkeypatch.context() as patch:
            patch.setattr(KafkaCluster, "empty_topic", fail)
            with pytest.raises(KeyboardInterrupt):
                self.forget(site, empty=True)
        with refused("DT-6143"):
            site.deliver(MADE, [])
        self.forget(site, empty=True)
        site.deliver(MADE, [(I, row(1, 5))])
        assert site.rows(MADE) == {(1,): row(1, 5)}

    def test_names_that_only_dots_tell_apart_are_refused(self, site: KafkaSite) -> None:
        site.topic += ".x"
        site.deliver(MADE, [])
        site.topic = site.topic.replace(".", "_")
        with refused("DT-6134"):
            site.deliver(MADE, [])

    @pytest.mark.parametrize("topic", ["__consumer_offsets", "t.dt-checkpoints", "x" * 235, ".."])
    def test_names_with_another_use_are_refused(self, site: KafkaSite, topic: str) -> None:
        site.topic = topic
        with refused("DT-6134"):
            site.deliver(MADE, [], options={"adopt": "true"})

    def test_rows_that_would_have_to_be_loaded_are_refused(self, site: KafkaSite) -> None:
        with refused("DT-6144"):
            site.deliver(summed(), [])

    def test_a_message_that_is_too_large_is_told_by_its_column(self, site: KafkaSite) -> None:
        make_topic(site, **{"max.message.bytes": "2000"})
        small, large = row(1, 1), row(2, 1, "x" * 3000)
        with refused("DT-6133") as problem:
            site.deliver(MADE, [(I, small), (I, large)], options={"adopt": "true"})
        assert "Column name" in str(problem[0]) or "column name" in str(problem[0])
        assert site.rows(MADE) == {}
        many: list[Change] = [(I, row(k, 1, "x" * 700)) for k in range(40)]
        site.deliver(MADE, many, size=40, options={"adopt": "true"})
        assert len(site.rows(MADE)) == 40

    # -- who delivers ------------------------------------------------------------------------------

    def test_the_zombie_of_a_split_commits_nothing(self, site: KafkaSite) -> None:
        talk = Talk(site, MADE)
        talk.flush()
        Talk(site, MADE, Task("s", LEFT)).close()
        talk.store(row(1, 5))
        talk.send(m.StartCommit({"at": 1}))
        with refused("DT-6122"):
            talk.hear(m.StartedCommit)
        talk.close()
        assert site.rows(MADE) == {}

    def test_a_newcomer_does_not_wait_for_whom_it_fences(self, site: KafkaSite) -> None:
        """A transaction that nobody will end is aborted by who comes after, also by a part."""
        begun = time.monotonic()
        for task in (Task("s"), Task("s", LEFT), Task("s")):
            talk = Talk(site, MADE, task)
            talk.flush()
            talk.store(row(1, 5))
            if task.range != LEFT:
                talk.start(1)
        talk.close()
        assert time.monotonic() - begun < 20
        assert site.rows(MADE) == {}

    def test_a_checkpoint_behind_one_that_is_not_decided_is_not_missed(
        self, site: KafkaSite
    ) -> None:
        """What one task has prepared hides what another commits after it from readers. Told as
        undecided, and tried again: the one that prepared it is only slow to commit."""
        left, right = Talk(site, MADE, Task("s", LEFT)), Talk(site, MADE, Task("s", RIGHT))
        for talk, at in ((right, 1), (left, 2)):
            talk.flush()
            talk.store(row(at, 1))
            talk.start(at)
        left.acknowledge()
        left.close()
        driver = site.driver(timeout="1.5")
        with refused("DT-6112") as problem:
            list(driver.handle(m.Open(MADE, Task("s", LEFT))))
        assert is_transient(problem[0])
        driver.close()
        right.acknowledge()
        again = Talk(site, MADE, Task("s", LEFT))
        assert again.opened.runtime_checkpoint == {"at": 2}
        again.close()
        right.close()

    def test_a_transaction_that_lasts_too_long_is_delivered_again(self, site: KafkaSite) -> None:
        talk = Talk(site, MADE, timeout="1")
        talk.flush()
        talk.store(row(1, 5))
        talk.start(1)
        time.sleep(2)
        talk.send(m.Acknowledge())
        with refused("DT-6113") as problem:
            talk.hear(m.Acknowledged)
        assert is_transient(problem[0])
        talk.close()
        site.deliver(MADE, [(I, row(1, 5))])
        assert site.rows(MADE) == {(1,): row(1, 5)}

    @pytest.mark.skipif(not TASKS.exists(), reason="this system does not list threads there")
    def test_one_that_is_closed_leaves_no_threads(self, site: KafkaSite) -> None:
        """At once, so also while nothing is collected."""
        site.deliver(MADE, [(I, row(1, 1))])
        gc.disable()
        try:
            before = len(list(TASKS.iterdir()))
            for _ in range(3):
                site.deliver(MADE, [(I, row(1, 1))])
            assert len(list(TASKS.iterdir())) <= before
        finally:
            gc.enable()

    # -- a broker that does not answer -------------------------------------------------------------

    def test_nobody_listens(self, site: KafkaSite) -> None:
        site.port = free_port()
        begun = time.monotonic()
        with refused("DT-6110") as problem:
            site.deliver(MADE, [])
        assert is_transient(problem[0])
        assert time.monotonic() - begun < 5

    def test_a_partition_that_gets_another_leader_is_asked_again(
        self, site: KafkaSite, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, moved = KafkaCluster._result, list[Any]()

        def result(self: KafkaCluster, future: Any, seconds: float | None = None) -> Any:
            found = real(self, future, seconds)
            if isinstance(found, ListOffsetsResultInfo) and not moved:
                moved.append(found)
                raise KafkaException(KafkaError(KafkaError.UNKNOWN_LEADER_EPOCH))
            return found

        site.deliver(MADE, [(I, row(1, 5))])
        monkeypatch.setattr(KafkaCluster, "_result", result)
        site.deliver(MADE, [(I, row(1, 5)), (I, row(1, 2))], size=1)
        assert moved
        assert site.rows(MADE) == {(1,): row(1, 7)}

    def test_a_transaction_that_nobody_ends_is_told_as_what_it_is(self, site: KafkaSite) -> None:
        site.deliver(MADE, [(I, row(1, 5))])
        settings = {"bootstrap.servers": f"127.0.0.1:{site.port}", "log_level": 0}
        other = Producer({**settings, "transactional.id": site.topic})
        other.init_transactions()
        other.begin_transaction()
        other.produce(f"{site.topic}.dt-checkpoints", key=str(Task("s").range), value="{}")
        other.flush()
        changes: list[Change] = [(I, row(1, 5)), (I, row(1, 2))]
        with refused("DT-6112") as found:
            site.deliver(MADE, changes, size=1, options={"timeout": "1"})
        assert "neither committed nor aborted" in str(found[0])
        assert "kafka-transactions.sh" in str(found[0])
        assert is_transient(found[0])
        assert site.server.end_hanging() == [], "its producer may end it yet"
        other.abort_transaction()
        site.deliver(MADE, changes, size=1)
        assert site.rows(MADE) == {(1,): row(1, 7)}

    def test_the_broker_is_killed_in_the_middle_of_commits(self, site: KafkaSite) -> None:
        def disturb() -> None:
            time.sleep(0.3)
            site.server.stop()
            site.server.start()

        assert deliver_while_disturbed(site, disturb) >= 1

    def test_a_reader_adds_up_the_same_after_kills_of_who_delivers(
        self, site: KafkaSite, tmp_path: Path
    ) -> None:
        """What the dead left is aborted by who comes after them."""
        assert all(kill_at(tmp_path, at, site.url()) for at in (37, 21))
        run(tmp_path, 0, site.url())
        assert site.rows(MADE) == oracle(MADE, events(3, 9))

    # -- the login ---------------------------------------------------------------------------------

    def test_a_login(self, site: KafkaSite, monkeypatch: pytest.MonkeyPatch) -> None:
        let_in(site.server, "ann", "r1ght-pa55word")
        url = f"kafkas://ann@127.0.0.1:{site.server.login_port}/{site.topic}"
        monkeypatch.setattr(site, "url", lambda: url)
        monkeypatch.setenv("SINK_PASSWORD", "r1ght-pa55word")
        trusted = {"ca_file": str(site.server.certificate)}
        login = {**trusted, "password": "secret://env/SINK_PASSWORD"}
        site.deliver(MADE, [(I, row(1, 1))], options=login)
        assert site.rows(MADE) == {(1,): row(1, 1)}
        for options, code in (
            ({**login, "mechanism": "MD5"}, "DT-1003"),
            ({"password": "secret://env/SINK_PASSWORD"}, "DT-6110"),  # a certificate of nobody
            (trusted, "DT-6111"),
        ):
            with refused(code):
                site.deliver(MADE, [], options=options)
        monkeypatch.setenv("SINK_PASSWORD", "wr0ng-pa55word")
        with refused("DT-6111") as problem:
            site.deliver(MADE, [], options=login)
        assert "pa55word" not in "".join(traceback.format_exception(problem[0]))

    def test_a_broker_of_another_kind(self, site: KafkaSite) -> None:
        """TLS where none is spoken, and none where it is."""
        for scheme, port in (("kafkas", site.port), ("kafka", site.server.login_port)):
            patient = "connect_timeout=60"  # a busy broker takes long to see what it is told
            address = parse_store_url(f"{scheme}://127.0.0.1:{port}/{site.topic}?{patient}")
            with refused("DT-6110"):
                deliver(MADE, ListSource(MADE, []), site.log, lambda a=address: open_driver(a))

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"partitions": "0"}, "DT-1003"),
            ({"replication": "x"}, "DT-1003"),
            ({"timeout": "1000"}, "DT-1003"),
            ({"table": "t"}, "DT-1002"),
            ({"ca_file": "x"}, "DT-1002"),
            ({"replication": "3"}, "DT-6144"),
        ],
    )
    def test_an_option_that_cannot_be(
        self, site: KafkaSite, options: dict[str, str], code: str
    ) -> None:
        with refused(code):
            site.deliver(MADE, [], options=options)

    def test_a_broker_that_hangs_or_restarts_in_a_transaction(self, site: KafkaSite) -> None:
        talk = Talk(site, MADE, timeout="1")
        talk.flush()
        talk.store(row(1, 5))
        talk.start(1)
        with site.server.paused():
            talk.send(m.Acknowledge())
            with refused("DT-6113"):
                talk.hear(m.Acknowledged)
            talk.close()
        again = Talk(site, MADE)
        assert again.opened.runtime_checkpoint in (None, {"at": 1})
        again.close()
        changes: list[Change] = [(I, row(1, 5)), (I, row(1, 2))]
        site.deliver(MADE, changes, size=1)
        talk = Talk(site, MADE)
        talk.flush()
        talk.store(row(1, 3))
        talk.start(3)
        site.server.stop()
        site.server.start()
        talk.acknowledge()
        talk.close()
        assert site.rows(MADE) == {(1,): row(1, 10)}


def policy(site: KafkaSite) -> set[str]:
    asked = ConfigResource(ResourceType.TOPIC, site.topic)
    found = site.server.admin.describe_configs([asked])[asked].result()
    return set(found["cleanup.policy"].value.split(","))


def make_topic(site: KafkaSite, **config: str) -> None:
    made = NewTopic(site.topic, 1, 1, config=config)
    site.server.admin.create_topics([made])[site.topic].result()


def let_in(server: KafkaServer, user: str, password: str) -> None:
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    asked = UserScramCredentialUpsertion(user, credential, password.encode())
    server.admin.alter_user_scram_credentials([asked])[user].result()
