"""When a task is due: durations from its start, and cron with zones and their clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from dt_jupyter.model import DTError, TaskSchedule, Timestamp

BERLIN = "Europe/Berlin"


def utc(text: str) -> Timestamp:
    return Timestamp.of(datetime.fromisoformat(text).replace(tzinfo=UTC))


def local(text: str, zone: str = BERLIN) -> Timestamp:
    return Timestamp.of(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1 minute", "1 minute"),
        ("90 SECONDS", "90 seconds"),
        ("2 H", "2 hours"),
        ("5M", "5 minutes"),
        ("10 s", "10 seconds"),
        ("using cron 0  9-17 * * sun America/Los_Angeles",
         "USING CRON 0 9-17 * * SUN America/Los_Angeles"),
        ("USING CRON */5 * L * * UTC", "USING CRON */5 * L * * UTC"),
    ],
)  # fmt: skip
def test_a_schedule_is_read_and_shown_as_it_is_read_again(text: str, shown: str) -> None:
    made = TaskSchedule.parse(text)
    assert str(made) == shown
    assert TaskSchedule.parse(shown) == made


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "neither"),
        ("every minute", "neither"),
        ("0 minutes", "from a second"),
        ("999999999 days", "from a second"),
        ("USING CRON 0 9 * * *", "neither"),
        ("USING CRON 0 9 * * * Mars/Olympus", "not a time zone"),
        ("USING CRON 0 25 * * * UTC", "hour"),
        ("USING CRON 61 9 * * * UTC", "minute"),
        ("USING CRON 0 9 30 2 * UTC", "day-of-month"),
        ("USING CRON 0 9 * * MONDAY UTC", "day-of-week"),
        ("USING CRON 0 0 9 * * * UTC", "neither"),
    ],
)
def test_what_is_no_schedule_says_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(DTError, match=problem) as found:
        TaskSchedule.parse(text)
    assert found.value.code == "DT-1003"


def test_durations_count_from_the_start_and_missed_ticks_are_one() -> None:
    every, start = TaskSchedule.parse("10 minutes"), utc("2026-03-01 09:03:00")
    assert every.newest(start, start.plus(599)) is None
    assert every.newest(start, start.plus(600)) == utc("2026-03-01 09:13:00")
    assert every.newest(start, start.plus(1e6)) == start.plus(999_600)
    assert every.following(start, start.plus(599)) == start.plus(600)
    assert every.following(start, start.plus(600)) == start.plus(1200)
    assert every.newest(start, start.plus(-5)) is None


def test_cron_ticks_are_of_its_zone() -> None:
    office = TaskSchedule.parse(f"USING CRON 0 9-17 * * MON-FRI {BERLIN}")
    saturday = local("2026-03-07 12:00:00")
    assert office.following(saturday, saturday) == local("2026-03-09 09:00:00")
    assert office.newest(local("2026-03-06 08:00:00"), saturday) == local("2026-03-06 17:00:00")
    assert office.newest(local("2026-03-06 17:00:00"), saturday) is None, "it is done with"
    tick = local("2026-03-09 09:00:00")
    assert office.newest(saturday, tick) == tick
    assert office.newest(saturday, tick.plus(-0.000001)) is None
    assert office.following(saturday, tick) == local("2026-03-09 10:00:00")


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2026-03-29", ["2026-03-29 01:00"]),  # 2:30 is left out by the clock: it runs at once
        ("2026-10-25", ["2026-10-25 00:30"]),  # 2:30 comes twice: it runs the first time
        ("2026-06-01", ["2026-06-01 00:30"]),
    ],
)
def test_a_daily_run_happens_once_whatever_the_clock_does(day: str, expected: list[str]) -> None:
    nightly = TaskSchedule.parse(f"USING CRON 30 2 * * * {BERLIN}")
    now, end = local(f"{day} 00:00:00"), local(f"{day} 23:59:00")
    found = []
    while (tick := nightly.following(now, now)) is not None and tick <= end:
        found.append(f"{tick.datetime:%Y-%m-%d %H:%M}")
        now = tick
    assert found == expected


def test_looking_back_finds_the_ticks_that_looking_ahead_found() -> None:
    """Over two changes of the clock, at each quarter of an hour."""
    for text in ("*/20 * * * *", "5 */3 * * *", "30 2 * * *", "0 0 L * *", "0 12 * * 5"):
        cron = TaskSchedule.parse(f"USING CRON {text} {BERLIN}")
        start = local("2026-03-27 00:00:00")
        ahead, now = [], start
        while now < start.plus(5 * 86400):
            following = cron.following(start, now)
            assert following is not None
            ahead.append(following)
            now = following
        moment = start
        while moment < start.plus(4.9 * 86400):
            moment = moment.plus(timedelta(minutes=15).total_seconds())
            passed = [tick for tick in ahead if tick <= moment]
            assert cron.newest(start, moment) == (passed[-1] if passed else None), (text, moment)


@pytest.mark.parametrize(
    ("cron", "days"),
    [
        ("0 0 13 * FRI", [2, 9, 13, 16, 23, 30]),  # both restricted: either
        ("0 0 */2 * WED", [7, 21]),  # one begins with a star: both
        ("0 0 13 * */5", []),
        ("0 0 * * WED", [7, 14, 21, 28]),
        ("0 0 13 * *", [13]),
    ],
)
def test_day_and_weekday_are_combined_as_by_vixie_cron(cron: str, days: list[int]) -> None:
    schedule = TaskSchedule.parse(f"USING CRON {cron} UTC")
    found, now = [], utc("2025-12-31")
    while (tick := schedule.following(now, now)) is not None and tick < utc("2026-02-01"):
        found.append(tick.datetime.day)
        now = tick
    assert found == days
