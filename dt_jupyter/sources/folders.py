"""The places of things in a lake's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.lake import folder_exists
from dt_jupyter.model import Name


@dataclass(frozen=True, slots=True)
class Layout:
    """`<lake>/tables` holds tables made in the session, `<lake>/_dt` what the engine owns. Of a
    lake that is at a `place` on other storage `lake` is a home on this disk."""

    lake: Path
    place: str = ""

    @property
    def known_as(self) -> Path | str:
        """The lake as its user names it."""
        return self.place or self.lake

    @property
    def tables(self) -> Path:
        return self.lake / "tables"

    def table(self, name: Name) -> Path:
        """A table made in the session: the schema's folder has a name that ends with `.db`."""
        schema = self.tables if name.schema == "default" else self.tables / f"{name.schema}.db"
        return schema / name.table

    def free(self, name: Name) -> Path:
        """As `table`, where no other table is: one that had the name has kept its folder."""
        folder, number = self.table(name), 1
        while folder_exists(folder):
            number += 1
            folder = folder.with_name(f"{name.table}.{number}")
        return folder

    @property
    def own(self) -> Path:
        return self.lake / "_dt"

    @property
    def shared(self) -> tuple[Path, ...]:
        """What is where all who open the lake find it; the rest of a home is its user's."""
        own = (self.own / "dynamic", self.trash, self.broken, self.staged)
        return self.tables, *own, self.transactions, self.unpublished

    @property
    def catalog(self) -> Path:
        return self.own / "catalog.sqlite"

    @property
    def files(self) -> Path:
        """The recorded lists of files of other formats, a Delta log for each source."""
        return self.own / "files"

    @property
    def copied_logs(self) -> Path:
        """Of tables on other storage, a Delta log for each."""
        return self.own / "copied_logs"

    @property
    def trash(self) -> Path:
        return self.own / "dropped"

    @property
    def dropped_schemas(self) -> Path:
        """What schemas held that were dropped, a file for each."""
        return self.own / "dropped_schemas"

    @property
    def pins(self) -> Path:
        """Copies of versions that are held, a folder for each hold."""
        return self.own / "pins"

    @property
    def broken(self) -> Path:
        """Unreadable backing tables, moved away when they are recreated."""
        return self.own / "broken"

    def folder(self, dt_id: str, *inside: str) -> Path:
        """Of a dynamic table, or what is in it: made in one step, as a tick asks for thousands."""
        return self.own.joinpath("dynamic", dt_id, *inside)

    def public(self, dt_id: str) -> Path:
        """The backing table of a dynamic table."""
        return self.folder(dt_id, "public")

    def stage(self, dt_id: str, ordinal: int) -> Path:
        """The backing table of a hidden stage."""
        return self.folder(dt_id, f"stage_{ordinal}")

    @property
    def staged(self) -> Path:
        """Changes that are too large for the driver, a folder for each refresh."""
        return self.own / "staging"

    @property
    def transactions(self) -> Path:
        """What is written aside until it is committed, a folder for each intent."""
        return self.own / "transactions"

    @property
    def unpublished(self) -> Path:
        """What a transaction had for tables that others were faster to write, when its other
        tables were written already."""
        return self.own / "unpublished"

    def staging(self, attempt: str) -> Path:
        """Where a refresh puts a change that is too large for the driver; gone with the attempt."""
        return self.staged / attempt
