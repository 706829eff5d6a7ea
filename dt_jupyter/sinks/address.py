"""Where a sink delivers to: its URL and options as a value in which no secret stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import parse_qsl, unquote, urlsplit

from dt_jupyter.model import did_you_mean, error
from dt_jupyter.sinks.secret_references import SCHEME, SecretReference

_WEBHOOKS = frozenset({"http", "https"})
SECRET_OPTIONS = frozenset({"password", "token", "hmac_key", "path"})
"""Options whose values are references."""
_BY_PATH = frozenset({"kafka", "kafkas"})
"""Schemes of stores whose URL's path is the target."""


@dataclass(frozen=True)
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
        """DT-1003 for an option that is no number from `low` to `high`."""
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
    """The URL of a sink for people: its path is hidden where that may be a secret."""
    parts = urlsplit(url)
    return parts._replace(path=_shown_path(parts.scheme.lower(), parts.path)).geturl()


def _shown_path(scheme: str, path: str) -> str:
    """Who knows the path of a webhook may post to it."""
    return "/***" if scheme in _WEBHOOKS and path.strip("/") else path


def _bad_option(name: str, value: str, problem: str) -> Exception:
    return error("DT-1003", option=name, value=value, problem=problem, hint="")


def parse_store_url(url: str, options: Mapping[str, str] | None = None) -> StoreAddress:
    """DT-6101 for no URL, and for a secret that stands in it: neither is repeated."""
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
            raise _bad_url(shown, f"a secret stands in it or in its options ({name})")
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
