"""Properties of tables that a statement gives wrong."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sql import require_table_properties


@pytest.mark.parametrize(
    ("given", "code", "place", "told"),
    [
        ("'delta.appendOnly' = 'maybe'", "DT-1003", "'maybe'", "must be true or false"),
        ("'delta.enableRowTracking'='tru'", "DT-1003", "'tru'", "Did you mean true?"),
        ("delta.appendonly = 3", "DT-1003", "3", "must be true or false"),
        ("'delta.enableChangeDataFeed' 'yes'", "DT-1003", "'yes'", "must be true or false"),
        ("'a' = 'b', 'delta.checkpointInterval' = 'often'", "DT-1003", "'often'", "from 1"),
        ("'delta.checkpointInterval' = -1", "DT-1003", "-1", "from 1"),
        ("'delta.dataSkippingNumIndexedCols' = '-2'", "DT-1003", "'-2'", "from -1"),
        ("'delta.logRetentionDuration' = '7'", "DT-1003", "'7'", "interval 30 days"),
        ("'delta.deletedFileRetentionDuration' = 'interval 2 moons'", "DT-1003",
         "'interval 2 moons'", "does not begin a number"),
        ("'delta.columnMapping.mode' = 'nam'", "DT-1003", "'nam'", "Did you mean name?"),
        ("'delta.isolationLevel' = 'Serialisable'", "DT-1003", "'Serialisable'", "Serializable?"),
        ("'delta.checkpointPolicy' = 'v3'", "DT-1003", "'v3'", "must be classic or v2"),
        ("'dt.primarKey' = 'id'", "DT-1002", "'dt.primarKey'", "dt.primaryKey"),
        ("dt.primarykey = 'id'", "DT-1002", "dt.primarykey", "dt.primaryKey"),
        ("'dt.primaryKey' = ''", "DT-1003", "''", "names no column"),
        ("'dt.primaryKey' = '[id'", "DT-1003", "'[id'", "not a JSON list"),
        ("'dt.primaryKey' = '[1]'", "DT-1003", "'[1]'", "names no column"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_underlined(given: str, code: str, place: str, told: str) -> None:
    text = f"ALTER TABLE t SET TBLPROPERTIES ({given})"
    with pytest.raises(DTError) as e:
        require_table_properties(text)
    found = e.value
    assert found.span is not None
    assert (found.code, text[found.span.start : found.span.end]) == (code, place)
    assert told in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (id INT) TBLPROPERTIES ('dt.primaryKey' = 'id', delta.appendOnly = TRUE)",
        "CREATE TABLE t TBLPROPERTIES ('dt.primaryKey' = '[\"id\", \"a b\"]') AS SELECT 1 AS id",
        "ALTER TABLE t SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 30 days')",
        "ALTER TABLE t SET TBLPROPERTIES ('delta.checkpointInterval' = '10', 'owner' = 'me')",
        "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', a.b 'c')",
        "ALTER TABLE t UNSET TBLPROPERTIES ('dt.primaryKey')",
        "ALTER TABLE t UNSET TBLPROPERTIES ('dt.gone', 'delta.appendOnly')",
        "ALTER TABLE t SET TBLPROPERTIES (",
        "ALTER TABLE t SET TBLPROPERTIES",
        "SELECT 'TBLPROPERTIES (dt.x = 1)'",
    ],
)
def test_what_may_be_passes(text: str) -> None:
    require_table_properties(text)
