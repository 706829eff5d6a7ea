"""HTTP webhook: `https://host/path?outbox=folder`, delta updates only.

A transaction is staged as requests in a file of the outbox, and sent once it is committed. A
request has the same body and the same Idempotency-Key however often it is sent, so a receiver
that keeps the keys sees each change once.

| header | value |
| --- | --- |
| Idempotency-Key | sink, range, transaction, number of the request, its rows if divided |
| X-Dt-Signature | `t=<seconds>,v1=<hex>`: HMAC-SHA256 by hmac_key of `<seconds>.<body>` |
| Authorization | Bearer and the option token |

The path is shown nowhere, since it often is what lets one in; the option path refers to one.

The body is `{"sink", "transaction", "part", "rows": [...]}`, or "deleted" with keys: those come
first. `http_answers` says what each status means. A request that is refused for its rows is divided
until the refused row is alone; that one becomes a dead letter (`dead_letters`). A later row of its
key replaces it; with REDUCE, where rows add up, the later row waits behind it instead.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import random
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import error
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.binding import Binding, Task
from dt_jupyter.sinks.dead_letters import DeadLetter, DeadLetters
from dt_jupyter.sinks.drivers.http_answers import AnswerVerdict, WebhookAnswer, cause_hint
from dt_jupyter.sinks.drivers.outbox import Outbox, RequestOutcome, RequestPart, StagedFile
from dt_jupyter.sinks.json_values import to_json_values
from dt_jupyter.sinks.patterns import PushOnly, require_known_types
from dt_jupyter.sinks.secret_references import hide

if TYPE_CHECKING:
    import pyarrow as pa

_ANSWER_SECONDS = 30.0
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 30.0
ROWS_PER_REQUEST = 500
_OPTIONS = ("outbox", "attempts", "timeout", "token", "hmac_key", "path", "ca_file", "table")


class WebhookStore(PushOnly):
    store = "a webhook"
    joins = True

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
        self._rows: list[Any] = []
        self._sealed: list[m.Checkpoint] = []
        self._line: http.client.HTTPConnection | None = None

    @property
    def _folder(self) -> Path:
        return Path(self._address.options.get("outbox", ""))

    def forget(self, binding: Binding, sink: str, *, empty: bool, unmake: bool = False) -> None:
        """What was sent stays sent; what waits in the outbox is not sent any more, and where all
        rows come again the dead letters neither."""
        if "outbox" not in self._address.options or not self._folder.is_dir():
            return
        Outbox(self._folder, Task(sink)).clear()
        letters = DeadLetters(self._folder, sink)
        if empty and not letters.none:
            with letters.locked():
                letters.settle(letters.standing(), "reset")

    # -- staging -----------------------------------------------------------------------------------

    def connect(self, message: m.Open) -> None:
        binding = message.binding
        require_known_types(binding, "JSON")
        if "outbox" not in self._address.options:
            problem, hint = "it needs a folder for what is to be sent", "OPTIONS (outbox = '…')."
            raise error("DT-6144", store=self.store, problem=problem, hint=hint)
        self._read_secrets()
        self._task, self._binding = message.task, binding
        known = m.joined_checkpoints(message.driver_checkpoint)
        self._sealed = [each for each in known if each.get("staged")]
        self._outbox = Outbox(self._folder, message.task)
        self._outbox.open([each["staged"] for each in self._sealed])
        self._letters = DeadLetters(self._folder, message.task.sink)

    def _read_secrets(self) -> None:
        self._token = self._address.secret("token")
        self._hmac_key = self._address.secret("hmac_key")
        self._secret_path = self._address.secret("path")

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
        sealed = {"staged": self._outbox.stage(staged), "range": str(self._task.range)}
        self._sealed = [sealed]
        return sealed

    # -- sending -----------------------------------------------------------------------------------

    def apply(self) -> None:
        """DT-6143 where the outbox has lost what was staged."""
        for each in self._sealed:
            staged = self._outbox.staged(each["staged"])
            if staged.path.exists():
                self._send(each, staged)
            elif not staged.marker.exists():
                problem = "rows that were to be sent are gone"
                target = f"The outbox {self._folder}"
                raise error("DT-6143", target=target, store=self.store, problem=problem)
        self._outbox.forget_sent([each["staged"] for each in self._sealed])

    def _send(self, sealed: m.Checkpoint, staged: StagedFile) -> None:
        """Its keys are those of the task that staged it, any task may send it."""
        self._key = f"{self._task.sink}/{sealed['range']}/{sealed['staged']}"
        self._staged, self._outcomes = staged, staged.outcomes()
        for number, request in enumerate(staged.requests()):
            rows = request.get("rows") or request["deleted"]
            self._send_piece(RequestPart(number, 0, len(rows)), request)
        staged.finish()

    def _send_piece(self, piece: RequestPart, request: dict[str, Any]) -> None:
        """A request, or a part of one that was divided."""
        outcome = self._outcomes.get(piece)
        if outcome is None:
            outcome = self._outcome(piece, request)
            self._staged.note(piece, outcome)
        if outcome is RequestOutcome.DIVIDED:
            for half in piece.halves():
                self._send_piece(half, request)

    def _outcome(self, piece: RequestPart, request: dict[str, Any]) -> RequestOutcome:
        letter = self._letter(piece, request)
        waits = self._replace_letters(letter)
        if not waits:
            answer = self._deliver(letter.key, letter.body)
            if answer.verdict is AnswerVerdict.DELIVERED:
                return RequestOutcome.TAKEN
            letter = replace(letter, status=answer.status, reason=answer.reason)
        if not piece.single:
            return RequestOutcome.DIVIDED
        with self._letters.locked():
            self._outbox.require_mine()
            self._letters.add(letter)
        self.refused = self.refused.plus(letter.deletes)
        return RequestOutcome.REFUSED

    def _letter(self, piece: RequestPart, request: dict[str, Any]) -> DeadLetter:
        """A piece under its key; the whole request has the request's."""
        kind = "rows" if "rows" in request else "deleted"
        rows = request[kind]
        key = f"{self._key}/{piece.number}"
        if (piece.first, piece.last) != (0, len(rows)):
            key = f"{key}/{piece.first}-{piece.last}"
        body = {**request, kind: rows[piece.first : piece.last]}
        return DeadLetter(self._task.sink, key, body)

    def _replace_letters(self, newer: DeadLetter) -> bool:
        """Settles the letters that a piece replaces, before it is sent: it is staged, so it comes
        to the receiver or becomes a letter itself. Whether one of its rows has to wait behind a
        letter: a row that is added to what the receiver has."""
        if self._letters.none:
            return False
        with self._letters.locked():
            self._outbox.require_mine()
            keys = newer.row_keys(self._binding.key)
            older = [each for each in self._letters.standing() if each.key != newer.key]
            older = [each for each in older if keys & each.row_keys(self._binding.key)]
            if older and not (newer.deletes or self._binding.mirrors):
                return True
            self._letters.settle(older, "replaced")
        return False

    def _deliver(self, key: str, body: dict[str, Any]) -> WebhookAnswer:
        """Until it is taken, or refused for its rows. DT-6145 where the endpoint refuses all
        requests, DT-6110 where it gives no such answer after all attempts; the same is sent when
        the sink opens again."""
        answer = WebhookAnswer(0, "")
        for attempt in range(self._attempts):
            if attempt:
                self._sleep(self._pause(attempt, answer))
            self._outbox.require_mine()
            answer = self._post(key, json.dumps(body).encode())
            if answer.verdict in (AnswerVerdict.DELIVERED, AnswerVerdict.ROW_REFUSED):
                return answer
            if answer.verdict is AnswerVerdict.ENDPOINT_REFUSES:
                store, hint = f"The webhook {self._address}", cause_hint(answer.status)
                raise error("DT-6145", store=store, answer=answer, hint=hint)
        problem = f"{self._attempts} attempts, the last: {answer}"
        raise error("DT-6110", store=f"The webhook {self._address}", problem=problem)

    # -- dead letters ------------------------------------------------------------------------------

    def dead_letters(self, sink: str) -> int:
        return DeadLetters(self._folder, sink).count()

    def retry_dead_letters(self, binding: Binding, sink: str) -> int:
        """Each is sent under the key that it was refused with, those of a row in their order; one
        that is refused again keeps the later ones of its row behind it."""
        self._read_secrets()
        self._outbox, letters = Outbox(self._folder, Task(sink)), DeadLetters(self._folder, sink)
        self._outbox.fence()
        sent, blocked = 0, set[str]()
        for letter in letters.standing():
            with letters.locked():  # a newer row of its key waits until the answer is there
                if letter not in letters.standing() or letter.row_keys(binding.key) & blocked:
                    continue
                if self._deliver(letter.key, letter.body).verdict is AnswerVerdict.DELIVERED:
                    letters.settle([letter], "sent")
                    sent += 1
                else:
                    blocked |= letter.row_keys(binding.key)
        return sent

    # -- requests ----------------------------------------------------------------------------------

    def _pause(self, attempt: int, answer: WebhookAnswer) -> float:
        """Twice as long each time, up to half of it random; no less than was requested."""
        most: float = min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT)
        return max(most * (0.5 + self._jitter() / 2), min(answer.wait, _LONGEST_WAIT))

    def _post(self, key: str, body: bytes) -> WebhookAnswer:
        try:
            line = self._line or self._dialled()
            path = self._secret_path or self._address.path
            line.request("POST", f"/{path.lstrip('/')}", body, self._headers(key, body))
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

    def _headers(self, key: str, body: bytes) -> dict[str, str]:
        found = {
            "Content-Type": "application/json",
            "Idempotency-Key": key,
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

    def load_rows(self) -> Iterator[pa.Table]:
        yield from ()

    def close(self) -> None:
        self._hang_up()
