"""Statements over several objects: undone, completed or left alone, whoever finds them."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import DTError, StatementIntent, StatementStep
from dt_jupyter.streams.rollforward import TransactionWarning
from dt_jupyter.streams.statement_log import StatementLog, StatementRecord
from tests.unit.catalog_lab import Lab, refused

BESIDE = Owner("host-a", 200, "uid-beside", "1")
ELSEWHERE = Owner("host-b", 200, "uid-elsewhere", "1")


class Killed(BaseException):
    """The process is no more: nothing of it runs after."""


@dataclass
class Objects:
    """What statements make: each by its name; `broken` are those that cannot be undone now."""

    there: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    followed: list[tuple[str, list[str]]] = field(default_factory=list)
    """What was there when something followed, by the name of that."""

    def log(self, catalog: Catalog) -> StatementLog:
        handlers = {"made": self.unmake, "late": self.unmake, "completed": self.complete}
        handlers["follow"] = lambda facts: self.followed.append((facts["name"], [*self.there]))
        handlers["quiet"] = self.unmake
        return StatementLog(
            catalog, dict(handlers), late=("late",), closing=("follow",), quiet=("quiet",)
        )

    def unmake(self, facts: Any) -> None:
        name = facts["name"]
        if name in self.broken:
            raise OSError("the disk is full")
        self.undone.append(name)
        if name in self.there:
            self.there.remove(name)

    def complete(self, facts: Any) -> None:
        if facts["name"] not in self.there:
            self.there.append(facts["name"])


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    made.catalog.close()


def step(name: str, kind: str = "made") -> StatementStep:
    return StatementStep(kind, {"name": name})


def killed(
    lab: Lab, owner: Owner, *steps: StatementStep, forward: StatementStep | None = None
) -> None:
    """A statement of another process on record, as it is where that is killed."""
    with warnings.catch_warnings():
        other = lab.open(owner)
        other.begin_statement(StatementIntent(f"of {owner.uid}", "MAKE ALL", steps, forward))
        other.close()


@contextmanager
def told(*words: str) -> Iterator[None]:
    """Warnings with these words, one each, and no other."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", TransactionWarning)
        yield
    said = [str(w.message) for w in found if w.category is TransactionWarning]
    assert len(said) == len(words)
    assert all(word in line for word, line in zip(words, said, strict=True))


def test_a_statement_that_fails_is_undone_the_last_step_first(lab: Lab) -> None:
    objects = Objects()
    with suppress(KeyboardInterrupt), objects.log(lab.catalog).begin("MAKE", step("a")) as record:
        objects.there.append("a")
        record.will("made", name="b")
        raise KeyboardInterrupt
    assert (objects.there, objects.undone) == ([], ["b", "a"])
    assert not lab.catalog.intents()


def test_one_that_succeeds_leaves_nothing_on_record(lab: Lab) -> None:
    objects = Objects()
    with objects.log(lab.catalog).begin("MAKE", step("a")) as record:
        record.will("made", name="b")
        assert lab.catalog.intents()
        assert lab.catalog.unfinished() == (), "its process lives"
        assert lab.open(BESIDE).unfinished() == (), "for others too"
    assert (objects.undone, lab.catalog.intents()) == ([], frozenset())


def test_a_part_that_fails_is_undone_alone_and_with_the_whole(lab: Lab) -> None:
    objects = Objects()
    log = objects.log(lab.catalog)
    with suppress(KeyError), log.begin("APPLY", step("whole")):
        with log.begin("MAKE", step("first")):
            pass
        with suppress(ValueError), log.begin("MAKE", step("second")):
            raise ValueError
        assert objects.undone == ["second"]
        raise KeyError
    assert objects.undone == ["second", "first", "whole"]


def test_what_cannot_be_undone_now_is_undone_before_the_next_statement(lab: Lab) -> None:
    objects = Objects(["a"], broken={"a"})
    with suppress(ValueError), objects.log(lab.catalog).begin("MAKE", step("a"), step("b")):
        raise ValueError("the first problem")
    assert (objects.there, objects.undone) == (["a"], ["b"]), "each, whatever becomes of another"
    assert lab.catalog.intents()
    objects.broken.clear()
    lab.catalog.leftovers.finish()
    assert (objects.there, lab.catalog.intents()) == ([], frozenset())


@pytest.mark.parametrize("owner", [BESIDE, ELSEWHERE])
def test_that_of_a_process_which_is_gone_is_undone_by_one_other(lab: Lab, owner: Owner) -> None:
    objects = Objects(["a"])
    killed(lab, owner, step("a"), step("b"))
    objects.log(lab.catalog).recover()
    assert objects.undone == [], "it may run on"
    lab.dead.add(BESIDE.uid)
    lab.wall.forward(301)
    found = lab.catalog.unfinished()
    assert lab.open(Owner("host-a", 300, "uid-third", "1")).take_statement(found[0].id)
    assert not lab.catalog.take_statement(found[0].id), "another one was faster"
    lab.dead.add("uid-third")
    with told("has been undone"):
        objects.log(lab.catalog).recover()
    assert (objects.undone, lab.catalog.intents()) == (["b", "a"], frozenset())


def test_one_that_was_decided_is_completed(lab: Lab) -> None:
    objects = Objects()
    killed(lab, BESIDE, step("a"), forward=step("b", "completed"))
    lab.dead.add(BESIDE.uid)
    with told("has been completed"):
        objects.log(lab.catalog).recover()
    assert (objects.there, objects.undone) == (["b"], [])
    with suppress(ValueError), objects.log(lab.catalog).begin("MAKE", step("a")) as record:
        record.decide("completed", name="c")
        raise ValueError
    assert (objects.there, objects.undone) == (["b", "c"], [])


def test_what_follows_a_statement_is_last_whichever_way_it_ends(lab: Lab) -> None:
    objects, follow = Objects(), step("grants", "follow")
    log = objects.log(lab.catalog)
    with log.begin("MAKE", follow, step("a")):
        objects.there.append("a")
    assert (objects.followed, objects.undone) == ([("grants", ["a"])], [])
    with suppress(ValueError), log.begin("MAKE", follow, step("b")):
        objects.there.append("b")
        raise ValueError
    assert (objects.followed[1:], objects.undone) == ([("grants", ["a"])], ["b"])
    with log.begin("MAKE", follow) as record:
        record.decide("completed", name="c")
    assert objects.followed[2:] == [("grants", ["a", "c"])], "behind what the decision completes"
    assert not lab.catalog.intents()


def test_once_it_follows_a_statement_is_not_undone(lab: Lab) -> None:
    """Killed behind that, it is done again; a part is followed at its own end, and once."""
    objects, follow = Objects(["a"]), step("grants", "follow")
    killed(lab, BESIDE, follow, step("a"), forward=follow)
    lab.dead.add(BESIDE.uid)
    with told("has been completed"):
        objects.log(lab.catalog).recover()
    assert (objects.followed, objects.undone) == ([("grants", ["a"])], [])
    objects.followed.clear()
    log = objects.log(lab.catalog)
    with log.begin("APPLY", step("whole", "late")):
        with log.begin("MAKE", follow):
            objects.there.append("b")
        assert objects.followed == [("grants", ["a", "b"])]
        objects.there.append("c")
    assert len(objects.followed) == 1


def test_one_that_fails_at_its_end_is_not_undone_since_more_followed_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects, ending, failures = Objects(["a"]), lab.catalog.end_statement, [OSError(28, "full")]

    def fail(intent_id: str) -> bool:
        if failures:
            raise failures.pop()
        return ending(intent_id)

    monkeypatch.setattr(lab.catalog, "end_statement", fail)
    with (
        suppress(OSError),
        objects.log(lab.catalog).begin("MAKE", step("grants", "follow"), step("a")),
    ):
        pass
    assert (objects.undone, objects.followed) == ([], [("grants", ["a"])] * 2)
    assert not lab.catalog.intents()


def test_what_follows_waits_for_the_lake_and_the_rest_does_not(lab: Lab) -> None:
    objects = Objects(["a"])
    killed(lab, BESIDE, step("grants", "follow"), step("a"))
    lab.dead.add(BESIDE.uid)
    log = objects.log(lab.catalog)
    with told("has been undone"):
        log.recover(late=False)
    assert (objects.undone, objects.followed) == (["a"], [])
    with told():
        log.recover()
    assert (objects.undone, objects.followed) == (["a"], [("grants", [])])
    assert not lab.catalog.intents()


def test_what_undoes_nothing_is_not_told(lab: Lab) -> None:
    objects = Objects(["a"])
    killed(lab, BESIDE, step("a", "quiet"))
    lab.dead.add(BESIDE.uid)
    with told():
        objects.log(lab.catalog).recover()
    assert (objects.undone, lab.catalog.intents()) == (["a"], frozenset())


def test_what_needs_an_open_lake_waits_for_it_and_what_fails_is_in_quarantine(lab: Lab) -> None:
    objects = Objects(broken={"a"})
    killed(lab, BESIDE, step("a", "late"))
    lab.dead.add(BESIDE.uid)
    log = objects.log(lab.catalog)
    log.recover(late=False)
    assert not lab.catalog.quarantine.all()
    log.recover()
    (found,) = lab.catalog.quarantine.all()
    assert (found.kind, found.name, found.problem) == ("statement", "MAKE ALL", "the disk is full")
    objects.broken.clear()
    with told("has been undone"):
        log.recover()
    assert not lab.catalog.quarantine.all()


def test_a_statement_that_another_process_has_ended_goes_no_further(lab: Lab) -> None:
    objects = Objects()
    beside = lab.open(ELSEWHERE)
    with (
        suppress(DTError),
        refused("DT-3210"),
        objects.log(lab.catalog).begin("MAKE", step("a")) as record,
    ):
        lab.wall.forward(301)
        with told("has been undone"):
            objects.log(beside).recover()
        record.will("made", name="b")
    assert objects.undone == ["a"]


def test_paths_follow_the_lake(lab: Lab) -> None:
    path = str(lab.path.parent.parent / "tables" / "t")
    with (
        Objects().log(lab.catalog).begin("MAKE", StatementStep("made", {"name": "a", "path": path}))
    ):
        ((stored,),) = lab.run("SELECT steps FROM intent")
        assert path not in stored
        (intent_id,) = lab.catalog.intents()
        found = lab.catalog.statement(intent_id)
        assert found is not None
        assert found.steps[0].facts["path"] == path


def test_steps_that_cannot_be_read_are_in_quarantine(lab: Lab) -> None:
    killed(lab, BESIDE, step("a"))
    lab.dead.add(BESIDE.uid)
    lab.run("UPDATE intent SET steps = '[]'")
    Objects().log(lab.catalog).recover()
    assert [q.kind for q in lab.catalog.quarantine.all()] == ["statement"]


def test_what_another_thread_runs_is_part_of_the_statement_that_waits_for_it(lab: Lab) -> None:
    objects = Objects()
    log = objects.log(lab.catalog)

    def part(record: StatementRecord | None) -> None:
        with log.within(record), log.begin("MAKE", step("b")):
            pass
        assert log.current is None

    with suppress(ValueError), log.begin("APPLY", step("a")):
        thread = threading.Thread(target=part, args=(log.current,))
        thread.start()
        thread.join()
        raise ValueError
    assert objects.undone == ["b", "a"]
