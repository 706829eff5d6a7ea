from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from dt_jupyter.model import Timestamp

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
