"""Changes that were staged by refreshes whose processes are gone."""

from __future__ import annotations

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import list_folders, remove_folder
from dt_jupyter.sources import Layout


def drop_staged(catalog: Catalog, layout: Layout) -> None:
    """Removes what no refresh that runs has put there. One that runs is in the catalog before its
    folder is: the folders are listed first."""
    folders = [folder for folder, _ in list_folders(layout.staged)]
    running = {lease.attempt for lease in catalog.running()} if folders else set()
    for folder in folders:
        if folder.name not in running:
            remove_folder(folder)


__all__ = ["drop_staged"]
