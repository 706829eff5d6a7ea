"""How many rows a table shows: a dynamic table's backing table also has groups that a HAVING
hides, which its log counts."""

from __future__ import annotations

from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError, NotSupported
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.model.hidden import VISIBLE


def hides_rows(log: TableLog, version: int | None = None) -> bool:
    """Whether a table says of each row if it is shown."""
    return VISIBLE in log.metadata(version).columns


def count_shown_rows(log: TableLog, columns: KeptColumns, version: int | None = None) -> int | None:
    """The rows that a query of a table gives at a version, by default the newest; None where the
    log does not show it, or a file is not read without Spark. Raises LakeError."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not hides_rows(log, version):
        return log.size(version).rows
    asked = log.version() if version is None else version
    try:
        found = columns.rows(columns.files(log, asked), [VISIBLE])
    except (LakeError, NotSupported, pa.ArrowException, OSError):
        return None
    return pc.sum(found[VISIBLE]).as_py() or 0
