"""The words that cases of change are written in, and what there is before them.

In a statement `{t}` is the source, `{u}` another table with the same columns, `{w}` the view or
dynamic table over `{t}` where the world has one, `{d}` the dynamic table over named columns, `{x}`
a name that is free, and `{dir}` the folder of tables; one that begins with `>` is an action of the
test's.
"""

from __future__ import annotations

from dataclasses import dataclass

GOES_ON = "continues"
"""NO_DATA without new rows, INCREMENTAL with them."""
MOVED = "INCREMENTAL"
"""The statement itself changed rows."""
ANEW = "REINITIALIZE"

COLUMNS = "(id INT, v INT, w STRING)"
SAME = "SELECT id, v, w FROM {t}"
OTHER = "SELECT id, v, w FROM {u}"
WITHOUT = "SELECT id, w FROM {t}"
ROWS = "INSERT INTO {t} (id, v, w) VALUES (1, 10, 'a'), (2, 20, 'b'), (2, 20, 'b'), (3, NULL, NULL)"
NO_V = "INSERT INTO {t} (id) VALUES (7)"


def new_rows(table: str = "{t}") -> str:
    return f"INSERT INTO {table} (id, v) VALUES (7, 70), (8, 70)"


def make(name: str = "{t}", columns: str = COLUMNS, *, mapped: bool = False) -> str:
    properties = "'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true'"
    more = f" TBLPROPERTIES ({properties})" if mapped else ""
    return f"CREATE TABLE {name} {columns} USING delta LOCATION '{{dir}}/{name}'{more}"


def alter(change: str, table: str = "{t}") -> str:
    return f"ALTER TABLE {table} {change}"


def with_property(name: str, value: str) -> str:
    return alter(f"SET TBLPROPERTIES ('{name}' = '{value}')")


def dynamic_table(how: str = "CREATE", query: str = SAME, name: str = "{w}") -> str:
    return f"{how} DYNAMIC TABLE {name} TARGET_LAG = '1 hour' AS {query}"


def view(query: str, name: str = "{w}") -> str:
    return f"CREATE OR REPLACE VIEW {name} AS {query}"


AWAY, BACK = alter("RENAME TO {x}"), alter("RENAME TO {t}", "{x}")
_OTHER = f"{make('{u}')}; INSERT INTO {{u}} VALUES (100, 1, 'u')"


@dataclass(frozen=True)
class World:
    """What there is before: the table, what is made over it, and what dynamic tables read."""

    made: str = make()
    before: str = ""
    reads: str = "{t}"
    named: str = "id, v"


PLAIN = World()
MAPPED = World(make(mapped=True))
PAIR = World(before=_OTHER)
JOINED = World(
    before=_OTHER, reads="(SELECT a.id, a.v, b.w FROM {t} a FULL JOIN {u} b ON a.v = b.v)"
)
NESTED = World(
    make(columns="(id INT, v INT, w STRING, s STRUCT<a: INT, b: INT>)", mapped=True),
    named="id, v, s.a AS a",
)
_ITEM = "CREATE TABLE {x}.item (id INT, v INT, w STRING) USING delta"
SCHEMA = World(
    before=f"CREATE SCHEMA {{x}}; {_ITEM}; INSERT INTO {{x}}.item VALUES (1, 10, 'a')",
    reads="{x}.item",
)
VIEW = World(make(mapped=True), f"{_OTHER}; {view(SAME)}", "{w}")
STAR_VIEW = World(make(mapped=True), view("SELECT * FROM {t}"), "{w}")
VIEWS = World(before=f"{view(SAME, '{x}')}; {view('SELECT * FROM {x}')}", reads="{w}")
UPSTREAM = World(make(mapped=True), dynamic_table(), "{w}")
_NEXT = dynamic_table(query="SELECT id + 1 AS id, v, w FROM {t}", name="{x}")
TWO_UPSTREAM = World(before=f"{dynamic_table()}; {_NEXT}", reads="{w}")


@dataclass(frozen=True)
class Case:
    """`named` and `star` are what comes of a table over named columns and over `*`: a word from
    above, or the code that the refresh fails with. `rows` are written between the statement and
    the refresh ("" where nothing can be); `mend` is what somebody does after a failure, by which
    the refreshes resume with nothing done to the dynamic table. What does not outlast its session
    (`lasts`) is not looked at after a restart: Spark alone knows a table that is not Delta."""

    what: str
    ddl: str
    named: str
    star: str
    world: World = PLAIN
    rows: str = new_rows()
    mend: str = ""
    lasts: bool = True


@dataclass(frozen=True)
class Chapter:
    """Cases of one kind, and what the paper says of it, with its section."""

    title: str
    paper: str
    cases: tuple[Case, ...]
