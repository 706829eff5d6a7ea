"""HTTP webhook: `https://host/path?outbox=folder`, delta updates only.

A transaction is staged as requests in a file of the outbox, and sent once it is committed. A
request has the same body and the same Idempotency-Key however often it is sent, so a receiver
that keeps the keys sees each change once.

| header | value |
| --- | --- |
| Idempotency-Key | sink, range, transaction and number of the request |
| X-Dt-Signature | `t=<seconds>,v1=<hex>`: HMAC-SHA256 by hmac_key of `<seconds>.<body>` |
| Authorization | Bearer and the option token |

The path is shown nowhere, since it often is what lets one in; the option path refers to one.

The body is `{"sink", "transaction", "part", "rows": [...]}`, or "deleted" with keys: those come
first. What the receiver refuses for good (4xx) is kept in
`<outbox>/dead_letters.jsonl`, and delivery goes on.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import random
import ssl
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from dt_jupyter.model import error, system_error
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.binding import Binding
from dt_jupyter.sinks.json_values import to_json_values
from dt_jupyter.sinks.patterns import PushOnly
from dt_jupyter.sinks.secret_references import hide
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import TypeKind, TypeTable

if TYPE_CHECKING:
    import pyarrow as pa

_ANSWER_SECONDS = 30.0
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 30.0
ROWS_PER_REQUEST = 500
_OPTIONS = ("outbox", "attempts", "timeout", "token", "hmac_key", "path", "ca_file", "table")
_AGAIN = frozenset({408, 409, 425, 429})
"""Refusals that pass; 409: the receiver is still at the same key."""
_DEAD = "dead_letters.jsonl"


class WebhookAnswer(NamedTuple):
    """What a receiver said; status 0 where it said nothing. `wait`: its Retry-After."""

    status: int
    reason: str
    wait: float = 0.0

    @property
    def taken(self) -> bool:
        return 200 <= self.status < 300

    @property
    def final(self) -> bool:
        """Whether sending it again is no use."""
        return 300 <= self.status < 500 and self.status not in _AGAIN


class WebhookStore(PushOnly):
    store = "a webhook"
    joins = True
    types = TypeTable("JSON", {kind: kind.value for kind in TypeKind}, {})
    names = NameRules("JSON", 1000)

    def __init__(
        self,
        address: StoreAddress,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        address.require_options(*_OPTIONS)
        self._address = address
        self._sleep, self._clock, self._jitter = sleep, clock, jitter
        self._timeout = address.number("timeout", _ANSWER_SECONDS, 0.01, 3600)
        self._attempts = int(address.number("attempts", 8, 1, 1000))
        self._requests: list[str] = []
        self._rows: list[Any] = []
        self._sealed: list[m.Checkpoint] = []
        self._line: http.client.HTTPConnection | None = None

    def forget(self, binding: Binding, sink: str, *, empty: bool, unmake: bool = False) -> None:
        """What was sent stays sent; what waits in the outbox is not sent any more."""
        self._outbox = Path(self._address.options.get("outbox", ""))
        if "outbox" in self._address.options:
            for path in (*self._outbox.glob("*.jsonl"), *self._outbox.glob("*.sent")):
                if path.name != _DEAD:
                    path.unlink(missing_ok=True)

    # -- staging -----------------------------------------------------------------------------------

    def connect(self, message: m.Open) -> None:
        binding = message.binding
        self.names.require_columns([c.name for c in binding.columns])
        for column in binding.columns:
            self.types.stored(column)
        if "outbox" not in self._address.options:
            problem, hint = "it needs a folder for what is to be sent", "OPTIONS (outbox = '…')."
            raise error("DT-6144", store=self.store, problem=problem, hint=hint)
        self._task = message.task
        self._outbox = Path(self._address.options["outbox"])
        self._token = self._address.secret("token")
        self._hmac_key = self._address.secret("hmac_key")
        self._secret_path = self._address.secret("path")
        known = m.joined_checkpoints(message.driver_checkpoint)
        self._sealed = [each for each in known if each.get("staged")]
        try:
            self._outbox.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            problem = e.strerror or "?"
            raise error("DT-6110", store=f"The folder {self._outbox}", problem=problem) from e

    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        names = rows.column_names
        for start in range(0, rows.num_rows, ROWS_PER_REQUEST):
            part = rows.slice(start, ROWS_PER_REQUEST)
            values = zip(*(to_json_values(c) for c in part.columns), strict=True)
            found = [dict(zip(names, row, strict=True)) for row in values]
            self._rows.append({"deleted": found} if delete else {"rows": found})

    def seal(self, runtime_checkpoint: m.Checkpoint) -> m.Checkpoint:
        staged, self._rows = self._rows, []
        self._sealed = []
        if not staged:
            return {}
        name = uuid.uuid4().hex
        head = {"sink": self._task.sink, "transaction": name}
        lines = (json.dumps({**head, "part": n, **body}) for n, body in enumerate(staged))
        try:
            with self._staged(name).open("x", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as e:
            raise system_error(e) or error(
                "DT-6112", store="The outbox", problem=e.strerror or e, hint=""
            ) from e
        sealed = {"staged": name, "range": str(self._task.range)}
        self._sealed = [sealed]
        return sealed

    def _staged(self, name: str) -> Path:
        return self._outbox / f"{name}.jsonl"

    # -- sending -----------------------------------------------------------------------------------

    def apply(self) -> None:
        for each in self._sealed:
            if self._staged(each["staged"]).exists():
                self._send(each)

    def _send(self, sealed: m.Checkpoint) -> None:
        """What the file has, from where it was left; then the file is gone. Its keys are those of
        the task that staged it, whoever sends it. The marker has one byte for each request that is
        done: a kill at any point leaves it right or short, and what it is short of is sent again.
        """
        path = self._staged(sealed["staged"])
        self._key = f"{self._task.sink}/{sealed['range']}/{sealed['staged']}"
        marker = path.with_suffix(".sent")
        with path.open(encoding="utf-8") as lines, marker.open("ab", buffering=0) as done:
            sent = done.tell()
            for number, line in enumerate(lines):
                if number >= sent:
                    self._deliver(number, line.strip())
                    done.write(b".")
        path.unlink(missing_ok=True)
        marker.unlink(missing_ok=True)

    def _deliver(self, number: int, body: str) -> None:
        """Until it is taken, or refused for good; DT-6110 where it is neither after all attempts,
        and the same is sent when the sink opens again."""
        answer = WebhookAnswer(0, "")
        for attempt in range(self._attempts):
            if attempt:
                self._sleep(self._pause(attempt, answer))
            answer = self._post(number, body.encode())
            if answer.taken:
                return
            if answer.final:
                self._keep(number, body, answer)
                return
        said = f"{answer.status or ''} {answer.reason}".strip()
        problem = f"{self._attempts} attempts, the last: {said}"
        raise error("DT-6110", store=f"The webhook {self._address}", problem=problem)

    def _pause(self, attempt: int, answer: WebhookAnswer) -> float:
        """Twice as long each time, of which up to a half at random; no less than was asked for."""
        most: float = min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT)
        return max(most * (0.5 + self._jitter() / 2), min(answer.wait, _LONGEST_WAIT))

    def _post(self, number: int, body: bytes) -> WebhookAnswer:
        try:
            line = self._line or self._dialled()
            path = self._secret_path or self._address.path
            line.request("POST", f"/{path.lstrip('/')}", body, self._headers(number, body))
            response = line.getresponse()
            response.read(1 << 16)
            if response.will_close:
                self._hang_up()
        except (OSError, http.client.HTTPException) as e:
            self._hang_up()
            said = getattr(e, "strerror", None) or type(e).__name__
            return WebhookAnswer(0, hide(said, self._token, self._hmac_key, self._secret_path))
        wait = response.headers.get("Retry-After", "")
        return WebhookAnswer(
            response.status, response.reason, float(wait) if wait.isdigit() else 0.0
        )

    def _headers(self, number: int, body: bytes) -> dict[str, str]:
        found = {
            "Content-Type": "application/json",
            "Idempotency-Key": f"{self._key}/{number}",
        }
        if self._token:
            found["Authorization"] = f"Bearer {self._token}"
        if self._hmac_key:
            now = str(int(self._clock()))
            signed = hmac.new(self._hmac_key.encode(), f"{now}.".encode() + body, hashlib.sha256)
            found["X-Dt-Signature"] = f"t={now},v1={signed.hexdigest()}"
        return found

    def _dialled(self) -> http.client.HTTPConnection:
        address = self._address
        if address.scheme == "https":
            tls = ssl.create_default_context(cafile=address.options.get("ca_file"))
            self._line = http.client.HTTPSConnection(
                address.host, address.port, timeout=self._timeout, context=tls
            )
        else:
            self._line = http.client.HTTPConnection(
                address.host, address.port, timeout=self._timeout
            )
        return self._line

    def _hang_up(self) -> None:
        if self._line is not None:
            with suppress(OSError):
                self._line.close()
            self._line = None

    def _keep(self, number: int, body: str, answer: WebhookAnswer) -> None:
        told = {"status": answer.status, "reason": answer.reason, "part": number}
        line = json.dumps({**told, "body": json.loads(body)}) + "\n"
        with (self._outbox / _DEAD).open("a+b") as file:
            _cut_torn_line(file)
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def load_rows(self) -> Iterator[pa.Table]:
        yield from ()

    def close(self) -> None:
        self._hang_up()


def _cut_torn_line(file: BinaryIO) -> None:
    """What a kill left of the last line; its request is kept again."""
    if end := file.seek(0, os.SEEK_END):
        file.seek(end - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
