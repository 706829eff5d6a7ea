"""What every driver has to pass, against its real store."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sinks import (
    Binding,
    DirectChannel,
    HashRange,
    ReduceRule,
    Strategy,
    messages as m,
)
from tests.sinks.site import Site, Talk, die_after_log, row
from tests.sinks.values import NAMES, VALUES
from tests.unit.sinks.lab import (
    LEFT,
    RIGHT,
    Change,
    Countdown,
    Crash,
    CrashingChannel,
    CrashingDriver,
    CrashingLog,
    D,
    I,
    ListSource,
    Row,
    binding,
    deliver,
    delivery,
    events,
    oracle,
    refused,
    summed,
)

LONG, TEXT = pa.int64(), pa.string()


def same(found: Any, given: Any) -> bool:
    """Equal, NaN as well, and -0.0 is not 0.0."""
    if isinstance(given, float):
        return repr(float(found)) == repr(given)
    if isinstance(given, Mapping):
        return all(same(found[k], v) for k, v in given.items())
    if isinstance(given, list):
        pairs: Iterator[tuple[Any, Any]] = zip(found, given, strict=True)
        return all(same(a, b) for a, b in pairs)
    return type(found) is type(given) and bool(found == given)


class Conformance:
    """For every driver: what its store has is what the changes come to."""

    DELTA = False
    """As its site."""

    @property
    def summed(self) -> Binding:
        return summed(delta=self.DELTA)

    def binding(self, *columns: tuple[str, pa.DataType], **more: Any) -> Binding:
        return binding(*columns, delta=self.DELTA, **more)

    # -- the contract ------------------------------------------------------------------------------

    def test_acknowledge_twice_is_refused(self, site: Site) -> None:
        talk = Talk(site, self.summed)
        talk.send(m.Acknowledge())
        with refused("DT-6120"):
            talk.hear(m.Acknowledged)
        talk.close()

    def test_what_was_not_committed_is_gone(self, site: Site) -> None:
        talk = Talk(site, self.summed)
        talk.flush()
        talk.store(row(1, 5))
        talk.close()
        again = Talk(site, self.summed)
        assert self.found(site, again, 1) == []
        again.close()

    def test_a_deleted_row_is_gone_and_can_come_back(self, site: Site) -> None:
        made = self.binding(("k", LONG), ("v", LONG))
        changes: list[Change] = [(I, {"k": 1, "v": 1}), (I, {"k": 2, "v": 2})]
        site.deliver(made, [*changes, (D, {"k": 1})], size=2)
        assert site.rows(made) == {(2,): {"k": 2, "v": 2}}
        site.deliver(made, [*changes, (D, {"k": 1}), (I, {"k": 1, "v": 9})], size=1)
        assert site.rows(made)[1,]["v"] == 9

    def test_many_rows_and_messages(self, site: Site) -> None:
        changes = events(11, 300, keys=60)
        site.deliver(self.summed, changes, size=120)
        assert site.rows(self.summed) == oracle(self.summed, changes)

    def test_a_key_of_two_columns(self, site: Site) -> None:
        rules = {"v": ReduceRule(Strategy.SUM)}
        made = self.binding(("j", TEXT), ("k", LONG), ("v", LONG), key=("k", "j"), rules=rules)
        changes: list[Change] = [(I, {"k": n % 2, "j": "xyz"[n % 3], "v": n}) for n in range(24)]
        site.deliver(made, changes, size=7)
        assert site.rows(made) == oracle(made, changes)

    # -- crashes -----------------------------------------------------------------------------------

    STRIDE = 9
    """Of the points of a crash, every so many'th; all of them by night."""

    @pytest.mark.parametrize("where", ["channel", "driver"])
    def test_a_crash_at_any_message_leaves_every_sum_exact(
        self, fresh: Callable[[], Site], where: str
    ) -> None:
        changes = events(3, 9)
        expected = oracle(self.summed, changes)
        start = 1 + random.Random(where).randrange(self.STRIDE)
        for at in range(start, 200, self.STRIDE):
            site = fresh()
            crashed = self.crash(site, changes, at, where)
            site.deliver(self.summed, changes, size=3)
            assert site.rows(self.summed) == expected, at
            if not crashed:
                assert at > 30
                return
        raise AssertionError("the run never ended")

    def crash(self, site: Site, changes: list[Change], at: int, where: str) -> bool:
        countdown = Countdown(at)
        source = ListSource(self.summed, changes, 3)
        if where == "channel":
            dying = delivery(
                self.summed, source, CrashingLog(site.log, countdown), site.driver,
                channel=lambda d: CrashingChannel(DirectChannel(d), countdown),
            )  # fmt: skip
        else:
            dying = delivery(
                self.summed, source, site.log, lambda: CrashingDriver(site.driver(), countdown)
            )
        try:
            list(dying.deliver())
        except Crash:
            dying.close()  # what the system does with the sockets and files of a dead process
            return True
        dying.close()
        return False

    JOINS = True
    """Whether tasks become one again: not where each has something staged."""

    # -- fences ------------------------------------------------------------------------------------

    def test_a_newcomer_goes_on_from_the_last_commit(self, site: Site) -> None:
        changes = events(1, 6)
        site.deliver(self.summed, changes[:3], size=3)
        source = ListSource(self.summed, changes, 3)
        deliver(self.summed, source, site.log, site.driver)
        assert source.asked[0] == {"at": 3}
        assert site.rows(self.summed) == oracle(self.summed, changes)

    @pytest.mark.parametrize("before", ["flush", "store", "start"])
    def test_a_newcomer_opens_while_the_old_one_commits(self, site: Site, before: str) -> None:
        changes = events(4, 3)
        source = ListSource(self.summed, changes, 3)

        class Interrupted(DirectChannel):
            def send(channel, message: Any) -> None:
                if type(message).__name__.lower().startswith(before):
                    site.deliver(self.summed, changes, size=3)
                super().send(message)

        old = delivery(self.summed, source, site.log, site.driver, channel=Interrupted)
        with suppress(DTError), old:
            list(old.deliver())
        assert site.rows(self.summed) == oracle(self.summed, changes)

    def test_tasks_split_and_join(self, site: Site) -> None:
        changes = events(6, 60, keys=20)
        site.deliver(self.summed, changes[:20], size=20)
        for part in (LEFT, RIGHT):
            site.deliver(self.summed, changes[:40], range=part, size=20)
        assert site.rows(self.summed) == oracle(self.summed, changes[:40])
        if not self.JOINS:
            with refused("DT-6123"):
                site.deliver(self.summed, changes, size=10)
            return
        straddle = HashRange(0x4000_0000, 0xBFFF_FFFF)
        site.deliver(self.summed, changes[:50], range=straddle, size=10)
        with refused("DT-6123"):
            site.deliver(self.summed, changes, size=10)
        low, high = HashRange(0, 0x3FFF_FFFF), HashRange(0xC000_0000, 0xFFFF_FFFF)
        for part in (low, high):
            site.deliver(self.summed, changes[:50], range=part, size=10)
        site.deliver(self.summed, changes, size=10)
        assert site.rows(self.summed) == oracle(self.summed, changes)

    # -- an end, and a new beginning ----

    def test_reset_delivers_everything_again_into_an_empty_target(self, site: Site) -> None:
        site.deliver(self.summed, [(I, row(1, 5)), (I, row(2, 5))])
        self.forget(site, empty=True)
        assert site.rows(self.summed) == {}
        site.deliver(self.summed, [(I, row(1, 7))])
        assert site.rows(self.summed) == {(1,): row(1, 7)}

    def test_reset_fences_who_delivers(self, site: Site) -> None:
        old = delivery(self.summed, ListSource(self.summed, events(1, 6)), site.log, site.driver)
        going = old.deliver()
        next(going)
        self.forget(site, empty=True)
        with refused(self.FENCED):
            list(going)
        old.close()
        site.deliver(self.summed, events(1, 6))
        assert site.rows(self.summed) == oracle(self.summed, events(1, 6))

    def test_reset_fences_who_delivers_also_when_another_has_begun_anew(self, site: Site) -> None:
        old = delivery(self.summed, ListSource(self.summed, events(1, 6)), site.log, site.driver)
        going = old.deliver()
        next(going)
        self.forget(site, empty=True)
        site.deliver(self.summed, events(1, 6))
        with refused("DT-6122"):
            list(going)
        old.close()
        assert site.rows(self.summed) == oracle(self.summed, events(1, 6))

    FENCED = "DT-6122"

    def test_a_target_that_is_let_go_keeps_its_rows(self, site: Site) -> None:
        site.deliver(self.summed, [(I, row(1, 5))])
        self.forget(site, empty=False)
        assert site.rows(self.summed) == {(1,): row(1, 5)}
        with refused("DT-6140"):
            site.deliver(self.summed, [(I, row(1, 5))])

    def test_what_was_never_made_leaves_its_target_to_others(self, site: Site) -> None:
        site.deliver(self.summed, [(I, row(1, 5)), (I, row(2, 5))])
        self.forget(site, empty=True, unmake=True)
        site.deliver(self.summed, [(I, row(1, 7))], sink="another")
        assert site.rows(self.summed) == {(1,): row(1, 7)}

    def forget(self, site: Site, *, empty: bool, unmake: bool = False) -> None:
        driver = site.driver()
        driver.forget(self.summed, "s", empty=empty, unmake=unmake)
        driver.close()
        site.log.rows.clear()

    def test_a_target_of_another_sink_is_not_touched(self, site: Site) -> None:
        site.deliver(self.summed, [(I, row(1, 5))])
        driver = site.driver()
        driver.forget(self.summed, "other", empty=True)
        driver.close()
        assert site.rows(self.summed) == {(1,): row(1, 5)}
        site.deliver(self.summed, [(I, row(1, 5)), (I, row(1, 5)), (I, row(1, 2))], size=1)
        assert site.rows(self.summed) == {(1,): row(1, 12)}

    # -- values and names --------------------------------------------------------------------------

    @pytest.mark.parametrize("name", list(VALUES))
    def test_a_value_comes_back_or_is_refused_by_a_code(self, site: Site, name: str) -> None:
        kind, values = VALUES[name]
        made = self.binding(("k", LONG), ("v", kind), target="vals")
        talk: Talk | None = None
        for number, value in enumerate(values):
            try:
                if talk is None:
                    talk = Talk(site, made)
                    talk.flush()
                talk.store({"k": number, "v": value})
                talk.start(number)
                talk.acknowledge()
                (found,) = self.found(site, talk, number)
                assert same(found["v"], value) or name in self.NEARLY, (found["v"], value)
            except DTError as e:
                if e.code not in ("DT-6132", "DT-6133") or name not in self.REFUSED:
                    raise
                if talk is not None:
                    talk.close()
                    talk = None
                    assert self.is_absent(site, made, number)
        if talk is not None:
            talk.close()

    REFUSED: frozenset[str] = frozenset()
    """Values that the store cannot hold."""
    NEARLY: frozenset[str] = frozenset()
    """Values that come back equal, but not the same."""

    def is_absent(self, site: Site, made: Binding, number: int) -> bool:
        talk = Talk(site, made)
        found = self.found(site, talk, number)
        talk.close()
        return found == []

    def found(self, site: Site, talk: Talk, number: int) -> list[Row]:
        """The row of a key, or none; rows can be stored after it."""
        talk.flush()
        return [row for (k,), row in site.rows(talk.made).items() if k == number]

    @pytest.mark.parametrize("name", list(NAMES))
    def test_a_name_is_that_name_or_refused_by_a_code(self, site: Site, name: str) -> None:
        column = NAMES[name]
        made = self.binding(("k", LONG), (column, LONG), target="named")
        self.one_name(site, made, {"k": 1, column: 7})

    @pytest.mark.parametrize("name", list(NAMES))
    def test_a_target_is_that_name_or_refused_by_a_code(self, site: Site, name: str) -> None:
        made = self.binding(("k", LONG), ("v", LONG), target=NAMES[name])
        self.one_name(site, made, {"k": 1, "v": 7})

    @staticmethod
    def one_name(site: Site, made: Binding, only: Row) -> None:
        try:
            site.deliver(made, [(I, only)])
        except DTError as e:
            if e.code not in ("DT-6134", "DT-6135"):
                raise
            return
        assert site.rows(made) == {(1,): only}

    def test_names_that_are_one_are_refused(self, site: Site) -> None:
        for one, other in (("a", "A"), ("\u00e9", "e\u0301"), ("\u212b", "\u00c5")):
            with refused("DT-6135"):
                site.deliver(self.binding(("k", LONG), (one, LONG), (other, LONG)), [])

    def test_a_column_that_cannot_be_stored_is_refused(self, site: Site) -> None:
        for kind in (pa.duration("us"), pa.month_day_nano_interval(), pa.null(), pa.uint64()):
            with refused("DT-6132"):
                site.deliver(self.binding(("k", LONG), ("v", kind)), [])

    def test_an_option_that_nobody_knows_is_refused(self, site: Site) -> None:
        with refused("DT-1002"):
            site.deliver(self.summed, [], options={"adoptt": "true"})


class Protocol(Conformance):
    """For drivers that hold rows which can be loaded again."""

    def found(self, site: Site, talk: Talk, number: int) -> list[Row]:
        return talk.load({"k": number})

    def test_a_key_that_is_not_there_is_left_out(self, site: Site) -> None:
        talk = Talk(site, summed())
        assert talk.load({"k": 1}, {"k": 2}) == []
        talk.store(row(1, 5))
        talk.start(1)
        talk.acknowledge()
        assert talk.load({"k": 1}, {"k": 2}) == [row(1, 5)]
        talk.close()

    def test_loads_that_wait_for_the_commit_see_what_it_stored(self, site: Site) -> None:
        talk = Talk(site, summed())
        talk.flush()
        talk.store(row(1, 5))
        talk.start(1)
        talk.send(m.Acknowledge())
        talk.send(m.Load(pa.Table.from_pylist([{"k": 1}], talk.made.key_schema)))
        talk.hear(m.Acknowledged)
        assert talk.flush() == [row(1, 5)]
        talk.close()

    def test_joined_tasks_apply_what_each_had_staged(self, site: Site) -> None:
        """Both die when the recovery log has their last transactions, and the store not yet."""
        changes = events(7, 40, keys=20)
        for part in (LEFT, RIGHT):
            site.deliver(summed(), changes[:20], range=part, size=20)
        for part in (LEFT, RIGHT):
            die_after_log(site.log, summed(), ListSource(summed(), changes, 20), site.driver, part)
        if not self.JOINS:
            with refused("DT-6123"):
                site.deliver(summed(), changes, size=20)
            return
        site.deliver(summed(), changes, size=20)
        assert site.rows(summed()) == oracle(summed(), changes)
