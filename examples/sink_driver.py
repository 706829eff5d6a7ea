"""A sink driver in plain Python: a JSON file that holds each target's rows, exactly once.

    CREATE SINK s FROM TABLE t INTO 'process:///usr/bin/python3' KEY (id)
        OPTIONS (args = 'examples/sink_driver.py folder')

It follows the pattern "recovery log with idempotent apply": a transaction is staged in a file of
its own name, the name goes into the driver checkpoint, and the file is applied once that is
committed: before Acknowledged, so before anything is loaded.
"""

import fcntl
import json
import os
import sys
import uuid
from pathlib import Path

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def write(path, value):
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    with draft.open("w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def say(name, **fields):
    print(json.dumps({name: fields}), flush=True)


def read_view(path):
    return json.loads(path.read_text()) if path.exists() else {"applied": [], "rows": {}}


def apply(path, staged):
    """Whoever comes late, or again, finds the file gone or its name among the applied."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        view = read_view(path)
        if (folder / staged).exists() and staged not in view["applied"]:
            for key, row in json.loads((folder / staged).read_text()):
                view["rows"].pop(key, None)
                if row is not None:
                    view["rows"][key] = row
            left = [name for name in view["applied"] if (folder / name).exists()]
            write(path, {"applied": [*left, staged], "rows": view["rows"]})
        (folder / staged).unlink(missing_ok=True)


keys, changes = [], []
for line in sys.stdin:
    ((name, message),) = json.loads(line).items()
    if name == "open":
        key_columns = message["key"]
        view_file = folder / f"{uuid.uuid5(uuid.NAMESPACE_URL, message['target'])}.json"
        checkpoint = message["driver_checkpoint"]
        say("opened")
    elif name == "acknowledge":
        if "staged" in checkpoint:
            apply(view_file, checkpoint["staged"])
        say("acknowledged")
    elif name == "load":
        keys += [json.dumps(key) for key in message["keys"]]
    elif name == "flush":
        rows = read_view(view_file)["rows"]
        say("loaded", rows=[rows[key] for key in keys if key in rows])
        keys = []
        say("flushed")
    elif name == "store":
        changes += [(json.dumps(key), None) for key in message.get("delete", [])]
        for row in message.get("rows", []):
            changes.append((json.dumps([row[c] for c in key_columns]), row))
    elif name == "start_commit":
        checkpoint = {"staged": f"{uuid.uuid4().hex}.staged"}
        write(folder / checkpoint["staged"], changes)
        changes = []
        say("started_commit", driver_checkpoint=checkpoint)
    elif name == "forget":
        if message["empty"]:
            view = folder / f"{uuid.uuid5(uuid.NAMESPACE_URL, message['target'])}.json"
            view.unlink(missing_ok=True)
        say("forgotten")
