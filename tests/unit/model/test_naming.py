"""Names that may be given, and those that are refused before anything is written."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

from dt_jupyter.engine.naming import given_names, require_names
from dt_jupyter.model import DTError, Name, Named, require_name
from dt_jupyter.model.naming import LONGEST_NAME
from dt_jupyter.sql.grammar import statement_values as S
from dt_jupyter.sql.grammar.parse import parse_script

RELATIONS = (Named.TABLE, Named.VIEW, Named.DYNAMIC_TABLE, Named.STREAM)
LABELS = (Named.WAREHOUSE, Named.PIN, Named.ROLE)
NEVER = [
    "", "\0", "a\nb", "a\tb", "a\x7fb", "\ud800", "a\udfff", "<script>", "a`b", "a'b", 'a"b',
    "a\\b", " a", "a ", "a\u200bb", "a\u202eb", "a\u2028b", "x" * (LONGEST_NAME + 1),
    "__dt_x", "__DT_X",
]  # fmt: skip
NO_WORD = [
    "a b", "a.b", "a/b", "..", ".", "../x", "a-b", "a:b", "a;b", "a%2fb", "größe", "日本", "ı",
    "a$b", "a,b", "(a)", "a=b", "a#b", "x.db", "a?b", "a*b", "a[b]", "~",
]  # fmt: skip
WORDS = [
    "a",
    "A",
    "1a",
    "1",
    "_",
    "select",
    "table",
    "x" * LONGEST_NAME,
    "CON",
    "default",
    "_delta_log",
]


def code(kind: Named, name: Name | str) -> str | None:
    """That of the error; None: it is taken. What is told can be written anywhere."""
    try:
        require_name(kind, name)
    except DTError as e:
        return e.code if str(e).encode() else None
    return None


@pytest.mark.parametrize("text", NEVER)
def test_no_kind_takes_it(text: str) -> None:
    for kind in Named:
        assert code(kind, text) in ("DT-1114", "DT-1119"), kind


@pytest.mark.parametrize("text", NO_WORD)
def test_what_spark_or_a_folder_refuses(text: str) -> None:
    for kind in RELATIONS:
        assert code(kind, Name("default", text)) == "DT-1119"
        assert code(kind, Name(text, "t")) == "DT-1119"
    assert code(Named.SCHEMA, text) == "DT-1119"
    assert all(code(kind, text) is None for kind in LABELS)


@pytest.mark.parametrize("text", WORDS)
def test_what_all_take(text: str) -> None:
    assert all(code(kind, Name("default", text)) is None for kind in RELATIONS)
    assert all(code(kind, text) is None for kind in (*LABELS, Named.SCHEMA))


@pytest.mark.parametrize("schema", ["delta", "PARQUET", "csv", "global_temp", "spark_catalog"])
def test_schemas_that_mean_something_else(schema: str) -> None:
    assert code(Named.DYNAMIC_TABLE, Name(schema, "t")) == "DT-1119"
    assert code(Named.SCHEMA, schema) == "DT-1119"
    assert code(Named.TABLE, Name("default", schema)) is None


@pytest.mark.parametrize("value", [None, 1, b"x", ["a"]])
def test_what_is_no_text(value: object) -> None:
    assert code(Named.PIN, value) == "DT-1119"  # type: ignore[arg-type]


BAD = "`a b`"
GIVING = [
    f"CREATE DYNAMIC TABLE {BAD} AS SELECT 1 a",
    f"CREATE OR REPLACE DYNAMIC TABLE {BAD} AS SELECT 1 a",
    f"CREATE OR ALTER DYNAMIC TABLE {BAD} AS SELECT 1 a",
    f"CREATE DYNAMIC TABLE IF NOT EXISTS {BAD}.t AS SELECT 1 a",
    f"EXPLAIN CREATE DYNAMIC TABLE {BAD} AS SELECT 1 a",
    f"CREATE DYNAMIC TABLE {BAD} CLONE t",
    f"CREATE SCHEMA {BAD} CLONE a",
    f"UNDROP SCHEMA {BAD}",
    f"ALTER SCHEMA a RENAME TO {BAD}",
    f"ALTER DYNAMIC TABLE t RENAME TO {BAD}",
    f"ALTER DYNAMIC TABLE t SWAP WITH {BAD}",
    f"ALTER DYNAMIC TABLE {BAD} SWAP WITH t",
    f"UNDROP DYNAMIC TABLE {BAD}",
    f"UNDROP TABLE {BAD}",
    "CREATE WAREHOUSE `<b>`",
    "CREATE OR REPLACE WAREHOUSE `<b>`",
    f"CREATE STREAM {BAD} ON TABLE t",
    f"CREATE OR REPLACE STREAM {BAD} ON VIEW t",
    f"CREATE STREAM {BAD} CLONE t",
    f"UNDROP STREAM {BAD}",
    f"CREATE SINK {BAD} FROM TABLE t INTO 'sqlite:///a.db'",
    f"CREATE TASK {BAD} AS DELETE FROM t",
    "CREATE ROLE `<b>`",
    f"CREATE TABLE {BAD} (a INT)",
    f"CREATE OR REPLACE TABLE {BAD} AS SELECT 1 a",
    f"REPLACE TABLE {BAD} AS SELECT 1 a",
    f"CREATE TABLE IF NOT EXISTS {BAD}.t USING delta AS SELECT 1 a",
    f"CREATE VIEW {BAD} AS SELECT 1 a",
    f"ALTER TABLE t RENAME TO {BAD}",
    f"ALTER VIEW t RENAME TO {BAD}",
    f"CREATE SCHEMA {BAD}",
    f"CREATE DATABASE IF NOT EXISTS {BAD}",
    f"CREATE NAMESPACE spark_catalog.{BAD}",
]


@pytest.mark.parametrize("text", GIVING)
def test_a_statement_that_gives_a_name_is_refused_at_its_place(text: str) -> None:
    (statement,) = parse_script(text)
    with pytest.raises(DTError) as e:
        require_names(statement, text)
    assert e.value.code == "DT-1119"
    assert e.value.span is not None
    assert "`" in text[e.value.span.start : e.value.span.end]


@pytest.mark.parametrize(
    "text",
    [
        f"DROP DYNAMIC TABLE {BAD}",
        f"ALTER DYNAMIC TABLE {BAD} RENAME TO t",
        f"ALTER DYNAMIC TABLE {BAD} SUSPEND",
        f"DROP STREAM {BAD}",
        f"DROP TABLE {BAD}",
        f"DROP SCHEMA {BAD}",
        f"SELECT * FROM {BAD}",
        f"INSERT INTO {BAD} VALUES (1)",
        f"CREATE TEMP VIEW {BAD} AS SELECT 1 a",
        "CREATE TABLE delta.`/a b` (a INT)",
        "DROP WAREHOUSE `<b>`",
        "ALTER WAREHOUSE `<b>` SUSPEND",
        f"CREATE DYNAMIC TABLE t AS SELECT * FROM {BAD}",
    ],
)
def test_what_has_a_name_already_can_be_used_and_let_go(text: str) -> None:
    (statement,) = parse_script(text)
    require_names(statement, text)


def test_every_statement_was_thought_of() -> None:
    """A new statement is either in `given_names`, or here among those that give no name."""
    none = {
        "Statement", "Begin", "Commit", "Rollback", "DropDynamicTable", "DescribeDynamicTable",
        "ShowDynamicTables", "AlterWarehouse", "DropWarehouse", "ShowWarehouses", "DropStream",
        "DescribeStream", "ShowStreams", "AlterSink", "DropSink", "DescribeSink", "ShowSinks",
        "AlterStream", "AlterTask", "ExecuteTask", "DropTask", "DescribeTask", "ShowTasks",
        "Unsupported", "SwapSchemas",
        "DropRole", "ShowRoles", "UseRole", "GrantRights", "RevokeRights", "ShowGrants",
    }  # fmt: skip
    named = {
        "CreateDynamicTable", "CloneDynamicTable", "CloneSchema", "UndropSchema", "RenameSchema",
        "AlterDynamicTable", "UndropDynamicTable",
        "UndropTable", "ExplainDynamicTable", "CreateWarehouse", "CreateStream", "CreateSink",
        "CloneStream", "UndropStream", "CreateTask", "CreateRole", "SparkStatement",
    }  # fmt: skip
    found = {
        n
        for n, c in vars(S).items()
        if isinstance(c, type)
        and is_dataclass(c)
        and issubclass(c, S.Statement)
        and "text" in {f.name for f in fields(c)}
    }
    assert found == none | named
    assert {type(s).__name__ for t in GIVING for s in parse_script(t) if list(given_names(s))} == (
        named
    )
