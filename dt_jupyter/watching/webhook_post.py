"""An alert as a POST of JSON to an address, tried some times; of the address only the
host is shown, since its path is often a secret."""

from __future__ import annotations

import http.client
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from dt_jupyter.model import Alert, error

_ATTEMPTS = 5
_FIRST_WAIT = 1.0
_ANSWER_SECONDS = 10.0
_AGAIN = frozenset((408, 425, 429))
_log = logging.getLogger("dt_jupyter.alerts")


@dataclass(frozen=True)
class Webhook:
    """To be called with each alert. The same alert has the same Idempotency-Key."""

    url: str = field(repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        """DT-5130 for what is not an address."""
        try:
            known = self.place.scheme in ("http", "https") and bool(self.place.hostname)
            known = known and self.place.port != 0
        except ValueError:
            known = False
        if not known:
            raise error("DT-5130", what="that address", problem="it is not http(s)://host/path")

    @property
    def place(self) -> SplitResult:
        return urlsplit(self.url)

    def __str__(self) -> str:
        return f"the webhook at {self.place.hostname}"

    def __call__(self, alert: Alert) -> None:
        body = json.dumps(alert.to_json()).encode()
        key = f"{alert.object_id}/{alert.kind}/{alert.since}/{alert.event}"
        said = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self.sleep(_FIRST_WAIT * 2 ** (attempt - 1))
            status, said = self._post(body, key)
            if 200 <= status < 300:
                return
            if 300 <= status < 500 and status not in _AGAIN:
                break
        _log.warning("%s did not receive an alert, %s: %s", self, alert, said)

    def _post(self, body: bytes, key: str) -> tuple[int, str]:
        """The status and what was said; status 0 where nothing was."""
        place = self.place
        kind = http.client.HTTPSConnection if place.scheme == "https" else None
        connect = kind or http.client.HTTPConnection
        line = connect(place.hostname or "", place.port, timeout=_ANSWER_SECONDS)
        path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        try:
            line.request("POST", path, body, headers)
            answer = line.getresponse()
            return answer.status, f"{answer.status} {answer.reason}"
        except (OSError, http.client.HTTPException) as e:
            return 0, getattr(e, "strerror", None) or type(e).__name__
        finally:
            line.close()
