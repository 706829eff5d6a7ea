"""Spellings of intervals, for the parser and for Spark's own, which it has to agree with."""

from __future__ import annotations

DAY = 86_400.0

SPELLINGS = {
    "interval 7 days": 7 * DAY,
    "INTERVAL 7 DAYS": 7 * DAY,
    "Interval 1 Day": DAY,
    "365 days": 365 * DAY,
    "2 weeks": 14 * DAY,
    "interval 1 week": 7 * DAY,
    "INTERVAL 1 week 2 days": 9 * DAY,
    "interval 168 hours": 7 * DAY,
    "interval 30 minutes": 1800.0,
    "90 seconds": 90.0,
    "interval 1.5 seconds": 1.5,
    "interval .5 second": 0.5,
    "1. seconds": 1.0,
    "interval 250 milliseconds": 0.25,
    "interval 1 microsecond": 1e-6,
    "1 day 12 hours 30 minutes": DAY + 12 * 3600 + 1800,
    "interval 1 day -12 hours": DAY / 2,
    "interval + 2 days": 2 * DAY,
    "  interval\t 3   days\n": 3 * DAY,
    "interval 0 days": 0.0,
    "0 seconds": 0.0,
    "-1 day": -DAY,
    "interval 00010 days": 10 * DAY,
    "interval 1000000 days": 1_000_000 * DAY,
}

NO_LENGTH = ("1 month", "interval 1 year", "interval 2 months 3 days", "1 YEARS")
"""Which Spark reads, and which Delta takes for no retention."""

REFUSED = (
    "", "   ", "interval", "interval ", "7", "days", "interval days", "7days", "interval7 days",
    "interval 7 dayss", "interval 7 day 3", "one week", "P7D", "PT168H", "interval '7' day",
    "INTERVAL '7' DAY", "7 d", "1.5 days", "interval 1 day, 2 hours", "1 day2 hours", "- days",
    "1e3 days", "interval 1 day interval 1 day", "1 fortnight", "7 days ago", "interval . seconds",
    "interval 1.0123456789 seconds", "7\u00a0days", "\u0667 days", "168:00:00", "forever", "null",
    "99999999999 days", "99999999999999999999 seconds",
)  # fmt: skip
