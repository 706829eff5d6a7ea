"""Cells as a user types them, in order: each test goes on where the one before it stopped."""

from __future__ import annotations

import re

from tests.notebook.conftest import Kernel


def test_help_and_loading_start_nothing(kernel: Kernel) -> None:
    assert "%dt refresh NAME" in kernel.run("%dt -h").ok.text
    assert kernel.value("'pyspark' in __import__('sys').modules") == "False"
    assert not kernel.lake.exists()


def test_the_first_magic_connects_and_binds_names(kernel: Kernel) -> None:
    script = """%%dt
        CREATE TABLE orders (id INT, day DATE, price DOUBLE);
        INSERT INTO orders VALUES (1, DATE'2024-01-01', 10), (2, DATE'2024-01-01', 5),
          (3, DATE'2024-01-02', NULL);
        SELECT id, price FROM orders ORDER BY id;
        UPDATE orders SET price = 6 WHERE id = 2"""
    reply = kernel.run(script).ok
    assert reply.text.startswith(f"Connected: {kernel.lake.resolve()}")
    assert "scheduler running" in reply.text
    assert "CREATE TABLE orders: done" in reply.text
    assert "3   NULL" in reply.text
    assert "UPDATE orders: 1 row affected" in reply.text
    assert kernel.value("type(dt).__name__, spark is dt.spark") == "('Engine', True)"


def test_a_card_says_mode_and_why_and_shows_rows(kernel: Kernel) -> None:
    reply = kernel.run(
        "%%dynamic_table daily --target-lag '1 hour' -o made\n"
        "SELECT day, count(*) AS n, sum(price) AS total FROM orders GROUP BY day"
    ).ok
    assert "Dynamic table daily [AUTO → INCREMENTAL]" in reply.text
    assert "1 hour" in reply.text
    assert "upstream:       orders" in reply.text
    assert "2024-01-01  2   16.0" in reply.text
    assert "Validated: incremental equals full on" in reply.text
    assert "dtj-card" in reply.html
    assert kernel.value("made.count()") == "2"
    made = kernel.run(
        "%%dt\nCREATE DYNAMIC TABLE other TARGET_LAG = '1 hour' AS "
        "SELECT day, count(*) AS n, sum(price) AS total FROM orders GROUP BY day"
    ).ok
    assert card(made.text.replace("other", "daily")) == card(reply.text), "SQL gives the same card"
    assert "dtj-card" in made.html
    kernel.run("%dt DROP DYNAMIC TABLE other").ok  # noqa: B018


def card(text: str) -> list[str]:
    """Its lines, but for what differs from table to table."""
    return [line for line in text.splitlines() if not re.search("data timestamp|Turned", line)]


def test_a_dry_run_creates_nothing(kernel: Kernel) -> None:
    reply = kernel.run("%%dynamic_table dry --dry-run\nSELECT id FROM orders").ok
    assert "Dry run: nothing was created." in reply.text
    assert kernel.value("[str(t.name) for t in dt.context.catalog.list()]") == "['daily']"


def test_a_cell_that_is_run_again_changes_what_was_edited(kernel: Kernel) -> None:
    kernel.run("%%dt\nCREATE TABLE more (k INT, v INT); INSERT INTO more VALUES (1, 1), (2, 5)").ok  # noqa: B018
    made = kernel.run("%%dynamic_table shop.kept --target-lag '1 hour'\nSELECT k, v FROM more").ok
    assert "Dynamic table shop.kept created, and schema shop for it." in made.text
    versions = "dt.table('shop.kept').version, len(dt.records('shop.kept'))"
    before = kernel.value(versions)
    for query in ("SELECT k, v FROM more", "select k,  v -- said\nFROM default.MORE;"):
        again = kernel.run(f"%%dynamic_table shop.kept --target-lag '1 hour'\n{query}").ok
        assert "dynamic table shop.kept is unchanged" in again.text
        assert "dtj-card" in again.html
    assert kernel.value(versions) == before
    edited = (
        "%%dynamic_table shop.kept --target-lag '2 hours'{}\nSELECT k,\n  v + 1 AS w\nFROM more"
    )
    tried = kernel.run(edited.format(" --dry-run")).ok
    assert "columns: + w int, - v" in tried.text
    assert "Dry run: nothing was changed." in tried.text
    assert kernel.value(versions) == before
    kernel.run("%dt ALTER DYNAMIC TABLE shop.kept SET TARGET_LAG = '3 hours'").ok  # noqa: B018
    altered = kernel.run(edited.format("")).ok
    for said in (
        "TARGET_LAG 3 hours → 2 hours", "- SELECT k, v FROM more", "+   v + 1 AS w",
        "rows: derived", "it was changed elsewhere", "altered; its rows were",
    ):  # fmt: skip
        assert said in altered.text, said
    assert altered.text.index("rows: derived") < altered.text.index("[AUTO")
    replaced = kernel.run(edited.format(" --replace")).ok
    assert "nothing: CREATE OR ALTER would leave it as it is" in replaced.text
    assert "of shop.kept cannot be read as its past any more" in replaced.text
    assert replaced.text.index("as its past") < replaced.text.index(
        "Dynamic table shop.kept replaced"
    )
    kernel.run("%%dt\nDROP SCHEMA shop CASCADE; DROP TABLE more").ok  # noqa: B018


def test_variables_are_bound_and_not_spliced(kernel: Kernel) -> None:
    kernel.run('low, text = 3.0, "it\'s; DROP TABLE orders"').ok  # noqa: B018
    reply = kernel.run(
        "%dt -o kept SELECT :text AS t, count(*) AS n FROM orders WHERE price > :low"
    )
    assert "it's; DROP TABLE orders  2" in reply.ok.text
    assert kernel.value("kept.columns") == "['t', 'n']"
    reply = kernel.run("%%dynamic_table big\nSELECT day, total FROM daily WHERE total > :low")
    assert "Dynamic table big" in reply.ok.text


def test_refresh_shows_upstream_and_the_actions(kernel: Kernel) -> None:
    kernel.run("%dt INSERT INTO orders VALUES (4, DATE'2024-01-02', 7.5)").ok  # noqa: B018
    reply = kernel.run("%dt -o record refresh big").ok
    lines = [line.split() for line in reply.text.splitlines()]
    assert [line[:3] for line in lines if line[:1] in (["daily"], ["big"])] == [
        ["daily", "INCREMENTAL", "SUCCEEDED"],
        ["big", "INCREMENTAL", "SUCCEEDED"],
    ]
    assert kernel.value("record.statistics.inserted_rows, len(record.upstream)") == "(1, 1)"


def test_changes_are_shown_with_their_action(kernel: Kernel) -> None:
    made = kernel.run(
        "%%dt\nCREATE TABLE audit (id INT, price DOUBLE);"
        "INSERT INTO audit VALUES (1, 10), (3, NULL);\nDELETE FROM audit WHERE id = 3"
    ).ok
    assert "DELETE audit: 1 row affected" in made.text
    reply = kernel.run("%changes audit --at -3600 --append-only")
    assert "DT-4101" in reply.told
    reply = kernel.run("%changes audit --at 0 --append-only").ok
    assert "$ACTION" in reply.text
    assert "no row ids" in reply.text
    reply = kernel.run("%%changes -o gone --at 1\nSELECT id FROM audit WHERE price IS NULL").ok
    assert "DELETE" in reply.text
    assert kernel.value("[r['id'] for r in gone.collect()]") == "[3]"
    assert "DT-1101" in kernel.run("%changes nowhere").told
    keyed = "CREATE TABLE keyed (id INT, price DOUBLE) TBLPROPERTIES ('dt.primaryKey' = 'id')"
    rows = "INSERT INTO keyed VALUES (1, 10), (2, 20); UPDATE keyed SET price = 12 WHERE id = 1"
    kernel.run(f"%%dt\n{keyed};{rows}").ok  # noqa: B018
    reply = kernel.run("%changes keyed --at 1").ok
    assert "Net changes of keyed since version 1: 1 row\n" in reply.text
    assert "10.0 → 12.0" in reply.text
    assert "0 inserted, 0 deleted, 1 updated" in reply.text
    assert "Stream s created on audit." in kernel.run("%%changes s\naudit").ok.text
    assert "Stream s is unchanged." in kernel.run("%%changes s\naudit").ok.text
    reply = kernel.run("%%changes rich --show-initial-rows\nSELECT id FROM audit WHERE price > 1")
    assert "Stream rich created on rich__source." in reply.ok.text
    again = kernel.run("%%changes rich\nSELECT id\nFROM audit WHERE price > 1").ok
    assert "Stream rich is unchanged." in again.text
    kernel.run("%dt CREATE TABLE drained AS SELECT id FROM rich").ok  # noqa: B018
    assert kernel.value("[r['id'] for r in dt.sql('SELECT * FROM drained').collect()]") == "[1]"
    assert kernel.value("dt.sql('SELECT * FROM rich').count()") == "0"
    assert "--append-only" in kernel.run("%changes -h").ok.text
    assert kernel.complete("%changes au") == ["audit"]


def test_the_past_is_shown_and_kept(kernel: Kernel) -> None:
    made = "CREATE TABLE past (id INT);INSERT INTO past VALUES (1), (2);DELETE FROM past"
    kernel.run(f"%%dt\n{made}").ok  # noqa: B018
    reply = kernel.run("%replay past --at 0 --to 2 -o steps").ok
    assert "Replay of past: 3 snapshots" in reply.text
    assert "DELETE" in reply.text
    kept = "[(r['STEP'], r['ROW_COUNT'], r['DELETED']) for r in steps.collect()]"
    assert kernel.value(kept) == "[(0, 0, None), (1, 2, 0), (2, 0, 2)]"
    reply = kernel.run("%replay past --at 1 -o rows").ok
    assert "past as of 2" in reply.text
    assert kernel.value("sorted(r['id'] for r in rows.collect())") == "[1, 2]"
    assert "DT-4102" in kernel.run("%replay past --at 9").told
    assert "--schema-mode" in kernel.run("%replay -h").ok.text
    assert kernel.complete("%replay pas") == ["past"]
    reply = kernel.run("%dt SELECT COUNT(*) FROM daily d, past p").ok
    assert "Read committed" in reply.text
    assert "VACUUM" in kernel.run("dt.vacuum(dry_run=True)").ok.text
    assert "no pins" in kernel.run("dt.pins()").ok.text


def test_reports_are_pictures_with_text(kernel: Kernel) -> None:
    assert "<svg" in kernel.run("%dt graph").ok.html
    assert "<svg" in kernel.run("%dt lag daily").ok.html
    assert "FIRST_REFRESH" in kernel.run("%dt history daily").ok.text
    assert "orders" in kernel.run("%dt frontiers").ok.text
    assert "NO_DATA" in kernel.run("%dt explain big").ok.text
    assert "scheduler" in kernel.run("%dt status").ok.text
    assert "✓ daily equals its query" in kernel.run("%dt verify daily").ok.text


def test_values_of_the_engine_show_as_pictures_in_plain_cells(kernel: Kernel) -> None:
    for source in ("dt.graph()", "dt.lag('daily')"):
        assert "<svg" in kernel.run(source).ok.html
    for source in ("dt.refresh('big')", "dt.verify('big')", "dt.frontier('big')"):
        assert "dtj-t" in kernel.run(source).ok.html
    assert "dtj-card" in kernel.run("dt.explain('big')").ok.html


def test_errors_are_a_few_lines_with_the_place(kernel: Kernel) -> None:
    cases = {
        "%dt SELECT * FROM odrers": ("DT-1101", "  1 | SELECT * FROM odrers", "Hint: Did you mean"),
        "%%dt\nSELECT 1;\n\nSELECT 1 / (id - 2) FROM orders": (
            "DT-1033", "DIVIDE_BY_ZERO", "  3 | SELECT 1 / (id - 2) FROM orders",
            "    |        ^^^^^^^^^^^^", "Hint: Use try_divide"),
        "dt.refresh(None)": ("DT-1031", "name of dt.refresh must be", "In line 1 of the cell"),
        "%%dynamic_table bad\n-- why\n\nSELECT nope FROM orders": (
            "DT-1102", "  3 | SELECT nope FROM orders", "    |        ^^^^"),
        "%%dynamic_table bad --dry-run\n-- why\n\nSELECT nope FROM orders": (
            "DT-1102", "  3 | SELECT nope FROM orders", "    |        ^^^^"),
        "%%dynamic_table bad --warehouse nope\nSELECT id FROM orders": ("DT-1108",),
        "%%dynamic_table orders\nSELECT id FROM orders": (
            "DT-1105", "  1 | orders", "Hint: Choose another name."),
        "%%dt\nCREATE DYNAMIC TABLE daily AS SELECT id FROM orders": (
            "DT-1105", "Hint: CREATE OR ALTER DYNAMIC TABLE changes it"),
        "%%changes s\nkeyed": ("DT-1105", "It is DEFAULT on audit. --replace"),
        "x = 1\ndt.sql('SELECT * FROM nowhere')": ("DT-1101", "In line 2 of the cell: dt.sql("),
        "spark.sql('SELECT 1 / 0').collect()": ("DIVIDE_BY_ZERO", "In line 1 of the cell"),
        "%dt history nowhere": ("DT-1101", "  1 | history nowhere", "    |         ^^^^^^^"),
        "%replay ordesr --to now": ("DT-1101", "  1 | ordesr --to now", "orders"),
        "%dt lag orders": ("DT-1109", "  1 | lag orders", "    |     ^^^^^^", "is read by"),
        "import pandas\npdf = pandas.DataFrame({'id': [1]})\n%dt SELECT * FROM pdf": (
            "DT-1101", "dt.load(\"pdf\", pdf) makes a table of it"),
        "dt.sql('SELECT * FROM pdf')": ("DT-1101", "dt.load(\"pdf\", pdf) makes a table of it"),
        "%dt load nowhere.csv": ("DT-1003", "it does not exist"),
    }  # fmt: skip
    for source, expected in cases.items():
        reply = kernel.run(source)
        assert reply.error is not None, source
        assert len(reply.told.splitlines()) <= 9, reply.told
        for part in expected:
            assert part in reply.told, source
    assert kernel.value("[str(t.name) for t in dt.context.catalog.list()]") == "['big', 'daily']"


def test_a_file_and_a_frame_become_tables(kernel: Kernel) -> None:
    kernel.run("import pathlib; pathlib.Path('shops.csv').write_text('id,city\\n1,Ulm\\n')").ok  # noqa: B018
    told = kernel.run("%dt load shops.csv").ok.text
    assert "Table shops: 1 row of shops.csv." in told
    assert "city string" in told
    assert "Now, for example: SELECT city, count(*) AS n FROM shops GROUP BY city" in told
    assert "Table kept: 1 row" in kernel.run("%dt load pdf AS kept -o made").ok.text
    assert kernel.value("(str(made.name), made.columns)") == "('kept', (('id', 'bigint'),))"
    assert "DT-1105" in kernel.run("%dt load shops.csv").told
    kernel.run("cities = ['Ulm', 'Bonn']").ok  # noqa: B018
    reply = kernel.run("%dt SELECT id FROM shops WHERE array_contains(:cities, city)").ok
    assert "1" in reply.text


def test_the_jvms_trace_is_folded(kernel: Kernel) -> None:
    reply = kernel.run("spark.sql('SELECT 1 / 0').collect()")
    assert "<details" in reply.html
    assert "org.apache.spark" in reply.html
    assert "org.apache.spark" not in reply.told


def test_completion_knows_the_lake(kernel: Kernel) -> None:
    assert kernel.complete("%dt refresh d") == ["daily"]
    assert kernel.complete("%%dt\nSELECT * FROM ord") == ["orders"]
    assert kernel.complete("%%dt\nSELECT d.t") == []
    assert kernel.complete("%%dynamic_table x --warehouse ") == ["default"]
    assert kernel.complete("%%dt\nSELECT o.pr")[:1] != ["price"]
    assert kernel.complete("%%dt\nSELECT orders.pr") == ["price"]


def test_connecting_again_keeps_the_engine_and_another_lake_replaces_it(kernel: Kernel) -> None:
    kernel.run("before = dt").ok  # noqa: B018
    assert "Connected already" in kernel.run("%dt connect lake").ok.text
    assert kernel.value("dt is before") == "True"
    assert "0 dynamic tables" in kernel.run("%dt connect other").ok.text
    assert kernel.value("dt is before") == "False"
    assert "[DT-5108]" in kernel.value(
        "try: before.sql('SELECT 1')\nexcept Exception as e: print(e)"
    )
    assert kernel.value("spark.catalog.tableExists('daily')") == "False"
    kernel.run("%%dt\nCREATE TABLE orders (id INT)").ok  # noqa: B018
    assert kernel.value("(dt.lake / 'tables' / 'orders').is_dir()") == "True"
    kernel.run("open('file', 'w').close()").ok  # noqa: B018
    assert "DT-5103" in kernel.run("%dt connect file/lake").trace[0]
    assert kernel.value("'other' in repr(dt) and '0 dynamic' in repr(dt)") == "True"
    assert "2 dynamic tables" in kernel.run("%dt connect lake").ok.text
    assert kernel.value("spark.table('daily').count()") == "2"


def test_names_of_the_user_stay(kernel: Kernel) -> None:
    kernel.run("dt.close()\ndt = 'mine'").ok  # noqa: B018
    reply = kernel.run("%dt connect lake").ok
    assert "The name dt is yours and stays as it is." in reply.text
    assert kernel.value("dt") == "'mine'"
    kernel.run("del dt").ok  # noqa: B018
    kernel.run("import dt_jupyter\ndt = dt_jupyter.connect('lake')").ok  # noqa: B018
    assert "2 dynamic tables" in kernel.value("dt")
