"""Changes that refreshes put aside, of those whose processes are gone."""

from __future__ import annotations

import shutil

from dt_jupyter.catalog import Catalog
from dt_jupyter.sources import Layout


def drop_staged(catalog: Catalog, layout: Layout) -> None:
    """Removes what no refresh that runs has put there. One that runs is in the catalog before its
    folder is: the folders are listed first."""
    folders = list(layout.staged.iterdir()) if layout.staged.is_dir() else []
    running = {lease.attempt for lease in catalog.running()} if folders else set()
    for folder in folders:
        if folder.name not in running:
            shutil.rmtree(folder, ignore_errors=True)


__all__ = ["drop_staged"]
