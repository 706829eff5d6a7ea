"""Errors say where: the place in the script, and the name or the keyword that was meant."""

from __future__ import annotations

import argparse
import traceback

import pytest

from dt_jupyter import cli
from dt_jupyter.dispatch import outcome_message
from dt_jupyter.engine import read_outcome, run_script
from dt_jupyter.engine.script import create_by_cell
from dt_jupyter.model import DTError
from dt_jupyter.sql import CreateDynamicTable
from dt_jupyter.sql.grammar.magic_options import parse_dynamic_table
from tests.spark.engine_lab import Lab


@pytest.fixture(scope="module")
def lab(shared_lab: Lab) -> Lab:
    shared_lab.table("orders", "id INT, qty INT", "1, 2", "2, 0")
    shared_lab.table("copied", "id INT, qty INT")
    shared_lab.dynamic_table("daily", "SELECT id FROM orders", "INITIALIZE = ON_SCHEDULE")
    shared_lab.dynamic_table("weekly", "SELECT id FROM orders", "INITIALIZE = ON_SCHEDULE")
    shared_lab.sql("CREATE STREAM moved ON TABLE copied; CREATE WAREHOUSE small")
    shared_lab.table("spare", "id INT")
    shared_lab.sql("DROP TABLE spare; DROP DYNAMIC TABLE weekly")
    return shared_lab


def told(lab: Lab, script: str) -> tuple[DTError, str]:
    """The error of a script, and what it underlines of it."""
    with pytest.raises(DTError) as e:
        lab.sql(script)
    found = e.value
    assert found.query == script, (found, found.query)
    assert found.span is not None, found
    return found, script[found.span.start : found.span.end]


@pytest.mark.parametrize(
    ("script", "at", "meant"),
    [
        ("SELECT id FORM orders", "orders", "FROM"),
        ("SELECT 1;\n\n  SELECT id,\n qty\n FORM orders", "orders", "FROM"),
        ("SELECT id FROM orders WERE id = 1", "id", "WHERE"),
        ("SELECT qty FROM orders GRUOP BY qty", "BY", "GROUP"),
        ("SELECT id FROM orders WHERE id = 1 AN qty = 2", "AN", "AND"),
        ("SELEC id FROM orders", "SELEC", "SELECT"),
        ("UPDATE orders SE id = 1", "id", "SET"),
        ("INSERT INT orders VALUES (1, 1)", "INT", "INTO"),
        ("DELETE FORM orders", "FORM", "FROM"),
        ("SELECT id FORM orders AT (VERSION => 1)", "orders", "FROM"),
        ("SELECT id FROM orders AT (VERSION => 1) WERE id = 1", "id", "WHERE"),
        ("SELECT * FROM orders CHANGES (INFORMATION => DEFAULT) AT (VERSION => 1) WERE x", "x",
         "WHERE"),
        ("CREATE VIEW v AS SELECT id FORM orders", "orders", "FROM"),
        ("CREATE DYNAMIC TABLE d AS SELECT id FORM orders", "orders", "FROM"),
        ("SELECT 1;\nEXPLAIN CREATE DYNAMIC TABLE d AS\nSELECT id FORM orders", "orders", "FROM"),
        ("SHOW TABELS", "", "TABLES"),
        ("SHOW STREAM", "", "STREAMS"),
        ("DROP TABEL orders", "TABEL", "TABLE"),
    ],
)  # fmt: skip
def test_a_text_that_spark_refuses_is_underlined(
    lab: Lab, script: str, at: str, meant: str
) -> None:
    found, place = told(lab, script)
    assert (found.code, place) == ("DT-1001", at)
    assert found.hint == (f"Did you mean {meant}?" if meant else "")
    assert ".." not in found.sentence
    assert found.sentence.count("yntax error") == 1
    shown = "".join(traceback.format_exception_only(found))
    assert "^" in shown.splitlines()[-1], "Python's own traceback shows the place too"


@pytest.mark.parametrize(
    ("script", "at", "hint"),
    [
        ("SELECT qty count(*) FROM orders GROUP BY qty", "(", "between qty and count"),
        ("CREATE DYNAMIC TABLE d AS SELECT qty count(*) FROM orders GROUP BY qty", "(",
         "between qty and count"),
        ("SELECT id, qty FROM orders GROUP BY id qty", "qty", "comma missing between id and qty"),
        ("CREATE TABLE n (id INT name STRING)", "name", "comma missing between INT and name"),
        ("INSERT INTO orders VALUES (1, 2) (3, 4)", "(", "comma missing between ) and ("),
        ("SELECT id FROM orders WHERE id = 1 qty = 2", "qty", "AND or OR missing between"),
        ("SELECT (id FROM orders", "FROM", "A ) is missing"),
        ("CREATE DYNAMIC TABLE d AS SELECT count(* FROM orders", "FROM", "( after count"),
        ("SELECT id FROM orders WHERE id = 1)", ")", "leave out the )"),
        ("SELECT id FROM orders LIMIT 1 WHERE id = 1", "WHERE", "WHERE comes before LIMIT"),
        ("SELECT * FROM {orders}", "{", "IDENTIFIER(:orders)"),
        ("SELECT * FROM 'orders'", "'orders'", "has no quotes"),
    ],
)  # fmt: skip
def test_what_is_missing_in_a_text_is_said(lab: Lab, script: str, at: str, hint: str) -> None:
    found, place = told(lab, script)
    assert (found.code, place) == ("DT-1001", at)
    assert hint in found.hint


@pytest.mark.parametrize(
    ("script", "code", "at", "said"),
    [
        ("DROP TABLE daily", "DT-1109", "daily", "Write DROP DYNAMIC TABLE daily."),
        ("DROP VIEW daily", "DT-1109", "daily", "Write DROP DYNAMIC TABLE daily."),
        ("ALTER TABLE daily RENAME TO d", "DT-1109", "daily",
         "Write ALTER DYNAMIC TABLE daily RENAME TO d."),
        ("ALTER TABLE daily ADD COLUMN x INT", "DT-1109", "daily", "CREATE OR ALTER DYNAMIC TABLE"),
        ("CREATE TABLE daily (id INT)", "DT-1109", "daily", "DROP DYNAMIC TABLE daily first"),
        ("INSERT INTO daily VALUES (1)", "DT-1109", "daily", "read-only"),
        ("INSERT INTO IDENTIFIER('dai' || 'ly') VALUES (1)", "DT-1109", None, "read-only"),
        ("DROP DYNAMIC TABLE orders", "DT-1109", "orders", "Write DROP TABLE orders."),
        ("DESCRIBE DYNAMIC TABLE orders", "DT-1109", "orders", "Write DESCRIBE TABLE orders."),
        ("ALTER DYNAMIC TABLE orders SUSPEND", "DT-1109", "orders", "It is read by daily."),
        ("CREATE TABLE orders (id INT)", "DT-1105", "orders", "Table orders already exists"),
        ("CREATE VIEW orders AS SELECT 1 AS x", "DT-1105", "orders", "Table orders already exists"),
        ("CREATE DYNAMIC TABLE daily AS SELECT 1 AS x", "DT-1105", "daily", "Dynamic table daily"),
        ("CREATE DYNAMIC TABLE orders AS SELECT 1 AS x", "DT-1105", "orders", "Table orders"),
        ("CREATE SCHEMA default", "DT-1105", "default", "Schema default already exists"),
        ("DROP VIEW orders", "DT-1109", "orders", "orders is a table, not a view. Use DROP TABLE"),
        ("INSERT INTO orders VALUES (1, 2, 3)", "DT-1165", "orders",
         "A row for orders needs 2 values, and has 3. The columns of orders: id int, qty int."),
        ("INSERT INTO orders VALUES (1)", "DT-1165", "orders", "needs 2 values, and has 1"),
        ("INSERT INTO orders (id) VALUES (1, 2)", "DT-1165", "orders", "needs 1 value, and has 2"),
        ("INSERT INTO orders SELECT id FROM orders", "DT-1165", "orders", "needs 2 values"),
        ("WITH x AS (SELECT 1 AS a) INSERT INTO orders SELECT * FROM x", "DT-1112", None, ""),
        ("SELECT * FROM orders VERSION AS OF 99", "DT-4102", None, "The newest is version 1."),
        ("SELECT * FROM orders AT (VERSION => 99)", "DT-4102", None, "The newest is version 1."),
        ("RESTORE TABLE orders TO VERSION AS OF 99", "DT-4102", None, "The newest is version 1."),
        ("CREATE SINK s FROM TABLE orders INTO 'sqlite:////nowhere/x.db#t' KEY (id)", "DT-6110",
         None, "No sink was created."),
        ("CREATE DYNAMIC TABLE d AS SELECT id / 0 AS x FROM orders", "DT-2105", None,
         "The creation of d failed: "),
    ],
)  # fmt: skip
def test_a_refused_statement_says_what_to_write(
    lab: Lab, script: str, code: str, at: str | None, said: str
) -> None:
    with pytest.raises(DTError) as e:
        lab.sql(script)
    found = e.value
    assert found.code == code, str(found)
    assert said in str(found)
    assert str(found).count("DT-") == 1
    if at is not None:
        assert found.span is not None
        assert script[found.span.start : found.span.end] == at


def test_one_failure_has_one_code_however_it_is_asked_for(lab: Lab) -> None:
    lab.sql("CREATE TABLE lost (id INT)")
    lab.dynamic_table("below", "SELECT id FROM lost")
    lab.dynamic_table("above", "SELECT id FROM below")
    lab.sql("DROP TABLE lost")
    record = lab.record("below")
    assert record.error_code == "DT-2102"
    for name in ("below", "above"):
        with pytest.raises(DTError) as e:
            lab.sql(f"ALTER DYNAMIC TABLE {name} REFRESH")
        assert str(e.value) == record.error
    lab.sql("DROP DYNAMIC TABLE above; DROP DYNAMIC TABLE below")


def test_show_takes_the_patterns_of_sql_and_of_spark(lab: Lab) -> None:
    for pattern in ("dai*", "dai%", "d_ily", "x|daily"):
        assert [row[0] for row in lab.sql(f"SHOW DYNAMIC TABLES LIKE '{pattern}'")] == ["daily"]
    for pattern in ("ord*", "ord%", "x|orders"):
        assert [row[1] for row in lab.sql(f"SHOW TABLES LIKE '{pattern}'")] == ["orders"]


@pytest.mark.parametrize(
    ("script", "at", "meant"),
    [
        ("SELECT id FROM ordesr", "ordesr", "orders"),
        ("SELECT id FROM ordesr AT (VERSION => 1)", "ordesr AT (VERSION => 1)", "orders"),
        ("DROP TABLE ordesr", "ordesr", "orders"),
        ("RESTORE TABLE ordesr TO VERSION AS OF 0", "ordesr", "orders"),
        ("DESCRIBE HISTORY ordesr", "ordesr", "orders"),
        ("OPTIMIZE ordesr", "ordesr", "orders"),
        ("SELECT 1; CREATE DYNAMIC TABLE d AS SELECT id FROM ordesr", "ordesr", "orders"),
        ("CREATE DYNAMIC TABLE d CLUSTER BY (idd) AS SELECT id FROM orders", "idd", "id"),
        ("CREATE DYNAMIC TABLE d WAREHOUSE = smal AS SELECT id FROM orders", "smal", "small"),
        ("CREATE DYNAMIC TABLE d CLONE dayly", "dayly", "daily"),
        ("CREATE STREAM s ON TABLE ordesr", "ordesr", "orders"),
        ("CREATE STREAM s ON VIEW ordesr", "ordesr", "orders"),
        ("ALTER DYNAMIC TABLE dayly REFRESH", "dayly", "daily"),
        ("ALTER DYNAMIC TABLE daily SWAP WITH dayly", "dayly", "daily"),
        ("ALTER DYNAMIC TABLE daily SET WAREHOUSE = smal", "smal", "small"),
        ("DROP DYNAMIC TABLE dayly", "dayly", "daily"),
        ("DESCRIBE DYNAMIC TABLE dayly", "dayly", "daily"),
        ("EXPLAIN DYNAMIC TABLE dayly", "dayly", "daily"),
        ("ALTER WAREHOUSE smal SUSPEND", "smal", "small"),
        ("DROP WAREHOUSE smal", "smal", "small"),
        ("DROP STREAM movd", "movd", "moved"),
        ("DESCRIBE STREAM movd", "movd", "moved"),
        ("SELECT * FROM movd", "movd", "moved"),
        ("SELECT idd FROM orders", "idd", "id"),
        ("ALTER TABLE orders DROP COLUMN idd", "idd", "id"),
        ("INSERT INTO orders (idd) VALUES (1)", "idd", "id"),
        ("SELECT 1; MERGE INTO orders o USING copied c ON o.idd = c.id WHEN MATCHED THEN DELETE",
         "idd", "id"),
        ("MERGE INTO orders USING copied ON orders.id = copied.id "
         "WHEN MATCHED AND qtyy > 1 THEN DELETE", "qtyy", "qty"),
        ("MERGE INTO orders o USING copied c ON o.id = c.id WHEN MATCHED THEN UPDATE SET qtty = 1",
         "qtty", "qty"),
        ("MERGE INTO orders o USING copied c ON o.id = c.id "
         "WHEN MATCHED THEN UPDATE SET qty = c.qtty", "qtty", "qty"),
        ("MERGE INTO orders o USING copied c ON o.id = c.id "
         "WHEN NOT MATCHED THEN INSERT (idd) VALUES (c.id)", "idd", "id"),
        ("MERGE INTO orders o USING copied c ON o.id = c.id "
         "WHEN NOT MATCHED BY SOURCE AND o.qtty > 1 THEN DELETE", "qtty", "qty"),
        ("UPDATE orders SET qtty = 1", "qtty", "qty"),
        ("UPDATE orders SET qty = 1 WHERE idd = 2", "idd", "id"),
        ("DELETE FROM orders WHERE idd = 2", "idd", "id"),
        ("UNDROP DYNAMIC TABLE weakly", "weakly", "weekly"),
        ("UNDROP TABLE spair", "spair", "spare"),
        ("USE defalt", "defalt", "default"),
        ("SELECT id FROM orders; SELECT summ(id) FROM orders", "summ", "sum"),
        ("CREATE DYNAMIC TABLE d AS SELECT summ(id) AS x FROM orders", "summ(id)", "sum"),
        ("CREATE DYNAMIC TABLE d AS SELECT o.qtyy FROM orders o", "o.qtyy", "qty?"),
        ("ALTER TABLE orders SET TBLPROPERTIES ('delta.appendOnyl' = 'true')",
         "'delta.appendOnyl'", "delta.appendOnly"),
        ("CREATE TABLE q (id INT) TBLPROPERTIES ('delta.enableChangeFeed' = 'true')",
         "'delta.enableChangeFeed'", "delta.enableChangeDataFeed"),
        ("SELECT 1; CREATE TABLE q (id INT) TBLPROPERTIES ('delta.enableRowTracking' = 'tru')",
         "'tru'", "true"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_there_is_underlined_with_a_near_one(
    lab: Lab, script: str, at: str, meant: str
) -> None:
    found, place = told(lab, script)
    assert place == at
    assert f"{meant}" in str(found).partition("Did you mean")[2], str(found)


def test_a_column_that_is_near_none_has_them_listed(lab: Lab) -> None:
    found, place = told(lab, "CREATE DYNAMIC TABLE d AS SELECT zzzzz FROM orders")
    assert place == "zzzzz"
    assert found.hint == "Known columns: id, qty."


@pytest.mark.parametrize("condition", ["1_000", "NaN", "o.id + c.zzz > 1", "count(*) > 1", "o.id"])
def test_a_condition_that_delta_refuses_is_no_bug_of_ours(lab: Lab, condition: str) -> None:
    """PySpark fails to make Delta's errors that have a place."""
    found, _ = told(
        lab, f"MERGE INTO orders o USING copied c ON {condition} WHEN MATCHED THEN DELETE"
    )
    assert found.code in ("DT-1112", "DT-1033"), found
    assert "line 1 pos" not in found.sentence
    assert found.sentence.endswith(".")


def test_a_value_that_fails_is_told_with_its_expression_and_one_advice(lab: Lab) -> None:
    for script in (
        "CREATE TABLE divided AS SELECT id / qty AS x FROM orders",
        "CREATE DYNAMIC TABLE divided REFRESH_MODE = FULL AS SELECT id / qty AS x FROM orders",
    ):
        with pytest.raises(DTError) as e:
            lab.sql(script)
        text = str(e.value)
        assert "id / qty" in text.replace("`", ""), text
        assert text.count("try_divide") == 1
        assert "NULLIF" in text
        assert "for example of the row id = 2, qty = 0." in text
        assert "ansi" not in text.lower()


def test_rows_written_are_counted(lab: Lab) -> None:
    told = {
        "INSERT INTO copied VALUES (1, 1), (2, 2), (3, 3)": "INSERT copied: 3 rows",
        "INSERT INTO copied SELECT * FROM copied WHERE id = 9": "INSERT copied: 0 rows",
        "INSERT OVERWRITE copied VALUES (1, 1)": "INSERT copied: 1 row",
        "CREATE TABLE made AS SELECT * FROM orders": "CREATE TABLE made: 2 rows",
        "CREATE TABLE empty (id INT)": "CREATE TABLE empty: done",
        "UPDATE copied SET qty = 2": "UPDATE copied: 1 row affected",
        "MERGE INTO copied c USING orders o ON c.id = o.id WHEN MATCHED THEN UPDATE SET qty = 5 "
        "WHEN NOT MATCHED THEN INSERT *": "MERGE copied: 1 row updated, 1 row inserted",
        "CREATE TABLE IF NOT EXISTS made AS SELECT * FROM orders": "CREATE TABLE made: done",
    }
    script = "; ".join(told)
    context = lab.context
    found = [
        outcome_message(done, read_outcome(context, done)) for done in run_script(context, script)
    ]
    assert found == list(told.values())


def test_a_cell_and_a_change_query_are_underlined(lab: Lab) -> None:
    statement = parse_dynamic_table("d", "-- a remark\nSELECT id\nFORM orders").statement
    assert isinstance(statement, CreateDynamicTable)
    with pytest.raises(DTError) as e:
        create_by_cell(lab.context, statement, None)
    assert placed(e.value) == ("DT-1001", "orders", "Did you mean FROM?")
    with pytest.raises(DTError) as e:
        lab.engine.create(statement)
    assert placed(e.value) == ("DT-1001", "orders", "Did you mean FROM?")
    with pytest.raises(DTError) as e:
        lab.engine.query_changes("SELECT id\nFORM orders")
    assert placed(e.value) == ("DT-1001", "orders", "Did you mean FROM?")


def test_the_command_line_shows_the_place(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    script = "SELECT 1 AS one;\nSELECT id\nFROM ordesr"
    with pytest.raises(DTError) as e:
        cli._sql(lab.engine, argparse.Namespace(script=script))
    assert cli._fail(e.value, "The command sql") == 1
    shown = capsys.readouterr()
    assert "one" in shown.out, "what ran before it is shown"
    assert shown.err.splitlines() == [
        "DT-1101: Table, view or dynamic table ordesr does not exist.",
        "  1 | SELECT 1 AS one;",
        "  2 | SELECT id",
        "  3 | FROM ordesr",
        "    |      ^^^^^^",
        "Hint: Did you mean orders?",
        "About DT-1101: python -m dt_jupyter help DT-1101",
    ]


def placed(found: DTError) -> tuple[str, str, str]:
    assert found.query is not None
    assert found.span is not None
    return found.code, found.query[found.span.start : found.span.end], found.hint
