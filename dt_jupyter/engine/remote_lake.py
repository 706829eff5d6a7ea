"""A lake on other storage: its tables are there, its catalog is on a server, and each user has a
home for it on a disk, which holds copies and may be deleted when nothing runs."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from dt_jupyter.catalog import CATALOG_FILE, Catalog, Owner, find_database
from dt_jupyter.lake import HadoopStorage, RemoteStorage, StorageFailed, mount
from dt_jupyter.model import Clock, Tuning, error
from dt_jupyter.sources import Layout
from dt_jupyter.spark import is_connect, set_warehouse, storage_of, warehouse_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPENING = "opening"


def is_remote(lake: str | os.PathLike[str]) -> bool:
    """Whether a lake is on other storage than a disk."""
    return storage_of(os.fspath(lake)) is not None


def home_layout(place: str) -> Layout:
    """The home of the lake at a place, made where it is missing. DT-5103."""
    digest = hashlib.sha256(place.rstrip("/").encode()).hexdigest()[:20]
    home: Path = user_cache_path("dt_jupyter") / "lakes" / digest
    try:
        layout = Layout(home.resolve())
        layout.own.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        hint = "Set XDG_CACHE_HOME to a folder of this machine that can be written."
        raise error("DT-5103", path=place, problem=e, hint=hint) from e
    return layout


def mount_lake(spark: SparkSession, lake: str, tuning: Tuning, url: str | None) -> Layout:
    """The layout of a lake on other storage: this process knows from now on where its tables are,
    and its home where its catalog is. A session whose tables are in the home that it was started
    for makes them in the lake. DT-5103, DT-5115, DT-51xx of the catalog."""
    if is_connect(spark):
        problem = "its storage is reached by Java, which a client of Spark Connect has not"
        hint = "Use a session of this process, or a lake on a disk that the server mounts."
        raise error("DT-5103", path=lake, problem=problem, hint=hint)
    try:
        storage = HadoopStorage(spark)
        place = storage.qualify(lake).rstrip("/")
        layout = replace(home_layout(place), place=place)
        started = warehouse_of(spark) == home_layout(lake).tables
        for folder in layout.shared:
            inside = folder.relative_to(layout.lake).as_posix()
            mount(folder, storage, f"{place}/{inside}", tuning.fetched_bytes)
        storage.make_folder(f"{place}/tables")
        _find_catalog(storage, place, layout, url)
    except StorageFailed as e:
        hint = "Check the address, and the settings of the session for that storage."
        raise error("DT-5103", path=lake, problem=e.sentence, hint=hint) from e
    if started:
        set_warehouse(spark, layout.tables)
    return layout


def _find_catalog(storage: RemoteStorage, place: str, layout: Layout, url: str | None) -> None:
    """The place of the catalog is stored in the lake: the first process that opens it creates the
    catalog and stores its place."""
    told, here = f"{place}/_dt/{CATALOG_FILE}", layout.own / CATALOG_FILE
    if storage.stat(told) is None:
        if url is None:
            problem = "its catalog has to be in a database that all who open it reach"
            hint = "Give it: connect(lake, catalog='postgresql+psycopg://user@host/database')."
            raise error("DT-5103", path=place, problem=problem, hint=hint)
        here.unlink(missing_ok=True)
        _make_catalog(layout, url)
        try:
            storage.put_commit(told, here.read_text("utf-8"))
            return
        except FileExistsError:
            pass  # by another process
    draft = here.with_name(f".{here.name}.{os.getpid()}.tmp")
    storage.fetch(told, draft)
    os.replace(draft, here)
    draft.with_name(f".{draft.name}.crc").unlink(missing_ok=True)


def _make_catalog(layout: Layout, url: str) -> None:
    database = find_database(layout.catalog, url, home=True)
    Catalog(layout.catalog, Clock(), Owner.here(_OPENING), database=database).close()
