"""A live view in a notebook: an anywidget that holds a message, asks the desk and hears events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from dt_jupyter.dispatch.dispatcher import Desk
from dt_jupyter.dispatch.feed import EventFeed

LIVE_SCRIPT = Path(__file__).parents[1] / "widgets" / "static" / "widget.js"
"""Built from `labextension/widget`."""
_KINDS = ("graph", "lag", "frontiers", "replay", "detail", "streams", "rows")
_FOLLOWING = 12
"""Views that hear events at once: of more, those hear them that were shown last."""

Answer = Callable[[Desk, object, Callable[[dict[str, Any]], None]], None]
"""Answers what was asked, now or from a thread."""


class LiveView(anywidget.AnyWidget):
    """One view: `kind` says which, `message` is what it shows first, or without a kernel.

    Custom messages are those of the panel's comms: requests in, `{id, message}` out, and
    `{message}` for each event from the moment at which the view says hello.
    """

    _esm = LIVE_SCRIPT.read_text("utf-8") if LIVE_SCRIPT.is_file() else "export default {}"
    kind = traitlets.Enum(_KINDS).tag(sync=True)
    message = traitlets.Dict().tag(sync=True)
    _following: ClassVar[deque[LiveView]] = deque()

    def __init__(
        self, kind: str, message: dict[str, Any], desk: Desk, feed: EventFeed, answer: Answer
    ):
        super().__init__(kind=kind, message=message)
        self.desk, self._feed, self._answer = desk, feed, answer
        self._stop: Callable[[], None] | None = None
        if self.comm is not None:
            self.comm._reply_subshell_for = lambda data, default: default
        self.on_msg(self._asked)

    def __repr__(self) -> str:
        return f"A live view ({self.kind}), seen in the notebook that made it while its kernel runs"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget; where there can be none an empty place, below the picture that is shown
        before it."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        return {**data, "text/html": ""}, metadata

    def leave(self) -> None:
        """Hears no events any more, until it asks again."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def close(self) -> None:
        self.leave()
        self.desk.close()
        super().close()

    def _asked(self, _: LiveView, content: object, buffers: list[memoryview]) -> None:
        if isinstance(content, dict) and content.get("ask") == "hello" and self._stop is None:
            self._follow()
        self._answer(self.desk, content, self.send)

    def _follow(self) -> None:
        self._stop = self._feed.listen(lambda told: self.send({"message": told}))
        following = LiveView._following
        following.append(self)
        while len(following) > _FOLLOWING:
            following.popleft().leave()
