"""What a receiver's answer to a request of a webhook means: a closed table of status codes."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class AnswerVerdict(StrEnum):
    """What happens to a request. Only `DELIVERED` removes it from the outbox for good; a status
    that no rule names stops the sink, because a request that is skipped is a row that is lost."""

    DELIVERED = "DELIVERED"
    RETRY = "RETRY"
    ROW_REFUSED = "ROW_REFUSED"
    ENDPOINT_REFUSES = "ENDPOINT_REFUSES"


_RETRY = frozenset({408, 409, 421, 423, 425, 429})
"""Refusals that pass; 409: the receiver is still at the same key."""
_ROW = frozenset({400, 413, 422})
"""The receiver has read the request and refuses what is in it."""
_NEVER = frozenset({501, 505, 506, 508, 510, 511})
"""Server errors that a later try meets again."""


class WebhookAnswer(NamedTuple):
    """What a receiver answered; status 0 where it gave no answer. `wait`: its Retry-After."""

    status: int
    reason: str
    wait: float = 0.0

    @property
    def verdict(self) -> AnswerVerdict:
        return judge_status(self.status)

    def __str__(self) -> str:
        return f"{self.status or ''} {self.reason}".strip()


def judge_status(status: int) -> AnswerVerdict:
    """The verdict on a status code, 0 for no answer. Source: RFC 9110, section 15; RFC 6585."""
    if 200 <= status < 300:
        return AnswerVerdict.DELIVERED
    if status in _ROW:
        return AnswerVerdict.ROW_REFUSED
    if status == 0 or status in _RETRY or (500 <= status < 600 and status not in _NEVER):
        return AnswerVerdict.RETRY
    return AnswerVerdict.ENDPOINT_REFUSES


_CAUSES = {
    401: "Check the secret that the option token refers to.",
    403: "Check the secret that the option token refers to, and its rights.",
    404: "Check the path of the URL, or of the option path.",
    410: "Check the path of the URL, or of the option path.",
}


def cause_hint(status: int) -> str:
    """What to check where the endpoint refuses all requests."""
    moved = "A redirect is not followed: create the sink with the new URL."
    cause = moved if 300 <= status < 400 else _CAUSES.get(status, "Check the receiver.")
    return f"{cause} Nothing is lost: ALTER SINK … REFRESH sends what waits in the outbox."
