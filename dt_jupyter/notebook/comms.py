"""Comms with JupyterLab's panel: one on which it asks, one on which it hears what happens.

The panel opens both, with its role and its version of the wire, and on both the kernel says hello
when it is ready: comms are opened on the main shell, so a request that is sent to a subshell
before that is lost. Requests are answered while a cell runs, where the kernel has subshells; slow
ones in threads, which end when they are idle.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dt_jupyter.wire import WIRE_VERSION

if TYPE_CHECKING:
    from comm.base_comm import BaseComm, CommManager

    from dt_jupyter.dispatch import Desk
    from dt_jupyter.notebook.session import Notebook
    from dt_jupyter.notebook.workers import Workers

_log = logging.getLogger("dt_jupyter.comms")
TARGET = "dt_jupyter"
"""What the panel opens."""
HELLO_TARGET = "dt_jupyter_hello"
"""What the kernel opens, for a panel that was there first."""


class Comms:
    """The panel's comms of one kernel."""

    def __init__(self, notebook: Notebook, manager: CommManager) -> None:
        self._notebook, self._manager = notebook, manager
        self._open: dict[str, tuple[BaseComm, Callable[[], None]]] = {}

    def start(self) -> None:
        """From now on the panel is answered; one that waits is notified."""
        self._manager.register_target(TARGET, self._opened)
        try:
            from comm import create_comm

            create_comm(target_name=HELLO_TARGET, data={"version": WIRE_VERSION}).close()
        except Exception:  # a kernel that is not ready to send: the panel will try again
            _log.debug("no hello was sent", exc_info=True)

    def stop(self) -> None:
        """Closes what is open; a panel hears nothing more."""
        self._manager.targets.pop(TARGET, None)
        for comm, leave in [*self._open.values()]:
            leave()
            comm.close()

    def _opened(self, comm: Any, message: Mapping[str, Any]) -> None:
        data = message["content"]["data"]
        data = data if isinstance(data, dict) else {}
        role, same = data.get("role"), data.get("version") == WIRE_VERSION
        comm._reply_subshell_for = _as_asked
        leave = _nothing
        if role == "listen" and same:
            leave = self._notebook.feed.listen(lambda told: comm.send({"message": told}))
        else:
            from dt_jupyter.dispatch import hello

            if role == "ask" and same:
                leave = self._answering(comm)
            told = hello(self._notebook.engine, starting=self._notebook.starting)
            comm.send({"message": told.to_json()})

        def left(_: object = None) -> None:
            self._open.pop(comm.comm_id, None)
            leave()

        self._open[comm.comm_id] = (comm, left)
        comm.on_close(left)

    def _answering(self, comm: BaseComm) -> Callable[[], None]:
        from dt_jupyter.dispatch import Desk

        desk = Desk(lambda: self._notebook.engine)

        def asked(message: Mapping[str, Any]) -> None:
            answer(desk, self._notebook.workers, message["content"]["data"], comm.send)

        comm.on_msg(asked)
        return desk.close


def answer(
    desk: Desk, workers: Workers, asked: object, send: Callable[[dict[str, Any]], None]
) -> None:
    """Sends the answer: at once where it is quick, else from a thread."""
    from dt_jupyter.dispatch import QUICK

    if isinstance(asked, dict) and asked.get("ask") not in QUICK:
        workers.submit(lambda: send(desk.answer_json(asked)))
    else:
        send(desk.answer_json(asked))


def _as_asked(data: object, default: str | None) -> str | None:
    """ipykernel 7.4 answers a comm on the subshell of the kernel's last send on it, which for one
    from a thread is the main one, where cells run: the front end's own choice is kept instead."""
    return default


def _nothing() -> None:
    pass
