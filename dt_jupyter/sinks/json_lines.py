"""The protocol's messages as lines of JSON, for drivers in another process and any language.

| line | fields |
| --- | --- |
| open | sink, range [first, last], target, columns [{name, type}], key, delta_updates, driver_checkpoint |
| acknowledge, flush | |
| load | keys: arrays of values, in the order of `key` |
| store | rows: objects; or delete: arrays as in load |
| start_commit | runtime_checkpoint |
| opened | authoritative, runtime_checkpoint |
| acknowledged | refused, not_deleted: how many rows and keys it keeps as dead letters |
| flushed | |
| loaded | rows |
| started_commit | driver_checkpoint, merge_patch |
| error | message: instead of any answer |

A process that is started for a RESET, a DROP or a sink that is not made gets `forget` alone, with
sink, target, key, and the flags empty (its rows go too) and unmake (so does the target), and answers
`forgotten`. The process that delivers the sink is fenced then.

Each line is one object with one of these names: `{"load": {"keys": [[1], [2]]}}`. Values are as in
`json_values`.
"""  # noqa: E501

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import error
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.binding import Binding
from dt_jupyter.sinks.json_values import from_json_values, to_json_values

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_LINE = 1_000


def to_lines(message: m.FromRuntime) -> Iterator[str]:
    """One line or, for many rows, several."""
    for name, fields in _requests(message):
        yield json.dumps({name: fields}, separators=(",", ":"), allow_nan=False) + "\n"


def _requests(message: m.FromRuntime) -> Iterator[tuple[str, dict[str, Any]]]:
    match message:
        case m.Open(binding, task, driver_checkpoint):
            columns = [{"name": c.name, "type": str(c.type)} for c in binding.columns]
            yield (
                "open",
                {
                    "sink": task.sink,
                    "range": [task.range.begin, task.range.end],
                    "target": binding.target,
                    "columns": columns,
                    "key": binding.key,
                    "delta_updates": binding.delta_updates,
                    "driver_checkpoint": dict(driver_checkpoint),
                },
            )
        case m.Acknowledge():
            yield "acknowledge", {}
        case m.Flush():
            yield "flush", {}
        case m.Load(keys):
            for rows in _chunks(keys):
                yield "load", {"keys": rows}
        case m.Store(rows, delete):
            names = rows.column_names
            for part in _chunks(rows):
                if delete:
                    yield "store", {"delete": part}
                else:
                    yield "store", {"rows": [dict(zip(names, r, strict=True)) for r in part]}
        case m.StartCommit(runtime_checkpoint):
            yield "start_commit", {"runtime_checkpoint": dict(runtime_checkpoint)}


def forget_line(binding: Binding, sink: str, *, empty: bool, unmake: bool) -> str:
    fields = {
        "sink": sink,
        "target": binding.target,
        "key": binding.key,
        "empty": empty,
        "unmake": unmake,
    }
    return json.dumps({"forget": fields}) + "\n"


def require_forgotten(line: str) -> None:
    """DT-6120 for another answer, DT-6112 for an error in it."""
    name, _ = _answered(line)
    if name != "forgotten":
        raise _broken(line, KeyError(name))


def _chunks(rows: pa.Table) -> Iterator[list[list[Any]]]:
    for start in range(0, rows.num_rows, ROWS_PER_LINE):
        part = rows.slice(start, ROWS_PER_LINE)
        yield [list(r) for r in zip(*map(to_json_values, part.columns), strict=True)]


def from_line(line: str, binding: Binding) -> m.FromDriver:
    """A driver's answer; DT-6120 for an invalid line, DT-6112 for an error in it."""
    name, fields = _answered(line)
    try:
        return _answer(name, fields, binding)
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise _broken(line, e) from e


def _answered(line: str) -> tuple[str, dict[str, Any]]:
    """The name and the fields of a line."""
    try:
        ((name, fields),) = json.loads(line).items()
        if name == "error":
            raise error("DT-6112", store="The driver", problem=str(fields["message"]), hint="")
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise _broken(line, e) from e
    return name, fields


def _broken(line: str, failure: Exception) -> Exception:
    shown = line[:80].strip()
    return error("DT-6120", problem=f"a driver wrote {shown!r} ({type(failure).__name__})")


def _answer(name: str, fields: dict[str, Any], binding: Binding) -> m.FromDriver:
    match name:
        case "opened":
            return m.Opened(bool(fields.get("authoritative")), fields.get("runtime_checkpoint"))
        case "acknowledged":
            return m.Acknowledged(fields.get("refused", 0), fields.get("not_deleted", 0))
        case "flushed":
            return m.Flushed()
        case "loaded":
            return m.Loaded(_table(fields["rows"], binding))
        case "started_commit":
            driver = fields.get("driver_checkpoint") or {}
            return m.StartedCommit(driver, bool(fields.get("merge_patch")))
    raise KeyError(name)


def _table(rows: list[dict[str, Any]], binding: Binding) -> pa.Table:
    import pyarrow as pa

    columns = [from_json_values([r.get(c.name) for r in rows], c.type) for c in binding.columns]
    return pa.Table.from_arrays(columns, schema=binding.schema)
