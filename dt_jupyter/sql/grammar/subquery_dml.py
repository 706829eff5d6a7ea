"""DELETE and UPDATE whose WHERE has a subquery, as the MERGE that does the same: Delta takes no
subquery in either.

The rows that `a IN (SELECT b …)` or `EXISTS (SELECT … WHERE b = t.a)` chooses are those that match
one of the different values of b; NULL matches in none of the three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dt_jupyter.model.hidden import hidden
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens

_SOURCE, _KEY = hidden("chosen"), hidden("k")
_ENDS = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "WINDOW", "QUALIFY", "UNION", "EXCEPT",
         "INTERSECT", "MINUS", "LATERAL", "CLUSTER", "DISTRIBUTE", "SORT")  # fmt: skip
Words = Sequence[Token]


@dataclass(frozen=True)
class _Chosen:
    """Rows of the target whose `own` expressions equal a row of the query `text`."""

    own: tuple[str, ...]
    text: str


def as_merge(text: str) -> str | None:
    """The MERGE of a DELETE or UPDATE with one IN or EXISTS among the conditions of its WHERE;
    None for any other statement."""
    words = tokens(text)
    if not words or words[-1].sign(";"):
        words = words[:-1]
    where = _top(words, "WHERE")
    if where is None or not any(w.upper == "SELECT" for w in words[where:]):
        return None
    head = words[:where]
    if _spelled(head, "DELETE", "FROM"):
        target, action = _slice(text, head[2:]), "DELETE"
    elif _spelled(head, "UPDATE") and (at := _top(head, "SET")) is not None:
        target, action = _slice(text, head[1:at]), f"UPDATE {_slice(text, head[at:])}"
    else:
        return None
    conjuncts = _divided(words[where + 1 :], "AND")
    asking = [c for c in conjuncts if any(w.upper == "SELECT" for w in c)]
    chosen = _chosen(text, asking[0], _called(head, action)) if len(asking) == 1 else None
    if chosen is None:
        return None
    names = [f"{_KEY}{i}" for i in range(len(chosen.own))]
    on = [f"({own}) = {_SOURCE}.{name}" for own, name in zip(chosen.own, names, strict=True)]
    on += [f"({_slice(text, c)})" for c in conjuncts if c is not asking[0]]
    return (
        f"MERGE INTO {target} USING (SELECT DISTINCT * FROM ({chosen.text})"
        f" AS {_SOURCE}({', '.join(names)})) AS {_SOURCE}"
        f" ON {' AND '.join(on)} WHEN MATCHED THEN {action}"
    )


def _chosen(text: str, conjunct: Words, target: str) -> _Chosen | None:
    if _spelled(conjunct, "EXISTS") and _is_bracketed(conjunct[1:]):
        return _of_exists(text, conjunct[2:-1], target)
    at = _top(conjunct, "IN")
    if at is None or not _is_bracketed(conjunct[at + 1 :]) or at == 0:
        return None
    if conjunct[at - 1].upper == "NOT" or conjunct[0].upper == "NOT":
        return None
    if _top(conjunct, "OR") is not None or conjunct[at + 2].upper != "SELECT":
        return None
    own = conjunct[:at]
    parts = _divided(own[1:-1], ",") if _is_bracketed(own) else [own]
    return _Chosen(tuple(_slice(text, p) for p in parts), _slice(text, conjunct[at + 2 : -1]))


def _of_exists(text: str, query: Words, target: str) -> _Chosen | None:
    """Its conditions `inner = target.column` become columns of the query."""
    source, where = _top(query, "FROM"), _top(query, "WHERE")
    if not _spelled(query, "SELECT") or source is None or where is None:
        return None
    if any(_top(query, word) is not None for word in _ENDS):
        return None
    if target in map(_plain, query[source:where]):  # `t.a` may be a column of the query's own t
        return None
    own: list[str] = []
    theirs: list[str] = []
    rest: list[str] = []
    for conjunct in _divided(query[where + 1 :], "AND"):
        if not _names(conjunct, target):
            rest.append(_slice(text, conjunct))
            continue
        sides = _divided(conjunct, "=")
        mine = [s for s in sides if _names(s, target)]
        if len(sides) != 2 or len(mine) != 1 or not _is_column(mine[0]):
            return None
        own.append(_slice(text, mine[0]))
        theirs.append(_slice(text, sides[1 - sides.index(mine[0])]))
    if not own:
        return None
    kept = f" WHERE {' AND '.join(rest)}" if rest else ""
    of = _slice(text, query[source:where])
    return _Chosen(tuple(own), f"SELECT {', '.join(theirs)} {of}{kept}")


def _called(head: Words, action: str) -> str:
    """The name by which a subquery calls the target: its alias, or the last part of its name."""
    named = head[2:] if action == "DELETE" else head[1 : _top(head, "SET")]
    return _plain(named[-1])


def _plain(word: Token) -> str:
    return word.text.strip("`").lower()


def _names(words: Words, target: str) -> bool:
    """Whether a column of the target is named, with the target before it."""
    return any(_plain(a) == target and b.sign(".") for a, b in pairwise(words))


def _is_column(words: Words) -> bool:
    return all(w.kind in (TokenKind.WORD, TokenKind.QUOTED) or w.sign(".") for w in words)


# -- words ----------------------------------------------------------------------------------------


def _depths(words: Words) -> list[int]:
    """For each word the brackets that are open before it."""
    found, depth = [], 0
    for word in words:
        depth -= word.sign(")")
        found.append(depth)
        depth += word.sign("(")
    return found


def _top(words: Words, keyword: str) -> int | None:
    """The place of a keyword outside all brackets."""
    pairs = enumerate(zip(words, _depths(words), strict=True))
    return next((i for i, (w, d) in pairs if d == 0 and w.upper == keyword), None)


def _divided(words: Words, by: str) -> list[list[Token]]:
    """The parts between a keyword or sign outside all brackets; the AND of a BETWEEN is none."""
    found: list[list[Token]] = [[]]
    between = 0
    for word, depth in zip(words, _depths(words), strict=True):
        between += depth == 0 and word.upper == "BETWEEN"
        if depth or not (word.sign(by) or word.upper == by):
            found[-1].append(word)
        elif between and by == "AND":
            between -= 1
            found[-1].append(word)
        else:
            found.append([])
    return found


def _is_bracketed(words: Words) -> bool:
    """Whether one pair of brackets is around all of it."""
    if not words or not words[0].sign("(") or not words[-1].sign(")"):
        return False
    return all(words[1:-1]) and min(_depths(words)[1:-1], default=1) > 0


def _spelled(words: Words, *keywords: str) -> bool:
    return tuple(w.upper for w in words[: len(keywords)]) == keywords


def _slice(text: str, words: Words) -> str:
    return text[words[0].start : words[-1].end]


__all__ = ["as_merge"]
