"""Secrets by reference: `secret://env/NAME`, `secret://keyring/SERVICE/USER`.

A reference is what is stored and shown; its value is read when a store is opened, and `hide`
takes it out of what a store says.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from dt_jupyter.model import error

SCHEME = "secret://"


@dataclass(frozen=True)
class SecretReference:
    """Where a secret is; never the secret."""

    text: str

    def __post_init__(self) -> None:
        kind, _, rest = self.text.removeprefix(SCHEME).partition("/")
        parts = rest.split("/")
        known = {"env": 1, "keyring": 2}
        if not self.text.startswith(SCHEME) or known.get(kind) != len(parts) or "" in parts:
            raise error(
                "DT-6103",
                reference=self.text if self.text.startswith(SCHEME) else "(hidden)",
                problem="it is not a reference",
                hint="Write secret://env/NAME or secret://keyring/SERVICE/USER.",
            )

    def read(self, environment: Mapping[str, str] | None = None) -> str:
        """The secret's value; DT-6103 where there is none."""
        kind, _, rest = self.text.removeprefix(SCHEME).partition("/")
        parts = [unquote(part) for part in rest.split("/")]
        if kind == "env":
            found = (os.environ if environment is None else environment).get(parts[0])
        else:
            found = _from_keyring(self, *parts)
        if not found:
            hint = "Set it in the environment of the process that delivers."
            if kind == "keyring":
                hint = f"Set it: keyring set {parts[0]} {parts[1]}."
            raise error("DT-6103", reference=self.text, problem="it is not set", hint=hint)
        return found


def _from_keyring(reference: SecretReference, service: str, user: str) -> str | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise error("DT-6102", store="a keyring", package="keyring") from None
    try:
        return keyring.get_password(service, user)
    except KeyringError as e:
        problem = f"the keyring does not open ({type(e).__name__})"
        raise error("DT-6103", reference=reference.text, problem=problem, hint="") from None


def hide(text: object, *secrets: str) -> str:
    """A text without the secrets, as they are or as a URL has them."""
    found = str(text).strip()
    for secret in secrets:
        for form in {secret, quote(secret, safe="")} - {""}:
            found = found.replace(form, "***")
    return found
