"""Statements of tasks: what they say, where they end, and where they are wrong."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError, Name, TaskSchedule
from dt_jupyter.sql import parse_condition, parse_script, statement_values as S
from dt_jupyter.sql.grammar.parse import parse_statement

T, A, B = (Name("default", n) for n in "tab")
MINUTE = TaskSchedule(60)
DML = "INSERT INTO x SELECT * FROM s"
HAS = "SYSTEM$STREAM_HAS_DATA('s')"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"CREATE TASK t SCHEDULE = '1 minute' AS {DML}", S.CreateTask(T, DML, schedule=MINUTE)),
        (f"create or replace task d.t as {DML}",
         S.CreateTask(Name("d", "t"), DML, action=S.CreateAction.REPLACE)),
        (f"CREATE TASK IF NOT EXISTS t AFTER a, b WHEN {HAS} AS {DML}",
         S.CreateTask(T, DML, S.CreateAction.IF_NOT_EXISTS, after=(A, B), condition=HAS)),
        (f"CREATE TASK t WAREHOUSE = W SCHEDULE 'USING CRON 0 9 * * SUN UTC', "
         f"ALLOW_OVERLAPPING_EXECUTION = TRUE SUSPEND_TASK_AFTER_NUM_FAILURES = 0 "
         f"TASK_AUTO_RETRY_ATTEMPTS = 2 USER_TASK_TIMEOUT_MS = 5000 COMMENT = 'c' "
         f"WHEN NOT ({HAS} OR {HAS}) AS {DML}",
         S.CreateTask(T, DML, schedule=TaskSchedule(None, "0 9 * * SUN", "UTC"),
                      condition=f"NOT ({HAS} OR {HAS})", warehouse="w", overlaps=True,
                      suspend_after=0, retries=2, timeout_ms=5000, comment="c")),
        ("ALTER TASK t SUSPEND", S.AlterTask(T, S.Suspend())),
        ("ALTER TASK IF EXISTS t RESUME", S.AlterTask(T, S.Resume(), True)),
        ("ALTER TASK t SET SCHEDULE = '1 minute' COMMENT = 'x'",
         S.AlterTask(T, S.SetTask(MINUTE, comment="x"))),
        ("ALTER TASK t UNSET COMMENT, SCHEDULE",
         S.AlterTask(T, S.UnsetOptions(frozenset({"COMMENT", "SCHEDULE"})))),
        (f"ALTER TASK t MODIFY AS {DML}", S.AlterTask(T, S.ModifyBody(DML))),
        (f"ALTER TASK t MODIFY WHEN {HAS}", S.AlterTask(T, S.ModifyCondition(HAS))),
        ("ALTER TASK t REMOVE WHEN", S.AlterTask(T, S.ModifyCondition(None))),
        ("ALTER TASK t ADD AFTER a, b", S.AlterTask(T, S.AfterTasks((A, B)))),
        ("ALTER TASK t REMOVE AFTER a", S.AlterTask(T, S.AfterTasks((A,), remove=True))),
        ("ALTER TASK t EXECUTE", S.ExecuteTask(T)),
        ("EXECUTE TASK t", S.ExecuteTask(T)),
        ("DROP TASK IF EXISTS t", S.DropTask(T, True)),
        ("DESC TASK t", S.DescribeTask(T)),
        ("SHOW TASKS LIKE 'a%'", S.ShowTasks("a%")),
    ],
)  # fmt: skip
def test_statements_say_what_they_say(text: str, expected: S.Statement) -> None:
    assert parse_statement(text) == expected


def test_a_table_called_task_is_still_spark_s() -> None:
    assert isinstance(parse_statement("DESCRIBE task"), S.SparkStatement)
    assert isinstance(parse_statement("EXECUTE IMMEDIATE 'SELECT 1'"), S.SparkStatement)
    assert isinstance(parse_statement("SELECT task FROM task AS task"), S.SparkStatement)


def test_a_block_ends_where_its_END_stands() -> None:
    block = "BEGIN INSERT INTO x VALUES (CASE WHEN 1 = 1 THEN ';' END); DELETE FROM y; END"
    script = f"SELECT 1; CREATE TASK t AS {block}; ALTER TASK t MODIFY AS {block}; SELECT 2"
    first, made, altered, last = parse_script(script)
    assert isinstance(made, S.CreateTask)
    assert made.body == block
    assert script[made.body_offset :].startswith(block)
    assert altered == S.AlterTask(T, S.ModifyBody(block))
    assert (first.text, last.text) == ("SELECT 1", "SELECT 2")
    one, two = parse_script(f"CREATE TASK t AS {DML}; BEGIN")
    assert isinstance(one, S.CreateTask)
    assert two == S.Begin()


@pytest.mark.parametrize(
    ("text", "code", "shows"),
    [
        ("CREATE TASK t SCHEDULE = '1 minute'", "DT-1001", ""),
        ("CREATE TASK t AS", "DT-1001", ""),
        (f"CREATE TASK t SCHEDULE = 'often' AS {DML}", "DT-1003", "'often'"),
        (f"CREATE TASK t SCHEDUL = '1 minute' AS {DML}", "DT-1002", "SCHEDUL"),
        (f"CREATE TASK t AFTER a SCHEDULE = '1 minute' AS {DML}", "DT-1001", "'1 minute'"),
        (f"CREATE TASK t AFTER a AFTER b AS {DML}", "DT-1001", "AFTER"),
        (f"CREATE TASK t {DML}", "DT-1002", "INSERT"),
        (f"CREATE OR ALTER TASK t AS {DML}", "DT-1001", "CREATE"),
        (f"CREATE TASK t WHEN x > 1 AS {DML}", "DT-3303", "x"),
        (f"CREATE TASK t WHEN {HAS} AND AS {DML}", "DT-3303", ""),
        ("ALTER TASK t", "DT-1001", ""),
        ("ALTER TASK t SUSPEND now", "DT-1001", "now"),
        ("ALTER TASK t UNSET NAME", "DT-1002", "NAME"),
        ("EXECUTE TASK", "DT-1001", ""),
    ],
)
def test_what_is_wrong_is_told_at_its_place(text: str, code: str, shows: str) -> None:
    with pytest.raises(DTError) as found:
        parse_script(text)
    assert found.value.code == code
    assert found.value.span is not None
    assert text[found.value.span.start : found.value.span.end] == shows


def test_a_condition_asks_no_more_streams_than_it_needs() -> None:
    asked: list[str] = []

    def has_data(name: str) -> bool:
        asked.append(name)
        return name.startswith("full")

    def holds(text: str) -> bool:
        asked.clear()
        return parse_condition(text.replace("@", "SYSTEM$STREAM_HAS_DATA")).holds(has_data)

    assert holds("@('full') OR @('empty')")
    assert asked == ["full"]
    assert not holds("@('empty') AND @('full')")
    assert asked == ["empty"]
    assert holds("NOT @('empty') AND (@('empty') OR @('full2'))")
    assert holds("FALSE OR NOT NOT TRUE")
    assert not holds("@('full') AND NOT @('full') OR FALSE")
    found = parse_condition(f"{HAS} AND (NOT {HAS} OR SYSTEM$STREAM_HAS_DATA('d.`x y`'))")
    assert found.streams == ("s", "d.`x y`")


@pytest.mark.parametrize("text", ["(" * 500 + HAS + ")" * 500, "NOT " * 500 + HAS])
def test_a_condition_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(DTError, match="too deep"):
        parse_condition(text)


@pytest.mark.parametrize(
    "text", ["", "SYSTEM$STREAM_HAS_DATA(s)", f"{HAS} {HAS}", f"({HAS}", HAS + ")"]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(DTError) as found:
        parse_condition(text)
    assert found.value.code == "DT-3303"
