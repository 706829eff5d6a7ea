"""Relations as text: names quoted, the change first in a join, NULL-safe restrictions."""

from __future__ import annotations

import re

from dt_jupyter.ivm import (
    Aggregate,
    AggregateCall,
    End,
    Filter,
    Join,
    Project,
    Restrict,
    Scan,
    Union,
    col,
    equality,
    expr,
)
from dt_jupyter.sql.emit.render import Renderer

S = Scan("s", (("a", "a"), ("b", "odd `name`")))
T = Scan("t", (("c", "C"),))
RENDER = Renderer(lambda s: f"{s.source}_{s.end}", small=lambda rel: True)


def line(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("( ", "(").replace(" )", ")")


def test_each_operator_has_its_text() -> None:
    assert line(RENDER(S)) == "SELECT `a`, `odd ``name``` AS `b` FROM s_new"
    assert line(RENDER(Scan("s", (("a", "a"),), End.DELTA))) == "SELECT `a`, `__dt_w` FROM s_delta"
    one = Project(T, (("x", expr("{c} + 1", c=col("c"))), ("c", col("c"))))
    assert line(RENDER(one)) == "SELECT `c` + 1 AS `x`, `c` FROM (SELECT `C` AS `c` FROM t_new)"
    two = Filter(T, (expr("{c} > 1 OR {c} IS NULL", c=col("c")), expr("TRUE")))
    assert line(RENDER(two)).endswith("WHERE (`c` > 1 OR `c` IS NULL) AND (TRUE)")
    flag = Filter(T, (expr("{c}", c=col("c")),))
    # Spark takes `(…) WHERE (c)` for a relation called WHERE, and filters nothing.
    assert line(RENDER(flag)) == "SELECT * FROM (SELECT `C` AS `c` FROM t_new) f WHERE (`c`)"
    three = Aggregate(T, ("c",), (("n", AggregateCall("count", (), expr("COUNT(*)"))),))
    assert line(RENDER(three)).startswith("SELECT `c`, COUNT(*) AS `n` FROM (")
    assert line(RENDER(three)).endswith("GROUP BY `c`")


def test_a_union_goes_by_position() -> None:
    text = line(RENDER(Union((T, T), ("x",))))
    assert text == (
        "SELECT `c` AS `x` FROM (SELECT `C` AS `c` FROM t_new) UNION ALL "
        "SELECT `c` AS `x` FROM (SELECT `C` AS `c` FROM t_new)"
    )


def test_a_join_names_its_columns_and_sends_a_small_change_to_every_task() -> None:
    change = Scan("s", S.reads, End.DELTA)
    text = line(RENDER(Join((change, T), (equality(col("a"), col("c")),))))
    assert text.startswith("SELECT /*+ BROADCAST(d) */ `a`, `b`, `__dt_w`, `c` FROM (SELECT")
    assert text.endswith("WHERE (`a` = `c`)")
    whole = line(RENDER(Join((S, T), ())))
    assert "BROADCAST" not in whole
    assert "WHERE" not in whole


def test_a_restriction_matches_null() -> None:
    text = line(RENDER(Restrict(T, "keys", (("c", "k0"),))))
    assert text.endswith("LEFT SEMI JOIN `keys` k ON r.`c` <=> k.`k0`")
