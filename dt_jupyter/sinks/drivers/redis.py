"""Redis 7 or newer: `redis://user@host:6379/0?prefix=name` (`rediss://` for TLS).

A row is a hash `prefix:key` of its columns as texts; with delta updates the target is a stream.
Rows are staged in a list with a unique name; one script then checks the fence, applies them and
sets the checkpoint: no reader sees a part. As durable as the server is: `appendfsync always` for
every commit, the default may lose the last second with its checkpoint.
"""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from dt_jupyter.model import DTError, error
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.binding import Binding, HashRange, Task
from dt_jupyter.sinks.fence import FenceRow, new_nonce, plan_fence
from dt_jupyter.sinks.json_values import from_json_values, to_json_values
from dt_jupyter.sinks.patterns import TOMBSTONE, RemoteAuthoritative
from dt_jupyter.sinks.secret_references import hide
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import TypeKind, TypeTable, type_kind

if TYPE_CHECKING:
    import pyarrow as pa
    import redis

_R = TypeVar("_R")
_SECONDS = 30.0
_CHUNK = 500
_STAGED_SECONDS = 86_400
_COMMIT = """
local mine = redis.call('HGET', KEYS[1], ARGV[1])
if not mine or cjson.decode(mine)['nonce'] ~= tonumber(ARGV[2]) then return 0 end
if redis.call('LLEN', KEYS[2]) ~= tonumber(ARGV[4]) then return -1 end
for _, chunk in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  for _, row in ipairs(cjson.decode(chunk)) do
    if row[1] == 'del' then redis.call('DEL', row[2])
    elseif row[1] == 'add' then redis.call('XADD', row[2], '*', unpack(row[3]))
    else redis.call('DEL', row[2]); redis.call('HSET', row[2], unpack(row[3])) end
  end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('DEL', KEYS[2])
return 1
"""


class RedisStore(RemoteAuthoritative):
    store = "Redis"
    types = TypeTable("Redis", dict.fromkeys(TypeKind, "text"), {})
    names = NameRules("Redis", 1000)

    def __init__(self, address: StoreAddress) -> None:
        address.require_options("prefix", "table", "adopt", "timeout", "password", "ca_file")
        self._address = address
        self._timeout = address.number("timeout", _SECONDS, 0.01, 3600)
        self._client: Any | None = None
        self._binding: Binding
        self._task: Task
        self._keys: list[pa.Table] = []
        self._staging, self._pushed = "", 0
        self._after: tuple[Any, ...] = ()

    # -- opening -----------------------------------------------------------------------------------

    def fence(self, message: m.Open) -> m.Checkpoint | None:
        self._binding, self._task = message.binding, message.task
        self.names.require_columns([c.name for c in self._binding.columns])
        self._prefix = self._address.options.get("prefix", self._binding.target)
        self.names.require(self._prefix)
        for column in self._binding.columns:
            self.types.stored(column)
        self._connect()
        self._staging = f"dt:sink:staged:{uuid.uuid4().hex}"
        return self._call(self._fenced)

    def _connect(self) -> None:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        address = self._address
        tls: dict[str, Any] = {}
        if address.scheme == "rediss":
            tls = {"ssl": True, "ssl_ca_certs": address.options.get("ca_file")}
        self._secret = address.secret("password")
        self._client = redis.Redis(
            host=address.host or "127.0.0.1",
            port=address.port or 6379,
            db=int(address.path.strip("/") or 0),
            username=address.user or None,
            password=self._secret or None,
            socket_timeout=self._timeout,
            socket_connect_timeout=self._timeout,
            retry=Retry(NoBackoff(), 0),  # the next opener knows the outcome of the last command
            **tls,
        )

    def _fenced(self, client: Any) -> m.Checkpoint | None:
        import redis

        fences, owner = self._fences, self._owner
        while True:
            with client.pipeline() as pipe, suppress(redis.WatchError):
                pipe.watch(fences, owner)
                found = pipe.hgetall(fences)
                self._require_own(pipe.get(owner), client)
                plan = plan_fence(
                    [_fence_row(k, v) for k, v in found.items()], self._task.range, new_nonce()
                )
                pipe.multi()
                pipe.set(owner, self._task.sink)
                for gone in plan.removed:
                    pipe.hdel(fences, str(gone))
                for row in (*plan.rest, plan.own):
                    pipe.hset(fences, str(row.range), _fence_text(row))
                pipe.execute()
                self._own = plan.own
                return plan.own.checkpoint

    @property
    def _fences(self) -> str:
        return f"dt:sink:checkpoint:{self._task.sink}"

    @property
    def _owner(self) -> str:
        return f"dt:sink:target:{self._prefix}"

    def forget(self, binding: Binding, sink: str, *, empty: bool, unmake: bool = False) -> None:
        self._binding, self._task = binding, Task(sink)
        self._prefix = self._address.options.get("prefix", binding.target)
        self._connect()
        self._call(functools.partial(self._forgotten, empty))

    def _forgotten(self, empty: bool, client: Any) -> None:
        """The fences first; until all is gone the owner says that it is not."""
        sink = self._task.sink
        client.delete(self._fences)
        if client.get(self._owner) not in (sink.encode(), _unfinished(sink).encode()):
            return
        if empty:
            client.set(self._owner, _unfinished(sink))
            client.delete(self._prefix)
            for name in client.scan_iter(match=f"{_pattern(self._prefix)}:*", count=1000):
                client.delete(name)
        client.delete(self._owner)

    def _require_own(self, owner: bytes | None, client: Any) -> None:
        """DT-6140 and DT-6141."""
        name = owner.decode() if owner is not None else None
        if name == self._task.sink:
            return
        if name == _unfinished(self._task.sink):
            problem = "a RESET of it was not finished"
            raise error("DT-6143", target=self._prefix, store=self.store, problem=problem)
        if name is not None:
            raise error("DT-6141", target=self._prefix, store=self.store, owner=name)
        taken = client.exists(self._prefix) or any(
            True for _ in client.scan_iter(match=f"{_pattern(self._prefix)}:*", count=1000)
        )
        if taken and not self._address.flag("adopt"):
            raise error("DT-6140", target=self._prefix, store=self.store)

    # -- rows --------------------------------------------------------------------------------------

    def stage_keys(self, keys: pa.Table) -> None:
        self._keys.append(keys)

    def load_rows(self) -> Iterator[pa.Table]:
        keys, self._keys = self._keys, []
        for part in keys:
            for start in range(0, part.num_rows, _CHUNK):
                names = self._names_of(part.slice(start, _CHUNK))
                found = [row for row in self._call(functools.partial(_read, names)) if row]
                if found:
                    yield _table(found, self._binding)

    def _names_of(self, keys: pa.Table) -> list[str]:
        parts = [_texts(keys[name]) for name in self._binding.key]
        return [
            ":".join((self._prefix, *(quote(p or "", safe="") for p in row)))
            for row in zip(*parts, strict=True)
        ]

    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        chunks = list(self._chunks(rows, delete))

        def push(client: Any) -> None:
            with client.pipeline(transaction=False) as pipe:
                for chunk in chunks:
                    pipe.rpush(self._staging, chunk)
                pipe.expire(self._staging, _STAGED_SECONDS)
                pipe.execute()

        self._call(push)
        self._pushed += len(chunks)

    def _chunks(self, rows: pa.Table, delete: bool) -> Iterator[str]:
        for start in range(0, rows.num_rows, _CHUNK):
            part = rows.slice(start, _CHUNK)
            names = self._names_of(part)
            if delete and not self._binding.delta_updates:
                yield json.dumps([["del", name] for name in names])
                continue
            columns = {name: _texts(part[name]) for name in part.column_names}
            flat = [
                [w for n, v in zip(columns, row, strict=True) if v is not None for w in (n, v)]
                for row in zip(*columns.values(), strict=True)
            ]
            if self._binding.delta_updates:
                flag = [TOMBSTONE, "true" if delete else "false"]
                yield json.dumps([["add", self._prefix, [*row, *flag]] for row in flat])
            else:
                yield json.dumps([["set", n, r] for n, r in zip(names, flat, strict=True)])

    # -- committing --------------------------------------------------------------------------------

    def prepare(self, runtime_checkpoint: m.Checkpoint) -> None:
        row = FenceRow(self._own.range, self._own.nonce, runtime_checkpoint)
        self._after = (str(row.range), row.nonce, _fence_text(row), self._pushed)
        self._pushed = 0

    def commit(self) -> None:
        names = (self._fences, self._staging)
        done = self._call(lambda client: client.eval(_COMMIT, 2, *names, *self._after))
        if done == 0:
            raise error("DT-6122", task=self._task.sink)
        if done < 0:  # a server that is short of memory evicts keys that expire
            problem, hint = "rows that were staged are gone", "Give it more memory."
            raise error("DT-6112", store=self.store, problem=problem, hint=hint)

    def _call(self, function: Callable[[Any], _R]) -> _R:
        import redis

        assert self._client is not None
        try:
            return function(self._client)
        except redis.RedisError as e:
            raise self._failure(e) from None

    def _failure(self, problem: redis.RedisError) -> DTError:
        import redis

        said = hide(problem, self._secret)[:300]
        where = f"Redis at {self._address}"
        if isinstance(problem, redis.TimeoutError):
            return error("DT-6113", seconds=f"{self._timeout:g}")
        if (
            isinstance(problem, redis.AuthenticationError)
            or "NOAUTH" in said
            or "WRONGPASS" in said
        ):
            return error("DT-6111", store=where)
        if isinstance(problem, redis.ConnectionError):
            return error("DT-6110", store=where, problem=said)
        if "WRONGTYPE" in said:
            kind = "a key of it is of another kind"
            return error("DT-6143", target=self._prefix, store=self.store, problem=kind)
        return error("DT-6112", store=where, problem=said, hint="")

    def close(self) -> None:
        if self._client is not None:
            with suppress(Exception):
                self._client.delete(self._staging)
            with suppress(Exception):
                self._client.close()
            self._client = None


def _unfinished(sink: str) -> str:
    """The owner of a target that is being emptied."""
    return f"reset {sink}"


def _fence_text(row: FenceRow) -> str:
    return json.dumps({"nonce": row.nonce, "checkpoint": row.checkpoint})


def _fence_row(name: bytes, text: bytes) -> FenceRow:
    found = json.loads(text)
    return FenceRow(HashRange.parse(name.decode()), found["nonce"], found["checkpoint"])


def _pattern(text: str) -> str:
    """As SCAN matches it, letter by letter."""
    return "".join(f"\\{c}" if c in "*?[]^\\-" else c for c in text)


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    """Strings as they are, all else as JSON."""
    values = to_json_values(column)
    if type_kind(column.type) is TypeKind.STRING:
        return values
    return [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]


def _read(names: list[str], client: Any) -> list[dict[bytes, bytes]]:
    with client.pipeline(transaction=False) as pipe:
        for name in names:
            pipe.hgetall(name)
        return list(pipe.execute())


def _table(rows: list[dict[bytes, bytes]], binding: Binding) -> pa.Table:
    import pyarrow as pa

    columns = []
    for column in binding.columns:
        found = [row.get(column.name.encode()) for row in rows]
        texts = [None if v is None else v.decode() for v in found]
        plain = type_kind(column.type) is TypeKind.STRING
        values = texts if plain else [None if v is None else json.loads(v) for v in texts]
        columns.append(from_json_values(values, column.type))
    return pa.Table.from_arrays(columns, schema=binding.schema)
