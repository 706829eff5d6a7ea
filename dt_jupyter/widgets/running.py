"""The progress of a call that a user waits for: its steps, Spark's jobs, rows and seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dt_jupyter.model import ActivityState, Progress, progress_words, shorten
from dt_jupyter.widgets.html_frame import shell, unstyled
from dt_jupyter.widgets.markup import Markup, element, joined, one_line

_MOST = 6
"""Steps that are shown, the newest ones."""


@dataclass(frozen=True)
class Running:
    """An activity and a button that stops it: of that id, else what the kernel's main thread runs.

    The button is seen where the front end has the extension that makes it work.
    """

    state: ActivityState
    stop_id: str | None = None

    @property
    def text(self) -> str:
        lines = [f"  {text}: {words}" for text, words in _steps(self.state)]
        return "\n".join([" · ".join(_head(self.state)), *lines])

    @property
    def html(self) -> str:
        title, *rest = _head(self.state)
        head = element(
            "div",
            _button(self.stop_id),
            element("b", title, class_="dtj-name"),
            unstyled(" · "),
            _bar(self.state),
            element("span", " · ".join(rest), class_="dtj-soft"),
            class_="dtj-running",
        )
        steps = [
            element("div", f"{text}: ", element("span", words), class_="dtj-soft")
            for text, words in _steps(self.state)
        ]
        return shell(head, *steps)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": str(self.text), "text/html": str(self.html)}


def _head(state: ActivityState) -> list[str]:
    """Title, progress, seconds."""
    return [_title(state.title), *_told(state.progress), f"{state.seconds:.0f} s"]


def _title(text: str) -> str:
    return one_line(shorten(text))


def _told(progress: Progress) -> list[str]:
    words = progress_words(progress)
    return [words] if words else []


def _steps(state: ActivityState) -> Iterator[tuple[str, str]]:
    """Of each step its title, with the step of it that runs, and how far it is."""
    for step in state.steps[-_MOST:]:
        inside = () if step.ended else step.running_steps
        text = " › ".join(_title(part) for part in (step.title, *inside))
        so_far = " · ".join([*_told(step.progress), f"{step.seconds:.0f} s"])
        words = "done" if step.ended else so_far
        yield text, words


def _bar(state: ActivityState) -> Markup:
    """Of the tasks; none where no job is known."""
    progress = state.progress
    if not progress.tasks:
        return joined()
    return element("progress", value=progress.tasks_done, max=progress.tasks)


def _button(stop_id: str | None) -> Markup:
    """Nothing is seen of it but where the extension makes it work: its word is in the style sheet,
    for pages that have the extension's class. It is first, where it stays while the rest
    changes."""
    return element(
        "span",
        class_=f"dtj-stop dtj-stop-{'main' if stop_id is None else 'thread'}",
        id=None if stop_id is None else f"dtj-stop-{stop_id}",
        role="button",
        tabindex="0",
        aria_label="Stop",
        title="Cancels what runs; nothing is left half done",
    )
