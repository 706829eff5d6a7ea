from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from dt_jupyter.model import Timestamp, error, parse_time

DAY = 24 * 3600


@pytest.mark.parametrize("text", ["0001-01-02T00:00+00:00", "9999-12-30T23:59:59.999999+00:00"])
def test_a_time_with_a_date_has_one_in_every_zone(text: str) -> None:
    time = Timestamp.parse(text)
    assert time.has_date
    for hours in (-14, 14):
        time.datetime.astimezone(timezone(timedelta(hours=hours)))


@pytest.mark.parametrize(("day", "away"), [(datetime.min, -1), (datetime.max, 1)])
def test_a_time_beyond_them_has_none(day: datetime, away: int) -> None:
    utc = timezone(timedelta())
    edge = Timestamp.of(day.replace(tzinfo=utc))
    assert not edge.has_date
    assert not edge.plus(away * DAY).has_date


@pytest.mark.parametrize(
    ("micros", "words"),
    [
        (0, "1970-01-01 00:00:00 UTC"),
        (1_357_300_800_120_000, "2013-01-04 12:00:00.12 UTC"),
        (-1, "1969-12-31 23:59:59.999999 UTC"),
    ],
)
def test_what_a_sentence_says_is_read_again(micros: int, words: str) -> None:
    time = Timestamp(micros)
    assert time.words == words
    assert Timestamp.of(parse_time(words)) == time
    assert words in str(error("DT-2103", name="late", timestamp=time))


@pytest.mark.parametrize("text", ["", "UTC", "12 UTC", "2013-01-04 12:00+02:00 UTC"])
def test_what_is_no_time_is_none(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_time(text)
