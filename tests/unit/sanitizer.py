"""What is left of an output's HTML where it is not trusted, and what a reader sees of that."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from functools import cache
from html import escape
from html.parser import HTMLParser
from pathlib import Path

STATIC = Path(sys.prefix) / "share" / "jupyter" / "lab" / "static"
_WITHOUT_TEXT = frozenset({"script", "style", "textarea", "option"})
"""What sanitize-html, which JupyterLab uses, takes out with all that is in it; of other elements
that are not allowed it leaves the text."""
_VOID = frozenset({"br", "hr", "img", "input", "wbr", "col"})
_INLINE = frozenset(
    {"a", "b", "i", "u", "s", "em", "span", "small", "strong", "code", "sub", "sup"}
)
"""Elements that part no words; any other stands apart from what is around it."""


@dataclass(frozen=True)
class Rules:
    """Which elements stay, and which attributes of each; `*` is every element."""

    tags: frozenset[str]
    attributes: dict[str, frozenset[str]]

    def keeps(self, tag: str, name: str) -> bool:
        return name in self.attributes.get("*", ()) or name in self.attributes.get(tag, ())


@cache
def jupyterlab() -> Rules:
    """The lists of the JupyterLab that is installed. `style` is left out: JupyterLab keeps the
    properties that it knows, others nothing, and an output must do without."""
    lists = r'allowedTags:\[("a","abbr",.*?)\].*?allowedAttributes:\{(.*?)\},allowedStyles:'
    found = [match for path in STATIC.glob("*.js") if (match := re.search(lists, _script(path)))]
    (tags, attributes) = found[0].groups()
    named = re.sub(r"(\.\.\.)?this\._\w+\?\[[^\]]*\]:\[\],?", "", attributes)
    by_tag = {
        tag.strip('"'): frozenset(json.loads(f"[{names.strip(',')}]")) - {"style"}
        for tag, names in re.findall(r'("\*"|\w+):\[([^\]]*)\]', named)
    }
    return Rules(frozenset(json.loads(f"[{tags}]")), by_tag)


def _script(path: Path) -> str:
    text = path.read_bytes()
    return text.decode("utf-8", "replace") if b'allowedTags:["a","abbr"' in text else ""


def sparing() -> Rules:
    """JupyterLab's elements with no attributes but an image's: other viewers keep as little."""
    return Rules(
        jupyterlab().tags, {"img": frozenset({"src", "alt"}), "details": frozenset({"open"})}
    )


GONE = "<!---->"
"""Stands where an element was: the texts on both sides have become one."""


class _Sanitizer(HTMLParser):
    """An attribute without a value goes: sanitize-html drops most of them, `hidden` too."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(convert_charrefs=True)
        self.rules, self.parts, self.skipped = rules, list[str](), 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _WITHOUT_TEXT and tag not in self.rules.tags:
            self.skipped += 1
        elif tag in self.rules.tags and not self.skipped:
            kept = [(n, v) for n, v in attrs if self.rules.keeps(tag, n) and (v or n == "alt")]
            told = "".join(f' {name}="{escape(value or "")}"' for name, value in kept)
            self.parts.append(f"<{tag}{told}>")
        else:
            self.parts.append(GONE)

    def handle_endtag(self, tag: str) -> None:
        if tag in _WITHOUT_TEXT and tag not in self.rules.tags:
            self.skipped -= 1
        elif tag in self.rules.tags and tag not in _VOID and not self.skipped:
            self.parts.append(f"</{tag}>")
        elif tag not in self.rules.tags:
            self.parts.append(GONE)

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            self.parts.append(escape(data))


def sanitize(html: str, rules: Rules) -> str:
    """HTML as a viewer shows it that does not trust it."""
    sanitizer = _Sanitizer(rules)
    sanitizer.feed(html)
    sanitizer.close()
    return "".join(sanitizer.parts)


@dataclass
class Seen:
    """What a reader sees: the text, with line ends where an element stands apart; pieces that
    touch without a sign or a space between them; the images' sources; the tags that are there."""

    text: str = ""
    touching: list[tuple[str, str]] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)


class _Looker(HTMLParser):
    """Style sheets are as if they were not there; what has `hidden` is not seen."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen, self.inside, self.last = Seen(), list[tuple[str, bool]](), ""

    @property
    def hidden(self) -> bool:
        return any(hidden or tag in _WITHOUT_TEXT for tag, hidden in self.inside)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.inside.append((tag, "hidden" in dict(attrs)))
        if self.hidden:
            return
        self.seen.tags.add(tag)
        self._part(tag)
        if tag == "img":
            self.seen.images.append(dict(attrs).get("src") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        hidden = self.hidden
        assert self.inside.pop()[0] == tag
        if not hidden:
            self._part(tag)

    def _part(self, tag: str) -> None:
        if tag not in _INLINE:
            self.seen.text, self.last = self.seen.text + "\n", ""

    def handle_data(self, data: str) -> None:
        if self.hidden:
            return
        marked = any(tag == "pre" for tag, _ in self.inside)  # where a part of a word is underlined
        if not marked and self.last[-1:].isalnum() and data[:1].isalnum():
            self.seen.touching.append((self.last, data))
        self.seen.text, self.last = self.seen.text + data, data


def look(html: str) -> Seen:
    """What a reader sees of HTML that has no style sheet."""
    looker = _Looker()
    looker.feed(html)
    looker.close()
    return looker.seen
