"""Functions, roles and grants go with an exported script to another lake."""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.model import Named, Securable
from tests.spark.engine_lab import Lab

SUFFIX = "!"


def shout(text: str | None) -> str | None:
    return None if text is None else text.upper() + SUFFIX


SCRIPT = """
CREATE FUNCTION part_of_four(x INT) RETURNS DOUBLE RETURN x / 4;
CREATE ROLE analyst;
CREATE ROLE boss COMMENT = 'may all of it';
GRANT ROLE analyst TO ROLE boss;
CREATE DYNAMIC TABLE loud AS SELECT part_of_four(id) AS q, shout(name) AS name FROM seen;
GRANT SELECT, MONITOR ON DYNAMIC TABLE loud TO ROLE analyst;
GRANT SELECT ON TABLE seen TO ROLE boss;
GRANT USAGE ON WAREHOUSE default TO ROLE analyst;
GRANT OWNERSHIP ON DYNAMIC TABLE loud TO ROLE boss
"""


def granted(lab: Lab) -> set[tuple[str, str, str]]:
    return {(g.role, g.right, str(g.on)) for g in lab.context.catalog.rights().grants}


@pytest.mark.nightly
def test_functions_and_rights_are_made_again(quick_lab: Lab, tmp_path: Path) -> None:
    lab = quick_lab
    lab.table("seen", "id INT, name STRING", "2, 'a'", "4, NULL")
    lab.engine.register_udf("shout", shout, "string", immutable=True)
    lab.sql(SCRIPT)
    script, before, rows = lab.engine.export(), granted(lab), lab.rows("loud")
    assert not lab.engine.plan(script)
    source = lab.context.layout.tables / "seen"
    lab.engine.close()
    lab.forget()
    other = Lab.open(lab.spark, tmp_path / "other")
    try:
        other.spark.sql(f"CREATE TABLE seen USING delta LOCATION '{source}'")
        run_python(script, tmp_path / "functions.py", other)
        plan = other.engine.plan(script)
        kinds = {c.kind for c in plan.changed}
        assert kinds == {"role", "function", "dynamic table", "grant"}
        other.engine.apply(plan)
        assert other.rows("loud") == rows == [(0.5, "A!"), (1.0, None)]
        assert granted(other) == before
        owner = Securable.of(Named.DYNAMIC_TABLE, other.engine.table("loud").name)
        assert other.context.catalog.rights().owner(owner) == "boss"
        assert not other.engine.plan(script)
        assert other.engine.export() == script
        other.insert("seen", "8, 'b'")
        assert other.refresh("loud") == "INCREMENTAL"
    finally:
        other.close()
        lab.reopen()


def run_python(script: str, file: Path, lab: Lab) -> None:
    """What the script has in comments between its head and its first statement."""
    _, after = script.split("register them: run them before.\n")
    lines = after.partition("\n\n")[0].splitlines()
    file.write_text("\n".join(line.removeprefix("-- ").removeprefix("--") for line in lines))
    exec(compile(file.read_text(), file, "exec"), {"dt": lab.engine})
