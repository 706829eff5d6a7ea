"""A plain model of who may do what, and the statements by which that is tried: every kind of
statement × ways to name an object × roles.

The model shares nothing with the engine: four objects, who owns them, what is granted, what views
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

ROLES = ("guest", "reader", "owner")
OWNERS: Mapping[str, str] = {
    "secret": "owner", "vault.secret": "owner", "peek": "admin", "lent": "owner", "stale": "poor",
    "news": "owner", "counted": "owner",
}  # fmt: skip
"""`owner` made them, but for a view of `admin`, and one of `poor`, who may not read its source any
more."""
GRANTED: Mapping[str, frozenset[str]] = {
    "guest": frozenset({"lent", "stale", "open_t"}),
    "reader": frozenset(OWNERS) | {"open_t"},
    "owner": frozenset({"open_t", "peek", "stale"}),
}
"""SELECT."""
VIEWS: Mapping[str, str] = {"peek": "secret", "lent": "secret", "stale": "secret"}


def may_read(role: str, name: str) -> bool:
    """Whether a role may read an object: a view's owner must be able to read what it reads."""
    holds = role == "admin" or OWNERS.get(name) == role or name in GRANTED.get(role, ())
    return holds and (name not in VIEWS or may_read(OWNERS[name], VIEWS[name]))


def may_change(role: str, name: str) -> bool:
    return role == "admin" or OWNERS.get(name) == role


@dataclass(frozen=True)
class Way:
    """A relation in a statement's text, and the objects on which SELECT is needed; `None` among
    them is what nobody but `admin` may read: files by their path."""

    text: str
    reads: tuple[str | None, ...]
    in_view: bool = True
    """Whether a view or a dynamic table may read it."""

    def open_to(self, role: str) -> bool:
        return all(name is not None and may_read(role, name) for name in self.reads)


WAYS: Mapping[str, Way] = {
    "name": Way("secret", ("secret",)),
    "quoted": Way("spark_catalog.`default`.`secret`", ("secret",)),
    "schema": Way("vault.secret", ("vault.secret",)),
    "identifier": Way("IDENTIFIER('sec' || 'ret')", ("secret",)),
    "subquery": Way("(SELECT * FROM secret)", ("secret",)),
    "view": Way("peek", ("peek",)),
    "view lent": Way("lent", ("lent",)),
    "view of a poor owner": Way("stale", ("stale",)),
    "dynamic table": Way("counted", ("counted",)),
    "stream": Way("news", ("news", "secret"), in_view=False),
    "path": Way("delta.`{folder}`", (None,)),
    "table_changes": Way("table_changes('secret', 0)", ("secret",)),
    "changes": Way("secret CHANGES AT (VERSION => 1)", ("secret",), in_view=False),
    "changes of a query": Way(
        "(SELECT id FROM secret) CHANGES AT (VERSION => 1)", ("secret",), in_view=False
    ),
    "at": Way("secret AT (VERSION => 1)", ("secret",), in_view=False),
    "version": Way("secret VERSION AS OF 1", ("secret",)),
    "function of rows": Way("all_words()", ("secret",)),
    "function": Way("(SELECT one_word() AS id)", ("secret",)),
    "beside": Way("open_t JOIN secret USING (id)", ("open_t", "secret")),
    "open": Way("open_t", ("open_t",)),
}
READS: Mapping[str, str] = {
    "select": "SELECT * FROM {r}",
    "count": "SELECT count(*) FROM {r}",
    "exists": "SELECT 1 FROM open_t WHERE EXISTS (SELECT 1 FROM {r})",
    "with": "WITH w AS (SELECT * FROM {r}) SELECT * FROM w",
    "pipe": "FROM {r} |> LIMIT 1",
    "union": "SELECT 1 AS x UNION ALL SELECT 2 AS x FROM {r}",
    "explain": "EXPLAIN EXTENDED SELECT * FROM {r}",
    "describe": "DESCRIBE QUERY SELECT * FROM {r}",
}
"""They run nothing before their rows are asked for."""
WRITES: Mapping[str, str] = {
    "ctas": "CREATE TABLE made AS SELECT 1 AS x FROM {r}",
    "replace": "CREATE OR REPLACE TABLE {m} AS SELECT 1 AS x FROM {r}",
    "view": "CREATE VIEW made AS SELECT 1 AS x FROM {r}",
    "temporary view": "CREATE TEMPORARY VIEW brief AS SELECT 1 AS x FROM {r}",
    "insert": "INSERT INTO {m} SELECT 1 FROM {r}",
    "overwrite": "INSERT OVERWRITE {m} SELECT 1 FROM {r}",
    "many inserts": "FROM {r} INSERT INTO {m} SELECT 1 INSERT INTO {m} SELECT 2",
    "merge": "MERGE INTO {m} USING (SELECT 1 AS y FROM {r}) ON x = y WHEN MATCHED THEN DELETE",
    "delete": "DELETE FROM {m} WHERE EXISTS (SELECT 1 FROM {r})",
    "update": "UPDATE {m} SET x = 2 WHERE x IN (SELECT 1 FROM {r})",
    "cache": "CACHE LAZY TABLE brief AS SELECT 1 AS x FROM {r}",
    "dynamic table": "CREATE DYNAMIC TABLE made AS SELECT 1 AS x FROM {r}",
    "task": "CREATE TASK made AS INSERT INTO {m} SELECT 1 FROM {r}",
}
READ_TARGETS = (
    "DESCRIBE {t}", "DESCRIBE EXTENDED {t}", "DESCRIBE EXTENDED {t} AS JSON", "DESCRIBE DETAIL {t}",
    "DESCRIBE HISTORY {t}", "SHOW COLUMNS IN {t}", "SHOW TBLPROPERTIES {t}",
    "CREATE TABLE IF NOT EXISTS like_it LIKE {t}", "REFRESH TABLE {t}",
    "EXPLAIN DESCRIBE {t}",
)  # fmt: skip
OWN_TARGETS = (
    "DROP TABLE {t}", "DROP TABLE IF EXISTS {t}", "TRUNCATE TABLE {t}", "OPTIMIZE {t}",
    "VACUUM {t} DRY RUN", "RESTORE TABLE {t} TO VERSION AS OF 0",
    "REORG TABLE {t} APPLY (PURGE)", "ALTER TABLE {t} ADD COLUMN added INT",
    "ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')", "ALTER TABLE {t} ALTER COLUMN id COMMENT 'x'",
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)", "ALTER TABLE {t} RENAME TO renamed",
    "ALTER TABLE {t} CLUSTER BY (id)", "COMMENT ON TABLE {t} IS 'x'",
    "ANALYZE TABLE {t} COMPUTE STATISTICS", "INSERT INTO {t} VALUES (9, 'x')",
    "INSERT OVERWRITE {t} VALUES (9, 'x')", "UPDATE {t} SET word = 'x'", "DELETE FROM {t}",
    "MERGE INTO {t} s USING open_t o ON s.id = o.id WHEN MATCHED THEN DELETE",
    "CREATE OR REPLACE TABLE {t} (id INT)", "CREATE OR REPLACE TABLE {t} AS SELECT 1 AS id",
    "REPLACE TABLE {t} AS SELECT 1 AS id", "EXPLAIN DROP TABLE {t}",
    "EXPLAIN EXTENDED INSERT INTO {t} VALUES (9, 'x')",
)  # fmt: skip
TARGETS: Mapping[str, str] = {
    "secret": "secret",
    "spark_catalog.default.secret": "secret",
    "`SECRET`": "secret",
    "vault.secret": "vault.secret",
    "IDENTIFIER('secret')": "secret",
}
FIXED: Mapping[str, str] = {
    "DROP VIEW peek": "peek", "CREATE OR REPLACE VIEW peek AS SELECT 1 AS id": "peek",
    "ALTER VIEW peek AS SELECT 1 AS id": "peek", "ALTER VIEW peek RENAME TO peek2": "peek",
    "CREATE OR REPLACE VIEW secret AS SELECT 1 AS id": "secret",
    "DROP STREAM news": "news", "DROP DYNAMIC TABLE counted": "counted",
    "ALTER DYNAMIC TABLE counted REFRESH": "counted",
    "ALTER DYNAMIC TABLE counted SUSPEND": "counted",
    "ALTER DYNAMIC TABLE counted RENAME TO c2": "counted",
    "CREATE OR REPLACE DYNAMIC TABLE counted AS SELECT 1 AS x": "counted",
    "DROP SCHEMA vault": "admin", "DROP SCHEMA vault CASCADE": "admin",
    "ALTER SCHEMA vault SET DBPROPERTIES ('a' = 'b')": "admin",
    "COMMENT ON SCHEMA vault IS 'x'": "admin", "CREATE TABLE vault.made (id INT)": "admin",
    "ALTER SCHEMA vault RENAME TO v2": "admin", "CREATE SCHEMA v2 CLONE vault": "admin",
    "UNDROP TABLE gone": "admin", "ANALYZE TABLES COMPUTE STATISTICS": "admin",
    "CLEAR CACHE": "admin", "LIST JAR": "admin", "SHOW PROCEDURES": "admin",
    "EXECUTE IMMEDIATE 'SELECT 1'": "admin", "BEGIN SELECT 1; END": "admin",
    "ADD JAR '/tmp/x.jar'": "admin", "ADD FILE '/etc/passwd'": "admin", "SET": "admin",
    "SET -v": "admin", "SET spark.hadoop.fs.s3a.secret.key": "admin", "RESET": "admin",
    "LOAD DATA LOCAL INPATH '/etc/passwd' INTO TABLE open_t": "admin",
    "DECLARE VARIABLE v INT DEFAULT 1": "admin",
    "CREATE TABLE made SHALLOW CLONE open_t": "admin",
    "CREATE OR REPLACE TABLE secret SHALLOW CLONE open_t": "admin",
    "CREATE ROLE other": "admin", "GRANT ROLE admin TO ROLE guest": "admin",
    "GRANT SELECT ON VIEW peek TO ROLE guest": "admin", "USE ROLE admin": "admin",
    "CALL system.x()": "admin",
}  # fmt: skip
"""By the object that a role must own; `admin`: what is open to that role alone, or to none in a
shared engine."""


@dataclass(frozen=True)
class Try:
    """A statement of a role; `allowed` by the model, `runs` where it does something at once."""

    statement: str
    role: str
    allowed: bool
    runs: bool


def tries(role: str, folder: str, part: int = 1) -> Iterator[Try]:
    """Those of a role; `folder` is that of the table `secret`. Of what it reads one in `part`."""
    yield from islice(_of_relations(role, folder), 0, None, part)
    yield from _of_targets(role)
    for statement, owned in FIXED.items():
        yield Try(statement, role, may_change(role, owned), runs=True)


def _of_relations(role: str, folder: str) -> Iterator[Try]:
    for name, way in WAYS.items():
        text, allowed = way.text.format(folder=folder), way.open_to(role)
        for kind, template in READS.items():
            if kind != "pipe" or not {"(", " "} & set(text):
                yield Try(template.format(r=text), role, allowed, runs=False)
        for kind, template in WRITES.items():
            statement = template.format(r=text, m=f"mine_{role}")
            if kind == "many inserts":  # Spark's plan of several does not tell their targets
                if name == "name":
                    yield Try(statement, role, allowed=False, runs=True)
            elif way.in_view or kind not in _DEFINES:
                yield Try(statement, role, allowed, runs=True)


_DEFINES = ("view", "temporary view", "dynamic table", "cache")


def _of_targets(role: str) -> Iterator[Try]:
    for text, name in TARGETS.items():
        for template in READ_TARGETS:
            yield Try(template.format(t=text), role, may_read(role, name), runs="LIKE" in template)
        for template in OWN_TARGETS:
            owns = may_change(role, name)
            if template.startswith(("CREATE OR REPLACE", "REPLACE")):
                owns &= name == "secret"  # it takes CREATE in the schema too
            yield Try(template.format(t=text), role, owns, runs=True)
