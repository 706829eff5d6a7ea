"""How transactions end: published as they were recorded, by the first process that can, or given
up."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dt_jupyter.catalog import INTENT_SECONDS, Catalog
from dt_jupyter.lake import (
    LakeError,
    Publication,
    StorageFailed,
    TableGone,
    TableLog,
    check_publication,
    find_mounted,
    list_folders,
    make_staged_durable,
    move_folder,
    publication_millis,
    publish,
    published,
    reach,
    read_text,
    table_lock,
    unstage,
    write_text,
)
from dt_jupyter.model import DTError, Intent, error
from dt_jupyter.sources import Layout, Logs
from dt_jupyter.spark import mounted_place


class TransactionWarning(UserWarning):
    """The outcome of a transaction whose process is gone."""


@dataclass(frozen=True)
class RollForward:
    """Ends the transactions of a lake. What is on record (the intent's `targets`) is published
    and its streams move; all else is given up, and was never visible."""

    catalog: Catalog
    logs: Logs
    layout: Layout

    @property
    def root(self) -> Path:
        return self.layout.transactions

    def folder(self, intent_id: str) -> Path:
        """Where a transaction stages what it writes."""
        return self.root / intent_id

    # -- the commit -------------------------------------------------------------------------------

    def commit(self, intent: Intent, made: Sequence[Publication]) -> dict[str, int]:
        """Puts on record what is published, and publishes it: the version of each table by path.

        Raises DT-3208 with nothing published, DT-3209 where an outside writer came between.
        """
        with self._locked(made):
            for each in made:
                try:
                    check_publication(each, self.logs[each.path])
                except StorageFailed:
                    raise
                except LakeError as e:
                    raise _conflict(e, each.path) from e
            recorded = replace(intent, targets=self._written(intent, made))
            self.catalog.prepare_intent(recorded)
            reach("tx_prepared")
            return self._publish(recorded, made)

    def _written(self, intent: Intent, made: Sequence[Publication]) -> tuple[str, ...]:
        """The files that say what is published; they and all that they name are on the disk."""
        files = []
        for i, each in enumerate(made):
            make_staged_durable(each)
            path = self.folder(intent.id) / f"publication_{i}.json"
            write_text(path, each.placed(self.catalog.root.stored).to_json())
            files.append(str(path))
        return tuple(files)

    def _publish(self, intent: Intent, made: Sequence[Publication]) -> dict[str, int]:
        """The caller holds the tables' locks. Tables that others may not have written come first:
        as long as nothing is published, all of it can still be given up."""
        done: dict[str, int] = {}
        lost: dict[str, str] = {}
        millis = publication_millis(self._there(made))
        for each in sorted(made, key=lambda m: m.append):
            try:
                done[each.path] = publish(each, self.logs[each.path], millis)
            except StorageFailed:  # its outcome is not known: it is settled later
                raise
            except LakeError as e:
                if not done and not self._any_published(made):
                    self.abort(intent)
                    raise _conflict(e, each.path) from e
                lost[each.path] = e.sentence
            except FileNotFoundError:
                if intent.id not in self.catalog.intents():  # another process has finished it
                    return done
                raise
            reach("tx_target_published")
        _await_millis(millis)
        self.catalog.finish_intent(intent)
        reach("tx_streams_moved")
        if lost:
            raise self._half_done(intent, done, lost)
        unstage(self.folder(intent.id))
        return done

    def _there(self, made: Sequence[Publication]) -> list[tuple[Publication, TableLog]]:
        """Those whose tables are there."""
        found = []
        for each in made:
            with suppress(TableGone):
                self.logs[each.path].version()
                found.append((each, self.logs[each.path]))
        return found

    def _any_published(self, made: Sequence[Publication]) -> bool:
        for each in made:
            try:
                if published(each, self.logs[each.path]) is not None:
                    return True
            except StorageFailed:
                raise
            except LakeError:
                continue
        return False

    def _half_done(
        self, intent: Intent, done: Mapping[str, int], lost: Mapping[str, str]
    ) -> DTError:
        kept = self.layout.unpublished / intent.id
        move_folder(self.folder(intent.id), kept)
        return error(
            "DT-3209",
            published=_names(done),
            lost=_names(lost),
            folder=mounted_place(kept) or kept,
            problem="; ".join(lost.values()),
        )

    @contextmanager
    def _locked(self, made: Sequence[Publication]) -> Iterator[None]:
        """The locks of all tables, always in the same order."""
        with ExitStack() as held:
            for path in sorted({Path(m.path) for m in made}):
                if find_mounted(path) is None and not path.parent.is_dir():
                    continue
                try:
                    held.enter_context(table_lock(path))
                except LakeError as e:
                    raise _conflict(e, str(path)) from e
            yield

    # -- after a crash ----------------------------------------------------------------------------

    def settle(self, intent: Intent) -> None:
        """Ends a transaction whose process is gone; a warning where it could not be published."""
        if intent.targets is None:
            self.abort(intent)
            return
        try:
            made = [
                Publication.of(read_text(Path(f))).placed(self.catalog.root.found)
                for f in intent.targets
            ]
        except FileNotFoundError:
            if intent.id not in self.catalog.intents():  # another process has finished it
                return
            raise
        try:
            with self._locked(made):
                self._publish(intent, made)
        except DTError as e:
            warnings.warn(str(e), TransactionWarning, stacklevel=2)

    def abort(self, intent: Intent) -> None:
        """Nothing of it happened."""
        self.catalog.abort_intent(intent)
        unstage(self.folder(intent.id))

    def sweep(self) -> None:
        """Removes what transactions that are over have left."""
        folders = sorted(folder for folder, _ in list_folders(self.root))
        known = self.catalog.intents() if folders else frozenset()
        for folder in folders:
            if folder.name not in known:
                unstage(folder)


def _await_millis(millis: int) -> None:
    """Until a time that is a millisecond away has come; not one that a clock gone wrong wrote."""
    left = millis / 1000 - time.time()
    if 0 < left < 0.01:
        time.sleep(left)


def _conflict(e: LakeError, path: str) -> DTError:
    return error("DT-3208", name=Path(path).name, problem=e.sentence)


def _names(paths: Mapping[str, object]) -> str:
    return ", ".join(Path(p).name for p in paths) or "none"


@contextmanager
def kept_alive(catalog: Catalog, intent_id: str) -> Iterator[None]:
    """Renews the intent every third of its time, so that no other host gives it up."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(INTENT_SECONDS / 3):
            if not catalog.renew_intent(intent_id):
                return

    thread = threading.Thread(target=beat, name=f"dt-intent-{intent_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


__all__ = ["RollForward", "TransactionWarning", "kept_alive"]
