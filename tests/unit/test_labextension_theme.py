"""The pictures of the kernel and the live views of the browser have the same colours."""

import re
from pathlib import Path

from dt_jupyter.widgets.theme import TOKENS

THEME = Path(__file__).parents[2] / "labextension" / "view" / "elements" / "theme.ts"


def test_tokens_are_those_of_the_static_pictures() -> None:
    table = THEME.read_text("utf-8").split("export const TOKENS = {")[1].split("}")[0]
    lines = re.findall(r"(\w+): \[(.*)\]", table)
    values = {name: tuple(re.findall(r"'([^']*)'", line)) for name, line in lines}
    assert values == {
        name: (token.light, token.dark, *([token.variable] if token.variable else []))
        for name, token in TOKENS.items()
    }
