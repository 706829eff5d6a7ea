"""Functions of SQL: CREATE FUNCTION … RETURN read, and their calls replaced by what they return."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dt_jupyter.ivm import Refusal, refuse
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens

_NAMES = frozenset((TokenKind.WORD, TokenKind.QUOTED))
_QUERIES = frozenset({"SELECT", "FROM", "TABLE", "VALUES", "WITH", "MAP", "REDUCE"})
_DEEPEST = 50


@dataclass(frozen=True)
class SqlFunction:
    """What CREATE FUNCTION says: the parts of the name, the parameters (name, type), the type and
    the text of what it returns."""

    parts: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    returns: str
    body: str
    temporary: bool = False


def created_function(text: str) -> SqlFunction | None:
    """The function that a statement makes, if it returns one value of its arguments alone; None
    of any other statement."""
    words = tokens(text)
    made = [w.upper for w in words[:6]]
    if made[:1] != ["CREATE"] or "FUNCTION" not in made:
        return None
    temporary = any(w in ("TEMPORARY", "TEMP") for w in made[: made.index("FUNCTION")])
    at = made.index("FUNCTION") + 1
    if [w.upper for w in words[at : at + 3]] == ["IF", "NOT", "EXISTS"]:
        return None
    parts, at = _name(words, at)
    if not parts or at >= len(words) or not words[at].sign("("):
        return None
    end = _closing(words, at)
    parameters = [_parameter(text, p) for p in _listed(words[at + 1 : end])]
    returns = _phrase(words, end + 1, "RETURNS")
    body = _phrase(words, end + 1, "RETURN")
    if returns is None or body is None or None in parameters:
        return None
    kind = _until_option(words[returns:body])
    rest = words[body + 1 :]
    if not rest or not kind or any(w.upper in _QUERIES for w in (*kind[1:], *rest)):
        return None
    if rest[-1].sign(";"):
        rest = rest[:-1]
    known = tuple(p for p in parameters if p is not None)
    return SqlFunction(parts, known, _text(text, kind[1:]), _text(text, rest), temporary)


def dropped_function(text: str) -> tuple[str, ...]:
    """The parts of the name in DROP FUNCTION; () of any other statement."""
    words = tokens(text)
    if [w.upper for w in words[:2]] != ["DROP", "FUNCTION"]:
        return ()
    at = 4 if [w.upper for w in words[2:4]] == ["IF", "EXISTS"] else 2
    return _name(words, at)[0]


def expand_functions(text: str, functions: Mapping[str, SqlFunction], depth: int = 0) -> str:
    """A query with each call of a function of SQL replaced by what it returns, its arguments cast
    to the types of the parameters; calls within it too. Refused for a call that cannot be told."""
    if depth > _DEEPEST:
        raise refuse(Refusal.RECURSIVE)
    words, made, end = tokens(text), "", 0
    for start, name in _calls(words, functions):
        if words[start].start < end:
            continue  # within the arguments of a call that is replaced already
        close = _closing(words, start + 1)
        given = [
            expand_functions(_text(text, a), functions, depth + 1)
            for a in _listed(words[start + 2 : close])
        ]
        first = _first_of_name(words, start)
        body = expand_functions(_returned(functions[name], given), functions, depth + 1)
        made += f"{text[end : words[first].start]}{body}"
        end = words[close].end
    return made + text[end:]


def replace_calls(text: str, around: Mapping[str, tuple[str, str]]) -> str:
    """A query with other texts around the arguments of each call of these functions, by name:
    what opens the call and a first argument, and what closes it."""
    words, changed = tokens(text), dict[int, tuple[int, str]]()
    for at, name in _calls(words, around):
        opening, closing = around[name]
        close = _closing(words, at + 1)
        more = ", " if close > at + 2 else ""
        changed[words[_first_of_name(words, at)].start] = words[at + 1].end, f"{opening}{more}"
        changed[words[close].start] = words[close].end, closing
    made, end = "", 0
    for start, (stop, other) in sorted(changed.items()):
        made += text[end:start] + other
        end = stop
    return made + text[end:]


def _returned(function: SqlFunction, given: Sequence[str]) -> str:
    name = function.parts[-1]
    if (
        len(given) != len(function.parameters)
        or "->" in function.body
        or any("=>" in g for g in given)
    ):
        raise refuse(Refusal.EXPRESSION, what=f"the call of the function {name} is not expanded")
    values = {
        p.lower(): f"CAST(({g}) AS {t})"
        for (p, t), g in zip(function.parameters, given, strict=True)
    }
    words, made, end = tokens(function.body), "", 0
    for i, word in enumerate(words):
        value = values.get(word.text.strip("`").lower()) if word.kind in _NAMES else None
        called = i + 1 < len(words) and words[i + 1].sign("(")
        if value is None or called or (i and words[i - 1].sign(".")):
            continue
        made += function.body[end : word.start] + value
        end = word.end
    return f"CAST(({made}{function.body[end:]}) AS {function.returns})"


def _calls(words: Sequence[Token], functions: Collection[str]) -> Iterator[tuple[int, str]]:
    for i, word in enumerate(words[:-1]):
        name = word.text.strip("`").lower()
        if word.kind in _NAMES and name in functions and words[i + 1].sign("("):
            yield i, name


def _first_of_name(words: Sequence[Token], at: int) -> int:
    while at > 1 and words[at - 1].sign(".") and words[at - 2].kind in _NAMES:
        at -= 2
    return at


def _name(words: Sequence[Token], at: int) -> tuple[tuple[str, ...], int]:
    parts: list[str] = []
    while at < len(words) and words[at].kind in _NAMES:
        parts.append(words[at].text.strip("`").lower())
        at += 1
        if at >= len(words) or not words[at].sign("."):
            break
        at += 1
    return tuple(parts), at


def _closing(words: Sequence[Token], at: int) -> int:
    """The index of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(words)):
        depth += words[i].sign("(") - words[i].sign(")")
        if not depth:
            return i
    raise refuse(Refusal.EXPRESSION, what="a bracket is not closed")


def _listed(words: Sequence[Token]) -> list[Sequence[Token]]:
    """What stands between the commas outside of brackets."""
    found: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += word.sign("(") + word.sign("[") - word.sign(")") - word.sign("]")
        if word.sign(",") and depth <= 0:
            found.append([])
        else:
            found[-1].append(word)
    return [f for f in found if f]


def _parameter(text: str, words: Sequence[Token]) -> tuple[str, str] | None:
    """Name and type; None where more stands there, as a default."""
    if len(words) < 2 or any(w.upper in ("DEFAULT", "COMMENT") for w in words[1:]):
        return None
    return words[0].text.strip("`").lower(), _text(text, words[1:])


def _phrase(words: Sequence[Token], start: int, word: str) -> int | None:
    return next((i for i in range(start, len(words)) if words[i].upper == word), None)


def _until_option(words: Sequence[Token]) -> Sequence[Token]:
    """RETURNS and its type, without what may stand between it and RETURN."""
    options = ("COMMENT", "LANGUAGE", "DETERMINISTIC", "NOT", "CONTAINS", "SQL", "READS")
    end = next((i for i, w in enumerate(words) if w.upper in options), len(words))
    return words[:end]


def _text(text: str, words: Sequence[Token]) -> str:
    return text[words[0].start : words[-1].end] if words else ""
