"""History, results, cards and errors, as HTML and as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dt_jupyter.model import RefreshMode, SchedulingState, TargetLag
from dt_jupyter.widgets import (
    MOST_CHANGES,
    ChangeCounts,
    ChangeTable,
    card_html,
    card_text,
    error_html,
    error_text,
    history_html,
    history_text,
    result_html,
    result_text,
)
from dt_jupyter.wire import (
    CardMessage,
    Column,
    ErrorMessage,
    HistoryMessage,
    ResultMessage,
    Underline,
)
from tests.unit.widgets_lab import CARD, ERROR, HISTORY, RESULT, Reader


def test_history_text_is_aligned() -> None:
    assert history_text(HISTORY).splitlines() == [
        "Refresh history",
        "NAME    ACTION       STATE      TRIGGER    DATA_TIMESTAMP            DURATION  INSERTED  DELETED   READ  REASON",  # noqa: E501
        "──────  ───────────  ─────────  ─────────  ────────────────────────  ────────  ────────  ───────  ─────  ───────────────────────",  # noqa: E501
        "delays  INCREMENTAL  SUCCEEDED  SCHEDULED  2013-01-04 12:00:00Z         1.5 s     1,200        3  1,203  CHANGED_INPUTS: flights",  # noqa: E501
        "delays  NO_DATA      SUCCEEDED  SCHEDULED  2013-01-04 12:00:48Z          4 ms         0        0      0  SOURCES_UNCHANGED",  # noqa: E501
        "delays               SKIPPED               2013-01-04 12:01:36.500Z                                      busy",  # noqa: E501
        "durations █▁ up to 1.5 s",
    ]


def test_history_html_has_a_row_per_refresh_and_its_reason_below() -> None:
    read = Reader(history_html(HISTORY))
    assert read.tags.count("tr") == 1 + 3 + 3
    assert {"1,200", "1,203", "SOURCES_UNCHANGED", "SKIPPED", "busy"} <= set(read.texts)
    widths = [value for name, value in read.attributes if name == "style" and "width" in value]
    assert widths == ["width:48.0px;margin-right:0.0px", "width:1.0px;margin-right:47.0px"]


def test_an_empty_history_says_so() -> None:
    assert "no refresh yet" in history_text(HistoryMessage(()))
    assert "no refresh yet" in Reader(history_html(HistoryMessage(()))).texts


def test_result_text() -> None:
    assert result_text(RESULT).splitlines() == [
        "First rows",
        "id  name",
        "──  ──────",
        " 1  rug",
        "23  NULL",
        " 4  'NULL'",
        "the first 3 rows · Snapshot (data time T)",
    ]


def test_null_is_told_from_the_text() -> None:
    html = result_html(RESULT)
    assert html.count('<em class="dtj-null">NULL</em>') == 1
    assert html.count("<td>NULL</td>") == 1


def test_changes_are_marked() -> None:
    columns = (Column("id", "int"), Column("$ACTION", "string"))
    html = result_html(ResultMessage(columns, (("1", "INSERT"), ("2", "DELETE"), ("3", None))))
    assert html.count('class="dtj-insert"') == 1
    assert html.count('class="dtj-even dtj-delete"') == 1


@pytest.mark.parametrize(
    ("type_", "right"),
    [("bigint", True), ("decimal(10,2)", True), ("string", False), ("interval day", False)],
)
def test_numbers_are_flush_right(type_: str, right: bool) -> None:
    html = result_html(ResultMessage((Column("a", type_),), (("1",),)))
    assert ('<td class="dtj-num">1</td>' in html) is right


def test_a_result_without_columns_or_rows() -> None:
    assert result_text(ResultMessage((), ())) == "0 rows"
    assert "0 rows" in Reader(result_html(ResultMessage((), ()))).texts
    assert result_text(ResultMessage((Column("a", "int"),), (("1",),))).endswith("1 row")


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="for each column"):
        ResultMessage((Column("a", "int"),), (("1", "2"),))


def test_wide_characters_are_aligned() -> None:
    rows = ResultMessage(
        (Column("a", "string"), Column("b", "string")), (("日本", "x"), ("abcd", "y"))
    )
    assert result_text(rows).splitlines()[2:4] == ["日本  x", "abcd  y"]


def test_card_text() -> None:
    lines = card_text(CARD).splitlines()
    assert lines[0] == "Dynamic table delays [AUTO → FULL]"
    assert "  why:            TOP_K: needs FULL" in lines
    assert "  target lag:     5 minutes" in lines
    assert "  upstream:       flights, weather" in lines
    assert "  columns:        id bigint, name string" in lines
    assert "23  NULL" in lines
    assert "  · guard: all 3 rows compared" in lines


def test_card_html_tells_the_same() -> None:
    read = Reader(card_html(CARD))
    assert {
        "delays",
        "AUTO → FULL",
        "TOP_K: needs FULL",
        "5 minutes",
        "default",
        "flights, weather",
        "2013-01-04 12:00:00 UTC",
        "rug",
        "guard: all 3 rows compared",
    } <= set(read.texts)


def test_a_card_says_that_nothing_refreshes_the_table() -> None:
    why = "Not refreshed: no target lag, and nothing reads it."
    card = replace(CARD, held_back=why)
    assert card_text(card).splitlines()[0] == "Dynamic table delays [AUTO → FULL] NOT REFRESHED"
    assert f"  standing:       {why}" in card_text(card)
    assert {"NOT REFRESHED", "standing", why} <= set(Reader(card_html(card)).texts)
    assert "NOT REFRESHED" not in card_html(CARD)


def test_a_card_that_is_not_initialised_and_suspended() -> None:
    card = CardMessage(
        "d",
        RefreshMode.FULL,
        RefreshMode.FULL,
        "DEMANDED: FULL",
        (),
        TargetLag(None),
        "default",
        (),
        SchedulingState.SUSPENDED,
    )
    text = card_text(card)
    assert text.startswith("Dynamic table d [FULL] SUSPENDED")
    assert "not initialised yet" in text
    assert "DOWNSTREAM" in text
    assert "none" in text
    assert "SUSPENDED" in Reader(card_html(card)).texts


def test_error_text_points_at_the_place() -> None:
    assert error_text(ERROR).splitlines() == [
        "DT-1102: Column dep_dely does not exist.",
        "  1 | SELECT carrier,",
        "  2 |        avg(dep_dely) AS mean",
        "    |            ^^^^^^^^",
        "  3 | FROM flights",
        "Hint: Did you mean dep_delay?",
    ]


def test_error_html_underlines_the_place_and_folds_the_trace() -> None:
    html = error_html(ERROR)
    assert "<u>dep_dely</u>" in html
    details = html[html.index("<details") : html.index("</details>")]
    assert "org.apache.spark" in details
    assert "<details>" in html
    assert "org.apache" not in error_text(ERROR)


def test_an_error_of_no_query_is_two_lines() -> None:
    assert error_text(
        ErrorMessage("DT-5105", "Spark did not start.", "Install Java.")
    ).splitlines() == [
        "DT-5105: Spark did not start.",
        "Hint: Install Java.",
    ]
    assert "<pre" not in error_html(ErrorMessage("DT-1", "x"))


@pytest.mark.parametrize(
    ("query", "place", "expected"),
    [
        ("SELECT 日本 FROM x", (7, 9), "  1 | SELECT 日本 FROM x\n    |        ^^^^"),
        ("\tSELECT a", (8, 9), "  1 |  SELECT a\n    |         ^"),
        ("a\nbb\nccc", (2, 6), "  1 | a\n  2 | bb\n    | ^^\n  3 | ccc"),
        ("abc", (3, 3), "  1 | abc\n    |    ^"),  # the end of the text
        ("abc", (99, 120), "  1 | abc\n    |    ^"),
        ("a\r\nb", (3, 4), "  1 | a\n  2 | b\n    | ^"),
    ],
)
def test_places(query: str, place: tuple[int, int], expected: str) -> None:
    text = error_text(ErrorMessage("DT-1", "x", None, query, Underline.of(query, *place)))
    shown = "\n".join(line.rstrip() for line in text.splitlines()[1:])
    assert shown == expected


@pytest.mark.parametrize("place", [Underline(0, 0, 0), Underline(9, 9, 9), Underline(-1, -5, -2)])
def test_a_place_outside_of_the_query_is_clamped(place: Underline) -> None:
    assert "^" in error_text(ErrorMessage("DT-1", "x", None, "ab", place))
    assert "<u>" in error_html(ErrorMessage("DT-1", "x", None, "ab", place))


def test_a_very_long_line_is_cut_around_the_place() -> None:
    query = "SELECT " + "a, " * 5000 + "wrong, " + "b, " * 5000
    at = query.index("wrong")
    lines = error_text(
        ErrorMessage("DT-1", "x", None, query, Underline.of(query, at, at + 5))
    ).splitlines()
    assert max(map(len, lines)) < 250
    start = lines[2].index("^")
    assert lines[1][start : start + 5] == "wrong"
    assert lines[2].count("^") == 5


CHANGES = ResultMessage(
    (Column("id", "int"), Column("name", "string"), Column("price", "double"),
     Column("$ACTION", "string"), Column("$ISUPDATE", "boolean"), Column("$ROW_ID", "string")),
    (
        ("1", "rug", "10.0", "DELETE", "true", "0123456789abcdef"),
        ("1", "rug", None, "INSERT", "true", "0123456789abcdef"),
        ("2", "mat", "5.0", "INSERT", "false", "b2"),
        ("3", "<b>", None, "DELETE", "false", "c3"),
        ("4", "cut", None, "DELETE", "true", "d4"),
    ),
    title="Net changes of items since version 1",
)  # fmt: skip


def test_an_update_is_one_change_with_its_values_before_and_after() -> None:
    assert ChangeTable(CHANGES).text.splitlines() == [
        "Net changes of items since version 1: 3 rows",
        "$ACTION  id  name        price  $ROW_ID",
        "───────  ──  ────  ───────────  ──────────",
        "UPDATE    1  rug   10.0 → NULL  012345678…",
        "INSERT    2  mat           5.0  b2",
        "DELETE    3  <b>          NULL  c3",
        "1 inserted, 1 deleted, 1 updated",
    ]


def test_changed_values_are_marked_and_ids_are_whole_in_their_title() -> None:
    html = ChangeTable(CHANGES).html
    read = Reader(html)
    assert html.count('class="dtj-changed dtj-num"') == 1
    assert ("title", "0123456789abcdef") in read.attributes
    assert {"UPDATE", "012345678…", " → "} <= set(read.texts)
    assert "$ISUPDATE" not in html


def test_the_first_changed_column_is_where_the_table_is_shown_from() -> None:
    html = ChangeTable(CHANGES).html
    heads = [c for t, c in Reader(html).attributes if t == "class" and "first-changed" in c]
    assert heads == ["dtj-num dtj-first-changed"]
    assert html.index("dtj-first-changed") < html.index("price")
    assert "1 inserted, 1 deleted, 1 updated (price)" in Reader(html).text
    inserted = replace(CHANGES, rows=CHANGES.rows[2:4])
    assert 'class="dtj-num dtj-first-changed"' not in ChangeTable(inserted).html


def changes(types: str, *rows: str) -> ChangeTable:
    """Of columns a, b, … of these types; a row is its action, whether it is half of an update, its
    id, and its values."""
    kinds = types.split()
    names = [Column(n, kind) for n, kind in zip("abcdefgh", kinds, strict=False)]
    hidden = [Column("$ACTION", "string"), Column("$ISUPDATE", "boolean"),
              Column("$ROW_ID", "string")]  # fmt: skip
    cells = []
    for each in rows:
        action, update, id_, *values = each.split()
        told = [None if v == "NULL" else v for v in values]
        cells.append((*told, action, {"u": "true", "-": "false"}[update], id_))
    return ChangeTable(ResultMessage((*names, *hidden), tuple(cells), title="Net changes"))


def order(shown: ChangeTable) -> list[str]:
    return [f"{c.action} {' '.join(v or 'NULL' for v in c.values)}" for c in shown.changes]


@pytest.mark.parametrize(
    ("types", "rows", "expected"),
    [
        pytest.param(
            "int string",
            ("INSERT - x9 10 new", "DELETE - x1 2 old", "DELETE - x5 10 old", "INSERT - x0 9 new"),
            ["DELETE 2 old", "INSERT 9 new", "DELETE 10 old", "INSERT 10 new"],
            id="numbers by value, the old side first",
        ),
        pytest.param(
            "string string double",
            ("INSERT - a de ulm 1.0", "DELETE - b de bonn 2.0", "INSERT - c de bonn 3.0",
             "DELETE - d de ulm 4.0"),
            ["DELETE de bonn 2.0", "INSERT de bonn 3.0", "DELETE de ulm 4.0", "INSERT de ulm 1.0"],
            id="a key of two columns",
        ),
        pytest.param(
            "int double",
            ("DELETE u b 2 1.0", "INSERT u b 2 9.0", "INSERT - a 1 5.0", "DELETE - c NULL 7.0"),
            ["DELETE NULL 7.0", "INSERT 1 5.0", "UPDATE 2 9.0"],
            id="NULL first, updates in their place",
        ),
        pytest.param(
            "double string",
            ("DELETE - a NaN x", "INSERT - b 2.0 x", "DELETE - c 1.0E10 x"),
            ["INSERT 2.0 x", "DELETE 1.0E10 x", "DELETE NaN x"],
            id="no number",
        ),
        pytest.param("string", ("INSERT - a x", "INSERT - b x"), ["INSERT x", "INSERT x"],
                     id="rows that nothing tells apart"),
    ],
)  # fmt: skip
def test_changes_stand_by_their_key_and_the_old_side_first(
    types: str, rows: tuple[str, ...], expected: list[str]
) -> None:
    assert order(changes(types, *rows)) == expected


@pytest.mark.parametrize(
    ("types", "rows", "kept"),
    [
        ("int string", ("INSERT - a 1 x", "INSERT - b 2 x"), 1),
        ("string string int", ("INSERT - a de ulm 1", "INSERT - b de bonn 1"), 2),
        ("int int", ("DELETE u a 1 5", "INSERT u a 2 5"), 0),
        ("int int int int int", ("INSERT - a 1 1 1 1 1", "INSERT - b 1 1 1 1 2"), 3),
    ],
    ids=["the first", "two", "an update changed the first", "no more than three"],
)
def test_what_tells_the_rows_apart_stays_in_sight(
    types: str, rows: tuple[str, ...], kept: int
) -> None:
    html = changes(types, *rows).html
    heads = html[html.index("<thead") : html.index("</thead>")]
    assert heads.count("dtj-kept") == kept + 1, "and the action"
    lefts = [float(part.partition("em")[0]) for part in heads.split("left:")[1:]]
    assert lefts[0] == 0
    assert lefts == sorted(set(lefts))


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("0.1", "0.1"), ("-3.14159265", "-3.14159"), ("12345678.9", "12345679"),
        ("0.00123456789", "0.00123457"), ("1.23456789E10", "1.23457E10"), ("NaN", "NaN"),
        ("-Infinity", "-Infinity"), ("100000.0", "100000.0"), ("9.9999999", "10.0000"),
    ],
)  # fmt: skip
def test_a_float_has_six_digits_and_the_rest_in_its_title(text: str, short: str) -> None:
    read = Reader(changes("int double", f"INSERT - a 1 {text}").html)
    assert short in read.texts
    assert ("title", text) in read.attributes
    exact = Reader(changes("int decimal(20,9)", f"INSERT - a 1 {text}").html)
    assert text in exact.texts, "only a float is no exact number"


def test_two_floats_that_would_look_the_same_are_whole() -> None:
    html = changes("int double", "DELETE u a 1 0.12345678", "INSERT u a 1 0.12345679").html
    assert {"0.12345678", "0.12345679"} <= set(Reader(html).texts)


def test_a_heading_says_how_many_changes_there_are() -> None:
    shown = ChangeTable(CHANGES, ChangeCounts(1200, 30, 4))
    assert shown.title == "Net changes of items since version 1: 3 of 1,234 rows"
    assert shown.text.endswith("1,200 inserted, 30 deleted, 4 updated")
    assert "1 of 2 rows" not in shown.html


def test_no_changes_have_no_table() -> None:
    assert ChangeTable(replace(CHANGES, rows=(), title="No changes of a")).text.splitlines() == [
        "No changes of a: 0 rows",
        "0 inserted, 0 deleted, 0 updated",
    ]


def test_a_cell_shows_no_more_changes_than_its_limit() -> None:
    rows = tuple((str(i), "n", None, "INSERT", "false", str(i)) for i in range(100))
    shown = ChangeTable(replace(CHANGES, rows=rows))
    assert len(shown.changes) == MOST_CHANGES
    assert shown.title.endswith(": 50 of 100 rows")
