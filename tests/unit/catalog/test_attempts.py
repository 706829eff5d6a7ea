"""The refresh protocol: leases, fences, standing, failures, skips, recovery."""

from dataclasses import replace
from pathlib import Path

import pytest

from dt_jupyter.catalog import FAILURES_ALLOWED, Overtaken, Owner, Pin, StageRow, UnchangedTable
from dt_jupyter.model import (
    Frontier,
    Reason,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    SchedulingState,
)
from tests.unit.catalog_lab import (
    HERE,
    MANUAL,
    SCHEDULED,
    Lab,
    at,
    definition,
    failure,
    name,
    refused,
    success,
)

THERE = Owner("host-a", 200, "uid-there", "2")
FAR = Owner("host-b", 100, "uid-far")
WHY = Reason("UPSTREAM_REPLACED", "t is another table.")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path)
    lab.make("a")
    return lab


def states(lab: Lab, dt: str = "a") -> list[str]:
    return [str(record.state) for record in lab.catalog.history(name(dt))]


def no_data(t: float, query: str = "nd") -> RefreshRecord:
    return RefreshRecord(
        name("a"), query, RefreshState.SUCCEEDED, SCHEDULED, at(t), action=RefreshAction.NO_DATA
    )


def test_a_refresh_moves_the_standing_and_maps_its_time_to_its_version(lab: Lab) -> None:
    attempt = lab.begin(10)
    assert (attempt.sequence, attempt.epoch, attempt.abandoned) == (1, 1, None)
    assert states(lab) == ["EXECUTING"]
    lab.wall.forward(3)
    stored = lab.finish(attempt)
    assert (stored.duration, stored.warehouse, stored.target_lag_seconds) == (3.0, "default", 60.0)
    assert stored.graph_valid_from == lab.catalog.graph_history()[0].valid_from
    dt = lab.dt()
    assert (dt.sequence, dt.version, dt.data_timestamp) == (1, 11, at(10))
    assert dt.frontier == Frontier(at(10), {"table-t": 1})
    assert lab.catalog.version_of("id-a", at(10)) == 11
    assert lab.catalog.running() == ()
    assert lab.catalog.history() == [stored]


def test_only_one_attempt_lives_at_a_time(lab: Lab) -> None:
    lab.begin(10)
    with refused("DT-2104") as mine:
        lab.begin(20)
    assert mine[0].facts["owner"] == HERE
    assert "process 100 on host-a" in mine[0].sentence
    with refused("DT-2104"):
        lab.open(THERE).begin("id-a", MANUAL, at(20), "other", 30)
    with refused("DT-2104"):
        lab.catalog.no_data("id-a", SCHEDULED, at(20), no_data(20))
    assert states(lab) == ["EXECUTING"]


def test_an_expired_lease_is_taken_over_and_its_holder_fenced(lab: Lab) -> None:
    zombie = lab.begin(10)
    lab.catalog.pin(zombie, [("table-t", 5)])
    lab.wall.forward(31)
    taker = lab.open(FAR).begin("id-a", MANUAL, at(20), "taker", 30)
    assert (taker.epoch, taker.sequence, taker.abandoned) == (2, 1, zombie.id)
    assert states(lab) == ["EXECUTING", "CANCELLED"]
    assert lab.catalog.pins() == ()
    assert not lab.catalog.heartbeat(zombie)
    with refused("DT-2108"):
        lab.finish(zombie)
    with refused("DT-2108"):
        lab.catalog.pin(zombie, [("table-t", 6)])
    assert lab.catalog.fail(zombie, failure(zombie)) is None
    assert lab.dt().sequence == 0
    assert states(lab) == ["EXECUTING", "CANCELLED"]


def test_a_heartbeat_keeps_the_lease(lab: Lab) -> None:
    attempt = lab.begin(10)
    lab.wall.forward(25)
    assert lab.catalog.heartbeat(attempt)
    lab.wall.forward(25)
    with refused("DT-2104"):
        lab.open(FAR).begin("id-a", MANUAL, at(20), "taker", 30)
    assert lab.finish(attempt).state is RefreshState.SUCCEEDED


def test_a_lease_of_a_dead_process_on_this_host_is_free_at_once(lab: Lab) -> None:
    lab.open(THERE).begin("id-a", MANUAL, at(10), "theirs", 1000)
    with refused("DT-2104"):
        lab.begin(20)
    lab.dead.add(THERE.uid)
    assert lab.begin(20).abandoned == "theirs"


def test_a_lease_of_another_host_is_held_until_it_runs_out(lab: Lab) -> None:
    lab.open(FAR).begin("id-a", MANUAL, at(10), "theirs", 1000)
    lab.dead.add(FAR.uid)  # whatever runs under that pid here says nothing of that host
    with refused("DT-2104"):
        lab.begin(20)


def test_time_goes_forward(lab: Lab) -> None:
    lab.refresh(10)
    for t in (5, 10):
        with refused("DT-2109") as problem:
            lab.begin(t)
        assert problem[0].facts["low"] == at(10)
        with refused("DT-2109"):
            lab.catalog.no_data("id-a", MANUAL, at(t), no_data(t))
    assert lab.refresh(11).state is RefreshState.SUCCEEDED


def test_a_tick_that_failed_is_not_tried_again_but_a_manual_refresh_may(lab: Lab) -> None:
    lab.fail(10)
    with refused("DT-2109"):
        lab.begin(10, SCHEDULED)
    lab.refresh(10, MANUAL)
    assert states(lab) == ["SUCCEEDED", "FAILED"]


def test_a_tick_whose_process_died_is_tried_again(lab: Lab) -> None:
    lab.open(THERE).begin("id-a", SCHEDULED, at(10), "theirs", 1000)
    lab.dead.add(THERE.uid)
    assert lab.refresh(10, SCHEDULED).state is RefreshState.SUCCEEDED
    assert lab.catalog.last_ticks() == {"id-a": at(10)}


def test_nothing_begins_on_a_dropped_table_and_dropping_fences(lab: Lab) -> None:
    attempt = lab.begin(10)
    lab.catalog.drop(name("a"))
    assert not lab.catalog.heartbeat(attempt)
    assert states(lab) == ["CANCELLED"]
    with refused("DT-1101"):
        lab.begin(20)
    with refused("DT-1101"):
        lab.catalog.begin("nobody", MANUAL, at(20), "q", 30)


def test_no_data_moves_the_time_and_nothing_else(lab: Lab) -> None:
    lab.refresh(10)
    before = lab.dt()
    stored = lab.catalog.no_data("id-a", SCHEDULED, at(20), no_data(20))
    after = lab.dt()
    assert after == replace(before, frontier=Frontier(at(20), {"table-t": 1}))
    assert (stored.version, stored.frontier, stored.end) == (11, after.frontier, stored.start)
    assert lab.catalog.version_of("id-a", at(20)) == 11
    assert lab.catalog.history(name("a"))[0] == stored
    assert lab.catalog.last_ticks() == {"id-a": at(20)}


def test_no_data_takes_the_frontier_that_it_is_given(lab: Lab) -> None:
    lab.refresh(10)
    optimised = Frontier(at(20), {"table-t": 2})
    lab.catalog.no_data("id-a", MANUAL, at(20), replace(no_data(20), frontier=optimised))
    assert lab.dt().frontier == optimised


@pytest.mark.parametrize("action", ["begin", "no_data"])
def test_what_it_read_at_is_recorded_with_its_first_write(lab: Lab, action: str) -> None:
    lab.refresh(10)

    def write(now: float, after: int, **resolved: int) -> object:
        if action == "no_data":
            record = no_data(now, f"nd{now}")
            return lab.catalog.no_data("id-a", MANUAL, at(now), record, after, resolved)
        attempt = lab.catalog.begin("id-a", MANUAL, at(now), f"q{now}", 30, (), after, resolved)
        return lab.catalog.fail(attempt, failure(attempt))

    write(20, 1, t=5, u=6)
    assert lab.catalog.resolved(at(20)) == {"t": 5, "u": 6}
    history = states(lab)
    lab.catalog.resolve(at(30), "t", lambda: 7)  # another one was first
    with pytest.raises(Overtaken):
        write(30, 1, t=8, u=9)
    with pytest.raises(Overtaken):
        write(40, 0, t=8)
    assert lab.catalog.resolved(at(30)) == {"t": 7}
    assert lab.catalog.resolved(at(40)) == {}
    assert states(lab) == history
    write(30, 1, t=7, u=9)
    assert lab.catalog.resolved(at(30)) == {"t": 7, "u": 9}


def test_no_data_is_not_recorded_of_a_table_that_must_be_made_anew_since(lab: Lab) -> None:
    lab.refresh(10)
    lab.catalog.update("id-a", needs_reinit=WHY)
    with pytest.raises(Overtaken):
        lab.catalog.no_data("id-a", MANUAL, at(20), no_data(20), 1)
    assert lab.dt().data_timestamp == at(10)


def test_no_data_needs_data_before(lab: Lab) -> None:
    with refused("DT-2101"):
        lab.catalog.no_data("id-a", MANUAL, at(20), no_data(20))
    assert lab.catalog.history() == []


def test_no_data_cancels_a_dead_attempt(lab: Lab) -> None:
    lab.refresh(10)
    zombie = lab.begin(15)
    lab.wall.forward(31)
    lab.catalog.no_data("id-a", MANUAL, at(20), no_data(20))
    assert states(lab) == ["SUCCEEDED", "CANCELLED", "SUCCEEDED"]
    with refused("DT-2108"):
        lab.finish(zombie)


def test_no_data_under_a_lease_takes_no_sequence(lab: Lab) -> None:
    lab.refresh(10)
    attempt = lab.begin(20)
    lab.catalog.finish(
        attempt,
        success(attempt, RefreshAction.NO_DATA),
        frontier=Frontier(at(20), {"table-t": 1}),
        sequence=1,
        version=11,
    )
    assert (lab.dt().sequence, lab.dt().data_timestamp) == (1, at(20))
    assert lab.begin(30).sequence == 2


@pytest.mark.parametrize(("sequence", "version"), [(3, 12), (0, 12), (1, 99)])
def test_a_sequence_with_a_gap_is_refused(lab: Lab, sequence: int, version: int) -> None:
    lab.refresh(10)
    attempt = lab.begin(20)
    with refused("DT-2108"):
        lab.finish(attempt, sequence=sequence, version=version)
    assert lab.dt().sequence == 1


def test_five_scheduled_failures_in_a_row_suspend(lab: Lab) -> None:
    for n in range(FAILURES_ALLOWED):
        assert lab.dt().scheduling is SchedulingState.ACTIVE
        lab.fail(n + 1)
        assert lab.dt().error_count == n + 1
    dt = lab.dt()
    assert dt.scheduling is SchedulingState.SUSPENDED
    assert dt.scheduling_reason is not None
    assert dt.scheduling_reason.code == "TOO_MANY_FAILURES"
    assert "division by zero" in dt.scheduling_reason.sentence
    assert lab.catalog.error_at("id-a", at(FAILURES_ALLOWED)) == "division by zero"
    assert lab.catalog.error_at("id-a", at(FAILURES_ALLOWED + 1)) is None
    assert lab.catalog.graph_history()[0].scheduling is SchedulingState.SUSPENDED


def test_a_success_clears_the_counter(lab: Lab) -> None:
    for n in range(FAILURES_ALLOWED - 1):
        lab.fail(n + 1)
    lab.catalog.record_skip("id-a", at(50), RefreshState.SKIPPED, WHY)
    assert lab.dt().error_count == FAILURES_ALLOWED - 1
    lab.refresh(60)
    assert lab.dt().error_count == 0
    lab.fail(70)
    assert lab.dt().scheduling is SchedulingState.ACTIVE


def test_manual_failures_and_cancellations_do_not_count(lab: Lab) -> None:
    lab.fail(10, MANUAL)
    attempt = lab.begin(20, SCHEDULED)
    lab.catalog.fail(attempt, failure(attempt, RefreshState.CANCELLED))
    assert lab.dt().error_count == 0
    assert (
        lab.refresh(20, SCHEDULED).state is RefreshState.SUCCEEDED
    )  # a cancelled tick may be redone
    attempt = lab.begin(30)
    after = lab.catalog.fail(attempt, failure(attempt), counts=True)
    assert after is not None
    assert after.error_count == 1


def test_a_tick_that_waits_is_told_and_may_still_be_refreshed(lab: Lab) -> None:
    skipped = RefreshState.SKIPPED
    assert lab.catalog.record_skip("id-a", at(10), skipped, WHY, over=False)
    assert not lab.catalog.record_skip("id-a", at(10), skipped, WHY, over=False)
    assert lab.catalog.history(name("a"))[0].reason == WHY
    assert lab.catalog.last_ticks() == {}
    assert lab.refresh(10, SCHEDULED).state is RefreshState.SUCCEEDED
    assert lab.catalog.outcome_of("id-a", at(10)) is RefreshState.SUCCEEDED


def test_a_failure_leaves_the_table_as_it_was(lab: Lab) -> None:
    lab.refresh(10)
    before = lab.dt()
    lab.fail(20)
    assert lab.dt() == replace(before, error_count=1)
    assert lab.catalog.version_of("id-a", at(20)) is None
    record = lab.catalog.history(name("a"))[0]
    assert (record.error_code, record.error) == ("DT-2105", "division by zero")
    assert record.end is not None


def test_a_skip_is_recorded_once(lab: Lab) -> None:
    assert lab.catalog.record_skip("id-a", at(10), RefreshState.SKIPPED, WHY)
    assert not lab.open(THERE).record_skip("id-a", at(10), RefreshState.UPSTREAM_FAILED, WHY)
    assert states(lab) == ["SKIPPED"]
    assert lab.catalog.history()[0].reason == WHY
    with refused("DT-2109"):
        lab.begin(10, SCHEDULED)
    with pytest.raises(ValueError, match="FAILED"):
        lab.catalog.record_skip("id-a", at(20), RefreshState.FAILED, WHY)


def test_reinitialising_clears_the_need_for_it(lab: Lab) -> None:
    lab.catalog.update("id-a", needs_reinit=WHY)
    lab.fail(5)
    assert lab.dt().needs_reinit == WHY
    lab.refresh(10)
    assert lab.dt().needs_reinit is None


def test_a_definition_changed_during_a_refresh_is_not_forgotten(lab: Lab) -> None:
    attempt = lab.begin(10)
    lab.catalog.update("id-a", definition=definition("SELECT b AS a FROM t"))
    lab.finish(attempt, definition=definition("what the refresh ran"))
    dt = lab.dt()
    assert dt.definition.query == "SELECT b AS a FROM t"
    assert dt.needs_reinit is not None
    assert dt.needs_reinit.code == "DEFINITION_CHANGED"
    attempt = lab.begin(20)
    lab.catalog.update("id-a", needs_reinit=WHY)
    lab.finish(attempt)
    assert lab.dt().needs_reinit == WHY


def test_an_evolved_definition_is_stored_with_the_success(lab: Lab) -> None:
    lab.finish(lab.begin(10), definition=definition("SELECT a, b FROM t"))
    assert lab.dt().definition.query == "SELECT a, b FROM t"
    assert lab.catalog.graph_history()[0].trigger == "EVOLVE"


def test_stages_are_stored_with_the_success(lab: Lab) -> None:
    assert lab.catalog.stages("id-a") == ()
    bottom = StageRow("id-a", 0, "s0", 1, 4, Frontier(at(10), {"table-t": 1}), "/lake/_dt/s0")
    top = StageRow("id-a", 1, "s1", 1, None, None, "/lake/_dt/s1")
    lab.finish(lab.begin(10), stages=[top, bottom])
    assert lab.catalog.stages("id-a") == (bottom, top)
    moved = replace(bottom, sequence=2, version=5)
    lab.finish(lab.begin(20), stages=[moved])
    assert lab.catalog.stages("id-a") == (moved, top)


def test_pins_live_as_long_as_their_attempt(lab: Lab) -> None:
    lab.make("b")
    one = lab.catalog.begin("id-a", MANUAL, at(1), "one", 30, pins=[("t", 1), ("t", 1), ("u", 2)])
    two = lab.begin(1, dt="b")
    lab.catalog.pin(two, [("t", 1)])
    lab.catalog.pin(two, [("t", 1), ("t", 2)])
    assert set(lab.open(THERE).pins()) == {
        Pin("one", "t", 1),
        Pin("one", "u", 2),
        Pin(two.id, "t", 1),
        Pin(two.id, "t", 2),
    }
    lab.finish(one)
    assert {pin.attempt for pin in lab.catalog.pins()} == {two.id}
    lab.catalog.fail(two, failure(two))
    assert lab.catalog.pins() == ()


def test_running_and_reap(lab: Lab) -> None:
    lab.make("b")
    first = lab.begin(10)
    lab.open(THERE).begin("id-b", SCHEDULED, at(20), "theirs", 1000)
    leases = {lease.dt_id: lease for lease in lab.catalog.running()}
    assert (leases["id-a"].owner, leases["id-b"].owner) == (HERE, THERE)
    assert (leases["id-b"].trigger, leases["id-b"].data_timestamp) == (SCHEDULED, at(20))
    assert lab.catalog.reap() == ()
    lab.dead.add(THERE.uid)
    assert lab.catalog.reap() == ("theirs",)
    assert [lease.attempt for lease in lab.catalog.running()] == [first.id]
    lab.wall.forward(31)
    assert lab.catalog.reap() == (first.id,)
    assert states(lab) == ["CANCELLED"]
    record = lab.catalog.last()["id-a"]
    assert record.reason is not None
    assert record.reason.code == "OWNER_GONE"


def test_close_frees_only_what_is_its_own(lab: Lab) -> None:
    lab.make("b")
    lab.begin(10)
    theirs = lab.open(THERE)
    kept = theirs.begin("id-b", MANUAL, at(10), "theirs", 30)
    lab.catalog.close()
    assert [lease.attempt for lease in theirs.running()] == ["theirs"]
    assert theirs.heartbeat(kept)
    assert theirs.begin("id-a", MANUAL, at(20), "next", 30).epoch == 2


def forward(lab: Lab, sequence: int, query: str) -> bool:
    record = RefreshRecord(
        name("a"), query, RefreshState.SUCCEEDED, MANUAL, at(10), action=RefreshAction.INCREMENTAL
    )
    frontier = Frontier(at(10), {"table-t": 9})
    return lab.catalog.roll_forward(
        "id-a", record, frontier=frontier, sequence=sequence, version=50
    )


@pytest.mark.parametrize("state", [RefreshState.SKIPPED, RefreshState.UPSTREAM_FAILED])
def test_what_runs_is_never_skipped(lab: Lab, state: RefreshState) -> None:
    attempt = lab.begin(10)
    with pytest.raises(AssertionError, match=f"EXECUTING, and never {state}"):
        lab.catalog.fail(attempt, failure(attempt, state))
    assert states(lab) == ["EXECUTING"]
    lab.finish(attempt)


def test_the_moves_of_a_refresh() -> None:
    """What ended stays as it ended, but for a commit that is found in the lake afterwards."""
    ends = [s for s in RefreshState if s.final]
    found = {(a, b) for a in ends for b in RefreshState if a.may_become(b)}
    assert found == {("CANCELLED", "SUCCEEDED"), ("FAILED", "SUCCEEDED")}
    assert not RefreshState.EXECUTING.may_become(RefreshState.SCHEDULED)


def test_recovery_rolls_a_lost_commit_forward_once(lab: Lab) -> None:
    dead = lab.open(THERE).begin("id-a", MANUAL, at(10), "dead", 1000)
    lab.catalog.update("id-a", needs_reinit=WHY)
    assert not forward(lab, 1, dead.id)  # it lives, and will finish by itself
    lab.dead.add(THERE.uid)
    assert forward(lab, 1, dead.id)
    assert not forward(lab, 1, dead.id)
    dt = lab.dt()
    assert (dt.sequence, dt.version, dt.frontier) == (1, 50, Frontier(at(10), {"table-t": 9}))
    assert dt.needs_reinit is None
    assert lab.catalog.version_of("id-a", at(10)) == 50
    assert states(lab) == ["SUCCEEDED"]
    assert lab.begin(20).sequence == 2


def test_recovery_of_a_commit_that_the_catalog_never_saw_begin(lab: Lab) -> None:
    assert forward(lab, 7, "from-the-log")
    assert lab.dt().sequence == 7
    assert [record.query_id for record in lab.catalog.history()] == ["from-the-log"]


def test_no_data_of_many_is_one_transaction_that_leaves_out_who_may_not_begin(lab: Lab) -> None:
    lab.make(*({*"abcde"} - {t.name.table for t in lab.catalog.list()}))
    for n in "abcd":
        lab.refresh(10, dt=n)
    lab.begin(20, dt="b")
    lab.catalog.drop(name("c"))
    records = [
        UnchangedTable(
            f"id-{n}",
            RefreshRecord(name(n), f"nd-{n}", RefreshState.SUCCEEDED, SCHEDULED, at(t),
                          action=RefreshAction.NO_DATA),
            sequence=1,
        )
        for n, t in (("a", 30), ("b", 30), ("c", 30), ("d", 5), ("e", 30), ("zz", 30))
    ]  # fmt: skip
    assert lab.catalog.no_data_of_many(records, SCHEDULED) == {"id-a"}
    assert lab.dt("a").data_timestamp == at(30)
    assert lab.catalog.version_of("id-a", at(30)) == lab.dt("a").version
    assert lab.catalog.outcome_of("id-a", at(30)) is RefreshState.SUCCEEDED
    for n, stands in (("b", at(10)), ("d", at(10)), ("e", None)):
        assert lab.dt(n).data_timestamp == stands
        assert lab.catalog.outcome_of(f"id-{n}", at(30)) is None


def unchanged(n: str, t: float, sequence: int = 1, *upstream: str) -> UnchangedTable:
    record = RefreshRecord(
        name(n),
        f"nd-{n}-{t:g}",
        RefreshState.SUCCEEDED,
        SCHEDULED,
        at(t),
        action=RefreshAction.NO_DATA,
    )
    return UnchangedTable(f"id-{n}", record, sequence, frozenset(f"id-{u}" for u in upstream))


def test_of_many_who_was_refreshed_since_is_left_and_all_that_reads_it(lab: Lab) -> None:
    lab.make(*({*"abcdefgh"} - {t.name.table for t in lab.catalog.list()}))
    for n in "abcdefgh":
        lab.refresh(10, dt=n)
    lab.catalog.update("id-h", needs_reinit=Reason("X", "It has another definition."))
    lab.refresh(12, dt="b")  # by another process, after it was found unchanged
    lab.begin(30, dt="d")
    chain = [
        unchanged("a", 30),
        unchanged("b", 30),
        unchanged("c", 30, 1, "a", "b"),
        unchanged("d", 30),
        unchanged("e", 30, 1, "d"),
        unchanged("f", 30, 1, "a"),
        unchanged("g", 30, 1, "c", "f"),
        unchanged("h", 30),
    ]
    assert lab.catalog.no_data_of_many(chain, SCHEDULED) == {"id-a", "id-f"}
    stands = {n: lab.dt(n).data_timestamp for n in "abcdefgh"}
    at_30 = {n for n, t in stands.items() if t == at(30)}
    assert at_30 == {"a", "f"}
    assert {n for n in "abcdefgh" if lab.catalog.version_of(f"id-{n}", at(30))} == at_30


def test_of_many_a_dead_attempt_is_cancelled_and_a_broken_lease_is_freed(lab: Lab) -> None:
    lab.make(*({*"abc"} - {t.name.table for t in lab.catalog.list()}))
    for n in "abc":
        lab.refresh(10, dt=n)
    lab.begin(20, dt="a")
    lab.begin(20, dt="b")
    lab.wall.forward(60)  # past both leases
    lab.run("UPDATE lease SET expires = 'soon' WHERE dt_id = 'id-b'")
    done = lab.catalog.no_data_of_many([unchanged(n, 50) for n in "abc"], SCHEDULED)
    assert done == {"id-a", "id-b", "id-c"}
    assert lab.catalog.outcome_of("id-a", at(20)) is RefreshState.CANCELLED
    assert [lab.dt(n).data_timestamp for n in "abc"] == [at(50)] * 3


@pytest.mark.nightly
def test_more_are_moved_than_a_statement_has_room_for(lab: Lab) -> None:
    names = [f"n{i}" for i in range(1200)]
    lab.make(*names)
    lab.refresh(10, dt="n0")
    lab.refresh(10, dt="n1199")
    found = [unchanged(n, 20) for n in names]
    assert lab.catalog.no_data_of_many(found, SCHEDULED) == {"id-n0", "id-n1199"}
    ordinals = [r.query_id for r in lab.catalog.history(limit=2)]
    assert ordinals == ["nd-n1199-20", "nd-n0-20"]


def test_a_record_of_many_that_cannot_be_written_leaves_all_as_they_were(lab: Lab) -> None:
    lab.make(*({*"ab"} - {t.name.table for t in lab.catalog.list()}))
    for n in "ab":
        lab.refresh(10, dt=n)
    twice = [unchanged("a", 30), replace(unchanged("b", 30), record=unchanged("a", 30).record)]
    with pytest.raises(Exception, match=r"(?i)unique"):
        lab.catalog.no_data_of_many(twice, SCHEDULED)
    assert [lab.dt(n).data_timestamp for n in "ab"] == [at(10)] * 2
