"""What a statement of Spark's own touches, told from its first words; it never fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dt_jupyter.sql.grammar.statement_values import SparkKind
from dt_jupyter.sql.text.lex import Token, TokenKind
from dt_jupyter.sql.text.literals import unquote
from dt_jupyter.sql.text.split import opens_block

_VERBS = frozenset({"SELECT", "VALUES", "TABLE", "FROM", "INSERT", "UPDATE", "DELETE", "MERGE"})
_QUERIES = frozenset({"SELECT", "VALUES", "TABLE", "FROM", "WITH", "MAP", "REDUCE"})


@dataclass(frozen=True)
class Touched:
    """A statement's kind, the parts of each target's name, and what its words say about them."""

    kind: SparkKind
    targets: tuple[tuple[str, ...], ...] = ()
    new_name: tuple[str, ...] = ()
    flags: frozenset[str] = field(default=frozenset())  # or_replace, if_exists, … of SparkStatement
    places: tuple[int, ...] = ()  # index of each target's first token
    new_place: int = 0  # and of the new name's


class _Reader:
    """Steps over words that may stand there."""

    def __init__(self, words: Sequence[Token], index: int = 0) -> None:
        self.words = words
        self.index = index
        self.flags: set[str] = set()

    def word(self, ahead: int = 0) -> str:
        index = self.index + ahead
        return self.words[index].upper if index < len(self.words) else ""

    def accept(self, *keywords: str, flag: str = "") -> bool:
        if any(self.word(i) != keyword for i, keyword in enumerate(keywords)):
            return False
        self.index += len(keywords)
        if flag:
            self.flags.add(flag)
        return True

    def parts(self) -> tuple[str, ...]:
        """The parts of the name that stands here, () for none and for IDENTIFIER(…)."""
        found: list[str] = []
        while self.index < len(self.words):
            token = self.words[self.index]
            if token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
                break
            found.append(unquote(token.text) if token.kind is TokenKind.QUOTED else token.text)
            self.index += 1
            if not self._sign("."):
                break
            self.index += 1
        if len(found) == 1 and found[0].upper() == "IDENTIFIER" and self._sign("("):
            return ()
        return tuple(found)

    def target(self, kind: SparkKind) -> Touched:
        place = self.index
        parts = self.parts()
        targets, places = ((parts,), (place,)) if parts else ((), ())
        return Touched(kind, targets, flags=frozenset(self.flags), places=places)

    def _sign(self, sign: str) -> bool:
        return self.index < len(self.words) and self.words[self.index].sign(sign)


def kind_of(words: Sequence[Token]) -> Touched:
    """The kind and the targets of the statement with these tokens; at least one."""
    if opens_block(tuple(words), 0):
        return Touched(SparkKind.SCRIPT)
    if words[0].sign("(") or words[0].upper in _QUERIES:
        return _query(words)
    reader = _Reader(words, 1)
    read = _READERS.get(words[0].upper)
    return read(reader) if read else Touched(SparkKind.OTHER)


def _query(words: Sequence[Token]) -> Touched:
    """A query; or a change after WITH …, or after FROM … (Hive's multi-insert)."""
    verbs = list(_top_level_verbs(words))
    main = next((i for i in verbs if words[i].upper != "FROM"), None)
    if words[0].upper == "WITH" and main and words[main].upper in ("UPDATE", "DELETE", "MERGE"):
        change = kind_of(words[main:])
        return replace(change, places=tuple(main + place for place in change.places))
    if words[0].upper in ("FROM", "WITH"):
        return _inserts(words, verbs)
    return Touched(SparkKind.QUERY)


def _top_level_verbs(words: Sequence[Token]) -> list[int]:
    depth, found = 0, []
    for i, word in enumerate(words):
        depth += word.sign("(") - word.sign(")")
        names = i and (words[i - 1].upper in ("WITH", "RECURSIVE") or words[i - 1].text in ",.")
        if depth == 0 and word.upper in _VERBS and not names:
            found.append(i)
    return found


def _inserts(words: Sequence[Token], verbs: Sequence[int]) -> Touched:
    inserts = [
        touched
        for i in verbs
        if words[i].upper == "INSERT"
        and (reader := _Reader(words, i + 1)).word() in ("INTO", "OVERWRITE", "WITH")
        and (touched := _insert(reader))
    ]
    if not inserts:
        return Touched(SparkKind.QUERY)
    targets = tuple(name for touched in inserts for name in touched.targets)
    places = tuple(place for touched in inserts for place in touched.places)
    return Touched(SparkKind.INSERT, targets, places=places)


def _insert(reader: _Reader) -> Touched:
    reader.accept("WITH", "SCHEMA", "EVOLUTION")
    reader.accept("INTO") or reader.accept("OVERWRITE")
    if reader.word() == "DIRECTORY" or (reader.word(), reader.word(1)) == ("LOCAL", "DIRECTORY"):
        return Touched(SparkKind.INSERT)
    if reader.word() == "TABLE" and reader.index + 1 < len(reader.words):
        following = reader.words[reader.index + 1]
        if following.kind is TokenKind.QUOTED or following.upper not in ("", *_QUERIES):
            reader.accept("TABLE")
    return reader.target(SparkKind.INSERT)


def _create(reader: _Reader) -> Touched:
    reader.accept("OR", "REPLACE", flag="or_replace")
    reader.accept("GLOBAL")
    temporary = reader.accept("TEMPORARY", flag="temporary") or reader.accept(
        "TEMP", flag="temporary"
    )
    reader.accept("EXTERNAL")
    if reader.accept("VIEW") or (temporary and reader.accept("TABLE")):
        kind = SparkKind.CREATE_VIEW
    elif reader.accept("TABLE"):
        kind = SparkKind.CREATE_TABLE
    elif any(reader.accept(word) for word in _SCHEMA):
        kind = SparkKind.CREATE_SCHEMA
    else:
        return Touched(SparkKind.OTHER)
    reader.accept("IF", "NOT", "EXISTS", flag="if_not_exists")
    return reader.target(kind)


def _replace(reader: _Reader) -> Touched:
    if not reader.accept("TABLE", flag="or_replace"):
        return Touched(SparkKind.OTHER)
    return reader.target(SparkKind.CREATE_TABLE)


def _drop(reader: _Reader) -> Touched:
    for keyword, kind in _DROPS.items():
        if reader.accept(keyword):
            reader.accept("IF", "EXISTS", flag="if_exists")
            return reader.target(kind)
    return Touched(SparkKind.OTHER)


def _alter(reader: _Reader) -> Touched:
    kind = SparkKind.ALTER_VIEW if reader.word() == "VIEW" else SparkKind.ALTER_TABLE
    if not reader.accept("TABLE") and not reader.accept("VIEW"):
        return Touched(SparkKind.OTHER)
    touched = reader.target(kind)
    if not reader.accept("RENAME", "TO"):
        return touched
    place = reader.index
    return replace(touched, new_name=reader.parts(), new_place=place)


def _use(reader: _Reader) -> Touched:
    for keyword in (*_SCHEMA, "CATALOG"):
        if reader.word() == keyword and reader.index + 1 < len(reader.words):
            reader.accept(keyword)
            break
    return reader.target(SparkKind.USE)


def _after(kind: SparkKind, *phrases: tuple[str, ...]) -> Callable[[_Reader], Touched]:
    """The target stands after the first of the phrases that is there."""

    def read(reader: _Reader) -> Touched:
        for phrase in phrases:
            if reader.accept(*phrase):
                return reader.target(kind)
        return Touched(SparkKind.OTHER)

    return read


def _plain(kind: SparkKind) -> Callable[[_Reader], Touched]:
    return lambda reader: Touched(kind)


_SCHEMA = ("SCHEMA", "DATABASE", "NAMESPACE")
_DROPS = {
    "TABLE": SparkKind.DROP_TABLE,
    "VIEW": SparkKind.DROP_VIEW,
    **dict.fromkeys(_SCHEMA, SparkKind.DROP_SCHEMA),
}
_READERS: dict[str, Callable[[_Reader], Touched]] = {
    "CREATE": _create,
    "REPLACE": _replace,
    "DROP": _drop,
    "ALTER": _alter,
    "INSERT": _insert,
    "USE": _use,
    "UPDATE": _after(SparkKind.UPDATE, ()),
    "DELETE": _after(SparkKind.DELETE, ("FROM",)),
    "MERGE": _after(SparkKind.MERGE, ("WITH", "SCHEMA", "EVOLUTION", "INTO"), ("INTO",)),
    "TRUNCATE": _after(SparkKind.TRUNCATE, ("TABLE",)),
    "RESTORE": _after(SparkKind.RESTORE, ("TABLE",), ()),
    "OPTIMIZE": _after(SparkKind.OPTIMIZE, ()),
    "REORG": _after(SparkKind.OPTIMIZE, ("TABLE",)),
    "VACUUM": _after(SparkKind.VACUUM, ()),
    "SET": _plain(SparkKind.SET),
    "RESET": _plain(SparkKind.SET),
    "EXECUTE": _plain(SparkKind.SCRIPT),
}
