"""Where a sink delivers to: its URL and options as a value without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from dt_jupyter.model import did_you_mean, error
from dt_jupyter.sinks.secret_references import SCHEME, SecretReference

_SHOWN_PATHS = frozenset({
    "delta", "duckdb", "file", "kafka", "kafkas", "postgres", "postgresql", "redis", "rediss",
    "sqlite",
})  # fmt: skip
"""Schemes whose path is a name, a number or a folder; of any other it may be a secret."""
PLAIN_OPTIONS = frozenset({
    "adopt", "attempts", "ca_file", "cert_file", "connect_timeout", "format", "key_file",
    "mechanism", "outbox", "partitions", "prefix", "replication", "servers", "sslcert", "sslkey",
    "sslmode", "sslrootcert", "table", "timeout",
})  # fmt: skip
"""Options whose values are shown; those of any other are hidden."""
SECRET_OPTIONS = frozenset({"password", "token", "hmac_key", "path"})
"""Options whose values are references."""
_BY_PATH = frozenset({"kafka", "kafkas"})
"""Schemes of stores whose URL's path is the target."""


@dataclass(frozen=True, repr=False)
class StoreAddress:
    """The parts of a URL; options of its query and of OPTIONS by their names in lower case."""

    scheme: str
    host: str = ""
    port: int | None = None
    user: str = ""
    path: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, SecretReference] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        object.__setattr__(self, "secrets", MappingProxyType(dict(self.secrets)))

    def __str__(self) -> str:
        """For people: no user, no options, no secret."""
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{self.host}{port}{_shown_path(self.scheme, self.path)}"

    def __repr__(self) -> str:
        return f"StoreAddress({str(self)!r})"

    def target(self, default: str) -> str:
        """What the rows go to is called there: as the URL says, else `default`."""
        named = self.path.strip("/") if self.scheme in _BY_PATH else ""
        return named or self.options.get("table", default)

    def secret(self, name: str) -> str:
        """An option's secret, read now; "" where it was not given. DT-6103."""
        found = self.secrets.get(name)
        return found.read() if found is not None else ""

    def flag(self, name: str) -> bool:
        """DT-1003 for an option that is neither true nor false."""
        value = self.options.get(name, "false").lower()
        if value not in ("true", "false"):
            raise _bad_option(name, value, "it must be TRUE or FALSE")
        return value == "true"

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """DT-1003 for an option that is not a number from `low` to `high`."""
        text = self.options.get(name)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise _bad_option(name, str(text), f"it must be a number from {low:g} to {high:g}")
        return value

    def require_options(self, *known: str) -> None:
        """DT-1002 for an option that the store does not know."""
        for name in (*self.options, *self.secrets):
            if name not in known:
                hint = did_you_mean(name, list(known)).removesuffix("?")
                shown = f"{', '.join(sorted(known))}. {hint}".strip()
                raise error("DT-1002", option=name, statement=f"a {self.scheme} sink", known=shown)


def scheme_of(url: str) -> str:
    """As `parse_store_url` reads it; "" for what it refuses."""
    try:
        return urlsplit(url).scheme.lower()
    except ValueError:
        return ""


def shown_url(url: str) -> str:
    """The URL of a sink for people: what may be a secret in it is `***`."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        host = parts.hostname or ""
    except ValueError:
        return "***"
    scheme = parts.scheme.lower()
    place = f"{_shown_user(parts)}{f'[{host}]' if ':' in host else host}{port}"
    query = "&".join(map(_shown_pair, parts.query.split("&"))) if parts.query else ""
    return SplitResult(scheme, place, _shown_path(scheme, parts.path), query, "").geturl()


def shown_option(name: str, value: str) -> str:
    """The value of an option for people: one that may be a secret is `***`, unless it is a
    reference."""
    return value if name.lower() in PLAIN_OPTIONS or value.startswith(SCHEME) else "***"


def _shown_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    shown = shown_option(unquote(name), unquote(value))
    return pair if shown == unquote(value) else f"{name}{equals}{shown}"


def _shown_user(parts: SplitResult) -> str:
    """A name that is `user:password` once it is decoded is hidden, and so is any password but a
    reference."""
    if parts.username is None:
        return ""
    password = unquote(parts.password or "")
    user = "***" if ":" in unquote(parts.username) else parts.username
    if not password:
        return f"{user}@"
    return f"{user}:{parts.password if password.startswith(SCHEME) else '***'}@"


def _shown_path(scheme: str, path: str) -> str:
    """Who knows the path of a webhook may post to it."""
    return path if scheme in _SHOWN_PATHS or not path.strip("/") else "/***"


def _bad_option(name: str, value: str, problem: str) -> Exception:
    return error("DT-1003", option=name, value=value, problem=problem, hint="")


def parse_store_url(url: str, options: Mapping[str, str] | None = None) -> StoreAddress:
    """DT-6101 for no URL, and for a secret in it: neither is repeated."""
    try:
        parts = urlsplit(url)
        port, password = parts.port, parts.password
    except ValueError:
        raise _bad_url("(hidden)", "it cannot be read") from None
    shown = f"{parts.scheme}://…"
    if not parts.scheme or "://" not in url:
        raise _bad_url("(hidden)", "it has no scheme, as postgresql:// or file:///")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    given = {k.lower(): v for k, v in {**given, **(options or {})}.items()}
    if password is not None:
        given.setdefault("password", unquote(password))
    secrets = {k: v for k, v in given.items() if k in SECRET_OPTIONS or v.startswith(SCHEME)}
    for name, value in secrets.items():
        if not value.startswith(SCHEME):
            raise _bad_url(shown, f"it or its options contain a secret ({name})")
    return StoreAddress(
        parts.scheme.lower(),
        parts.hostname or "",
        port,
        unquote(parts.username or ""),
        unquote(parts.path),
        {k: v for k, v in given.items() if k not in secrets},
        {k: SecretReference(v) for k, v in secrets.items()},
    )


def _bad_url(shown: str, problem: str) -> Exception:
    hint = "Secrets are given by reference: OPTIONS (password = 'secret://env/NAME')."
    return error("DT-6101", url=shown, problem=problem, hint=hint)
